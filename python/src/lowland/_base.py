"""Base class of all estimators."""

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
from ._registry import ESTIMATORS

#: Parameters of each method of the Rust library, as tuples (name, default, help, accepted values).
PARAMETERS = {name: parameters for name, _, _, parameters in _lowland.methods()}

#: Preprocessing steps, which every estimator has as parameters, in the same form.
PREPROCESSING = _lowland.preprocessing()


def python_name(name: str) -> str:
    """Return the name of a parameter in Python, which differs for reserved words: ``lambda_``."""
    return f"{name}_" if keyword.iskeyword(name) else name


class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of the estimators in ``lowland.estimators``.

    A subclass sets ``_method`` and has the parameters of that method, the preprocessing steps and the parameters of a
    run (``n_jobs``, ``random_state``, ``verbose``, ``max_memory``).
    """

    #: Name of the method on the command line.
    _method: str
    #: Common name of the objective, if any: ``fit`` sets the attributes ``<name>_`` and ``<name>s_``.
    _objective: str | None = None

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
        # The default looks for attributes that end in an underscore, which the parameter `lambda_` does as well.
        return hasattr(self, "model_")

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def fit(self, X: Any, y: Any = None, *, fixed: Any = None) -> Estimator:
        """Compute the embedding of X.

        Ctrl-C stops within a second. If there is an embedding by then, it is available in ``embedding_`` when
        KeyboardInterrupt is raised.

        Parameters
        ----------
        X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
            With ``metric='precomputed'``, a square matrix of distances, or a sparse matrix of the distances to the
            neighbors of each row.
        y : ignored
        fixed : array-like of shape (n_samples, n_components), default=None
            Known positions of some rows, NaN in the others. They take the place of the fit: they are kept, and the other
            rows are placed by locally linear extension, with the metric of the estimator. Its other parameters must have
            their default values.

        Returns
        -------
        self : object
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
                self._parameter_values(graph),
                rows,
                preprocessing=[(name, _input.text(getattr(self, name))) for name, _, _, _ in PREPROCESSING],
                graph=None if graph is None else graph._graph,
                init=self._initial_embedding(),
                fixed=None if fixed is None else _input.points(fixed),
                seed=_input.seed(self.random_state),
                threads=_input.threads(self.n_jobs),
                max_memory=_input.memory(self.max_memory),
                feature_names=[str(name) for name in names],
                on_progress=progress and progress.update,
                on_note=progress and progress.note,
                on_step=None if callbacks is None else _combine_callbacks(callbacks),
                every=getattr(self, "callbacks_every_iters", 50),
            )
            finished = raised is None
        finally:
            if progress is not None:
                progress.close(finished)
        self._set_model(model, dtype)
        self.objectives_ = model.objectives()
        self.n_iter_ = max(1, len(self.objectives_))
        self.objective_ = float(self.objectives_[-1]) if len(self.objectives_) else None
        self.converged_ = model.stop_reason == "converged"
        self.notes_ = model.notes
        if self._objective is not None:
            setattr(self, f"{self._objective}_", self.objective_)
            setattr(self, f"{self._objective}s_", self.objectives_)
        if raised is not None:
            raise raised
        return self

    def fit_transform(self, X: Any, y: Any = None, *, fixed: Any = None) -> np.ndarray:
        """Compute the embedding of X and return it.

        Parameters
        ----------
        X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
            As in ``fit``.
        y : ignored
        fixed : array-like of shape (n_samples, n_components), default=None
            As in ``fit``.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, y, fixed=fixed).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Map new rows into the embedding.

        The result for a row does not depend on the other rows of X. Training rows keep their positions.

        Parameters
        ----------
        X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
            Rows of the same kind as in ``fit``.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        rows, dtype = self._check_rows(X, reset=False)
        return self.model_.transform(rows, _input.threads(self.n_jobs))[0].astype(dtype, copy=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to a file, which ``lowland.load`` and the command line can read.

        Parameters
        ----------
        path : path-like
        """
        check_is_fitted(self)
        self.model_.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Estimator:
        """Load a model of this class, saved by ``save`` or ``lowland embed --save``.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        estimator : Estimator

        See Also
        --------
        lowland.load : Load a model of any class.
        """
        estimator = load(path)
        if not isinstance(estimator, cls):
            raise ValueError(f"{path} contains a model of method {estimator._method}, not {cls._method}")
        return estimator

    def _set_model(self, model: _lowland.Model, dtype: Any) -> None:
        self.model_ = model
        self.embedding_ = model.embedding().astype(dtype, copy=False)
        std = model.std()
        if std is not None:
            self.embedding_std_ = std.astype(dtype, copy=False)
        cells = model.inferred_cells()
        if cells is not None:
            self.inferred_rows_, self.inferred_columns_, self.inferred_values_, self.inferred_std_ = cells

    def _parameter_values(self, graph: Any) -> list[tuple[str, str]]:
        """Return names and values of the method's parameters, as text."""
        values = []
        for name, default, _, _ in PARAMETERS[self._method]:
            value = getattr(self, python_name(name))
            if name == "init" and not isinstance(value, str):
                continue
            if name == "metric":
                value = _input.metric_text(value, self.metric_params)
                if graph is not None and graph.metric != "precomputed" and value == default:
                    value = graph.metric
            values.append((name, _input.text(value)))
        return values

    def _initial_embedding(self) -> np.ndarray | None:
        """Return `init` if it is an array."""
        init = getattr(self, "init", "")
        return None if isinstance(init, str) else _input.points(init)

    def _check_rows(self, X: Any, reset: bool) -> tuple[Any, Any]:
        """Validate X, and return it in the form the Rust module takes, with the dtype of the result."""
        strings = _input.strings(X)
        if strings is not None:
            if reset:
                _check_feature_names(self, X=np.empty((0, 1)), reset=True)
                self.n_features_in_ = 1
            return strings, np.float64
        X, names = _input.from_table(X)
        # Values that are not finite are reported by the library, with row and column.
        checks = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
        if names is None:
            X = validate_data(self, X, reset=reset, **checks)
        else:
            # scikit-learn does not read the column names of these tables.
            self._check_column_names(np.asarray(names, dtype=object), reset)
            X = check_array(X, **checks)
            _check_n_features(self, X, reset=reset)
        sparse = _input.is_sparse(X)
        if reset:
            self._sparse_in = sparse
        elif sparse != getattr(self, "_sparse_in", sparse):
            X = X.toarray() if sparse else _to_csr(X)
            sparse = not sparse
        return (_input.sparse_parts(X) if sparse else X), X.dtype

    def _check_column_names(self, names: np.ndarray, reset: bool) -> None:
        if reset:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_") and list(names) != list(self.feature_names_in_):
            raise ValueError(
                "The feature names should match those that were passed during fit. "
                f"Expected {list(self.feature_names_in_)}, got {list(names)}"
            )


def _to_csr(X: np.ndarray) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(X)


def _combine_callbacks(callbacks: Any) -> Any:
    """Return a function that calls all callbacks and returns whether any of them returned True."""
    functions = [callbacks] if callable(callbacks) else list(callbacks)

    def call(iteration: int, error: float, embedding: np.ndarray) -> bool:
        # A list, so that every callback is called even if the first returns True.
        return any([bool(function(iteration, error, embedding)) for function in functions])

    return call


def load(path: str | os.PathLike[str]) -> Estimator:
    """Load a model saved by ``save`` or ``lowland embed --save``.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    estimator : Estimator
        A fitted estimator of the class that belongs to the method of the model.

    Examples
    --------
    >>> import lowland, os, tempfile
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "digits.lowland")
    ...     lowland.PCA(n_components=3).fit(X).save(file)
    ...     lowland.load(file)
    PCA(n_components=3)
    """
    from . import estimators

    model = _lowland.Model.load(os.fspath(path))
    estimator = getattr(estimators, ESTIMATORS[model.method])()
    defaults = {python_name(name): default for name, default, _, _ in PARAMETERS[model.method] + PREPROCESSING}
    for name, text in model.params + model.preprocessing:
        name = python_name(name)
        if name in defaults and text != defaults[name]:
            setattr(estimator, name, _input.value(text, getattr(estimator, name)))
    if model.seed:
        estimator.random_state = model.seed
    estimator.n_features_in_ = model.n_features or 1
    if model.feature_names:
        estimator.feature_names_in_ = np.asarray(model.feature_names, dtype=object)
    estimator._sparse_in = model.kind == "sparse"
    estimator._set_model(model, np.float64)
    return estimator
