"""scikit-learn's SpectralEmbedding, computed by lowland."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import _fit_context
from sklearn.utils import check_symmetric

from .. import _input
from .._validation import validate_data
from . import _common

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

    from .._sklearn import SklearnTransformer as _Original
else:
    from sklearn.manifold import SpectralEmbedding as _Original


class SpectralEmbedding(_Original):
    """scikit-learn's ``SpectralEmbedding`` with lowland's eigensolver.

    The parameters and defaults are those of ``sklearn.manifold.SpectralEmbedding``. The affinities are computed by scikit-learn, since
    they are its attribute. ``eigen_solver`` is accepted: lowland's solver is used, which needs no package in any case. ``eigen_tol`` is
    the relative residual, and 'auto' takes 1e-8. Where the graph has several components, the first coordinates tell them apart.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training rows.
    affinity_matrix_ : ndarray or sparse matrix of shape (n_samples, n_samples)
        Affinities between the rows.
    n_neighbors_ : int
        Number of neighbors of the graph.
    """

    n_components: Any
    affinity: Any
    gamma: Any
    random_state: Any
    eigen_solver: Any
    eigen_tol: Any
    n_neighbors: Any
    n_jobs: Any

    embedding_: NDArray[np.floating[Any]]
    affinity_matrix_: Any
    n_neighbors_: int
    if TYPE_CHECKING:

        def _get_affinity_matrix(self, X: Any) -> Any: ...

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the embedding of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows, or their affinities or neighbors, as ``affinity`` says.
        y : ignored

        Returns
        -------
        self : object
        """
        X = validate_data(self, X, accept_sparse="csr", ensure_min_samples=2)
        self._get_affinity_matrix(X)
        affinities = self.affinity_matrix_
        weights = check_symmetric(affinities)
        if (weights.data if issparse(weights) else weights).min(initial=0) < 0:
            raise _common.refuse("affinity", self.affinity, "the affinities must not be negative")
        if connected_components(weights, directed=False, return_labels=False) > 1:
            warnings.warn("Graph is not fully connected, spectral embedding may not work as expected.", stacklevel=4)
        if self.n_components >= affinities.shape[0]:
            raise ValueError(f"n_components={self.n_components} must be less than the number of rows, {affinities.shape[0]}")
        tolerance = 1e-8 if self.eigen_tol == "auto" else max(float(self.eigen_tol), 1e-12)
        seed = _common.seed(self.random_state)
        _, vectors = _common.laplacian_eigenvectors(weights, self.n_components, tolerance, seed, _input.threads(self.n_jobs))
        # The largest coordinate of each is positive.
        largest = np.abs(vectors).argmax(axis=0)
        vectors = vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])
        self.embedding_ = vectors.astype(np.float32) if affinities.dtype == np.float32 else vectors
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Compute the embedding of X and return it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_samples)
            As in ``fit``.
        y : ignored

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
        """
        return self.fit(X).embedding_
