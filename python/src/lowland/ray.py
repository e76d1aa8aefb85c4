"""Ray: fit a sample in this process, place all rows with actors that each hold the model.

A Ray dataset has columns of numbers, or one column of arrays (``ray.data.from_numpy`` makes one, named ``data``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import _input, _parameters
from ._held_out import far_rows_of, score_sample, without_sample
from ._tables import FAR, coordinate_name, explain_not_finite, feature_columns, place, split_id

#: Column of the numbers of rows.
_PLACE = "_lowland_place"


def _to_rows(batch: dict[str, np.ndarray], features: Sequence[str]) -> np.ndarray:
    columns = [np.asarray(batch[name]) for name in features]
    if len(columns) == 1 and (columns[0].ndim == 2 or columns[0].dtype == object):
        return columns[0] if columns[0].ndim == 2 else np.stack(list(columns[0]))
    return np.column_stack(columns)


def _numbered(ds: Any) -> Any:
    """Return the dataset with a column that tells the block of each row, and its number in it, if this version of Ray can."""
    try:
        from ray.data.expressions import monotonically_increasing_id
    except ImportError:
        return ds
    return ds.with_column(_PLACE, monotonically_increasing_id())


def _name_row(block: dict[str, np.ndarray], first: int = 0) -> Callable[[int], str]:
    """Return a function that names the rows of a block, counted from `first` on."""

    def name(at: int) -> str:
        if _PLACE not in block:
            return f"row {first + at} of a block"
        number, row = split_id(int(block[_PLACE][first + at]))
        return f"row {row} of block {number}"

    return name


class _Placer:
    """An actor that holds the model."""

    def __init__(self, model: Any, features: list[str], keep: list[str], batch_size: int) -> None:
        import ray

        self.features, self.keep, self.batch_size = features, keep, batch_size
        self.model, self.far = ray.get(model)

    def __call__(self, block: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        rows, out = _to_rows(block, self.features), {name: block[name] for name in self.keep}
        parts = []
        for first in range(0, len(rows), self.batch_size):
            part = slice(first, first + self.batch_size)
            kept = {name: values[part] for name, values in out.items()}
            parts.append(place(self.model, rows[part], self.features, _name_row(block, first), kept))
        placed = np.concatenate(parts) if parts else np.empty((0, self.model.embedding_.shape[1]))
        out.update({coordinate_name(c): placed[:, c] for c in range(placed.shape[1])})
        if self.far is not None:
            out[FAR] = self.far.find(self.model, rows) if len(rows) else np.empty(0, dtype=bool)
        return out


def transform(
    model: Any,
    ds: Any,
    features: Sequence[str] | str | None = None,
    *,
    keep: Sequence[str] = (),
    far: bool = False,
    concurrency: int | tuple[int, int] = 1,
    batch_size: int = 8192,
) -> Any:
    """Place the rows of a dataset on the map of a fitted estimator.

    Parameters
    ----------
    model : estimator
        A fitted estimator of lowland; it is sent to each actor once.
    ds : ray.data.Dataset
    features : list of str or str, default=None
        Columns of numbers, or one column of arrays. None means all that are not kept.
    keep : list of str, default=()
        Columns to keep beside the coordinates, such as an id. An error that is about a row names its block, its number there, and its
        values of these columns.
    far : bool, default=False
        Add a column ``far``: whether a row is far from every row of the fit. The estimator must be fitted by :func:`fit_sample`.
    concurrency : int or (int, int), default=1
        Number of actors, or the least and the most.
    batch_size : int, default=8192
        Number of rows of a block that are placed at once.

    Returns
    -------
    placed : ray.data.Dataset
        The kept columns, then ``projection_x``, ``projection_y``, ... Lazy, as all datasets of Ray.
    """
    import ray

    if not hasattr(model, "embedding_"):
        raise ValueError("the estimator has not been fitted: call fit, or lowland.ray.fit_sample")
    names, batch_size = feature_columns(list(ds.columns()), features, keep), _parameters.integer("batch_size", batch_size, at_least=1)
    held = ray.put((without_sample(model), far_rows_of(model) if far else None))
    return _numbered(ds).map_batches(
        _Placer,
        fn_constructor_args=(held, names, list(keep), batch_size),
        concurrency=concurrency,
        # For batches of rows, Ray would join blocks before they are numbered.
        batch_size=None,
        batch_format="numpy",
    )


def fit_sample(
    estimator: Any,
    ds: Any,
    n_rows: int,
    features: Sequence[str] | str | None = None,
    *,
    keep: Sequence[str] = (),
    held_out: int = 1000,
    random_state: Any = None,
) -> Any:
    """Fit an estimator in this process to a random sample of the rows of a dataset, drawn in one pass over its batches.

    Parameters
    ----------
    estimator : estimator
        An estimator of lowland, which is fitted and returned. ``held_out_recall_`` tells how well other rows are placed: see
        :func:`lowland.streaming.held_out_recall`. ``far_rows_`` (:class:`lowland.streaming.FarRows`) tells which rows are far from all
        of the sample. Both are None where the rows are too few, or cannot be compared with others.
    ds : ray.data.Dataset
    n_rows : int
        Number of rows to fit; all, if there are no more.
    features, keep
        As in :func:`transform`.
    held_out : int, default=1000
        Number of other rows that are scored; 0 for none.
    random_state : int, RandomState instance or Generator, default=None
        Seed of the sample. None means the seed 0.
    """
    from . import streaming

    names, seed = feature_columns(list(ds.columns()), features, keep), _input.seed(random_state)
    n_rows, held_out = _parameters.integer("n_rows", n_rows, at_least=2), _parameters.integer("held_out", held_out, at_least=0)
    refuses = estimator.missing != "drop"

    def batches() -> Iterator[np.ndarray]:
        for batch in _numbered(ds.select_columns(names)).iter_batches(batch_format="numpy"):
            rows = _to_rows(batch, names)
            error = explain_not_finite(rows, names, _name_row(batch)) if refuses else None
            if error is not None:
                raise error
            yield rows

    rows, _ = streaming.sample(batches(), n_rows + held_out, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(rows))
    fitted, others = rows[np.sort(order[:n_rows])], rows[np.sort(order[n_rows:])]
    estimator.fit(fitted)
    score_sample(estimator, fitted, others)
    return estimator
