"""Manifolds, by the eigenvectors of a matrix."""

from __future__ import annotations

from typing import Any

from .._base import Estimator


class SpectralEmbedding(Estimator, method="spectral"):
    """Laplacian eigenmaps: the smoothest coordinates on the neighbour graph.

    >>> import lowland
    >>> X, angles = lowland.datasets.load("swiss-roll", return_X_y=True)
    >>> lowland.SpectralEmbedding().fit_transform(X).shape
    (1500, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 15,
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: str = "auto",
        neighbors: Any = None,
        affinity: str = "connectivity",
        max_iter: int = 300,
        tol: float = 1e-4,
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


class Isomap(Estimator, method="isomap"):
    """Isomap: distances along the neighbour graph, kept as well as a flat map can.

    >>> import lowland
    >>> X, angles = lowland.datasets.load("swiss-roll", n_points=300, return_X_y=True)
    >>> lowland.Isomap().fit_transform(X).shape
    (300, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 10,
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: str = "auto",
        neighbors: Any = None,
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


class LocallyLinearEmbedding(Estimator, method="lle"):
    """Locally linear embedding: each point stays the same mixture of its neighbours.

    >>> import lowland
    >>> X, angles = lowland.datasets.load("s-curve", n_points=300, return_X_y=True)
    >>> lowland.LocallyLinearEmbedding().fit_transform(X).shape
    (300, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 12,
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: str = "auto",
        neighbors: Any = None,
        reg: float = 1e-3,
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


class LTSA(Estimator, method="ltsa"):
    """Local tangent space alignment: flat neighbourhoods, fitted together.

    >>> import lowland
    >>> X, angles = lowland.datasets.load("s-curve", n_points=300, return_X_y=True)
    >>> lowland.LTSA().fit_transform(X).shape
    (300, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 12,
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: str = "auto",
        neighbors: Any = None,
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
