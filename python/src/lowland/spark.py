"""Spark: fit a sample on the driver, place all rows on the executors.

The rows of a DataFrame are columns of numbers, or one column of arrays. lowland must be installed where the executors run. Needs PySpark
3.5 or newer with pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import _input

#: Names of the first coordinates, as on the command line.
_NAMES = ("projection_x", "projection_y", "projection_z")


def _name(coordinate: int) -> str:
    return _NAMES[coordinate] if coordinate < len(_NAMES) else f"projection_{coordinate + 1}"


def _features(df: Any, features: Sequence[str] | str | None, keep: Sequence[str]) -> list[str]:
    """Return the columns that hold the rows."""
    if isinstance(features, str):
        features = [features]
    names = [name for name in df.columns if name not in keep] if features is None else list(features)
    unknown = [name for name in [*names, *keep] if name not in df.columns]
    if unknown:
        raise ValueError(f"no column {unknown[0]!r}; available: {', '.join(df.columns)}")
    if not names:
        raise ValueError("no column is left for the rows")
    return names


def _to_rows(batch: Any, names: Sequence[str]) -> np.ndarray:
    columns = [batch.column(name) for name in names]
    if len(columns) == 1 and str(columns[0].type).startswith(("list", "large_list", "fixed_size_list")):
        values = [np.asarray(row) for row in columns[0].to_pylist()]
        return np.stack(values) if values else np.empty((0, 0))
    return np.column_stack([column.to_numpy(zero_copy_only=False) for column in columns])


def transform(model: Any, df: Any, features: Sequence[str] | str | None = None, *, keep: Sequence[str] = ()) -> Any:
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
        Columns to keep beside the coordinates, such as an id.

    Returns
    -------
    placed : pyspark.sql.DataFrame
        The kept columns, then ``projection_x``, ``projection_y``, ...
    """
    from pyspark.sql.types import DoubleType, StructField, StructType

    if not hasattr(model, "embedding_"):
        raise ValueError("the estimator has not been fitted: call fit, or lowland.spark.fit_sample")
    names, kept = _features(df, features, keep), list(keep)
    width = int(model.embedding_.shape[1])
    held = df.sparkSession.sparkContext.broadcast(model)

    def place(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            rows = _to_rows(batch, names)
            placed = np.asarray(held.value.transform(rows)) if len(rows) else np.empty((0, width))
            columns = [batch.column(name) for name in kept]
            columns += [pa.array(np.ascontiguousarray(placed[:, c], dtype=np.float64)) for c in range(width)]
            yield pa.RecordBatch.from_arrays(columns, names=[*kept, *[_name(c) for c in range(width)]])

    schema = StructType(
        [df.schema[name] for name in kept] + [StructField(_name(c), DoubleType(), False) for c in range(width)]
    )
    return df.select(*kept, *names).mapInArrow(place, schema)


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
        :func:`lowland.streaming.held_out_recall`.
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

    from .streaming import held_out_recall

    names, seed = _features(df, features, keep), _input.seed(random_state) % 2**31
    # A hash of the values and the seed orders the rows at random, wherever they are.
    key = functions.xxhash64(functions.lit(seed), *[functions.col(name) for name in names])
    drawn = df.select(*names).withColumn("_key", key).orderBy("_key", *names).limit(int(n_rows) + int(held_out)).drop("_key")
    table = drawn.toPandas()
    rows = np.stack([np.asarray(row) for row in table[names[0]]]) if len(names) == 1 and table[names[0]].dtype == object else (
        table.to_numpy()
    )
    if len(rows) < 2:
        raise ValueError(f"{len(rows)} rows: expected at least 2")
    fitted, others = rows[:n_rows], rows[n_rows:]
    estimator.fit(fitted)
    if len(others) and len(fitted) > 30:
        estimator.held_out_recall_ = held_out_recall(estimator, fitted, others)
    return estimator
