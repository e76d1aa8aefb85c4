"""Base class of all estimators."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _device, _input, _lowland, _metrics, _parameters
from ._graph import as_graph
from ._parameters import python_name
from ._progress import Progress
from ._registry import ESTIMATORS
from ._sklearn import SklearnTransformer
from ._validation import check_array, check_feature_names, check_n_features, validate_data
from ._warnings import DataWarning, ParameterWarning, category, warn

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

    from ._graph import NeighborGraph

    #: An array of float64 or float32.
    FloatArray = NDArray[np.floating[Any]]

#: Parameters of each method of the Rust library, as tuples (name, default, help, accepted values).
PARAMETERS = {name: parameters for name, _, _, parameters in _lowland.methods()}

#: Preprocessing steps, which every estimator has as parameters, in the same form.
PREPROCESSING = _lowland.preprocessing()

#: Attributes of models that infer missing cells.
_INFERRED = ("inferred_rows_", "inferred_columns_", "inferred_values_", "inferred_std_")

#: Attributes of models that preserve density.
_RADII = ("rad_orig_", "rad_emb_")

#: Classes that have already warned about labels that they do not use.
_warned_of_labels: set[type] = set()


class Estimator(SklearnTransformer):
    """Base class of the estimators in ``lowland.estimators``.

    A subclass sets ``_method`` and has the parameters of that method, the preprocessing steps and the parameters of a
    run (``missing``, ``n_jobs``, ``device``, ``random_state``, ``verbose``, ``max_memory``).
    """

    #: Name of the method on the command line.
    _method: str
    #: Common name of the objective, if any: ``fit`` sets the attributes ``<name>_`` and ``<name>s_``.
    _objective: str | None = None

    missing: str
    n_jobs: int | None
    device: str
    random_state: Any
    verbose: int
    max_memory: float | None

    model_: _lowland.Model
    embedding_: FloatArray
    n_iter_: int
    objective_: float | None
    objectives_: NDArray[np.float64]
    _target: list[str] | None
    converged_: bool
    notes_: list[str]
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        metric = getattr(self, "metric", None)
        precomputed = isinstance(metric, str) and metric == "precomputed"
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "drop"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.positive_only = precomputed
        tags.input_tags.string = isinstance(metric, str) and metric == "levenshtein"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _more_tags(self) -> dict[str, Any]:
        # The same for scikit-learn before 1.6.
        metric = getattr(self, "metric", None)
        precomputed = isinstance(metric, str) and metric == "precomputed"
        return {
            "X_types": ["2darray", "sparse"],
            "allow_nan": self.missing == "drop",
            "pairwise": precomputed,
            "requires_positive_X": precomputed,
            "preserves_dtype": [np.float64, np.float32],
        }

    def __sklearn_is_fitted__(self) -> bool:
        # The default looks for attributes that end in an underscore, which the parameter `lambda_` does as well.
        return hasattr(self, "model_")

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        fixed: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 60.0,
        resume: str | os.PathLike[str] | None = None,
        continue_from: Estimator | None = None,
        anchor: float | str = "exact",
        align_to: Any = None,
    ) -> Self:
        """Compute the embedding of X.

        Ctrl-C stops within a second. If there is an embedding by then, it is available in ``embedding_`` when
        KeyboardInterrupt is raised. A fit that fails leaves the estimator as it was.

        Parameters
        ----------
        X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
            With ``metric='precomputed'``, a square matrix of distances, or a sparse matrix of the distances to the
            neighbors of each row.
        y : array-like of n_samples values, default=None
            The class or a number of each row, which supervises the estimators that are based on a neighbor graph and have
            the parameter ``target_weight``: rows of the same class attract each other more than others. Texts, integers and
            whole numbers are classes, of which -1 and missing values are unknown; other numbers are compared by their
            difference (see ``target_metric``). New rows are placed without labels. A supervised map shows what it was
            told: that classes are apart on it is no evidence that they are apart in the data. The other estimators ignore
            y, and the first fit of a class with labels warns about it.
        fixed : array-like of shape (n_samples, n_components), default=None
            Known positions of some rows, NaN in the others. They take the place of the fit: they are kept, and the other
            rows are placed by locally linear extension, with the metric of the estimator. Its other parameters must have
            their default values.
        checkpoint : path-like, default=None
            File to which the state of the iterations is written, for ``resume``. A fit that is interrupted writes it, too.
        checkpoint_every : float, default=60.0
            Seconds between checkpoints; 0 writes one after every iteration.
        resume : path-like, default=None
            Checkpoint of the same data and parameters to continue from. The result is that of a fit without interruption.
        continue_from : Estimator, default=None
            A fitted estimator whose map is continued (TSNE, SymmetricSNE, ElasticEmbedding, MapIt, UMAP, PaCMAP): its rows,
            recognized by their values, keep their positions or are tied to them, and the other rows join them.
        anchor : 'exact' or float, default='exact'
            How strongly rows are tied to their positions; 1 is as strong as all neighbors of a row together.
        align_to : array-like of shape (n_samples, n_components), default=None
            Positions of some rows on another map, NaN in the others. The map is rotated, reflected, scaled and shifted to
            come as close as possible to them.

        Returns
        -------
        self : object
        """
        target = None
        if y is not None and hasattr(self, "target_weight"):
            target = _input.target(y)
        elif y is not None and type(self) not in _warned_of_labels:
            _warned_of_labels.add(type(self))
            warn(f"y is ignored: {type(self).__name__} does not use labels", ParameterWarning)
        state = dict(self.__dict__)
        try:
            growth = _growth(continue_from, anchor, align_to)
            raised = self._fit(X, target, fixed, checkpoint, checkpoint_every, resume, growth)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(state)
            raise
        if raised is not None:
            raise raised
        for level, kind, text in self.model_.note_records:
            if level == "warning":
                warn(text, category(kind))
        return self

    def _fit(
        self,
        X: Any,
        target: list[str] | None,
        fixed: Any,
        checkpoint: Any,
        checkpoint_every: float,
        resume: Any,
        growth: dict[str, Any],
    ) -> BaseException | None:
        """Fit the model and set the attributes; return the exception that stopped the iterations, if any."""
        callbacks = _combine_callbacks(getattr(self, "callbacks", None))
        every = _parameters.integer("callbacks_every_iters", getattr(self, "callbacks_every_iters", 50), at_least=1)
        if not _parameters.is_number(checkpoint_every) or not 0 <= checkpoint_every < 1e9:
            raise _parameters.invalid("checkpoint_every", checkpoint_every, "a number of seconds, 0 or more")
        graph = self._given_graph()
        rows, dtype = self._check_rows(X, reset=True)
        n_rows, kept = _input.n_rows(rows), self._kept_rows(rows)
        if target is not None and len(target) != n_rows:
            raise ValueError(f"y has {len(target)} values, but X has {n_rows} rows")
        init = self._initial_embedding(n_rows)
        fixed = None if fixed is None else _input.points(fixed)
        if kept is not None:
            if graph is not None:
                raise ValueError("neighbors: a graph of all rows cannot be used if rows are left out (missing='drop')")
            rows = _input.take_rows(rows, kept)
            init, fixed = (None if points is None else points[kept] for points in (init, fixed))
            growth = {name: value[kept] if name == "align_to" else value for name, value in growth.items()}
            target = None if target is None else [text for text, keep in zip(target, kept) if keep]
        given = rows
        if _metrics.is_function(getattr(self, "metric", None)):
            rows = self._distances(rows)
        progress = Progress(type(self).__name__) if self.verbose else None
        raised: BaseException | None = None
        finished = False
        try:
            with _device.using(self.device):
                model, raised = _lowland.fit(
                    self._method,
                    self._parameter_values(graph),
                    rows,
                    preprocessing=self._preprocessing_values(),
                    graph=None if graph is None else graph._graph,
                    init=init,
                    fixed=fixed,
                    seed=_input.seed(self.random_state),
                    threads=_input.threads(self.n_jobs),
                    max_memory=_input.memory(self.max_memory),
                    feature_names=[str(name) for name in getattr(self, "feature_names_in_", [])],
                    on_progress=None if progress is None else progress.update,
                    on_note=None if progress is None else progress.note,
                    on_step=callbacks,
                    every=every,
                    checkpoint=None if checkpoint is None else os.fspath(checkpoint),
                    checkpoint_every=float(checkpoint_every),
                    resume=None if resume is None else os.fspath(resume),
                    target=target,
                    single=dtype == np.float32,
                    inverse_covariance=_parameters.inverse_covariance(
                        getattr(self, "metric", None), getattr(self, "metric_params", None)
                    ),
                    **growth,
                )
            finished = raised is None
        except ValueError as error:
            # Methods that infer missing cells accept them; the error is about something else.
            infers = getattr(self, "missing_values", "refuse") != "refuse"
            explained = None if infers else _input.explain_not_finite(given, getattr(self, "feature_names_in_", None))
            raise (explained or error) from None
        finally:
            if progress is not None:
                progress.close(finished)
        self._training_rows = given if rows is not given else None
        self._target = target
        self._set_model(model, dtype, kept)
        return raised

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Compute the embedding of X and return it.

        Parameters
        ----------
        X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
            As in ``fit``.
        y : array-like of n_samples values, default=None
            As in ``fit``.
        **fit_params
            Further arguments of ``fit``.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, y, **fit_params).embedding_

    def transform(self, X: Any, *, exact: bool = False) -> FloatArray:
        """Map new rows into the embedding.

        The result for a row does not depend on the other rows of X. Training rows keep their positions.

        Parameters
        ----------
        X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
            Rows of the same kind as in ``fit``.
        exact : bool, default=False
            Compare each row with all training rows, and sum over all points of the map. Otherwise models of many rows use an index,
            which finds about 99 % of the neighbors, and a repulsion that is interpolated within the fit's ``tolerance``.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
        """
        return self._call_model(X, lambda rows, threads: self.model_.transform(rows, threads, exact)[0])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to a file, which ``lowland.load`` and the command line can read.

        Parameters
        ----------
        path : path-like
        """
        check_is_fitted(self)
        self.model_.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
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

    def _call_model(self, X: Any, call: Callable[[Any, int | None], Any]) -> Any:
        """Call a function of the model with new rows; the result for rows with missing values is NaN."""
        check_is_fitted(self)
        rows, dtype = self._check_rows(X, reset=False)
        n_rows, kept = _input.n_rows(rows), self._kept_rows(rows)
        rows = rows if kept is None else _input.take_rows(rows, kept)
        given = rows
        if getattr(self, "_training_rows", None) is not None:
            rows = self._distances(rows, to=self._training_rows)
        try:
            with _device.using(self.device):
                result = call(rows, _input.threads(self.n_jobs))
        except ValueError as error:
            raise (_input.explain_not_finite(given, getattr(self, "feature_names_in_", None)) or error) from None
        return _expand(result.astype(dtype, copy=False), kept, n_rows)

    def _set_model(self, model: _lowland.Model, dtype: Any, kept: np.ndarray | None = None) -> None:
        """Set the attributes of a fitted model."""
        n_rows = 0 if kept is None else len(kept)
        attributes = {"embedding_std_": model.std(), "embedding_cov_": model.covariances()}
        attributes.update(zip(_RADII, model.local_radii() or (None, None)))
        self.model_ = model
        self.embedding_ = _expand(model.embedding().astype(dtype, copy=False), kept, n_rows)
        for name, values in attributes.items():
            self.__dict__.pop(name, None)
            if values is not None:
                setattr(self, name, _expand(values.astype(dtype, copy=False), kept, n_rows))
        self.objectives_ = model.objectives()
        self.n_iter_ = max(1, len(self.objectives_))
        self.objective_ = float(self.objectives_[-1]) if len(self.objectives_) else None
        self.converged_ = model.stop_reason == "converged"
        self.notes_ = model.notes
        if self._objective is not None:
            setattr(self, f"{self._objective}_", self.objective_)
            setattr(self, f"{self._objective}s_", self.objectives_)
        for name in _INFERRED:
            self.__dict__.pop(name, None)
        cells = model.inferred_cells()
        if cells is not None:
            for name, each in zip(_INFERRED, cells):
                setattr(self, name, each)

    def _given_graph(self) -> NeighborGraph | None:
        """Return the neighbors that the user has given."""
        return as_graph(getattr(self, "neighbors", None))

    def _parameter_values(self, graph: Any) -> list[tuple[str, str]]:
        """Return names and values of the method's parameters, as text."""
        values: list[tuple[str, str]] = []
        for name, default, _, expects in PARAMETERS[self._method]:
            value = getattr(self, python_name(name))
            if name == "init" and _is_array(value):
                continue
            if name == "metric":
                text = _parameters.metric_name(value, getattr(self, "metric_params", None))
                if graph is not None and graph.metric != "precomputed" and text == default:
                    text = graph.metric
                values.append((name, text))
            else:
                values.append((name, _parameters.text(python_name(name), value, expects)))
        return values

    def _preprocessing_values(self) -> list[tuple[str, str]]:
        values = [(name, _parameters.text(name, getattr(self, name), what)) for name, _, _, what in PREPROCESSING]
        defaults = [(name, default) for name, default, _, _ in PREPROCESSING]
        if values != defaults and _metrics.is_function(getattr(self, "metric", None)):
            steps = ", ".join(name for name, _ in values)
            raise ValueError(f"metric: a function compares rows as they are given, and cannot be used with {steps}")
        return values

    def _distances(self, rows: Any, to: Any = None) -> np.ndarray:
        return _metrics.distances(rows, getattr(self, "metric"), getattr(self, "metric_params", None), to)

    def _initial_embedding(self, n_rows: int) -> np.ndarray | None:
        """Return `init` if it is an array."""
        init = getattr(self, "init", "")
        if not _is_array(init):
            return None
        points = np.asarray(_input.from_table(init)[0], dtype=np.float64)
        shape = (n_rows, getattr(self, "n_components"))
        if points.shape != shape:
            raise ValueError(f"init: expected an array of shape (n_samples, n_components) = {shape}, got {points.shape}")
        invalid = np.argwhere(~np.isfinite(points))
        if len(invalid):
            row, column = (int(index) for index in invalid[0])
            raise ValueError(f"init: row {row}, column {column} is {points[row, column]} (counting from 0); it must be finite")
        return points

    def _kept_rows(self, rows: Any) -> np.ndarray | None:
        """Return which rows are used, if ``missing='drop'`` leaves some of them out; else None."""
        if self.missing not in ("refuse", "drop"):
            raise _parameters.invalid("missing", self.missing, "'refuse' or 'drop'")
        if self.missing == "refuse":
            return None
        bad = _input.missing_rows(rows)
        if not bad.any():
            return None
        count, first = int(bad.sum()), int(np.argmax(bad))
        warn(
            f"{count} of {len(bad)} rows have missing values and are left out; their positions are NaN (the first is row "
            f"{first}, counting from 0)",
            DataWarning,
        )
        return ~bad

    def _check_rows(self, X: Any, reset: bool) -> tuple[Any, Any]:
        """Validate X, and return it in the form the Rust module takes, with the dtype of the result."""
        strings = _input.strings(X)
        if strings is not None:
            if reset:
                check_feature_names(self, X=np.empty((0, 1)), reset=True)
                self.n_features_in_ = 1
            return strings, np.float64
        if getattr(self, "metric", None) == "levenshtein":
            _input.check_strings(X)
        try:
            X, dtype = self._check_numbers(X, reset)
        except (TypeError, ValueError):
            explained = _input.explain_text(X)
            if explained is None:
                raise
            raise explained from None
        sparse = _input.is_sparse(X)
        if reset:
            self._sparse_in = sparse
        elif sparse != getattr(self, "_sparse_in", sparse):
            X = X.toarray() if sparse else _to_csr(X)
            sparse = not sparse
        return (_input.sparse_parts(X) if sparse else _input.aligned(X)), dtype

    def _check_numbers(self, X: Any, reset: bool) -> tuple[Any, Any]:
        X, names = _input.from_table(X)
        # Values that are not finite are reported later, with row and column.
        checks = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
        if names is None:
            X = validate_data(self, X, reset=reset, **checks)
        else:
            # scikit-learn does not read the column names of these tables.
            self._check_column_names(np.asarray(names, dtype=object), reset)
            X = check_array(X, **checks)
            check_n_features(self, X, reset=reset)
        return X, X.dtype

    def _check_column_names(self, names: np.ndarray, reset: bool) -> None:
        if reset:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_") and list(names) != list(self.feature_names_in_):
            raise ValueError(
                "The feature names should match those that were passed during fit. "
                f"Expected {list(self.feature_names_in_)}, got {list(names)}"
            )


def _growth(continue_from: Any, anchor: Any, align_to: Any) -> dict[str, Any]:
    """Return the arguments of ``_lowland.fit`` for a map that continues or is aligned to another one."""
    arguments: dict[str, Any] = {}
    if continue_from is not None:
        if not isinstance(continue_from, Estimator):
            raise _parameters.invalid("continue_from", continue_from, "a fitted estimator")
        check_is_fitted(continue_from)
        arguments.update(continue_from=continue_from.model_, anchor=_parameters.anchor(anchor))
    elif anchor != "exact":
        raise ValueError("anchor: it has no effect without continue_from")
    if align_to is not None:
        arguments["align_to"] = _input.points(align_to)
    return arguments


def _is_array(init: Any) -> bool:
    return init is not None and not isinstance(init, (str, bool, int, float))


def _expand(values: np.ndarray, kept: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Insert rows of NaN where rows were left out."""
    if kept is None:
        return values
    result = np.full((n_rows, *values.shape[1:]), np.nan, dtype=values.dtype)
    result[kept] = values
    return result


def _to_csr(X: np.ndarray) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(X)


def _combine_callbacks(callbacks: Any) -> Callable[[int, float, Any, float | None], bool] | None:
    """Return a function that calls all callbacks and returns whether any of them returned True.

    Those that have an attribute ``takes_gradient_norm`` are called with the length of the gradient as well.
    """
    if callbacks is None:
        return None
    functions = [callbacks] if callable(callbacks) else callbacks
    if not isinstance(functions, (list, tuple)) or not all(map(callable, functions)):
        raise _parameters.invalid("callbacks", callbacks, "a function (iteration, error, embedding) or a list of functions")

    def call(iteration: int, error: float, embedding: Any, gradient_norm: float | None) -> bool:
        def result(function: Any) -> bool:
            more = (gradient_norm,) if hasattr(function, "takes_gradient_norm") else ()
            return bool(function(iteration, error, embedding, *more))

        # A list, so that every callback is called even if the first returns True.
        return any([result(function) for function in functions])

    return call


def load(path: str | os.PathLike[str]) -> Estimator:
    """Load a model saved by ``save`` or ``lowland embed --save``.

    The notes, objectives and precision of the fit are those of the estimator that was saved. How to run (``n_jobs``,
    ``verbose``, ``callbacks``) is not part of a model.

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
    estimator: Estimator = getattr(estimators, ESTIMATORS[model.method])()
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
    estimator._training_rows = None
    estimator._target = None
    estimator._set_model(model, np.dtype(model.fitted_dtype))
    return estimator
