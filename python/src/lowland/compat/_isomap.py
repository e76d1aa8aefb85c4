"""scikit-learn's Isomap, computed by lowland."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.csgraph import connected_components, shortest_path
from sklearn.base import _fit_context
from sklearn.neighbors import NearestNeighbors, kneighbors_graph, radius_neighbors_graph
from sklearn.utils.validation import check_is_fitted

from .. import estimators

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

    from .._sklearn import SklearnTransformer as _Original
else:
    from sklearn.manifold import Isomap as _Original


class Isomap(_Original):
    """scikit-learn's ``Isomap`` with lowland's classical scaling.

    The parameters and defaults are those of ``sklearn.manifold.Isomap``. The neighbors are found by scikit-learn, since they are
    its attribute ``nbrs_``. ``eigen_solver``, ``tol`` and ``max_iter`` are accepted: the eigenvectors have a relative residual of
    1e-8 or less in any case. The attribute ``kernel_pca_`` does not exist.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training rows.
    nbrs_ : sklearn.neighbors.NearestNeighbors
        The neighbor search.
    dist_matrix_ : ndarray of shape (n_samples, n_samples)
        Distances along the neighbor graph.
    model_ : lowland.Isomap
        The fitted estimator of lowland.
    """

    n_neighbors: Any
    radius: Any
    n_components: Any
    eigen_solver: Any
    tol: Any
    max_iter: Any
    path_method: Any
    neighbors_algorithm: Any
    n_jobs: Any
    metric: Any
    p: Any
    metric_params: Any

    embedding_: NDArray[np.floating[Any]]
    dist_matrix_: NDArray[np.floating[Any]]
    nbrs_: Any
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    _n_features_out: int
    model_: estimators.Isomap

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the embedding of X.

        Parameters
        ----------
        X : array-like, sparse matrix or sklearn.neighbors.BallTree of shape (n_samples, n_features)
            Rows, or their distances or a neighbor graph if ``metric='precomputed'``.
        y : ignored

        Returns
        -------
        self : object
        """
        self._fit_paths(X)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Compute the embedding of X and return it.

        Parameters
        ----------
        X : array-like, sparse matrix or sklearn.neighbors.BallTree of shape (n_samples, n_features)
            As in ``fit``.
        y : ignored

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
        """
        self._fit_paths(X)
        return self.embedding_

    def transform(self, X: Any) -> Any:
        """Place new rows: each by its shortest paths to all training rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, or distances to the training rows if ``metric='precomputed'``.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        if self.n_neighbors is not None:
            distances, indices = self.nbrs_.kneighbors(X, return_distance=True)
        else:
            distances, indices = self.nbrs_.radius_neighbors(X, return_distance=True)
        paths = [np.min(self.dist_matrix_[i] + d[:, None], axis=0) for i, d in zip(indices, distances)]
        return self.model_.transform(np.asarray(paths)).astype(self.embedding_.dtype, copy=False)

    def reconstruction_error(self) -> float:
        """Return the error of the inner products that the embedding leaves.

        Returns
        -------
        error : float
        """
        products = -0.5 * self.dist_matrix_.astype(np.float64) ** 2
        products -= products.mean(axis=0)
        products -= products.mean(axis=1)[:, None]
        # Rayleigh quotients, which are more accurate than the eigenvectors.
        points = self.embedding_.astype(np.float64)
        kept = np.sum((np.sum(points * (products @ points), axis=0) / np.sum(points**2, axis=0)) ** 2)
        return float(np.sqrt(max(np.sum(products**2) - kept, 0.0)) / len(products))

    def _fit_paths(self, X: Any) -> None:
        if self.n_neighbors is not None and self.radius is not None:
            raise ValueError(
                "Both n_neighbors and radius are provided. Use Isomap(radius="
                f"{self.radius}, n_neighbors=None) if intended to use radius-based neighbors"
            )
        self.nbrs_ = NearestNeighbors(
            n_neighbors=self.n_neighbors,
            radius=self.radius,
            algorithm=self.neighbors_algorithm,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        ).fit(X)
        self.n_features_in_ = self.nbrs_.n_features_in_
        if hasattr(self.nbrs_, "feature_names_in_"):
            self.feature_names_in_ = self.nbrs_.feature_names_in_
        graph = self._joined(self._graph())
        lengths = shortest_path(graph, method=self.path_method, directed=False)
        rows = self.nbrs_._fit_X
        self.dist_matrix_ = lengths.astype(np.float32) if rows.dtype == np.float32 else lengths
        n = len(lengths)
        # All other rows are neighbors: shortest paths along shortest paths are the same.
        self.model_ = estimators.Isomap(
            n_components=self.n_components, n_neighbors=max(n - 1, 1), metric="precomputed", n_jobs=self.n_jobs
        )
        self.model_.set_output(transform="default").fit(0.5 * (lengths + lengths.T))
        self.embedding_ = self.model_.embedding_.astype(self.dist_matrix_.dtype, copy=False)
        self._n_features_out = self.embedding_.shape[1]

    def _graph(self) -> Any:
        options = {"metric": self.metric, "p": self.p, "metric_params": self.metric_params, "n_jobs": self.n_jobs}
        if self.n_neighbors is not None:
            return kneighbors_graph(self.nbrs_, self.n_neighbors, mode="distance", **options)
        return radius_neighbors_graph(self.nbrs_, radius=self.radius, mode="distance", **options)

    def _joined(self, graph: Any) -> Any:
        """Join the components of the graph at their closest rows, with a warning."""
        count, labels = connected_components(graph)
        if count == 1:
            return graph
        rows = self.nbrs_._fit_X
        if self.metric == "precomputed" and issparse(rows):
            raise RuntimeError(
                f"The number of connected components of the neighbors graph is {count} > 1. The graph cannot be completed with "
                "metric='precomputed', and Isomap cannot be fitted. Increase the number of neighbors, or use a dense matrix of distances."
            )
        warnings.warn(
            f"The number of connected components of the neighbors graph is {count} > 1. They are joined at their closest rows; "
            "increase the number of neighbors to avoid this.",
            UserWarning,
            stacklevel=5,
        )
        graph = graph.tolil()
        effective, params = self.nbrs_.effective_metric_, self.nbrs_.effective_metric_params_
        for first in range(count):
            for second in range(first):
                one, other = np.flatnonzero(labels == first), np.flatnonzero(labels == second)
                if self.metric == "precomputed":
                    between = rows[np.ix_(one, other)]
                else:
                    from ._common import distances

                    between = distances(rows[one], rows[other], effective, params, self.n_jobs)
                i, j = np.unravel_index(np.argmin(between), between.shape)
                graph[one[i], other[j]] = graph[other[j], one[i]] = between[i, j]
        return graph.tocsr()
