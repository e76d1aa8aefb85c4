"""The neighbour graph: computed once, shared by every method."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _input, _lowland


class NeighborGraph:
    """The nearest rows of every row, from near to far, never the row itself.

    It is never changed, so one graph serves any number of estimators and threads (parameter ``neighbors``), and it is
    the file that ``lowland neighbors`` writes and ``lowland embed --neighbors`` reads.

    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> graph = lowland.neighbors(X, n_neighbors=15)
    >>> graph
    NeighborGraph(1797 rows, 15 neighbours, euclidean)
    >>> lowland.SpectralEmbedding(neighbors=graph).fit_transform(X).shape
    (1797, 2)
    """

    def __init__(self, graph: _lowland.Graph, recall: float | None = None) -> None:
        self._graph = graph
        #: Share of the true neighbours that were found, measured on a sample; None when the search was exact.
        self.recall = recall

    @classmethod
    def from_csr(cls, matrix: Any, metric: str = "precomputed") -> NeighborGraph:
        """From a sparse matrix of distances, as ``KNeighborsTransformer`` and scanpy make them.

        Absent entries are no neighbours; a row's distance to itself is left out.
        """
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"a matrix of distances between points is square, not {matrix.shape}")
        indptr, indices, distances, _ = _input.sparse_parts(matrix)
        return cls(_lowland.Graph.from_parts(indptr, indices, distances, metric))

    @classmethod
    def from_arrays(cls, indices: Any, distances: Any, metric: str = "precomputed") -> NeighborGraph:
        """From two arrays of n rows and k columns, as umap and pynndescent make them; -1 is no neighbour."""
        indices, distances = np.asarray(indices), np.asarray(distances, dtype=np.float32)
        if indices.ndim != 2 or indices.shape != distances.shape:
            raise ValueError(f"indices are {indices.shape}, distances {distances.shape}: two of n rows, k columns")
        there = indices != -1
        indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
        return cls(_lowland.Graph.from_parts(indptr, indices[there].astype(np.int64), distances[there], metric))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NeighborGraph:
        """Reads an ``.npz`` file: ours, or one of scikit-learn, umap or pynndescent."""
        return cls(_lowland.Graph.load(os.fspath(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes an ``.npz`` file that ``lowland embed --neighbors`` reads."""
        self._graph.save(os.fspath(path))

    @property
    def metric(self) -> str:
        """The metric of the distances; ``precomputed`` where nobody said."""
        return self._graph.metric

    @property
    def n_neighbors(self) -> int:
        """The fewest neighbours any row has."""
        return self._graph.min_degree

    @property
    def indices(self) -> np.ndarray:
        """The neighbours: n rows and k columns when all rows have k, else one after another."""
        return self._shaped(self._graph.indices())

    @property
    def distances(self) -> np.ndarray:
        """Their distances, in the same shape."""
        return self._shaped(self._graph.distances())

    @property
    def indptr(self) -> np.ndarray:
        """Where each row starts in the neighbours laid end to end."""
        return self._graph.indptr()

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        rows, k = len(self), self.n_neighbors
        return values.reshape(rows, k) if rows * k == len(values) else values

    def to_csr(self) -> Any:
        """A sparse matrix of distances, columns sorted."""
        from scipy.sparse import csr_matrix

        parts = (self._graph.distances(), self._graph.indices(), self._graph.indptr())
        matrix = csr_matrix(parts, shape=(len(self), len(self)))
        matrix.sort_indices()
        return matrix

    def __len__(self) -> int:
        return self._graph.rows

    def __copy__(self) -> NeighborGraph:
        return self

    def __deepcopy__(self, memo: Any) -> NeighborGraph:
        # scikit-learn's clone copies parameters; what never changes need not be copied.
        return self

    def __reduce__(self) -> Any:
        return _unpickle, (self._graph.to_bytes(), self.recall)

    def __repr__(self) -> str:
        return f"NeighborGraph({len(self)} rows, {self.n_neighbors} neighbours, {self.metric})"


def _unpickle(content: bytes, recall: float | None) -> NeighborGraph:
    return NeighborGraph(_lowland.Graph.from_bytes(content), recall)


def as_graph(neighbors: Any) -> NeighborGraph | None:
    """A graph from whatever is one: ours, a sparse matrix of distances, a pair of indices and distances."""
    if neighbors is None or isinstance(neighbors, NeighborGraph):
        return neighbors
    if _input.is_sparse(neighbors):
        return NeighborGraph.from_csr(neighbors)
    if isinstance(neighbors, (tuple, list)) and len(neighbors) >= 2:
        return NeighborGraph.from_arrays(neighbors[0], neighbors[1])
    raise ValueError("neighbors: a NeighborGraph, a sparse matrix of distances, or a pair (indices, distances)")


def neighbors(
    X: Any,
    n_neighbors: int = 15,
    *,
    metric: str = "euclidean",
    metric_params: dict[str, Any] | None = None,
    search: str = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
    max_memory: int | None = None,
) -> NeighborGraph:
    """The nearest rows of every row: what ``lowland neighbors`` finds.

    >>> import lowland
    >>> lowland.neighbors(["cat", "cart", "dog", "dot"], 1, metric="levenshtein").indices.ravel().tolist()
    [1, 0, 3, 2]
    """
    graph, recall = _lowland.neighbors(
        _input.rows(X),
        int(n_neighbors),
        _input.metric_text(metric, metric_params),
        search,
        _input.seed(random_state),
        _input.threads(n_jobs),
        _input.memory(max_memory),
    )
    return NeighborGraph(graph, recall)
