"""Callbacks, by the names of openTSNE."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from .tsne import TSNEEmbedding, kl_divergence, kl_divergence_bh, kl_divergence_fft

log: logging.Logger = logging.getLogger(__name__)


class Callback:
    """Base class of the callbacks of ``optimize``. Functions with the arguments of ``__call__`` are callbacks, too."""

    def optimization_about_to_start(self) -> None:
        """Called before the first iteration."""

    def __call__(self, iteration: int, error: float, embedding: TSNEEmbedding) -> Any:
        """Called after every ``callbacks_every_iters`` iterations; the iterations end if the result is true."""
        raise NotImplementedError


class VerifyExaggerationError(Callback):
    """Checks that the divergence that is reported does not contain the exaggeration.

    Parameters
    ----------
    embedding : TSNEEmbedding
        The embedding that is optimized.
    """

    def __init__(self, embedding: TSNEEmbedding) -> None:
        self.embedding = embedding
        self.P = embedding.affinities.P.copy()

    def __call__(self, iteration: int, error: float, embedding: TSNEEmbedding) -> None:
        expected = kl_divergence(self.P, embedding, dof=self.embedding.gradient_descent_params["dof"])
        if abs(expected - error) > 1e-8:
            raise RuntimeError(f"the divergence is {expected}, but {error} was reported")
        log.info("reported %.4f, exact %.4f", error, expected)


class ErrorApproximations(Callback):
    """Collects the divergence by each engine.

    Parameters
    ----------
    P : csr_matrix
        Affinities without exaggeration.
    """

    def __init__(self, P: Any) -> None:
        self.P = P.copy()
        self.exact_errors: list[float] = []
        self.bh_errors: list[float] = []
        self.fft_errors: list[float] = []

    def __call__(self, iteration: int, error: float, embedding: TSNEEmbedding) -> None:
        self.exact_errors.append(kl_divergence(self.P, embedding))
        for function, errors in [(kl_divergence_bh, self.bh_errors), (kl_divergence_fft, self.fft_errors)]:
            errors.append(float(function(embedding, self.P, 1, should_eval_error=True)[0] or 0.0))

    def report(self) -> None:
        """Print the mean difference from the exact divergence and its standard deviation."""
        for name, errors in [("Barnes-Hut", self.bh_errors), ("Interpolation", self.fft_errors)]:
            differences = np.subtract(errors, self.exact_errors)
            print(f"{name}: mean difference {differences.mean():.4f} (±{differences.std():.4f})")
