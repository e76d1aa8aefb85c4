"""Messages in the terms of Python: parameters, shapes and names of columns."""

import numpy as np
import pandas
import polars
import pytest

import lowland


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (lowland.LVM(n_neighbors=-5), "n_neighbors=-5: expected an integer, at least 0."),
        (lowland.LVM(n_neighbors="15"), "n_neighbors='15': expected an integer"),
        (lowland.LVM(n_neighbors=True), "n_neighbors=True: expected an integer"),
        (lowland.LVM(n_jobs="2"), "n_jobs='2': expected a number of threads"),
        (lowland.LVM(n_jobs=1.5), "n_jobs=1.5: expected a number of threads"),
        (lowland.LVM(callbacks=3), "callbacks=3: expected a function"),
        (lowland.LVM(callbacks=[3]), r"callbacks=\[3\]: expected a function"),
        (lowland.LVM(callbacks=print, callbacks_every_iters=0), "callbacks_every_iters=0: expected an integer, at least 1"),
        (lowland.LVM(callbacks=print, callbacks_every_iters=-3), "callbacks_every_iters=-3: expected an integer"),
        (lowland.LVM(random_state=2**64), "random_state=18446744073709551616: expected an integer from 0 to"),
        (lowland.LVM(components=2), "components=2: expected one of 'join', 'largest'.*number of dimensions is n_components"),
        (lowland.LVM(neighbors=15), "neighbors=15: expected a NeighborGraph.*number of neighbors is n_neighbors"),
        (lowland.LVM(pca=True), "pca=True: expected an integer, at least 0.*number of principal components"),
        (lowland.LVM(missing="error"), "missing='error': expected 'refuse' or 'drop'"),
        (lowland.LVM(metric=3), "metric=3: expected the name of a metric or a function"),
        (lowland.LVM(metric="minkowski", metric_params={"p": 0.5}), r"metric_params=\{'p': 0.5\}: p must be"),
        (lowland.LVM(metric="minkowski", metric_params={"w": 1}), "'w' cannot be used.*takes only p"),
        (lowland.LVM(metric="minkowski(3)", metric_params={"p": 3}), "has its p in its name"),
        (lowland.LVM(metric="euclidean", metric_params={"p": 3}), "'p' cannot be used.*takes no parameters"),
        (lowland.LVM(metric_params=3), "metric_params=3: expected a dict"),
        (lowland.TSNE(init=None), "init=None: expected one of 'auto', .* or an array of shape"),
        (lowland.TSNE(init=np.zeros(150)), r"init: expected an array of shape .* = \(150, 2\), got \(150,\)"),
        (lowland.TSNE(perplexity=[]), r"perplexity=\[\]: expected a number or a list of numbers"),
        (lowland.TSNE(perplexity="30"), "perplexity='30': expected a number"),
        (lowland.TSNE(learning_rate=None), "learning_rate=None: expected a number, or 'auto'"),
        (lowland.ElasticEmbedding(lambda_=-1), "lambda_=-1"),
        (lowland.ElasticEmbedding(lambda_=None), "lambda_=None: expected a number"),
        (lowland.TSM(layers=[2.5]), r"layers=\[2.5\]: expected 'none', an integer or a list"),
    ],
)
def test_invalid_parameters(estimator, message, few):
    with pytest.raises(ValueError, match=message):
        estimator.fit(few)


def test_no_message_names_a_parameter_of_another_interface(few):
    bad = few.copy()
    bad[3, 4] = np.nan
    with pytest.raises(ValueError) as raised:
        lowland.LVM().fit(bad)
    assert "missing='drop'" in str(raised.value) and " = " not in str(raised.value) and "--" not in str(raised.value)


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
def test_columns_are_named(make, few):
    columns = {f"gene {j}": few[:, j] for j in range(10)}
    table = make({**columns, "gene 7": np.where(np.arange(150) == 3, np.nan, few[:, 7])})
    with pytest.raises(ValueError, match="row 3, column 'gene 7' is NaN"):
        lowland.PCA().fit(table)
    model = lowland.PCA().fit(make(columns))
    with pytest.raises(ValueError, match="row 3, column 'gene 7' is NaN"):
        model.transform(table)
    table = make({**columns, "gene 7": ["a"] * 150})
    with pytest.raises(ValueError, match="column 'gene 7' does not contain numbers: row 0 is 'a'"):
        lowland.PCA().fit(table)


def test_text_in_arrays_and_dates_in_tables(few):
    with pytest.raises(ValueError, match="column 1 does not contain numbers: row 1 is 'x'"):
        lowland.PCA().fit(np.array([[1, 2], [3, "x"], [5, 6]], dtype=object))
    table = pandas.DataFrame({"value": [1.0, 2, 3], "day": pandas.to_datetime(["2020-01-01"] * 3)})
    with pytest.raises(ValueError, match="column 'day' does not contain numbers"):
        lowland.PCA().fit(table)


def test_missing_string():
    with pytest.raises(ValueError, match="row 1 is None: metric='levenshtein' compares strings"):
        lowland.LVM(metric="levenshtein").fit(["cat", None, "dog"])


def test_precision_of_values_that_float32_cannot_hold(few):
    bad = few.copy()
    bad[3, 4] = 1e39
    with pytest.raises(ValueError, match="1e39") as raised:
        lowland.PCA().fit(bad)
    assert "is inf" not in str(raised.value)


def test_path_of_a_wrong_model_file(tmp_path, few):
    path = tmp_path / "wrong.lowland"
    path.write_bytes(b"LOWLAND\n and then nothing of use")
    with pytest.raises(ValueError, match="wrong.lowland: not a usable"):
        lowland.load(path)
    with pytest.raises(ValueError, match="wrong.lowland: not a usable"):
        lowland.LVM().fit(few, resume=path)


def test_failed_fit_leaves_the_estimator_as_it_was(few):
    model = lowland.PCA().fit(few)
    before = dict(vars(model))
    bad = few[:, :10].copy()
    bad[0, 0] = np.nan
    for X in (bad, pandas.DataFrame(bad, columns=list("abcdefghij")), ["a", "b"]):
        with pytest.raises(ValueError):
            model.fit(X)
        assert vars(model) == before
    assert model.n_features_in_ == 64 and model.transform(few[:2]).shape == (2, 2)


def test_landmarks_beyond_the_number_of_rows_warn(few):
    with pytest.warns(lowland.ParameterWarning, match="landmarks"):
        lowland.LVM(landmarks=1000, max_iter=5).fit(few)


def test_swapped_neighbors_and_asymmetric_distances_are_refused(few):
    graph = lowland.neighbors(few, 15)
    with pytest.raises(ValueError, match=r"indices must be integers, found float32: the order is \(indices, distances\)"):
        lowland.LVM(neighbors=(graph.distances, graph.indices)).fit(few)
    distances = np.random.default_rng(0).uniform(1, 2, size=(150, 150))
    np.fill_diagonal(distances, 0)
    with pytest.raises(ValueError, match="symmetric"):
        lowland.LVM(metric="precomputed").fit(distances)
