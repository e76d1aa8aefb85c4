"""Conversion of arguments to what the Rust module takes.

Rows are passed as arrays, as the parts of a sparse matrix or as strings; parameters are passed as text.
"""

from __future__ import annotations

import numbers
import os
import sys
from typing import Any

import numpy as np


def is_sparse(X: Any) -> bool:
    """Return whether X is a matrix or array of scipy.sparse, without importing scipy."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def strings(X: Any) -> list[str] | None:
    """Return the rows if they are strings (a list, a column of a table, a one-dimensional array), else None."""
    lines = lines_of(X)
    if not lines or not all(isinstance(line, str) for line in lines):
        return None
    return lines


def lines_of(X: Any) -> list[Any] | None:
    """Return the values of a list, a column of a table or a one-dimensional array of objects, else None."""
    if isinstance(X, (str, bytes)) or is_sparse(X) or getattr(X, "ndim", 1) != 1 or hasattr(X, "column_names"):
        return None
    if hasattr(X, "to_pylist"):  # pyarrow
        X = X.to_pylist()
    elif hasattr(X, "to_list"):  # pandas, polars
        X = X.to_list()
    elif isinstance(X, np.ndarray):
        X = X.tolist() if X.dtype.kind in "OUT" else []
    return list(X) if isinstance(X, (list, tuple)) else None


def check_strings(X: Any) -> None:
    """Raise if a row is not a string, for metrics that compare strings."""
    for row, line in enumerate(lines_of(X) or []):
        if not isinstance(line, str):
            raise ValueError(
                f"row {row} is {line!r}: metric='levenshtein' compares strings, one per row (counting from 0). "
                "Leave such rows out, or replace them by ''"
            )


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


def aligned(X: np.ndarray) -> np.ndarray:
    """Return an array whose values lie at addresses that they can be read from directly; copied only if they do not, as after a transfer
    between processes."""
    return np.require(X, requirements="A")


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
    return aligned(X if X.dtype == np.float32 else X.astype(np.float64, copy=False))


def points(Y: Any) -> np.ndarray:
    """Convert points of an embedding."""
    Y = np.asarray(from_table(Y)[0], dtype=np.float64)
    if Y.ndim != 2:
        raise ValueError(f"Expected 2D array, got {Y.ndim}D array instead")
    return aligned(Y)


def explain_text(X: Any) -> ValueError | None:
    """Return an exception that names the first column that does not contain numbers, or None if all of them do."""
    if is_sparse(X) or getattr(getattr(X, "dtype", None), "kind", "O") in "biufc":
        return None
    names, columns = _columns_of(X)
    for position, values in enumerate(columns):
        try:
            if np.asarray(values).dtype.kind in "mM":
                raise TypeError("dates are no numbers")
            np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            row, value = _first_not_number(values)
            if names is None and not isinstance(value, str):
                return None
            name = f"column {position}" if names is None else f"column {names[position]!r}"
            return ValueError(
                f"{name} does not contain numbers: row {row} is {value!r} (counting from 0). Leave the column out, or encode "
                "it as numbers"
            )
    return None


def _columns_of(X: Any) -> tuple[list[Any] | None, Any]:
    if hasattr(X, "column_names"):
        return list(X.column_names), X.columns
    if hasattr(X, "columns") and getattr(X, "ndim", 2) == 2:
        return list(X.columns), (X[name] for name in X.columns)
    try:
        array = np.asarray(X, dtype=object)
    except ValueError:  # rows of different lengths
        return None, []
    return None, array.T if array.ndim == 2 else []


def _first_not_number(values: Any) -> tuple[int, Any]:
    values = np.asarray(values)
    cells = [str(value) for value in values[:1]] if values.dtype.kind in "mM" else values.tolist()
    for row, value in enumerate(cells):
        try:
            float(value)
        except (TypeError, ValueError):
            return row, value
    return 0, cells[0]


def missing_rows(rows: Any) -> np.ndarray:
    """Return which rows have a value that is NaN or infinite."""
    if isinstance(rows, tuple):
        indptr, _, values, _ = rows
        bad = np.zeros(len(indptr) - 1, dtype=bool)
        bad[np.searchsorted(indptr, np.flatnonzero(~np.isfinite(values)), side="right") - 1] = True
        return bad
    if isinstance(rows, list):
        return np.zeros(len(rows), dtype=bool)
    return ~np.isfinite(rows).all(axis=1)


def take_rows(rows: Any, keep: np.ndarray) -> Any:
    """Return some of the rows, in the form that the Rust module takes."""
    if isinstance(rows, tuple):
        from scipy.sparse import csr_matrix

        indptr, indices, values, columns = rows
        return sparse_parts(csr_matrix((values, indices, indptr), shape=(len(indptr) - 1, columns))[keep])
    return [line for line, kept in zip(rows, keep) if kept] if isinstance(rows, list) else rows[keep]


def explain_not_finite(rows: Any, names: Any = None) -> ValueError | None:
    """Return an exception that names the first value that is NaN or infinite, or None if there is none."""
    if isinstance(rows, list):
        return None
    if isinstance(rows, tuple):
        indptr, indices, values, _ = rows
        found = np.flatnonzero(~np.isfinite(values))
        if not len(found):
            return None
        row, column = int(np.searchsorted(indptr, found[0], side="right")) - 1, int(indices[found[0]])
        value, count = values[found[0]], len(found)
    else:
        invalid = ~np.isfinite(rows)
        count = int(invalid.sum())
        if not count:
            return None
        row, column = (int(index) for index in np.argwhere(invalid)[0])
        value = rows[row, column]
    name = f"column {column}" if names is None else f"column {names[column]!r}"
    word = "NaN" if np.isnan(value) else str(float(value))
    others = "" if count == 1 else f"; {count} such values in total"
    return ValueError(
        f"row {row}, {name} is {word} (counting from 0{others}): values must be finite. Leave such rows out "
        "(missing='drop') or fill the values in, for instance with sklearn.impute.SimpleImputer"
    )


def target(y: Any) -> list[str]:
    """Return the values of a target as texts, empty where they are missing."""
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.ndim != 1:
        raise ValueError(f"y has shape {values.shape}: expected one class or number per row")
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers, expected classes or numbers")
    return ["" if value is None or value != value else text(value) for value in values.tolist()]


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
    """Parse the value of a parameter; if `like` is a float, so is a number, and if it is a tuple, so are several."""
    if text in ("true", "false"):
        return text == "true"
    if "," in text and "(" not in text:
        items = [value(item, like) for item in text.split(",")]
        return tuple(items) if isinstance(like, tuple) else items
    for number in (float,) if isinstance(like, float) else (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def seed(random_state: Any) -> int:
    """Convert `random_state` to a seed. None is 0, so that runs are reproducible by default."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        number = int(random_state)
        if not 0 <= number < 2**64:
            raise ValueError(f"random_state={number}: expected an integer from 0 to 2**64 - 1")
        return number
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if hasattr(random_state, "randint"):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(
        f"random_state={random_state!r}: expected None, a non-negative integer, a RandomState or a Generator"
    )


def memory(limit: Any) -> int | None:
    """Convert `max_memory` to bytes; None stands for the available memory."""
    if limit is None:
        return None
    if not isinstance(limit, numbers.Real) or isinstance(limit, bool) or not 0 <= float(limit) < 2**64:
        raise ValueError(f"max_memory={limit!r}: expected a number of bytes such as 8e9, or None")
    return int(float(limit))


def threads(n_jobs: Any) -> int | None:
    """Convert `n_jobs` to a number of threads.

    None stands for the limits that the surroundings set (``joblib.parallel_config``, a joblib worker, OMP_NUM_THREADS), or
    else all cores.
    """
    if n_jobs is None:
        return _surrounding_limit()
    if not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r}: expected a number of threads, -1 for all cores, or None")
    count = int(n_jobs)
    return count if count > 0 else max(1, _cores() + 1 + count)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _surrounding_limit() -> int | None:
    """Return the number of threads that joblib or OMP_NUM_THREADS allows; None if neither sets a limit."""
    if "joblib" in sys.modules:
        from joblib.parallel import get_active_backend

        backend, n_jobs = get_active_backend()
        if n_jobs is not None:
            return threads(n_jobs)
        if getattr(backend, "nesting_level", 0) and "OMP_NUM_THREADS" not in os.environ:
            # In a thread of joblib: its other threads use the other cores. Processes have the variable.
            return 1
    try:
        # A list has a number for each level of nested parallel regions.
        limit = int(os.environ.get("OMP_NUM_THREADS", "").split(",")[0])
    except ValueError:
        return None
    return limit if limit > 0 else None


def n_rows(rows: Any) -> int:
    """Return the number of rows, in the form that the Rust module takes."""
    return len(rows[0]) - 1 if isinstance(rows, tuple) else len(rows)


def embedding(map: Any) -> np.ndarray:
    """Return the points of a fitted estimator or an array."""
    if hasattr(map, "get_params") and not hasattr(map, "embedding_"):
        from sklearn.exceptions import NotFittedError

        if not hasattr(map, "fit"):
            raise ValueError(f"expected a fitted estimator or an array, got {type(map).__name__}")
        raise NotFittedError(
            f"This {type(map).__name__} instance has no embedding yet. Call 'fit' with the data before drawing it."
        )
    return points(getattr(map, "embedding_", map))
