"""Known positions of some rows, exact norms and layers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lowland


@pytest.fixture
def known(few):
    positions = np.full((len(few), 2), np.nan)
    rows = np.arange(0, len(few), 5)
    positions[rows] = np.random.default_rng(0).normal(size=(len(rows), 2))
    return positions


@pytest.mark.parametrize("name", ["LVM", "TSM", "Isomap", "PCA"])
def test_known_positions_are_kept_and_others_are_placed(few, known, name, tmp_path):
    few = np.asarray(few, dtype=np.float64)
    model = getattr(lowland, name)().fit(few, fixed=known)
    rows = ~np.isnan(known[:, 0])
    assert_array_equal(model.embedding_[rows], known[rows])
    assert np.isfinite(model.embedding_).all()
    model.save(tmp_path / "model.lowland")
    again = lowland.load(tmp_path / "model.lowland")
    assert_array_equal(again.transform(few), model.embedding_)


def test_one_corner_per_class_classifies_the_others():
    X, y = lowland.datasets.load("digits", return_X_y=True)
    _, codes = np.unique(y, return_inverse=True)
    known = np.full((len(X), 10), np.nan)
    known[::20] = np.eye(10)[codes[::20]]
    scores = lowland.LVM(n_components=10).fit_transform(X, fixed=known)
    assert_allclose(scores.sum(axis=1), 1, atol=1e-3)
    # Chance is 0.1; 0.82 to 0.88 for five random draws of 5 %.
    assert (scores.argmax(axis=1) == codes).mean() > 0.75


def test_unusable_positions_are_worded_in_parameters(few, known):
    with pytest.raises(ValueError, match="n_components"):
        lowland.LVM(n_components=3).fit(few, fixed=known)
    with pytest.raises(ValueError, match="n_neighbors=20: it has no effect"):
        lowland.LVM(n_neighbors=20).fit(few, fixed=known)
    with pytest.raises(ValueError, match="rows of fixed"):
        lowland.LVM().fit(few, fixed=known[:5])
    with pytest.raises(ValueError, match="cannot be combined with landmarks"):
        lowland.LVM(landmarks=20).fit(few, fixed=known)


def test_exact_norms_and_layers(few):
    few = np.asarray(few, dtype=np.float64)
    model = lowland.TSM(3, norms="exact", layers=[8, 5], max_iter=10).fit(few)
    norms = np.linalg.norm(few.astype(np.float32).astype(np.float64), axis=1)
    assert_allclose(np.linalg.norm(model.embedding_, axis=1), norms, rtol=1e-12)
    assert any("layer 2 of 3" in note for note in model.notes_)


def test_isomap_reports_negative_eigenvalues(few):
    notes = lowland.Isomap(n_components=10, n_neighbors=3).fit(few).notes_
    assert any("negative" in note and "eigenvalue is" in note for note in notes), notes
