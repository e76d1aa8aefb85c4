"""Spark: fit a sample on the driver, place all rows on the executors.

The rows of a DataFrame are columns of numbers, or one column of arrays. lowland must be installed where the executors run. Needs PySpark
3.5 or newer with pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import _input, _parameters
from ._held_out import far_rows_of, score_sample, without_sample
from ._tables import FAR, coordinate_name, explain_not_finite, feature_columns, place, split_id


def _to_rows(batch: Any, names: Sequence[str]) -> np.ndarray:
    columns = [batch.column(name) for name in names]
    if len(columns) == 1 and str(columns[0].type).startswith(("list", "large_list", "fixed_size_list")):
        values = [np.asarray(row) for row in columns[0].to_pylist()]
        return np.stack(values) if values else np.empty((0, 0))
    return np.column_stack([column.to_numpy(zero_copy_only=False) for column in columns])


def transform(
    model: Any, df: Any, features: Sequence[str] | str | None = None, *, keep: Sequence[str] = (), far: bool = False
) -> Any:
    """Place the rows of a DataFrame on the map of a fitted estimator.

    The model is sent to each executor once.

    Parameters
    ----------
    model : estimator
        A fitted estimator of lowland.
    df : pyspark.sql.DataFrame
    features : list of str or str, default=None
        Columns of numbers, or one column of arrays. None means all that are not kept.
    keep : list of str, default=()
        Columns to keep beside the coordinates, such as an id. An error that is about a row names its partition, its number there, and
        its values of these columns.
    far : bool, default=False
        Add a column ``far``: whether a row is far from every row of the fit. The estimator must be fitted by :func:`fit_sample`.

    Returns
    -------
    placed : pyspark.sql.DataFrame
        The kept columns, then ``projection_x``, ``projection_y``, ...
    """
    from pyspark.sql.types import BooleanType, DoubleType, StructField, StructType

    if not hasattr(model, "embedding_"):
        raise ValueError("the estimator has not been fitted: call fit, or lowland.spark.fit_sample")
    names, kept = feature_columns(df.columns, features, keep), list(keep)
    width = int(model.embedding_.shape[1])
    held = df.sparkSession.sparkContext.broadcast((without_sample(model), far_rows_of(model) if far else None))

    def place_batches(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        where = "a partition" if context is None else f"partition {context.partitionId()}"
        (model, known), first = held.value, 0
        for batch in batches:
            columns = [batch.column(name) for name in kept]
            rows = _to_rows(batch, names)
            name_row = lambda at, first=first: f"row {first + at} of {where}"  # noqa: E731
            ids = dict(zip(kept, columns))
            placed = place(model, rows, names, name_row, ids) if len(rows) else np.empty((0, width))
            columns += [pa.array(np.ascontiguousarray(placed[:, c], dtype=np.float64)) for c in range(width)]
            if known is not None:
                columns.append(pa.array(known.find(model, rows) if len(rows) else np.empty(0, dtype=bool)))
            first += len(rows)
            yield pa.RecordBatch.from_arrays(columns, names=placed_names)

    fields = [df.schema[name] for name in kept]
    fields += [StructField(coordinate_name(c), DoubleType(), False) for c in range(width)]
    fields += [StructField(FAR, BooleanType(), False)] if far else []
    placed_names = [field.name for field in fields]
    return df.select(*kept, *names).mapInArrow(place_batches, StructType(fields))


def fit_sample(
    estimator: Any,
    df: Any,
    n_rows: int,
    features: Sequence[str] | str | None = None,
    *,
    keep: Sequence[str] = (),
    held_out: int = 1000,
    random_state: Any = None,
) -> Any:
    """Fit an estimator on the driver to a random sample of the rows of a DataFrame.

    The sample depends on the seed and on the values of the rows, not on their partitions.

    Parameters
    ----------
    estimator : estimator
        An estimator of lowland, which is fitted and returned. ``held_out_recall_`` tells how well other rows are placed: see
        :func:`lowland.streaming.held_out_recall`. ``far_rows_`` (:class:`lowland.streaming.FarRows`) tells which rows are far from all
        of the sample. Both are None where the rows are too few, or cannot be compared with others.
    df : pyspark.sql.DataFrame
    n_rows : int
        Number of rows to fit; all, if there are no more.
    features, keep
        As in :func:`transform`.
    held_out : int, default=1000
        Number of other rows that are scored; 0 for none.
    random_state : int, RandomState instance or Generator, default=None
        Seed of the sample. None means the seed 0.
    """
    from pyspark.sql import functions

    names, seed = feature_columns(df.columns, features, keep), _input.seed(random_state) % 2**31
    n_rows, held_out = _parameters.integer("n_rows", n_rows, at_least=2), _parameters.integer("held_out", held_out, at_least=0)
    # A hash of the values and the seed orders the rows at random, wherever they are.
    key = functions.xxhash64(functions.lit(seed), *[functions.col(name) for name in names])
    drawn = df.select(*names, functions.monotonically_increasing_id().alias("_place"), key.alias("_key"))
    table = drawn.orderBy("_key", *names).limit(n_rows + held_out).drop("_key").toPandas()
    places = table.pop("_place").to_numpy()
    rows = np.stack([np.asarray(row) for row in table[names[0]]]) if len(names) == 1 and table[names[0]].dtype == object else (
        table.to_numpy()
    )
    if len(rows) < 2:
        raise ValueError(f"{len(rows)} rows: expected at least 2")
    if estimator.missing != "drop":
        _check_finite(rows, names, places)
    fitted, others = rows[:n_rows], rows[n_rows:]
    estimator.fit(fitted)
    score_sample(estimator, fitted, others)
    return estimator


def _check_finite(rows: np.ndarray, names: Sequence[str], places: np.ndarray) -> None:
    """Raise if a row of the sample has a value that is not finite; the error names its partition and its number there."""

    def name_row(at: int) -> str:
        partition, row = split_id(int(places[at]))
        return f"row {row} of partition {partition}"

    error = explain_not_finite(rows, names, name_row)
    if error is not None:
        raise error
