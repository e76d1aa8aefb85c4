"""scikit-learn's trustworthiness, computed by lowland."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import quality
from . import _common


def trustworthiness(X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: Any = "euclidean") -> float:
    """Say to what extent neighbors in the embedding are neighbors in the data.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_samples)
        Rows, or their distances if ``metric='precomputed'``.
    X_embedded : array-like of shape (n_samples, n_components)
        The embedding.
    n_neighbors : int, default=5
        Number of neighbors, less than half of the rows.
    metric : str or callable, default='euclidean'
        Distance between rows.

    Returns
    -------
    trustworthiness : float
        From 0 to 1.
    """
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_neighbors >= n_samples / 2:
        raise ValueError(f"n_neighbors ({n_neighbors}) should be less than n_samples / 2 ({n_samples / 2})")
    if metric not in _common.METRICS and metric != "precomputed":
        X, metric = _common.distances(X, None, metric, None, None), "precomputed"
    report = quality.report(np.asarray(X) if isinstance(X, list) else X, X_embedded, n_neighbors=n_neighbors, metric=metric)
    return float(report["trustworthiness"])
