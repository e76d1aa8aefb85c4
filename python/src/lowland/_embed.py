"""Embeddings in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._registry import DEFAULT_METHOD, ESTIMATORS


def embed(X: Any, *, method: str = DEFAULT_METHOD, return_model: bool = False, **params: Any) -> Any:
    """Compute an embedding of the rows of X.

    A shorthand for ``TSNE(**params).fit_transform(X)`` and its counterparts of the other methods.

    Parameters
    ----------
    X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
    method : str, default='tsne'
        Name of the method, as on the command line (``lowland methods``), or of its estimator class.
    return_model : bool, default=False
        Whether to return the fitted estimator as well.
    **params
        Parameters of the estimator, such as ``n_components``, ``perplexity``, ``metric`` or ``random_state``.

    Returns
    -------
    embedding : ndarray of shape (n_samples, n_components)
    model : estimator
        The fitted estimator, which can ``transform`` new rows. Only if ``return_model=True``.

    Examples
    --------
    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> lowland.embed(X[:300]).shape
    (300, 2)
    >>> embedding, model = lowland.embed(X[:300], method="lvm", max_iter=20, return_model=True)
    >>> model.embedding_std_.shape
    (300,)
    """
    model = estimator_class(method)(**params).fit(X)
    embedding: np.ndarray = model.embedding_
    return (embedding, model) if return_model else embedding


def estimator_class(method: str, parameter: str = "method") -> Any:
    """Return the estimator class of a method by its name on the command line or by the name of the class."""
    from . import estimators

    names = {**ESTIMATORS, **{name: name for name in ESTIMATORS.values()}}
    if method not in names:
        raise ValueError(f"{parameter}={method!r}: expected one of {', '.join(map(repr, ESTIMATORS))}")
    return getattr(estimators, names[method])
