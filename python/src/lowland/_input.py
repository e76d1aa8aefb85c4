"""Conversion of arguments to what the Rust module takes.

Rows are passed as arrays, as the parts of a sparse matrix or as strings; parameters are passed as text.
"""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np


def is_sparse(X: Any) -> bool:
    """Return whether X is a matrix or array of scipy.sparse, without importing scipy."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def strings(X: Any) -> list[str] | None:
    """Return the rows if they are strings (a list, a column of a table, a one-dimensional array), else None."""
    if isinstance(X, (str, bytes)) or is_sparse(X) or getattr(X, "ndim", 1) != 1 or hasattr(X, "column_names"):
        return None
    if hasattr(X, "to_pylist"):  # pyarrow
        X = X.to_pylist()
    elif hasattr(X, "to_list"):  # pandas, polars
        X = X.to_list()
    elif isinstance(X, np.ndarray):
        X = X.tolist() if X.dtype.kind in "OUT" else []
    if not isinstance(X, (list, tuple)) or not X or not all(isinstance(line, str) for line in X):
        return None
    return list(X)


def from_table(X: Any) -> tuple[Any, list[str] | None]:
    """Convert a pyarrow table to an array and its column names; return anything else unchanged, without names."""
    if hasattr(X, "column_names") and hasattr(X, "columns") and hasattr(X, "schema"):
        columns = [np.asarray(column.to_numpy()) for column in X.columns]
        return np.column_stack(columns) if columns else np.empty((X.num_rows, 0)), list(X.column_names)
    return X, None


def sparse_parts(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return row pointers, column indices, values and number of columns of a sparse matrix, duplicates summed."""
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data.astype(np.float64), X.shape[1]


def rows(X: Any) -> Any:
    """Convert rows of any supported kind."""
    lines = strings(X)
    if lines is not None:
        return lines
    X, _ = from_table(X)
    if is_sparse(X):
        return sparse_parts(X)
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead")
    return X if X.dtype == np.float32 else X.astype(np.float64, copy=False)


def points(Y: Any) -> np.ndarray:
    """Convert points of an embedding."""
    Y = np.asarray(from_table(Y)[0], dtype=np.float64)
    if Y.ndim != 2:
        raise ValueError(f"Expected 2D array, got {Y.ndim}D array instead")
    return Y


def classes(labels: Any) -> tuple[list[Any], np.ndarray]:
    """Return the sorted distinct labels, and the index of each row's label among them."""
    values = np.asarray(labels)
    try:
        names, codes = np.unique(values, return_inverse=True)
    except TypeError:
        # Labels of mixed types, such as strings and None, can only be sorted as text.
        names, codes = np.unique([str(label) for label in values.tolist()], return_inverse=True)
    return names.tolist(), codes.ravel()


def text(value: Any) -> str:
    """Format the value of a parameter as on the command line."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(text(item) for item in value)
    return str(value)


def value(text: str, like: Any) -> Any:
    """Parse the value of a parameter; if `like` is a float, so is a number."""
    if text in ("true", "false"):
        return text == "true"
    if "," in text and "(" not in text:
        return [value(item, like) for item in text.split(",")]
    for number in (float,) if isinstance(like, float) else (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def metric_text(metric: Any, params: dict[str, Any] | None) -> str:
    """Combine `metric` and `metric_params` into one text such as ``minkowski(3)``."""
    params = dict(params or {})
    name = text(metric)
    if name == "minkowski":
        name = f"minkowski({text(params.pop('p', 2))})"
    if params:
        raise ValueError(f"metric_params = {params}: not parameters of the metric {name}")
    return name


def seed(random_state: Any) -> int:
    """Convert `random_state` to a seed. None is 0, so that runs are reproducible by default."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral):
        if random_state < 0:
            raise ValueError(f"random_state = {random_state}: expected a non-negative integer")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if hasattr(random_state, "randint"):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(
        f"random_state = {random_state!r}: expected None, a non-negative integer, a RandomState or a Generator"
    )


def memory(limit: Any) -> int | None:
    """Convert `max_memory` to bytes; None stands for the available memory."""
    if limit is None:
        return None
    if not isinstance(limit, numbers.Real) or isinstance(limit, bool) or not 0 <= limit < 2**64:
        raise ValueError(f"max_memory = {limit!r}: expected a number of bytes such as 8e9, or None")
    return int(limit)


def threads(n_jobs: int | None) -> int | None:
    """Convert `n_jobs` to a number of threads; None stands for all cores."""
    if n_jobs is None:
        return None
    if n_jobs == 0:
        raise ValueError("n_jobs = 0: expected a number of threads, or -1 for all cores")
    if n_jobs > 0:
        return int(n_jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores + 1 + int(n_jobs))
