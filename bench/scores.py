"""Scores an embedding, with the same programs for lowland and for the peers: `lowland quality` (whose tests compare it with
scikit-learn), neighbor recall at 30, and the KL divergence of t-SNE under openTSNE's affinities."""

import numpy as np

from bench import lowland_program
from bench.catalog import MAX_ROWS_SCORED_EXACTLY
from bench.paths import GRAPHS

# Rows of the sample on which larger embeddings are scored.
SAMPLE = 2_000
# Name and number of neighbors in the program's output -> name in the results.
NAMES = {
    ("trustworthiness", 15): "trustworthiness",
    ("continuity", 15): "continuity",
    ("knn recall", 15): "recall 15",
    ("classification error", 1): "1-NN error",
    ("classification error", 10): "10-NN error",
    ("triplet accuracy", None): "triplets",
    ("distance correlation", None): "Spearman",
}


def score(rows, labels, embedding, dimensions, with_kl):
    """Returns the scores of an embedding in a file. The exact neighbor graph of the rows must be in GRAPHS."""
    points = np.load(embedding)
    if not np.isfinite(points).all():
        return {"not finite": int((~np.isfinite(points)).any(1).sum())}
    if len(points) > MAX_ROWS_SCORED_EXACTLY:
        return score_sample(np.load(rows), points, labels)
    values = lowland_program.quality(rows, embedding, *(["--labels", labels] if labels else []))["scores"]["values"]
    scores = {NAMES[value["name"], value["k"]]: value["value"] for value in values if (value["name"], value["k"]) in NAMES}
    scores["recall 30"] = neighbor_recall(rows, embedding, 30)
    if with_kl and dimensions == 2:
        scores["KL"] = kl_divergence(rows, points)
    return scores


def neighbor_recall(rows, embedding, k):
    """Returns the share of each row's k neighbors that are neighbors in the embedding too."""
    def nearest(graph):
        with np.load(graph) as arrays:
            return arrays["indices"][:, :k]

    path = embedding.with_suffix(".graph.npz")
    path.unlink(missing_ok=True)
    found = nearest(lowland_program.search(embedding, k, path))
    path.unlink()
    truth = nearest(GRAPHS / f"{rows.stem}.npz")
    return float(np.mean([len(np.intersect1d(a, b, True)) for a, b in zip(truth, found)])) / k


def kl_divergence(rows, points):
    """Returns the KL divergence under openTSNE's affinities of perplexity 30."""
    import openTSNE
    from openTSNE.tsne import kl_divergence_fft
    from scipy import sparse

    path = GRAPHS / f"{rows.stem}.affinities.npz"
    if not path.exists():
        with np.load(GRAPHS / f"{rows.stem}.npz") as arrays:
            index = openTSNE.nearest_neighbors.PrecomputedNeighbors(arrays["indices"], arrays["distances"].astype(float))
        affinities = openTSNE.affinity.PerplexityBasedNN(perplexity=30, knn_index=index, n_jobs=2)
        sparse.save_npz(path, affinities.P)
    grid = {"n_interpolation_points": 3, "min_num_intervals": 50, "ints_in_interval": 1}
    points = np.ascontiguousarray(points, float)
    return float(kl_divergence_fft(points, sparse.load_npz(path), 1, grid, should_eval_error=True, n_jobs=2)[0])


def score_sample(rows, points, labels):
    """Returns neighbor recall and classification errors of a sample of rows against all rows."""
    import faiss

    sample = np.linspace(0, len(rows) - 1, SAMPLE).astype(int)

    def nearest(values):
        values = np.ascontiguousarray(values, np.float32)
        found = faiss.knn(values[sample], values, 31)[1]
        return [row[row != own][:30] for row, own in zip(found, sample)]

    truth, found = nearest(rows), nearest(points)
    scores = {f"recall {k}": float(np.mean([len(np.intersect1d(a[:k], b[:k])) for a, b in zip(truth, found)])) / k for k in (15, 30)}
    if labels:
        classes = np.array(open(labels).read().split()[1:], int)
        scores["1-NN error"] = float(np.mean([classes[row[0]] != classes[own] for row, own in zip(found, sample)]))
        votes = [np.bincount(classes[row[:10]]).argmax() for row in found]
        scores["10-NN error"] = float(np.mean(votes != classes[sample]))
    return scores | {"sampled": SAMPLE}


def same_values(a, b):
    return bool(np.array_equal(a, b, equal_nan=True))


def count_edges(graph, k):
    """Returns the number of pairs of which at least one point is among the k nearest of the other."""
    with np.load(graph) as arrays:
        nearest = arrays["indices"][:, :k].astype(np.int64)
    own = np.repeat(np.arange(len(nearest)), nearest.shape[1])
    pairs = np.stack([own, nearest.ravel()])
    return len(np.unique(pairs.min(0) * len(nearest) + pairs.max(0)))
