"""Neighbor graphs, computed once and shared by all methods."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _device, _input, _lowland, _metrics, _parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray


class NeighborGraph:
    """The nearest neighbors of each row, sorted by distance, without the row itself.

    A graph is immutable, so it can be shared by any number of estimators and threads (parameter ``neighbors``). On
    disk it is the file written by ``lowland neighbors`` and read by ``lowland embed --neighbors``.

    Parameters
    ----------
    graph : _lowland.Graph
        Use :func:`lowland.neighbors`, ``from_csr``, ``from_arrays`` or ``load`` to create a graph.
    recall : float, default=None
        Fraction of the true neighbors that were found, measured on a sample. None if the search was exact.

    Examples
    --------
    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> graph = lowland.neighbors(X, n_neighbors=15)
    >>> graph
    NeighborGraph(1797 rows, 15 neighbors, euclidean)
    >>> lowland.SpectralEmbedding(neighbors=graph).fit_transform(X).shape
    (1797, 2)
    """

    def __init__(self, graph: _lowland.Graph, recall: float | None = None) -> None:
        self._graph = graph
        #: Fraction of the true neighbors that were found, measured on a sample; None if the search was exact.
        self.recall: float | None = recall

    @classmethod
    def from_csr(cls, matrix: Any, metric: str = "precomputed") -> NeighborGraph:
        """Create a graph from a sparse matrix of distances, as made by ``KNeighborsTransformer`` and scanpy.

        Parameters
        ----------
        matrix : sparse matrix of shape (n_samples, n_samples)
            Distances to the neighbors of each row. The distance of a row to itself is ignored.
        metric : str, default='precomputed'
            Metric of the distances.
        """
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"the distance matrix must be square, got shape {matrix.shape}")
        indptr, indices, distances, _ = _input.sparse_parts(matrix)
        return cls(_lowland.Graph.from_parts(indptr, indices, distances.astype(np.float32), metric))

    @classmethod
    def from_arrays(cls, indices: Any, distances: Any, metric: str = "precomputed") -> NeighborGraph:
        """Create a graph from arrays of indices and distances, as made by umap and pynndescent.

        Parameters
        ----------
        indices : array-like of shape (n_samples, n_neighbors)
            Neighbors of each row; -1 marks a missing neighbor.
        distances : array-like of shape (n_samples, n_neighbors)
            Distances to the neighbors.
        metric : str, default='precomputed'
            Metric of the distances.
        """
        indices, distances = np.asarray(indices), np.asarray(distances)
        if indices.dtype.kind not in "iu":
            raise ValueError(
                f"indices must be integers, found {indices.dtype}: the order is (indices, distances), indices first"
            )
        if distances.dtype.kind not in "iuf":
            raise ValueError(f"distances must be numbers, found {distances.dtype}")
        if indices.ndim != 2 or indices.shape != distances.shape:
            raise ValueError(
                "indices and distances must be two-dimensional arrays of the same shape, "
                f"got {indices.shape} and {distances.shape}"
            )
        present = indices != -1
        indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
        parts = indices[present].astype(np.int64), distances[present].astype(np.float32)
        return cls(_lowland.Graph.from_parts(indptr, *parts, metric))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NeighborGraph:
        """Load a graph from an ``.npz`` file written by ``save``, scikit-learn, umap or pynndescent."""
        return cls(_lowland.Graph.load(os.fspath(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the graph to an ``.npz`` file, which ``lowland embed --neighbors`` can read."""
        self._graph.save(os.fspath(path))

    @property
    def metric(self) -> str:
        """Metric of the distances; ``'precomputed'`` if it is not known."""
        return self._graph.metric

    @property
    def n_neighbors(self) -> int:
        """Smallest number of neighbors of any row."""
        return self._graph.min_degree

    @property
    def indices(self) -> NDArray[np.int64]:
        """Indices of the neighbors.

        The shape is (n_samples, n_neighbors) if all rows have the same number of neighbors. Otherwise the array is
        flat, and ``indptr`` says where each row starts.
        """
        return self._reshape(self._graph.indices())

    @property
    def distances(self) -> NDArray[np.float32]:
        """Distances to the neighbors, in the shape of ``indices``."""
        return self._reshape(self._graph.distances())

    @property
    def indptr(self) -> NDArray[np.int64]:
        """Position of the first neighbor of each row in the flat arrays."""
        return self._graph.indptr()

    def _reshape(self, values: NDArray[Any]) -> NDArray[Any]:
        rows, k = len(self), self.n_neighbors
        return values.reshape(rows, k) if rows * k == len(values) else values

    def to_csr(self) -> Any:
        """Return the distances as a sparse matrix with sorted columns."""
        from scipy.sparse import csr_matrix

        parts = (self._graph.distances(), self._graph.indices(), self._graph.indptr())
        matrix = csr_matrix(parts, shape=(len(self), len(self)))
        matrix.sort_indices()
        return matrix

    def union(self, *others: NeighborGraph) -> NeighborGraph:
        """Combine graphs over the same rows: two rows are neighbors if they are in any of the graphs.

        The values of the result are memberships from 0 to 1, as of the operator ``+`` of umap-learn. Estimators take it as
        ``neighbors`` with ``affinity='precomputed'``.
        """
        return self._combine(others, "union", 0.5)

    def intersection(self, *others: NeighborGraph, weight: float = 0.5) -> NeighborGraph:
        """Combine graphs over the same rows: two rows are neighbors if they are in all of the graphs.

        Parameters
        ----------
        *others : NeighborGraph
        weight : float, default=0.5
            Weight of the later graph, between 0 and 1.
        """
        return self._combine(others, "intersection", weight)

    def _combine(self, others: tuple[NeighborGraph, ...], how: str, weight: float) -> NeighborGraph:
        if not others or not all(isinstance(other, NeighborGraph) for other in others):
            raise TypeError("expected one or more graphs of class NeighborGraph")
        graphs = [self._graph, *(other._graph for other in others)]
        return NeighborGraph(_lowland.Graph.combine(graphs, how, float(weight)))

    def __add__(self, other: Any) -> NeighborGraph:
        return self.union(other) if isinstance(other, NeighborGraph) else NotImplemented

    def __mul__(self, other: Any) -> NeighborGraph:
        return self.intersection(other) if isinstance(other, NeighborGraph) else NotImplemented

    def __len__(self) -> int:
        return self._graph.rows

    def __copy__(self) -> NeighborGraph:
        return self

    def __deepcopy__(self, memo: Any) -> NeighborGraph:
        # sklearn.base.clone copies parameters; an immutable graph need not be copied.
        return self

    def __reduce__(self) -> Any:
        return _unpickle, (self._graph.to_bytes(), self.recall)

    def __repr__(self) -> str:
        return f"NeighborGraph({len(self)} rows, {self.n_neighbors} neighbors, {self.metric})"


def _unpickle(content: bytes, recall: float | None) -> NeighborGraph:
    return NeighborGraph(_lowland.Graph.from_bytes(content), recall)


def as_graph(neighbors: Any, name: str = "neighbors") -> NeighborGraph | None:
    """Convert the parameter ``neighbors`` of an estimator, or another with this name, to a graph."""
    if neighbors is None or isinstance(neighbors, NeighborGraph):
        return neighbors
    if _input.is_sparse(neighbors):
        return NeighborGraph.from_csr(neighbors)
    if isinstance(neighbors, (tuple, list)) and len(neighbors) >= 2:
        return NeighborGraph.from_arrays(neighbors[0], neighbors[1])
    expected = "a NeighborGraph, a sparse matrix of distances or a pair (indices, distances)"
    raise _parameters.invalid(name, neighbors, expected)


def neighbors(
    X: Any,
    n_neighbors: int = 15,
    *,
    metric: str | Callable[..., float] = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    search: str = "auto",
    n_jobs: int | None = None,
    device: str = "auto",
    random_state: Any = None,
    max_memory: int | None = None,
) -> NeighborGraph:
    """Find the nearest neighbors of each row, as ``lowland neighbors`` does.

    Parameters
    ----------
    X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
    n_neighbors : int, default=15
        Number of neighbors of each row, not counting the row itself.
    metric : str or callable, default='euclidean'
        Distance between rows: a name, or a symmetric function of two rows, which is called for every pair.
    metric_params : dict, default=None
        Parameters of the metric, such as ``{'p': 3}`` for ``'minkowski'``.
    search : {'auto', 'exact', 'approximate'}, default='auto'
        Search algorithm.
    n_jobs : int, default=None
        Number of threads. -1 means all cores; None too, within the limits of joblib and OMP_NUM_THREADS. The result does
        not depend on it.
    device : {'auto', 'cpu', 'cuda'} or 'cuda:N', default='auto'
        Where to compute: on an NVIDIA card where that is faster and there is one, on the processor, or on a card.
    random_state : int, RandomState instance or Generator, default=None
        Seed of the random number generator. None means the seed 0.
    max_memory : int, default=None
        Memory limit in bytes. None means the available memory.

    Returns
    -------
    graph : NeighborGraph

    Examples
    --------
    >>> import lowland
    >>> lowland.neighbors(["cat", "cart", "dog", "dot"], 1, metric="levenshtein").indices.ravel().tolist()
    [1, 0, 3, 2]
    """
    rows, name = _input.rows(X), _parameters.metric_name(metric, metric_params)
    if not isinstance(metric, str):
        rows = _metrics.distances(rows, metric, metric_params)
    with _device.using(device):
        graph, recall = _lowland.neighbors(
            rows,
            _parameters.integer("n_neighbors", n_neighbors, at_least=1),
            name,
            _parameters.text("search", search, "auto, exact or approximate"),
            _input.seed(random_state),
            _input.threads(n_jobs),
            _input.memory(max_memory),
            inverse_covariance=_parameters.inverse_covariance(metric, metric_params),
        )
    return NeighborGraph(graph, recall)
