"""Distances by a Python function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np


def is_function(metric: Any) -> bool:
    """Return whether the metric is a function of two rows, and not a name."""
    return callable(metric) and not isinstance(metric, str)


def distances(
    rows: Any, metric: Callable[..., Any], params: Mapping[str, Any] | None = None, to: Any = None
) -> np.ndarray:
    """Return the distances between rows, or from rows to others, by a symmetric function of two rows.

    The function is called for every pair, about a million times per second at best.

    Parameters
    ----------
    rows : sequence
        An array, the parts of a sparse matrix or a list of strings.
    metric : callable
        Called as ``metric(a, b, **params)``.
    params : dict, default=None
        Further arguments.
    to : sequence, default=None
        The other rows; None means the rows themselves, whose distances are computed once for each pair.
    """
    params = dict(params or {})
    rows = _row_list(rows)
    if to is not None:
        others = _row_list(to)
        found = [[metric(row, other, **params) for other in others] for row in rows]
        return _check(np.asarray(found, dtype=np.float64).reshape(len(rows), len(others)))
    result = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        result[i, :i] = [metric(row, other, **params) for other in rows[:i]]
    return _check(result + result.T)


def _row_list(rows: Any) -> Sequence[Any]:
    if isinstance(rows, tuple):
        from scipy.sparse import csr_matrix

        indptr, indices, values, columns = rows
        rows = csr_matrix((values, indices, indptr), shape=(len(indptr) - 1, columns)).toarray()
    return list(rows)


def _check(result: np.ndarray) -> np.ndarray:
    invalid = np.argwhere(~(np.isfinite(result) & (result >= 0)))
    if len(invalid):
        i, j = (int(index) for index in invalid[0])
        raise ValueError(
            f"metric: the function returned {result[i, j]} for rows {i} and {j}; distances must be finite and at least 0"
        )
    return result
