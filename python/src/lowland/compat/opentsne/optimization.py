"""The iterations: gradient descent with momentum and gains."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from time import perf_counter
from typing import Any

import numpy as np

from ... import _input, _lowland
from . import utils

#: Error of the repulsion that is allowed.
_ACCURACY = 1e-2
#: Iterations between two lines that verbose prints.
_PRINT_EVERY = 50


class Interruption(InterruptedError):
    """A callback has ended the iterations, with this divergence."""

    def __init__(self, error: float) -> None:
        super().__init__()
        self.error = error


class _Gradient:
    """openTSNE's gradient: lowland's field, which has no factor 4.

    The affinities are copied once, and used by all iterations.
    """

    def __init__(self, P: Any, dim: int, dof: float, n_jobs: int, engine: str = "auto") -> None:
        # openTSNE's kernel is (1 + s / dof)^-dof.
        self.field = _lowland.StudentField(_input.sparse_parts(P), float(dof), float(dof), dim, engine, _ACCURACY)
        self.threads = utils.threads(n_jobs)

    def __call__(self, points: Any, map: Any, exaggeration: float, with_divergence: bool) -> tuple[float | None, Any]:
        points = np.ascontiguousarray(points, dtype=np.float64).view(np.ndarray)
        map = None if map is None else np.ascontiguousarray(map, dtype=np.float64).view(np.ndarray)
        gradient, divergence = self.field.evaluate(points, map, float(exaggeration), with_divergence, self.threads)
        return divergence, gradient


def kl_divergence(P: Any, embedding: Any, dof: float = 1) -> float:
    """Return the Kullback-Leibler divergence of an embedding from affinities, with all pairs summed."""
    return float(_Gradient(P, embedding.shape[1], dof, 1, "exact")(embedding, None, 1.0, True)[0])  # type: ignore[arg-type]


def kl_divergence_bh(
    embedding: Any,
    P: Any,
    dof: float,
    bh_params: dict[str, Any] | None = None,
    reference_embedding: Any = None,
    should_eval_error: bool = False,
    n_jobs: int = 1,
    **_: Any,
) -> tuple[float | None, Any]:
    """Return the divergence and its gradient, by any number of dimensions."""
    engine = "exact" if (bh_params or {}).get("theta", 0.5) == 0 else "auto"
    gradient = _Gradient(P, embedding.shape[1], dof, n_jobs, engine)
    return gradient(embedding, reference_embedding, 1.0, should_eval_error)


def kl_divergence_fft(
    embedding: Any,
    P: Any,
    dof: float,
    fft_params: dict[str, Any] | None = None,
    reference_embedding: Any = None,
    should_eval_error: bool = False,
    n_jobs: int = 1,
    **_: Any,
) -> tuple[float | None, Any]:
    """Return the divergence and its gradient, in one or two dimensions."""
    _check_fft(embedding.shape[1])
    return kl_divergence_bh(embedding, P, dof, None, reference_embedding, should_eval_error, n_jobs)


def _check_fft(dim: int) -> None:
    if dim > 2:
        raise RuntimeError(
            f"negative_gradient_method='fft' is for one or two dimensions, as in openTSNE, not for {dim}: use 'bh', or lowland.TSNE"
        )


def _warn_bh(dim: int) -> None:
    if dim > 3:
        warnings.warn(
            f"negative_gradient_method='bh' with {dim} dimensions: in more than three, the repulsion is summed pair by pair, or by a "
            "tree that saves little",
            FutureWarning,
            stacklevel=5,
        )


#: The functions of the names of negative_gradient_method.
_METHODS = {
    "bh": kl_divergence_bh,
    "BH": kl_divergence_bh,
    "barnes-hut": kl_divergence_bh,
    "fft": kl_divergence_fft,
    "FFT": kl_divergence_fft,
    "interpolation": kl_divergence_fft,
}


def check_parameters(n_samples: int, params: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``gradient_descent`` for the parameters of users."""
    params = dict(params)
    callbacks = params.get("callbacks")
    if callable(callbacks) and not isinstance(callbacks, Iterable):
        callbacks = (callbacks,)
    if callbacks is not None and not (isinstance(callbacks, Iterable) and all(map(callable, callbacks))):
        raise ValueError(f"callbacks={callbacks!r}: expected a function or a list of functions")
    params["callbacks"], params["use_callbacks"] = callbacks, callbacks is not None
    method = params.pop("negative_gradient_method", "auto")
    if not callable(method):
        method = ("bh" if n_samples < 10_000 else "fft") if method == "auto" else method
        if method not in _METHODS:
            raise ValueError(f"negative_gradient_method={method!r}: expected 'auto', 'bh', 'fft' or a function")
        method = _METHODS[method]
    params["objective_function"] = method
    params["n_jobs"] = utils.threads(params.get("n_jobs", 1))
    if isinstance(params.get("learning_rate", "auto"), str):
        params["learning_rate"] = n_samples / (params.get("exaggeration") or 1)
    return params


class gradient_descent:
    """Gradient descent with momentum and a gain for each coordinate, which continues where it ended.

    Attributes
    ----------
    gains : ndarray of shape (n_samples, n_components)
        The gains; None before the first iteration.
    update : ndarray of shape (n_samples, n_components)
        The last step; None before the first iteration.
    """

    gains: Any
    update: Any

    def __init__(self) -> None:
        self.gains = None
        self.update = None

    def copy(self) -> gradient_descent:
        """Return a copy of the state."""
        found = type(self)()
        found.gains, found.update = (None if each is None else each.copy() for each in (self.gains, self.update))
        return found

    def __call__(
        self,
        embedding: Any,
        P: Any,
        n_iter: int,
        objective_function: Any,
        learning_rate: Any = "auto",
        momentum: float = 0.8,
        exaggeration: float | None = None,
        dof: float = 1,
        min_gain: float = 0.01,
        max_grad_norm: float | None = None,
        max_step_norm: float | None = 5,
        theta: float = 0.5,
        n_interpolation_points: int = 3,
        min_num_intervals: int = 50,
        ints_in_interval: float = 1,
        reference_embedding: Any = None,
        n_jobs: int = 1,
        use_callbacks: bool = False,
        callbacks: Any = None,
        callbacks_every_iters: int = 50,
        verbose: bool = False,
    ) -> tuple[float, Any]:
        """Iterate, changing the embedding; return the divergence and the embedding.

        Parameters
        ----------
        embedding : ndarray of shape (n_samples, n_components)
            The points, which are moved.
        P : csr_matrix
            The affinities.
        n_iter : int
            Number of iterations.
        objective_function : callable
            ``kl_divergence_bh``, ``kl_divergence_fft``, or a function with their arguments and results.
        learning_rate : float or 'auto', default='auto'
            Learning rate; 'auto' takes the number of points divided by the exaggeration.
        momentum : float, default=0.8
            Share of the last step that is repeated.
        exaggeration : float, default=None
            Factor of the attraction; None means 1.
        dof : float, default=1
            Degrees of freedom of the t-distribution.
        min_gain : float, default=0.01
            What a gain that decreases keeps.
        max_grad_norm : float, default=None
            Limit of the length of each point's gradient.
        max_step_norm : float, default=5
            Limit of the length of each point's step.
        theta : float, default=0.5
            0 sums all pairs.
        n_interpolation_points, min_num_intervals, ints_in_interval
            Passed to a function of the user.
        reference_embedding : ndarray, default=None
            The map that new points are placed on.
        n_jobs : int, default=1
            Number of threads.
        use_callbacks : bool, default=False
            Whether to call the callbacks.
        callbacks : list of callable, default=None
            Called with the iteration, the divergence and the embedding.
        callbacks_every_iters : int, default=50
            Number of iterations between two calls.
        verbose : bool, default=False
            Whether to print the divergence every 50 iterations.

        Returns
        -------
        divergence : float
        embedding : ndarray
        """
        exaggeration = 1 if exaggeration is None else exaggeration
        rate = len(embedding) / exaggeration if isinstance(learning_rate, str) else learning_rate
        map = None if reference_embedding is None else np.asarray(reference_embedding)
        grid = {
            "n_interpolation_points": n_interpolation_points,
            "min_num_intervals": min_num_intervals,
            "ints_in_interval": ints_in_interval,
        }
        evaluate = self._objective(
            objective_function, embedding, P, exaggeration, dof=dof, theta=theta, grid=grid, map=reference_embedding, n_jobs=n_jobs
        )
        if self.update is None:
            self.update = np.zeros(embedding.shape)
        if self.gains is None:
            self.gains = np.ones(embedding.shape)
        for callback in callbacks or ():
            getattr(callback, "optimization_about_to_start", lambda: None)()
        start = perf_counter()
        title = f"Running optimization with exaggeration={exaggeration:.2f}, lr={rate:.2f} for {n_iter:d} iterations..."
        with utils.timed(title, verbose):
            for iteration in range(1, n_iter + 1):
                calls = use_callbacks and iteration % callbacks_every_iters == 0
                prints = verbose and iteration % _PRINT_EVERY == 0
                error, gradient = evaluate(embedding, calls or prints)
                if calls and any([bool(callback(iteration, error, embedding)) for callback in callbacks]):
                    raise Interruption(float(error))
                embedding += self._step(np.asarray(gradient), rate, momentum, min_gain, max_grad_norm, max_step_norm)
                if map is None:
                    embedding -= np.mean(embedding, axis=0)
                if prints:
                    seconds = perf_counter() - start
                    print(f"Iteration {iteration:4d}, KL divergence {error:6.4f}, {_PRINT_EVERY} iterations in {seconds:.4f} sec")
                    start = perf_counter()
        return float(evaluate(embedding, True)[0]), embedding

    def _step(
        self, gradient: Any, rate: float, momentum: float, min_gain: float, max_grad_norm: Any, max_step_norm: Any
    ) -> Any:
        """Update the gains and return the step."""
        if max_grad_norm is not None:
            gradient = gradient * np.minimum(max_grad_norm / (np.linalg.norm(gradient, axis=1, keepdims=True) + 1e-6), 1)
        # A step is against the gradient: while the direction persists, the signs differ.
        persists = np.sign(self.update) != np.sign(gradient)
        self.gains = np.where(persists, self.gains + 0.2, self.gains * 0.8 + min_gain)
        step = momentum * self.update - rate * self.gains * gradient
        if max_step_norm is not None:
            lengths = np.linalg.norm(step, axis=1, keepdims=True)
            step = step * np.minimum(max_step_norm / np.maximum(lengths, np.finfo(float).tiny), 1)
        self.update = step
        return step

    def _objective(
        self, function: Any, embedding: Any, P: Any, exaggeration: float, *, dof: float, theta: float, grid: Any, map: Any, n_jobs: int
    ) -> Any:
        """Return a function of the points that returns the divergence, without exaggeration, and the gradient."""
        dim = embedding.shape[1]
        if function in (kl_divergence_bh, kl_divergence_fft):
            (_check_fft if function is kl_divergence_fft else _warn_bh)(dim)
            gradient = _Gradient(P, dim, dof, n_jobs, "exact" if theta == 0 else "auto")
            points = None if map is None else np.asarray(map)
            return lambda embedding, with_divergence: gradient(embedding, points, exaggeration, with_divergence)
        exaggerated = P * exaggeration

        def call(embedding: Any, with_divergence: bool) -> tuple[float, Any]:
            error, gradient = function(
                embedding,
                exaggerated,
                dof=dof,
                bh_params={"theta": theta},
                fft_params=grid,
                reference_embedding=map,
                n_jobs=n_jobs,
                should_eval_error=with_divergence,
            )
            return error / exaggeration - np.log(exaggeration) if with_divergence else error, gradient

        return call
