"""The replacement of umap-learn: parameters, fuzzy graphs, targets, combinations, and what is refused."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.manifold import trustworthiness
from sklearn.metrics import pairwise_distances

import lowland
from lowland.compat import _fuzzy_graphs
from lowland.compat.umap import UMAP, AlignedUMAP

#: The parameters of umap.UMAP 0.5.12 and their defaults.
DEFAULTS = {
    "n_neighbors": 15,
    "n_components": 2,
    "metric": "euclidean",
    "metric_kwds": None,
    "output_metric": "euclidean",
    "output_metric_kwds": None,
    "n_epochs": None,
    "learning_rate": 1.0,
    "init": "spectral",
    "min_dist": 0.1,
    "spread": 1.0,
    "low_memory": True,
    "n_jobs": -1,
    "set_op_mix_ratio": 1.0,
    "local_connectivity": 1.0,
    "repulsion_strength": 1.0,
    "negative_sample_rate": 5,
    "transform_queue_size": 4.0,
    "a": None,
    "b": None,
    "random_state": None,
    "angular_rp_forest": False,
    "target_n_neighbors": -1,
    "target_metric": "categorical",
    "target_metric_kwds": None,
    "target_weight": 0.5,
    "transform_seed": 42,
    "transform_mode": "embedding",
    "force_approximation_algorithm": False,
    "verbose": False,
    "tqdm_kwds": None,
    "unique": False,
    "densmap": False,
    "dens_lambda": 2.0,
    "dens_frac": 0.3,
    "dens_var_shift": 0.1,
    "output_dens": False,
    "disconnection_distance": None,
    "precomputed_knn": (None, None, None),
}


@pytest.fixture(scope="module")
def rows():
    return np.random.RandomState(0).normal(size=(120, 5)).astype(np.float32)


@pytest.fixture(scope="module")
def model(rows):
    return UMAP(n_neighbors=8, n_epochs=80, random_state=0).fit(rows)


def test_parameters_and_defaults_are_those_of_the_original():
    assert UMAP().get_params() == DEFAULTS
    assert list(inspect.signature(UMAP).parameters) == list(DEFAULTS)


def test_the_embedding_keeps_neighbors_and_new_rows_join_it(model, rows):
    assert model.embedding_.dtype == np.float32 and model.embedding_.shape == (120, 2)
    assert trustworthiness(rows, model.embedding_, n_neighbors=8) > 0.85
    assert_array_equal(model.transform(rows), model.embedding_)
    placed = model.transform(rows[:30] + 1e-3)
    assert np.median(np.linalg.norm(placed - model.embedding_[:30], axis=1)) < 1.0
    # Each row by itself.
    assert_array_equal(model.transform(rows[3:4] + 1e-3)[0], placed[3])
    again = UMAP(n_neighbors=8, n_epochs=80, random_state=0, n_jobs=1).fit_transform(rows)
    assert_array_equal(again, model.embedding_)


def test_the_fuzzy_graph_is_the_union_of_memberships(model, rows):
    distances = np.sort(pairwise_distances(rows.astype(np.float64)), axis=1)[:, 1:8]
    assert_allclose(model._rhos, distances[:, 0], rtol=1e-5)
    sums = np.exp(-np.maximum(distances - distances[:, :1], 0) / model._sigmas[:, None]).sum(axis=1)
    assert_allclose(sums, np.log2(8), rtol=1e-4)
    graph = model.graph_
    assert sp.issparse(graph) and abs(graph - graph.T).max() < 1e-7 and graph.max() == 1
    assert_array_equal(model._knn_indices[:, 0], np.arange(120))


def test_metrics_give_the_graph_of_their_distances(rows):
    positive = np.abs(rows)
    for metric in ["manhattan", "braycurtis", "dice", lambda a, b: (np.abs(a - b).sum(), None)]:
        name = "manhattan" if callable(metric) else metric
        data = (positive > 0.5).astype(np.float32) if metric == "dice" else positive
        found = UMAP(n_neighbors=6, n_epochs=5, metric=metric, random_state=0, disconnection_distance=9.0).fit(data).graph_
        distances = pairwise_distances(data.astype(bool) if metric == "dice" else data.astype(np.float64), metric=name)
        same = UMAP(n_neighbors=6, n_epochs=5, metric="precomputed", random_state=0).fit(distances).graph_
        if metric != "dice":
            assert_allclose(found.toarray(), same.toarray(), atol=1e-4)
        assert abs(found.sum() - same.sum()) < 0.05 * same.sum()


def test_rows_without_neighbors_have_no_coordinates(rows):
    far = np.vstack([rows[:40], np.full((1, 5), 50.0, dtype=np.float32)])
    with pytest.warns(UserWarning, match="A few of your vertices were disconnected"):
        model = UMAP(n_neighbors=5, n_epochs=10, disconnection_distance=20.0, random_state=0).fit(far)
    assert np.isnan(model.embedding_[40]).all() and np.isfinite(model.embedding_[:40]).all()
    assert model.graph_[40].nnz == 0
    assert np.isfinite(model.transform(rows[40:45])).all()


def test_a_class_pulls_its_rows_together(rows):
    y = np.arange(120) % 2
    plain, told = (UMAP(n_neighbors=8, n_epochs=200, random_state=0).fit(rows, target) for target in (None, y))

    def share(model):
        near = np.argsort(pairwise_distances(model.embedding_), axis=1)[:, 1:6]
        return (y[near] == y[:, None]).mean()

    assert share(told) > 0.95 > 0.7 > share(plain)
    for metric, target in [("l2", rows[:, 0]), ("ordinal", y), ("count", y + 1), ("string", np.array(["one", "other"])[y])]:
        found = UMAP(n_neighbors=8, n_epochs=5, target_metric=metric, random_state=0).fit(rows, target)
        assert found.graph_.shape == (120, 120) and found.graph_.max() <= 1 + 1e-6
    with pytest.raises(ValueError, match="Length of x = 120, length of y = 2"):
        UMAP().fit(rows, [0, 1])


def test_targets_change_memberships_by_their_distances():
    graph = sp.csr_matrix(np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]], dtype=float))
    y = np.array([0, 0, 1, -1])
    found = _fuzzy_graphs.with_target(graph, y, "categorical", 0.5, None).toarray()
    # Rows are scaled to a largest membership of one, and both directions united.
    assert_allclose(found[0, 1], 1.0)
    for j, weight in [(2, np.exp(-5)), (3, np.exp(-1))]:
        assert_allclose(found[0, j], 1 - (1 - weight) * (1 - 1.0))
    assert _fuzzy_graphs._edit_distance("kitten", "sitting") == 3
    counts = np.array([1, 2, 5])
    assert_allclose(_fuzzy_graphs._count(counts, np.array([1]), np.array([5])), [2.0])


def test_models_are_combined(rows):
    parts = [UMAP(n_neighbors=8, n_epochs=50, random_state=0).fit(each) for each in (rows[:, :2], rows[:, 2:])]
    union, common, without = parts[0] + parts[1], parts[0] * parts[1], parts[0] - parts[1]
    for combined in (union, common, without):
        assert combined.embedding_.shape == (120, 2) and abs(combined.graph_ - combined.graph_.T).max() < 1e-6
    assert union.graph_.nnz >= max(part.graph_.nnz for part in parts)
    with pytest.raises(ValueError, match="equivalent samples"):
        parts[0] + UMAP(n_epochs=5).fit(rows[:30])
    with pytest.raises(ValueError, match="no rows to compare"):
        union.transform(rows)


def test_rows_are_added_and_equal_rows_are_one(rows):
    model = UMAP(n_neighbors=8, n_epochs=30, random_state=0).fit(rows[:100])
    model.update(rows[100:])
    whole = UMAP(n_neighbors=8, n_epochs=30, random_state=0).fit(rows)
    assert_allclose(model.graph_.toarray(), whole.graph_.toarray(), atol=1e-6)
    assert model.embedding_.shape == (120, 2)
    doubled = UMAP(n_neighbors=8, n_epochs=10, unique=True, random_state=0).fit(np.repeat(rows[:40], 2, axis=0))
    assert_array_equal(doubled.embedding_[::2], doubled.embedding_[1::2])
    listed = UMAP(n_neighbors=8, n_epochs=[5, 20], random_state=0).fit(rows)
    assert len(listed.embedding_list_) == 2 and np.abs(listed.embedding_list_[1] - listed.embedding_).max() < 1e-6
    graph = UMAP(n_neighbors=8, transform_mode="graph", random_state=0).fit(rows)
    weights = graph.transform(rows[:4] + 0.01)
    assert weights.shape == (4, 120) and np.all(np.abs(np.asarray(weights.sum(axis=1)) - 3.0) < 1.0)


@pytest.mark.parametrize(
    "params, reason",
    [
        ({"output_metric": "haversine"}, "output_metric='haversine' is not supported by lowland: the layout is Euclidean"),
        ({"n_neighbors": 1}, "n_neighbors must be greater than 1"),
        ({"min_dist": 2.0}, "min_dist must be less"),
        ({"metric": "foobar"}, "neither callable nor a recognised string"),
        ({"metric": "bit_jaccard"}, "unpack the bits"),
        ({"n_epochs": 0}, "at least one epoch"),
        ({"init": "foobar"}, "string init values"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"target_metric": "hierarchical_categorical"}, "target_metric"),
    ],
)
def test_what_cannot_be_honored_is_refused(params, reason, rows):
    with pytest.raises(ValueError, match=reason):
        UMAP(**params).fit(rows, np.arange(120) % 2)


def test_neighbors_can_be_given(rows, model):
    graph = lowland.neighbors(rows, 7)
    indices = np.hstack([np.arange(120)[:, None], graph.indices])
    distances = np.hstack([np.zeros((120, 1)), graph.distances])
    given = UMAP(n_neighbors=8, n_epochs=80, random_state=0, precomputed_knn=(indices, distances)).fit(rows)
    assert_array_equal(given.embedding_, model.embedding_)
    assert given.transform(rows[:3] + 0.1).shape == (3, 2)


def test_memberships_of_new_sparse_rows_are_returned(rows):
    options = {"n_neighbors": 8, "n_epochs": 5, "random_state": 0, "transform_mode": "graph"}
    dense = UMAP(**options).fit(rows).transform(rows[:3] + 0.1)
    sparse = UMAP(**options).fit(sp.csr_matrix(rows)).transform(sp.csr_matrix(rows[:3] + 0.1))
    assert sparse.shape == (3, len(rows))
    assert_allclose(sparse.toarray(), dense.toarray(), rtol=1e-5)


def test_densities_are_preserved_and_returned():
    random = np.random.RandomState(0)
    rows = np.vstack([random.normal(size=(80, 4)), 0.1 * random.normal(size=(80, 4)) + 8]).astype(np.float32)
    params = {"n_neighbors": 10, "n_epochs": 200, "random_state": 0, "output_dens": True}
    maps = [UMAP(densmap=densmap, dens_lambda=5.0, **params).fit_transform(rows) for densmap in (False, True)]
    correlations = [np.corrcoef(original, found)[0, 1] for _, original, found in maps]
    assert correlations[1] > correlations[0] and correlations[1] > 0.7
    model = UMAP(densmap=True, n_epochs=20, random_state=0).fit(rows, np.repeat([0, 1], 80))
    assert not hasattr(model, "rad_orig_")
    with pytest.raises(NotImplementedError, match="densMAP"):
        model.transform(rows[:3] + 1)
    with pytest.raises(ValueError, match="densMAP"):
        model.inverse_transform(model.embedding_[:3])


def test_points_are_mapped_back_to_rows(model, rows):
    back = model.inverse_transform(model.embedding_[:20])
    assert back.shape == (20, 5) and back.dtype == np.float32
    away = np.linalg.norm(back - rows[:20], axis=1).mean()
    assert away < 0.8 * np.linalg.norm(rows[:20] - rows.mean(axis=0), axis=1).mean()
    for data, params in [(sp.csr_matrix(rows), {}), (np.abs(rows), {"metric": "dice"})]:
        other = UMAP(n_epochs=5, random_state=0, **params).fit(data)
        with pytest.raises(ValueError, match="Inverse transform"):
            other.inverse_transform(other.embedding_[:2])


def test_aligned_maps_keep_shared_rows_near_each_other(digits):
    X = digits[0][:220].astype(float)
    slices, relations = [X[start : start + 100] for start in (0, 60, 120)], [{i: i - 60 for i in range(60, 100)}] * 2
    aligned = AlignedUMAP(n_neighbors=10, n_epochs=60, random_state=0)
    maps = aligned.fit_transform(slices[:2], relations=relations[:1])
    assert [map.shape for map in maps] == [(100, 2)] * 2 and aligned.n_models_ == 2
    before = maps[0].copy()
    aligned.update(slices[2], relations=relations[1])
    assert len(aligned.embeddings_) == len(aligned.mappers_) == 3
    assert_array_equal(aligned.embeddings_[0], before)
    for first, second in zip(aligned.embeddings_, aligned.embeddings_[1:]):
        moved = np.linalg.norm(first[60:] - second[:40], axis=1).mean()
        assert moved < 0.5 * np.linalg.norm(first - first.mean(axis=0), axis=1).mean()
    for params, reason in [({"n_neighbors": [10, 12]}, "the same parameters"), ({"unique": True}, "unique")]:
        with pytest.raises(ValueError, match=reason):
            AlignedUMAP(**params).fit(slices[:2], relations=relations[:1])
    with pytest.raises(ValueError, match="requires relations"):
        AlignedUMAP().fit(slices)
