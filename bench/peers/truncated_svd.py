"""scikit-learn's truncated SVD, the usual way to preserve norms and angles, with the scores of the tsm paper."""

import numpy as np
from sklearn.decomposition import TruncatedSVD

from bench.peers.common import main

TAU = 0.75


def angle_scores(rows, points):
    def unit(x):
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    rows, points = unit(rows.astype(float)), unit(points.astype(float))
    total = pairs = both = either = 0
    for start in range(0, len(rows), 1000):
        x, y = (np.clip(part[start : start + 1000] @ part.T, -1, 1) for part in (rows, points))
        similar, found = x > TAU, y > TAU
        total += np.abs(np.arccos(x[similar]) - np.arccos(y[similar])).sum()
        pairs, both, either = pairs + similar.sum(), both + (similar & found).sum(), either + (similar | found).sum()
    return {"degrees": float(np.degrees(total / pairs)), "jaccard": float(both / either)}


def prepare(rows, _, __):
    return lambda: TruncatedSVD(16, random_state=0).fit_transform(rows), lambda points: angle_scores(rows, points)


main(prepare)
