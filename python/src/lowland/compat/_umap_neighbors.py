"""Neighbors as umap-learn has them: given, of sparse distances, or found, and those of new rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from .. import _input, _lowland, _parameters
from .._graph import NeighborGraph, neighbors
from . import _umap_metrics

#: Number of rows from which umap-learn's search is approximate.
_SMALL = 4096


def search(model: Any, rows: Any) -> NeighborGraph:
    """Return the neighbors of each row, without the row itself and without those beyond the disconnection distance."""
    n, k = rows.shape[0], model._n_neighbors - 1
    known = _given(model, n)
    if known is not None:
        graph = NeighborGraph.from_arrays(*known)
    elif issparse(rows) and model.metric == "precomputed":
        graph = _nearest_of_sparse(rows, k)
    else:
        approximate = model.force_approximation_algorithm or n >= _SMALL
        search = "approximate" if model.force_approximation_algorithm else "auto" if approximate else "exact"
        name, params = _umap_metrics.native(model.metric, model.metric_kwds)
        if name is None:
            data, name, params = _umap_metrics.distances(rows, None, model.metric, model.metric_kwds), "precomputed", None
        else:
            data = rows
        search = "exact" if name == "precomputed" else search
        options = {"metric": name, "metric_params": params, "search": search, "n_jobs": model.n_jobs}
        graph = neighbors(data, min(k, n - 1), random_state=model._seed(), **options)
    limit = _umap_metrics.disconnection_distance(model.metric, model.disconnection_distance)
    indptr, indices, distances = graph.indptr, np.ravel(graph.indices), np.ravel(graph.distances)
    keep = distances < limit
    model._mean_distance = float(distances[keep].sum() / (keep.sum() + n))
    rows_of = np.repeat(np.arange(n), np.diff(indptr))
    _set_neighbors(model, rows_of, indices, distances, keep, n)
    if keep.all():
        return graph
    counts = np.bincount(rows_of[keep], minlength=n)
    parts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), indices[keep], distances[keep].astype(np.float32)
    return NeighborGraph(_lowland.Graph.from_parts(*parts, "precomputed"))


def among(graph: NeighborGraph | None, rows: Any) -> Any:
    """Return the part of a graph among some of its rows, which are numbered in their order; None if there is no graph."""
    if graph is None or len(rows) == len(graph):
        return None if graph is None else graph._graph
    place = np.full(len(graph), -1)
    place[rows] = np.arange(len(rows))
    of = place[np.repeat(np.arange(len(graph)), np.diff(graph.indptr))]
    keep = of >= 0
    starts = np.concatenate([[0], np.cumsum(np.bincount(of[keep], minlength=len(rows)))]).astype(np.int64)
    indices = place[np.ravel(graph.indices)[keep]].astype(np.int64)
    return _lowland.Graph.from_parts(starts, indices, np.ravel(graph.distances)[keep], "precomputed")


def nearest(model: Any, X: Any, known: Any) -> tuple[Any, Any]:
    """Return the rows nearest to new rows, as places in ``known``, and the distances."""
    k = min(model._n_neighbors, len(known))
    name, params = _umap_metrics.native(model.metric, model.metric_kwds)
    if model.metric == "precomputed":
        between = (X.toarray() if issparse(X) else X)[:, known]
    elif name is None:
        between = _umap_metrics.distances(X, model._raw_data[known], model.metric, model.metric_kwds)
    else:
        metric = _parameters.metric_text(name, params)
        rows, others = _input.rows(X), _input.rows(model._raw_data[known])
        return _lowland.nearest_to(rows, others, k, metric, model._threads())
    near = np.argsort(between, axis=1, kind="stable")[:, :k]
    return near, np.take_along_axis(np.asarray(between), near, axis=1)


def _set_neighbors(model: Any, rows_of: Any, indices: Any, distances: Any, keep: Any, n: int) -> None:
    """Set the attributes of umap-learn, in which each row is its first neighbor."""
    width = model._n_neighbors
    model._knn_indices = np.full((n, width), -1, dtype=np.int64)
    model._knn_dists = np.full((n, width), np.inf, dtype=np.float32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows_of, minlength=n))])
    place = np.arange(len(indices)) - starts[rows_of] + 1
    use = keep & (place < width)
    model._knn_indices[:, 0], model._knn_dists[:, 0] = np.arange(n), 0.0
    model._knn_indices[rows_of[use], place[use]] = indices[use]
    model._knn_dists[rows_of[use], place[use]] = distances[use]


def _given(model: Any, n: int) -> tuple[Any, Any] | None:
    """Return the neighbors that the user has given, if they can be used."""
    indices, found = model.precomputed_knn[0], model.precomputed_knn[1]
    if found is None:
        return None
    if model.unique:
        raise ValueError("unique is not currently available for precomputed_knn.")
    for position, array in enumerate((indices, found)):
        if not isinstance(array, np.ndarray):
            raise ValueError(f"precomputed_knn[{position}] must be ndarray object.")
    if indices.shape != found.shape:
        raise ValueError("precomputed_knn[0] and precomputed_knn[1] must be numpy arrays of the same size.")
    if found.shape[1] < model.n_neighbors:
        warnings.warn("precomputed_knn has fewer neighbors than n_neighbors, and is ignored", UserWarning, stacklevel=5)
        return None
    if found.shape[0] != n:
        warnings.warn("precomputed_knn has another number of rows than the data, and is ignored", UserWarning, stacklevel=5)
        return None
    k = model._n_neighbors
    finite = np.isfinite(found[:, :k])
    return np.where(finite, indices[:, :k], -1), np.where(finite, found[:, :k], 0.0)


def _nearest_of_sparse(matrix: Any, k: int) -> NeighborGraph:
    """Return the nearest of the neighbors that a sparse matrix of distances has."""
    if (matrix != matrix.T).nnz:
        raise ValueError("Sparse precomputed distance matrices should be symmetrical!")
    if np.any(matrix.diagonal() != 0):
        raise ValueError("Non-zero distances from samples to themselves!")
    counts = np.diff(matrix.indptr) - np.asarray([i in row for i, row in enumerate(np.split(matrix.indices, matrix.indptr[1:-1]))])
    if counts.min() < k:
        raise ValueError("Some rows contain fewer than n_neighbors distances!")
    graph = NeighborGraph.from_csr(matrix)
    ends = graph.indptr
    near = (ends[:-1, None] + np.arange(k)).ravel()
    n = matrix.shape[0]
    indices, found = np.ravel(graph.indices)[near], np.ravel(graph.distances)[near]
    return NeighborGraph.from_arrays(indices.reshape(n, k), found.reshape(n, k))


def keys(rows: Any) -> list[bytes]:
    """Return a key for each row, equal for rows with the same values."""
    if not issparse(rows):
        return [row.tobytes() for row in rows]
    starts = rows.indptr
    return [rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in zip(starts, starts[1:])]


def stack(first: Any, second: Any) -> Any:
    """Return the rows of both."""
    if issparse(first) or issparse(second):
        return vstack([first, second]).tocsr()
    return np.vstack([first, second])
