"""Model selection: numbers of neighbors and dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from . import _input, _lowland


class Choice(NamedTuple):
    """Result for one combination of numbers of neighbors and dimensions."""

    n_neighbors: int
    n_components: int
    #: Lower bounds of the evidence, n_subsamples x n_starts.
    bounds: np.ndarray

    @property
    def bound(self) -> float:
        """Largest bound of all starts, averaged over the subsamples."""
        return float(self.bounds.max(axis=1).mean())


class Selection:
    """Result of :func:`lowland.select`.

    Attributes
    ----------
    choices : list of Choice
        All combinations that were tried.
    best : Choice or None
        The recommended combination.
    close : list of Choice
        Combinations that are not clearly worse.
    words : str
        The recommendation as text.
    """

    def __init__(self, choices: list[Choice], best: int | None, close: list[int], words: str) -> None:
        self.choices = choices
        self.words = words
        self.best = None if best is None else choices[best]
        self.close = [choices[index] for index in close]

    def __repr__(self) -> str:
        return self.words


def select(
    X: Any,
    n_neighbors: int | Iterable[int] = (5, 10, 15, 20),
    n_components: int | Iterable[int] = 2,
    *,
    subsamples: int = 5,
    subsample_rows: int = 200,
    subsample: str = "near",
    n_jobs: int | None = None,
    random_state: Any = None,
    max_memory: int | None = None,
    **params: Any,
) -> Selection:
    """Choose the numbers of neighbors and dimensions by the bound of :class:`lowland.LLLVM`, as ``lowland select`` does.

    Parameters
    ----------
    X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
    n_neighbors : int or iterable of int, default=(5, 10, 15, 20)
        Numbers of neighbors to try.
    n_components : int or iterable of int, default=2
        Numbers of dimensions to try.
    subsamples : int, default=5
        Number of subsamples on which the bounds are compared, if there are more rows than ``subsample_rows``.
    subsample_rows : int, default=200
        Number of rows of each subsample.
    subsample : {'near', 'all'}, default='near'
        How the rows of a subsample are drawn: the nearest rows of a random row, or rows drawn from all, for data with much noise
        and little curvature.
    n_jobs : int, default=None
        Number of threads. None and -1 mean all cores. The result does not depend on it.
    random_state : int, RandomState instance or Generator, default=None
        Seed of the random number generator. None means the seed 0.
    max_memory : int, default=None
        Memory limit in bytes. None means the available memory.
    **params
        Other parameters of :class:`lowland.LLLVM`.

    Returns
    -------
    selection : Selection

    Examples
    --------
    >>> import lowland
    >>> X, angles = lowland.datasets.load("swiss-roll", n_points=80, return_X_y=True)
    >>> selection = lowland.select(X, [4, 8], starts=1, max_iter=5)
    >>> len(selection.choices), selection.best.n_neighbors in (4, 8)
    (2, True)
    """
    choices, best, close, words = _lowland.choose(
        _input.rows(X),
        [(name, _input.text(value)) for name, value in params.items()],
        _as_list(n_neighbors),
        _as_list(n_components),
        subsamples,
        subsample_rows,
        subsample,
        seed=_input.seed(random_state),
        threads=_input.threads(n_jobs),
        max_memory=_input.memory(max_memory),
    )
    return Selection([Choice(k, d, np.asarray(bounds)) for k, d, bounds in choices], best, close, words)


def _as_list(values: int | Iterable[int]) -> list[int]:
    return [int(value) for value in np.atleast_1d(np.asarray(values if np.isscalar(values) else list(values)))]
