"""The quality columns of a map, the same program for ours and the peers': lowland's own scores, which its tests hold against
scikit-learn's; neighbours kept at 30; and t-SNE's divergence under openTSNE's affinities."""

import subprocess

import numpy as np
import ours

# Beyond this all pairs are too many: neighbours and classes are then judged on a sample of rows, the rest is left out.
ALL_PAIRS = 100_000
SAMPLE = 2_000
NAMES = {
    ("trustworthiness", 15): "trustworthiness",
    ("continuity", 15): "continuity",
    ("knn recall", 15): "recall 15",
    ("classification error", 1): "1-NN error",
    ("classification error", 10): "10-NN error",
    ("triplet accuracy", None): "triplets",
    ("distance correlation", None): "Spearman",
}


def judge(rows, labels, map_, d, divergence):
    """The scores of a map that lies in a file."""
    places = np.load(map_)
    if not np.isfinite(places).all():
        return {"not finite": int((~np.isfinite(places)).any(1).sum())}
    if len(places) > ALL_PAIRS:
        return sampled(np.load(rows), places, labels)
    command = [ours.PROGRAM, "quality", rows, map_, "--json", *(["--labels", labels] if labels else [])]
    printed = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
    values = ours.events(printed, "scores")[0]["scores"]["values"]
    scores = {NAMES[value["name"], value["k"]]: value["value"] for value in values if (value["name"], value["k"]) in NAMES}
    scores["recall 30"] = recall(rows, map_, 30)
    if divergence and d == 2:
        scores["KL"] = kl(rows, places)
    return scores


def recall(rows, map_, k):
    """The share of the rows' neighbours (their graph has been made) that are the map's too."""
    def nearest(graph):
        with np.load(graph) as arrays:
            return arrays["indices"][:, :k]

    own = map_.with_suffix(".graph.npz")
    own.unlink(missing_ok=True)
    kept = nearest(ours.neighbours(map_, k, own))
    own.unlink()
    truth = nearest(ours.GRAPHS / f"{rows.stem}.npz")
    return float(np.mean([len(np.intersect1d(a, b, True)) for a, b in zip(truth, kept)])) / k


def kl(rows, places):
    import openTSNE
    from openTSNE.tsne import kl_divergence_fft
    from scipy import sparse

    path = ours.GRAPHS / f"{rows.stem}.affinities.npz"
    if not path.exists():
        with np.load(ours.GRAPHS / f"{rows.stem}.npz") as arrays:
            index = openTSNE.nearest_neighbors.PrecomputedNeighbors(arrays["indices"], arrays["distances"].astype(float))
        affinities = openTSNE.affinity.PerplexityBasedNN(perplexity=30, knn_index=index, n_jobs=2)
        sparse.save_npz(path, affinities.P)
    grid = {"n_interpolation_points": 3, "min_num_intervals": 50, "ints_in_interval": 1}
    places = np.ascontiguousarray(places, float)
    return float(kl_divergence_fft(places, sparse.load_npz(path), 1, grid, should_eval_error=True, n_jobs=2)[0])


def sampled(rows, places, labels):
    """Neighbours kept and classes, by some rows against all."""
    import faiss

    chosen = np.linspace(0, len(rows) - 1, SAMPLE).astype(int)

    def near(points):
        points = np.ascontiguousarray(points, np.float32)
        found = faiss.knn(points[chosen], points, 31)[1]
        return [row[row != own][:30] for row, own in zip(found, chosen)]

    truth, kept = near(rows), near(places)
    scores = {f"recall {k}": float(np.mean([len(np.intersect1d(a[:k], b[:k])) for a, b in zip(truth, kept)])) / k for k in (15, 30)}
    if labels:
        classes = np.array(open(labels).read().split()[1:], int)
        scores["1-NN error"] = float(np.mean([classes[row[0]] != classes[own] for row, own in zip(kept, chosen)]))
        votes = [np.bincount(classes[row[:10]]).argmax() for row in kept]
        scores["10-NN error"] = float(np.mean(votes != classes[chosen]))
    return scores | {"sampled": SAMPLE}
