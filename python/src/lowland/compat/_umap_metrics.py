"""Parameters of umap-learn that lowland has in another form: metrics, neighbors, initial embeddings."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import pairwise_distances

from . import _common

#: Metrics of umap-learn that lowland computes itself, under its names.
_NATIVE = {
    **{name: name for name in ("euclidean", "cosine", "manhattan", "chebyshev", "correlation", "hamming", "jaccard", "canberra")},
    **{name: name for name in ("braycurtis", "haversine", "hellinger", "mahalanobis", "minkowski", "precomputed")},
    "l2": "euclidean",
    "l1": "manhattan",
    "taxicab": "manhattan",
    "linf": "chebyshev",
    "linfty": "chebyshev",
    "linfinity": "chebyshev",
}
#: Metrics that scikit-learn computes.
_SCIPY = {
    "cityblock",
    "dice",
    "matching",
    "rogerstanimoto",
    "russellrao",
    "seuclidean",
    "sokalmichener",
    "sokalsneath",
    "sqeuclidean",
    "yule",
}
#: Metrics of binary rows.
_BINARY = {"dice", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule"}
#: Largest distances of metrics that have one; rows at this distance have nothing in common.
_LARGEST = {"correlation": 2.0, "cosine": 2.0, "hellinger": 1.0, "jaccard": 1.0, "dice": 1.0}


def native(metric: Any, params: dict[str, Any] | None) -> tuple[str | None, dict[str, Any] | None]:
    """Return the name and the parameters of a metric in lowland, or None if it has none."""
    if callable(metric) or metric not in _NATIVE:
        return None, None
    return _NATIVE[metric], params or None


def distances(rows: Any, others: Any, metric: Any, params: dict[str, Any] | None) -> Any:
    """Return the distances by a function or by scikit-learn."""
    rows = rows.toarray() if issparse(rows) else rows
    others = rows if others is None else others.toarray() if issparse(others) else others
    if not callable(metric):
        if metric in _BINARY:
            rows, others = rows.astype(bool), others.astype(bool)
        found = pairwise_distances(rows, others, metric="hamming" if metric == "matching" else metric, **(params or {}))
        return np.nan_to_num(found)

    def distance(a: Any, b: Any) -> float:
        result = metric(a, b, **(params or {}))
        # With a gradient, it is the first of two.
        return float(result[0] if isinstance(result, tuple) else result)

    return np.array([[distance(a.copy(), b.copy()) for b in others] for a in rows])


def disconnection_distance(metric: Any, given: float | None) -> float:
    """Return the distance from which rows are no neighbors."""
    if given is not None:
        return float(given)
    return _LARGEST.get(metric, np.inf) if isinstance(metric, str) else np.inf


def scaled_init(init: Any, index: Any, dim: int, seed: int) -> Any:
    """Return a given initial embedding in the size that the layout is made for, with points at one place moved apart."""
    start = np.asarray(init, dtype=np.float64)[index]
    if len(np.unique(start, axis=0)) < len(start):
        start = start + np.random.RandomState(seed % 2**32).normal(0, 1e-3 * max(start.std(), 1e-12), start.shape)
    low, high = start.min(axis=0), start.max(axis=0)
    return 10.0 * (start - low) / np.where(high > low, high - low, 1.0)


def check_parameters(model: Any) -> None:
    """Raise for values that umap-learn refuses, and for those that cannot be honored."""
    for name, low, high in [("set_op_mix_ratio", 0, 1), ("dens_frac", 0, 1), ("target_weight", 0, 1)]:
        if not low <= getattr(model, name) <= high:
            raise ValueError(f"{name} must be between {low}.0 and {high}.0")
    for name in ("repulsion_strength", "min_dist", "dens_lambda", "dens_var_shift", "negative_sample_rate"):
        if getattr(model, name) < 0:
            raise ValueError(f"{name} cannot be negative")
    if model.min_dist > model.spread:
        raise ValueError("min_dist must be less than or equal to spread")
    if model.learning_rate < 0:
        raise ValueError("learning_rate must be positive")
    if model.n_neighbors < 2:
        raise ValueError("n_neighbors must be greater than 1")
    if model.target_n_neighbors < 2 and model.target_n_neighbors != -1:
        raise ValueError("target_n_neighbors must be greater than 1")
    count = model.n_components
    if not isinstance(count, numbers.Real) or isinstance(count, bool) or count % 1 != 0:
        raise ValueError("n_components must be a whole number")
    if count < 1:
        raise ValueError("n_components must be greater than 0")
    _check_epochs(model.n_epochs)
    _check_init(model)
    _check_metrics(model)
    if not isinstance(model.n_jobs, numbers.Integral) or model.n_jobs < -1 or model.n_jobs == 0:
        raise ValueError("n_jobs must be a postive integer, or -1 (for all cores)")
    if model.tqdm_kwds is not None and not isinstance(model.tqdm_kwds, dict):
        raise ValueError("tqdm_kwds must be a dictionary")
    if model.transform_mode not in ("embedding", "graph"):
        raise ValueError(f"transform_mode={model.transform_mode!r}: expected 'embedding' or 'graph'")
    limit = model.disconnection_distance
    if limit is not None and not isinstance(limit, numbers.Real):
        raise ValueError("disconnection_distance must either be None or a numeric.")


def check_inverse(model: Any) -> None:
    """Raise if rows cannot be combined."""
    if not hasattr(model, "_raw_data"):
        raise ValueError("a combined model has no rows")
    if issparse(model._raw_data):
        raise ValueError("Inverse transform not available for sparse input.")
    if model.densmap:
        raise ValueError("Inverse transform not available for densMAP.")
    metric = model.metric
    if not callable(metric) and (metric == "precomputed" or metric in _BINARY or metric in ("hamming", "jaccard", "matching")):
        raise ValueError(f"Inverse transform unavailable for metric={metric!r}: its rows cannot be combined")


def _check_epochs(epochs: Any) -> None:
    values = list(epochs) if isinstance(epochs, (list, tuple, np.ndarray)) else [] if epochs is None else [epochs]
    for value in values:
        if not isinstance(value, numbers.Integral) or value < 0:
            raise ValueError("n_epochs must be a nonnegative integer or a list of nonnegative integers")
    if epochs is not None and (not values or min(values) == 0):
        raise _common.refuse("n_epochs", epochs, "there must be at least one epoch")


def _check_init(model: Any) -> None:
    if isinstance(model.init, str):
        if model.init not in ("pca", "spectral", "random", "tswspectral"):
            raise ValueError('string init values must be one of: "pca", "tswspectral", "spectral" or "random"')
    elif not isinstance(model.init, np.ndarray):
        raise ValueError("init must be a string or ndarray")
    elif model.init.shape[1] != model.n_components:
        raise ValueError("init ndarray must match n_components value")


def _check_metrics(model: Any) -> None:
    metric = model.metric
    known = callable(metric) or metric in _NATIVE or metric in _SCIPY or metric in ("bit_hamming", "bit_jaccard")
    if not isinstance(metric, str) and not callable(metric):
        raise ValueError("metric must be string or callable")
    if not known:
        raise ValueError(f"metric={metric!r} is neither callable nor a recognised string")
    if metric == "precomputed" and model.unique:
        raise ValueError("unique is poorly defined on a precomputed metric")
    if model.output_metric not in ("euclidean", "l2"):
        raise _common.refuse("output_metric", model.output_metric, "the layout is Euclidean")
