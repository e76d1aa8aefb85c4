"""Rows of every supported kind."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from conftest import NEED_ROWS, class_name, estimators, estimators_with_neighbors
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

import lowland

WORDS = ["cat", "cart", "card", "care", "dog", "dot", "dig", "log", "cot", "bat", "bad", "bid", "lot", "rot", "rat"]


@pytest.mark.parametrize("estimator", estimators(), ids=class_name)
def test_sparse_and_dense_rows_can_be_mixed_in_fit_and_transform(estimator, few):
    rows = sparse.csr_matrix(few)
    estimator.fit(rows)
    assert np.isfinite(estimator.embedding_).all()
    assert_array_equal(estimator.transform(few[:9]), estimator.embedding_[:9])
    assert_array_equal(estimator.transform(sparse.coo_array(few[:9])), estimator.embedding_[:9])
    dense = clone(estimator).fit(few)
    assert_array_equal(dense.transform(rows[:9]), dense.embedding_[:9])


@pytest.mark.parametrize("estimator", estimators_with_neighbors(), ids=class_name)
def test_strings_with_edit_distance(estimator):
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
def test_init_array_is_used_as_initial_embedding(cls, few):
    from sklearn.utils import check_random_state

    init = check_random_state(0).normal(size=(150, 2))
    params = {"perplexity": 10.0, "max_iter": 1}
    if cls is not lowland.MapIt:
        params.update(optimizer="gd", learning_rate=1e-9, exaggeration_iter=0)
    else:
        params.update(learning_rate=1e-9)
    model = cls(init=init, **params).fit(few)
    # The learning rate is too small to change anything visibly; some methods center the embedding.
    assert_allclose(model.embedding_ - model.embedding_.mean(axis=0), init - init.mean(axis=0), atol=1e-3)
    assert_array_equal(clone(model).fit_transform(few), model.embedding_)
    with pytest.raises(ValueError, match=r"init: expected an array of shape \(n_samples, n_components\) = \(150, 2\), got \(149, 2\)"):
        cls(init=init[:-1]).fit(few)
    with pytest.raises(ValueError, match=r"= \(150, 2\), got \(150, 3\)"):
        cls(init=np.ones((150, 3))).fit(few)
    with pytest.raises(ValueError, match="init: row 149, column 1 is nan"):
        cls(init=np.where(init == init[-1, 1], np.nan, init)).fit(few)


@pytest.mark.parametrize("cls", [lowland.TSNE, lowland.SymmetricSNE, lowland.ElasticEmbedding, lowland.MapIt])
def test_unusable_init_arrays_are_refused(cls, few):
    with pytest.raises(ValueError, match="all 150 points of the initial embedding are at one place.*init='random'"):
        cls(init=np.zeros((150, 2))).fit(few)
    init = np.random.default_rng(0).normal(size=(150, 2))
    init[3, 1] = 1e200
    with pytest.raises(ValueError, match="row 3, column 1 of the initial embedding is 1e200"):
        cls(init=init).fit(few)


@pytest.mark.parametrize("cls", [lowland.TSNE, lowland.SymmetricSNE, lowland.ElasticEmbedding, lowland.MapIt])
@pytest.mark.parametrize("rows", [2, 3, 4, 6])
def test_models_of_few_rows_can_be_saved(cls, rows, tmp_path):
    model = cls().fit(np.random.default_rng(1).normal(size=(rows, 4)))
    model.save(tmp_path / "model.lowland")
    loaded = lowland.load(tmp_path / "model.lowland")
    assert np.isfinite(loaded.transform(np.random.default_rng(2).normal(size=(3, 4)))).all()


def test_strings_with_numeric_metric_raise():
    with pytest.raises(ValueError, match="metric euclidean compares numbers; for strings use levenshtein"):
        lowland.LVM().fit(WORDS)


def test_metric_params(few):
    three = lowland.LVM(metric="minkowski", metric_params={"p": 3}, max_iter=3).fit_transform(few)
    assert_array_equal(three, lowland.LVM(metric="minkowski(3)", max_iter=3).fit_transform(few))
    with pytest.raises(AssertionError):
        assert_array_equal(three, lowland.LVM(max_iter=3).fit_transform(few))


#: Enough columns that no two rows are equal: transform maps equal rows to the position of the first.
COLUMNS = list(range(8, 40))
TABLES = {
    "pandas": lambda columns: pandas.DataFrame(columns),
    "polars": lambda columns: polars.DataFrame(columns),
    "pyarrow": lambda columns: pyarrow.table(columns),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_tables_give_embedding_and_feature_names(make, few, tmp_path):
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
    with pytest.raises(ValueError, match="a model of method lvm, not pca"):
        lowland.PCA.load(tmp_path / "model.lowland")


def test_datasets_match_their_descriptions():
    for name, text in lowland.datasets.names().items():
        data = lowland.datasets.load(name).data
        assert f"({data.shape[0]} x {data.shape[1]})" in text and data.dtype == np.float32
    with pytest.raises(ValueError, match="dataset='nothing': one of digits"):
        lowland.datasets.load("nothing")


def test_rows_at_unaligned_addresses_are_read():
    # As numpy.memmap with an odd offset and arrays that dask has sent between processes.
    X = np.random.default_rng(0).normal(size=(60, 4))
    buffer = bytearray(1 + X.nbytes)
    unaligned = np.frombuffer(buffer, dtype=np.float64, offset=1).reshape(X.shape)
    unaligned[:] = X
    assert not unaligned.flags.aligned
    model = lowland.PCA().fit(unaligned)
    np.testing.assert_array_equal(model.embedding_, lowland.PCA().fit(X).embedding_)
    np.testing.assert_array_equal(model.transform(unaligned), model.transform(X))
    np.testing.assert_array_equal(lowland.neighbors(unaligned, 3).indices, lowland.neighbors(X, 3).indices)
    assert lowland.quality.report(unaligned, model.embedding_) is not None
