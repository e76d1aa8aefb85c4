"""lowland.trust: reliability of embeddings."""

import numpy as np
import pytest
import scipy.sparse

import lowland


@pytest.fixture(scope="module")
def torn_sheet():
    X = np.random.default_rng(0).random((1200, 2))
    return X, X + 0.5 * (X[:, :1] > 0.5) * [[1, 0]]


def test_a_tear_is_found(torn_sheet):
    found = lowland.trust(*torn_sheet)
    assert [island.points for island in found.islands] == sorted([island.points for island in found.islands], reverse=True)
    assert [gap.verdict for gap in found.gaps] == ["bridged"]
    assert found.gaps[0].islands == (1, 2)
    assert "connected in the data" in found.summary and repr(found) == found.summary
    flagged = found.flagged == 1
    assert flagged.sum() > 20
    assert np.abs(torn_sheet[0][flagged, 0] - 0.5).max() < 0.12
    assert set(found.columns) == set(found.meanings)


def test_the_numbers_that_islands_and_flags_are_found_by(torn_sheet):
    X, Y = torn_sheet
    found = lowland.trust(X, Y)
    between = np.linalg.norm(Y[:, None] - Y, axis=2)
    assert found.gap_width == pytest.approx(3 * np.median(np.sort(between, axis=1)[:, 5]), rel=1e-5)
    assert (found.reach, found.min_island) == (75, 15)
    # The map moves no point against its neighbors, so that the null has hardly any noise.
    assert 0 < found.null_noise < 0.1
    noisy = lowland.trust(X, Y + np.random.default_rng(1).normal(scale=0.02, size=Y.shape))
    assert noisy.null_noise > 5 * found.null_noise


def test_maps_of_three_dimensions_have_p_values_and_say_what_is_omitted():
    X = np.random.default_rng(3).random((900, 3))
    torn = X + (X[:, :1] > 0.5) * [[1, 0, 0]]
    whole, found = lowland.trust(X, X), lowland.trust(X, torn)
    assert whole.flagged.sum() == 0 and found.flagged.sum() > 20
    assert np.abs(X[found.flagged == 1, 0] - 0.5).max() < 0.2
    assert set(found.omitted) == {"jump", "fragile"}
    assert "maps of 2 dimensions, and this one has 3" in found.omitted["jump"]
    # Also for other metrics and sparse rows.
    flat = X[:, :2]
    assert "needs the Euclidean metric" in lowland.trust(X, flat, metric="cosine").omitted["fragile"]
    sparse = lowland.trust(scipy.sparse.csr_matrix(X), flat)
    assert "needs dense rows; these are sparse" in sparse.omitted["jump"] and "jump" not in sparse.columns


def test_estimators_are_accepted_and_threads_do_not_matter():
    X, _ = lowland.datasets.load("digits", return_X_y=True)
    model = lowland.TSNE(max_iter=300).fit(X[:500])
    one = lowland.trust(X[:500], model, n_jobs=1)
    two = lowland.trust(X[:500], model.embedding_, n_jobs=2)
    again = lowland.trust(X[:500], model, n_jobs=2)
    for name, values in one.columns.items():
        np.testing.assert_array_equal(values, again.columns[name], err_msg=name)
        # The array does not say which loss it minimizes.
        assert (name in ("jump", "fragile")) == (not np.array_equal(values, two.columns[name])), name
    assert (one.loss, one.loss_is_own) == ("tsne", True)
    assert (two.loss, two.loss_is_own) == ("tsne", False)


@pytest.mark.parametrize(
    ("estimator", "method"),
    [
        (lowland.SymmetricSNE, "ssne"),
        (lowland.ElasticEmbedding, "ee"),
        (lowland.MapIt, "mapit"),
        (lowland.LVM, "lvm"),
        (lowland.UMAP, "umap"),
    ],
)
def test_jump_refers_to_the_loss_of_the_estimator(estimator, method):
    X, _ = lowland.datasets.load("digits", return_X_y=True)
    found = lowland.trust(X[:200], estimator().fit(X[:200]))
    assert (found.loss, found.loss_is_own) == (method, True)
    assert np.isfinite(found.jump).all() and np.isfinite(found.fragile).all()


def test_inexpensive_scores_only(torn_sheet):
    found = lowland.trust(*torn_sheet, everything=False)
    assert "jump" not in found.columns and found.islands[0].parts is None
    with pytest.raises(AttributeError, match="jump"):
        found.jump  # noqa: B018


def test_maps_of_other_rows_are_refused(torn_sheet):
    X, Y = torn_sheet
    with pytest.raises(ValueError, match="not these rows, or are in another order"):
        lowland.trust(X, Y[::-1])
    with pytest.raises(ValueError, match="expected 1200, found 1199"):
        lowland.trust(X, Y[1:])
    with pytest.raises(ValueError, match="at one place"):
        lowland.trust(X, np.zeros_like(Y))
    with pytest.raises(ValueError, match="fdr"):
        lowland.trust(X, Y, fdr=0.0)
    with pytest.raises(ValueError, match="at least 2404 points, found 1200"):
        lowland.trust(X, Y, n_neighbors=1200)
    with pytest.raises(ValueError, match="1200 of the 1200 rows have 15 or more copies"):
        lowland.trust(np.ones_like(X), Y)


def test_a_point_alone_is_in_no_island_and_copies_have_no_p_value(torn_sheet):
    X, Y = (np.vstack([part, [[9.0, 9.0]], np.full((20, 2), 0.25)]) for part in torn_sheet)
    found = lowland.trust(X, Y)
    assert found.island[1200] == 0 and found.bridge_to[1200] == 0
    assert np.isnan(found.p_value[1201:]).all() and (found.flagged[1201:] == 0).all()
    assert not np.isnan(found.p_value[:1200]).any()


def test_reruns_measure_how_far_points_move(torn_sheet):
    X, _ = lowland.datasets.load("digits", return_X_y=True)
    model = lowland.TSNE(max_iter=300).fit(X[:300])
    found = lowland.trust(X[:300], model, everything=False, reruns=2)
    again = lowland.trust(X[:300], model, everything=False, reruns=2, n_jobs=1)
    assert found.unstable.shape == (300,) and (found.unstable > 0).all()
    np.testing.assert_array_equal(found.unstable, again.unstable)
    stable = lowland.trust(X[:300], lowland.PCA().fit(X[:300]), everything=False, reruns=2)
    assert np.median(stable.unstable) < np.median(found.unstable)
    with pytest.raises(ValueError, match="reruns=2: needs a fitted estimator"):
        lowland.trust(*torn_sheet, reruns=2)
    with pytest.raises(ValueError, match="reruns"):
        lowland.trust(X[:300], model, reruns=1)
