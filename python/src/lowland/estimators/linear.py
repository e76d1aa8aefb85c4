"""Linear maps, and maps that keep inner products."""

from __future__ import annotations

from typing import Any

from .._base import Estimator


class PCA(Estimator, method="pca"):
    """Principal components: the directions of largest variance.

    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> lowland.PCA(n_components=10).fit_transform(X).shape
    (1797, 10)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str = "auto",
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
        max_memory: int | None = None,
    ) -> None:
        self._store(locals())


class TruncatedSVD(Estimator, method="svd"):
    """Singular vectors: as PCA, but the origin stays where it is; for sparse counts.

    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> lowland.TruncatedSVD(n_components=10).fit_transform(X).shape
    (1797, 10)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str = "auto",
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
        max_memory: int | None = None,
    ) -> None:
        self._store(locals())


class TSM(Estimator, method="tsm"):
    """Thresholded similarity matching: norms, and the angles between rows that are similar, are kept.

    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> lowland.TSM(n_components=8, max_iter=10).fit_transform(X[:200]).shape
    (200, 8)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        tau: float | str = "auto",
        density: float = 0.01,
        max_iter: int = 250,
        momentum: float = 0.9,
        matrices: str = "auto",
        placing: str = "llx",
        tol: float = 0.0,
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
