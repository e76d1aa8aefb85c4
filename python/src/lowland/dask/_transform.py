"""Placement of new rows, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _input, _parameters
from .._held_out import FarRows, far_rows_of, score_sample, without_sample
from .._validation import check_feature_names
from ._rows import LoadedRows, check_names, column_names, delayed_blocks, draw, draw_others, get_client, to_rows


def _place(model: Any, block: Any, number: int, names: list[Any] | None) -> np.ndarray:
    check_names(block, number, names)
    if len(block) == 0:
        return np.empty((0, model.embedding_.shape[1]))
    try:
        return np.asarray(model.transform(block))
    except ValueError as error:
        raise ValueError(f"block {number}: {error}") from error


def _find_far(held: tuple[Any, FarRows], block: Any, number: int, names: list[Any] | None) -> np.ndarray:
    check_names(block, number, names)
    model, known = held
    try:
        return known.find(model, to_rows(block)) if len(block) else np.empty(0, dtype=bool)
    except ValueError as error:
        raise ValueError(f"block {number}: {error}") from error


def _by_blocks(function: Any, held: Any, X: Any, client: Any, width: tuple[int, ...], dtype: Any) -> Any:
    """Return a dask array of what a function of something that every worker holds returns for each block."""
    import dask
    import dask.array as da

    if client is None:
        try:
            client = get_client(None)
        except (RuntimeError, ImportError):
            client = None
    blocks, names = delayed_blocks(X), column_names(X)
    held = dask.delayed(held, pure=False) if client is None else client.scatter(held, broadcast=True, hash=False)
    made = dask.delayed(function, pure=False)
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(blocks)
    arrays = [
        da.from_delayed(made(held, block, number, names), shape=(rows, *width), dtype=dtype)
        for number, (block, rows) in enumerate(zip(blocks, lengths))
    ]
    return da.concatenate(arrays, axis=0)


def _check_fitted(model: Any, X: Any) -> None:
    if not hasattr(model, "embedding_"):
        raise ValueError("the estimator has not been fitted: call fit, or lowland.dask.fit_sample")
    if column_names(X) is not None and hasattr(model, "feature_names_in_"):
        # The names are known before anything is computed.
        check_feature_names(model, X._meta, reset=False)


def transform(model: Any, X: Any, *, client: Any = None) -> Any:
    """Place the rows of a dask array or dataframe on the map of a fitted estimator.

    The result is lazy: a dask array with the chunks of X. The model is sent to each worker once. Without a client, dask's own schedulers
    compute the blocks.

    Parameters
    ----------
    model : estimator
        A fitted estimator of lowland.
    X : dask array or dataframe of n rows
    client : distributed.Client, default=None
        None means the current one, if there is one.

    Returns
    -------
    embedding : dask array of shape (n, n_components)

    Examples
    --------
    >>> import dask.array as da, lowland, lowland.dask
    >>> X, _ = lowland.datasets.load("digits", return_X_y=True)
    >>> model = lowland.PCA().fit(X[:500])
    >>> placed = lowland.dask.transform(model, da.from_array(X, chunks=(400, -1)))
    >>> placed.shape, bool((placed.compute() == model.transform(X)).all())
    ((1797, 2), True)
    """
    _check_fitted(model, X)
    # The coordinates of rows in single precision are in single precision.
    dtypes = [X.dtype] if hasattr(X, "dtype") else list(X.dtypes)
    dtype = np.float32 if all(dtype == np.float32 for dtype in dtypes) else np.float64
    return _by_blocks(_place, without_sample(model), X, client, (model.embedding_.shape[1],), dtype)


def far_rows(model: Any, X: Any, *, client: Any = None) -> Any:
    """Tell which rows of a dask array or dataframe are far from all rows that an estimator was fitted to.

    The result is lazy. Each row is compared with all rows of the fit. Many more far rows than ``model.far_rows_.fitted_share`` mean that
    the sample has missed something.

    Parameters
    ----------
    model : estimator
        Fitted by :func:`fit_sample`.
    X : dask array or dataframe of n rows
    client : distributed.Client, default=None
        None means the current one, if there is one.

    Returns
    -------
    far : dask array of bool of shape (n,)
    """
    _check_fitted(model, X)
    return _by_blocks(_find_far, (without_sample(model), far_rows_of(model)), X, client, (), bool)


def fit_sample(
    estimator: Any, X: Any, n_rows: int, *, held_out: int = 1000, random_state: Any = None, client: Any = None
) -> Any:
    """Fit an estimator to a sample of the rows of a dask array or dataframe, and score other rows.

    The sample is drawn with a seed, in one pass over the blocks, and does not depend on the number of workers. The fit runs in this
    process, and so does the score: only the two samples leave the workers.

    Parameters
    ----------
    estimator : estimator
        An estimator of lowland, which is fitted and returned.
    X : dask array or dataframe
    n_rows : int
        Number of rows to fit; all, if there are no more.
    held_out : int, default=1000
        Number of other rows that are placed and scored; 0 for none.
    random_state : int, RandomState instance or Generator, default=None
        Seed of the sample. None means the seed 0.
    client : distributed.Client, default=None
        None means the current one.

    Returns
    -------
    estimator : estimator
        With the numbers of the rows of the sample in ``sample_rows_``, the scores of :func:`lowland.streaming.held_out_recall` in
        ``held_out_recall_``, and :class:`lowland.streaming.FarRows` in ``far_rows_`` (None where the rows are too few, or cannot be
        compared with others). If X is a dataframe, its columns are the names of the features.
    """
    wanted, held_out = _parameters.integer("n_rows", n_rows, at_least=2), _parameters.integer("held_out", held_out, at_least=0)
    client, seed = get_client(client), _input.seed(random_state)
    rows = LoadedRows(X, client)
    if rows.n < 2:
        raise ValueError(f"X has {rows.n} row: expected at least 2")
    count = min(wanted, rows.n)
    left = min(held_out, rows.n - count)
    places = list(zip(rows.blocks, rows.first_rows()))
    drawn = client.gather([client.submit(draw, block, first, rows.n, count, seed, pure=False) for block, first in places])
    left_out = client.gather(
        [client.submit(draw_others, block, first, rows.n, count, left, seed, pure=False) for block, first in places]
    )
    sample = np.concatenate([values for _, values in drawn])
    estimator.fit(sample if rows.names is None else _named(sample, rows.names))
    estimator.sample_rows_ = np.concatenate([numbers for numbers, _ in drawn])
    others = np.concatenate(left_out)
    score_sample(estimator, sample, others if rows.names is None else _named(others, rows.names))
    return estimator


def _named(rows: np.ndarray, names: list[Any]) -> Any:
    from pandas import DataFrame

    return DataFrame(rows, columns=names)
