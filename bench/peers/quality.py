"""Trustworthiness and continuity with scikit-learn, where the embedding is the first two columns; lowland's kernel computes all scores."""

from sklearn.manifold import trustworthiness

from bench.peers.common import main, value

K = 15


def prepare(rows, setting, _):
    rows = rows[: value(setting)]
    plane = rows[:, :2].copy()

    def scores():
        return trustworthiness(rows, plane, n_neighbors=K), trustworthiness(plane, rows, n_neighbors=K)

    return scores, lambda found: {f"trustworthiness at {K}": found[0], f"continuity at {K}": found[1]}


main(prepare)
