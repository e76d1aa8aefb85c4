"""Maps of a sequence of data sets, in which shared rows stay near each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from . import _device, _input, _lowland, _parameters
from ._base import Estimator
from ._progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self


class AlignedMaps:
    """Maps of a sequence of data sets, in which the rows that two consecutive ones share are tied to each other.

    The first map is that of the estimator by itself. Each of the others starts from the map before it, where that model places
    its new rows, and shared rows are tied to their positions there. With further passes, every map is fitted again, tied to both
    of its neighbors.

    Parameters
    ----------
    estimator : Estimator, default=None
        An estimator that can continue a map: TSNE, SymmetricSNE, ElasticEmbedding, MapIt, UMAP or PaCMAP. None means TSNE().
    anchor : float or 'exact', default=0.1
        Strength of the ties; 1 is as strong as all neighbors of a row together. With 'exact', shared rows keep their positions.
    passes : int, default=1
        Number of times that every map is fitted.

    Attributes
    ----------
    embeddings_ : list of ndarray of shape (n_samples_t, n_components)
        The maps.
    estimators_ : list of Estimator
        A fitted estimator for each data set.
    movements_ : list of float
        How far shared rows are from the map before, for each map but the first: the root mean square distance, in units of
        that of the shared rows from their center.

    Examples
    --------
    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> maps = lowland.AlignedMaps(lowland.UMAP(n_epochs=50)).fit([X[:300], X[100:400]], ids=[range(300), range(100, 400)])
    >>> [map.shape for map in maps.embeddings_]
    [(300, 2), (300, 2)]
    """

    def __init__(self, estimator: Estimator | None = None, *, anchor: float | str = 0.1, passes: int = 1) -> None:
        self.estimator = estimator
        self.anchor = anchor
        self.passes = passes

    def fit(
        self,
        Xs: Sequence[Any],
        *,
        ids: Sequence[Iterable[Any]] | None = None,
        relations: Sequence[Mapping[int, int]] | None = None,
    ) -> Self:
        """Compute a map of each data set.

        Parameters
        ----------
        Xs : sequence of array-like
            The data sets, with the same columns.
        ids : sequence of sequences, default=None
            The name of each row of each data set; rows of consecutive data sets with the same name are shared.
        relations : sequence of dict, default=None
            For each data set but the last, the rows that it shares with the next: {row: row of the next}, as for umap's
            AlignedUMAP. Without ids and relations, rows with equal values are shared.

        Returns
        -------
        self : object
        """
        estimator: Estimator = self._new_estimator()
        if not isinstance(Xs, (list, tuple)) or len(Xs) < 2:
            raise ValueError("Xs: expected a list of at least two data sets")
        fitted = [clone(estimator) for _ in Xs]
        checked = [each._check_rows(X, reset=True) for each, X in zip(fitted, Xs)]
        rows = [each for each, _ in checked]
        shared = _shared(rows, ids, relations)
        progress = Progress("AlignedMaps") if estimator.verbose else None
        try:
            with _device.using(estimator.device):
                models = _lowland.fit_sequence(
                    estimator._method,
                    estimator._parameter_values(None),
                    rows,
                    shared,
                    _parameters.anchor(self.anchor),
                    _parameters.integer("passes", self.passes, at_least=1),
                    preprocessing=estimator._preprocessing_values(),
                    seed=_input.seed(estimator.random_state),
                    threads=_input.threads(estimator.n_jobs),
                    max_memory=_input.memory(estimator.max_memory),
                    feature_names=[str(name) for name in getattr(fitted[0], "feature_names_in_", [])],
                    on_progress=None if progress is None else progress.update,
                    on_note=None if progress is None else progress.note,
                )
        finally:
            if progress is not None:
                progress.close(True)
        for each, model, (_, dtype) in zip(fitted, models, checked):
            each._training_rows, each._target = None, None
            each._set_model(model, dtype)
        self.estimators_: list[Estimator] = fitted
        self.embeddings_: list[NDArray[Any]] = [each.embedding_ for each in fitted]
        self.movements_: list[float] = [
            _movement(before, after, pairs) for before, after, pairs in zip(self.embeddings_, self.embeddings_[1:], shared)
        ]
        self._last_ids = None if ids is None else list(ids[-1])
        self._last_rows = rows[-1]
        return self

    def fit_transform(self, Xs: Sequence[Any], **fit_params: Any) -> list[NDArray[Any]]:
        """Compute a map of each data set and return the maps. The arguments are those of ``fit``."""
        return self.fit(Xs, **fit_params).embeddings_

    def update(self, X: Any, *, ids: Iterable[Any] | None = None, relation: Mapping[int, int] | None = None) -> Self:
        """Add the map of a further data set, tied to the last one. The maps before stay as they are.

        Parameters
        ----------
        X : array-like
            The data set, with the same columns.
        ids : sequence, default=None
            The name of each row; those of the last data set must be known.
        relation : dict, default=None
            The rows that the last data set shares with X: {row: row of X}.

        Returns
        -------
        self : object
        """
        if not hasattr(self, "estimators_"):
            raise NotFittedError("AlignedMaps is not fitted yet: call fit first")
        estimator = clone(self.estimators_[-1])
        ids = None if ids is None else list(ids)
        rows = estimator._check_rows(X, reset=True)[0]
        both = None if ids is None else [self._ids_of_last(), ids]
        (pairs,) = _shared([self._last_rows, rows], both, None if relation is None else [relation])
        growth = {
            "continue_from": self.estimators_[-1].model_,
            "anchor": _parameters.anchor(self.anchor),
            "shared": pairs,
        }
        raised = estimator._fit(X, None, None, None, 60.0, None, growth)
        if raised is not None:
            raise raised
        self.movements_.append(_movement(self.embeddings_[-1], estimator.embedding_, pairs))
        self.estimators_.append(estimator)
        self.embeddings_.append(estimator.embedding_)
        self._last_ids, self._last_rows = ids, rows
        return self

    def _ids_of_last(self) -> list[Any]:
        if self._last_ids is None:
            raise ValueError("ids: the rows of the last data set have none; pass relation instead")
        return self._last_ids

    def _new_estimator(self) -> Estimator:
        from .estimators import TSNE

        estimator = TSNE() if self.estimator is None else self.estimator
        if not isinstance(estimator, Estimator):
            raise _parameters.invalid("estimator", estimator, "an estimator such as lowland.UMAP()")
        return estimator

    def __repr__(self) -> str:
        return f"AlignedMaps({self.estimator!r}, anchor={self.anchor!r}, passes={self.passes!r})"


def _shared(
    rows: list[Any], ids: Sequence[Iterable[Any]] | None, relations: Sequence[Mapping[int, int]] | None
) -> list[list[tuple[int, int]]]:
    """Return, for each data set but the first, the pairs of its rows and those of the one before."""
    if ids is not None and relations is not None:
        raise ValueError("pass ids or relations, not both")
    if relations is not None:
        if len(relations) != len(rows) - 1:
            raise ValueError(f"relations: expected {len(rows) - 1}, one less than data sets, got {len(relations)}")
        return [sorted((int(new), int(old)) for old, new in relation.items()) for relation in relations]
    if ids is None:
        keys = [_keys(each) for each in rows]
    else:
        keys = [list(names) for names in ids]
        if len(keys) != len(rows):
            raise ValueError(f"ids: expected those of {len(rows)} data sets, got {len(keys)}")
        for t, (names, each) in enumerate(zip(keys, rows)):
            if len(names) != _input.n_rows(each):
                raise ValueError(f"ids: data set {t} has {_input.n_rows(each)} rows and {len(names)} ids")
            if len(set(names)) != len(names):
                raise ValueError(f"ids: those of data set {t} are not unique")
    return [_match(before, after) for before, after in zip(keys, keys[1:])]


def _keys(rows: Any) -> list[Any]:
    """Return a key for each row, equal for rows with the same values."""
    if isinstance(rows, list):
        return rows
    if isinstance(rows, np.ndarray):
        return [row.tobytes() for row in np.ascontiguousarray(rows, dtype=np.float64)]
    raise ValueError("sparse data sets need ids or relations")


def _match(before: list[Any], after: list[Any]) -> list[tuple[int, int]]:
    places: dict[Any, list[int]] = {}
    for row in range(len(before) - 1, -1, -1):
        places.setdefault(before[row], []).append(row)
    return [(row, places[key].pop()) for row, key in enumerate(after) if places.get(key)]


def _movement(before: NDArray[Any], after: NDArray[Any], shared: list[tuple[int, int]]) -> float:
    new, old = (np.array(part) for part in zip(*shared))
    start = before[old]
    spread = ((start - start.mean(axis=0)) ** 2).sum()
    return float(np.sqrt(((after[new] - start) ** 2).sum() / max(spread, np.finfo(float).tiny)))
