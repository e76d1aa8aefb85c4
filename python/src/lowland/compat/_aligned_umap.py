"""umap-learn's AlignedUMAP, computed by lowland."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import estimators
from .._aligned import AlignedMaps
from . import _common

if TYPE_CHECKING:
    from .._sklearn import SklearnTransformer as _Estimator
else:
    from sklearn.base import BaseEstimator as _Estimator

#: Strength of the ties of lowland for one of ``alignment_regularisation``: their defaults are 0.1 and 0.01.
_STRENGTH = 10.0
#: Number of epochs of a map.
_EPOCHS = 200
#: Parameters that lowland.UMAP has under the same name, and their types.
_SHARED = {
    "n_neighbors": int,
    "n_components": int,
    "n_epochs": int,
    "learning_rate": float,
    "min_dist": float,
    "spread": float,
    "set_op_mix_ratio": float,
    "local_connectivity": float,
    "repulsion_strength": float,
    "negative_sample_rate": int,
}


class AlignedUMAP(_Estimator):
    """umap-learn's ``AlignedUMAP`` with lowland's ``AlignedMaps``.

    The parameters and defaults are those of ``umap.AlignedUMAP``. Each map starts from the one before, and shared rows are tied to
    their places there and in the next map. A list of values of a parameter, one for each map, is honored if they are equal.

    Parameters
    ----------
    n_neighbors, n_components, metric, metric_kwds, n_epochs, learning_rate, min_dist, spread, set_op_mix_ratio, local_connectivity, \
repulsion_strength, negative_sample_rate, a, b, random_state
        As in :class:`lowland.compat.umap.UMAP`; ``n_epochs=None`` takes 200.
    init : {'spectral', 'pca', 'random'}, default='spectral'
        Initial embedding of the first map.
    alignment_regularisation : float, default=0.01
        Strength of the ties.
    alignment_window_size : int, default=3
        Accepted: rows are tied to the maps before and after.
    low_memory, transform_queue_size, angular_rp_forest, transform_seed, force_approximation_algorithm
        Accepted, without an effect.
    target_n_neighbors, target_metric, target_metric_kwds, target_weight
        Accepted: a target is refused by ``fit``.
    verbose : bool, default=False
        Whether to show progress.
    unique : bool, default=False
        Refused.

    Attributes
    ----------
    embeddings_ : list of ndarray of shape (n_samples_t, n_components)
        The maps.
    mappers_ : list of lowland.UMAP
        A model for each map.
    """

    embeddings_: list[Any]
    mappers_: list[Any]
    n_models_: int
    dict_relations_: list[Any]

    def __init__(
        self,
        n_neighbors: Any = 15,
        n_components: Any = 2,
        metric: Any = "euclidean",
        metric_kwds: Any = None,
        n_epochs: Any = None,
        learning_rate: Any = 1.0,
        init: Any = "spectral",
        alignment_regularisation: Any = 1.0e-2,
        alignment_window_size: Any = 3,
        min_dist: Any = 0.1,
        spread: Any = 1.0,
        low_memory: Any = False,
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
        force_approximation_algorithm: Any = False,
        verbose: Any = False,
        unique: Any = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.metric = metric
        self.metric_kwds = metric_kwds
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.init = init
        self.alignment_regularisation = alignment_regularisation
        self.alignment_window_size = alignment_window_size
        self.min_dist = min_dist
        self.spread = spread
        self.low_memory = low_memory
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
        self.force_approximation_algorithm = force_approximation_algorithm
        self.verbose = verbose
        self.unique = unique

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> AlignedUMAP:
        """Compute the maps.

        Parameters
        ----------
        X : list of array-like of shape (n_samples_t, n_features)
            The data sets.
        y : None
            A target is refused.
        **fit_params
            ``relations``, a list of dict: for each data set but the last, the rows that it shares with the next, {row: row of the next}.

        Returns
        -------
        self : object
        """
        relations = fit_params.get("relations")
        if relations is None:
            raise ValueError("Aligned UMAP requires relations between data to be specified")
        if y is not None:
            raise _common.refuse("y", "...", "aligned maps are not supervised")
        if self.unique:
            raise _common.refuse("unique", True, "every row of an aligned map has a place")
        if isinstance(self.n_components, (list, tuple, np.ndarray)):
            raise ValueError("n_components must be a single integer, and cannot vary")
        estimator = estimators.UMAP(
            metric=self.metric,
            metric_params=self.metric_kwds,
            init="spectral" if self.init == "tswspectral" else self.init,
            a="auto" if self.a is None else float(self.a),
            b="auto" if self.b is None else float(self.b),
            random_state=_common.seed(self.random_state),
            verbose=int(bool(self.verbose)),
            **{name: self._shared_value(name, kind) for name, kind in _SHARED.items()},
        )
        anchor = _STRENGTH * self._shared_value("alignment_regularisation", float)
        self._maps = AlignedMaps(estimator, anchor=anchor, passes=2).fit(list(X), relations=list(relations))
        self.dict_relations_ = list(relations)
        self._set_maps()
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> list[Any]:
        """Compute the maps and return them.

        Parameters
        ----------
        X, y, **fit_params
            As in ``fit``.

        Returns
        -------
        embeddings : list of ndarray
        """
        return self.fit(X, y, **fit_params).embeddings_

    def update(self, X: Any, y: Any = None, **fit_params: Any) -> None:
        """Add the map of a further data set; the maps before stay as they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data set.
        y : None
            A target is refused.
        **fit_params
            ``relations``, a dict: the rows that the last data set shares with X, {row: row of X}. Other parameters must be those of the maps before.
        """
        relation = fit_params.pop("relations", None)
        if not isinstance(relation, dict):
            raise ValueError("Aligned UMAP requires relations between data to be specified")
        if y is not None:
            raise _common.refuse("y", "...", "aligned maps are not supervised")
        for name, value in fit_params.items():
            if value != self._shared_value(name, type(value)):
                raise _common.refuse(name, value, "all maps have the same parameters")
        self._maps.update(X, relation=relation)
        self.dict_relations_ = [*self.dict_relations_, relation]
        self._set_maps()

    def _set_maps(self) -> None:
        self.embeddings_ = list(self._maps.embeddings_)
        self.mappers_ = list(self._maps.estimators_)
        self.n_models_ = len(self.mappers_)

    def _shared_value(self, name: str, kind: Any) -> Any:
        """Return the value of a parameter, which is the same for all maps."""
        value = getattr(self, name)
        if name == "n_epochs" and value is None:
            return _EPOCHS
        if isinstance(value, (list, tuple, np.ndarray)):
            if len(set(value)) != 1:
                raise _common.refuse(name, value, "all maps have the same parameters")
            value = value[0]
        return kind(value)
