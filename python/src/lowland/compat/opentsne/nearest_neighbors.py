"""Neighbor searches, by the names of openTSNE."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import neighbors
from sklearn.metrics import pairwise_distances

from ... import _input, _lowland, _parameters
from ..._graph import neighbors as approximate_search
from .. import _common
from . import utils

#: Other names of metrics that lowland computes itself.
_ALIASES = {
    "l1": "manhattan",
    "taxicab": "manhattan",
    "cityblock": "manhattan",
    "l2": "euclidean",
    "linf": "chebyshev",
    "linfty": "chebyshev",
    "linfinity": "chebyshev",
}


def _smallest(distances: Any, k: int) -> tuple[Any, Any]:
    """Return the columns of the ``k`` smallest distances of each row, and these."""
    indices = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return indices, np.take_along_axis(np.asarray(distances), indices, axis=1)


class KNNIndex:
    """Base class of the searches.

    Parameters
    ----------
    data : array-like or sparse matrix of shape (n_samples, n_features)
        Rows.
    k : int
        Number of neighbors of each row, without the row itself.
    metric : str or callable, default='euclidean'
        Distance between rows.
    metric_params : dict, default=None
        Parameters of the metric.
    n_jobs : int, default=1
        Number of threads.
    random_state : int or RandomState, default=None
        Seed of an approximate search.
    verbose : bool, default=False
        Whether to print what is done.
    knn_kwargs : dict, default=None
        Further parameters of the search.
    """

    VALID_METRICS: list[str] = []

    data: Any
    n_samples: int
    k: int
    metric: Any
    metric_params: dict[str, Any] | None
    n_jobs: int
    random_state: Any
    verbose: bool
    knn_kwargs: dict[str, Any] | None
    index: Any

    def __init__(
        self,
        data: Any,
        k: int,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: bool = False,
        knn_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.data = data
        self.n_samples = data.shape[0]
        self.k = k
        self.metric = self.check_metric(metric)
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.knn_kwargs = knn_kwargs
        self.index = None

    def build(self) -> tuple[Any, Any]:
        """Return the indices and distances of the ``k`` neighbors of each row."""
        raise NotImplementedError

    def query(self, query: Any, k: int) -> tuple[Any, Any]:
        """Return the indices and distances of the ``k`` rows nearest to each row of ``query``."""
        raise NotImplementedError

    def check_metric(self, metric: Any) -> Any:
        """Return the metric, or raise if the search does not support it."""
        if not callable(metric) and metric not in self.VALID_METRICS:
            raise ValueError(
                f"metric={metric!r} is not supported by {type(self).__name__}, whose metrics are {', '.join(self.VALID_METRICS)}"
            )
        return metric


class Sklearn(KNNIndex):
    """Exact search with scikit-learn's ``NearestNeighbors``, whose parameters ``knn_kwargs`` are."""

    index: Any

    VALID_METRICS = [
        "braycurtis",
        "canberra",
        "chebyshev",
        "cityblock",
        "cosine",
        "dice",
        "euclidean",
        "hamming",
        "haversine",
        "infinity",
        "jaccard",
        "l1",
        "l2",
        "mahalanobis",
        "manhattan",
        "minkowski",
        "p",
        "rogerstanimoto",
        "russellrao",
        "seuclidean",
        "sokalmichener",
        "sokalsneath",
    ]

    def build(self) -> tuple[Any, Any]:
        with utils.timed(f"Finding {self.k} nearest neighbors using exact search...", self.verbose):
            options = {"algorithm": "auto", **(self.knn_kwargs or {})}
            options.update(metric_params=self.metric_params, n_jobs=self.n_jobs)
            # The order by the angle is that of the distance of rows of unit length, for which there are trees.
            metric = "euclidean" if self.metric == "cosine" else self.metric
            self.index = neighbors.NearestNeighbors(metric=metric, **options).fit(self._rows(self.data))
            distances, indices = self.index.kneighbors(n_neighbors=self.k)
            return self._with_distances(indices, distances, self.data)

    def query(self, query: Any, k: int) -> tuple[Any, Any]:
        with utils.timed(f"Finding {k} nearest neighbors in existing embedding using exact search...", self.verbose):
            distances, indices = self.index.kneighbors(self._rows(query), n_neighbors=k)
            return self._with_distances(indices, distances, query)

    def _rows(self, rows: Any) -> Any:
        if self.metric != "cosine":
            return rows
        rows = np.asarray(rows)
        return rows / np.linalg.norm(rows, axis=1)[:, None]

    def _with_distances(self, indices: Any, distances: Any, rows: Any) -> tuple[Any, Any]:
        if self.metric == "cosine":
            from scipy.spatial.distance import cdist

            distances = np.vstack([cdist(row[None], self.data[near], "cosine") for row, near in zip(rows, indices)])
        return indices, distances


class _Approximate(KNNIndex):
    """lowland's approximate search."""

    index: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.knn_kwargs:
            raise _common.refuse("knn_kwargs", self.knn_kwargs, "its approximate search chooses its parameters by the recall")

    def build(self) -> tuple[Any, Any]:
        with utils.timed(f"Finding {self.k} nearest neighbors using approximate search...", self.verbose):
            rows, options = self.data, {"metric": self._metric(), "search": "approximate", "metric_params": self.metric_params}
            if callable(self.metric):
                # A function is called for every pair.
                rows, options = self._distances(self.data), {"metric": "precomputed"}
            options.update(n_jobs=utils.threads(self.n_jobs), random_state=_common.seed(self.random_state))
            self.index = approximate_search(rows, self.k, **options)
            shape = (self.n_samples, -1)
            return self.index.indices.reshape(shape), self.index.distances.reshape(shape).astype(np.float64)

    def query(self, query: Any, k: int) -> tuple[Any, Any]:
        with utils.timed(f"Finding {k} nearest neighbors in existing embedding...", self.verbose):
            if callable(self.metric):
                return _smallest(self._distances(query), k)
            metric = _parameters.metric_text(self._metric(), self.metric_params)
            rows, threads = _input.rows(query), utils.threads(self.n_jobs)
            indices, distances = _lowland.nearest_to(rows, _input.rows(self.data), k, metric, threads)
            return indices, distances.astype(np.float64)

    def _metric(self) -> Any:
        return self.metric if callable(self.metric) else _ALIASES.get(self.metric, self.metric)

    def _distances(self, rows: Any) -> Any:
        return pairwise_distances(rows, self.data, metric=self.metric, **(self.metric_params or {}))


class Annoy(_Approximate):
    """lowland's approximate search under the name of the package ``annoy``."""

    VALID_METRICS = ["cosine", "euclidean", "manhattan", "hamming", "l1", "l2", "taxicab"]


class NNDescent(_Approximate):
    """lowland's approximate search under the name of the package ``pynndescent``."""

    VALID_METRICS = [
        "braycurtis",
        "canberra",
        "chebyshev",
        "correlation",
        "cosine",
        "euclidean",
        "hamming",
        "haversine",
        "hellinger",
        "jaccard",
        "l1",
        "l2",
        "linf",
        "linfinity",
        "linfty",
        "manhattan",
        "minkowski",
        "taxicab",
    ]


class HNSW(_Approximate):
    """lowland's approximate search under the name of the package ``hnswlib``."""

    VALID_METRICS = ["cosine", "euclidean", "l2"]


class PrecomputedDistanceMatrix(KNNIndex):
    """Neighbors from a square matrix of distances.

    Parameters
    ----------
    distance_matrix : array-like of shape (n_samples, n_samples)
        Distances.
    k : int
        Number of neighbors.
    """

    indices: Any
    distances: Any
    n_samples: int
    k: int

    def __init__(self, distance_matrix: Any, k: int) -> None:
        search = neighbors.NearestNeighbors(metric="precomputed").fit(distance_matrix)
        self.distances, self.indices = search.kneighbors(n_neighbors=k)
        self.n_samples, self.k = distance_matrix.shape[0], k

    def build(self) -> tuple[Any, Any]:
        return self.indices, self.distances

    def query(self, query: Any, k: int) -> tuple[Any, Any]:
        """Return the nearest rows by a matrix of distances to all rows."""
        return _smallest(query, k)


class PrecomputedNeighbors(KNNIndex):
    """Given neighbors.

    Parameters
    ----------
    neighbors : ndarray of shape (n_samples, k)
        Indices of the neighbors.
    distances : ndarray of shape (n_samples, k)
        Distances to the neighbors.
    """

    indices: Any
    distances: Any
    n_samples: int
    k: int

    def __init__(self, neighbors: Any, distances: Any) -> None:
        self.indices, self.distances = neighbors, distances
        self.n_samples, self.k = neighbors.shape

    def build(self) -> tuple[Any, Any]:
        return self.indices, self.distances

    def query(self, query: Any, k: int) -> tuple[Any, Any]:
        raise RuntimeError("the neighbors of new rows are not known: PrecomputedNeighbors has no rows to compare them with")
