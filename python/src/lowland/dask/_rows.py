"""Rows of dask collections, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _input


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
            f"{what} needs about {_format(needed * per_worker)} on each of {len(workers)} workers, the smallest of which may use "
            f"{_format(_USABLE_SHARE * min(limits))}: add workers, raise their memory_limit, or fit a sample "
            "(lowland.dask.fit_sample)"
        )


def _format(size: float) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e8 else f"{size / 1e6:.2f} MB"


def column_names(X: Any) -> list[Any] | None:
    """Return the names of the columns of a dask dataframe; None for arrays."""
    return None if hasattr(X, "rechunk") or not hasattr(X, "columns") else list(X.columns)


def delayed_blocks(X: Any) -> list[Any]:
    """Return the blocks of rows of a dask array or dataframe as Delayed objects."""
    if hasattr(X, "rechunk"):
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead")
        return list(X.rechunk({1: -1}).to_delayed().ravel())
    if hasattr(X, "to_delayed") and getattr(X, "ndim", 0) == 2:
        _check_types(X)
        return list(X.to_delayed())
    raise TypeError(f"expected a dask array or dataframe, got {type(X).__name__}; dask.array.from_array makes one")


def _check_types(frame: Any) -> None:
    """Raise if a column of a dask dataframe cannot hold numbers. What is in a column of objects is known block by block."""
    from pandas.api.types import is_numeric_dtype, is_object_dtype

    for name, dtype in frame.dtypes.items():
        if not (is_numeric_dtype(dtype) or is_object_dtype(dtype)):
            raise ValueError(
                f"column {name!r} does not contain numbers (its type is {dtype}). Leave the column out, or encode it as numbers"
            )


def row_count(block: Any) -> int:
    """Return the number of rows of a block."""
    return int(np.shape(block)[0])


def block_lengths(X: Any, client: Any) -> list[int]:
    """Return the number of rows of each block. Where dask does not know it, a block is computed, counted and dropped: one number leaves
    its worker."""
    if hasattr(X, "chunks") and not np.isnan(X.chunks[0]).any():
        return [int(rows) for rows in X.chunks[0]]
    from dask import delayed

    count = delayed(row_count, pure=False)
    return list(client.gather(client.compute([count(block) for block in delayed_blocks(X)])))


def to_rows(block: Any) -> np.ndarray:
    """Return a block as an array of numbers."""
    rows = np.asarray(block)
    if rows.dtype.kind not in "biuf":
        try:
            rows = rows.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise (_input.explain_text(block) or error) from None
    return rows if rows.dtype == np.float32 else rows.astype(np.float64, copy=False)


def check_names(block: Any, number: int, names: list[Any] | None) -> None:
    """Raise if a block of a dataframe has other columns than the dataframe, or the same in another order."""
    found = None if names is None or not hasattr(block, "columns") else list(block.columns)
    if found is not None and found != names:
        raise ValueError(f"block {number} has the columns {_listed(found)} where the dataframe has {_listed(names or [])}")


def _listed(names: list[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:6])
    return shown + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def check_block(block: Any, number: int, first: int, columns: int, names: list[Any] | None = None) -> np.ndarray:
    """Return a block as an array, after checking its columns and values; errors name the row."""
    check_names(block, number, names)
    try:
        rows = to_rows(block)
    except (TypeError, ValueError) as error:
        raise ValueError(f"block {number}: {error}") from error
    if rows.ndim != 2 or rows.shape[1] != columns:
        found = rows.shape[1] if rows.ndim == 2 else rows.shape
        raise ValueError(f"block {number} has {found} columns where the first has {columns}")
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = (int(at) for at in np.argwhere(~finite)[0])
        name = column if names is None else repr(names[column])
        raise ValueError(
            f"row {first + row} (row {row} of block {number}), column {name} is {rows[row, column]}: values must be finite. "
            "Leave such rows out, or fill the values in"
        )
    return rows


def shape_of(block: Any) -> tuple[int, int]:
    """Return the shape of a block."""
    rows, columns = np.shape(block)
    return (int(rows), int(columns))


class LoadedRows:
    """The rows of a collection as futures of arrays, one per block, each checked."""

    def __init__(self, X: Any, client: Any) -> None:
        #: Names of the columns of a dataframe.
        self.names = column_names(X)
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
            client.submit(check_block, raw[at], at, int(self.starts[at]), self.columns, self.names, pure=False) for at in filled
        ]

    @property
    def n(self) -> int:
        return int(self.starts[-1])

    def first_rows(self) -> list[int]:
        """Number of the first row of each filled block."""
        return [int(self.starts[at]) for at in self.filled]


def _share(rows: int, first: int, n: int, count: int) -> int:
    """Return how many of `count` rows a block draws: in proportion to its size, the remainder decided by its place, so that the numbers of
    all blocks add up to `count`."""
    return (first + rows) * count // n - first * count // n


def _drawn(rows: int, first: int, n: int, count: int, seed: int) -> np.ndarray:
    wanted = min(_share(rows, first, n, count), rows)
    return np.sort(np.random.default_rng([seed, first]).choice(rows, size=wanted, replace=False))


def draw(block: np.ndarray, first: int, n: int, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the rows of a block that are in a sample of `count` of `n` rows; return their numbers and the rows."""
    chosen = _drawn(len(block), first, n, count, seed)
    return chosen + first, block[chosen]


def draw_others(block: np.ndarray, first: int, n: int, count: int, others: int, seed: int) -> np.ndarray:
    """Draw rows of a block that :func:`draw` leaves out, of `others` in all."""
    left = np.setdiff1d(np.arange(len(block)), _drawn(len(block), first, n, count, seed), assume_unique=True)
    wanted = min(_share(len(block), first, n, others), len(left))
    # The third number makes this another stream of random numbers than that of the sample.
    chosen = np.random.default_rng([seed, first, 1]).choice(left, size=wanted, replace=False)
    return block[np.sort(chosen)]
