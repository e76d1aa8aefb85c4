"""Numbers of neighbours and of dimensions, by how likely the data become."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from . import _input, _lowland


class Choice(NamedTuple):
    """What was found for one number of neighbours and of dimensions."""

    n_neighbors: int
    n_components: int
    #: The bound of each start, or the mean log-likelihood of the rows of each fold.
    values: np.ndarray


class Selection:
    """All choices, and the one to take."""

    def __init__(self, choices: list[Choice], best: int | None, close: list[int], words: str) -> None:
        #: Every combination that was tried.
        self.choices = choices
        #: The recommendation in words.
        self.words = words
        #: The one to take.
        self.best = None if best is None else choices[best]
        #: Those that are not clearly worse.
        self.close = [choices[at] for at in close]

    def __repr__(self) -> str:
        return self.words


def select(
    X: Any,
    n_neighbors: int | Iterable[int] = (5, 10, 15, 20),
    n_components: int | Iterable[int] = 2,
    *,
    method: str = "lllvm",
    folds: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
    max_memory: int | None = None,
    **params: Any,
) -> Selection:
    """Chooses numbers of neighbours and of dimensions: what ``lowland select`` does.

    With ``method='lllvm'`` by the bound on the evidence, up to a few thousand rows; with ``'lvm'`` by the likelihood of
    rows that were held out, in `folds` parts. Further parameters are the method's.

    >>> import lowland
    >>> X, angles = lowland.datasets.load("swiss-roll", n_points=80, return_X_y=True)
    >>> chosen = lowland.select(X, [4, 8], starts=1, max_iter=5)
    >>> len(chosen.choices), chosen.best.n_neighbors in (4, 8)
    (2, True)
    """
    if method not in ("lllvm", "lvm"):
        raise ValueError(f"method = {method}: lllvm or lvm")
    choices, best, close, words = _lowland.choose(
        _input.rows(X),
        [(name, _input.text(value)) for name, value in params.items()],
        _numbers(n_neighbors),
        _numbers(n_components),
        folds=folds if method == "lvm" else None,
        seed=_input.seed(random_state),
        threads=_input.threads(n_jobs),
        max_memory=_input.memory(max_memory),
    )
    return Selection([Choice(k, d, np.asarray(values)) for k, d, values in choices], best, close, words)


def _numbers(given: int | Iterable[int]) -> list[int]:
    return [int(each) for each in np.atleast_1d(np.asarray(given if np.isscalar(given) else list(given)))]
