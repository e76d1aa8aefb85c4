"""Several methods on the same rows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _device, _input, _lowland
from ._embed import estimator_class
from ._graph import neighbors
from ._warnings import LowlandWarning, warn
from .quality import Report, label_codes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._base import Estimator

#: The scores in the table; the reports have all of them.
_TABLE = (
    "knn recall",
    "trustworthiness",
    "continuity",
    "triplet accuracy",
    "distance correlation",
    "classification error",
)


class Comparison(Mapping[str, "Estimator"]):
    """Result of :func:`lowland.compare`: the fitted estimators by name; printed as a table of scores and times.

    Attributes
    ----------
    estimators : dict of Estimator
        The fitted estimators.
    reports : dict of Report
        The scores of each embedding.
    seconds : dict of float
        Wall time of each fit, without the search for neighbors that several methods share.
    failures : dict of Exception
        Methods that failed, and why.
    labels : array-like or None
        The labels, as given.
    """

    def __init__(
        self,
        estimators: dict[str, Estimator],
        reports: dict[str, Report],
        seconds: dict[str, float],
        failures: dict[str, Exception],
        labels: Any,
    ) -> None:
        self.estimators: dict[str, Estimator] = estimators
        self.reports: dict[str, Report] = reports
        self.seconds: dict[str, float] = seconds
        self.failures: dict[str, Exception] = failures
        self.labels: Any = labels

    def __getitem__(self, name: str) -> Estimator:
        return self.estimators[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimators)

    def __len__(self) -> int:
        return len(self.estimators)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row of scores and the time for each method, for ``pandas.DataFrame(comparison.rows)``."""
        return [{"method": name, **self.reports[name], "seconds": self.seconds[name]} for name in self]

    def plot(self, *, size: float | None = None) -> Figure:
        """Draw all embeddings side by side with matplotlib, turned and reflected to match the first."""
        import matplotlib.pyplot as plt

        from ._plot import plot

        figure, axes = plt.subplots(1, len(self), figsize=(4.5 * len(self), 4), squeeze=False, layout="constrained")
        first: np.ndarray | None = None
        for ax, (name, estimator) in zip(axes[0], self.items()):
            points = np.asarray(estimator.embedding_, dtype=np.float64)[:, :2]
            points = points if first is None else _align(points, first)
            first = points if first is None else first
            std = getattr(estimator, "embedding_std_", None)
            plot(points, self.labels, std=std, size=size, title=name, ax=ax)
            if ax is not axes[0][-1] and ax.get_legend() is not None:
                ax.get_legend().remove()
        return figure

    def __repr__(self) -> str:
        scores = [name for name in _TABLE if any(name in report for report in self.reports.values())]
        lines = [f"{'':<20}" + "".join(f"{name:>22}" for name in [*scores, "seconds"])]
        for method, report in self.reports.items():
            cells = [f"{report[name]:.3f}" if name in report else "-" for name in scores]
            lines.append(f"{method:<20}" + "".join(f"{cell:>22}" for cell in [*cells, f"{self.seconds[method]:.2f}"]))
        return "\n".join(lines + [f"{name:<20}  failed: {error}" for name, error in self.failures.items()])


def compare(
    X: Any,
    methods: Iterable[Any] | Mapping[str, Any] = ("tsne", "lvm", "pca"),
    labels: Any = None,
    *,
    n_neighbors: int = 15,
    n_jobs: int | None = None,
    device: str | None = None,
    random_state: Any = None,
    max_memory: float | None = None,
    **params: Any,
) -> Comparison:
    """Fit several methods to the same rows and score their embeddings, as ``lowland compare`` does.

    Methods that use the same metric share one search for neighbors, unless there are preprocessing steps. A method that fails
    is left out with a warning.

    Parameters
    ----------
    X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
    methods : iterable or dict of str or estimator, default=('tsne', 'lvm', 'pca')
        Names of methods, or estimators. The estimators are copied, and not changed.
    labels : array-like of shape (n_samples,), default=None
        Class of each row.
    n_neighbors : int, default=15
        Size of the neighborhoods of the scores.
    n_jobs : int, default=None
        Number of threads. -1 means all cores; None too, within the limits of joblib and OMP_NUM_THREADS. The result does
        not depend on it.
    device : {'auto', 'cpu', 'cuda'} or 'cuda:N', default=None
        Where to compute. None means the parameter of each estimator, and ``'auto'`` for the scores.
    random_state : int, RandomState instance or Generator, default=None
        Seed of all fits and scores. None means that of each estimator, which is 0 by default.
    max_memory : int, default=None
        Memory limit in bytes. None means the available memory.
    **params
        Parameters of the methods that have them, such as ``metric='cosine'`` or ``standardize=True``.

    Returns
    -------
    comparison : Comparison

    Examples
    --------
    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> comparison = lowland.compare(X[:200], ["pca", "spectral"], y[:200])
    >>> list(comparison), comparison.reports["pca"]["knn recall"] < 1
    (['pca', 'spectral'], True)
    """
    given = {"n_jobs": n_jobs, "device": device, "random_state": random_state, "max_memory": max_memory}
    # What is not given stays as it is in the estimators.
    run = {name: value for name, value in given.items() if value is not None}
    if random_state is not None:
        # The same seed for all, also if it is drawn from a generator.
        run["random_state"] = _input.seed(random_state)
    estimators = _named_estimators(methods, params, run)
    n_rows = len(X) if not _input.is_sparse(X) else X.shape[0]
    classes, codes, reasons = label_codes(labels, n_rows)
    metrics = [_metric(each) for each in estimators.values()]
    metric = next((each for each in metrics if each is not None), "euclidean")
    graph = _shared_graph(X, estimators, metric, n_rows, run)
    fitted: dict[str, Estimator] = {}
    reports: dict[str, Report] = {}
    seconds: dict[str, float] = {}
    failures: dict[str, Exception] = {}
    for name, estimator in estimators.items():
        start = time.perf_counter()
        try:
            if graph is not None and _metric(estimator) == metric:
                estimator.set_params(neighbors=graph)
            estimator.fit(X)
        except (ValueError, RuntimeError, MemoryError) as error:
            warn(f"{name} is left out: {error}", LowlandWarning)
            failures[name] = error
            continue
        seconds[name] = time.perf_counter() - start
        fitted[name] = estimator
        known = graph._graph if graph is not None and graph.recall is None else None
        seed, threads = run.get("random_state", 0), _input.threads(n_jobs)
        with _device.using(device or "auto"):
            parts = _lowland.report_of_model(estimator.model_, codes, n_neighbors, metric, seed, threads, graph=known)
        reports[name] = Report.from_parts(parts, classes, reasons)
    if not fitted:
        raise next(iter(failures.values()))
    return Comparison(fitted, reports, seconds, failures, labels)


def _named_estimators(methods: Any, params: dict[str, Any], run: dict[str, Any]) -> dict[str, Estimator]:
    """Return new estimators by name, with those of the parameters that they have."""
    from sklearn.base import clone

    if isinstance(methods, str):
        methods = methods.split(",")
    pairs = methods.items() if isinstance(methods, Mapping) else ((None, method) for method in methods)
    found: dict[str, Estimator] = {}
    for name, method in pairs:
        estimator = estimator_class(method, "methods")() if isinstance(method, str) else clone(method)
        name = name or (method if isinstance(method, str) else method._method)
        if name in found:
            raise ValueError(f"methods: {name!r} is there twice; use a dict to give the methods names")
        found[name] = estimator
    if not found:
        raise ValueError("methods: expected at least one method")
    known = {name: estimator.get_params() for name, estimator in found.items()}
    for param in params:
        if not any(param in names for names in known.values()):
            raise TypeError(f"{param} is not a parameter of any of these methods")
    for name, estimator in found.items():
        estimator.set_params(**{key: value for key, value in {**params, **run}.items() if key in known[name]})
    return found


def _metric(estimator: Estimator) -> str | None:
    """Return the metric of the neighbor search as text; None for methods without one."""
    for name, text in estimator._parameter_values(None):
        if name == "metric":
            return text
    return None


def _shared_graph(
    X: Any, estimators: dict[str, Estimator], metric: str, n_rows: int, run: dict[str, Any]
) -> Any:
    """Return the neighbor graph of all methods with this metric; None if they cannot share one."""
    users = [each for each in estimators.values() if _metric(each) == metric and each._given_graph() is None]
    steps = [text for each in users for _, text in each._preprocessing_values()]
    functions = any(not isinstance(getattr(each, "metric"), str) for each in users)
    special = metric in ("precomputed", "mahalanobis") or functions or any(each.missing == "drop" for each in users)
    if len(users) < 2 or special or any(text not in ("false", "0") for text in steps):
        return None
    required = [_lowland.required_neighbors(each._method, each._parameter_values(None), n_rows) for each in users]
    count = min(max(required), n_rows - 1)
    if min(required) == 0 or count < 1:
        return None
    return neighbors(X, count, metric=metric, **run)


def _align(points: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Turn and reflect points to match others best."""
    if points.shape != target.shape or not (np.isfinite(points).all() and np.isfinite(target).all()):
        return points
    centered = points - points.mean(axis=0)
    left, _, right = np.linalg.svd(centered.T @ (target - target.mean(axis=0)))
    return centered @ left @ right
