"""Maps that continue an earlier one, sequences of maps, and the preservation of density."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lowland


@pytest.fixture(scope="module")
def digits():
    return lowland.datasets.load("digits", return_X_y=True)[0][:400]


@pytest.mark.parametrize("estimator", [lowland.UMAP(n_epochs=30), lowland.TSNE(max_iter=60), lowland.PaCMAP(num_iters=30)])
def test_rows_of_an_earlier_map_keep_their_positions(digits, estimator):
    old = estimator.fit(digits[:300])
    positions = old.embedding_.copy()
    new = type(estimator)(**estimator.get_params()).fit(digits[100:], continue_from=old)
    assert_array_equal(new.embedding_[:200], positions[100:])
    assert np.isfinite(new.embedding_).all()
    tied = type(estimator)(**estimator.get_params()).fit(digits[100:], continue_from=old, anchor=10.0)
    moved = np.abs(tied.embedding_[:200] - positions[100:])
    assert 0 < np.median(moved) < 0.2 * positions.std()


def test_a_map_is_aligned_to_known_positions(digits):
    plain = lowland.PCA().fit(digits)
    wanted = plain.embedding_ @ np.array([[0.0, 2.0], [2.0, 0.0]]) + 5.0
    positions = np.full_like(wanted, np.nan)
    positions[::7] = wanted[::7]
    aligned = lowland.PCA().fit(digits, align_to=positions)
    assert_allclose(aligned.embedding_, wanted, atol=1e-6)
    assert_allclose(aligned.transform(digits[:5]), wanted[:5], atol=1e-3)
    with pytest.raises(ValueError, match="rows of align_to"):
        lowland.PCA().fit(digits, align_to=positions[:3])


def test_sequences_tie_shared_rows(digits):
    slices = [digits[:200], digits[100:300], digits[200:400]]
    ids = [range(200), range(100, 300), range(200, 400)]
    umap = lowland.UMAP(n_epochs=40)
    loose = lowland.AlignedMaps(umap, anchor=1e-6).fit(slices, ids=ids)
    tied = lowland.AlignedMaps(umap, anchor=3.0, passes=2).fit(slices, ids=ids)
    assert all(a < b for a, b in zip(tied.movements_, loose.movements_))
    relations = [{100 + i: i for i in range(100)}] * 2
    again = lowland.AlignedMaps(umap, anchor=3.0, passes=2).fit(slices, relations=relations)
    by_values = lowland.AlignedMaps(umap, anchor=3.0, passes=2).fit(slices)
    for maps in (again, by_values):
        assert_array_equal(maps.embeddings_[2], tied.embeddings_[2])
    exact = lowland.AlignedMaps(umap, anchor="exact").fit(slices[:2], ids=ids[:2]).update(slices[2], ids=ids[2])
    assert exact.movements_ == [0.0, 0.0]
    assert_array_equal(exact.embeddings_[1][100:], exact.embeddings_[2][:100])


def test_invalid_growth_is_refused(digits):
    old = lowland.UMAP(n_epochs=5).fit(digits[:100])
    with pytest.raises(ValueError, match="no row in common"):
        lowland.UMAP(n_epochs=5).fit(digits[200:300], continue_from=old)
    with pytest.raises(ValueError, match="anchor=-1: expected 'exact' or a number above 0"):
        lowland.UMAP(n_epochs=5).fit(digits, continue_from=old, anchor=-1)
    with pytest.raises(ValueError, match="anchor: it has no effect"):
        lowland.UMAP(n_epochs=5).fit(digits, anchor=1.0)
    with pytest.raises(ValueError, match="cannot continue an earlier map"):
        lowland.PCA().fit(digits, continue_from=old)
    with pytest.raises(ValueError, match="data sets 1 and 2 of the sequence have no row in common"):
        lowland.AlignedMaps().fit([digits[:50], digits[50:100]])
    with pytest.raises(ValueError, match="not unique"):
        lowland.AlignedMaps().fit([digits[:3], digits[:3]], ids=[[0, 0, 1], [0, 1, 2]])


def test_density_is_preserved_on_request(digits):
    plain = lowland.UMAP(n_epochs=60, output_dens=True).fit(digits)
    dense = lowland.UMAP(n_epochs=60, densmap=True, dens_frac=0.7).fit(digits)
    correlation = [np.corrcoef(model.rad_orig_, model.rad_emb_)[0, 1] for model in (plain, dense)]
    assert correlation[1] > correlation[0]
    assert_array_equal(plain.rad_orig_, dense.rad_orig_)
    assert not hasattr(lowland.UMAP(n_epochs=5).fit(digits), "rad_orig_")
    tsne = lowland.TSNE(max_iter=300, density=1.0).fit(digits)
    assert tsne.rad_emb_.shape == (400,)


def test_fifty_dimensions(digits):
    assert lowland.UMAP(n_components=50, n_epochs=5).fit_transform(digits).shape == (400, 50)


def test_graphs_are_combined(digits):
    left, right = (lowland.neighbors(part, n_neighbors=14) for part in (digits[:, :32], digits[:, 32:]))
    for graph in (left + right, left * right, left.intersection(right, weight=0.3)):
        values = graph.to_csr().data
        # The weakest memberships are zero in single precision.
        assert len(graph) == 400 and values.min() >= 0 and values.max() <= 1 and np.mean(values > 0) > 0.99
        umap = lowland.UMAP(neighbors=graph, affinity="precomputed", n_epochs=10)
        assert umap.fit_transform(digits).shape == (400, 2)
    with pytest.raises(ValueError, match="rows of the second graph"):
        left + lowland.neighbors(digits[:50], n_neighbors=5)
    with pytest.raises(TypeError):
        left * 2


def test_umap_has_its_graph_and_an_inverse(digits):
    umap = lowland.UMAP(n_epochs=40).fit(digits)
    graph = umap.graph_
    assert graph.shape == (400, 400) and abs(graph - graph.T).max() == 0
    assert graph is umap.graph_ and 0 < graph.data.min() and graph.data.max() <= 1
    # A point of the map is its row, and one between two neighbors is between their rows.
    rows = umap.inverse_transform(umap.embedding_)
    assert np.abs(rows - digits).mean() < 0.3 * np.abs(digits - digits.mean(axis=0)).mean()
    error = np.linalg.norm(umap.inverse_transform(umap.embedding_[:50] + 0.01) - digits[:50], axis=1)
    assert np.median(error) < np.median(np.linalg.norm(digits - digits.mean(axis=0), axis=1))
    labels = lowland.datasets.load("digits", return_X_y=True)[1][:400]
    with pytest.raises(AttributeError, match="changed by the labels"):
        lowland.UMAP(n_epochs=5).fit(digits, labels).graph_
