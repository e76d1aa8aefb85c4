"""Rows in tables of Spark and Ray: their columns, the names of coordinates, and errors that name partition and row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

#: Names of the first coordinates, as on the command line.
_NAMES = ("projection_x", "projection_y", "projection_z")

#: Name of the column that tells which rows are far, as on the command line.
FAR = "far"


def coordinate_name(coordinate: int) -> str:
    """Return the name of the column of a coordinate."""
    return _NAMES[coordinate] if coordinate < len(_NAMES) else f"projection_{coordinate + 1}"


def feature_columns(available: Sequence[str], features: Sequence[str] | str | None, keep: Sequence[str]) -> list[str]:
    """Return the columns that hold the rows."""
    if isinstance(features, str):
        features = [features]
    names = [name for name in available if name not in keep] if features is None else list(features)
    unknown = [name for name in [*names, *keep] if name not in available]
    if unknown:
        raise ValueError(f"no column {unknown[0]!r}; available: {', '.join(available)}")
    if not names:
        raise ValueError("no column is left for the rows")
    return names


def split_id(number: int) -> tuple[int, int]:
    """Return the partition and the number of the row in it, of what ``monotonically_increasing_id`` of Spark and Ray returns."""
    return divmod(number, 2**33)


def place(
    model: Any, rows: Any, names: Sequence[str], name_row: Callable[[int], str], kept: Mapping[str, Any] | None = None
) -> np.ndarray:
    """Place rows of a table; an error that is about a row names it.

    Parameters
    ----------
    model : estimator
    rows : ndarray of shape (n, n_features)
    names : list of str
        Their columns.
    name_row : callable
        Called with the number of one of the rows; returns its number and its partition in words.
    kept : dict of str to array, default=None
        Columns that are kept, by whose values an error identifies a row.
    """
    try:
        return np.asarray(model.transform(rows))
    except ValueError as error:
        found = explain_not_finite(rows, names, name_row, kept)
        raise (found or ValueError(f"in the rows from {name_row(0)} on: {error}")) from None


def explain_not_finite(
    rows: Any, names: Sequence[str], name_row: Callable[[int], str], kept: Mapping[str, Any] | None = None
) -> ValueError | None:
    """Return an exception that names the first value which is NaN or infinite, or None if there is none or rows are no numbers."""
    try:
        rows = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    invalid = np.argwhere(~np.isfinite(rows))
    if not len(invalid):
        return None
    row, column = (int(at) for at in invalid[0])
    # One column of arrays has several features.
    name = repr(names[column]) if rows.shape[1] == len(names) else f"{column} of {names[0]!r}"
    ids = ", ".join(f"{key}={_plain(values[row])!r}" for key, values in (kept or {}).items())
    return ValueError(
        f"{name_row(row)}{ids and f' ({ids})'}, column {name} is {rows[row, column]}: values must be finite. Leave such rows out, or fill "
        "the values in"
    )


def _plain(value: Any) -> Any:
    """Return a scalar of pyarrow or numpy as Python has it."""
    return value.as_py() if hasattr(value, "as_py") else value.item() if hasattr(value, "item") else value
