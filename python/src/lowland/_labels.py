"""Labels and other columns of points: classes, numbers or dates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

#: Largest number of distinct integers that are drawn as classes, as on the command line.
MAX_INTEGER_CLASSES = 20


class Column(NamedTuple):
    """One value per point."""

    #: Names of the classes, in their order; None if the values are numbers.
    names: list[Any] | None
    #: Index of each point's class.
    codes: np.ndarray
    #: The values, if they are numbers; dates are numbers of days.
    numbers: np.ndarray
    #: Whether the numbers are dates.
    is_date: bool = False


def column(values: Any, max_integers: float = MAX_INTEGER_CLASSES) -> Column:
    """Interpret a column: text, categories, truth values and integers with few distinct values are classes.

    Other numbers, and dates, are numbers.
    """
    if hasattr(values, "to_numpy") and getattr(values, "ndim", 1) == 2 and getattr(values, "shape", (0, 0))[1] == 1:
        values = values.to_numpy().ravel()
    ordered = _categories(values)
    if ordered is not None:
        return ordered
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        raise ValueError(f"expected one value per point, found an array of shape {array.shape}")
    if array.dtype.kind == "M":
        days = array.astype("datetime64[ns]").astype(np.int64) / 86_400e9
        return Column(None, np.empty(0, int), np.where(np.isnat(array), np.nan, days), True)
    if array.dtype.kind in "iuf":
        numbers = array.astype(np.float64)
        present = numbers[np.isfinite(numbers)]
        whole = bool((present == np.round(present)).all())
        if len(present) and not (whole and len(np.unique(present)) <= max_integers):
            return Column(None, np.empty(0, int), numbers)
        if array.dtype.kind == "f" and whole:
            # Integers with missing values, as pandas stores them.
            array = np.array([None if np.isnan(value) else int(value) for value in numbers], dtype=object)
    names, codes = classes(array)
    return Column(names, codes, np.empty(0))


def classes(labels: Any) -> tuple[list[Any], np.ndarray]:
    """Return the distinct labels in order, and the index of each row's label among them."""
    ordered = _categories(labels)
    if ordered is not None and ordered.names is not None:
        return ordered.names, ordered.codes
    values = np.asarray(labels)
    try:
        names, codes = np.unique(values, return_inverse=True)
    except TypeError:
        # Labels of mixed types, such as strings and None, can only be sorted as text.
        names, codes = np.unique([str(label) for label in values.tolist()], return_inverse=True)
    return names.tolist(), codes.ravel()


def _categories(values: Any) -> Column | None:
    """Return the classes of a categorical column of pandas or polars in the order of its categories, else None."""
    values = getattr(values, "values", values) if hasattr(values, "cat") else values
    if hasattr(values, "categories") and hasattr(values, "codes"):  # pandas
        names, codes = list(values.categories), np.asarray(values.codes, dtype=np.int64)
    elif type(values).__module__.startswith("polars") and hasattr(values.dtype, "categories"):
        found = values.dtype.categories
        names = found.to_list() if hasattr(found, "to_list") else []
        if not names:
            # A categorical column without an order of its own.
            return None
        positions = {name: code for code, name in enumerate(names)}
        codes = np.array([positions.get(value, -1) for value in values.to_list()], dtype=np.int64)
    else:
        return None
    if (codes < 0).any():
        names, codes = [*names, None], np.where(codes < 0, len(names), codes)
    # Categories without points have no place in a legend.
    used = np.unique(codes)
    return Column([names[code] for code in used], np.searchsorted(used, codes), np.empty(0))


def table(columns: Any) -> dict[str, Any]:
    """Return the columns of a dict or of a table (pandas, polars, pyarrow) by name."""
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        return {str(name): values for name, values in columns.items()}
    names: Iterable[Any] | None = getattr(columns, "column_names", getattr(columns, "columns", None))
    if names is None or getattr(columns, "ndim", 2) != 2:
        raise ValueError(f"columns: expected a dict or a table, got {type(columns).__name__}")
    return {str(name): columns[name] for name in names}
