"""Neighbour embeddings: springs between neighbours, a push between all."""

from __future__ import annotations

from typing import Any

from .._base import Estimator

_DIVERGENCE = """    kl_divergence_ : float
        The Kullback-Leibler divergence at the end: ``objective_`` by scikit-learn's name.
"""


class ElasticEmbedding(Estimator, method="ee"):
    """Elastic embedding: springs between neighbours, a Gaussian push between all.

    The command line's ``--lambda`` is ``lambda_`` here: Python has taken the word.

    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> lowland.ElasticEmbedding(lambda_=0.1, max_iter=20).fit_transform(X[:200]).shape
    (200, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: Any = 30.0,
        lambda_: float = 0.1,
        homotopy: int = 0,
        repulsion: str = "uniform",
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: str = "auto",
        neighbors: Any = None,
        affinity: str = "entropic",
        init: Any = "auto",
        engine: str = "auto",
        tolerance: float = 0.01,
        accuracy: str = "schedule",
        optimizer: str = "lbfgs",
        learning_rate: float | str = "auto",
        early_exaggeration: float = 1.0,
        exaggeration_iter: int = 0,
        max_iter: int = 300,
        tol: float = 1e-5,
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


class SymmetricSNE(Estimator, method="ssne"):
    """Symmetric SNE: as t-SNE with Gaussian tails; clusters touch, the large scale survives.

    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> lowland.SymmetricSNE(max_iter=20).fit_transform(X[:200]).shape
    (200, 2)
    """

    _objective = "kl_divergence"
    _more_attributes = _DIVERGENCE

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: Any = 30.0,
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: str = "auto",
        neighbors: Any = None,
        affinity: str = "entropic",
        init: Any = "auto",
        engine: str = "auto",
        tolerance: float = 0.01,
        accuracy: str = "schedule",
        optimizer: str = "lbfgs",
        learning_rate: float | str = "auto",
        early_exaggeration: float = 1.0,
        exaggeration_iter: int = 0,
        max_iter: int = 300,
        tol: float = 1e-5,
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


class TSNE(Estimator, method="tsne"):
    """t-SNE: neighbours stay neighbours, clusters come apart.

    The gradient has the factor 4 of the paper, as scikit-learn's has, and ``learning_rate='auto'`` is
    ``max(n / (4 early_exaggeration), 50)`` for it. openTSNE and FIt-SNE leave the factor out: their rates are
    four times ours.
    ``perplexity`` may be a list; the affinities are then averaged.

    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> model = lowland.TSNE(perplexity=20, max_iter=300, exaggeration_iter=100).fit(X[:300])
    >>> model.transform(X[300:303]).shape
    (3, 2)
    """

    _objective = "kl_divergence"
    _more_attributes = _DIVERGENCE

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: Any = 30.0,
        dof: float = 1.0,
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: str = "auto",
        neighbors: Any = None,
        affinity: str = "entropic",
        init: Any = "auto",
        engine: str = "auto",
        tolerance: float = 0.01,
        accuracy: str = "schedule",
        optimizer: str = "gd",
        learning_rate: float | str = "auto",
        early_exaggeration: float = 12.0,
        exaggeration_iter: int = 250,
        max_iter: int = 750,
        tol: float = 1e-5,
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


class MapIt(Estimator, method="mapit"):
    """MAP IT: affinities as t-SNE's, aligned with the map over neighbourhoods.

    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> lowland.MapIt(max_iter=50).fit_transform(X[:200]).shape
    (200, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: Any = 15.0,
        n_neighbors: int = 10,
        variant: str = "fast",
        kernel: str = "t",
        entropy: str = "all",
        cost: str = "pairs",
        optimizer: str = "lbfgs",
        samples: float = 3.0,
        sample_weight: float | str = "auto",
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: str = "auto",
        neighbors: Any = None,
        init: Any = "auto",
        engine: str = "auto",
        tolerance: float = 0.01,
        learning_rate: float | str = "auto",
        max_iter: int = 1000,
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
