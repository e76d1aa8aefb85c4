"""Writes golden/umap: the fuzzy graph that umap-learn (0.5.12) computes for 60 rows, two of them equal, and its curve parameters.

    pip install umap-learn==0.5.12 && python make_umap.py
"""

from pathlib import Path

import numpy as np
from umap.umap_ import (
    find_ab_params,
    fuzzy_simplicial_set,
    general_simplicial_set_intersection,
    general_simplicial_set_union,
    reset_local_connectivity,
)

OUT = Path(__file__).parent / "umap"
rng = np.random.default_rng(5)
rows = (rng.normal(size=(60, 4)) * np.linspace(0.5, 2.0, 60)[:, None]).astype(np.float32)
rows[7] = rows[3]
np.save(OUT / "rows.npy", rows.astype(np.float64))
distances = np.sqrt(((rows[:, None] - rows[None]).astype(np.float64) ** 2).sum(-1))
order = np.argsort(distances + np.where(np.eye(60) > 0, -1.0, 0.0), axis=1, kind="stable")[:, :10]
nearest = np.take_along_axis(distances, order, axis=1).astype(np.float32)
for name, connectivity, mix in [("union", 1.0, 1.0), ("mixture", 2.5, 0.4)]:
    graph, _, _ = fuzzy_simplicial_set(
        rows, 10, np.random.RandomState(0), "euclidean", knn_indices=order, knn_dists=nearest, set_op_mix_ratio=mix,
        local_connectivity=connectivity,
    )
    np.save(OUT / f"{name}.npy", graph.toarray().astype(np.float64))
curves = [(d, s, *find_ab_params(s, d)) for d, s in [(0.1, 1.0), (0.5, 1.0), (0.0, 1.0), (0.25, 1.5), (0.99, 1.0)]]
np.save(OUT / "curves.npy", np.array(curves))


def half(columns: slice):
    """Return the fuzzy graph of some of the columns."""
    part = rows[:, columns].astype(np.float64)
    distances = np.sqrt(((part[:, None] - part[None]) ** 2).sum(-1))
    order = np.argsort(distances + np.where(np.eye(60) > 0, -1.0, 0.0), axis=1, kind="stable")[:, :10]
    nearest = np.take_along_axis(distances, order, axis=1).astype(np.float32)
    state = np.random.RandomState(0)
    return fuzzy_simplicial_set(part, 10, state, "euclidean", knn_indices=order, knn_dists=nearest)[0]


left, right = half(slice(0, 2)), half(slice(2, 4))
for name, combined in [
    ("combined_union", general_simplicial_set_union(left, right)),
    ("combined_intersection", general_simplicial_set_intersection(left, right, 0.5)),
    ("combined_weighted", general_simplicial_set_intersection(left, right, 0.3)),
]:
    np.save(OUT / f"{name}.npy", reset_local_connectivity(combined, True).toarray().astype(np.float64))
