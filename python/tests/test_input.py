"""Every kind of rows, and neighbours that are known before."""

import copy
import pickle

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from conftest import estimators
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline

import lowland

WORDS = ["cat", "cart", "card", "care", "dog", "dot", "dig", "log", "cot", "bat", "bad", "bid", "lot", "rot", "rat"]


def with_neighbors():
    return [estimator for estimator in estimators(perplexity=10.0) if "neighbors" in estimator.get_params()]


def named(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("estimator", with_neighbors(), ids=named)
def test_a_shared_graph_gives_the_map_that_a_search_gives(estimator, few):
    graph = lowland.neighbors(few, n_neighbors=40)
    expected = clone(estimator).fit_transform(few)
    for neighbors in (graph, pickle.loads(pickle.dumps(graph)), (graph.indices, graph.distances)):
        assert_array_equal(clone(estimator).set_params(neighbors=neighbors).fit_transform(few), expected)
    # Sparse matrices order neighbours at equal distances by their columns, as we do.
    assert_array_equal(clone(estimator).set_params(neighbors=graph.to_csr()).fit_transform(few), expected)


def test_a_graph_that_knows_its_metric_need_not_be_told(few):
    graph = lowland.neighbors(few, n_neighbors=9, metric="cosine")
    expected = lowland.LVM(metric="cosine", max_iter=5).fit_transform(few)
    assert_array_equal(lowland.LVM(neighbors=graph, max_iter=5).fit_transform(few), expected)
    with pytest.raises(ValueError, match="the given neighbour graph was made with cosine"):
        lowland.LVM(neighbors=graph, metric="manhattan").fit(few)
    with pytest.raises(ValueError, match="n_neighbors = 20: at most 9"):
        lowland.LVM(neighbors=graph, n_neighbors=20).fit(few)


def test_graphs_are_right_and_travel(few, tmp_path):
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


#: These weigh the neighbours' coordinates.
NEED_ROWS = (lowland.LLLVM, lowland.LTSA, lowland.LocallyLinearEmbedding)


@pytest.mark.parametrize("estimator", with_neighbors(), ids=named)
def test_precomputed_distances_place_training_and_new_rows(estimator, few, digits):
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


@pytest.mark.parametrize("estimator", [e for e in with_neighbors() if not isinstance(e, NEED_ROWS)], ids=named)
def test_graphs_of_kneighborstransformer_are_accepted_in_a_pipeline(estimator, few, digits):
    estimator.set_params(metric="precomputed")
    pipeline = make_pipeline(KNeighborsTransformer(n_neighbors=40, mode="distance"), estimator)
    pipeline.fit(few)
    assert pipeline.transform(digits[0][150:160]).shape == (10, 2)


@pytest.mark.parametrize("estimator", estimators(), ids=named)
def test_sparse_rows_give_a_map_and_take_dense_rows_later(estimator, few):
    rows = sparse.csr_matrix(few)
    estimator.fit(rows)
    assert np.isfinite(estimator.embedding_).all()
    assert_array_equal(estimator.transform(few[:9]), estimator.embedding_[:9])
    assert_array_equal(estimator.transform(sparse.coo_array(few[:9])), estimator.embedding_[:9])
    dense = clone(estimator).fit(few)
    assert_array_equal(dense.transform(rows[:9]), dense.embedding_[:9])


@pytest.mark.parametrize("estimator", with_neighbors(), ids=named)
def test_strings_are_compared_by_edit_distance(estimator):
    estimator.set_params(metric="levenshtein")
    params = estimator.get_params()
    small = {name: value for name, value in (("n_neighbors", 5), ("perplexity", 4.0)) if name in params}
    estimator.set_params(**small)
    if isinstance(estimator, NEED_ROWS):
        with pytest.raises(ValueError):
            estimator.fit(WORDS)
        return
    expected = estimator.fit_transform(WORDS)
    assert expected.shape == (15, 2)
    columns = [np.array(WORDS), np.array(WORDS, dtype=object), pandas.Series(WORDS), polars.Series(WORDS)]
    for column in [*columns, pyarrow.array(WORDS)]:
        assert_array_equal(clone(estimator).fit_transform(column), expected)
    assert_array_equal(estimator.transform(["cat", "dog"]), expected[[0, 4]])
    assert estimator.transform(["cats"]).shape == (1, 2)


@pytest.mark.parametrize("cls", [lowland.TSNE, lowland.SymmetricSNE, lowland.ElasticEmbedding, lowland.MapIt])
def test_a_run_begins_with_the_map_it_is_given(cls, few):
    from sklearn.utils import check_random_state

    given = check_random_state(0).normal(size=(150, 2))
    params = {"perplexity": 10.0, "max_iter": 1}
    if cls is not lowland.MapIt:
        params.update(optimizer="gd", learning_rate=1e-9, exaggeration_iter=0)
    else:
        params.update(learning_rate=1e-9)
    model = cls(init=given, **params).fit(few)
    # The step is too short to be seen; some methods centre their maps.
    assert_allclose(model.embedding_ - model.embedding_.mean(axis=0), given - given.mean(axis=0), atol=1e-3)
    assert_array_equal(clone(model).fit_transform(few), model.embedding_)
    with pytest.raises(ValueError, match="points of the map to begin with: expected 150, found 149"):
        cls(init=given[:-1]).fit(few)
    with pytest.raises(ValueError, match="its dimensions: expected 2, found 3"):
        cls(init=np.ones((150, 3))).fit(few)
    with pytest.raises(ValueError, match="row 149, column 1 is NaN"):
        cls(init=np.where(given == given[-1, 1], np.nan, given)).fit(few)


def test_strings_with_another_metric_are_refused_in_words():
    with pytest.raises(ValueError, match="metric euclidean compares numbers; for strings use levenshtein"):
        lowland.LVM().fit(WORDS)


def test_a_metric_takes_its_parameters(few):
    three = lowland.LVM(metric="minkowski", metric_params={"p": 3}, max_iter=3).fit_transform(few)
    assert_array_equal(three, lowland.LVM(metric="minkowski(3)", max_iter=3).fit_transform(few))
    with pytest.raises(AssertionError):
        assert_array_equal(three, lowland.LVM(max_iter=3).fit_transform(few))


#: Enough that no two rows are equal: of equal rows, transform gives the place of the first.
COLUMNS = list(range(8, 40))
TABLES = {
    "pandas": lambda columns: pandas.DataFrame(columns),
    "polars": lambda columns: polars.DataFrame(columns),
    "pyarrow": lambda columns: pyarrow.table(columns),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_tables_give_the_map_of_their_numbers_and_their_names(make, few, tmp_path):
    columns = {f"pixel {j}": few[:, j] for j in COLUMNS}
    table = make(columns)
    model = lowland.LVM(max_iter=5).fit(table)
    assert_array_equal(model.embedding_, lowland.LVM(max_iter=5).fit_transform(few[:, COLUMNS]))
    assert list(model.feature_names_in_) == list(columns)
    assert_array_equal(model.transform(table), model.embedding_)
    other = make({f"other {j}": few[:, j] for j in COLUMNS})
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(other)
    model.save(tmp_path / "model.lowland")
    again = lowland.LVM.load(tmp_path / "model.lowland")
    assert list(again.feature_names_in_) == list(columns)
    with pytest.raises(ValueError, match="feature names should match"):
        again.transform(other)
    with pytest.raises(ValueError, match="a model of lvm, not of pca"):
        lowland.PCA.load(tmp_path / "model.lowland")


def test_quality_scores_the_good_map_above_the_bad_one(digits):
    X, y = digits
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])[y]
    good = lowland.TSNE(max_iter=300).fit_transform(X)
    bad = np.random.default_rng(0).normal(size=good.shape)
    graph = lowland.neighbors(X, 15)
    scores, worse = lowland.quality.report(X, good, names, neighbors=graph), lowland.quality.report(X, bad, names)
    for name in ("trustworthiness", "continuity", "knn recall", "triplet accuracy"):
        assert scores[name] > worse[name] + 0.1, name
    assert set(scores.classes) == set(names.tolist())
    assert dict(scores)["trustworthiness"] == scores["trustworthiness"] and "trustworthiness" in repr(scores)
    assert lowland.quality.report(X, good, names)["knn recall"] == scores["knn recall"]
    assert lowland.quality.report(X[:10], good[:10]).omitted


def test_tsm_keeps_more_angles_than_svd_above_the_threshold_it_chooses(digits):
    X, _ = digits
    found = lowland.quality.angle_histogram(X, density=0.02)
    assert found.rows == len(X) and found.others.sum() == len(X) * (len(X) - 2)
    maps = [estimator(n_components=8).fit_transform(X) for estimator in (lowland.TSM, lowland.TruncatedSVD)]
    tsm, svd = (lowland.quality.angles(X, Y, found.tau) for Y in maps)
    assert tsm.deviation < 0.7 * svd.deviation and tsm.jaccard > svd.jaccard + 0.1
    assert tsm.pairs == svd.pairs == pytest.approx(0.02 * len(X) ** 2, rel=0.02)
    with pytest.raises(ValueError, match="tau = 1.5"):
        lowland.quality.angles(X, maps[0], 1.5)
    with pytest.raises(ValueError, match="density"):
        lowland.quality.angle_histogram(X, density=0)


def test_analogies_are_answered_by_sums_and_differences(tmp_path):
    words = ["king", "queen", "man", "woman", "tree"]
    vectors = [[1, 0, 1], [1, 1, 1], [1, 0, 0], [1, 1, 0], [-1, 0.2, 0]]
    questions = tmp_path / "questions.txt"
    questions.write_text(": family\nman woman king queen\nman woman king prince\n")
    assert lowland.quality.analogies(vectors, words, questions) == [("family", 1, 1, 1)]
    with pytest.raises(ValueError, match="expected 5"):
        lowland.quality.analogies(vectors, words[:4], questions)


COLUMNS_OF_WORDS = {
    "list": list,
    "numpy": np.array,
    "pandas": pandas.Series,
    "categories": pandas.Categorical,
    "polars": polars.Series,
    "pyarrow": pyarrow.array,
}


@pytest.mark.parametrize("make", COLUMNS_OF_WORDS.values(), ids=COLUMNS_OF_WORDS)
def test_classes_are_words_from_anywhere_and_some_may_be_missing(make, few):
    words = ["one" if ink > 300 else "two" for ink in few.sum(axis=1)]
    places = few[:, 20:22]
    for labels in (make(words), make([None, *words[1:]])):
        assert {"one", "two"} <= set(lowland.quality.report(few, places, labels).classes)
        assert lowland.plot(places, labels, ax=Figure().gca()).get_legend() is not None
        assert lowland.view(places, labels).html


@pytest.mark.parametrize("params", [{"starts": 2, "max_iter": 20}, {"method": "lvm", "folds": 2, "max_iter": 20}])
def test_numbers_are_selected_by_how_likely_the_data_become(params):
    X = lowland.datasets.load("swiss-roll", n_points=120).data
    chosen = lowland.select(X, [4, 8], [1, 2], **params)
    tried = [(choice.n_neighbors, choice.n_components) for choice in chosen.choices]
    assert tried == [(4, 1), (4, 2), (8, 1), (8, 2)]
    assert all(choice.values.shape == (2,) for choice in chosen.choices)
    assert chosen.best in chosen.choices and chosen.best not in chosen.close
    assert f"n_neighbors {chosen.best.n_neighbors}" in repr(chosen)
    with pytest.raises(ValueError, match="n_neighbors = 0"):
        lowland.select(X, 0, **params)


def test_data_sets_are_as_described():
    for name, text in lowland.datasets.names().items():
        data = lowland.datasets.load(name).data
        assert f"({data.shape[0]} x {data.shape[1]})" in text and data.dtype == np.float32
    with pytest.raises(ValueError, match="dataset = nothing: one of digits"):
        lowland.datasets.load("nothing")
