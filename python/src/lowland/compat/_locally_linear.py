"""scikit-learn's LocallyLinearEmbedding, computed by lowland."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix, eye
from sklearn.base import _fit_context
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from .. import _input, _lowland
from .._validation import validate_data
from . import _common

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

    from .._sklearn import SklearnTransformer as _Original
else:
    from sklearn.manifold import LocallyLinearEmbedding as _Original

#: Rows whose neighborhoods are processed at a time.
_ROWS = 1024
#: Regularization of the weights of modified LLE, as in scikit-learn.
_MODIFIED_REG = 1e-3


class LocallyLinearEmbedding(_Original):
    """scikit-learn's ``LocallyLinearEmbedding`` with lowland's eigensolver, and neighborhoods processed together.

    The parameters and defaults are those of ``sklearn.manifold.LocallyLinearEmbedding``. The neighbors are found by scikit-learn, since
    they are its attribute ``nbrs_``. ``eigen_solver``, ``tol`` and ``max_iter`` are accepted: the eigenvectors are computed with a
    factorization, which needs neither.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training rows.
    reconstruction_error_ : float
        Sum of the eigenvalues.
    nbrs_ : sklearn.neighbors.NearestNeighbors
        The neighbor search.
    """

    n_neighbors: Any
    n_components: Any
    reg: Any
    eigen_solver: Any
    tol: Any
    max_iter: Any
    method: Any
    hessian_tol: Any
    modified_tol: Any
    random_state: Any
    neighbors_algorithm: Any
    n_jobs: Any

    embedding_: NDArray[np.floating[Any]]
    reconstruction_error_: float
    nbrs_: Any
    _n_features_out: int

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the embedding of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : ignored

        Returns
        -------
        self : object
        """
        self._fit_transform(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Compute the embedding of X and return it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : ignored

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
        """
        self._fit_transform(X)
        return self.embedding_

    def transform(self, X: Any) -> Any:
        """Place new rows: each at the mean of its neighbors, with the weights that reconstruct it in the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        near = self.nbrs_.kneighbors(X, n_neighbors=self.n_neighbors, return_distance=False)
        placed = [
            np.einsum("ij,ijk->ik", barycenters(differences, self.reg), self.embedding_[near[rows]])
            for rows, differences in _neighborhoods(self.nbrs_._fit_X, near, X)
        ]
        return np.concatenate(placed)

    def _fit_transform(self, X: Any) -> None:
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        n, columns = X.shape
        if self.n_components > columns:
            raise ValueError("output dimension must be less than or equal to input dimension")
        if self.n_neighbors >= n:
            raise ValueError(f"Expected n_neighbors < n_samples, but n_samples = {n}, n_neighbors = {self.n_neighbors}")
        if self.n_components >= n:
            raise ValueError(f"n_components={self.n_components} must be less than the number of rows, {n}")
        self.nbrs_ = NearestNeighbors(
            n_neighbors=self.n_neighbors, algorithm=self.neighbors_algorithm, n_jobs=self.n_jobs
        ).fit(X)
        near = self.nbrs_.kneighbors(return_distance=False)
        values, vectors, _ = _lowland.smallest_eigenpairs(
            _input.sparse_parts(self._matrix(X.astype(np.float64), near)),
            self.n_components,
            _common.seed(self.random_state),
            _input.threads(self.n_jobs),
        )
        self.embedding_ = vectors.astype(X.dtype)
        self.reconstruction_error_ = float(values.sum())
        self._n_features_out = self.n_components

    def _matrix(self, X: Any, near: Any) -> Any:
        """Return the matrix whose bottom eigenvectors are the coordinates."""
        n, k = near.shape
        if self.method == "standard":
            weights = np.concatenate([barycenters(differences, self.reg) for _, differences in _neighborhoods(X, near, X)])
            indptr = np.arange(0, n * k + 1, k)
            # The rows of the identity less the weights.
            left = eye(n, format="csr") - csr_matrix((weights.ravel(), near.ravel(), indptr), shape=(n, n))
            return (left.T @ left).tocsr()
        if self.method == "modified":
            return _alignment(n, near, _modified(X, near, self.n_components, self.modified_tol), own=True)
        if self.method == "hessian":
            pairs = self.n_components * (self.n_components + 1) // 2
            if k <= self.n_components + pairs:
                raise ValueError(
                    "for method='hessian', n_neighbors must be greater than [n_components * (n_components + 3) / 2]"
                )
        blocks = []
        for _, differences in _neighborhoods(X, near, None):
            tangents = np.linalg.svd(differences, full_matrices=False)[0][:, :, : self.n_components]
            if tangents.shape[2] < self.n_components:
                raise ValueError(f"n_components={self.n_components} must be at most n_neighbors={k} with method={self.method!r}")
            blocks.append(self._null_space(tangents))
        return _alignment(n, near, np.concatenate(blocks), own=False)

    def _null_space(self, tangents: Any) -> Any:
        """Return the products of each neighborhood that vanish on functions which are linear in its tangent coordinates."""
        rows, k, d = tangents.shape
        constant = np.full((rows, k, 1), 1 / np.sqrt(k))
        if self.method == "ltsa":
            linear = np.concatenate([constant, tangents], axis=2)
            return np.eye(k) - linear @ linear.transpose(0, 2, 1)
        products = [tangents[:, :, a : a + 1] * tangents[:, :, b : b + 1] for a in range(d) for b in range(a, d)]
        # As in scikit-learn, the complement of the linear functions is not only that of the quadratic ones.
        basis = np.linalg.qr(np.concatenate([constant, tangents, *products], axis=2), mode="complete")[0]
        hessians = basis[:, :, 1 + d :]
        sums = hessians.sum(axis=1, keepdims=True)
        hessians = hessians / np.where(np.abs(sums) < self.hessian_tol, 1, sums)
        return hessians @ hessians.transpose(0, 2, 1)


def _neighborhoods(X: Any, near: Any, centers: Any) -> Iterator[tuple[Any, Any]]:
    """Yield rows and their neighbors relative to the row of ``centers``, or to the mean of the neighbors."""
    for start in range(0, len(near), _ROWS):
        rows = slice(start, start + _ROWS)
        points = X[near[rows]]
        yield rows, points - (points.mean(axis=1, keepdims=True) if centers is None else centers[rows, None])


def barycenters(differences: Any, reg: float) -> Any:
    """Return the weights, with sum one, that reconstruct a row from its neighbors."""
    products = differences @ differences.transpose(0, 2, 1)
    trace = np.trace(products, axis1=1, axis2=2)
    k = products.shape[1]
    products[:, np.arange(k), np.arange(k)] += np.where(trace > 0, reg * trace, reg)[:, None]
    weights = np.linalg.solve(products, np.ones((len(products), k, 1)))[:, :, 0]
    return weights / weights.sum(axis=1, keepdims=True)


def _modified(X: Any, near: Any, d: int, tolerance: float) -> Any:
    """Return the products of the several weights of each neighborhood and its row (Zhang and Wang 2006).

    The row comes last in each neighborhood.
    """
    n, k = near.shape
    if k < d:
        raise ValueError("modified LLE requires n_neighbors >= n_components")
    vectors, squares = np.empty((n, k, k)), np.zeros((n, k))
    for rows, differences in _neighborhoods(X, near, X):
        left, lengths, _ = np.linalg.svd(differences, full_matrices=True)
        vectors[rows], squares[rows, : lengths.shape[1]] = left, lengths**2
    regularized = squares + _MODIFIED_REG * squares.sum(axis=1, keepdims=True)
    projected = vectors.sum(axis=1) / regularized
    weights = np.einsum("ijk,ik->ij", vectors, projected)
    weights /= weights.sum(axis=1, keepdims=True)
    # The null space is as large as its share of the squares stays below the median share of what d dimensions leave.
    share = np.median(squares[:, d:].sum(axis=1) / squares[:, :d].sum(axis=1))
    kept = np.cumsum(squares, axis=1)
    left_over = kept[:, -1:] / np.maximum(kept, np.finfo(float).tiny) - 1
    sizes = np.maximum((left_over[:, :-1] < share).sum(axis=1), 1)
    result = np.empty((n, k + 1, k + 1))
    for i in range(n):
        basis = vectors[i, :, k - sizes[i] :]
        mean = basis.sum(axis=0)
        alpha = np.linalg.norm(mean) / np.sqrt(sizes[i])
        # A reflection that maps the sums of the basis to equal numbers.
        normal = alpha - mean
        length = np.linalg.norm(normal)
        normal = normal / length if length >= tolerance else np.zeros_like(normal)
        each = basis - 2 * np.outer(basis @ normal, normal) + (1 - alpha) * weights[i, :, None]
        full = np.vstack([each, np.full((1, sizes[i]), -1.0)])
        result[i] = full @ full.T
    return result


def _alignment(n: int, near: Any, blocks: Any, own: bool) -> Any:
    """Return the sum of the products of all neighborhoods, to which the row itself belongs or not."""
    members = np.hstack([near, np.arange(n)[:, None]]) if own else near
    k = members.shape[1]
    rows, columns = np.repeat(members, k, axis=1).ravel(), np.tile(members, (1, k)).ravel()
    matrix = csr_matrix((blocks.ravel(), (rows, columns)), shape=(n, n))
    return ((matrix + matrix.T) / 2).tocsr()
