"""AnnData, and the command line."""

import os
import subprocess

import anndata
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

import lowland
from conftest import estimators

PROGRAM = os.environ.get("LOWLAND_PROGRAM")


def command(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True)


@pytest.mark.skipif(PROGRAM is None, reason="LOWLAND_PROGRAM names no program")
@pytest.mark.parametrize("estimator", estimators(), ids=lambda estimator: estimator._method)
def test_models_go_from_python_to_the_command_line_and_back(estimator, few, digits, tmp_path):
    old, new, model, out = (tmp_path / name for name in ("old.npy", "new.npy", "a.lowland", "out.npy"))
    np.save(old, few.astype(np.float32))
    np.save(new, digits[0][150:170])
    estimator.set_params(random_state=3).fit(few)
    estimator.save(model)
    command("transform", model, new, "--out", out, "--quiet")
    assert_array_equal(np.load(out), estimator.transform(digits[0][150:170].astype(np.float64)))
    flags = [f"--{name.replace('_', '-')}={estimator.get_params()[name]}" for name in ("max_iter", "inducing")
             if name in estimator.get_params()]
    theirs = tmp_path / "b.lowland"
    command("embed", old, "--method", estimator._method, "--seed", 3, *flags, "--save", theirs, "--out", out,
            "--quiet", "--no-quality")
    again = lowland.load(theirs)
    assert type(again) is type(estimator)
    assert_array_equal(again.embedding_, estimator.embedding_)
    assert_array_equal(np.load(out), estimator.embedding_)
    assert repr(again) == repr(estimator)


def cells(digits):
    X = digits[0][:200]
    data = anndata.AnnData(X.copy())
    graph = lowland.neighbors(X, 12).to_csr()
    data.obsp["distances"] = graph
    data.uns["neighbors"] = {"distances_key": "distances", "params": {"metric": "euclidean", "n_neighbors": 13}}
    return data


def test_a_map_is_written_into_anndata_with_how_it_was_made(digits, tmp_path):
    data = cells(digits)
    assert lowland.anndata.embed(data, lowland.LVM(max_iter=5)) is None
    assert_array_equal(data.obsm["X_lvm"], lowland.LVM(max_iter=5).fit_transform(digits[0][:200]))
    assert (data.obs["lvm_std"] >= 0).all()
    assert data.uns["lvm"]["params"]["max_iter"] == "5" and data.uns["lvm"]["neighbors_key"] == "neighbors"
    data.write_h5ad(tmp_path / "cells.h5ad")
    assert_array_equal(anndata.read_h5ad(tmp_path / "cells.h5ad").obsm["X_lvm"], data.obsm["X_lvm"])


def test_an_existing_graph_is_used_where_it_has_enough_neighbours(digits):
    data = cells(digits)
    # Far from the true neighbours, so that it shows who was asked.
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
    with pytest.raises(ValueError, match="n_neighbors = 30: at most"):
        lowland.anndata.embed(data, lowland.LVM(n_neighbors=30), neighbors=True)
    with pytest.raises(ValueError, match="no neighbour graph"):
        lowland.anndata.embed(data, lowland.PCA(), neighbors=True)


def test_an_estimator_is_left_as_it_was_given_and_takes_the_next_cells(digits):
    model = lowland.LVM(max_iter=5, n_neighbors=5)
    first = cells(digits)
    lowland.anndata.embed(first, model)
    assert model.neighbors is None and first.uns["lvm"]["neighbors_key"] == "neighbors"
    second = anndata.AnnData(digits[0][200:300])
    lowland.anndata.embed(second, model)
    assert second.obsm["X_lvm"].shape == (100, 2) and second.uns["lvm"]["neighbors_key"] == ""


def test_the_representation_can_be_chosen_and_the_input_left_alone(digits):
    data = anndata.AnnData(sparse.csr_matrix(digits[0][:200]))
    data.obsm["X_pca"] = lowland.PCA(n_components=5).fit_transform(digits[0][:200])
    model = lowland.SpectralEmbedding()
    result = lowland.anndata.embed(data, clone(model), copy=True)
    assert "X_spectral" not in data.obsm and "X_spectral" in result.obsm
    assert_array_equal(result.obsm["X_spectral"], clone(model).fit_transform(data.obsm["X_pca"]))
    lowland.anndata.embed(data, clone(model), use_rep="X")
    assert_array_equal(data.obsm["X_spectral"], clone(model).fit_transform(data.X))
