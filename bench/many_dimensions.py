"""What embeddings of many dimensions keep: neighbors, classes, and clusters found by HDBSCAN.

    python -m bench.many_dimensions PROGRAM FOLDER METHODS DIMENSIONS

FOLDER holds rows.npy and labels.npy. METHODS are methods of ours with their options, "umap-learn" for its recipe for clustering (30
neighbors, min_dist 0), or "rows" for the rows themselves; they are separated by commas. DIMENSIONS are numbers such as 5,10,20,50. Prints a line
of JSON per embedding: CPU and wall seconds; the share of the 15 nearest rows that are among the 15 nearest points; the error of
classification by the majority of the 10 nearest other points; the adjusted Rand index of HDBSCAN's clusters with the classes, over all rows and over those
that have a cluster, and their share. HDBSCAN needs min_cluster_size: one hundredth of the rows. Needs numpy, scikit-learn and umap-learn."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

NEIGHBORS = 15
VOTERS = 10


def cpu(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def embed(program, method, dimensions, folder):
    if method == "rows":
        return np.load(folder / "rows.npy")
    if method == "umap-learn":
        import umap

        reducer = umap.UMAP(n_neighbors=30, min_dist=0.0, n_components=dimensions, random_state=0)
        return reducer.fit_transform(np.load(folder / "rows.npy"))
    out = folder / "map.npy"
    command = [program, "embed", folder / "rows.npy", "--method", *method.split(), "--n-components", str(dimensions)]
    subprocess.run([*command, "--no-quality", "--quiet", "--out", out], check=True)
    return np.load(out)


def nearest(points):
    return NearestNeighbors(n_neighbors=NEIGHBORS).fit(points).kneighbors(return_distance=False)


def scores(points, near_rows, labels):
    near = nearest(points)
    kept = np.mean([len(np.intersect1d(a, b)) for a, b in zip(near, near_rows)]) / NEIGHBORS
    votes = labels[near[:, :VOTERS]]
    majority = np.array([np.bincount(row, minlength=labels.max() + 1).argmax() for row in votes])
    clusters = HDBSCAN(min_cluster_size=max(len(points) // 100, 5)).fit_predict(points)
    known = clusters >= 0
    return {
        "recall": round(float(kept), 3),
        "error": round(float(np.mean(majority != labels)), 4),
        "clusters": int(clusters.max()) + 1,
        "ari": round(float(adjusted_rand_score(labels, clusters)), 3),
        "ari_of_clustered": round(float(adjusted_rand_score(labels[known], clusters[known])), 3) if known.any() else None,
        "clustered": round(float(known.mean()), 3),
    }


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    labels = np.load(folder / "labels.npy").astype(int)
    near_rows = nearest(np.load(folder / "rows.npy"))
    for method in sys.argv[3].split(","):
        for dimensions in [0] if method == "rows" else map(int, sys.argv[4].split(",")):
            who = resource.RUSAGE_SELF if method == "umap-learn" else resource.RUSAGE_CHILDREN
            start, clock = cpu(who), time.monotonic()
            points = embed(program, method, dimensions, folder)
            line = {"method": method, "d": dimensions or points.shape[1]}
            line |= {"cpu": round(cpu(who) - start, 1), "wall": round(time.monotonic() - clock, 1)}
            print(json.dumps(line | scores(points, near_rows, labels)), flush=True)


if __name__ == "__main__":
    main()
