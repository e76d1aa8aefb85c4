"""Placement of new rows, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _input
from ._rows import LoadedRows, delayed_blocks, draw, get_client


def _place(model: Any, block: Any, number: int) -> np.ndarray:
    if len(block) == 0:
        return np.empty((0, model.embedding_.shape[1]))
    try:
        return np.asarray(model.transform(block))
    except ValueError as error:
        raise ValueError(f"block {number}: {error}") from error


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
    import dask
    import dask.array as da

    if not hasattr(model, "embedding_"):
        raise ValueError("the estimator has not been fitted: call fit, or lowland.dask.fit_sample")
    if client is None:
        try:
            client = get_client(None)
        except (RuntimeError, ImportError):
            client = None
    blocks = delayed_blocks(X)
    held = dask.delayed(model, pure=False) if client is None else client.scatter(model, broadcast=True, hash=False)
    place = dask.delayed(_place, pure=False)
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(blocks)
    width = model.embedding_.shape[1]
    dtype = np.asarray(model.transform(np.zeros((1, model.n_features_in_), dtype=np.float64))).dtype
    placed = [
        da.from_delayed(place(held, block, number), shape=(rows, width), dtype=dtype)
        for number, (block, rows) in enumerate(zip(blocks, lengths))
    ]
    return da.concatenate(placed, axis=0)


def fit_sample(estimator: Any, X: Any, n_rows: int, *, random_state: Any = None, client: Any = None) -> Any:
    """Fit an estimator to a sample of the rows of a dask array or dataframe.

    The sample is drawn with a seed, in one pass over the blocks, and does not depend on the number of workers. The fit runs in this
    process.

    Parameters
    ----------
    estimator : estimator
        An estimator of lowland, which is fitted and returned.
    X : dask array or dataframe
    n_rows : int
        Number of rows to fit; all, if there are no more.
    random_state : int, RandomState instance or Generator, default=None
        Seed of the sample. None means the seed 0.
    client : distributed.Client, default=None
        None means the current one.

    Returns
    -------
    estimator : estimator
        With the numbers of the rows of the sample in ``sample_rows_``.
    """
    client = get_client(client)
    rows = LoadedRows(X, client)
    count, seed = min(int(n_rows), rows.n), _input.seed(random_state)
    if count < 2:
        raise ValueError(f"n_rows={n_rows}: expected at least 2 rows")
    pieces = [
        client.submit(draw, block, first, rows.n, count, seed, pure=False)
        for block, first in zip(rows.blocks, rows.first_rows())
    ]
    drawn = client.gather(pieces)
    estimator.fit(np.concatenate([values for _, values in drawn]))
    estimator.sample_rows_ = np.concatenate([numbers for numbers, _ in drawn])
    return estimator
