"""Preprocessing steps as parameters of the estimators."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize

import lowland

STEPS = {"log1p": True, "standardize": True, "normalize": True, "pca": 12}


def preprocess(X):
    """Apply the first three steps with scikit-learn."""
    return normalize(StandardScaler().fit_transform(np.log1p(X)))


def test_steps_are_applied_in_order(few):
    expected = lowland.PCA(n_components=5, **STEPS).fit_transform(few)
    assert_allclose(expected, lowland.PCA(n_components=5).fit_transform(preprocess(few)), atol=1e-4)
    # Leaving out any of them changes the result.
    for step in STEPS:
        rest = {name: value for name, value in STEPS.items() if name != step}
        if step == "pca":
            assert lowland.LVM(max_iter=5, **STEPS).fit(few).inverse_transform([[0.0, 0.0]]).shape == (1, 64)
        else:
            assert np.abs(lowland.PCA(n_components=5, **rest).fit_transform(few) - expected).max() > 1e-2, step


def test_new_rows_are_preprocessed_like_training_rows(few, digits):
    new = digits[0][150:170].astype(np.float64)
    model = lowland.PCA(n_components=5, log1p=True, standardize=True).fit(few)
    scaler = StandardScaler().fit(np.log1p(few))
    expected = lowland.PCA(n_components=5).fit(scaler.transform(np.log1p(few)))
    assert_allclose(model.transform(new), expected.transform(scaler.transform(np.log1p(new))), atol=1e-4)
    assert model.n_features_in_ == 64


def test_sparse_and_dense_rows_give_same_result(few):
    counts = sparse.csr_matrix(few)
    from_sparse = lowland.PCA(n_components=5, log1p=True, pca=10).fit_transform(counts)
    from_dense = lowland.PCA(n_components=5, log1p=True, pca=10).fit_transform(few)
    assert_allclose(np.abs(from_sparse), np.abs(from_dense), atol=1e-3)


def test_neighbors_are_those_of_preprocessed_rows(few):
    graph = lowland.neighbors(preprocess(few), n_neighbors=15)
    steps = {"log1p": True, "standardize": True, "normalize": True}
    embedding = lowland.SpectralEmbedding(neighbors=graph, **steps).fit_transform(few)
    assert_allclose(embedding, lowland.SpectralEmbedding(**steps).fit_transform(few), atol=1e-3)


@pytest.mark.parametrize(
    ("params", "X", "message"),
    [
        ({"pca": -1}, np.eye(9), "pca=-1: expected an integer, at least 0"),
        ({"log1p": "yes"}, np.eye(9), "log1p='yes': expected True or False"),
        ({"log1p": True}, -np.eye(9), r"row 0, column 0 is -1"),
        ({"pca": 2, "metric": "precomputed"}, 1 - np.eye(9), "cannot be preprocessed"),
        ({"normalize": True, "metric": "levenshtein"}, list("abcdefghi"), "Leave out these steps for strings"),
    ],
)
def test_invalid_steps_raise(params, X, message):
    with pytest.raises(ValueError, match=message):
        lowland.LVM(n_neighbors=3, **params).fit(X)
