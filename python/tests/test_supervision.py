"""Supervised fits: what y does, in which forms, and what is refused."""

import numpy as np
import pytest
from conftest import estimators
from numpy.testing import assert_array_equal

import lowland

SUPERVISED = ["ElasticEmbedding", "LVM", "MapIt", "SpectralEmbedding", "SymmetricSNE", "TSNE", "UMAP"]


@pytest.fixture(scope="module")
def noise():
    """Rows that do not show their classes."""
    rng = np.random.default_rng(4)
    return rng.normal(size=(240, 4)), np.arange(240) % 2


def one_nn_error(points, classes):
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    return np.mean(classes[distances.argmin(axis=1)] != classes)


def test_the_estimators_with_a_target_weight_are_supervised():
    found = [type(estimator).__name__ for estimator in estimators() if "target_weight" in estimator.get_params()]
    assert sorted(found) == SUPERVISED


@pytest.mark.parametrize("name", ["TSNE", "UMAP", "LVM"])
def test_labels_pull_their_rows_together(name, noise):
    X, y = noise
    estimator = getattr(lowland, name)()
    plain, supervised = estimator.fit_transform(X), getattr(lowland, name)().fit_transform(X, y)
    assert one_nn_error(supervised, y) < one_nn_error(plain, y) - 0.2
    assert_array_equal(getattr(lowland, name)(target_weight=0.0).fit_transform(X, y), plain)


def test_forms_of_the_same_target_give_the_same_map(noise):
    pandas = pytest.importorskip("pandas")
    X, y = noise
    known = y.astype(object)
    known[::3] = None
    expected = lowland.UMAP(n_epochs=50).fit_transform(X, known)
    as_numbers = np.where(np.arange(240) % 3 == 0, -1, y)
    texts = [{None: "", 0: "0", 1: "1"}[value] for value in known]
    for target in [as_numbers, texts, pandas.Series(known), pandas.Series(known, dtype="category"), known[:, None]]:
        assert_array_equal(lowland.UMAP(n_epochs=50).fit_transform(X, target), expected)


def test_numbers_are_compared_by_their_difference(noise):
    X, _ = noise
    y = np.random.default_rng(1).normal(size=240)
    y[::5] = np.nan
    model = lowland.UMAP(n_epochs=100).fit(X, y)
    assert any("a number for 192 of 240 rows" in note for note in model.notes_)
    as_classes = lowland.UMAP(n_epochs=50, target_metric="categorical")
    with pytest.raises(ValueError, match="y: each of the 192 rows .* target_metric='numeric'"):
        as_classes.fit(X, y)


def test_new_rows_need_no_labels_and_loaded_models_place_them(noise, tmp_path):
    X, y = noise
    model = lowland.UMAP(n_epochs=50).fit(X[:200], y[:200])
    placed = model.transform(X[200:])
    model.save(tmp_path / "m.lowland")
    assert_array_equal(lowland.load(tmp_path / "m.lowland").transform(X[200:]), placed)


def test_targets_that_say_nothing_are_refused(noise):
    X, _ = noise
    umap = lowland.UMAP(n_epochs=20)
    for y, reason in [
        (np.full(240, -1), "y: all values are unknown"),
        (np.ones(240, int), "y: it has one class only, '1'"),
        (np.arange(240), "y: each of the 240 rows whose class is known has a class of its own"),
        (np.zeros(239, int), "y has 239 values, but X has 240 rows"),
        (np.zeros((240, 2)), r"y has shape \(240, 2\)"),
    ]:
        with pytest.raises(ValueError, match=reason):
            umap.fit(X, y)
    with pytest.raises(ValueError, match="target_weight=1.5: from 0"):
        lowland.UMAP(target_weight=1.5).fit(X)
    fixed = np.full((240, 2), np.nan)
    fixed[:9] = X[:9, :2]
    with pytest.raises(ValueError, match="fixed .* cannot be combined with y"):
        lowland.UMAP().fit(X, np.arange(240) % 3, fixed=fixed)


def test_rows_that_are_left_out_leave_out_their_labels(noise):
    X, y = noise
    with_gaps = X.copy()
    with_gaps[7, 2] = np.nan
    kept = np.arange(240) != 7
    with pytest.warns(lowland.DataWarning):
        found = lowland.UMAP(n_epochs=50, missing="drop").fit_transform(with_gaps, y)
    assert_array_equal(found[kept], lowland.UMAP(n_epochs=50).fit_transform(X[kept], y[kept]))


def test_reruns_of_a_supervised_fit_use_its_labels(noise, tmp_path):
    X, y = noise
    model = lowland.UMAP(n_epochs=50).fit(X, y)
    assert lowland.trust(X, model, reruns=2).unstable.shape == (240,)
    model.save(tmp_path / "m.lowland")
    with pytest.raises(ValueError, match="supervised"):
        lowland.trust(X, lowland.load(tmp_path / "m.lowland"), reruns=2)
