"""Latent variable models: places with standard deviations."""

from __future__ import annotations

from typing import Any

from .._base import Estimator, Generative, Invertible

_STD = """    embedding_std_ : ndarray of shape (n_samples,)
        The standard deviation of each point of the map.
"""
_BOUND = """    lower_bound_, lower_bounds_ : float, ndarray
        The likelihood or its bound: ``objective_`` and ``objectives_`` by the name scikit-learn's mixtures use.
"""


class LVM(Generative, Estimator, method="lvm"):
    """A latent variable model (Saul, 2020): clusters, with a standard deviation for every point.

    ``score_samples`` is the likelihood of a row's relations to its neighbours, given its distances to them: how well
    the map can keep the near ones near and the others off. It compares maps (numbers of neighbours, of dimensions) for
    the same rows. It is no density of rows and finds no outliers: a row far from all others has few relations to keep
    and a wide scale of its own, and may score higher than an ordinary one. What marks such a row is ``transform_std``.

    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> model = lowland.LVM(max_iter=30, random_state=1).fit(X[:400])
    >>> model.transform(X[400:410]).shape
    (10, 2)
    >>> model.inverse_transform(model.embedding_[:1]).shape
    (1, 64)
    """

    _objective = "lower_bound"
    _more_attributes = _STD + _BOUND

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 9,
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: str = "auto",
        neighbors: Any = None,
        reach: int = 1,
        levels: int | str = "auto",
        max_iter: int = 400,
        momentum: float = 0.9,
        variances: str = "free",
        components: str = "join",
        tol: float = 1e-6,
        landmarks: int = 0,
        log1p: bool = False,
        standardize: bool = False,
        normalize: bool = False,
        pca: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        callbacks_every_iters: int = 50,
        max_memory: int | None = None,
    ) -> None:
        self._store(locals())


class LLLVM(Invertible, Estimator, method="lllvm"):
    """The locally linear latent variable model (Park et al., 2015): places with variances, and a bound on the evidence.

    >>> import lowland
    >>> X, angles = lowland.datasets.load("swiss-roll", n_points=100, return_X_y=True)
    >>> model = lowland.LLLVM(starts=1, max_iter=10).fit(X)
    >>> model.embedding_std_.shape
    (100,)
    """

    _objective = "lower_bound"
    _more_attributes = _STD + _BOUND

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 10,
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: str = "auto",
        neighbors: Any = None,
        alpha: float | str = 1e-3,
        starts: int = 3,
        max_iter: int = 100,
        tol: float = 1e-6,
        landmarks: int = 0,
        log1p: bool = False,
        standardize: bool = False,
        normalize: bool = False,
        pca: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        callbacks_every_iters: int = 50,
        max_memory: int | None = None,
    ) -> None:
        self._store(locals())


class GPLVM(Generative, Estimator, method="gplvm"):
    """Bayesian Gaussian process latent variable model: a smooth function from the map to the rows.

    >>> import lowland
    >>> X, angles = lowland.datasets.load("s-curve", n_points=100, return_X_y=True)
    >>> model = lowland.GPLVM(inducing=10, max_iter=20).fit(X)
    >>> model.embedding_std_.shape
    (100,)
    """

    _objective = "lower_bound"
    _more_attributes = _STD + _BOUND

    def __init__(
        self,
        n_components: int = 2,
        *,
        inducing: int = 30,
        max_iter: int = 200,
        tol: float = 1e-6,
        landmarks: int = 0,
        log1p: bool = False,
        standardize: bool = False,
        normalize: bool = False,
        pca: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        callbacks_every_iters: int = 50,
        max_memory: int | None = None,
    ) -> None:
        self._store(locals())
