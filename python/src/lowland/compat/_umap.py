"""umap-learn's UMAP, computed by lowland."""

from __future__ import annotations

import numbers
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.sparse.csgraph import connected_components
from sklearn.utils.validation import check_is_fitted

from .. import _input, _lowland
from .._graph import NeighborGraph, neighbors
from .._sklearn import SklearnTransformer
from .._validation import check_array, validate_data
from . import _common, _fuzzy_graphs, _umap_metrics, _umap_neighbors
from ._locally_linear import barycenters

#: Share of rows without neighbors from which umap-learn warns of many.
_MANY = 0.1
#: Regularization of the weights of ``inverse_transform``.
_INVERSE_REG = 1e-3


class UMAP(SklearnTransformer):
    """umap-learn's ``UMAP`` with lowland's neighbors, fuzzy graph and layout.

    The parameters, defaults and attributes are those of ``umap.UMAP``. The result depends on the seed only, not on the number of
    threads; ``random_state`` does not reduce it to one.

    Parameters
    ----------
    n_neighbors : int, default=15
        Number of neighbors of each row, the row itself included.
    n_components : int, default=2
        Number of dimensions.
    metric : str or callable, default='euclidean'
        Distance between rows: a metric of lowland or of scikit-learn, a function, or 'precomputed'. A function may return a pair, whose
        first is the distance.
    metric_kwds : dict, default=None
        Parameters of the metric.
    output_metric : {'euclidean', 'l2'}, default='euclidean'
        Distance in the embedding; others are refused.
    output_metric_kwds : dict, default=None
        Accepted: the Euclidean distance has no parameters.
    n_epochs : int or list of int, default=None
        Number of epochs; None takes 500 for up to 10,000 rows and 200 beyond. A list also keeps the embeddings after its epochs.
    learning_rate : float, default=1.0
        Learning rate of the first epoch.
    init : {'spectral', 'pca', 'random', 'tswspectral'} or ndarray, default='spectral'
        Initial embedding; 'tswspectral' is 'spectral'.
    min_dist : float, default=0.1
        Distance up to which points count as equal.
    spread : float, default=1.0
        Scale of the embedding.
    low_memory : bool, default=True
        Accepted, without an effect.
    n_jobs : int, default=-1
        Number of threads; -1 means all cores.
    set_op_mix_ratio : float, default=1.0
        From the union (1) to the intersection (0) of the memberships in both directions.
    local_connectivity : float, default=1.0
        Number of neighbors with membership one.
    repulsion_strength : float, default=1.0
        Weight of the repulsion.
    negative_sample_rate : int, default=5
        Number of repelling points that are drawn for each attraction.
    transform_queue_size : float, default=4.0
        Accepted, without an effect.
    a, b : float, default=None
        Parameters of the similarity curve; None fits them to min_dist and spread.
    random_state : int or RandomState, default=None
        Seed. As in umap-learn, None gives another result every time.
    angular_rp_forest : bool, default=False
        Accepted, without an effect.
    target_n_neighbors : int, default=-1
        Number of neighbors in the target; -1 takes n_neighbors.
    target_metric : str, default='categorical'
        'categorical', 'ordinal', 'count', 'string', or a metric between numbers.
    target_metric_kwds : dict, default=None
        Parameters of a metric between numbers.
    target_weight : float, default=0.5
        Influence of the target.
    transform_seed : int, default=42
        Seed of ``transform``.
    transform_mode : {'embedding', 'graph'}, default='embedding'
        Whether ``fit_transform`` and ``transform`` return embeddings or memberships.
    force_approximation_algorithm : bool, default=False
        Whether to use the approximate search for few rows, too.
    verbose : bool, default=False
        Whether to print what is done.
    tqdm_kwds : dict, default=None
        Accepted, without an effect: there is no progress bar.
    unique : bool, default=False
        Whether to embed rows that are equal as one.
    densmap : bool, default=False
        Whether local densities are preserved.
    dens_lambda : float, default=2.0
        Weight of the correlation of the local radii.
    dens_frac : float, default=0.3
        Share of the epochs, at the end, in which density is preserved.
    dens_var_shift : float, default=0.1
        Added to the variance of the local radii of the embedding.
    output_dens : bool, default=False
        Whether ``fit_transform`` also returns the local radii.
    disconnection_distance : float, default=None
        Distance from which rows are no neighbors; None takes the largest distance of metrics that have one.
    precomputed_knn : tuple, default=(None, None, None)
        Indices of and distances to the neighbors of each row, the row itself included. A third entry, a search index, is not needed
        to place new rows.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the rows; NaN for rows without neighbors.
    graph_ : csr_matrix of shape (n_samples, n_samples)
        The fuzzy graph.
    embedding_list_ : list of ndarray
        The embeddings after the epochs of a list.
    rad_orig_, rad_emb_ : ndarray of shape (n_samples,)
        Logarithms of the local radii in the data and in the embedding, with ``output_dens``.
    """

    embedding_: Any
    graph_: Any
    embedding_list_: list[Any]
    rad_orig_: Any
    rad_emb_: Any
    _mean_distance: float

    def __init__(
        self,
        n_neighbors: Any = 15,
        n_components: Any = 2,
        metric: Any = "euclidean",
        metric_kwds: Any = None,
        output_metric: Any = "euclidean",
        output_metric_kwds: Any = None,
        n_epochs: Any = None,
        learning_rate: Any = 1.0,
        init: Any = "spectral",
        min_dist: Any = 0.1,
        spread: Any = 1.0,
        low_memory: Any = True,
        n_jobs: Any = -1,
        set_op_mix_ratio: Any = 1.0,
        local_connectivity: Any = 1.0,
        repulsion_strength: Any = 1.0,
        negative_sample_rate: Any = 5,
        transform_queue_size: Any = 4.0,
        a: Any = None,
        b: Any = None,
        random_state: Any = None,
        angular_rp_forest: Any = False,
        target_n_neighbors: Any = -1,
        target_metric: Any = "categorical",
        target_metric_kwds: Any = None,
        target_weight: Any = 0.5,
        transform_seed: Any = 42,
        transform_mode: Any = "embedding",
        force_approximation_algorithm: Any = False,
        verbose: Any = False,
        tqdm_kwds: Any = None,
        unique: Any = False,
        densmap: Any = False,
        dens_lambda: Any = 2.0,
        dens_frac: Any = 0.3,
        dens_var_shift: Any = 0.1,
        output_dens: Any = False,
        disconnection_distance: Any = None,
        precomputed_knn: Any = (None, None, None),
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.metric = metric
        self.metric_kwds = metric_kwds
        self.output_metric = output_metric
        self.output_metric_kwds = output_metric_kwds
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.init = init
        self.min_dist = min_dist
        self.spread = spread
        self.low_memory = low_memory
        self.n_jobs = n_jobs
        self.set_op_mix_ratio = set_op_mix_ratio
        self.local_connectivity = local_connectivity
        self.repulsion_strength = repulsion_strength
        self.negative_sample_rate = negative_sample_rate
        self.transform_queue_size = transform_queue_size
        self.a = a
        self.b = b
        self.random_state = random_state
        self.angular_rp_forest = angular_rp_forest
        self.target_n_neighbors = target_n_neighbors
        self.target_metric = target_metric
        self.target_metric_kwds = target_metric_kwds
        self.target_weight = target_weight
        self.transform_seed = transform_seed
        self.transform_mode = transform_mode
        self.force_approximation_algorithm = force_approximation_algorithm
        self.verbose = verbose
        self.tqdm_kwds = tqdm_kwds
        self.unique = unique
        self.densmap = densmap
        self.dens_lambda = dens_lambda
        self.dens_frac = dens_frac
        self.dens_var_shift = dens_var_shift
        self.output_dens = output_dens
        self.disconnection_distance = disconnection_distance
        self.precomputed_knn = precomputed_knn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float32"]
        tags.non_deterministic = self.random_state is None
        return tags

    def _more_tags(self) -> dict[str, Any]:
        # The same for scikit-learn before 1.6.
        return {
            "X_types": ["2darray", "sparse"],
            "pairwise": self.metric == "precomputed",
            "preserves_dtype": [np.float32],
            "non_deterministic": self.random_state is None,
        }

    def fit(self, X: Any, y: Any = None, ensure_all_finite: Any = True, **kwargs: Any) -> UMAP:
        """Compute the embedding of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows, or their distances if ``metric='precomputed'``.
        y : array-like of shape (n_samples,), default=None
            A target that supervises the embedding.
        ensure_all_finite : bool or 'allow-nan', default=True
            Whether to refuse rows that are not finite, which only a function as ``metric`` can compare.

        Returns
        -------
        self : object
        """
        if kwargs:
            raise TypeError(f"fit has no argument {next(iter(kwargs))!r}")
        self._check_parameters()
        X = self._rows(X, ensure_all_finite, reset=True)
        y = self._target(X, y, ensure_all_finite)
        self._raw_data = X
        self._supervised = y is not None
        self._a, self._b = self._curve()
        self._print(str(self))
        if X.shape[0] == 1:
            self.embedding_ = np.zeros((1, int(self.n_components)), dtype=np.float32)
            self._n_features_out = int(self.n_components)
            return self
        index, inverse = self._unique_rows(X)
        rows = X[index]
        self._n_neighbors = self._count_neighbors(rows.shape[0])
        self._print("Construct fuzzy simplicial set")
        graph = _umap_neighbors.search(self, rows)
        self.graph_ = self._memberships(graph)
        self._distances = graph if self.densmap or self.output_dens else None
        if y is not None:
            self.graph_ = self._supervised_graph(y[index])
        self._print("Construct embedding")
        if self.transform_mode == "embedding":
            self._embed(rows, None, index, inverse)
        self._print("Finished embedding")
        self._n_features_out = self.graph_.shape[1] if self.transform_mode == "graph" else self.embedding_.shape[1]
        return self

    def fit_transform(self, X: Any, y: Any = None, ensure_all_finite: Any = True, **kwargs: Any) -> Any:
        """Compute the embedding of X and return it, or the fuzzy graph if ``transform_mode='graph'``.

        Parameters
        ----------
        X, y, ensure_all_finite
            As in ``fit``.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components) or csr_matrix
            With ``output_dens``, a tuple of the embedding and the local radii.
        """
        self.fit(X, y, ensure_all_finite, **kwargs)
        if self.transform_mode == "graph":
            return self.graph_
        return (self.embedding_, self.rad_orig_, self.rad_emb_) if self.output_dens else self.embedding_

    def transform(self, X: Any, ensure_all_finite: Any = True) -> Any:
        """Place new rows, each without regard to the others. Rows of the fit keep their places.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features) or (n_new, n_samples)
            Rows, or their distances to the rows of the fit if ``metric='precomputed'``.
        ensure_all_finite : bool or 'allow-nan', default=True
            As in ``fit``.

        Returns
        -------
        X_new : ndarray of shape (n_new, n_components) or csr_matrix of shape (n_new, n_samples)
        """
        check_is_fitted(self, "embedding_" if self.transform_mode == "embedding" else "graph_")
        if not hasattr(self, "_raw_data"):
            raise ValueError("new rows cannot be placed on a combined model, which has no rows to compare them with")
        if self._raw_data.shape[0] == 1:
            raise ValueError("Transform unavailable when model was fit with only a single data sample.")
        if self.densmap:
            raise NotImplementedError("Transforming data into an existing embedding not supported for densMAP.")
        X = self._rows(X, ensure_all_finite)
        if self._same_rows(X):
            return self.graph_ if self.transform_mode == "graph" else self.embedding_.copy()
        known = np.arange(self._raw_data.shape[0])
        if self.transform_mode == "embedding":
            known = np.flatnonzero(np.isfinite(self.embedding_).all(axis=1))
        indices, distances = _umap_neighbors.nearest(self, X, known)
        params, mean = self._params(len(known)), self._mean_distance
        arrays = (np.arange(0, indices.size + 1, indices.shape[1]), indices.ravel()), distances.astype(np.float32).ravel()
        if self.transform_mode == "graph":
            weights = _lowland.umap_new_memberships(params, *arrays, len(known), mean)
            return csr_matrix((weights, indices.ravel(), arrays[0][0]), shape=(X.shape[0], len(known)), dtype=np.float32)
        map = self.embedding_[known].astype(np.float64)
        placed = _lowland.umap_placement(params, map, *arrays, mean, int(self.transform_seed), self._threads())
        places = {key: i for i, key in enumerate(_umap_neighbors.keys(self._raw_data))}
        of_fit = np.array([places.get(key, -1) for key in _umap_neighbors.keys(X)])
        return np.where(of_fit[:, None] >= 0, self.embedding_[of_fit], placed).astype(np.float32)

    def inverse_transform(self, X: Any) -> Any:
        """Return rows for points of the embedding: combinations of the rows nearest to them, with the weights that reproduce the points.

        Parameters
        ----------
        X : array-like of shape (n_points, n_components)
            Points of the embedding.

        Returns
        -------
        X_original : ndarray of shape (n_points, n_features)
        """
        check_is_fitted(self, "embedding_")
        _umap_metrics.check_inverse(self)
        points = check_array(X, dtype=np.float64)
        known = np.flatnonzero(np.isfinite(self.embedding_).all(axis=1))
        map, rows = self.embedding_[known].astype(np.float64), self._raw_data[known]
        k = min(self._n_neighbors, len(known))
        near, _ = _lowland.nearest_to(points, map, k, "euclidean", self._threads())
        weights = barycenters(map[near] - points[:, None], _INVERSE_REG)
        return np.einsum("ij,ijk->ik", weights, rows[near]).astype(np.float32)

    def update(self, X: Any, ensure_all_finite: Any = True) -> None:
        """Add rows to the data, and compute the embedding of all from the present one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Rows.
        ensure_all_finite : bool or 'allow-nan', default=True
            As in ``fit``.
        """
        check_is_fitted(self, "graph_")
        if self.metric == "precomputed":
            raise ValueError("Update does not currently support precomputed metrics")
        if self._supervised:
            raise ValueError("Updating supervised models is not currently supported")
        if self.unique:
            raise _common.refuse("unique", True, "a model of unique rows cannot be updated")
        X = self._rows(X, ensure_all_finite)
        old = self.embedding_
        self._raw_data = _umap_neighbors.stack(self._raw_data, X)
        n = self._raw_data.shape[0]
        self._n_neighbors = self._count_neighbors(n)
        graph = _umap_neighbors.search(self, self._raw_data)
        self.graph_ = self._memberships(graph)
        self._distances = graph if self.densmap or self.output_dens else None
        # New rows start at the mean of their neighbors.
        start = np.zeros((n, old.shape[1]))
        start[: len(old)] = np.nan_to_num(old)
        links = self.graph_[len(old) :, : len(old)].astype(np.float64)
        totals = np.asarray(links.sum(axis=1))
        start[len(old) :] = np.asarray(links @ start[: len(old)]) / np.where(totals > 0, totals, 1.0)
        self._embed(self._raw_data, start, slice(None), slice(None))

    def __add__(self, other: UMAP) -> UMAP:
        return _combined(self, other, _fuzzy_graphs.union, metric=True)

    def __mul__(self, other: UMAP) -> UMAP:
        return _combined(self, other, _fuzzy_graphs.intersection, metric=True)

    def __sub__(self, other: UMAP) -> UMAP:
        return _combined(self, other, partial(_fuzzy_graphs.intersection, complement=True), metric=False)

    def _print(self, text: str) -> None:
        if self.verbose:
            print(time.ctime(), text)

    def _threads(self) -> int | None:
        return _input.threads(self.n_jobs)

    def _check_parameters(self) -> None:
        _umap_metrics.check_parameters(self)

    def _rows(self, X: Any, ensure_all_finite: Any, reset: bool = False) -> Any:
        if isinstance(self.metric, str) and self.metric in ("bit_hamming", "bit_jaccard"):
            raise _common.refuse("metric", self.metric, "unpack the bits, and use 'hamming' or 'jaccard'")
        options = {"dtype": np.float32, "accept_sparse": "csr", "order": "C", "ensure_all_finite": ensure_all_finite}
        X = validate_data(self, X, reset=reset, **options)
        if self.metric == "hellinger" and X.min() < 0:
            raise ValueError("Metric 'hellinger' does not support negative values")
        if self.metric == "haversine" and X.shape[1] != 2:
            raise ValueError("Metric 'haversine' needs rows of two numbers: latitude and longitude in radians")
        return X

    def _target(self, X: Any, y: Any, ensure_all_finite: Any) -> Any:
        if y is None:
            return None
        y = np.asarray(y)
        if len(y) != X.shape[0]:
            raise ValueError(f"Length of x = {X.shape[0]}, length of y = {len(y)}, while it must be equal.")
        return y if self.target_metric == "string" else check_array(y, ensure_2d=False, ensure_all_finite=ensure_all_finite)

    def _curve(self) -> tuple[float, float]:
        if self.a is not None and self.b is not None:
            return self.a, self.b
        return _lowland.umap_curve([("min_dist", _input.text(float(self.min_dist))), ("spread", _input.text(float(self.spread)))])

    def _unique_rows(self, X: Any) -> tuple[Any, Any]:
        """Return the first of each group of rows that are to be embedded as one, and the group of each row."""
        if not self.unique:
            return slice(None), slice(None)
        dense = X.toarray() if issparse(X) else X
        _, index, inverse = np.unique(dense, axis=0, return_index=True, return_inverse=True)
        self._unique_inverse_ = inverse.ravel()
        return index, self._unique_inverse_

    def _count_neighbors(self, n: int) -> int:
        if n > self.n_neighbors:
            return int(self.n_neighbors)
        warnings.warn("n_neighbors is larger than the dataset size; truncating to X.shape[0] - 1", UserWarning, stacklevel=3)
        return n - 1

    def _epochs(self, n: int) -> int:
        if self.n_epochs is None:
            return 500 if n <= 10_000 else 200
        return int(np.max(self.n_epochs))

    def _params(self, n: int) -> list[tuple[str, str]]:
        values = {
            "n_components": int(self.n_components),
            "n_neighbors": max(int(getattr(self, "_n_neighbors", self.n_neighbors)), 2),
            "n_epochs": self._epochs(n),
            "learning_rate": float(self.learning_rate),
            "set_op_mix_ratio": float(self.set_op_mix_ratio),
            "local_connectivity": float(self.local_connectivity),
            "repulsion_strength": float(self.repulsion_strength),
            "negative_sample_rate": int(self.negative_sample_rate),
            "a": float(self._a),
            "b": float(self._b),
            "densmap": bool(self.densmap),
            "dens_lambda": float(self.dens_lambda),
            "dens_frac": float(self.dens_frac),
            "dens_var_shift": float(self.dens_var_shift),
            "output_dens": bool(self.output_dens),
            "init": {"tswspectral": "spectral"}.get(self.init, self.init) if isinstance(self.init, str) else "random",
        }
        return [(name, _input.text(value)) for name, value in values.items()]

    def _memberships(self, graph: NeighborGraph) -> Any:
        n = len(graph)
        indptr, indices, values, rho, sigma = _lowland.umap_memberships(self._params(n), graph._graph, self._threads())
        self._rhos, self._sigmas = rho.astype(np.float32), sigma.astype(np.float32)
        found = csr_matrix((values, indices, indptr), shape=(n, n), dtype=np.float32)
        alone = int((np.diff(found.indptr) == 0).sum())
        if alone:
            few = alone < _MANY * n
            text = "A few of your vertices" if few else "A large number of your vertices"
            distance = _umap_metrics.disconnection_distance(self.metric, self.disconnection_distance)
            warnings.warn(
                f"{text} were disconnected from the manifold: {alone} rows have no neighbor at a distance below {distance}, and the "
                "coordinates NaN",
                UserWarning,
                stacklevel=4,
            )
        return found

    def _supervised_graph(self, y: Any) -> Any:
        def target_graph(numbers: Any) -> Any:
            n = len(numbers)
            k = self._n_neighbors if self.target_n_neighbors == -1 else int(self.target_n_neighbors)
            name, params = _umap_metrics.native(self.target_metric, self.target_metric_kwds)
            data = numbers if name else _umap_metrics.distances(numbers, None, self.target_metric, self.target_metric_kwds)
            options = {"metric": name or "precomputed", "metric_params": params if name else None, "n_jobs": self.n_jobs}
            graph = neighbors(data, min(k, n) - 1, **options)
            *_, rho, sigma = _lowland.umap_memberships([("n_neighbors", str(max(k, 2)))], graph._graph)
            rows = np.repeat(np.arange(n), np.diff(graph.indptr))
            beyond = np.maximum(np.ravel(graph.distances) - rho[rows], 0)
            return csr_matrix((np.exp(-beyond / sigma[rows]), (rows, np.ravel(graph.indices))), shape=(n, n))

        metric, weight = self.target_metric, float(self.target_weight)
        return _fuzzy_graphs.with_target(self.graph_, y, metric, weight, target_graph).astype(np.float32)

    def _seed(self) -> int:
        return _common.seed(self.random_state)

    def _embed(self, rows: Any, start: Any, index: Any, inverse: Any) -> None:
        """Set the embedding of the fuzzy graph: NaN for rows without neighbors."""
        n = self.graph_.shape[0]
        linked = np.flatnonzero(np.diff(self.graph_.indptr))
        weights = self.graph_[linked][:, linked].astype(np.float64)
        weights.data = np.clip(weights.data, 0, 1)
        # Edges too weak to attract once are no links in the initial embedding either.
        weights.data[weights.data < weights.data.max(initial=0) / self._epochs(n)] = 0
        weights.eliminate_zeros()
        if start is None and isinstance(self.init, np.ndarray):
            start = _umap_metrics.scaled_init(self.init, index, int(self.n_components), self._seed())
        kept: dict[int, Any] = {}
        wanted = [] if self.n_epochs is None or isinstance(self.n_epochs, numbers.Integral) else [int(e) for e in self.n_epochs]

        def keep(iteration: int, loss: float, embedding: Any, norm: Any) -> bool:
            if iteration in wanted:
                kept[iteration] = embedding
            return False

        def full(points: Any) -> Any:
            result = np.full((n, points.shape[1]), np.nan, dtype=np.float32)
            result[linked] = points
            return result[inverse]

        if len(linked) == 0:
            self.embedding_ = full(np.empty((0, int(self.n_components))))
            return
        data = rows if self.metric != "precomputed" and not callable(self.metric) else np.zeros((n, 1), dtype=np.float32)
        points, radii = _lowland.umap_layout(
            self._params(n),
            _input.rows(data[linked]),
            _input.sparse_parts(weights),
            None if start is None else np.ascontiguousarray(start[linked], dtype=np.float64),
            _umap_neighbors.among(self._distances, linked),
            self._seed(),
            self._threads(),
            keep if wanted else None,
            1,
        )
        self.embedding_ = full(points)
        if radii is not None and self.output_dens:
            self.rad_orig_, self.rad_emb_ = (full(each[:, None])[:, 0] for each in radii)
        if wanted:
            self.embedding_list_ = [full(kept[each]) for each in wanted]

    def _same_rows(self, X: Any) -> bool:
        known = self._raw_data
        if X.shape != known.shape or issparse(X) != issparse(known):
            return False
        return (X != known).nnz == 0 if issparse(X) else bool(np.array_equal(X, known))


def _combined(left: UMAP, right: UMAP, combine: Any, metric: bool) -> UMAP:
    """Return a model of the combination of two fuzzy graphs over the same rows."""
    for model in (left, right):
        check_is_fitted(model, "graph_", msg="Only fitted UMAP models can be combined")
    if left.graph_.shape != right.graph_.shape:
        raise ValueError("Only models with the equivalent samples can be combined")
    result = UMAP(**left.get_params(deep=False)).set_params(random_state=42, precomputed_knn=(None, None, None), init="spectral")
    for name in ("learning_rate", "n_components"):
        setattr(result, name, min(getattr(left, name), getattr(right, name)))
    epochs = [int(np.max(each.n_epochs)) for each in (left, right) if each.n_epochs is not None]
    result.n_epochs = max(epochs, default=None)
    for name in ("repulsion_strength", "negative_sample_rate"):
        setattr(result, name, (getattr(left, name) + getattr(right, name)) / 2)
    result.negative_sample_rate = round(result.negative_sample_rate)
    result._a, result._b = (left._a + right._a) / 2, (left._b + right._b) / 2
    result.a, result.b = result._a, result._b
    result.graph_ = _fuzzy_graphs.reset_connectivity(combine(left.graph_, right.graph_), metric).astype(np.float32)
    if connected_components(result.graph_, directed=False, return_labels=False) > 1:
        warnings.warn("the combined graph is not connected: the initial embedding is random", UserWarning, stacklevel=3)
        result.init = "random"
    if result.densmap or result.output_dens:
        raise _common.refuse("densmap", True, "a combined graph has no distances")
    result._distances = None
    n = result.graph_.shape[0]
    result._embed(np.zeros((n, 1), dtype=np.float32), None, slice(None), slice(None))
    result._supervised = False
    result._n_features_out = result.embedding_.shape[1]
    return result
