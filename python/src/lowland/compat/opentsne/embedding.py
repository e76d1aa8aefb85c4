"""Embeddings that can be optimized further, and new rows on them."""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from . import initialization as initialization_scheme
from .optimization import Interruption, check_parameters, gradient_descent

if TYPE_CHECKING:
    from .affinity import Affinities


class OptimizationInterrupt(InterruptedError):
    """A callback has ended the iterations.

    Attributes
    ----------
    error : float
        The divergence.
    final_embedding : TSNEEmbedding or PartialTSNEEmbedding
        The embedding.
    """

    def __init__(self, error: float, final_embedding: Any) -> None:
        super().__init__()
        self.error = error
        self.final_embedding = final_embedding


def check_samples(found: int, expected: int) -> None:
    """Raise unless an initial embedding has as many points as there are rows."""
    if found != expected:
        raise ValueError(f"the initial embedding has {found} points, but there are {expected} rows")


def check_dimensions(found: int, expected: int) -> None:
    """Raise unless an initial embedding has as many dimensions as the embedding."""
    if found != expected:
        raise ValueError(f"the initial embedding has {found} dimensions, but the embedding has {expected}")


class _Optimizable(np.ndarray):
    """An array of points with parameters of the iterations and the state of the optimizer."""

    optimizer: Any
    gradient_descent_params: dict[str, Any]
    kl_divergence: float | None

    def _prepare(self, optimizer: Any, params: dict[str, Any]) -> None:
        if optimizer is not None and not isinstance(optimizer, gradient_descent):
            raise TypeError(f"optimizer must be a gradient_descent, not {type(optimizer).__name__}")
        self.optimizer = gradient_descent() if optimizer is None else optimizer
        self.gradient_descent_params = params
        self.kl_divergence = None

    def _copy(self) -> Any:
        """Return a copy with a state of the optimizer of its own."""
        found = np.array(self).view(type(self))
        found.__dict__.update(self.__dict__)
        found.optimizer = self.optimizer.copy()
        return found

    def _affinities(self) -> Any:
        raise NotImplementedError

    def _map(self) -> Any:
        """Return the points of the map that new points are placed on, if they are."""
        return None

    def optimize(
        self, n_iter: int, inplace: bool = False, propagate_exception: bool = False, **gradient_descent_params: Any
    ) -> Any:
        """Iterate, and return the embedding.

        Parameters
        ----------
        n_iter : int
            Number of iterations.
        inplace : bool, default=False
            Whether to change the embedding itself and not a copy.
        propagate_exception : bool, default=False
            Whether to raise OptimizationInterrupt if a callback ends the iterations.
        **gradient_descent_params
            Parameters of the iterations that take the place of those of the estimator: learning_rate, exaggeration, momentum,
            max_grad_norm, max_step_norm, dof, theta, negative_gradient_method, callbacks, callbacks_every_iters, n_jobs, verbose.

        Returns
        -------
        embedding : TSNEEmbedding or PartialTSNEEmbedding
        """
        embedding = self if inplace else self._copy()
        params = check_parameters(self.shape[0], {**self.gradient_descent_params, **gradient_descent_params, "n_iter": n_iter})
        if self._map() is not None:
            params["reference_embedding"] = self._map()
        try:
            error, embedding = embedding.optimizer(embedding=embedding, P=self._affinities(), **params)
        except Interruption as interruption:
            error = interruption.error
            if propagate_exception:
                embedding.kl_divergence = error
                raise OptimizationInterrupt(error, embedding) from None
        embedding.kl_divergence = error
        return embedding

    def __reduce__(self) -> Any:
        array: Any = super().__reduce__()
        return array[0], array[1], (self.__dict__, array[2])

    def __setstate__(self, state: Any) -> None:
        attributes, array = state
        super().__setstate__(array)
        self.__dict__.update(attributes)


class TSNEEmbedding(_Optimizable):
    """An embedding: an array of points that can be optimized further.

    Parameters
    ----------
    embedding : ndarray of shape (n_samples, n_components)
        Initial positions.
    affinities : affinity.Affinities
        The affinities.
    dof : float, default=1
        Degrees of freedom of the t-distribution.
    n_interpolation_points, min_num_intervals, ints_in_interval
        Accepted, without an effect.
    negative_gradient_method : {'auto', 'bh', 'fft'} or callable, default='auto'
        As in :class:`TSNE`.
    random_state : int or RandomState, default=None
        Seed of random initial positions of new rows.
    optimizer : gradient_descent, default=None
        State of an optimizer to continue with.
    **gradient_descent_params
        Parameters of the iterations, as in ``optimize``.

    Attributes
    ----------
    kl_divergence : float
        The divergence after the last iteration.
    """

    affinities: Affinities
    random_state: Any

    def __new__(
        cls,
        embedding: Any,
        affinities: Any,
        dof: float = 1,
        n_interpolation_points: int = 3,
        min_num_intervals: int = 50,
        ints_in_interval: float = 1,
        negative_gradient_method: Any = "auto",
        random_state: Any = None,
        optimizer: Any = None,
        **gradient_descent_params: Any,
    ) -> TSNEEmbedding:
        check_samples(embedding.shape[0], affinities.P.shape[0])
        points = np.array(embedding, dtype=np.float64, order="C").view(cls)
        points.affinities = affinities
        points.random_state = random_state
        options = {
            "dof": dof,
            "negative_gradient_method": negative_gradient_method,
            "n_interpolation_points": n_interpolation_points,
            "min_num_intervals": min_num_intervals,
            "ints_in_interval": ints_in_interval,
        }
        points._prepare(optimizer, {**gradient_descent_params, **options})
        return points

    def _affinities(self) -> Any:
        return self.affinities.P

    def transform(
        self,
        X: Any,
        perplexity: Any = 5,
        initialization: Any = "median",
        k: int = 25,
        learning_rate: Any = 0.1,
        early_exaggeration: float | None = 4,
        early_exaggeration_iter: int = 0,
        exaggeration: float | None = 1.5,
        n_iter: int = 250,
        initial_momentum: float = 0.8,
        final_momentum: float = 0.8,
        max_grad_norm: float | None = 0.25,
        max_step_norm: float | None = None,
    ) -> PartialTSNEEmbedding:
        """Place new rows on the embedding, each without regard to the others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Rows, or their distances to the rows of the embedding if these were distances.
        perplexity : float or list of float, default=5
            Effective number of neighbors of a new row.
        initialization : {'median', 'weighted', 'random'} or ndarray, default='median'
            Initial positions.
        k : int, default=25
            Number of neighbors for the initial positions.
        learning_rate : float, default=0.1
            Learning rate.
        early_exaggeration : float, default=4
            Factor of the attraction in the first iterations.
        early_exaggeration_iter : int, default=0
            Number of these.
        exaggeration : float, default=1.5
            Factor of the attraction after them.
        n_iter : int, default=250
            Number of further iterations.
        initial_momentum : float, default=0.8
            Momentum in the first iterations.
        final_momentum : float, default=0.8
            Momentum after them.
        max_grad_norm : float, default=0.25
            Limit of the length of each point's gradient.
        max_step_norm : float, default=None
            Limit of the length of each point's step.

        Returns
        -------
        embedding : PartialTSNEEmbedding
        """
        known = inspect.signature(self.affinities.to_new).parameters
        name = next((name for name in ("perplexity", "perplexities") if name in known), None)
        if name is None:
            raise TypeError(
                f"transform needs affinities with a perplexity, which {type(self.affinities).__name__} has not: use prepare_partial "
                "and optimize"
            )
        embedding = self.prepare_partial(X, initialization=initialization, k=k, **{name: perplexity})
        stages = [
            (early_exaggeration_iter, early_exaggeration, initial_momentum),
            (n_iter, exaggeration, final_momentum),
        ]
        try:
            for count, factor, momentum in stages:
                embedding.optimize(
                    n_iter=count,
                    learning_rate=learning_rate,
                    exaggeration=factor,
                    momentum=momentum,
                    inplace=True,
                    propagate_exception=True,
                    max_grad_norm=max_grad_norm,
                    max_step_norm=max_step_norm,
                )
        except OptimizationInterrupt as interrupt:
            return interrupt.final_embedding
        return embedding

    def prepare_partial(
        self, X: Any, initialization: Any = "median", k: int = 25, **affinity_params: Any
    ) -> PartialTSNEEmbedding:
        """Return initial positions of new rows, whose method ``optimize`` iterates.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            As in ``transform``.
        initialization : {'median', 'weighted', 'random'} or ndarray, default='median'
            Initial positions.
        k : int, default=25
            Number of neighbors for the initial positions.
        **affinity_params
            Parameters of ``affinities.to_new``, such as perplexity.

        Returns
        -------
        embedding : PartialTSNEEmbedding
        """
        known = inspect.signature(self.affinities.to_new).parameters
        if "perplexity" in affinity_params and "perplexities" in known:
            affinity_params["perplexities"] = affinity_params.pop("perplexity")
        P, neighbors, distances = self.affinities.to_new(X, return_distances=True, **affinity_params)
        if isinstance(initialization, np.ndarray):
            check_samples(initialization.shape[0], X.shape[0])
            check_dimensions(initialization.shape[1], self.shape[1])
            positions = initialization
        elif initialization == "random":
            positions = initialization_scheme.random(X.shape[0], self.shape[1], random_state=self.random_state)
        elif initialization == "weighted":
            positions = initialization_scheme.weighted_mean(X, self, neighbors[:, :k], distances[:, :k])
        elif initialization == "median":
            positions = initialization_scheme.median(self, neighbors[:, :k])
        else:
            raise ValueError(f"initialization={initialization!r}: expected 'median', 'weighted', 'random' or an array")
        return PartialTSNEEmbedding(positions, self, P=P, **copy.copy(self.gradient_descent_params))

    def prepare_interpolation_grid(self, padding: float = 0.25) -> None:
        """Do nothing: new rows need no grid, and are not confined to one."""


class PartialTSNEEmbedding(_Optimizable):
    """Positions of new rows on an embedding.

    Parameters
    ----------
    embedding : ndarray of shape (n_new, n_components)
        Initial positions.
    reference_embedding : TSNEEmbedding
        The embedding that they are placed on.
    P : csr_matrix of shape (n_new, n_samples)
        Affinities of the new rows.
    optimizer : gradient_descent, default=None
        State of an optimizer to continue with.
    **gradient_descent_params
        Parameters of the iterations, as in ``optimize``.

    Attributes
    ----------
    kl_divergence : float
        The sum of the divergences of the new rows after the last iteration.
    """

    reference_embedding: TSNEEmbedding
    P: Any

    def __new__(
        cls, embedding: Any, reference_embedding: Any, P: Any, optimizer: Any = None, **gradient_descent_params: Any
    ) -> PartialTSNEEmbedding:
        check_samples(embedding.shape[0], P.shape[0])
        points = np.array(embedding, dtype=np.float64, order="C").view(cls)
        points.reference_embedding = reference_embedding
        points.P = P
        points._prepare(optimizer, gradient_descent_params)
        return points

    def _affinities(self) -> Any:
        return self.P

    def _map(self) -> Any:
        return self.reference_embedding
