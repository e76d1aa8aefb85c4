"""Methods and attributes of estimators that only some models support."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _input, _lowland, _parameters
from ._graph import as_graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._base import Estimator as _Base
    from ._base import FloatArray
    from ._graph import NeighborGraph
else:
    _Base = object


class StdMixin(_Base):
    """For models that know the standard deviation of each position."""

    embedding_std_: FloatArray

    def transform_std(self, X: Any) -> FloatArray:
        """Return the standard deviation of the position of each row of X in the embedding.

        Parameters
        ----------
        X : array-like, sparse matrix, table or list of str of n_samples rows
            Rows of the same kind as in ``fit``.

        Returns
        -------
        std : ndarray of shape (n_samples,)
        """
        return self._call_model(X, lambda rows, threads: self.model_.transform(rows, threads)[1])


class CovarianceMixin(_Base):
    """For models that know the covariance of each position."""

    embedding_cov_: FloatArray

    def transform_cov(self, X: Any) -> FloatArray:
        """Return the covariance of the position of each row of X in the embedding.

        Parameters
        ----------
        X : array-like, sparse matrix or table of n_samples rows
            Rows of the same kind as in ``fit``.

        Returns
        -------
        cov : ndarray of shape (n_samples, n_components, n_components)
        """
        return self._call_model(X, lambda rows, threads: self.model_.transform_covariances(rows, threads))


class SampleMixin(_Base):
    """For models with a posterior distribution of embeddings."""

    def sample_embeddings(self, n_samples: int = 20, random_state: Any = None) -> FloatArray:
        """Draw embeddings of the training rows from the posterior, as ``lowland samples`` does.

        Parameters
        ----------
        n_samples : int, default=20
            Number of embeddings.
        random_state : int, RandomState instance or Generator, default=None
            Seed of the random number generator. None means the seed 0.

        Returns
        -------
        embeddings : ndarray of shape (n_samples, number of training rows, n_components)
        """
        check_is_fitted(self)
        count = _parameters.integer("n_samples", n_samples, at_least=1)
        samples = self.model_.samples(count, _input.seed(random_state), _input.memory(self.max_memory))
        return samples.astype(self.embedding_.dtype, copy=False)


class InverseTransformMixin(_Base):
    """For models that map points of the embedding back to rows."""

    @overload
    def inverse_transform(self, X: Any, *, return_std: Literal[False] = False) -> FloatArray: ...

    @overload
    def inverse_transform(self, X: Any, *, return_std: Literal[True]) -> tuple[FloatArray, FloatArray]: ...

    def inverse_transform(self, X: Any, *, return_std: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the rows that correspond to points of the embedding.

        Preprocessing is undone, except for ``normalize``: the lengths of the rows are not known any more.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Points of the embedding.
        return_std : bool, default=False
            Whether to return the standard deviation of every value as well (``LLLVM``).

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        std : ndarray of shape (n_samples, n_features)
            Only if ``return_std=True``.
        """
        check_is_fitted(self)
        points, threads, dtype = _input.points(X), _input.threads(self.n_jobs), self.embedding_.dtype
        if not return_std:
            return self.model_.inverse_transform(points, threads).astype(dtype, copy=False)
        rows, std = self.model_.inverse_transform_std(points, threads)
        if std is None:
            raise ValueError(
                f"return_std=True: {type(self).__name__} has no standard deviations of rows; LLLVM has"
            )
        return rows.astype(dtype, copy=False), std.astype(dtype, copy=False)


class LikelihoodMixin(_Base):
    """For models that know the likelihood of a row."""

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the log-likelihood of each row of X under the model.

        Parameters
        ----------
        X : array-like, sparse matrix, table or list of str of n_samples rows
            Rows of the same kind as in ``fit``.

        Returns
        -------
        log_likelihood : ndarray of shape (n_samples,)
        """
        scores = self._call_model(X, lambda rows, threads: self.model_.score(rows, threads))
        return np.asarray(scores, dtype=np.float64)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows of X under the model.

        Parameters
        ----------
        X : array-like, sparse matrix, table or list of str of n_samples rows
            Rows of the same kind as in ``fit``.
        y : ignored

        Returns
        -------
        log_likelihood : float
        """
        return float(np.mean(self.score_samples(X)))


class LinearMixin(_Base):
    """For linear projections: the attributes of scikit-learn's PCA and TruncatedSVD."""

    components_: NDArray[np.float64]
    mean_: NDArray[np.float64]
    explained_variance_: NDArray[np.float64]
    explained_variance_ratio_: NDArray[np.float64]
    singular_values_: NDArray[np.float64]
    n_components_: int

    def _set_model(self, model: _lowland.Model, dtype: Any, kept: np.ndarray | None = None) -> None:
        super()._set_model(model, dtype, kept)
        for name, values in (model.linear() or {}).items():
            setattr(self, f"{name}_", values)
        self.n_components_ = int(self.embedding_.shape[1])


class GeodesicMixin(_Base):
    """For Isomap: distances along the neighbor graph."""

    #: Eigenvalues of the dimensions, the largest first.
    eigenvalues_: NDArray[np.float64]

    def _set_model(self, model: _lowland.Model, dtype: Any, kept: np.ndarray | None = None) -> None:
        super()._set_model(model, dtype, kept)
        for name, values in (model.isomap() or {}).items():
            setattr(self, f"{name}_", values)

    @property
    def dist_matrix_(self) -> NDArray[np.float64]:
        """Distances between the training rows along the neighbor graph, computed when they are asked for."""
        check_is_fitted(self)
        return self.model_.geodesic_distances()


class FuzzyGraphMixin(_Base):
    """For UMAP: the fuzzy graph, and the radii of densMAP."""

    #: Logarithms of the local radii of the rows; with ``densmap`` or ``output_dens``.
    rad_orig_: FloatArray
    #: Logarithms of the local radii of the points of the map; with ``densmap`` or ``output_dens``.
    rad_emb_: FloatArray

    def _set_model(self, model: _lowland.Model, dtype: Any, kept: np.ndarray | None = None) -> None:
        super()._set_model(model, dtype, kept)
        self.__dict__.pop("_graph", None)

    def _given_graph(self) -> NeighborGraph | None:
        known = getattr(self, "precomputed_knn", None)
        # The default of umap-learn is a tuple of None.
        if isinstance(known, (tuple, list)) and all(part is None for part in known):
            known = None
        if known is None:
            return super()._given_graph()
        if getattr(self, "neighbors", None) is not None:
            raise ValueError("neighbors and precomputed_knn are two names of one parameter: give one of them")
        return as_graph(known, "precomputed_knn")

    @property
    def graph_(self) -> Any:
        """The graph of memberships as a sparse matrix, computed again from the rows when it is asked for."""
        check_is_fitted(self)
        graph = self.__dict__.get("_graph")
        if graph is None:
            from scipy.sparse import csr_matrix

            parts = self.model_.membership_graph(_input.threads(self.n_jobs))
            if parts is None:
                raise AttributeError("graph_: the graph was given, or changed by the labels, and is not part of the model")
            indptr, indices, values = parts
            graph = csr_matrix((values, indices, indptr), shape=(len(indptr) - 1, len(indptr) - 1))
            self.__dict__["_graph"] = graph
        return graph
