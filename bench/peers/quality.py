"""Trustworthiness and continuity with scikit-learn, the map being the first two columns; ours are the whole report."""

from common import main, value
from sklearn.manifold import trustworthiness

K = 15


def prepare(rows, setting, _):
    rows = rows[: value(setting)]
    plane = rows[:, :2].copy()

    def scores():
        return trustworthiness(rows, plane, n_neighbors=K), trustworthiness(plane, rows, n_neighbors=K)

    return scores, lambda found: {f"trustworthiness at {K}": found[0], f"continuity at {K}": found[1]}


main(["rows=6000 scikit-learn"], prepare)
