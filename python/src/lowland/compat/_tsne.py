"""scikit-learn's TSNE, computed by lowland."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import _fit_context
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, check_non_negative

from .. import _lowland, estimators
from .._graph import NeighborGraph, neighbors
from .._validation import validate_data
from . import _common

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

    from .._sklearn import SklearnTransformer as _Original
else:
    from sklearn.manifold import TSNE as _Original

#: Value of min_grad_norm up to which the norm of the gradient is not computed.
_NO_NORM = 1e-7


class TSNE(_Original):
    """scikit-learn's ``TSNE`` with lowland's computation, and ``transform``.

    The parameters and defaults are those of ``sklearn.manifold.TSNE``:

    - ``method='barnes_hut'`` chooses the fastest engine for the data, whose error in the repulsion is at most 1 %, whatever
      ``angle`` is; ``angle=0`` and ``method='exact'`` sum all pairs.
    - ``min_grad_norm`` ends the iterations after early exaggeration. Above its default, the iterations do not run on a graphics card,
      where the norm of the gradient is not known.
    - ``verbose`` prints what scikit-learn prints.
    - Attractions are limited to three times ``perplexity`` neighbors, with ``method='exact'`` too.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training rows, in single precision.
    kl_divergence_ : float
        Divergence after the last iteration.
    learning_rate_ : float
        The learning rate.
    n_iter_ : int
        Index of the last iteration.
    model_ : lowland.TSNE
        The fitted estimator of lowland.
    """

    n_components: Any
    perplexity: Any
    early_exaggeration: Any
    learning_rate: Any
    max_iter: Any
    n_iter_without_progress: Any
    min_grad_norm: Any
    metric: Any
    metric_params: Any
    init: Any
    verbose: Any
    random_state: Any
    method: Any
    angle: Any
    n_jobs: Any

    #: Iterations of early exaggeration, and between two looks at the divergence; scikit-learn's class attributes.
    _EXPLORATION_MAX_ITER: int
    _N_ITER_CHECK: int

    embedding_: NDArray[np.float32]
    kl_divergence_: float
    learning_rate_: float
    n_iter_: int
    model_: estimators.TSNE

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the embedding of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows, or their distances if ``metric='precomputed'``.
        y : ignored

        Returns
        -------
        self : object
        """
        self.fit_transform(X)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Compute the embedding of X and return it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows, or their distances if ``metric='precomputed'``.
        y : ignored

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
        """
        self._check_values()
        X = self._check_rows(X, reset=True)
        rows, self._fitted_rows = self._rows_or_distances(X)
        rate = self.learning_rate
        self.learning_rate_ = max(X.shape[0] / self.early_exaggeration / 4, 50) if rate == "auto" else rate
        metric = "euclidean" if rows is X and self.metric != "precomputed" else "precomputed"
        graph = self._neighbors(rows, metric)
        if isinstance(self.init, np.ndarray) and np.all(self.init == self.init[:1]):
            return self._stay(graph)
        monitor = Monitor(
            self._EXPLORATION_MAX_ITER,
            self.n_iter_without_progress,
            self.min_grad_norm if self._needs_norm() else None,
            self.verbose,
            self._N_ITER_CHECK,
        )
        self.model_ = estimators.TSNE(
            n_components=self.n_components,
            perplexity=float(self.perplexity),
            early_exaggeration=float(self.early_exaggeration),
            exaggeration=1.0,
            exaggeration_iter=self._EXPLORATION_MAX_ITER,
            dof=float(max(self.n_components - 1, 1)),
            learning_rate=float(self.learning_rate_),
            optimizer="gd",
            max_iter=self.max_iter,
            tol=0.0,
            metric=metric,
            neighbors=graph,
            init=np.asarray(self.init, dtype=np.float64) if isinstance(self.init, np.ndarray) else self.init,
            engine="exact" if self.method == "exact" or self.angle == 0 else "auto",
            random_state=_common.seed(self.random_state),
            n_jobs=self.n_jobs,
            device="cpu" if self._needs_norm() else "auto",
            callbacks=monitor,
            callbacks_every_iters=self._N_ITER_CHECK,
        )
        self.model_.set_output(transform="default").fit(rows)
        self.embedding_ = self.model_.embedding_.astype(np.float32)
        self.kl_divergence_ = float(self.model_.objectives_[-1])
        self.n_iter_ = self.model_.n_iter_ - 1
        if self.verbose:
            print(f"[t-SNE] KL divergence after {self.n_iter_ + 1} iterations: {self.kl_divergence_:f}")
        return self.embedding_

    def transform(self, X: Any) -> Any:
        """Place new rows on the embedding, which scikit-learn's ``TSNE`` cannot.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_training_samples)
            Rows, or their distances to the training rows if ``metric='precomputed'``.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        if not hasattr(self, "model_"):
            raise ValueError("new rows cannot be placed: all points of the embedding are at one place, as they were in init")
        X = self._check_rows(X, reset=False)
        if self._fitted_rows is not None:
            X = _common.distances(X, self._fitted_rows, self.metric, self.metric_params, self.n_jobs)
        return self.model_.transform(X).astype(np.float32)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # As in scikit-learn, the embedding has this type whatever that of the rows is.
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _more_tags(self) -> dict[str, Any]:
        # The same for scikit-learn before 1.6, which collects the tags of all classes.
        return {"preserves_dtype": [np.float32]}

    def _check_values(self) -> None:
        """Refuse values that scikit-learn refuses in its fit, and those that cannot be honored."""
        if self.method == "barnes_hut" and self.n_components > 3:
            raise ValueError(
                "'n_components' should be at most 3 with method='barnes_hut', as in scikit-learn; lowland.TSNE has no such limit"
            )
        if self.metric == "mahalanobis" and not {"V", "VI"} & set(self.metric_params or {}):
            raise ValueError("Must provide either V or VI for Mahalanobis distance")

    def _needs_norm(self) -> bool:
        return self.min_grad_norm > _NO_NORM or self.verbose >= 2

    def _neighbors(self, rows: Any, metric: str) -> NeighborGraph:
        """Return the neighbors, and print what scikit-learn prints about them and their affinities."""
        n = rows.shape[0]
        wanted = min(n - 1, int(3.0 * self.perplexity + 1))
        if self.verbose:
            print(f"[t-SNE] Computing {wanted} nearest neighbors...")
        start = perf_counter()
        graph = neighbors(rows, wanted, metric=metric, n_jobs=self.n_jobs, random_state=_common.seed(self.random_state))
        if self.verbose:
            print(f"[t-SNE] Computed neighbors for {n} samples in {perf_counter() - start:.3f}s...")
            start = perf_counter()
            _, bandwidths = _weights(graph, self.perplexity)
            print(f"[t-SNE] Computed conditional probabilities in {perf_counter() - start:.3f}s")
            print(f"[t-SNE] Mean sigma: {np.mean(bandwidths):f}")
        return graph

    def _stay(self, graph: NeighborGraph) -> Any:
        """Set the attributes for points that all start at one place, where there is no force."""
        weights, _ = _weights(graph, self.perplexity)
        n = len(graph)
        joint = csr_matrix((weights.ravel(), graph.indices.ravel(), graph.indptr), shape=(n, n))
        shares = ((joint + joint.T) / (2 * n)).data
        self.__dict__.pop("model_", None)
        self.embedding_ = np.array(self.init, dtype=np.float32)
        self.kl_divergence_ = float(np.sum(shares[shares > 0] * np.log(shares[shares > 0] * n * (n - 1))))
        # scikit-learn looks at the gradient once in each of its two stages.
        self.n_iter_ = min(2 * self._N_ITER_CHECK, self.max_iter) - 1
        return self.embedding_

    def _check_rows(self, X: Any, reset: bool) -> Any:
        formats = ["csr"] if self.method == "barnes_hut" else ["csr", "csc", "coo"]
        least = 2 if reset else 1
        dtypes = [np.float32, np.float64]
        X = validate_data(self, X, accept_sparse=formats, ensure_min_samples=least, dtype=dtypes, reset=reset)
        if not reset:
            return X
        if self.metric == "precomputed":
            if isinstance(self.init, str) and self.init == "pca":
                raise ValueError('The parameter init="pca" cannot be used with metric="precomputed".')
            if X.shape[0] != X.shape[1]:
                raise ValueError("X should be a square distance matrix")
            check_non_negative(X, "TSNE.fit(). With metric='precomputed', X should contain positive distances.")
            if issparse(X):
                self._check_sparse_distances(X)
        if self.perplexity >= X.shape[0]:
            raise ValueError(f"perplexity ({self.perplexity}) must be less than n_samples ({X.shape[0]})")
        return X

    def _check_sparse_distances(self, X: Any) -> None:
        if self.method == "exact":
            raise TypeError("method='exact' takes no sparse matrix of precomputed distances: use method='barnes_hut'")
        needed = min(X.shape[0] - 1, int(3.0 * self.perplexity + 1))
        NearestNeighbors(n_neighbors=needed, metric="precomputed").fit(X).kneighbors_graph(mode="distance")

    def _rows_or_distances(self, X: Any) -> tuple[Any, Any]:
        """Return what lowland is fitted to, and the rows to compute distances to if these are computed here."""
        if self.metric == "precomputed" or self.metric in _common.METRICS:
            return X, None
        computed = _common.distances(X, None, self.metric, self.metric_params, self.n_jobs)
        if np.any(computed < 0):
            raise ValueError("All distances should be positive, the metric given is not correct")
        return computed, X


def _weights(graph: NeighborGraph, perplexity: float) -> tuple[Any, Any]:
    """Return the conditional affinities of the neighbors, and the bandwidths."""
    distances = np.ascontiguousarray(graph.distances.reshape(len(graph), -1), dtype=np.float64)
    return _lowland.entropic_weights(distances, max(float(perplexity), 1.0))


class Monitor:
    """Ends the iterations after early exaggeration, and prints what scikit-learn prints.

    Parameters
    ----------
    early : int
        Number of iterations of early exaggeration.
    patience : int
        Number of iterations without a decrease of the divergence after which they end.
    min_grad_norm : float
        Length of the gradient at which they end; None if it does not matter.
    verbose : int
        What to print.
    every : int
        Number of iterations between two calls.
    """

    #: Callbacks with this attribute are called with the length of the gradient.
    takes_gradient_norm = True

    def __init__(self, early: int, patience: int, min_grad_norm: float | None, verbose: int, every: int) -> None:
        self.early = early
        self.patience = patience
        self.min_grad_norm = min_grad_norm
        self.verbose = verbose
        self.every = every
        self.best = np.inf
        self.best_iteration = early
        self.last = perf_counter()

    def __call__(self, iteration: int, error: float, embedding: Any, gradient_norm: float | None = None) -> bool:
        norm = np.nan if gradient_norm is None else gradient_norm
        if self.verbose >= 2:
            seconds, self.last = perf_counter() - self.last, perf_counter()
            state = f"error = {error:.7f}, gradient norm = {norm:.7f}"
            print(f"[t-SNE] Iteration {iteration}: {state} ({self.every} iterations in {seconds:.3f}s)")
        if iteration <= self.early:
            if self.verbose and iteration == self.early:
                print(f"[t-SNE] KL divergence after {iteration} iterations with early exaggeration: {error:f}")
            return False
        if error < self.best:
            self.best, self.best_iteration = error, iteration
        elif iteration - self.best_iteration > self.patience:
            return self._finished(iteration, f"did not make any progress during the last {self.patience} episodes. Finished.")
        if self.min_grad_norm is not None and norm <= self.min_grad_norm:
            return self._finished(iteration, f"gradient norm {norm:f}. Finished.")
        return False

    def _finished(self, iteration: int, reason: str) -> bool:
        if self.verbose >= 2:
            print(f"[t-SNE] Iteration {iteration}: {reason}")
        return True
