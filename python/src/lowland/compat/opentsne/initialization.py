"""Initial embeddings, by the names of openTSNE."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .. import _common
from .._linear import PCA
from . import utils

#: Standard deviation of the first coordinate of an initial embedding.
_SIZE = 1e-4


def rescale(x: Any, inplace: bool = False, target_std: float = _SIZE) -> Any:
    """Scale an embedding so that its first coordinate has this standard deviation."""
    x = x if inplace else np.array(x, copy=True)
    x *= target_std / np.std(x[:, 0])
    return x


def jitter(x: Any, inplace: bool = False, scale: float = 0.01, random_state: Any = None) -> Any:
    """Add normally distributed noise of a share of the standard deviation of the first coordinate."""
    x = x if inplace else np.array(x, copy=True)
    x += check_random_state(random_state).normal(0, scale * np.std(x[:, 0]), x.shape)
    return x


def random(n_samples: Any, n_components: int = 2, random_state: Any = None, verbose: bool = False) -> Any:
    """Return normally distributed positions for a number of rows, or for the rows of an array."""
    rows = n_samples.shape[0] if hasattr(n_samples, "shape") else n_samples
    return check_random_state(random_state).normal(0, _SIZE, (rows, n_components))


def pca(
    X: Any,
    n_components: int = 2,
    svd_solver: str = "auto",
    random_state: Any = None,
    verbose: bool = False,
    add_jitter: bool = True,
) -> Any:
    """Return the principal components of the rows, scaled to a small size."""
    with utils.timed("Calculating PCA-based initialization...", verbose):
        model = PCA(n_components=n_components, svd_solver=svd_solver, random_state=random_state)
        embedding = rescale(np.ascontiguousarray(model.fit_transform(X), dtype=np.float64), inplace=True)
        return jitter(embedding, inplace=True, random_state=random_state) if add_jitter else embedding


def spectral(
    A: Any,
    n_components: int = 2,
    tol: float = 1e-4,
    max_iter: int | None = None,
    random_state: Any = None,
    verbose: bool = False,
    add_jitter: bool = True,
) -> Any:
    """Return the diffusion map of an affinity matrix, scaled to a small size.

    ``max_iter`` is accepted: the solver iterates until it has converged.
    """
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"the affinities must be a square matrix, but their shape is {A.shape}")
    with utils.timed("Calculating spectral initialization...", verbose):
        state = check_random_state(random_state)
        values, vectors = _common.laplacian_eigenvectors(A, n_components, tolerance=max(tol, 1e-9), seed=_common.seed(state))
        # The diffusion of one step.
        embedding = rescale(np.ascontiguousarray(vectors * (1 - values)), inplace=True)
        return jitter(embedding, inplace=True, random_state=state) if add_jitter else embedding


def weighted_mean(X: Any, embedding: Any, neighbors: Any, distances: Any, verbose: bool = False) -> Any:
    """Return the mean position of the neighbors of each new row, weighted by ``distances``."""
    with utils.timed("Calculating weighted-mean initialization...", verbose):
        weights = np.asarray(distances) / np.sum(distances, axis=1, keepdims=True)
        return np.einsum("ij,ijk->ik", weights, np.asarray(embedding)[neighbors])


def median(embedding: Any, neighbors: Any, verbose: bool = False) -> Any:
    """Return the median position of the neighbors of each new row."""
    with utils.timed("Calculating median initialization...", verbose):
        return np.ascontiguousarray(np.median(np.asarray(embedding)[neighbors], axis=1))
