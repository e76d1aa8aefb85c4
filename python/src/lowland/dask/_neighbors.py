"""Nearest neighbors of all rows, in pieces.

The rows are divided by the cells of k-means, which are grouped into parts, one per worker. A row is sent to the parts that hold its few
nearest cells, compared there with the rows of those cells, and the best of all are its neighbors. With many more cells than each row is
compared with, no worker holds all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _input, _lowland, _parameters
from .._graph import NeighborGraph
from ._cells import MAX_SAMPLE, SAMPLE_PER_CELL, divide_cells, find_centers, nearest_cells, normalize
from ._rows import LoadedRows, check_memory, draw, get_client

#: About so many rows are in a cell.
_CELL_ROWS = 4000
#: Default number of cells that each row is compared with.
N_PROBE = 6
METRICS = ("euclidean", "cosine", "manhattan")


class PartRows:
    """Rows that live in a part, sorted by their numbers."""

    def __init__(self, ids: np.ndarray, rows: np.ndarray) -> None:
        order = np.argsort(ids, kind="stable")
        self.ids, self.rows = ids[order], rows[order]


class PartGraph:
    """The neighbors of the rows of a part: numbers of the rows, and of the parts where they live."""

    def __init__(self, ids: np.ndarray, indices: np.ndarray, distances: np.ndarray, owners: np.ndarray) -> None:
        self.ids, self.indices, self.distances, self.owners = ids, indices, distances, owners


class DistributedGraph:
    """The nearest neighbors of the rows of a dask collection, on the workers.

    Attributes
    ----------
    n_rows, n_neighbors : int
    metric : str
    block_lengths : list of int
        Number of rows of each block of the collection.
    recall : float or None
        Share of the true neighbors that were found, measured on a sample; None if the search was exact.
    """

    n_rows: int
    n_neighbors: int
    metric: str
    block_lengths: list[int]
    recall: float | None
    _parts: list[Any]
    _rows: list[Any]

    def __init__(self, parts: list[Any], rows: list[Any], block_lengths: list[int], n_neighbors: int, metric: str) -> None:
        self._parts, self._rows = parts, rows
        self.n_rows, self.n_neighbors, self.metric = sum(block_lengths), n_neighbors, metric
        self.block_lengths, self.recall = block_lengths, None

    @property
    def n_parts(self) -> int:
        """Number of parts that the rows are divided into."""
        return len(self._parts)

    def compute(self) -> NeighborGraph:
        """Return the whole graph as one in this process."""
        indices = np.empty((self.n_rows, self.n_neighbors), dtype=np.int64)
        distances = np.empty((self.n_rows, self.n_neighbors), dtype=np.float32)
        for part in self._parts:
            found = part.result()
            indices[found.ids], distances[found.ids] = found.indices, found.distances
        return NeighborGraph.from_arrays(indices, distances, self.metric)

    def __repr__(self) -> str:
        return f"DistributedGraph({self.n_rows} rows, {self.n_neighbors} neighbors, {self.n_parts} parts, {self.metric})"


def neighbors(
    X: Any,
    n_neighbors: int = 15,
    *,
    metric: str = "euclidean",
    search: str = "approximate",
    n_probe: int = N_PROBE,
    n_parts: int | None = None,
    recall_rows: int = 200,
    random_state: Any = None,
    client: Any = None,
) -> DistributedGraph:
    """Find the nearest neighbors of each row of a dask array or dataframe, on the cluster.

    Parameters
    ----------
    X : dask array or dataframe of n rows
    n_neighbors : int, default=15
    metric : {'euclidean', 'cosine', 'manhattan'}, default='euclidean'
    search : {'approximate', 'exact'}, default='approximate'
        'exact' compares all pairs of rows.
    n_probe : int, default=6
        Number of cells that each row is compared with. More cells find more of the neighbors and take longer.
    n_parts : int, default=None
        Number of parts that the rows are divided into. None means one per worker.
    recall_rows : int, default=200
        Number of rows on which the recall is measured.
    random_state : int, RandomState instance or Generator, default=None
    client : distributed.Client, default=None
        None means the current one.

    Returns
    -------
    graph : DistributedGraph
    """
    k = _parameters.integer("n_neighbors", n_neighbors, at_least=1)
    n_probe = _parameters.integer("n_probe", n_probe, at_least=1)
    return find_neighbors(
        X, k, metric, search, n_probe, n_parts, recall_rows, _input.seed(random_state), get_client(client),
        advice=f"raise n_probe, which is {n_probe}, or use search='exact'",
    )  # fmt: skip


def find_neighbors(
    X: Any,
    k: int,
    metric: str,
    search: str = "approximate",
    n_probe: int = N_PROBE,
    n_parts: int | None = None,
    recall_rows: int = 200,
    seed: int = 0,
    client: Any = None,
    *,
    advice: str,
    fewer: bool = False,
) -> DistributedGraph:
    """Find the neighbors for :func:`neighbors` or a fit.

    `advice` is what the caller can change if a row has too few neighbors; ``{k}`` in it stands for their number. With `fewer`, `k` is
    lowered to the number of other rows.
    """
    if metric not in METRICS:
        raise _parameters.invalid("metric", metric, "'euclidean', 'cosine' or 'manhattan' on a cluster")
    if search not in ("approximate", "exact"):
        raise _parameters.invalid("search", search, "'approximate' or 'exact'")
    rows = LoadedRows(X, client)
    k = min(k, max(rows.n - 1, 1)) if fewer else k
    if rows.n < 2:
        raise ValueError(f"X has {rows.n} row: expected at least 2")
    if k >= rows.n:
        raise ValueError(f"n_neighbors={k}: expected fewer than the {rows.n} rows")
    parts = n_parts or len(client.scheduler_info(n_workers=-1)["workers"])
    parts = max(1, min(parts, rows.n // (2 * (k + 1))))
    # The rows that are sent to a part, about twice as many as live there, the copies of a search, and the candidates.
    check_memory(client, "the search", rows.n / parts * (2 * 3 * 8 * rows.columns + 2 * 24 * (k + 1) * n_probe), parts)
    centers, part_of, sampled = _make_cells(rows, parts, k, metric, seed, client)
    # Once to each worker, instead of once per block through the scheduler.
    centers = client.scatter(centers, broadcast=True, hash=False)
    sizes = [client.submit(_split, block, first, centers, part_of, n_probe, metric, parts, search == "exact", pure=False)
             for block, first in zip(rows.blocks, rows.first_rows())]  # fmt: skip
    received = [[client.submit(_pick, size, part, pure=False) for size in sizes] for part in range(parts)]
    homes = [client.submit(_home_rows, part_of, part, *pieces, pure=False) for part, pieces in enumerate(received)]
    if search == "exact":
        found = [
            [client.submit(_search_all, homes[a], homes[b], a, b, k, metric, pure=False) for b in range(parts)]
            for a in range(parts)
        ]
    else:
        searched = [client.submit(_search_cells, part_of, part, parts, k, metric, *pieces, pure=False)
                    for part, pieces in enumerate(received)]  # fmt: skip
        found = [[client.submit(_pick, searched[b], a, pure=False) for b in range(parts)] for a in range(parts)]
    merged = [client.submit(_merge, homes[part], k, advice.format(k=k), *found[part], pure=False) for part in range(parts)]
    graph = DistributedGraph(merged, homes, rows.lengths, k, metric)
    if search == "approximate":
        graph.recall = _measure_recall(graph, sampled, recall_rows, client)
    else:
        from distributed import wait

        wait(merged)
        client.gather([client.submit(_nothing, part, pure=False) for part in merged])
    return graph


def _nothing(_: Any) -> None:
    return None


def _make_cells(
    rows: LoadedRows, parts: int, k: int, metric: str, seed: int, client: Any
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return the centers of the cells, the part of each, and a sample of rows with their numbers."""
    cells = max(4 * parts, rows.n // _CELL_ROWS) if rows.n > 2 * _CELL_ROWS or parts > 1 else 1
    cells = max(1, min(cells, rows.n // (4 * (k + 1))))
    count = min(rows.n, MAX_SAMPLE, max(SAMPLE_PER_CELL * cells, 1000))
    drawn = client.gather(
        [client.submit(draw, block, first, rows.n, count, seed, pure=False)
         for block, first in zip(rows.blocks, rows.first_rows())]
    )  # fmt: skip
    numbers, values = (np.concatenate([piece[at] for piece in drawn]) for at in (0, 1))
    sample = normalize(values, metric)
    centers = find_centers(sample, cells, 2.0 * (k + 1) / rows.n, seed)
    counts = np.bincount(nearest_cells(sample, centers, 1)[:, 0], minlength=len(centers))
    return centers, divide_cells(centers, counts, parts), (numbers, values)


#: Rows that are sent to a part: numbers, values, nearest cells.
Piece = tuple[np.ndarray, np.ndarray, np.ndarray]


def _split(
    block: np.ndarray,
    first: int,
    centers: np.ndarray,
    part_of: np.ndarray,
    n_probe: int,
    metric: str,
    parts: int,
    home_only: bool,
) -> list[Piece]:
    near = nearest_cells(normalize(block, metric), centers, 1 if home_only else n_probe)
    ids = np.arange(first, first + len(block), dtype=np.int64)
    pieces = []
    for part in range(parts):
        goes = (part_of[near] == part).any(axis=1)
        pieces.append((ids[goes], block[goes], near[goes]))
    return pieces


def _pick(pieces: list[Any], part: int) -> Any:
    return pieces[part]


def _join(pieces: tuple[Piece, ...]) -> Piece:
    ids, rows, near = (np.concatenate([piece[at] for piece in pieces]) for at in range(3))
    return ids, rows, near


def _home_rows(part_of: np.ndarray, part: int, *pieces: Piece) -> PartRows:
    """Return the rows whose nearest cell belongs to the part, of all that were sent to it."""
    ids, rows, near = _join(pieces)
    home = part_of[near[:, 0]] == part
    return PartRows(ids[home], rows[home])


def _search_cells(part_of: np.ndarray, part: int, parts: int, k: int, metric: str, *pieces: Piece) -> list[Any]:
    """Search the cells of a part; return, for each part, the candidates of the rows that live there."""
    ids, rows, near = _join(pieces)
    home = near[:, 0]
    lists: list[list[np.ndarray]] = [[], [], []]
    for cell in np.flatnonzero(part_of == part):
        queries, members = np.flatnonzero((near == cell).any(axis=1)), np.flatnonzero(home == cell)
        if len(queries) == 0 or len(members) == 0:
            continue
        count = min(k + 1, len(members))
        found, distances = _lowland.nearest_to(rows[queries], rows[members], count, metric)
        lists[0].append(np.repeat(queries, count))
        lists[1].append(members[found.ravel()])
        lists[2].append(distances.ravel())
    if not lists[0]:
        empty = np.empty(0, dtype=np.int64)
        return [(empty, empty, np.empty(0, dtype=np.float32), part)] * parts
    queries, members, distances = (np.concatenate(values) for values in lists)
    owner = part_of[home[queries]]
    return [(ids[queries[at]], ids[members[at]], distances[at], part) for at in (owner == p for p in range(parts))]


def _search_all(queries: PartRows, data: PartRows, a: int, b: int, k: int, metric: str) -> Any:
    """Compare all rows of a part with all rows of another."""
    if len(queries.ids) == 0 or len(data.ids) == 0:
        empty = np.empty(0, dtype=np.int64)
        return empty, empty, np.empty(0, dtype=np.float32), b
    count = min(k + 1, len(data.ids))
    found, distances = _lowland.nearest_to(_input.aligned(queries.rows), _input.aligned(data.rows), count, metric)
    return np.repeat(queries.ids, count), data.ids[found.ravel()], distances.ravel(), b


def _merge(home: PartRows, k: int, advice: str, *found: Any) -> PartGraph:
    """Return the `k` nearest of the candidates of each row."""
    queries, others, distances = (np.concatenate([piece[at] for piece in found]) for at in range(3))
    owners = np.concatenate([np.full(len(piece[0]), piece[3], dtype=np.int32) for piece in found])
    kept = queries != others
    queries, others, distances, owners = queries[kept], others[kept], distances[kept], owners[kept]
    order = np.lexsort((others, distances, queries))
    queries = queries[order]
    starts = np.searchsorted(queries, home.ids)
    available = np.searchsorted(queries, home.ids, side="right") - starts
    if len(home.ids) and available.min() < k:
        row = int(home.ids[int(np.argmin(available))])
        raise ValueError(
            f"row {row} has only {int(available.min())} of {k} neighbors in the cells that it was compared with: {advice}"
        )
    places = order[(starts[:, None] + np.arange(k)).ravel()] if len(home.ids) else order[:0]
    shape = (len(home.ids), k)
    return PartGraph(
        home.ids, others[places].reshape(shape), distances[places].reshape(shape), owners[places].reshape(shape)
    )


def _found_neighbors(graph: PartGraph, numbers: np.ndarray) -> dict[int, np.ndarray]:
    at = np.searchsorted(graph.ids, numbers)
    at = np.minimum(at, max(len(graph.ids) - 1, 0))
    own = [(int(i), int(number)) for i, number in zip(at, numbers) if len(graph.ids) and graph.ids[i] == number]
    return {number: graph.indices[i] for i, number in own}


def _nearest_of_sample(home: PartRows, sample: np.ndarray, count: int, metric: str) -> tuple[np.ndarray, np.ndarray]:
    if len(home.ids) == 0:
        return np.empty((len(sample), 0), dtype=np.int64), np.empty((len(sample), 0), dtype=np.float32)
    found, distances = _lowland.nearest_to(_input.aligned(sample), _input.aligned(home.rows), min(count, len(home.ids)), metric)
    return home.ids[found], distances


def _measure_recall(graph: DistributedGraph, sampled: tuple[np.ndarray, np.ndarray], count: int, client: Any) -> float:
    """Compare the neighbors of a few rows with those of an exact search."""
    numbers, values = sampled
    chosen = np.linspace(0, len(numbers) - 1, min(count, len(numbers))).astype(int)
    numbers, values, k = numbers[chosen], values[chosen], graph.n_neighbors
    exact = client.gather(
        [client.submit(_nearest_of_sample, home, values, k + 1, graph.metric, pure=False) for home in graph._rows]
    )
    indices = np.concatenate([piece[0] for piece in exact], axis=1)
    distances = np.concatenate([piece[1] for piece in exact], axis=1)
    found: dict[int, np.ndarray] = {}
    for part in client.gather([client.submit(_found_neighbors, part, numbers, pure=False) for part in graph._parts]):
        found.update(part)
    shares = []
    for at, number in enumerate(numbers):
        order = np.lexsort((indices[at], distances[at]))
        true = [j for j in indices[at][order] if j != number][:k]
        shares.append(len(set(true) & set(found[int(number)].tolist())) / k)
    return float(np.mean(shares))
