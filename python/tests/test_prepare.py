"""What is done to rows before a method sees them: the command line's steps as parameters."""

import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize
from test_elsewhere import PROGRAM

import lowland

STEPS = {"log1p": True, "standardize": True, "normalize": True, "pca": 12}


def by_hand(X):
    """The steps in their order, by scikit-learn; the last is left to the map."""
    return normalize(StandardScaler().fit_transform(np.log1p(X)))


def test_the_steps_are_taken_in_the_order_of_the_command_line(few):
    ours = lowland.PCA(n_components=5, **STEPS).fit_transform(few)
    assert_allclose(ours, lowland.PCA(n_components=5).fit_transform(by_hand(few)), atol=1e-4)
    # Each of them does something.
    for step in STEPS:
        rest = {name: value for name, value in STEPS.items() if name != step}
        if step == "pca":
            assert lowland.LVM(max_iter=5, **STEPS).fit(few).inverse_transform([[0.0, 0.0]]).shape == (1, 12)
        else:
            assert np.abs(lowland.PCA(n_components=5, **rest).fit_transform(few) - ours).max() > 1e-2, step


def test_new_rows_are_prepared_as_the_old_ones_were(few, digits):
    new = digits[0][150:170].astype(np.float64)
    model = lowland.PCA(n_components=5, log1p=True, standardize=True).fit(few)
    scaler = StandardScaler().fit(np.log1p(few))
    expected = lowland.PCA(n_components=5).fit(scaler.transform(np.log1p(few)))
    assert_allclose(model.transform(new), expected.transform(scaler.transform(np.log1p(new))), atol=1e-4)
    assert model.n_features_in_ == 64


def test_sparse_rows_stay_sparse_and_may_be_reduced(few):
    counts = sparse.csr_matrix(few)
    sparse_map = lowland.PCA(n_components=5, log1p=True, pca=10).fit_transform(counts)
    dense_map = lowland.PCA(n_components=5, log1p=True, pca=10).fit_transform(few)
    assert_allclose(np.abs(sparse_map), np.abs(dense_map), atol=1e-3)


@pytest.mark.skipif(PROGRAM is None, reason="LOWLAND_PROGRAM names no program")
def test_they_are_the_flags_of_the_command_line(few, tmp_path):
    old, model, out = tmp_path / "old.npy", tmp_path / "a.lowland", tmp_path / "out.npy"
    np.save(old, few.astype(np.float32))
    flags = ["--log1p", "--standardize", "--normalize", "--pca", "12", "--max-iter", "20", "--quiet", "--no-quality"]
    subprocess.run([PROGRAM, "embed", old, *flags, "--save", model, "--out", out], check=True)
    ours = lowland.LVM(max_iter=20, **STEPS).fit(few)
    again = lowland.load(model)
    assert repr(again) == repr(ours)
    assert_array_equal(again.embedding_, ours.embedding_)
    assert_array_equal(np.load(out), ours.embedding_)
    assert_array_equal(again.transform(few[:9] + 0.5), ours.transform(few[:9] + 0.5))


def test_a_graph_is_of_the_prepared_rows(few):
    graph = lowland.neighbors(by_hand(few), n_neighbors=15)
    prepared = {"log1p": True, "standardize": True, "normalize": True}
    given = lowland.SpectralEmbedding(neighbors=graph, **prepared).fit_transform(few)
    assert_allclose(given, lowland.SpectralEmbedding(**prepared).fit_transform(few), atol=1e-3)


@pytest.mark.parametrize(
    ("params", "X", "words"),
    [
        ({"pca": -1}, np.eye(9), "pca = -1: expected a whole number"),
        ({"log1p": "yes"}, np.eye(9), "log1p = yes: expected true or false"),
        ({"log1p": True}, -np.eye(9), r"row 0, column 0 is -1"),
        ({"pca": 2, "metric": "precomputed"}, 1 - np.eye(9), "must not be prepared"),
        ({"normalize": True, "metric": "levenshtein"}, list("abcdefghi"), "Leave these steps out for strings"),
    ],
)
def test_steps_that_cannot_be_taken_are_refused_with_a_reason(params, X, words):
    with pytest.raises(ValueError, match=words):
        lowland.LVM(n_neighbors=3, **params).fit(X)
