"""Rows of dask collections, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np


def get_client(client: Any) -> Any:
    """Return the client, by default the current one."""
    if client is not None:
        return client
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        message = "there is no dask cluster: create a client first, with client = distributed.Client()"
        raise RuntimeError(message) from None


#: Share of a worker's memory limit that its parts may need; from there on dask moves data to the disk and pauses workers.
_USABLE_SHARE = 0.7


def check_memory(client: Any, what: str, needed: float, parts: int) -> None:
    """Raise if `parts` parts that each need about `needed` bytes do not fit into the memory of the workers."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    limits = [int(worker.get("memory_limit") or 0) for worker in workers.values()]
    limits = [limit for limit in limits if limit > 0]
    per_worker = -(-parts // max(len(workers), 1))
    if limits and needed * per_worker > _USABLE_SHARE * min(limits):
        raise MemoryError(
            f"{what} needs about {needed * per_worker / 1e9:.2f} GB on each of {len(workers)} workers, the smallest of which may use "
            f"{_USABLE_SHARE * min(limits) / 1e9:.2f} GB: add workers, raise their memory_limit, or fit a sample "
            "(lowland.dask.fit_sample)"
        )


def delayed_blocks(X: Any) -> list[Any]:
    """Return the blocks of rows of a dask array or dataframe as Delayed objects."""
    if hasattr(X, "rechunk"):
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead")
        return list(X.rechunk({1: -1}).to_delayed().ravel())
    if hasattr(X, "to_delayed"):
        return list(X.to_delayed())
    raise TypeError(f"expected a dask array or dataframe, got {type(X).__name__}; dask.array.from_array makes one")


def to_rows(block: Any) -> np.ndarray:
    """Return a block as an array of numbers."""
    rows = np.asarray(block)
    if rows.dtype == object:
        rows = rows.astype(np.float64)
    return rows if rows.dtype == np.float32 else rows.astype(np.float64, copy=False)


def check_block(block: Any, number: int, first: int, columns: int) -> np.ndarray:
    """Return a block as an array, after checking its columns and values; errors name the row."""
    rows = to_rows(block)
    if rows.ndim != 2 or rows.shape[1] != columns:
        found = rows.shape[1] if rows.ndim == 2 else rows.shape
        raise ValueError(f"block {number} has {found} columns where the first has {columns}")
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = (int(at) for at in np.argwhere(~finite)[0])
        raise ValueError(
            f"row {first + row} (row {row} of block {number}), column {column} is {rows[row, column]}: values must be finite. "
            "Leave such rows out, or fill the values in"
        )
    return rows


def shape_of(block: Any) -> tuple[int, int]:
    """Return the shape of a block."""
    rows = np.asarray(block)
    return (int(rows.shape[0]), int(rows.shape[1]))


class LoadedRows:
    """The rows of a collection as futures of arrays, one per block, each checked."""

    def __init__(self, X: Any, client: Any) -> None:
        raw = client.compute(delayed_blocks(X))
        shapes = client.gather(client.map(shape_of, raw, pure=False))
        self.lengths = [rows for rows, _ in shapes]
        self.columns = next((columns for rows, columns in shapes if rows), 0)
        #: Number of the first row of each block, and of all rows.
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        if self.n == 0:
            raise ValueError("no rows: every block is empty")
        filled = [at for at, rows in enumerate(self.lengths) if rows]
        #: Numbers of the blocks that are not empty.
        self.filled = filled
        self.blocks = [
            client.submit(check_block, raw[at], at, int(self.starts[at]), self.columns, pure=False) for at in filled
        ]

    @property
    def n(self) -> int:
        return int(self.starts[-1])

    def first_rows(self) -> list[int]:
        """Number of the first row of each filled block."""
        return [int(self.starts[at]) for at in self.filled]


def draw(block: np.ndarray, first: int, n: int, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the rows of a block that are in a sample of `count` of `n` rows; return their numbers and the rows.

    Each block draws in proportion to its size, the remainder decided by its place: the sizes add up to `count`.
    """
    wanted = (first + len(block)) * count // n - first * count // n
    chosen = np.random.default_rng([seed, first]).choice(len(block), size=min(wanted, len(block)), replace=False)
    chosen.sort()
    return chosen + first, block[chosen]
