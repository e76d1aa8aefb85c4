"""openTSNE's estimator and embeddings."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
from . import affinity as affinity_classes
from . import initialization as initialization_scheme
from .embedding import (
    OptimizationInterrupt,
    PartialTSNEEmbedding,
    TSNEEmbedding,
    check_dimensions,
    check_samples,
)
from .optimization import gradient_descent, kl_divergence, kl_divergence_bh, kl_divergence_fft

if TYPE_CHECKING:
    from ..._sklearn import SklearnTransformer as _Estimator
    from .affinity import Affinities
else:
    from sklearn.base import BaseEstimator as _Estimator

__all__ = [
    "TSNE",
    "OptimizationInterrupt",
    "PartialTSNEEmbedding",
    "TSNEEmbedding",
    "gradient_descent",
    "kl_divergence",
    "kl_divergence_bh",
    "kl_divergence_fft",
]

log: logging.Logger = logging.getLogger(__name__)

#: Standard deviation of an initial embedding above which early exaggeration may not separate the clusters.
_LARGE = 1e-2


class TSNE(_Estimator):
    """t-SNE with the parameters of ``openTSNE.TSNE``.

    Parameters
    ----------
    n_components : int, default=2
        Number of dimensions.
    perplexity : float or list of float, default=30
        Effective number of neighbors, or several.
    learning_rate : float or 'auto', default='auto'
        Learning rate; 'auto' takes the number of rows divided by the exaggeration.
    early_exaggeration_iter : int, default=250
        Number of iterations of early exaggeration.
    early_exaggeration : float or 'auto', default='auto'
        Factor of the attraction in these; 'auto' takes 12, or ``exaggeration`` if that is larger.
    n_iter : int, default=500
        Number of iterations after early exaggeration.
    exaggeration : float, default=None
        Factor of the attraction after early exaggeration; None means 1.
    dof : float, default=1
        Degrees of freedom of the t-distribution.
    theta : float, default=0.5
        0 sums all pairs; any other value allows an error of about 1 %.
    n_interpolation_points, min_num_intervals, ints_in_interval
        Accepted, without an effect: there is no grid to choose them for.
    initialization : {'pca', 'spectral', 'random'} or ndarray, default='pca'
        Initial embedding.
    metric : str or callable, default='euclidean'
        Distance between rows.
    metric_params : dict, default=None
        Parameters of the metric.
    initial_momentum : float, default=0.8
        Momentum during early exaggeration.
    final_momentum : float, default=0.8
        Momentum after it.
    max_grad_norm : float, default=None
        Limit of the length of each point's gradient.
    max_step_norm : float, default=5
        Limit of the length of each point's step.
    n_jobs : int, default=1
        Number of threads; -1 means all cores. The result does not depend on it.
    neighbors : {'auto', 'exact', 'approx', 'annoy', 'pynndescent', 'hnsw'} or KNNIndex, default='auto'
        The search.
    knn_kwargs : dict, default=None
        Further parameters of an exact search.
    negative_gradient_method : {'auto', 'bh', 'fft'} or callable, default='auto'
        Accepted: the fastest engine for the points is chosen in any case. A function takes the place of the gradient.
    callbacks : callable or list of callable, default=None
        Called with the iteration, the divergence and the embedding.
    callbacks_every_iters : int, default=50
        Number of iterations between two calls.
    random_state : int or RandomState, default=None
        Seed. As in openTSNE, None gives another result every time.
    verbose : bool, default=False
        Whether to print what is done.
    """

    def __init__(
        self,
        n_components: int = 2,
        perplexity: Any = 30,
        learning_rate: Any = "auto",
        early_exaggeration_iter: int = 250,
        early_exaggeration: Any = "auto",
        n_iter: int = 500,
        exaggeration: float | None = None,
        dof: float = 1,
        theta: float = 0.5,
        n_interpolation_points: int = 3,
        min_num_intervals: int = 50,
        ints_in_interval: float = 1,
        initialization: Any = "pca",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        initial_momentum: float = 0.8,
        final_momentum: float = 0.8,
        max_grad_norm: float | None = None,
        max_step_norm: float | None = 5,
        n_jobs: int = 1,
        neighbors: Any = "auto",
        knn_kwargs: dict[str, Any] | None = None,
        negative_gradient_method: Any = "auto",
        callbacks: Any = None,
        callbacks_every_iters: int = 50,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        if isinstance(initialization, np.ndarray):
            check_dimensions(initialization.shape[1], n_components)
        if isinstance(early_exaggeration, str) and early_exaggeration == "auto":
            # As in openTSNE, whose attribute is the number.
            early_exaggeration = max(12, exaggeration or 1)
        self.n_components = n_components
        self.perplexity = perplexity
        self.learning_rate = learning_rate
        self.early_exaggeration_iter = early_exaggeration_iter
        self.early_exaggeration = early_exaggeration
        self.n_iter = n_iter
        self.exaggeration = exaggeration
        self.dof = dof
        self.theta = theta
        self.n_interpolation_points = n_interpolation_points
        self.min_num_intervals = min_num_intervals
        self.ints_in_interval = ints_in_interval
        self.initialization = initialization
        self.metric = metric
        self.metric_params = metric_params
        self.initial_momentum = initial_momentum
        self.final_momentum = final_momentum
        self.max_grad_norm = max_grad_norm
        self.max_step_norm = max_step_norm
        self.n_jobs = n_jobs
        self.neighbors = neighbors
        self.knn_kwargs = knn_kwargs
        self.negative_gradient_method = negative_gradient_method
        self.callbacks = callbacks
        self.callbacks_every_iters = callbacks_every_iters
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any = None, affinities: Affinities | None = None, initialization: Any = None) -> TSNEEmbedding:
        """Compute the embedding.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), default=None
            Rows, or their distances if ``metric='precomputed'``.
        affinities : affinity.Affinities, default=None
            Affinities that take the place of those of X.
        initialization : {'pca', 'spectral', 'random'} or ndarray, default=None
            An initial embedding that takes the place of the parameter.

        Returns
        -------
        embedding : TSNEEmbedding
        """
        if self.verbose:
            print("-" * 80, repr(self), "-" * 80, sep="\n")
        embedding = self.prepare_initial(X, affinities, initialization)
        stages = [
            (self.early_exaggeration_iter, self.early_exaggeration, self.initial_momentum),
            (self.n_iter, self.exaggeration, self.final_momentum),
        ]
        try:
            for n_iter, exaggeration, momentum in stages:
                embedding.optimize(
                    n_iter=n_iter, exaggeration=exaggeration, momentum=momentum, inplace=True, propagate_exception=True
                )
        except OptimizationInterrupt as interrupt:
            return interrupt.final_embedding
        return embedding

    def prepare_initial(
        self, X: Any = None, affinities: Affinities | None = None, initialization: Any = None
    ) -> TSNEEmbedding:
        """Return the initial embedding, whose method ``optimize`` iterates.

        Parameters
        ----------
        X, affinities, initialization
            As in ``fit``.

        Returns
        -------
        embedding : TSNEEmbedding
        """
        if X is None and affinities is None and initialization is None:
            raise ValueError("X or affinities must be given")
        if affinities is None:
            affinities = affinity_classes.MultiscaleMixture(
                X,
                self.perplexity,
                method=self.neighbors,
                metric=self.metric,
                metric_params=self.metric_params,
                n_jobs=self.n_jobs,
                random_state=self.random_state,
                verbose=self.verbose,
                knn_kwargs=self.knn_kwargs,
            )
        elif not isinstance(affinities, affinity_classes.Affinities):
            raise ValueError(f"affinities must be an Affinities object, not {type(affinities).__name__}")
        init = self.initialization if initialization is None else initialization
        return TSNEEmbedding(
            self._initial_positions(X, affinities, init),
            affinities=affinities,
            random_state=self.random_state,
            dof=self.dof,
            negative_gradient_method=self.negative_gradient_method,
            learning_rate=self.learning_rate,
            momentum=self.final_momentum,
            theta=self.theta,
            n_interpolation_points=self.n_interpolation_points,
            min_num_intervals=self.min_num_intervals,
            ints_in_interval=self.ints_in_interval,
            max_grad_norm=self.max_grad_norm,
            max_step_norm=self.max_step_norm,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            callbacks=self.callbacks,
            callbacks_every_iters=self.callbacks_every_iters,
        )

    def _initial_positions(self, X: Any, affinities: Affinities, init: Any) -> Any:
        n_samples = affinities.P.shape[0] if X is None else X.shape[0]
        options = {"random_state": self.random_state, "verbose": self.verbose}
        if isinstance(init, np.ndarray):
            check_samples(init.shape[0], n_samples)
            check_dimensions(init.shape[1], self.n_components)
            if np.any(np.std(init, axis=0) > _LARGE):
                log.warning("the initial embedding is large, which iterations may not unfold")
            return init
        if init == "pca" and (X is None or self.metric == "precomputed"):
            log.warning("there are no rows to compute principal components of: the initialization is 'spectral'")
            init = "spectral"
        if init == "pca":
            return initialization_scheme.pca(X, self.n_components, **options)
        if init == "random":
            return initialization_scheme.random(n_samples, self.n_components, **options)
        if init == "spectral":
            return initialization_scheme.spectral(affinities.P, self.n_components, **options)
        raise ValueError(f"initialization={init!r}: expected 'pca', 'spectral', 'random' or an array")
