"""Rows that come in batches: more than fit into memory, on one machine.

Everything here takes a *source* of rows: an iterable of batches (arrays, tables, sparse matrices), ``numpy.memmap`` or another array, which
is sliced, a pyarrow ``Dataset``, ``Scanner``, ``RecordBatchReader`` or ``ParquetFile``, or a dask collection (Zarr through
``dask.array.from_zarr``), whose blocks are computed one after the other.

Examples
--------
>>> import numpy as np, lowland
>>> from lowland import streaming
>>> X, _ = lowland.datasets.load("digits", return_X_y=True)
>>> model = streaming.fit_sample(lowland.PCA(), X, 500)
>>> placed = np.concatenate(list(streaming.transform(model, X, batch_rows=400)))
>>> placed.shape, bool((placed == model.transform(X)).all())
((1797, 2), True)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _input, _parameters
from ._held_out import FarRows, far_rows_of, held_out_recall, score_sample

__all__ = ["FarRows", "batches", "far_rows", "fit_sample", "held_out_recall", "sample", "transform"]

#: Default number of rows of a batch.
BATCH_ROWS = 8192


def batches(source: Any, batch_rows: int = BATCH_ROWS) -> Iterator[Any]:
    """Iterate over the batches of a source; batches of an iterable are taken as they are.

    Parameters
    ----------
    source : see the module
    batch_rows : int, default=8192
        Number of rows of a batch where the source can be sliced.
    """
    if isinstance(batch_rows, bool) or int(batch_rows) < 1:
        raise ValueError(f"batch_rows={batch_rows!r}: expected a number of rows, at least 1")
    if hasattr(source, "to_delayed"):  # dask
        blocks = source.rechunk({1: -1}) if hasattr(source, "rechunk") else source
        for block in np.ravel(np.asarray(blocks.to_delayed(), dtype=object)):
            yield block.compute()
    elif hasattr(source, "iter_batches"):  # pyarrow.parquet.ParquetFile
        yield from source.iter_batches(batch_size=batch_rows)
    elif hasattr(source, "to_batches"):  # pyarrow datasets, scanners, tables
        made = source.to_batches(batch_size=batch_rows) if hasattr(source, "scanner") else source.to_batches()
        yield from made
    elif hasattr(source, "shape") and len(source.shape) == 2:
        for first in range(0, source.shape[0], batch_rows):
            yield source[first : first + batch_rows]
    elif hasattr(source, "iloc"):  # pandas
        for first in range(0, len(source), batch_rows):
            yield source.iloc[first : first + batch_rows]
    elif isinstance(source, (str, bytes)):
        raise TypeError("a source is rows or batches of rows; open the file first, for instance with pyarrow.dataset.dataset(path)")
    else:
        yield from source


def _rows(batch: Any) -> Any:
    """Return a batch as an array, or as it is if it is one of the other kinds of rows."""
    if hasattr(batch, "to_pydict") and hasattr(batch, "schema"):  # pyarrow
        columns = [np.asarray(column.to_numpy(zero_copy_only=False) if hasattr(column, "type") and not hasattr(column, "chunks")
                              else column.to_numpy()) for column in batch.columns]  # fmt: skip
        if len(columns) == 1 and columns[0].dtype == object and len(columns[0]):
            return np.stack([np.asarray(row) for row in columns[0]])
        return np.column_stack(columns) if columns else np.empty((batch.num_rows, 0))
    if _input.is_sparse(batch) or _input.strings(batch) is not None:
        return batch
    return np.asarray(batch)


def _count(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def transform(model: Any, source: Any, *, batch_rows: int = BATCH_ROWS) -> Iterator[np.ndarray]:
    """Place the rows of a source on the map of a fitted estimator, batch by batch.

    The coordinates of a row do not depend on the batch that it is in.

    Parameters
    ----------
    model : estimator
        A fitted estimator of lowland.
    source : see the module
    batch_rows : int, default=8192

    Yields
    ------
    embedding : ndarray of shape (rows of the batch, n_components)
    """
    first = 0
    for number, batch in enumerate(batches(source, batch_rows)):
        rows = _rows(batch)
        count = _count(rows)
        if count == 0:
            yield np.empty((0, model.embedding_.shape[1]))
            continue
        try:
            yield np.asarray(model.transform(rows))
        except ValueError as error:
            raise ValueError(f"batch {number}, which begins with row {first}: {error}") from error
        first += count


def sample(source: Any, n_rows: int, *, random_state: Any = None, batch_rows: int = BATCH_ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of a source in one pass, each with the same probability.

    Whether a row is drawn depends on the seed and on its number alone, not on the batches.

    Parameters
    ----------
    source : see the module
        Rows of numbers.
    n_rows : int
        Number of rows to draw; all, if there are no more.
    random_state : int, RandomState instance or Generator, default=None
        None means the seed 0.
    batch_rows : int, default=8192

    Returns
    -------
    rows : ndarray of shape (n_rows, n_features)
        In the order of the source.
    numbers : ndarray of shape (n_rows,)
        Their numbers in the source.
    """
    if isinstance(n_rows, bool) or int(n_rows) < 1:
        raise ValueError(f"n_rows={n_rows!r}: expected a number of rows, at least 1")
    seed = _input.seed(random_state)
    kept: np.ndarray | None = None
    keys, numbers, first = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64), 0
    for position, batch in enumerate(batches(source, batch_rows)):
        rows = _rows(batch)
        if _count(rows) == 0:
            continue
        if _input.is_sparse(rows) or rows.ndim != 2:
            raise ValueError(f"batch {position}: expected a two-dimensional array of numbers")
        if kept is not None and rows.shape[1] != kept.shape[1]:
            raise ValueError(f"batch {position} has {rows.shape[1]} columns, those before it {kept.shape[1]}")
        found = np.arange(first, first + len(rows), dtype=np.int64)
        first += len(rows)
        new = _keys(found, seed)
        # Only rows that can be among the drawn ones are copied.
        near = new < keys.max() if len(keys) == n_rows else np.ones(len(rows), dtype=bool)
        if not near.any():
            continue
        rows = np.asarray(rows[near])
        kept = rows.copy() if kept is None else np.concatenate([kept, rows])
        keys, numbers = np.concatenate([keys, new[near]]), np.concatenate([numbers, found[near]])
        if len(keys) > n_rows:
            best = np.sort(np.argpartition(keys, n_rows - 1)[:n_rows])
            kept, keys, numbers = kept[best], keys[best], numbers[best]
    if kept is None:
        raise ValueError("the source has no rows")
    return kept, numbers


def _keys(numbers: np.ndarray, seed: int) -> np.ndarray:
    """Return a random number for the number of each row (splitmix64)."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed) * np.uint64(0xD1B54A32D192ED03)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def fit_sample(
    estimator: Any,
    source: Any,
    n_rows: int,
    *,
    held_out: int = 1000,
    random_state: Any = None,
    batch_rows: int = BATCH_ROWS,
) -> Any:
    """Fit an estimator to a sample of a source, which :func:`sample` draws, and score other rows.

    Parameters
    ----------
    estimator : estimator
        An estimator of lowland, which is fitted and returned.
    source : see the module
    n_rows : int
        Number of rows to fit; all, if there are no more.
    held_out : int, default=1000
        Number of other rows that are scored; 0 for none.
    random_state : int, RandomState instance or Generator, default=None
        None means the seed 0.
    batch_rows : int, default=8192

    Returns
    -------
    estimator : estimator
        With the numbers of the rows of the sample in ``sample_rows_``, the scores of :func:`held_out_recall` in ``held_out_recall_``, and
        :class:`FarRows` in ``far_rows_`` (None where the rows are too few, or cannot be compared with others).
    """
    n_rows, held_out = _sizes(n_rows, held_out)
    seed = _input.seed(random_state)
    rows, numbers = sample(source, n_rows + held_out, random_state=seed, batch_rows=batch_rows)
    fitted = np.ones(len(rows), dtype=bool)
    if len(rows) > n_rows:
        # The rows that a sample of n_rows has.
        fitted[np.argpartition(_keys(numbers, seed), n_rows)[n_rows:]] = False
    estimator.fit(rows[fitted])
    estimator.sample_rows_ = numbers[fitted]
    score_sample(estimator, rows[fitted], rows[~fitted])
    return estimator


def _sizes(n_rows: Any, held_out: Any) -> tuple[int, int]:
    return _parameters.integer("n_rows", n_rows, at_least=2), _parameters.integer("held_out", held_out, at_least=0)


def far_rows(model: Any, source: Any, *, batch_rows: int = BATCH_ROWS) -> Iterator[np.ndarray]:
    """Tell which rows of a source are far from all rows that an estimator was fitted to, batch by batch.

    Each row is compared with all rows of the fit. Many more far rows than ``model.far_rows_.fitted_share`` mean that the sample has missed
    something.

    Parameters
    ----------
    model : estimator
        Fitted by :func:`fit_sample`.
    source : see the module
    batch_rows : int, default=8192

    Yields
    ------
    far : ndarray of bool of shape (rows of the batch,)
    """
    known = far_rows_of(model)
    for batch in batches(source, batch_rows):
        rows = _rows(batch)
        yield known.find(model, rows) if _count(rows) else np.empty(0, dtype=bool)
