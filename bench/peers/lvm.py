"""Two-dimensional maps with umap-learn and PaCMAP, judged as lvm.rs judges ours; `LABELS` names a file of classes."""

import os

import numpy as np
from common import main

CASES = ["d=2 umap-learn", "d=2 umap-learn-compiled", "d=2 pacmap"]


def umap_learn(rows):
    import umap

    return umap.UMAP(n_neighbors=15, random_state=None).fit_transform(rows)


def pacmap(rows):
    import pacmap

    return pacmap.PaCMAP(n_components=2, apply_pca=False).fit_transform(rows)


def judge_with(rows):
    def judge(map_):
        from sklearn.neighbors import NearestNeighbors

        def near(points, k=15):
            return NearestNeighbors(n_neighbors=k, n_jobs=-1).fit(points).kneighbors(return_distance=False)

        image, data = near(map_), near(rows)
        recall = np.mean([len(np.intersect1d(a, b)) / len(a) for a, b in zip(image, data)])
        found = {"recall at 15": recall}
        if "LABELS" in os.environ:
            labels = np.load(os.environ["LABELS"]).ravel()
            found["1-NN error"] = float(np.mean(labels[image[:, 0]] != labels))
            votes = np.array([np.bincount(v.astype(int)).argmax() for v in labels[image[:, :10]]])
            found["10-NN error"] = float(np.mean(votes != labels))
        return found

    return judge


def prepare(rows, _, program):
    work = pacmap if program == "pacmap" else umap_learn
    if program == "umap-learn-compiled":
        work(rows[:2000])  # compiles before the clock starts
    return lambda: work(rows), judge_with(rows)


main(CASES, prepare)
