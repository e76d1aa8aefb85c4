"""Embeddings of single-cell data in AnnData objects."""

from __future__ import annotations

from typing import Any

from ._graph import NeighborGraph


def embed(
    adata: Any,
    estimator: Any = None,
    *,
    use_rep: str | None = None,
    neighbors: bool | str = "auto",
    neighbors_key: str = "neighbors",
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """Compute an embedding of the cells and store it in `adata`.

    Parameters
    ----------
    adata : AnnData
    estimator : estimator, default=None
        An estimator of this package. None means ``TSNE()``.
    use_rep : str, default=None
        The representation to embed: ``'X'`` or a key of ``obsm``. None means ``'X_pca'`` if it exists, else ``'X'``.
    neighbors : bool or 'auto', default='auto'
        Whether to use the neighbor graph stored by ``scanpy.pp.neighbors`` instead of searching. With ``'auto'``, the
        graph is used if it has enough neighbors for the method.
    neighbors_key : str, default='neighbors'
        Key of the graph in ``uns``.
    key_added : str, default=None
        The embedding is stored in ``obsm['X_<key>']``, its parameters in ``uns['<key>']`` and standard deviations in
        ``obs['<key>_std']``. None means the name of the method.
    copy : bool, default=False
        Whether to return a copy instead of changing `adata`.

    Returns
    -------
    adata : AnnData or None
        The copy if ``copy=True``, else None.

    Examples
    --------
    >>> import anndata, lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> cells = anndata.AnnData(X[:200])
    >>> lowland.anndata.embed(cells)
    >>> cells.obsm["X_tsne"].shape
    (200, 2)
    """
    from . import __version__
    from .estimators import TSNE

    adata = adata.copy() if copy else adata
    estimator = TSNE() if estimator is None else estimator
    if use_rep is None:
        use_rep = "X_pca" if "X_pca" in adata.obsm else "X"
    rows = adata.X if use_rep == "X" else adata.obsm[use_rep]
    graph = _stored_graph(adata, neighbors_key) if neighbors else None
    usable = graph is not None and "neighbors" in estimator.get_params() and estimator.neighbors is None
    if neighbors is True and not usable:
        name = type(estimator).__name__
        raise ValueError(f"there is no neighbor graph in uns[{neighbors_key!r}] that {name} can use")
    use_graph = usable and (neighbors is True or graph.n_neighbors >= _required_neighbors(estimator))
    if use_graph:
        estimator.set_params(neighbors=graph)
    try:
        estimator.fit(rows)
    finally:
        if use_graph:
            # The graph belongs to these cells; the estimator may be used for others.
            estimator.set_params(neighbors=None)
    key = key_added or estimator._method
    adata.obsm[f"X_{key}"] = estimator.embedding_
    if hasattr(estimator, "embedding_std_"):
        adata.obs[f"{key}_std"] = estimator.embedding_std_
    adata.uns[key] = {
        "method": estimator._method,
        "version": __version__,
        "params": dict(estimator.model_.params),
        "preparation": dict(estimator.model_.preprocessing),
        "use_rep": use_rep,
        "neighbors_key": neighbors_key if use_graph else "",
        "notes": list(estimator.notes_),
    }
    return adata if copy else None


def _stored_graph(adata: Any, key: str) -> NeighborGraph | None:
    """Return the neighbor graph that scanpy stored, if any."""
    if key not in adata.uns:
        return None
    entry = adata.uns[key]
    matrix = adata.obsp.get(entry.get("distances_key", "distances"))
    if matrix is None:
        return None
    metric = str(entry.get("params", {}).get("metric", "precomputed"))
    try:
        return NeighborGraph.from_csr(matrix, metric)
    except ValueError:
        # scanpy has metrics that this package does not have; the distances can be used all the same.
        return NeighborGraph.from_csr(matrix)


def _required_neighbors(estimator: Any) -> float:
    """Return the number of neighbors that the method searches for."""
    params = estimator.get_params()
    perplexity = params.get("perplexity", 0)
    largest = max(perplexity) if isinstance(perplexity, (list, tuple)) else perplexity
    return max(params.get("n_neighbors", 0), 3 * largest)
