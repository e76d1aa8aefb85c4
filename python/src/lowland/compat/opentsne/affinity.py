"""Affinities, by the names of openTSNE."""

from __future__ import annotations

import logging
import numbers
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags, issparse

from ... import _lowland
from . import nearest_neighbors, utils

log: logging.Logger = logging.getLogger(__name__)

#: Metrics for which openTSNE's approximate search is that of annoy.
_OF_ANNOY = ("cosine", "euclidean", "hamming", "l1", "l2", "manhattan", "taxicab")


class Affinities:
    """Base class of the affinities.

    Attributes
    ----------
    P : csr_matrix of shape (n_samples, n_samples)
        The affinities.
    knn_index : nearest_neighbors.KNNIndex
        The neighbors they are computed from.
    """

    P: Any
    knn_index: Any
    verbose: bool
    n_jobs: int

    def __init__(self, verbose: bool = False) -> None:
        self.P = None
        self.verbose = verbose
        self.knn_index = None

    def to_new(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the affinities of new rows, each of which has the sum one."""
        raise NotImplementedError

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        if self.knn_index is None:
            raise RuntimeError("there is no knn_index")
        return self.knn_index.n_samples


def _check_source(data: Any, knn_index: Any) -> None:
    if (data is None) == (knn_index is None):
        raise ValueError("exactly one of data and knn_index must be given")


def _check_neighbors(name: str, k: int, n_samples: int) -> None:
    if k >= n_samples:
        raise ValueError(f"{name}={k} must be less than the number of rows, {n_samples}")


class _OfNeighbors(Affinities):
    """Affinities that are computed from the neighbors of each row."""

    knn_index: Any
    verbose: bool
    n_jobs: int

    def _search(self, data: Any, knn_index: Any, k: int, **options: Any) -> tuple[Any, Any]:
        """Set ``knn_index``, and return the neighbors and distances."""
        self.verbose = options["verbose"]
        self.n_jobs = options["n_jobs"]
        self.knn_index = get_knn_index(data, k=k, **options) if knn_index is None else knn_index
        return self.knn_index.build()

    def _new(self, neighbors: Any, distances: Any, weights: Any, return_distances: bool) -> Any:
        P = _matrix(neighbors, weights, self.n_samples)
        P = diags(1 / np.asarray(P.sum(axis=1)).ravel()).tocsr() @ P
        return (P, neighbors, distances) if return_distances else P


class PerplexityBasedNN(_OfNeighbors):
    """Gaussian affinities of a perplexity.

    Parameters
    ----------
    data : array-like or sparse matrix of shape (n_samples, n_features), default=None
        Rows, or their distances if ``metric='precomputed'``. Exactly one of ``data`` and ``knn_index`` is given.
    perplexity : float, default=30
        Effective number of neighbors.
    method : {'auto', 'exact', 'approx', 'annoy', 'pynndescent', 'hnsw'} or KNNIndex, default='auto'
        The search.
    metric : str or callable, default='euclidean'
        Distance between rows.
    metric_params : dict, default=None
        Parameters of the metric.
    symmetrize : bool, default=True
        Whether to average the affinities in both directions.
    n_jobs : int, default=1
        Number of threads.
    random_state : int or RandomState, default=None
        Seed of an approximate search.
    verbose : bool, default=False
        Whether to print what is done.
    k_neighbors : int or 'auto', default='auto'
        Number of neighbors; 'auto' takes three times the perplexity.
    knn_kwargs : dict, default=None
        Further parameters of the search.
    knn_index : KNNIndex, default=None
        A search that takes the place of ``data`` and of the parameters of the search.
    """

    perplexity: float
    effective_perplexity_: float
    symmetrize: bool
    knn_kwargs: dict[str, Any] | None

    def __init__(
        self,
        data: Any = None,
        perplexity: float = 30,
        method: Any = "auto",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        symmetrize: bool = True,
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: bool = False,
        k_neighbors: Any = "auto",
        knn_kwargs: dict[str, Any] | None = None,
        knn_index: Any = None,
    ) -> None:
        super().__init__(verbose)
        _check_source(data, knn_index)
        if knn_index is not None:
            k = knn_index.k
        elif k_neighbors == "auto":
            k = min(data.shape[0] - 1, int(3 * perplexity))
        else:
            k = k_neighbors
        self.perplexity = perplexity
        self.effective_perplexity_ = self.check_perplexity(perplexity, k)
        self.symmetrize = symmetrize
        self.knn_kwargs = knn_kwargs
        self._neighbors, self._distances = self._search(
            data,
            knn_index,
            k,
            method=method,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            knn_kwargs=knn_kwargs,
        )
        self._set_P(self._neighbors.shape[1])

    def set_perplexity(self, new_perplexity: float) -> None:
        """Change the perplexity; the neighbors remain, of which there must be enough."""
        if new_perplexity == self.perplexity:
            return
        effective = self.check_perplexity(new_perplexity, np.inf)
        known = self._neighbors.shape[1]
        if effective > known:
            raise RuntimeError(
                f"perplexity={new_perplexity} needs more than the {known} neighbors that were searched for: create a new "
                f"{type(self).__name__}"
            )
        if 3 * effective > known:
            log.warning("perplexity=%s has fewer than three times as many neighbors: %s", new_perplexity, known)
        self.perplexity, self.effective_perplexity_ = new_perplexity, effective
        self._set_P(int(3 * new_perplexity))

    def to_new(
        self, data: Any, perplexity: float | None = None, return_distances: bool = False, k_neighbors: Any = "auto"
    ) -> Any:
        """Return the affinities of new rows, each of which has the sum one."""
        perplexity = self.perplexity if perplexity is None else perplexity
        k = min(self.n_samples, int(3 * perplexity)) if k_neighbors == "auto" else k_neighbors
        effective = self.check_perplexity(perplexity, k)
        neighbors, distances = self.knn_index.query(data, k)
        return self._new(neighbors, distances, _weights(distances, [effective], self.n_jobs), return_distances)

    def _set_P(self, k: int) -> None:
        with utils.timed("Calculating affinity matrix...", self.verbose):
            neighbors, distances = self._neighbors[:, :k], self._distances[:, :k]
            weights = _weights(distances, [self.effective_perplexity_], self.n_jobs)
            self.P = _joint(_matrix(neighbors, weights, self.n_samples), self.symmetrize)

    @staticmethod
    def check_perplexity(perplexity: float, k_neighbors: float) -> float:
        """Return the perplexity, or a third of the number of neighbors if it is larger than that."""
        if perplexity <= 0:
            raise ValueError(f"perplexity={perplexity} must be above 0")
        if perplexity > k_neighbors:
            log.warning("perplexity=%s is more than there are neighbors: %.2f is used", perplexity, k_neighbors / 3)
            return k_neighbors / 3
        return perplexity


class FixedSigmaNN(_OfNeighbors):
    """Gaussian affinities of one bandwidth for all rows.

    Parameters
    ----------
    data : array-like or sparse matrix of shape (n_samples, n_features), default=None
        As in :class:`PerplexityBasedNN`.
    sigma : float
        The bandwidth.
    k : int, default=30
        Number of neighbors.
    method, metric, metric_params, symmetrize, n_jobs, random_state, verbose, knn_kwargs, knn_index
        As in :class:`PerplexityBasedNN`.
    """

    sigma: float

    def __init__(
        self,
        data: Any = None,
        sigma: float | None = None,
        k: int = 30,
        method: Any = "auto",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        symmetrize: bool = True,
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: bool = False,
        knn_kwargs: dict[str, Any] | None = None,
        knn_index: Any = None,
    ) -> None:
        super().__init__(verbose)
        if sigma is None:
            raise ValueError("sigma must be given")
        _check_source(data, knn_index)
        if data is not None:
            _check_neighbors("k", k, data.shape[0])
        neighbors, distances = self._search(
            data,
            knn_index,
            k,
            method=method,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            knn_kwargs=knn_kwargs,
        )
        self.sigma = sigma
        with utils.timed("Calculating affinity matrix...", verbose):
            self.P = _joint(_matrix(neighbors, self._gaussian(distances, sigma), self.n_samples), symmetrize)

    def to_new(self, data: Any, k: int | None = None, sigma: float | None = None, return_distances: bool = False) -> Any:
        """Return the affinities of new rows, each of which has the sum one."""
        k = self.knn_index.k if k is None else k
        _check_neighbors("k", k, self.n_samples)
        neighbors, distances = self.knn_index.query(data, k)
        weights = self._gaussian(distances, self.sigma if sigma is None else sigma)
        return self._new(neighbors, distances, weights, return_distances)

    @staticmethod
    def _gaussian(distances: Any, sigma: float) -> Any:
        # Relative to the nearest, which changes nothing and keeps one weight from vanishing.
        squares = distances**2 - (distances**2).min(axis=1, keepdims=True)
        weights = np.exp(-squares / (2 * sigma**2))
        return weights / weights.sum(axis=1, keepdims=True)


class MultiscaleMixture(_OfNeighbors):
    """Affinities of a mixture of Gaussians, one for each perplexity.

    Parameters
    ----------
    data : array-like or sparse matrix of shape (n_samples, n_features), default=None
        As in :class:`PerplexityBasedNN`.
    perplexities : list of float, or float
        The perplexities. Those that are too large are lowered.
    method, metric, metric_params, symmetrize, n_jobs, random_state, verbose, knn_kwargs, knn_index
        As in :class:`PerplexityBasedNN`.
    """

    perplexities: Any
    effective_perplexities_: list[float]
    symmetrize: bool

    def __init__(
        self,
        data: Any = None,
        perplexities: Any = None,
        method: Any = "auto",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        symmetrize: bool = True,
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: bool = False,
        knn_kwargs: dict[str, Any] | None = None,
        knn_index: Any = None,
    ) -> None:
        super().__init__(verbose)
        if perplexities is None:
            raise ValueError("perplexities must be given")
        _check_source(data, knn_index)
        n_samples = data.shape[0] if knn_index is None else knn_index.n_samples
        self.perplexities = perplexities
        self.effective_perplexities_ = self.check_perplexities(perplexities, n_samples)
        self.symmetrize = symmetrize
        self._neighbors, self._distances = self._search(
            data,
            knn_index,
            min(n_samples - 1, int(3 * np.max(self.effective_perplexities_))),
            method=method,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            knn_kwargs=knn_kwargs,
        )
        self._set_P(self._neighbors.shape[1])

    def set_perplexities(self, new_perplexities: Any) -> None:
        """Change the perplexities; the neighbors remain, of which there must be enough."""
        if np.array_equal(self.perplexities, new_perplexities):
            return
        effective = self.check_perplexities(new_perplexities, self.n_samples)
        k, known = min(self.n_samples - 1, int(3 * np.max(effective))), self._neighbors.shape[1]
        if k > known:
            raise RuntimeError(
                f"perplexities={new_perplexities} need {k} neighbors, but {known} were searched for: create a new "
                f"{type(self).__name__}"
            )
        self.perplexities, self.effective_perplexities_ = new_perplexities, effective
        self._set_P(k)

    def to_new(self, data: Any, perplexities: Any = None, return_distances: bool = False) -> Any:
        """Return the affinities of new rows, each of which has the sum one."""
        perplexities = self.perplexities if perplexities is None else perplexities
        effective = self.check_perplexities(perplexities, self.n_samples)
        k = min(self.n_samples - 1, int(3 * np.max(effective)))
        neighbors, distances = self.knn_index.query(data, k)
        return self._new(neighbors, distances, self._row_weights(distances, effective), return_distances)

    def check_perplexities(self, perplexities: Any, n_samples: int) -> list[float]:
        """Return the perplexities, sorted, and those that are too large replaced by the largest possible one."""
        most = (n_samples - 1) / 3
        usable: list[float] = []
        for perplexity in sorted([perplexities] if isinstance(perplexities, numbers.Number) else perplexities):
            if perplexity <= 0:
                raise ValueError(f"perplexity={perplexity} must be above 0")
            if perplexity > most:
                log.warning("perplexity=%s is too large: %.2f is used", perplexity, most)
            if perplexity <= most or most not in usable:
                usable.append(min(perplexity, most))
        return usable

    def _row_weights(self, distances: Any, perplexities: list[float]) -> Any:
        return _weights(distances, perplexities, self.n_jobs)

    def _set_P(self, k: int) -> None:
        with utils.timed("Calculating affinity matrix...", self.verbose):
            weights = self._row_weights(self._distances[:, :k], self.effective_perplexities_)
            self.P = _joint(_matrix(self._neighbors[:, :k], weights, self.n_samples), self.symmetrize)


class Multiscale(MultiscaleMixture):
    """The mean of the affinities of several perplexities.

    Parameters
    ----------
    data, perplexities, method, metric, metric_params, symmetrize, n_jobs, random_state, verbose, knn_kwargs, knn_index
        As in :class:`MultiscaleMixture`.
    """

    def _row_weights(self, distances: Any, perplexities: list[float]) -> Any:
        return np.mean([_weights(distances, [perplexity], self.n_jobs) for perplexity in perplexities], axis=0)


class Uniform(_OfNeighbors):
    """The same affinity for each neighbor.

    Parameters
    ----------
    data : array-like or sparse matrix of shape (n_samples, n_features), default=None
        As in :class:`PerplexityBasedNN`.
    k_neighbors : int, default=30
        Number of neighbors.
    symmetrize : {'max', 'mean', 'none'} or bool, default=True
        Whether rows are neighbors if one of them is a neighbor of the other ('max', True), or the affinities of both directions are
        averaged ('mean').
    method, metric, metric_params, n_jobs, random_state, verbose, knn_kwargs, knn_index
        As in :class:`PerplexityBasedNN`.
    """

    def __init__(
        self,
        data: Any = None,
        k_neighbors: int = 30,
        method: Any = "auto",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        symmetrize: Any = True,
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: bool = False,
        knn_kwargs: dict[str, Any] | None = None,
        knn_index: Any = None,
    ) -> None:
        super().__init__(verbose)
        if symmetrize not in ("max", "mean", "none", True, False):
            raise ValueError(f"symmetrize={symmetrize!r}: expected 'max', 'mean', 'none', True or False")
        _check_source(data, knn_index)
        if data is not None:
            _check_neighbors("k_neighbors", k_neighbors, data.shape[0])
        neighbors, distances = self._search(
            data,
            knn_index,
            k_neighbors,
            method=method,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            knn_kwargs=knn_kwargs,
        )
        P = _matrix(neighbors, np.ones_like(distances), self.n_samples)
        if symmetrize == "max" or symmetrize is True:
            P = ((P + P.T) > 0).astype(np.float64)
        self.P = _joint(P, symmetrize == "mean")

    def to_new(self, data: Any, k_neighbors: int | None = None, return_distances: bool = False) -> Any:
        """Return the affinities of new rows, each of which has the sum one."""
        k = self.knn_index.k if k_neighbors is None else k_neighbors
        _check_neighbors("k_neighbors", k, self.n_samples)
        neighbors, distances = self.knn_index.query(data, k)
        return self._new(neighbors, distances, np.ones_like(distances), return_distances)


class PrecomputedAffinities(Affinities):
    """Given affinities.

    Parameters
    ----------
    affinities : sparse matrix or array-like of shape (n_samples, n_samples)
        The affinities.
    normalize : bool, default=True
        Whether to scale them to the sum one.
    """

    P: Any

    def __init__(self, affinities: Any, normalize: bool = True) -> None:
        super().__init__()
        P: Any = csr_matrix(affinities) if not issparse(affinities) else affinities.tocsr()
        self.P = P / P.sum() if normalize else P

    def to_new(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("the affinities of new rows are not known: PrecomputedAffinities has no rows to compare them with")


def get_knn_index(
    data: Any,
    method: Any,
    k: int,
    metric: Any,
    metric_params: dict[str, Any] | None = None,
    n_jobs: int = 1,
    random_state: Any = None,
    verbose: bool = False,
    knn_kwargs: dict[str, Any] | None = None,
) -> nearest_neighbors.KNNIndex:
    """Return the search that a name stands for."""
    if metric == "precomputed":
        return nearest_neighbors.PrecomputedDistanceMatrix(data, k=k)
    if isinstance(method, nearest_neighbors.KNNIndex):
        return method
    common = not issparse(data) and metric in _OF_ANNOY
    names = {"exact": "Sklearn", "approx": "Annoy" if common else "NNDescent", "annoy": "Annoy", "hnsw": "HNSW"}
    names["pynndescent"] = "NNDescent"
    names["auto"] = "Sklearn" if data.shape[0] < 1000 else names["approx"]
    if method not in names:
        raise ValueError(f"method={method!r}: expected one of {', '.join(map(repr, names))} or a KNNIndex")
    return getattr(nearest_neighbors, names[method])(
        data=data,
        k=k,
        metric=metric,
        metric_params=metric_params,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
        knn_kwargs=knn_kwargs,
    )


def _weights(distances: Any, perplexities: list[float], n_jobs: int) -> Any:
    """Return the weights of each row's neighbors by a mixture of Gaussians of these perplexities; rows sum to one."""
    distances = np.ascontiguousarray(distances, dtype=np.float64)
    fits = [_lowland.entropic_weights(distances, float(each), utils.threads(n_jobs)) for each in perplexities]
    if len(fits) == 1:
        return fits[0][0]
    # Densities, which are larger for narrow Gaussians; their logarithms relative to the largest.
    logs = []
    for _, bandwidths in fits:
        precision = 1 / np.square(bandwidths)[:, None]
        with np.errstate(divide="ignore"):
            logs.append(0.5 * np.log(precision) - 0.5 * precision * distances**2)
    largest = np.max(logs, axis=(0, 2))[:, None]
    mixture = np.exp(np.subtract(logs, np.where(np.isfinite(largest), largest, 0.0))).sum(axis=0)
    total = mixture.sum(axis=1, keepdims=True)
    # Where all distances are equal, so are the weights.
    return np.where(total > 0, mixture / np.where(total > 0, total, 1.0), 1 / distances.shape[1])


def _matrix(neighbors: Any, weights: Any, columns: int) -> Any:
    rows, k = neighbors.shape
    return csr_matrix((weights.ravel(), neighbors.ravel(), np.arange(0, rows * k + 1, k)), shape=(rows, columns))


def _joint(P: Any, symmetrize: bool) -> Any:
    """Return affinities that sum to one, averaged with their transpose if asked for."""
    P = (P + P.T) / 2 if symmetrize else P
    return (P / P.sum()).tocsr()
