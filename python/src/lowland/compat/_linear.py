"""scikit-learn's PCA and TruncatedSVD, computed by lowland."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import gammaln
from sklearn.base import _fit_context

from .. import estimators
from .._validation import validate_data
from . import _common

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

    from .._sklearn import SklearnTransformer as _OriginalPCA
    from .._sklearn import SklearnTransformer as _OriginalSVD
else:
    from sklearn.decomposition import PCA as _OriginalPCA
    from sklearn.decomposition import TruncatedSVD as _OriginalSVD


class PCA(_OriginalPCA):
    """scikit-learn's ``PCA`` with lowland's decomposition.

    The parameters and defaults are those of ``sklearn.decomposition.PCA``; what is computed from the components (``transform``,
    ``inverse_transform``, ``score``, ``get_covariance``) is inherited. ``svd_solver`` chooses between the exact and the randomized solver, and ``iterated_power``, ``n_oversamples`` and ``power_iteration_normalizer`` are
    accepted: the randomized solver iterates until its error is below 1e-6.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions of the dimensions.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of each dimension.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Variance of each dimension as a fraction of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the dimensions.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows.
    n_components_ : int
        Number of dimensions.
    n_samples_ : int
        Number of training rows.
    noise_variance_ : float
        Mean variance of the directions that are left out.
    model_ : lowland.PCA
        The fitted estimator of lowland.
    """

    n_components: Any
    copy: Any
    whiten: Any
    svd_solver: Any
    tol: Any
    iterated_power: Any
    n_oversamples: Any
    power_iteration_normalizer: Any
    random_state: Any

    components_: NDArray[np.floating[Any]]
    explained_variance_: NDArray[np.floating[Any]]
    explained_variance_ratio_: NDArray[np.floating[Any]]
    singular_values_: NDArray[np.floating[Any]]
    mean_: NDArray[np.floating[Any]]
    n_components_: int
    n_samples_: int
    noise_variance_: float
    _fit_svd_solver: str
    model_: estimators.PCA

    if TYPE_CHECKING:

        def __init__(self, n_components: Any = None, **params: Any) -> None: ...
        def transform(self, X: Any) -> Any: ...

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the components of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : ignored

        Returns
        -------
        self : object
        """
        self._fit_components(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Compute the components of X and return its coordinates.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : ignored

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
        """
        return self.transform(self._fit_components(X))

    def _fit_components(self, X: Any) -> Any:
        X = validate_data(self, X, dtype=[np.float64, np.float32], accept_sparse=("csr", "csc"), ensure_min_samples=2)
        if issparse(X) and self.svd_solver in ("full", "randomized"):
            raise TypeError(
                f'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, while "{self.svd_solver}" was passed'
            )
        most = min(X.shape)
        self._fit_svd_solver = self._solver_of(X)
        wanted = self._wanted(X, most)
        values = X.toarray() if issparse(X) else X
        self.mean_ = values.mean(axis=0, dtype=np.float64).astype(X.dtype)
        self.n_samples_ = X.shape[0]
        total = float(np.var(values, axis=0, ddof=1, dtype=np.float64).sum())
        computed = most if wanted in ("mle", 1.0) and not isinstance(wanted, int) else wanted
        self.model_ = estimators.PCA(
            n_components=max(computed, 1) if isinstance(computed, int) else computed,
            solver="randomized" if self._fit_svd_solver in ("randomized", "arpack") else "auto",
            random_state=_common.seed(self.random_state),
        ).fit(values)
        components, singular_values = self.model_.components_, self.model_.singular_values_
        if X.dtype == np.float64:
            components, singular_values = _refined(values - values.mean(axis=0), components)
        variances = singular_values**2 / (len(values) - 1)
        count = len(components)
        if wanted == "mle":
            count = _most_likely_dimension(variances, X.shape)
        elif wanted == 0:
            count = 0
        self.n_components_ = count
        self.components_ = components[:count].astype(X.dtype)
        self.singular_values_ = singular_values[:count].astype(X.dtype)
        self.explained_variance_ = variances[:count].astype(X.dtype)
        self.explained_variance_ratio_ = (variances[:count] / (total or 1.0)).astype(X.dtype)
        left = most - count
        self.noise_variance_ = max(total - float(variances[:count].sum()), 0.0) / left if left else 0.0
        return X

    def _solver_of(self, X: Any) -> str:
        """Return the solver that scikit-learn would choose."""
        if self.svd_solver != "auto":
            return self.svd_solver
        if issparse(X):
            return "arpack"
        rows, columns = X.shape
        if columns <= 1000 and rows >= 10 * columns:
            return "covariance_eigh"
        wanted = min(X.shape) if self.n_components is None else self.n_components
        if max(X.shape) <= 500 or wanted == "mle" or not 1 <= wanted < 0.8 * min(X.shape):
            return "full"
        return "randomized"

    def _wanted(self, X: Any, most: int) -> Any:
        """Return the number of components, a share of the variance, or 'mle'; raise where scikit-learn does."""
        solver, wanted = self._fit_svd_solver, self.n_components
        exact = solver in ("full", "covariance_eigh")
        if wanted is None:
            return most - 1 if solver == "arpack" else most
        if isinstance(wanted, str):
            if not exact:
                raise ValueError(f"n_components={wanted!r} cannot be a string with svd_solver='{solver}'")
            if X.shape[0] < X.shape[1]:
                raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
            return wanted
        if solver == "arpack" and wanted >= most:
            raise ValueError(
                f"n_components={wanted!r} must be strictly less than min(n_samples, n_features)={most} with svd_solver='arpack'"
            )
        least = 0 if exact else 1
        if not least <= wanted <= most:
            raise ValueError(
                f"n_components={wanted!r} must be between {least} and min(n_samples, n_features)={most} with svd_solver={solver!r}"
            )
        return int(wanted) if isinstance(wanted, numbers.Integral) else float(wanted)


def _refined(values: Any, components: Any) -> tuple[Any, Any]:
    """Return components and singular values of a matrix in double precision, from those of it in single precision.

    After one step of a power iteration, the errors of the singular values are those of the space that the components span, squared.
    """
    space = np.linalg.qr(components.T)[0]
    space = np.linalg.qr(np.hstack([np.asarray(values.T @ (values @ space)), space]))[0][:, : space.shape[1]]
    _, singular_values, turn = np.linalg.svd(np.asarray(values @ space), full_matrices=False)
    components = turn @ space.T
    largest = np.abs(components).argmax(axis=1)
    return components * np.sign(components[np.arange(len(components)), largest])[:, None], singular_values


def _most_likely_dimension(variances: Any, shape: tuple[int, int]) -> int:
    """Return the number of dimensions with the largest evidence by Minka's Laplace approximation (2000)."""
    n, d = shape
    # Variances below the rounding errors are those of directions in which the rows do not vary.
    varies = variances > np.finfo(float).eps * n * variances[0]
    variances, rank = np.where(varies, variances, 0.0), int(varies.sum())
    if rank < 2:
        return max(rank, 1)
    evidence = []
    for k in range(1, min(rank, d - 1) + 1):
        noise = max(variances[k:].sum() / (d - k), _LEAST_VARIANCE)
        degrees = (d - np.arange(k)) / 2
        prior = np.sum(gammaln(degrees) - degrees * np.log(np.pi)) - k * np.log(2)
        fit = -n / 2 * (np.log(variances[:k]).sum() + (d - k) * np.log(noise))
        modeled = np.concatenate([variances[:k], np.full(d - k, noise)])
        known = np.concatenate([variances, np.zeros(d - len(variances))])
        # The curvature of the evidence along the rotations of each kept direction and a later one.
        i, j = np.triu_indices(d, 1)
        i, j = i[i < k], j[i < k]
        gaps = np.maximum((1 / modeled[j] - 1 / modeled[i]) * (known[i] - known[j]), np.finfo(float).tiny)
        curvature = np.sum(np.log(gaps) + np.log(n))
        parameters = d * k - k * (k + 1) / 2
        evidence.append(prior + fit + (parameters + k) / 2 * np.log(2 * np.pi) - curvature / 2 - k / 2 * np.log(n))
    return 1 + int(np.argmax(evidence))


#: Lower bound of the variance of the noise, as in scikit-learn.
_LEAST_VARIANCE = 1e-15

#: Attributes that both have.
_LINEAR = ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_")


class TruncatedSVD(_OriginalSVD):
    """scikit-learn's ``TruncatedSVD`` with lowland's decomposition.

    The parameters and defaults are those of ``sklearn.decomposition.TruncatedSVD``. ``algorithm``, ``n_iter``, ``n_oversamples``,
    ``power_iteration_normalizer`` and ``tol`` are accepted: the solver iterates until its error is below 1e-6.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions of the dimensions.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of each dimension.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Variance of each dimension as a fraction of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the dimensions.
    model_ : lowland.TruncatedSVD
        The fitted estimator of lowland.
    """

    n_components: Any
    algorithm: Any
    n_iter: Any
    n_oversamples: Any
    power_iteration_normalizer: Any
    random_state: Any
    tol: Any

    components_: NDArray[np.floating[Any]]
    explained_variance_: NDArray[np.floating[Any]]
    explained_variance_ratio_: NDArray[np.floating[Any]]
    singular_values_: NDArray[np.floating[Any]]
    model_: estimators.TruncatedSVD

    if TYPE_CHECKING:

        def __init__(self, n_components: int = 2, **params: Any) -> None: ...
        def transform(self, X: Any) -> Any: ...

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the components of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : ignored

        Returns
        -------
        self : object
        """
        self.fit_transform(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Compute the components of X and return its coordinates.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : ignored

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
        """
        X = validate_data(self, X, accept_sparse=["csr", "csc"], ensure_min_features=2)
        if self.n_components > X.shape[1]:
            raise ValueError(f"n_components({self.n_components}) must be <= n_features({X.shape[1]}).")
        if self.algorithm == "arpack" and self.n_components >= min(X.shape):
            raise ValueError(f"n_components({self.n_components}) must be < min(n_samples, n_features) with algorithm='arpack'")
        dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
        seed = _common.seed(self.random_state)
        self.model_ = estimators.TruncatedSVD(n_components=self.n_components, random_state=seed).fit(X.astype(dtype))
        for name in _LINEAR:
            setattr(self, name, getattr(self.model_, name).astype(dtype))
        if dtype == np.float64:
            self.components_, self.singular_values_ = _refined(X, self.model_.components_)
        return self.transform(X)
