"""Scores of rows that were not in a fit, and rows that are far from all rows of a fit."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _input, _lowland

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Number of neighbors of the score.
NEIGHBORS = 10
#: Share of the rows of the fit whose distance to their nearest other row is typical, as on the command line.
_TYPICAL_SHARE = 0.9
#: Number of rows of the fit on which the limit of far rows is measured. Each is compared with all others.
_MEASURED_ROWS = 2000


def _metric(model: Any) -> str | None:
    """Return the metric that rows are compared by; None if rows outside of the fit cannot be compared by it."""
    from . import _metrics, _parameters

    metric = getattr(model, "metric", "euclidean")
    if _metrics.is_function(metric) or metric in ("precomputed", "levenshtein"):
        return None
    return _parameters.metric_name(metric, getattr(model, "metric_params", None))


def _compared(model: Any, rows: Any, metric: str) -> np.ndarray:
    """Return rows as the model compares them, after its preprocessing."""
    rows = np.asarray(rows)
    rows = _input.aligned(rows if rows.dtype == np.float32 else rows.astype(np.float64, copy=False))
    defaults = [(name, default) for name, default, *_ in _lowland.preprocessing()]
    # The Mahalanobis distance is a Euclidean one of rows that the model has transformed.
    if model.model_.preprocessing != defaults or metric == "mahalanobis":
        return model.model_.preprocess(rows)
    return rows


def _nearest(rows: np.ndarray, to: np.ndarray, count: int, metric: str) -> tuple[np.ndarray, np.ndarray]:
    return _lowland.nearest_to(_input.aligned(rows), _input.aligned(to), min(count, len(to)), metric)


def _evenly_spaced(n: int, count: int) -> np.ndarray:
    return np.arange(min(n, count)) * n // min(n, count)


def held_out_recall(model: Any, fitted: Any, held_out: Any, n_neighbors: int = NEIGHBORS) -> tuple[float, float]:
    """Score the placement of rows that were not in the fit, as ``lowland embed --fit-rows`` does.

    Parameters
    ----------
    model : estimator
        A fitted estimator of lowland.
    fitted : array-like of shape (n_fitted, n_features)
        The rows that it was fitted to.
    held_out : array-like of shape (n_held_out, n_features)
        Other rows.
    n_neighbors : int, default=10

    Returns
    -------
    placed, of_the_fit : float
        Mean share of a row's nearest rows of the fit that are also nearest on the map, for the other rows and for as many rows of the fit.
        Rows are compared by the metric of the estimator, after its preprocessing.
    """
    metric = _metric(model)
    if metric is None:
        raise ValueError(f"metric={model.metric!r}: rows that are not in the fit cannot be compared with it")
    rows = _compared(model, fitted, metric)
    map = np.asarray(model.embedding_, dtype=np.float64)

    def recall(new: np.ndarray, points: np.ndarray, own: np.ndarray | None) -> float:
        k = n_neighbors + (own is not None)
        near, _ = _nearest(new, rows, k, metric)
        on_map, _ = _nearest(np.asarray(points, dtype=np.float64), map, k, "euclidean")
        shares = []
        for at, found in enumerate(zip(near, on_map)):
            # The nearest row of a row of the fit is the row itself.
            others = [[j for j in row if own is None or j != own[at]][:n_neighbors] for row in found]
            shares.append(len(set(others[0]) & set(others[1])) / n_neighbors)
        return float(np.mean(shares))

    own = _evenly_spaced(len(rows), len(held_out))
    placed = recall(_compared(model, held_out, metric), model.transform(held_out), None)
    return placed, recall(rows[own], map[own], own)


class FarRows:
    """Which rows are far from every row of a fit: where they are placed says little.

    A row is far if its nearest row of the fit is more than twice as far away as it is for nine tenths of the rows of the fit.

    Parameters
    ----------
    model : estimator
        A fitted estimator of lowland.
    fitted : array-like of shape (n_fitted, n_features)
        The rows that it was fitted to, of which it keeps a copy.

    Attributes
    ----------
    limit : float
        Distance from the nearest row of the fit beyond which a row is far.
    fitted_share : float
        Share of the rows of the fit that are as far from each other.
    """

    limit: float
    fitted_share: float

    def __init__(self, model: Any, fitted: Any) -> None:
        metric = _metric(model)
        if metric is None:
            raise ValueError(f"metric={model.metric!r}: rows that are not in the fit cannot be compared with it")
        self._metric, self._rows = metric, _compared(model, fitted, metric)
        n = len(self._rows)
        if n < 3:
            raise ValueError(f"{n} rows in the fit: expected at least 3")
        measured = _evenly_spaced(n, _MEASURED_ROWS)
        found, distances = _nearest(self._rows[measured], self._rows, 2, metric)
        nearest = np.sort(np.where(found[:, 0] == measured, distances[:, 1], distances[:, 0]))
        typical = float(nearest[min(int(len(nearest) * _TYPICAL_SHARE), len(nearest) - 1)])
        # If nearly all rows are repeated, the largest distance.
        self.limit = 2.0 * typical if typical > 0 else float(nearest[-1])
        self.fitted_share = float((nearest > self.limit).mean())

    def find(self, model: Any, X: Any) -> NDArray[np.bool_]:
        """Return whether each row is far.

        Each row is compared with all rows of the fit.

        Parameters
        ----------
        model : estimator
            The estimator of the fit.
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        far : ndarray of bool of shape (n_rows,)
        """
        rows = np.asarray(X)
        far = np.zeros(len(rows), dtype=bool)
        # Rows that `missing='drop'` leaves out have no place.
        kept = np.isfinite(rows.astype(np.float64)).all(axis=1) if model.missing == "drop" else np.ones(len(rows), dtype=bool)
        if kept.any():
            far[kept] = _nearest(_compared(model, rows[kept], self._metric), self._rows, 1, self._metric)[1][:, 0] > self.limit
        return far


def score_sample(model: Any, fitted: np.ndarray, held_out: Any) -> None:
    """Set the attributes of a fit to a sample: ``held_out_recall_`` and ``far_rows_``, None where rows are too few or cannot be compared."""
    comparable = _metric(model) is not None
    scored = comparable and len(fitted) >= 3 * NEIGHBORS and len(held_out) > 0
    model.held_out_recall_ = held_out_recall(model, fitted, held_out) if scored else None
    model.far_rows_ = FarRows(model, fitted) if comparable and len(fitted) >= 3 else None


def far_rows_of(model: Any) -> FarRows:
    """Return what ``fit_sample`` knows of far rows."""
    found = getattr(model, "far_rows_", None)
    if found is None:
        raise ValueError("the estimator does not know which rows are far: fit it with fit_sample, to at least 3 rows of numbers")
    return found


def without_sample(model: Any) -> Any:
    """Return the estimator without the copy of its sample, which `transform` does not need."""
    if getattr(model, "far_rows_", None) is None:
        return model
    model = copy.copy(model)
    del model.far_rows_
    return model
