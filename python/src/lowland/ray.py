"""Ray: fit a sample in this process, place all rows with actors that each hold the model.

A Ray dataset has columns of numbers, or one column of arrays (``ray.data.from_numpy`` makes one, named ``data``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _input

_NAMES = ("projection_x", "projection_y", "projection_z")


def _name(coordinate: int) -> str:
    return _NAMES[coordinate] if coordinate < len(_NAMES) else f"projection_{coordinate + 1}"


def _to_rows(batch: dict[str, np.ndarray], features: Sequence[str]) -> np.ndarray:
    columns = [np.asarray(batch[name]) for name in features]
    if len(columns) == 1 and (columns[0].ndim == 2 or columns[0].dtype == object):
        return columns[0] if columns[0].ndim == 2 else np.stack(list(columns[0]))
    return np.column_stack(columns)


class _Placer:
    """An actor that holds the model."""

    def __init__(self, model: Any, features: list[str], keep: list[str]) -> None:
        import ray

        self.model, self.features, self.keep = ray.get(model), features, keep

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        placed = np.asarray(self.model.transform(_to_rows(batch, self.features)))
        out = {name: batch[name] for name in self.keep}
        out.update({_name(c): placed[:, c] for c in range(placed.shape[1])})
        return out


def _features(ds: Any, features: Sequence[str] | str | None, keep: Sequence[str]) -> list[str]:
    if isinstance(features, str):
        features = [features]
    available = list(ds.columns())
    names = [name for name in available if name not in keep] if features is None else list(features)
    unknown = [name for name in [*names, *keep] if name not in available]
    if unknown:
        raise ValueError(f"no column {unknown[0]!r}; available: {', '.join(available)}")
    if not names:
        raise ValueError("no column is left for the rows")
    return names


def transform(
    model: Any,
    ds: Any,
    features: Sequence[str] | str | None = None,
    *,
    keep: Sequence[str] = (),
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
        Columns to keep beside the coordinates, such as an id.
    concurrency : int or (int, int), default=1
        Number of actors, or the least and the most.
    batch_size : int, default=8192

    Returns
    -------
    placed : ray.data.Dataset
        The kept columns, then ``projection_x``, ``projection_y``, ... Lazy, as all datasets of Ray.
    """
    import ray

    if not hasattr(model, "embedding_"):
        raise ValueError("the estimator has not been fitted: call fit, or lowland.ray.fit_sample")
    names = _features(ds, features, keep)
    return ds.map_batches(
        _Placer,
        fn_constructor_args=(ray.put(model), names, list(keep)),
        concurrency=concurrency,
        batch_size=batch_size,
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
        :func:`lowland.streaming.held_out_recall`.
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

    names, seed = _features(ds, features, keep), _input.seed(random_state)
    batches = (_to_rows(batch, names) for batch in ds.select_columns(names).iter_batches(batch_format="numpy"))
    rows, _ = streaming.sample(batches, int(n_rows) + int(held_out), random_state=seed)
    order = np.random.default_rng(seed).permutation(len(rows))
    fitted, others = rows[np.sort(order[:n_rows])], rows[np.sort(order[n_rows:])]
    estimator.fit(fitted)
    if len(others) and len(fitted) > 30:
        estimator.held_out_recall_ = streaming.held_out_recall(estimator, fitted, others)
    return estimator
