"""Which points and gaps of an embedding can be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _device, _input, _lowland, _metrics, _parameters
from ._graph import as_graph

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Island(NamedTuple):
    """A group of points with empty space around it on the map."""

    #: Number of points.
    points: int
    #: Number of points of each group of the island in the data; one number if its rows are one group. None if not examined.
    parts: list[int] | None
    #: Connection across the weakest place of the island: about 1 if its rows are one group, near 0 at a gap in the data.
    weakest_connection: float | None


class Gap(NamedTuple):
    """The gap between two islands with neighbor links between them."""

    #: Numbers of the islands, from 1.
    islands: tuple[int, int]
    #: 'bridged' (the map tore what is connected in the data), 'separated' or 'undecided'.
    verdict: str
    #: Number of links of the data's neighbor graph between the islands.
    links: int
    #: Number of those that count: short ones, and not of single misplaced points.
    counted_links: int
    #: Connection of the islands compared with cuts within them: about 1 if they are one group, near 0 at a gap in the data.
    connection: float | None


class Trust:
    """What can be believed of an embedding; printed as three sentences.

    Attributes
    ----------
    columns : dict of ndarray
        Values of each point by name: ``kept``, ``lost``, ``intruders``, ``spread``, ``jump``, ``fragile``, ``p_value``,
        ``flagged``, ``island`` and ``bridge_to``, and ``unstable`` with `reruns`. Also attributes of this object: ``trust.kept``.
        In validation ``fragile`` and ``unstable`` did not tell which points are misplaced; they are not part of the summary.
    meanings : dict of str
        Explanation of each column.
    islands : list of Island
        Islands by size; the numbers in the column ``island`` start at 1, and 0 are points in no island.
    gaps : list of Gap
        Gaps between islands with links between them, those with most links first. Islands without links are separated.
    summary : str
        Three sentences: how neighbors are kept, whether gaps are real, and how many points are flagged.
    omitted : dict of str
        Columns that were not computed, with reasons.
    loss : str or None
        Method whose loss ``jump`` and ``fragile`` refer to. None if they were not computed.
    loss_is_own : bool
        Whether that is the method that made the embedding. It is for estimators of t-SNE, SSNE, EE, MAP IT, LVM and UMAP;
        the loss of t-SNE stands in for others.
    reach : int
        Points beyond this rank are far, for ``lost`` and ``intruders``.
    gap_width : float
        Points of the same island are linked by steps of at most this length on the map: three times the median distance to
        the fifth neighbor, or eight times on a map of one dimension.
    min_island : int
        Fewest points of an island.
    null_noise : float
        Noise of the maps without tears that flags compare with, in units of the distance between neighboring points. It is
        such that these maps keep neighbors as well as the embedding does.
    """

    def __init__(
        self,
        columns: list[tuple[str, str, list[float]]],
        islands: list[Island],
        gaps: list[Gap],
        summary: str,
        omitted: dict[str, str],
        loss: tuple[str, bool] | None,
        numbers: tuple[int, float, int, float],
    ) -> None:
        self.columns: dict[str, NDArray[np.float64]] = {name: np.asarray(values) for name, _, values in columns}
        self.meanings: dict[str, str] = {name: meaning for name, meaning, _ in columns}
        self.islands: list[Island] = islands
        self.gaps: list[Gap] = gaps
        self.summary: str = summary
        self.omitted: dict[str, str] = omitted
        self.loss: str | None = None if loss is None else loss[0]
        self.loss_is_own: bool = loss is not None and loss[1]
        self.reach: int
        self.gap_width: float
        self.min_island: int
        self.null_noise: float
        self.reach, self.gap_width, self.min_island, self.null_noise = numbers

    def __getattr__(self, name: str) -> NDArray[np.float64]:
        columns: dict[str, NDArray[np.float64]] = self.__dict__.get("columns", {})
        if name in columns:
            return columns[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return self.summary


def trust(
    X: Any,
    embedding: Any,
    *,
    n_neighbors: int = 15,
    metric: str | None = None,
    metric_params: dict[str, Any] | None = None,
    fdr: float = 0.05,
    everything: bool = True,
    reruns: int = 0,
    neighbors: Any = None,
    n_jobs: int | None = None,
    device: str = "auto",
    random_state: Any = None,
) -> Trust:
    """Say which points and gaps of an embedding can be believed, as ``lowland trust`` does.

    Parameters
    ----------
    X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
        The rows, as the method saw them.
    embedding : array-like of shape (n_samples, n_components) or fitted estimator
        The embedding, made by any program.
    n_neighbors : int, default=15
        Size of the neighborhoods.
    metric : str, default=None
        Distance between rows. None means that of the estimator, or ``'euclidean'``.
    metric_params : dict, default=None
        Parameters of the metric, such as ``{'p': 3}`` for ``'minkowski'``.
    fdr : float, default=0.05
        False-discovery rate of ``flagged``.
    everything : bool, default=True
        Whether ``jump`` and ``fragile`` are computed and islands examined, which takes most of the time.
    reruns : int, default=0
        Number of times that the estimator is fitted again, with other seeds and a tenth of the rows left out, for the column
        ``unstable``: the mean distance of a point from its place, in units of the radius of the map. 0 or at least 2; `embedding`
        must be a fitted estimator, and `X` the rows that it was fitted to.
    neighbors : NeighborGraph, sparse matrix or pair of arrays, default=None
        Nearest neighbors of the rows, at least twice `n_neighbors` of each, which saves the search.
    n_jobs : int, default=None
        Number of threads. None and -1 mean all cores. The result does not depend on it.
    device : {'auto', 'cpu', 'cuda'} or 'cuda:N', default='auto'
        Where to compute: on an NVIDIA card where that is faster and there is one, on the processor, or on a card.
    random_state : int, RandomState instance or Generator, default=None
        Seed of the null. None means the seed 0.

    Returns
    -------
    trust : Trust

    Examples
    --------
    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> found = lowland.trust(X, lowland.TSNE().fit(X))
    >>> found.kept.shape, len(found.summary.split(". "))
    ((1797,), 3)
    """
    points = _input.embedding(embedding)
    model: Any = getattr(embedding, "model_", None)
    if reruns and model is None:
        raise ValueError(f"reruns={reruns}: needs a fitted estimator as embedding, to fit it again; an array has no method")
    if metric is None:
        metric = getattr(embedding, "metric", None) or "euclidean"
        metric_params = metric_params or getattr(embedding, "metric_params", None)
    graph = as_graph(neighbors)
    rows = _input.rows(X)
    if not isinstance(metric, str) and callable(metric):
        rows = _metrics.distances(rows, metric, metric_params)
    with _device.using(device):
        columns, islands, gaps, summary, omitted, loss, numbers = _lowland.assess(
            rows,
            points,
            _parameters.integer("n_neighbors", n_neighbors, at_least=1),
            _parameters.metric_name(metric, metric_params),
            float(fdr),
            bool(everything),
            _input.seed(random_state),
            _input.threads(n_jobs),
            None if graph is None else graph._graph,
            model,
        )
        if reruns:
            repeats = _parameters.integer("reruns", reruns, at_least=2)
            told = getattr(embedding, "_target", None)
            unstable = _lowland.instability(rows, model, repeats, _input.threads(n_jobs), told)
    if reruns:
        meaning = "How far the point moves between runs; in validation no sign of a wrong place."
        columns.append(("unstable", meaning, unstable))
    found = [Gap((pair[0], pair[1]), verdict, links, counted, weak) for pair, verdict, links, counted, weak in gaps]
    return Trust(columns, [Island(*island) for island in islands], found, " ".join(summary), dict(omitted), loss, numbers)
