"""scikit-learn's truncated SVD, what a map of norms and angles is made with otherwise; judged by the paper's measures on every
fifth row."""

import numpy as np
from common import main
from sklearn.decomposition import TruncatedSVD

TAU = 0.75


def angles(rows, places):
    def unit(x):
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    rows, places = unit(rows.astype(float)), unit(places.astype(float))
    total = pairs = both = either = 0
    for start in range(0, len(rows), 1000):
        x, y = (np.clip(part[start : start + 1000] @ part.T, -1, 1) for part in (rows, places))
        near, placed = x > TAU, y > TAU
        total += np.abs(np.arccos(x[near]) - np.arccos(y[near])).sum()
        pairs, both, either = pairs + near.sum(), both + (near & placed).sum(), either + (near | placed).sum()
    return {"degrees": float(np.degrees(total / pairs)), "jaccard": float(both / either)}


def prepare(rows, _, __):
    rows = rows[::5]
    return lambda: TruncatedSVD(16, random_state=0).fit_transform(rows), lambda places: angles(rows, places)


main(["14000 sklearn-svd"], prepare)
