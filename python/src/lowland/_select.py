"""Model selection: numbers of neighbors and dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _input, _lowland, _parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Choice(NamedTuple):
    """Result for one combination of numbers of neighbors and dimensions."""

    n_neighbors: int
    n_components: int
    #: Lower bounds of the evidence, n_subsamples x n_starts.
    bounds: NDArray[np.float64]

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
        self.choices: list[Choice] = choices
        self.words: str = words
        self.best: Choice | None = None if best is None else choices[best]
        self.close: list[Choice] = [choices[index] for index in close]

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
    max_memory: float | None = None,
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
        Number of threads. -1 means all cores; None too, within the limits of joblib and OMP_NUM_THREADS. The result does
        not depend on it.
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
    >>> X, position = lowland.datasets.load("swiss-roll", n_points=80, return_X_y=True)
    >>> selection = lowland.select(X, [4, 8], starts=1, max_iter=5)
    >>> len(selection.choices), selection.best.n_neighbors in (4, 8)
    (2, True)
    """
    choices, best, close, words = _lowland.choose(
        _input.rows(X),
        _lllvm_values(params),
        _as_list("n_neighbors", n_neighbors),
        _as_list("n_components", n_components),
        _parameters.integer("subsamples", subsamples, at_least=1),
        _parameters.integer("subsample_rows", subsample_rows, at_least=1),
        subsample,
        seed=_input.seed(random_state),
        threads=_input.threads(n_jobs),
        max_memory=_input.memory(max_memory),
    )
    return Selection([Choice(k, d, np.asarray(bounds)) for k, d, bounds in choices], best, close, words)


class GraphBounds(NamedTuple):
    """Lower bounds of the evidence for a neighbor graph."""

    name: str
    #: The bound of each random start.
    bounds: NDArray[np.float64]

    @property
    def bound(self) -> float:
        """Largest bound of all starts."""
        return float(self.bounds.max())


class SuspectEdge(NamedTuple):
    """An edge that is probably wrong."""

    i: int
    j: int
    #: Gain of the bound, to first order, if the edge is weakened.
    score: float
    #: Effective resistance between the ends; close to 1 if few other paths connect them.
    resistance: float


class EdgeComparison:
    """Result of :func:`lowland.select_edges`.

    Attributes
    ----------
    graphs : list of GraphBounds
        The neighbor graph of the data, and the graphs that it was compared with.
    suspects : list of SuspectEdge
        Edges that are probably wrong, the most suspicious first.
    words : str
        The conclusion as text.
    """

    def __init__(self, graphs: list[GraphBounds], suspects: list[SuspectEdge], words: str) -> None:
        self.graphs: list[GraphBounds] = graphs
        self.suspects: list[SuspectEdge] = suspects
        self.words: str = words

    def __repr__(self) -> str:
        lines = [f"{graph.name:<25} {graph.bound:14.4f}" for graph in self.graphs]
        lines += [f"edge {edge.i},{edge.j}: score {edge.score:.4f}, resistance {edge.resistance:.4f}" for edge in self.suspects]
        return "\n".join([*lines, self.words])


def select_edges(
    X: Any,
    *,
    without: Iterable[tuple[int, int]] = (),
    edges: Any = None,
    screen: int | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    max_memory: float | None = None,
    **params: Any,
) -> EdgeComparison:
    """Compare neighbor graphs by the bound of :class:`lowland.LLLVM`, and find edges that are probably wrong.

    It is what ``lowland select`` does with ``--without-edge``, ``--edges`` and ``--screen-edges``.

    Parameters
    ----------
    X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
    without : iterable of pairs of int, default=()
        Edges (i, j) to remove from the neighbor graph: each on its own, and all together.
    edges : array-like of shape (n_edges, 2), default=None
        All edges of another graph to compare with.
    screen : int, default=None
        Number of edges to list that are probably wrong: of the other graph if there is one, else of the neighbor graph.
    n_jobs : int, default=None
        Number of threads. -1 means all cores; None too, within the limits of joblib and OMP_NUM_THREADS. The result does
        not depend on it.
    random_state : int, RandomState instance or Generator, default=None
        Seed of the random number generator. None means the seed 0.
    max_memory : int, default=None
        Memory limit in bytes. None means the available memory.
    **params
        Parameters of :class:`lowland.LLLVM`, such as ``n_neighbors``.

    Returns
    -------
    comparison : EdgeComparison

    Examples
    --------
    >>> import lowland
    >>> X, position = lowland.datasets.load("swiss-roll", n_points=80, return_X_y=True)
    >>> comparison = lowland.select_edges(X, screen=3, n_neighbors=5, starts=1, max_iter=5)
    >>> [graph.name for graph in comparison.graphs][0], len(comparison.suspects)
    ('all edges', 3)
    """
    graphs, suspects, words = _lowland.compare_edges(
        _input.rows(X),
        _lllvm_values(params),
        _pairs("without", without),
        None if edges is None else _pairs("edges", edges),
        None if screen is None else _parameters.integer("screen", screen, at_least=1),
        seed=_input.seed(random_state),
        threads=_input.threads(n_jobs),
        max_memory=_input.memory(max_memory),
    )
    bounds = [GraphBounds(name, np.asarray(values)) for name, values in graphs]
    return EdgeComparison(bounds, [SuspectEdge(*edge) for edge in suspects], words)


def _pairs(name: str, pairs: Any) -> list[tuple[int, int]]:
    array = np.asarray(list(pairs) if not hasattr(pairs, "shape") else pairs)
    if array.size == 0:
        return []
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu" or (array < 0).any():
        raise ValueError(f"{name}: expected pairs of row numbers, counting from 0, such as [(28, 29)]")
    return [(int(i), int(j)) for i, j in array]


def _lllvm_values(params: dict[str, Any]) -> list[tuple[str, str]]:
    """Return parameters of LLLVM as text."""
    expects = {name: what for method, _, _, specs in _lowland.methods() if method == "lllvm" for name, _, _, what in specs}
    unknown = [name for name in params if name not in expects]
    if unknown:
        raise TypeError(f"{unknown[0]} is not a parameter of LLLVM: one of {', '.join(expects)}")
    return [(name, _parameters.text(name, value, expects[name])) for name, value in params.items()]


def _as_list(name: str, values: int | Iterable[int]) -> list[int]:
    found = list(values) if isinstance(values, Iterable) else [values]
    return [_parameters.integer(name, value) for value in found]
