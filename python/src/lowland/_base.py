"""What all estimators share."""

from __future__ import annotations

import keyword
import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_array,
    check_is_fitted,
    validate_data,
)

from . import _input, _lowland
from ._graph import as_graph
from ._progress import Progress

#: Every method of the Rust library: parameters as (name, default, help, what it takes), by the method's name.
METHODS = {name: (summary, advice, specs) for name, summary, advice, specs in _lowland.methods()}

#: The steps before a method, as parameters of every estimator.
PREPARATION = _lowland.preparation()

#: Estimator class by the method's name.
REGISTRY: dict[str, type[Estimator]] = {}

_SHARED = {
    "metric_params": "What the metric takes: ``{'p': 3}`` for minkowski.",
    "neighbors": "A NeighborGraph of the rows (or a sparse matrix of distances, or a pair of indices and distances), "
    "so that they are not searched again. Its metric, if it knows it, goes before the default of ``metric``. "
    "Where rows are prepared, it is a graph of the prepared rows.",
    "n_jobs": "Threads; None and -1: all cores. The result is the same for any number.",
    "random_state": "The seed. None is 0: runs can be repeated unless someone asks otherwise.",
    "verbose": "1: progress on stderr, with tqdm where it is installed.",
    "callbacks": "A function or several, ``(iteration, error, embedding) -> bool``; True stops and keeps the map.",
    "callbacks_every_iters": "Iterations between two calls of the callbacks.",
    "max_memory": "Bytes a fit may need; more is refused before the work begins. None: what is free.",
}

_ATTRIBUTES = """
    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The map, in the precision of the input.
    n_iter_ : int
        Iterations made; 1 for direct methods.
    objectives_ : ndarray
        The objective after each iteration; empty for direct methods. ``objective_`` is the last.
    converged_ : bool
        Whether the tolerance was reached.
    notes_ : list of str
        What is worth knowing about the run: memory, duplicates, fallbacks, what was adapted.
    n_features_in_ : int
        Columns of the data.
    feature_names_in_ : ndarray of str
        Their names, where the data had names.
"""


def python_name(name: str) -> str:
    """A parameter's name in Python: `lambda` is taken."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _documentation(cls: type[Estimator], specs: list[tuple[str, str, str, str]]) -> str:
    """The class's own words, then its parameters in those of the library."""
    lines = [(cls.__doc__ or "").rstrip(), "", "    Parameters", "    ----------"]
    known = {python_name(name): (default, f"{text} Takes {takes}.") for name, default, text, takes in specs}
    for name in cls._get_param_names_in_order():
        default, text = known.get(name, (None, _SHARED.get(name, "")))
        if name == "init":
            text += " Or an array: the map itself."
        lines.append(f"    {name}" + (f" : default {default}" if default is not None else ""))
        lines.append(f"        {text}")
    return "\n".join(lines) + "\n" + _ATTRIBUTES + (cls._more_attributes or "")


class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A method of the library as a scikit-learn estimator.

    A new one is a class with `method` and an `__init__` whose parameters are the method's.
    """

    #: The method's name on the command line.
    _method: str
    #: What the objective is called, if it has a name of its own; the trace is the same with an s.
    _objective: str | None = None
    #: Documentation of further attributes.
    _more_attributes: str = ""

    def __init_subclass__(cls, method: str | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if method is not None:
            cls._method = method
            cls.__doc__ = _documentation(cls, METHODS[method][2] + PREPARATION)
            REGISTRY[method] = cls

    @classmethod
    def _get_param_names_in_order(cls) -> list[str]:
        code = cls.__init__.__code__
        return list(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])

    def _store(self, given: dict[str, Any]) -> None:
        """Keeps the arguments of `__init__` as they are."""
        for name in self._get_param_names_in_order():
            setattr(self, name, given[name])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        metric = getattr(self, "metric", None)
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = metric == "precomputed"
        tags.input_tags.positive_only = metric == "precomputed"
        tags.input_tags.string = metric == "levenshtein"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        # scikit-learn would look for names that end in an underscore, and a parameter's may.
        return hasattr(self, "model_")

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def fit(self, X: Any, y: Any = None) -> Estimator:
        """Makes the map.

        Parameters
        ----------
        X : array, sparse matrix, table (pandas, polars, pyarrow), or strings, of n_samples rows
            With ``metric='precomputed'``: distances between all rows, or a sparse matrix of those between neighbours.
        y : ignored

        Ctrl-C stops within a second; if there is a map by then it is kept in ``embedding_`` before KeyboardInterrupt is
        raised.
        """
        rows, dtype = self._check_rows(X, reset=True)
        graph = as_graph(getattr(self, "neighbors", None))
        names = getattr(self, "feature_names_in_", [])
        callbacks = getattr(self, "callbacks", None)
        progress = Progress(type(self).__name__) if self.verbose else None
        raised: BaseException | None = None
        finished = False
        try:
            model, raised = _lowland.fit(
                self._method,
                self._values(graph),
                rows,
                prepare=[(name, _input.text(getattr(self, name))) for name, _, _, _ in PREPARATION],
                graph=None if graph is None else graph._graph,
                start=self._start(),
                seed=_input.seed(self.random_state),
                threads=_input.threads(self.n_jobs),
                max_memory=_input.memory(self.max_memory),
                feature_names=[str(name) for name in names],
                on_progress=progress and progress.step,
                on_note=progress and progress.note,
                on_step=None if callbacks is None else _all_of(callbacks),
                every=getattr(self, "callbacks_every_iters", 50),
            )
            finished = raised is None
        finally:
            if progress is not None:
                progress.close(finished)
        self._take(model, dtype)
        self.objectives_ = model.trace()
        self.n_iter_ = max(1, len(self.objectives_))
        self.objective_ = float(self.objectives_[-1]) if len(self.objectives_) else None
        self.converged_ = model.ended == "converged"
        self.notes_ = model.notes
        if self._objective is not None:
            setattr(self, f"{self._objective}_", self.objective_)
            setattr(self, f"{self._objective}s_", self.objectives_)
        if raised is not None:
            raise raised
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Makes the map and gives it."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """The places of new rows. Each depends on its row and the map alone; rows of the fit stay where they are."""
        check_is_fitted(self)
        rows, dtype = self._check_rows(X, reset=False)
        return self.model_.place(rows, _input.threads(self.n_jobs))[0].astype(dtype, copy=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as the file that ``lowland transform``, ``score`` and ``inverse`` read."""
        check_is_fitted(self)
        self.model_.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Estimator:
        """Reads a model that ``save`` or ``lowland embed --save`` wrote, of this method; `lowland.load` takes any."""
        estimator = load(path)
        if not isinstance(estimator, cls):
            raise ValueError(f"{path}: a model of {estimator._method}, not of {cls._method}")
        return estimator

    def _take(self, model: _lowland.Model, dtype: Any) -> None:
        self.model_ = model
        self.embedding_ = model.embedding().astype(dtype, copy=False)
        std = model.std()
        if std is not None:
            self.embedding_std_ = std.astype(dtype, copy=False)

    def _values(self, graph: Any) -> list[tuple[str, str]]:
        """The method's parameters as text."""
        values = []
        for name, default, _, _ in METHODS[self._method][2]:
            value = getattr(self, python_name(name))
            if name == "init" and not isinstance(value, str):
                continue
            if name == "metric":
                value = _input.metric_text(value, self.metric_params)
                if graph is not None and graph.metric != "precomputed" and value == default:
                    value = graph.metric
            values.append((name, _input.text(value)))
        return values

    def _start(self) -> np.ndarray | None:
        """The map to begin with, when `init` is one."""
        init = getattr(self, "init", "")
        return None if isinstance(init, str) else _input.points(init)

    def _check_rows(self, X: Any, reset: bool) -> tuple[Any, Any]:
        """Rows for the Rust module, and the precision of the result."""
        lines = _input.strings(X)
        if lines is not None:
            if reset:
                _check_feature_names(self, X=np.empty((0, 1)), reset=True)
                self.n_features_in_ = 1
            return lines, np.float64
        X, names = _input.from_table(X)
        # Values that are not finite are left to the library, which says where they are.
        demands = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
        if names is None:
            X = validate_data(self, X, reset=reset, **demands)
        else:
            # scikit-learn does not know the names of these tables.
            self._check_names(np.asarray(names, dtype=object), reset)
            X = check_array(X, **demands)
            _check_n_features(self, X, reset=reset)
        sparse = _input.is_sparse(X)
        if reset:
            self._sparse_in = sparse
        elif sparse != getattr(self, "_sparse_in", sparse):
            X = X.toarray() if sparse else _csr(X)
            sparse = not sparse
        return (_input.sparse_parts(X) if sparse else X), X.dtype

    def _check_names(self, names: np.ndarray, reset: bool) -> None:
        if reset:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_") and list(names) != list(self.feature_names_in_):
            raise ValueError(
                f"The feature names should match those that were passed during fit: {list(self.feature_names_in_)}, "
                f"not {list(names)}"
            )


class Invertible:
    """For methods that know how certain a place is, and what row a place stands for."""

    def transform_std(self, X: Any) -> np.ndarray:
        """The standard deviation of the place of each new row."""
        check_is_fitted(self)
        rows, dtype = self._check_rows(X, reset=False)
        return self.model_.place(rows, _input.threads(self.n_jobs))[1].astype(dtype, copy=False)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows that would have these places on the map, as the method saw rows: after any preparation."""
        check_is_fitted(self)
        points = _input.points(X)
        return self.model_.inverse(points, _input.threads(self.n_jobs)).astype(self.embedding_.dtype, copy=False)


class Generative(Invertible):
    """For methods that know how likely a row is besides."""

    def score_samples(self, X: Any) -> np.ndarray:
        """The log-likelihood of each row under the model. For ``LVM`` not a density of rows: see its documentation."""
        check_is_fitted(self)
        rows, _ = self._check_rows(X, reset=False)
        return self.model_.score(rows, _input.threads(self.n_jobs))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of the rows."""
        return float(np.mean(self.score_samples(X)))


def _csr(X: np.ndarray) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(X)


def _all_of(callbacks: Any) -> Any:
    """One function for one or several callbacks: true when any of them says so."""
    functions = [callbacks] if callable(callbacks) else list(callbacks)

    def call(iteration: int, error: float, embedding: np.ndarray) -> bool:
        # All are called, whatever the first says.
        return any([bool(function(iteration, error, embedding)) for function in functions])

    return call


def load(path: str | os.PathLike[str]) -> Estimator:
    """Reads a model that ``save`` or ``lowland embed --save`` wrote.

    >>> import lowland, os, tempfile
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "digits.lowland")
    ...     lowland.PCA(n_components=3).fit(X).save(file)
    ...     lowland.load(file)
    PCA(n_components=3)
    """
    model = _lowland.Model.load(os.fspath(path))
    cls = REGISTRY[model.method]
    estimator = cls()
    specs = METHODS[model.method][2] + PREPARATION
    defaults = {python_name(name): default for name, default, _, _ in specs}
    for name, text in model.params + model.preparation:
        name = python_name(name)
        if name in defaults and text != defaults[name]:
            setattr(estimator, name, _input.value(text, getattr(estimator, name)))
    if model.seed:
        estimator.random_state = model.seed
    estimator.n_features_in_ = model.columns or 1
    if model.feature_names:
        estimator.feature_names_in_ = np.asarray(model.feature_names, dtype=object)
    estimator._sparse_in = model.kind == "sparse"
    estimator._take(model, np.float64)
    return estimator
