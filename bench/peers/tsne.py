"""openTSNE with the same settings: perplexity 30, 250 + 500 iterations, its defaults otherwise. Our map (the file that the
environment's MAP names) is judged by openTSNE's own affinities too."""

import os
import time

import numpy as np
import openTSNE
from common import THREADS, main
from sklearn.neighbors import NearestNeighbors

K = 15


def divergence(rows, affinities, plane):
    """KL of a map under these affinities, by the same interpolation that openTSNE optimises with."""
    embedding = openTSNE.TSNEEmbedding(plane, affinities, n_jobs=THREADS, negative_gradient_method="fft")
    return embedding.kl_divergence


def recall(rows, plane):
    near = NearestNeighbors(n_neighbors=K + 1).fit(plane).kneighbors(plane, return_distance=False)[:, 1:]
    truth = NearestNeighbors(n_neighbors=K + 1, algorithm="brute").fit(rows).kneighbors(rows, return_distance=False)[:, 1:]
    return float(np.mean([len(np.intersect1d(a, b)) for a, b in zip(near, truth)])) / K


def prepare(rows, setting, _):
    clocks = {}

    def timed(name, work):
        start = time.process_time()
        result = work()
        clocks[f"{name} CPU s"] = time.process_time() - start
        return result

    def fit():
        options = dict(n_jobs=THREADS, random_state=0)
        affinities = timed("affinities", lambda: openTSNE.affinity.PerplexityBasedNN(rows, perplexity=30, **options))
        start = openTSNE.initialization.pca(rows, random_state=0)
        embedding = openTSNE.TSNEEmbedding(start, affinities, negative_gradient_method="fft", **options)
        embedding = timed("early", lambda: embedding.optimize(250, exaggeration=12))
        return affinities, timed("main", lambda: embedding.optimize(500))

    def judge(result):
        affinities, embedding = result
        found = {"objective": float(embedding.kl_divergence), "recall at 15": recall(rows, np.asarray(embedding))} | clocks
        if os.path.exists(os.environ.get("MAP", "")):
            ours = np.load(os.environ["MAP"]).astype(float)
            found["objective of lowland's map by these affinities"] = float(divergence(rows, affinities, ours))
        return found

    return fit, judge


main(["tsne openTSNE"], prepare)
