"""Operations of umap-learn on fuzzy graphs: combination with each other and with a target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import gammaln
from sklearn.preprocessing import normalize

from . import _common

#: What an unknown class adds to the distance of two rows.
_UNKNOWN = 1.0
#: Difference of two classes for ``target_weight`` 0, and for weight 1.
_DIFFERENT, _FAR = 2.5, 1e12
#: Memberships that are missing in one of two graphs count as half of its smallest, at least this.
_LEAST = 1e-8
#: Number of neighbors whose memberships those of a combined graph have the sum of.
_NEIGHBORS = 15


def union(left: Any, right: Any) -> Any:
    """Return the probabilistic union of two graphs over the same rows."""
    rows, columns, (a, b) = _aligned(left, right)
    return _graph(a + b - a * b, rows, columns, left.shape)


def intersection(left: Any, right: Any, weight: float = 0.5, complement: bool = False) -> Any:
    """Return the product of powers of two graphs, from only ``left`` (weight 0) to only ``right`` (weight 1).

    With ``complement``, edges of ``right`` weaken those of ``left``.
    """
    rows, columns, (a, b) = _aligned(left, right, most=1e-4, complement=complement)
    odds = weight / (1 - weight) if weight < 1 else np.inf
    if weight < 0.5:
        return _graph(a * b**odds, rows, columns, left.shape)
    return _graph(a ** (1 / odds if odds else np.inf) * b, rows, columns, left.shape)


def reset_connectivity(graph: Any, metric: bool = False) -> Any:
    """Scale each row to a largest membership of one, and take the union of both directions.

    With ``metric``, the memberships of each row are also raised to a power, so that they have the sum of those of 15 neighbors.
    """
    graph = normalize(graph.tocsr().astype(np.float64), norm="max")
    if metric:
        graph = _rescaled(graph)
    transposed = graph.T.tocsr()
    graph = (graph + transposed - graph.multiply(transposed)).tocsr()
    graph.eliminate_zeros()
    return graph


def with_target(graph: Any, y: Any, metric: str, weight: float, target_graph: Callable[[Any], Any]) -> Any:
    """Return the intersection of a graph with what is known about the rows.

    Parameters
    ----------
    graph : csr_matrix
        Memberships.
    y : ndarray of shape (n_samples,)
        The target.
    metric : str
        'categorical', 'ordinal', 'count', 'string', or a metric between rows of numbers.
    weight : float
        Influence of the target.
    target_graph : callable
        Returns the memberships of the neighbors of each row in the target, which is rows of numbers.
    """
    differ = _DIFFERENT / (1 - weight) if weight < 1 else _FAR
    entries = graph.tocoo()
    first, second = y[entries.row], y[entries.col]
    if metric == "categorical":
        unknown = (first == -1) | (second == -1)
        distances = np.where(unknown, _UNKNOWN, np.where(first == second, 0.0, differ))
    elif metric in _DIFFERENCES:
        distances = differ * _DIFFERENCES[metric](y, first, second)
    elif metric == "hierarchical_categorical":
        raise _common.refuse("target_metric", metric, "use 'categorical' with the level that matters")
    else:
        numbers = y.reshape(len(y), -1).astype(np.float64)
        return reset_connectivity(intersection(graph, target_graph(numbers), weight))
    found = csr_matrix((entries.data * np.exp(-distances), (entries.row, entries.col)), shape=graph.shape)
    found.eliminate_zeros()
    return reset_connectivity(found)


def _ordinal(y: Any, first: Any, second: Any) -> Any:
    """Differences relative to half of the largest."""
    return np.abs(first - second) / max(float(np.max(y) - np.min(y)) / 2, np.finfo(float).tiny)


def _count(y: Any, first: Any, second: Any) -> Any:
    """Logarithms of the Poisson probabilities between two counts, relative to half of those between the smallest and the largest."""
    counts = np.asarray(y, dtype=np.int64)
    low, mean = int(counts.min()), max(float(counts.mean()), np.finfo(float).tiny)
    steps = np.arange(low, int(counts.max()))
    sums = np.concatenate([[0.0], np.cumsum(steps * np.log(mean) - mean - gammaln(steps + 1))])
    total = abs(sums[-1]) / 2 or 1.0
    return np.abs(sums[first.astype(np.int64) - low] - sums[second.astype(np.int64) - low]) / total


def _string(y: Any, first: Any, second: Any) -> Any:
    """Edit distances relative to a third of the longest text, at most one."""
    texts, codes = np.unique(y.astype(str), return_inverse=True)
    between = np.array([[_edit_distance(a, b) for b in texts] for a in texts], dtype=np.float64)
    index = {text: code for code, text in enumerate(texts)}
    code = np.vectorize(lambda text: index[str(text)], otypes=[np.int64])
    return np.minimum(between[code(first), code(second)] / (max(map(len, texts)) / 3), 1.0)


#: Differences of the values at the ends of edges.
_DIFFERENCES = {"ordinal": _ordinal, "count": _count, "string": _string}


def _edit_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, start=1):
        before, row[0] = row[0], i
        for j, other in enumerate(b, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != other))
    return row[-1]


def _aligned(left: Any, right: Any, most: float = np.inf, complement: bool = False) -> tuple[Any, Any, Any]:
    """Return the edges that either graph has, and their memberships in both, small where one of them has none."""
    left, right = left.tocsr().astype(np.float64), right.tocsr().astype(np.float64)
    edges = (abs(left) + abs(right)).tocoo()
    rows, columns = edges.row, edges.col
    values = []
    for graph, bound in [(left, np.inf), (right, most)]:
        least = min(max(float(graph.data.min(initial=np.inf)) / 2, _LEAST), bound) if graph.nnz else _LEAST
        found = np.asarray(graph[rows, columns]).ravel()
        if complement and graph is right:
            found = np.where(found > 0, np.maximum(1 - found, least), 1 - least)
        values.append(np.where(found > 0, found, least))
    return rows, columns, values


def _graph(values: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    graph = csr_matrix((values, (rows, columns)), shape=shape)
    graph.eliminate_zeros()
    return graph


def _rescaled(graph: Any) -> Any:
    """Raise the memberships of each row to the power with which they have the sum of those of :data:`_NEIGHBORS` neighbors."""
    target = np.log2(_NEIGHBORS)
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    low, high = np.zeros(graph.shape[0]), np.full(graph.shape[0], np.inf)
    power = np.ones(graph.shape[0])
    for _ in range(64):
        sums = np.bincount(rows, graph.data ** power[rows], minlength=graph.shape[0])
        low, high = np.where(sums > target, power, low), np.where(sums > target, high, power)
        power = np.where(np.isinf(high), 2 * power, (low + np.where(np.isinf(high), 0, high)) / 2)
    graph = graph.copy()
    graph.data = graph.data ** power[rows]
    return graph
