"""Neighbor graphs, and fits with precomputed neighbors or distances."""

import copy
import pickle

import numpy as np
import pytest
from conftest import NEED_ROWS, class_name, estimators_with_neighbors
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline

import lowland


@pytest.mark.parametrize("estimator", estimators_with_neighbors(), ids=class_name)
def test_precomputed_graph_gives_same_embedding_as_search(estimator, few):
    graph = lowland.neighbors(few, n_neighbors=40)
    expected = clone(estimator).fit_transform(few)
    for neighbors in (graph, pickle.loads(pickle.dumps(graph)), (graph.indices, graph.distances)):
        assert_array_equal(clone(estimator).set_params(neighbors=neighbors).fit_transform(few), expected)
    # Sparse matrices sort neighbors at equal distances by column, as the search does.
    assert_array_equal(clone(estimator).set_params(neighbors=graph.to_csr()).fit_transform(few), expected)


def test_metric_is_taken_from_graph(few):
    graph = lowland.neighbors(few, n_neighbors=9, metric="cosine")
    expected = lowland.LVM(metric="cosine", max_iter=5).fit_transform(few)
    assert_array_equal(lowland.LVM(neighbors=graph, max_iter=5).fit_transform(few), expected)
    with pytest.raises(ValueError, match="the precomputed neighbor graph was made with cosine"):
        lowland.LVM(neighbors=graph, metric="manhattan").fit(few)
    with pytest.warns(lowland.ParameterWarning, match="n_neighbors reduced from 20 to 9"):
        lowland.LVM(neighbors=graph, n_neighbors=20).fit(few)


def test_graph_is_correct_and_can_be_saved_and_converted(few, tmp_path):
    graph = lowland.neighbors(few, n_neighbors=5)
    distances = cdist(few, few)
    np.fill_diagonal(distances, np.inf)
    assert_array_equal(graph.indices, np.argsort(distances, axis=1, kind="stable")[:, :5])
    assert_allclose(graph.distances, np.sort(distances, axis=1)[:, :5], rtol=1e-6)
    assert len(graph) == 150 and graph.n_neighbors == 5 and graph.recall is None
    assert copy.deepcopy(graph) is graph
    graph.save(tmp_path / "graph.npz")
    again = lowland.NeighborGraph.load(tmp_path / "graph.npz")
    assert again.metric == "euclidean"
    assert_array_equal(again.indices, graph.indices)
    theirs = KNeighborsTransformer(n_neighbors=5).fit_transform(few)
    assert_array_equal(np.sort(lowland.NeighborGraph.from_csr(theirs).indices), np.sort(graph.indices))
    with pytest.raises(ValueError, match="square"):
        lowland.NeighborGraph.from_csr(theirs[:3])
    with pytest.raises(ValueError, match="row 0 names point 7"):
        lowland.NeighborGraph.from_arrays([[7]], [[1.0]])


@pytest.mark.parametrize("estimator", estimators_with_neighbors(), ids=class_name)
def test_precomputed_distances_in_fit_and_transform(estimator, few, digits):
    new = digits[0][150:160].astype(np.float64)
    estimator.set_params(metric="precomputed")
    if isinstance(estimator, NEED_ROWS):
        with pytest.raises(ValueError, match="precomputed"):
            estimator.fit(cdist(few, few))
        return
    estimator.fit(cdist(few, few))
    assert estimator.embedding_.shape == (150, 2) and np.isfinite(estimator.embedding_).all()
    assert estimator.transform(cdist(new, few)).shape == (10, 2)
    with pytest.raises(ValueError, match="square"):
        clone(estimator).fit(cdist(new, few))


@pytest.mark.parametrize(
    "estimator", [e for e in estimators_with_neighbors() if not isinstance(e, NEED_ROWS)], ids=class_name
)
def test_kneighbors_transformer_in_pipeline(estimator, few, digits):
    estimator.set_params(metric="precomputed")
    pipeline = make_pipeline(KNeighborsTransformer(n_neighbors=60, mode="distance"), estimator)
    pipeline.fit(few)
    assert pipeline.transform(digits[0][150:160]).shape == (10, 2)


def test_umap_takes_neighbors_under_the_name_of_umap_learn(few):
    graph = lowland.neighbors(few, n_neighbors=14)
    expected = lowland.UMAP(n_epochs=5).fit_transform(few)
    own = np.arange(len(few))[:, None]
    # As umap-learn has it: every row is its own first neighbor, and a search index may follow.
    arrays = np.hstack([own, graph.indices]), np.hstack([np.zeros(own.shape), graph.distances])
    for known in (graph, arrays, (*arrays, object()), None, (None, None, None)):
        assert_array_equal(lowland.UMAP(precomputed_knn=known, n_epochs=5).fit_transform(few), expected)
    other = lowland.neighbors(few, n_neighbors=14, metric="manhattan")
    assert not np.array_equal(lowland.UMAP(precomputed_knn=other, n_epochs=5).fit_transform(few), expected)
    with pytest.raises(ValueError, match="neighbors and precomputed_knn are two names"):
        lowland.UMAP(precomputed_knn=graph, neighbors=graph).fit(few)
    with pytest.raises(ValueError, match="precomputed_knn=.*: expected a NeighborGraph"):
        lowland.UMAP(precomputed_knn=3).fit(few)
