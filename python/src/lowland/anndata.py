"""Maps of single-cell data: reads an AnnData, writes the map into it."""

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
    """Makes a map of the cells and writes it into `adata`.

    Parameters
    ----------
    adata : AnnData
    estimator : an estimator of lowland; LVM() unless given
    use_rep : the representation: ``'X'`` or a key of ``obsm``
        Unless given: ``X_pca`` where it is there, else ``X``.
    neighbors : whether to take the graph that is there (``scanpy.pp.neighbors``) instead of searching
        ``'auto'``: where it has enough neighbours for the method.
    neighbors_key : where in ``uns`` it is described
    key_added : the map goes to ``obsm['X_<key>']``, how it was made to ``uns['<key>']``, standard deviations to
        ``obs['<key>_std']``. Unless given: the method's name.
    copy : write into a copy and return that

    >>> import anndata, lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> cells = anndata.AnnData(X[:200])
    >>> lowland.anndata.embed(cells, lowland.LVM(max_iter=20))
    >>> cells.obsm["X_lvm"].shape
    (200, 2)
    """
    from . import __version__
    from .estimators import LVM

    adata = adata.copy() if copy else adata
    estimator = LVM() if estimator is None else estimator
    if use_rep is None:
        use_rep = "X_pca" if "X_pca" in adata.obsm else "X"
    rows = adata.X if use_rep == "X" else adata.obsm[use_rep]
    graph = _graph(adata, neighbors_key) if neighbors else None
    usable = graph is not None and "neighbors" in estimator.get_params() and estimator.neighbors is None
    if neighbors is True and not usable:
        name = type(estimator).__name__
        raise ValueError(f"there is no neighbour graph in uns[{neighbors_key!r}] that {name} can use")
    taken = usable and (neighbors is True or graph.n_neighbors >= _wanted(estimator))
    if taken:
        estimator.set_params(neighbors=graph)
    try:
        estimator.fit(rows)
    finally:
        if taken:
            # It is the graph of these cells: the next ones that the estimator is given have another.
            estimator.set_params(neighbors=None)
    key = key_added or estimator._method
    adata.obsm[f"X_{key}"] = estimator.embedding_
    if hasattr(estimator, "embedding_std_"):
        adata.obs[f"{key}_std"] = estimator.embedding_std_
    adata.uns[key] = {
        "method": estimator._method,
        "version": __version__,
        "params": dict(estimator.model_.params),
        "preparation": dict(estimator.model_.preparation),
        "use_rep": use_rep,
        "neighbors_key": neighbors_key if taken else "",
        "notes": list(estimator.notes_),
    }
    return adata if copy else None


def _graph(adata: Any, key: str) -> NeighborGraph | None:
    """The graph that scanpy left."""
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
        # A metric of scanpy's that we do not know: the distances are what they are.
        return NeighborGraph.from_csr(matrix)


def _wanted(estimator: Any) -> float:
    """Neighbours the method will ask for."""
    params = estimator.get_params()
    perplexity = params.get("perplexity", 0)
    largest = max(perplexity) if isinstance(perplexity, (list, tuple)) else perplexity
    return max(params.get("n_neighbors", 0), 3 * largest)
