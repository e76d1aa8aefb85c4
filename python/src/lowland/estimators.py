"""The methods as scikit-learn estimators. Names and defaults of the parameters are the command line's."""

from __future__ import annotations

from typing import Any

from ._base import Estimator, Generative, Invertible, load

__all__ = [
    "GPLVM",
    "LLLVM",
    "LTSA",
    "LVM",
    "PCA",
    "TSM",
    "TSNE",
    "ElasticEmbedding",
    "Isomap",
    "LocallyLinearEmbedding",
    "MapIt",
    "SpectralEmbedding",
    "SymmetricSNE",
    "TruncatedSVD",
    "load",
]

_STD = """    embedding_std_ : ndarray of shape (n_samples,)
        The standard deviation of each point of the map.
"""
_BOUND = """    lower_bound_, lower_bounds_ : float, ndarray
        The likelihood or its bound: ``objective_`` and ``objectives_`` by the name scikit-learn's mixtures use.
"""
_DIVERGENCE = """    kl_divergence_ : float
        The Kullback-Leibler divergence at the end: ``objective_`` by scikit-learn's name.
"""


class LVM(Generative, Estimator, method="lvm"):
    """A latent variable model (Saul, 2020): clusters, with a standard deviation for every point.

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
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        callbacks_every_iters: int = 50,
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
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        callbacks_every_iters: int = 50,
        max_memory: int | None = None,
    ) -> None:
        self._store(locals())


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
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        callbacks_every_iters: int = 50,
        max_memory: int | None = None,
    ) -> None:
        self._store(locals())


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
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        max_memory: int | None = None,
    ) -> None:
        self._store(locals())


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
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
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
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        callbacks_every_iters: int = 50,
        max_memory: int | None = None,
    ) -> None:
        self._store(locals())
