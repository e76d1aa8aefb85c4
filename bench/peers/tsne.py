"""openTSNE with the same settings: perplexity 30, 250 + 500 iterations, its defaults otherwise. Our map (the file that the
environment's MAP names) is judged by openTSNE's own affinities too."""

import os
import time

import numpy as np
import openTSNE
from common import THREADS, main
from openTSNE.tsne import kl_divergence_fft
from sklearn.neighbors import NearestNeighbors

K = 15


def divergence(affinities, plane):
    """KL of a map under these affinities, by the same interpolation that openTSNE optimises with."""
    grid = dict(n_interpolation_points=3, min_num_intervals=50, ints_in_interval=1)
    return kl_divergence_fft(plane, affinities.P, 1, grid, should_eval_error=True, n_jobs=THREADS)[0]


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
            found["objective of lowland's map by these affinities"] = float(divergence(affinities, np.ascontiguousarray(ours)))
        return found

    return fit, judge


main(["tsne openTSNE"], prepare)
