"""What the replacements share: refusals, seeds, distances."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state

from .. import _input, _lowland

#: Metrics of scikit-learn that lowland computes itself; the distances by others are computed by scikit-learn.
METRICS = {"euclidean": "euclidean", "l2": "euclidean"}

#: Weight of the links between components relative to the mean weight.
_LIGHT = 1e-6


def refuse(name: str, value: Any, reason: str) -> ValueError:
    """Return the exception for a value of a parameter that cannot be honored."""
    return ValueError(f"{name}={value!r} is not supported by lowland: {reason}")


def seed(random_state: Any) -> int:
    """Return a seed. As in scikit-learn, None gives another result every time."""
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def distances(X: Any, Y: Any, metric: Any, metric_params: dict[str, Any] | None, n_jobs: int | None) -> Any:
    """Return the distances between rows as scikit-learn computes them."""
    params = dict(metric_params or {})
    if metric == "mahalanobis" and params.get("VI") is None and "V" in params:
        params = {"VI": np.linalg.inv(np.atleast_2d(params["V"]))}
    return pairwise_distances(X, Y, metric=metric, n_jobs=n_jobs, **params)


def laplacian_eigenvectors(
    weights: Any, count: int, tolerance: float = 1e-8, seed: int = 0, threads: int | None = None
) -> tuple[Any, Any]:
    """Return the smallest eigenvalues of the normalized Laplacian of a graph, except one zero, and vectors of its random walk.

    The components of a graph that is not connected are joined by links so light that the first vectors tell the components apart.

    Parameters
    ----------
    weights : sparse matrix or ndarray of shape (n_samples, n_samples)
        Symmetric weights.
    count : int
        Number of eigenvalues.
    tolerance : float, default=1e-8
        Relative residual at which an eigenvector has converged.
    seed : int, default=0
        Seed of the solver.
    threads : int, default=None
        Number of threads.

    Returns
    -------
    values : ndarray of shape (count,)
    vectors : ndarray of shape (n_samples, count)
        The unit eigenvectors, divided by the roots of the degrees.
    """
    graph = csr_matrix(weights, dtype=np.float64)
    # Rounding may have made them asymmetric.
    entries = ((graph + graph.T) / 2).tocoo()
    keep = (entries.row != entries.col) & (entries.data != 0)
    graph = csr_matrix((entries.data[keep], (entries.row[keep], entries.col[keep])), shape=graph.shape)
    parts, labels = connected_components(graph, directed=False)
    if parts > 1:
        first = np.unique(labels, return_index=True)[1]
        light = np.full(parts - 1, _LIGHT * (graph.data.mean() if graph.nnz else 1.0))
        links = csr_matrix((light, (first[:-1], first[1:])), shape=graph.shape)
        graph = (graph + links + links.T).tocsr()
    values, vectors, _ = _lowland.laplacian_eigenvectors(_input.sparse_parts(graph), count, tolerance, seed, threads)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    return values, vectors / np.sqrt(degrees)[:, None]

