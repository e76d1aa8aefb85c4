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
    with pytest.warns(lowland.ParameterWarning, match="n_neighbors reduced from 30 to"):
        lowland.anndata.embed(data, lowland.LVM(n_neighbors=30, max_iter=5), neighbors=True)
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


def test_nothing_is_overwritten_without_being_asked(digits):
    data = anndata.AnnData(digits[0][:100].copy())
    theirs = np.ones((100, 5))
    data.obsm["X_pca"], data.uns["pca"] = theirs.copy(), {"variance": [1.0]}
    with pytest.raises(ValueError, match=r"obsm\['X_pca'\], uns\['pca'\] exists already: choose another key"):
        lowland.anndata.embed(data, lowland.PCA())
    assert_array_equal(data.obsm["X_pca"], theirs)
    assert data.uns["pca"] == {"variance": [1.0]} and set(data.obsm) == {"X_pca"}
    lowland.anndata.embed(data, lowland.PCA(), use_rep="X", key_added="mine")
    assert data.uns["mine"]["method"] == "pca"
    lowland.anndata.embed(data, lowland.PCA(), use_rep="X", overwrite=True)
    assert data.obsm["X_pca"].shape == (100, 2) and data.uns["pca"]["method"] == "pca"


def test_methods_by_name_layers_and_wrong_arguments(digits):
    data = anndata.AnnData(digits[0][:100].copy())
    data.layers["log"] = np.log1p(data.X)
    lowland.anndata.embed(data, "pca", use_rep="log")
    expected = lowland.PCA().fit_transform(data.layers["log"])
    assert_array_equal(data.obsm["X_pca"], expected)
    lowland.anndata.embed(data, "pca", layer="log", key_added="layer")
    assert_array_equal(data.obsm["X_layer"], expected)
    assert data.uns["layer"]["use_rep"] == "log"
    for arguments, message in [
        (("umaps",), "estimator='umaps': expected one of 'tsne', "),
        ((lowland.PCA,), r"got PCA: call it, PCA\(\)"),
        ((3,), "got int"),
    ]:
        with pytest.raises(ValueError, match=message):
            lowland.anndata.embed(data, *arguments)
    with pytest.raises(ValueError, match="use_rep='counts': expected one of 'X', 'X_pca', 'X_layer', 'log'"):
        lowland.anndata.embed(data, "svd", use_rep="counts")
    with pytest.raises(ValueError, match="layer='counts': expected one of 'log'"):
        lowland.anndata.embed(data, "svd", layer="counts")


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_backed_objects(make, digits, tmp_path):
    data = anndata.AnnData(make(digits[0][:100]))
    data.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    lowland.anndata.embed(backed, "pca")
    assert_array_equal(backed.obsm["X_pca"], lowland.PCA().fit_transform(make(digits[0][:100])))
    copied = lowland.anndata.embed(backed, "svd", use_rep="X", copy=True)
    assert "X_svd" in copied.obsm and "X_svd" not in backed.obsm and not copied.isbacked


def test_covariances_are_stored(digits):
    data = anndata.AnnData(digits[0][:100].copy())
    lowland.anndata.embed(data, lowland.LLLVM(max_iter=3, starts=1))
    assert data.obsm["lllvm_cov"].shape == (100, 4) and "lllvm_std" in data.obs


def test_graph_of_another_representation_is_not_used(digits):
    data = cells(digits)
    data.layers["other"] = data.X[:, ::-1].copy()
    lowland.anndata.embed(data, lowland.LVM(max_iter=5, n_neighbors=5), use_rep="other")
    assert data.uns["lvm"]["neighbors_key"] == ""
