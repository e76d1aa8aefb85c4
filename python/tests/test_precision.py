"""Values that float32 cannot hold: large offsets with a small spread."""

import numpy as np
import pytest
from conftest import class_name, estimators
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.decomposition import PCA as SklearnPCA

import lowland

#: 500 moments within ten minutes, in seconds since 1970.
TIMES = 1.7e9 + np.sort(np.random.default_rng(0).uniform(0, 600, size=500))


def test_offset_does_not_change_principal_components(few):
    expected = lowland.PCA().fit(few)
    shifted = lowland.PCA().fit(few + 1e9)
    assert_allclose(np.abs(shifted.embedding_), np.abs(expected.embedding_), atol=1e-2)
    assert shifted.embedding_.std(axis=0).min() > 1
    assert_allclose(shifted.mean_, few.mean(axis=0) + 1e9, rtol=0, atol=1e-4)
    assert_allclose(shifted.inverse_transform(shifted.embedding_), expected.inverse_transform(expected.embedding_) + 1e9, atol=0.5)


def test_timestamps_stay_distinct():
    rows = np.column_stack([TIMES, np.zeros(500)])
    model = lowland.PCA(n_components=1).fit(rows)
    assert len(np.unique(model.embedding_)) == 500
    assert abs(np.corrcoef(model.embedding_[:, 0], TIMES)[0, 1]) > 0.999999
    assert_allclose(np.abs(model.transform(rows[:20] + [1.0, 0.0]) - model.embedding_[:20]), 1, atol=1e-3)
    assert len(np.unique(lowland.PCA(n_components=1, standardize=True).fit_transform(rows))) == 500
    graph = lowland.neighbors(rows, 1)
    gaps = np.diff(TIMES)
    assert_allclose(graph.distances[0, 0], gaps[0], rtol=1e-3)


@pytest.mark.parametrize("estimator", estimators(perplexity=10.0), ids=class_name)
@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_every_method_sees_the_spread(estimator, few):
    if type(estimator) in (lowland.TruncatedSVD, lowland.TSM):
        pytest.skip("depends on the origin, so that an offset changes the result")
    embedding = estimator.fit(few[:, :20] + 2.0**30).embedding_
    # Not all rows may collapse onto a few positions.
    assert len(np.unique(embedding.round(9), axis=0)) > 100


def test_error_names_a_value_that_is_too_large(few):
    for rows in (few.copy(), sparse.csr_matrix(few)):
        rows[3, 4] = 1e39
        with pytest.raises(ValueError, match="row 3, column 4 is 1e39"):
            lowland.PCA().fit(rows)


def test_results_of_ordinary_data_do_not_depend_on_the_precision(few):
    assert_array_equal(
        lowland.PCA().fit_transform(few).astype(np.float32), lowland.PCA().fit_transform(few.astype(np.float32))
    )


def test_attributes_are_those_of_scikit_learn(few):
    ours, theirs = lowland.PCA(n_components=5).fit(few), SklearnPCA(n_components=5).fit(few)
    for name in ("mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-4, atol=1e-6, err_msg=name)
    assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), atol=1e-3)
    assert ours.n_components_ == 5
    assert_allclose(ours.inverse_transform(ours.embedding_), theirs.inverse_transform(theirs.transform(few)), atol=1e-2)


def test_number_of_components_by_variance(few, tmp_path):
    ours, theirs = lowland.PCA(n_components=0.95).fit(few), SklearnPCA(n_components=0.95).fit(few)
    assert ours.n_components_ == theirs.n_components_ == ours.embedding_.shape[1]
    assert ours.explained_variance_ratio_.sum() >= 0.95
    ours.save(tmp_path / "model.lowland")
    assert repr(lowland.load(tmp_path / "model.lowland")) == "PCA(n_components=0.95)"
    for wrong in (1.5, -0.5, "0.95"):
        with pytest.raises(ValueError, match="n_components="):
            lowland.PCA(n_components=wrong).fit(few)


def test_truncated_svd_has_the_attributes_of_scikit_learn(few):
    from sklearn.decomposition import TruncatedSVD

    ours, theirs = lowland.TruncatedSVD(n_components=4).fit(few), TruncatedSVD(4, algorithm="arpack").fit(few)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-3, err_msg=name)
    assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), atol=1e-3)
    assert_allclose(ours.inverse_transform(ours.embedding_), theirs.inverse_transform(theirs.transform(few)), atol=1e-2)


def test_isomap_has_the_distances_of_scikit_learn(few, tmp_path):
    from sklearn.manifold import Isomap

    ours, theirs = lowland.Isomap(n_neighbors=8).fit(few), Isomap(n_neighbors=8).fit(few)
    assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-4, atol=1e-4)
    assert ours.eigenvalues_.shape == (2,) and ours.eigenvalues_[0] >= ours.eigenvalues_[1] > 0
    ours.save(tmp_path / "model.lowland")
    assert_allclose(lowland.load(tmp_path / "model.lowland").dist_matrix_, ours.dist_matrix_)


@pytest.mark.parametrize("estimator", estimators(perplexity=10.0), ids=class_name)
@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_loaded_model_has_everything(estimator, few, tmp_path):
    model = estimator.fit(few.astype(np.float32))
    model.save(tmp_path / "model.lowland")
    loaded = lowland.load(tmp_path / "model.lowland")
    # The memory estimate depends on the machine and is not part of a model. The words of a file are those of the Rust library.
    notes = [note.replace(" = ", "=") for note in model.notes_ if not note.startswith("memory: ")]
    assert [note.replace(" = ", "=") for note in loaded.notes_] == notes
    assert loaded.n_iter_ == model.n_iter_ and loaded.converged_ == model.converged_
    assert_array_equal(loaded.objectives_, model.objectives_)
    assert loaded.objective_ == model.objective_
    assert loaded.embedding_.dtype == np.float32 == loaded.transform(few[:2].astype(np.float32)).dtype
    assert_array_equal(loaded.embedding_, model.embedding_)
    left_out = {"_training_rows", "model_"}
    public = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")} - left_out
    assert {name for name in public if not hasattr(loaded, name)} == set()


def test_aliases_and_further_metrics(few):
    expected = lowland.neighbors(few, 5, metric="manhattan").indices
    for alias in ("l1", "cityblock"):
        assert_array_equal(lowland.neighbors(few, 5, metric=alias).indices, expected)
    assert_array_equal(lowland.neighbors(few, 5, metric="l2").indices, lowland.neighbors(few, 5).indices)
    p = lowland.neighbors(few, 5, metric="p", metric_params={"p": 3}).distances
    assert_array_equal(p, lowland.neighbors(few, 5, metric="minkowski", metric_params={"p": 3}).distances)


def test_haversine_and_mahalanobis_are_those_of_scikit_learn(few):
    from sklearn.neighbors import NearestNeighbors

    rng = np.random.default_rng(0)
    places = np.column_stack([rng.uniform(-1.5, 1.5, 200), rng.uniform(-3, 3, 200)])
    distances, _ = NearestNeighbors(n_neighbors=6, metric="haversine").fit(places).kneighbors(places)
    assert_allclose(lowland.neighbors(places, 5, metric="haversine").distances, distances[:, 1:], rtol=1e-3, atol=1e-5)
    rows = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
    inverse = np.linalg.inv(np.cov(rows.T))
    theirs = NearestNeighbors(n_neighbors=6, metric="mahalanobis", metric_params={"VI": inverse}, algorithm="brute")
    distances, _ = theirs.fit(rows).kneighbors(rows)
    for params in ({"VI": inverse}, {"V": np.cov(rows.T)}, None):
        ours = lowland.neighbors(rows, 5, metric="mahalanobis", metric_params=params)
        assert_allclose(ours.distances, distances[:, 1:], rtol=1e-3, err_msg=str(params))
    fitted = lowland.SpectralEmbedding(metric="mahalanobis", metric_params={"VI": inverse}, n_neighbors=10).fit(rows)
    whitened = rows @ np.linalg.cholesky(inverse)
    expected = lowland.SpectralEmbedding(n_neighbors=10).fit_transform(whitened)
    assert lowland.quality.procrustes(fitted.embedding_, expected) < 1e-4
