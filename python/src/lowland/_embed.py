"""Embeddings in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _device, _input, _lowland, _parameters
from ._graph import as_graph
from ._registry import DEFAULT_METHOD, ESTIMATORS


def embed(X: Any, *, method: str = DEFAULT_METHOD, return_model: bool = False, **params: Any) -> Any:
    """Compute an embedding of the rows of X.

    A shorthand for ``TSNE(**params).fit_transform(X)`` and its counterparts of the other methods.

    Parameters
    ----------
    X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
    method : str, default='tsne'
        Name of the method, as on the command line (``lowland methods``), or of its estimator class. ``'auto'`` fits t-SNE,
        LVM, Laplacian eigenmaps, Isomap and PCA to a part of the rows, and takes the method with the largest mean of
        neighbors kept, held-out rows placed well, and global order (see :func:`choose_method`).
    return_model : bool, default=False
        Whether to return the fitted estimator as well.
    **params
        Parameters of the estimator, such as ``n_components``, ``perplexity``, ``metric`` or ``random_state``. With
        ``method='auto'``, each method gets those that it has.

    Returns
    -------
    embedding : ndarray of shape (n_samples, n_components)
    model : estimator
        The fitted estimator, which can ``transform`` new rows. Only if ``return_model=True``.

    Examples
    --------
    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> lowland.embed(X[:300]).shape
    (300, 2)
    >>> embedding, model = lowland.embed(X[:300], method="lvm", max_iter=20, return_model=True)
    >>> model.embedding_std_.shape
    (300,)
    """
    if method == "auto":
        cls = estimator_class(choose_method(X, **params).method)
        known = cls().get_params()
        params = {name: value for name, value in params.items() if name in known}
    else:
        cls = estimator_class(method)
    model = cls(**params).fit(X)
    embedding: np.ndarray = model.embedding_
    return (embedding, model) if return_model else embedding


class MethodChoice:
    """Result of :func:`lowland.choose_method`; printed as a table with the reason.

    Attributes
    ----------
    method : str
        Name of the chosen method.
    reason : str
        The reason in one sentence.
    scores : dict of dict of float
        For each method that was compared, ``neighbors_kept``, ``held_out_placed``, ``global_order`` and their ``mean``,
        each from 0 (chance) to 1.
    skipped : dict of str
        The methods that were not compared, with reasons.
    """

    def __init__(
        self, method: str, reason: str, scores: dict[str, dict[str, float]], skipped: dict[str, str]
    ) -> None:
        self.method: str = method
        self.reason: str = reason
        self.scores: dict[str, dict[str, float]] = scores
        self.skipped: dict[str, str] = skipped

    def __repr__(self) -> str:
        lines = [f"{'method':<10} {'neighbors kept':>14} {'held-out rows placed':>21} {'global order':>13} {'mean':>6}"]
        for method, scores in self.scores.items():
            kept, placed, order, mean = scores.values()
            lines.append(f"{method:<10} {kept:>14.3f} {placed:>21.3f} {order:>13.3f} {mean:>6.3f}")
        lines += [f"{method} is left out: {reason}" for method, reason in self.skipped.items()]
        return "\n".join([*(lines if self.scores else []), self.reason])


def choose_method(X: Any, **params: Any) -> MethodChoice:
    """Choose a method for the rows of X.

    Fits t-SNE, LVM, Laplacian eigenmaps, Isomap (up to 10,000 rows) and PCA to at most 2,000 rows, places 500 others, and
    chooses the method with the largest mean of three scores.

    Parameters
    ----------
    X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
    **params
        Parameters of estimators. Each method gets those that it has; a parameter that none of them has is an error.

    Returns
    -------
    choice : MethodChoice

    Examples
    --------
    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> lowland.choose_method(X[:300]).method
    'tsne'
    """
    from ._base import PARAMETERS, PREPROCESSING
    from ._parameters import python_name
    from .estimators import TSNE

    run = {name: params.pop(name, None) for name in ("n_jobs", "device", "random_state", "max_memory")}
    params.pop("verbose", None)
    steps = [(name, _input.text(params.pop(name))) for name, _, _, _ in PREPROCESSING if name in params]
    graph = as_graph(params.pop("neighbors", None))
    metric_params = params.pop("metric_params", None)
    if "metric" in params or metric_params:
        params["metric"] = _parameters.metric_text(params.get("metric", "euclidean"), metric_params)
    elif graph is not None and graph.metric != "precomputed":
        params["metric"] = graph.metric
    rust_names = {python_name(name): name for method in PARAMETERS.values() for name, _, _, _ in method}
    values = [(rust_names.get(name, name), _input.text(value)) for name, value in params.items()]
    # An estimator checks and converts the rows, as it does in a fit.
    rows, _ = TSNE(metric=str(params.get("metric", "euclidean")))._check_rows(X, reset=True)
    with _device.using(run["device"] or "auto"):
        method, reason, scores, skipped = _lowland.choose_method(
            rows,
            values,
            preprocessing=steps,
            uses_neighbors=graph is not None,
            seed=_input.seed(run["random_state"]),
            threads=_input.threads(run["n_jobs"]),
            max_memory=_input.memory(run["max_memory"]),
        )
    names = ("neighbors_kept", "held_out_placed", "global_order")
    by_method = {name: {**dict(zip(names, three)), "mean": sum(three) / 3} for name, *three in scores}
    return MethodChoice(method, reason, by_method, dict(skipped))


def estimator_class(method: str, parameter: str = "method") -> Any:
    """Return the estimator class of a method by its name on the command line or by the name of the class."""
    from . import estimators

    names = {**ESTIMATORS, **{name: name for name in ESTIMATORS.values()}}
    if method not in names:
        auto = "'auto' or " if parameter == "method" else ""
        raise ValueError(f"{parameter}={method!r}: expected {auto}one of {', '.join(map(repr, ESTIMATORS))}")
    return getattr(estimators, names[method])
