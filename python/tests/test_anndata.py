"""Embeddings of AnnData objects."""

import anndata
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

import lowland


def cells(digits):
    X = digits[0][:200]
    data = anndata.AnnData(X.copy())
    graph = lowland.neighbors(X, 12).to_csr()
    data.obsp["distances"] = graph
    data.uns["neighbors"] = {"distances_key": "distances", "params": {"metric": "euclidean", "n_neighbors": 13}}
    return data


def test_embedding_and_parameters_are_stored(digits, tmp_path):
    data = cells(digits)
    assert lowland.anndata.embed(data, lowland.LVM(max_iter=5)) is None
    assert_array_equal(data.obsm["X_lvm"], lowland.LVM(max_iter=5).fit_transform(digits[0][:200]))
    assert (data.obs["lvm_std"] >= 0).all()
    assert data.uns["lvm"]["params"]["max_iter"] == "5" and data.uns["lvm"]["neighbors_key"] == "neighbors"
    data.write_h5ad(tmp_path / "cells.h5ad")
    assert_array_equal(anndata.read_h5ad(tmp_path / "cells.h5ad").obsm["X_lvm"], data.obsm["X_lvm"])


def test_stored_graph_is_used_if_it_has_enough_neighbors(digits):
    data = cells(digits)
    # A wrong graph, so that the embedding tells whether it was used.
    data.obsp["distances"] = sparse.csr_matrix(np.roll(np.asarray(data.obsp["distances"].todense()), 50, axis=0))
    graph = data.obsp["distances"].copy()
    for i in range(200):
        graph[i, i] = 0
    graph.eliminate_zeros()
    data.obsp["distances"] = graph
    lowland.anndata.embed(data, lowland.LVM(max_iter=5, n_neighbors=5), key_added="graph")
    lowland.anndata.embed(data, lowland.LVM(max_iter=5, n_neighbors=5), key_added="own", neighbors=False)
    assert np.abs(data.obsm["X_graph"] - data.obsm["X_own"]).max() > 0
    lowland.anndata.embed(data, lowland.LVM(max_iter=5, n_neighbors=30), key_added="more")
    assert data.uns["more"]["neighbors_key"] == ""
    with pytest.raises(ValueError, match="n_neighbors=30: at most"):
        lowland.anndata.embed(data, lowland.LVM(n_neighbors=30), neighbors=True)
    with pytest.raises(ValueError, match="no neighbor graph"):
        lowland.anndata.embed(data, lowland.PCA(), neighbors=True)


def test_estimator_is_not_changed_and_can_be_reused(digits):
    model = lowland.LVM(max_iter=5, n_neighbors=5)
    first = cells(digits)
    lowland.anndata.embed(first, model)
    assert model.neighbors is None and first.uns["lvm"]["neighbors_key"] == "neighbors"
    second = anndata.AnnData(digits[0][200:300])
    lowland.anndata.embed(second, model)
    assert second.obsm["X_lvm"].shape == (100, 2) and second.uns["lvm"]["neighbors_key"] == ""


def test_use_rep_and_copy(digits):
    data = anndata.AnnData(sparse.csr_matrix(digits[0][:200]))
    data.obsm["X_pca"] = lowland.PCA(n_components=5).fit_transform(digits[0][:200])
    model = lowland.SpectralEmbedding()
    result = lowland.anndata.embed(data, clone(model), copy=True)
    assert "X_spectral" not in data.obsm and "X_spectral" in result.obsm
    assert_array_equal(result.obsm["X_spectral"], clone(model).fit_transform(data.obsm["X_pca"]))
    lowland.anndata.embed(data, clone(model), use_rep="X")
    assert_array_equal(data.obsm["X_spectral"], clone(model).fit_transform(data.X))
