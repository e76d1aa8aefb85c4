"""What the command line can do: covariances, samples, error bars, comparisons, checkpoints, edges."""

import os
import pickle
import subprocess

import matplotlib
import numpy as np
import pytest
from conftest import PROGRAM, needs_program
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import lowland

matplotlib.use("agg")

pytestmark = pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")


@pytest.mark.parametrize("cls", [lowland.LLLVM, lowland.GPLVM])
def test_covariances(cls, few, digits, tmp_path):
    quick = {"starts": 1} if cls is lowland.LLLVM else {"inducing": 10}
    model = cls(max_iter=5, **quick).fit(few)
    assert model.embedding_cov_.shape == (150, 2, 2)
    assert_allclose(model.embedding_cov_, model.embedding_cov_.transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(model.embedding_cov_) >= 0).all()
    placed = model.transform_cov(digits[0][150:155])
    assert placed.shape == (5, 2, 2) and (np.linalg.eigvalsh(placed) >= 0).all()
    model.save(tmp_path / "model.lowland")
    assert_array_equal(lowland.load(tmp_path / "model.lowland").embedding_cov_, model.embedding_cov_)
    assert not hasattr(lowland.LVM(max_iter=5).fit(few), "embedding_cov_")


def test_samples_of_the_posterior(few):
    model = lowland.LLLVM(max_iter=10, starts=1).fit(few)
    samples = model.sample_embeddings(400, random_state=1)
    assert samples.shape == (400, 150, 2)
    assert_array_equal(samples[:3], model.sample_embeddings(3, random_state=1))
    std = np.sqrt(np.einsum("ijj->ij", model.embedding_cov_))
    # The error of a mean of 400 draws is a twentieth of their standard deviation; six times that leaves room for 300 of them.
    assert (np.abs(samples.mean(axis=0) - model.embedding_) < 0.3 * std).all()
    assert_allclose(samples.std(axis=0), std, rtol=0.25)
    with pytest.raises(ValueError, match="n_samples=0"):
        model.sample_embeddings(0)
    with pytest.raises(MemoryError, match="n_samples"):
        model.set_params(max_memory=1000).sample_embeddings(1000)
    assert not hasattr(lowland.GPLVM(), "sample_embeddings")


def test_reconstruction_with_error_bars(few):
    model = lowland.LLLVM(max_iter=10, starts=1, standardize=True).fit(few)
    rows, std = model.inverse_transform(model.embedding_, return_std=True)
    assert_array_equal(rows, model.inverse_transform(model.embedding_))
    assert std.shape == rows.shape == (150, 64) and (std >= 0).all()
    # Most values lie within three standard deviations, in the units of the input; constant columns are exact.
    assert (np.abs(rows - few) <= 3 * std + 1e-3).mean() > 0.9
    with pytest.raises(ValueError, match="LVM has no standard deviations of rows"):
        lowland.LVM(max_iter=5).fit(few).inverse_transform([[0.0, 0.0]], return_std=True)


STEPS = {"log1p": True, "standardize": True, "pca": 30}


@pytest.mark.parametrize("name", ["LVM", "PCA", "TruncatedSVD", "GPLVM"])
def test_inverse_transform_undoes_preprocessing(name, few):
    cls = getattr(lowland, name)
    quick = {"max_iter": 20} if "max_iter" in cls().get_params() else {"n_components": 10}
    model = cls(**quick, **STEPS).fit(few)
    rows = model.inverse_transform(model.embedding_)
    assert rows.shape == few.shape
    # Nearer to the rows than their mean is, on the scale of the first step.
    rows, truth = np.log1p(np.maximum(rows, 0)), np.log1p(few)
    assert ((rows - truth) ** 2).mean() < 0.9 * ((truth - truth.mean(axis=0)) ** 2).mean()


def test_comparison(digits, few):
    X, y = digits[0][:300].astype(np.float64), digits[1][:300]
    comparison = lowland.compare(X, ["lvm", "tsne", lowland.PCA(n_components=3)], y, max_iter=30)
    assert list(comparison) == ["lvm", "tsne", "pca"]
    assert_array_equal(comparison["tsne"].embedding_, lowland.TSNE(max_iter=30).fit_transform(X))
    assert_array_equal(comparison["lvm"].embedding_, lowland.LVM(max_iter=30).fit_transform(X))
    expected = lowland.quality.report(X, comparison["lvm"], y)
    assert dict(comparison.reports["lvm"]) == dict(expected)
    assert comparison.rows[2]["method"] == "pca" and comparison.rows[2]["seconds"] > 0
    assert "knn recall" in repr(comparison) and "pca" in repr(comparison)
    assert len(comparison.plot().axes) == 3
    assert lowland.view(comparison, y).html
    named = lowland.compare(X, {"near": lowland.TSNE(perplexity=5, max_iter=20), "far": lowland.TSNE(max_iter=20)})
    assert list(named) == ["near", "far"]


def test_comparison_scores_preprocessed_rows_and_leaves_out_what_fails(few):
    wide = few * np.linspace(1, 100, 64)
    comparison = lowland.compare(wide, ["pca", "spectral"], standardize=True)
    scaled = (wide - wide.mean(axis=0)) / np.where(wide.std(axis=0) > 0, wide.std(axis=0), 1)
    expected = lowland.quality.report(scaled, comparison["pca"])
    assert comparison.reports["pca"]["knn recall"] == pytest.approx(expected["knn recall"], abs=2e-3)
    with pytest.warns(lowland.LowlandWarning, match="lle is left out"):
        comparison = lowland.compare(few, {"pca": lowland.PCA(), "lle": lowland.LocallyLinearEmbedding(max_memory=1000)})
    assert list(comparison) == ["pca"] and "lle" in comparison.failures
    with pytest.raises(TypeError, match="perplexity is not a parameter of any"):
        lowland.compare(few, ["pca"], perplexity=3)
    with pytest.raises(ValueError, match="methods='umaps': expected one of"):
        lowland.compare(few, ["umaps"])
    with pytest.raises(ValueError, match="'pca' is there twice"):
        lowland.compare(few, ["pca", lowland.PCA()])


@needs_program
def test_comparison_is_that_of_the_command_line(few, tmp_path):
    np.save(tmp_path / "rows.npy", few)
    arguments = [PROGRAM, "compare", "rows.npy", "--methods", "lvm,pca", "--max-iter", "20", "--json", "--out", "maps.png"]
    result = subprocess.run(arguments, cwd=tmp_path, check=True, capture_output=True, text=True)
    comparison = lowland.compare(few, "lvm,pca", max_iter=20)
    for name, report in comparison.reports.items():
        assert f'"value":{report["trustworthiness"]}'.rstrip("0") in result.stdout.replace(" ", ""), name


@pytest.mark.parametrize("name", ["TSNE", "LVM", "GPLVM"])
def test_resumed_fit_ends_with_the_same_result(name, few, tmp_path):
    path = tmp_path / "run.checkpoint"
    model = getattr(lowland, name)(max_iter=30)
    expected = clone(model).fit_transform(few)
    stopped = clone(model).set_params(callbacks=lambda i, *_: i == 12, callbacks_every_iters=1)
    stopped.fit(few, checkpoint=path)
    assert stopped.n_iter_ == 12 and path.exists()
    resumed = clone(model).fit(few, resume=path, checkpoint=path, checkpoint_every=0)
    assert_array_equal(resumed.embedding_, expected)
    assert resumed.n_iter_ == clone(model).fit(few).n_iter_
    with pytest.raises(ValueError, match="it was made with other data"):
        clone(model).fit(few + 1, resume=path)
    with pytest.raises(ValueError, match="it was made with other parameters"):
        clone(model).set_params(max_iter=31).fit(few, resume=path)
    with pytest.raises(FileNotFoundError):
        clone(model).fit(few, resume=tmp_path / "nothing")
    with pytest.raises(ValueError, match="checkpoint_every=-1"):
        clone(model).fit(few, checkpoint=path, checkpoint_every=-1)


@needs_program
def test_checkpoint_is_resumed_by_the_command_line(few, tmp_path):
    np.save(tmp_path / "rows.npy", few)
    model = lowland.TSNE(max_iter=30, callbacks=lambda i, *_: i == 9, callbacks_every_iters=1)
    model.fit(few, checkpoint=tmp_path / "run.checkpoint")
    flags = ["--method", "tsne", "--max-iter", "30", "--resume", "run.checkpoint", "--out", "map.npy", "--quiet", "--no-quality"]
    subprocess.run([PROGRAM, "embed", "rows.npy", *flags], cwd=tmp_path, check=True)
    assert_array_equal(np.load(tmp_path / "map.npy"), lowland.TSNE(max_iter=30).fit_transform(few))


def test_checkpoint_that_cannot_be_written_warns(few, tmp_path):
    with pytest.warns(lowland.LowlandWarning, match="the checkpoint could not be written"):
        model = lowland.TSNE(max_iter=5).fit(few, checkpoint=os.fspath(tmp_path / "no" / "run"), checkpoint_every=0)
    assert model.n_iter_ == 5


def test_edges():
    X = lowland.datasets.load("swiss-roll", n_points=80).data
    params = {"n_neighbors": 5, "starts": 2, "max_iter": 10}
    found = lowland.select_edges(X, screen=4, **params)
    assert len(found.suspects) == 4 and [graph.name for graph in found.graphs][0] == "all edges"
    scores = [edge.score for edge in found.suspects]
    assert scores == sorted(scores, reverse=True) and found.graphs[0].bounds.shape == (2,)
    pairs = [(edge.i, edge.j) for edge in found.suspects[:2]]
    compared = lowland.select_edges(X, without=pairs, edges=[(i, i + 1) for i in range(79)], **params)
    names = [graph.name for graph in compared.graphs]
    assert names == ["all edges", *(f"without {i},{j}" for i, j in pairs), "without all of these", "the given edges"]
    assert compared.graphs[0].bound == found.graphs[0].bound
    assert found.words in repr(found)
    with pytest.raises(ValueError, match="it has no edge 0,79"):
        lowland.select_edges(X, without=[(0, 79)], **params)
    with pytest.raises(ValueError, match="without: expected pairs of row numbers"):
        lowland.select_edges(X, without=[1.5], **params)
    with pytest.raises(TypeError, match="perplexity is not a parameter of LLLVM"):
        lowland.select_edges(X, perplexity=3)


def test_report_has_all_rows(few, digits):
    y = digits[1][:150]
    report = lowland.quality.report(few, lowland.PCA().fit(few), y)
    rows = report.rows
    assert [row["value"] for row in rows[: len(report.scores)]] == [score.value for score in report.scores]
    assert sum(row["class"] is not None for row in rows) == 10
    assert len(rows) == len(report.scores) + 10 + len(report.omitted)
    assert report["trustworthiness", 15] == report["trustworthiness"]
    import pandas

    assert set(pandas.DataFrame(rows).columns) >= {"name", "value", "k", "class", "meaning"}


def manhattan(a, b, scale=1.0):
    return scale * np.abs(a - b).sum()


@pytest.mark.parametrize("name", ["LVM", "TSNE", "Isomap", "SpectralEmbedding"])
def test_metric_as_a_function(name, few, digits, tmp_path):
    cls = getattr(lowland, name)
    quick = {"max_iter": 10} if "max_iter" in cls().get_params() else {}
    model = cls(metric=manhattan, metric_params={"scale": 2.0}, **quick).fit(few[:60])
    distances = 2 * np.abs(few[:60, None] - few[None, :60]).sum(axis=2)
    expected = cls(metric="precomputed", **quick).fit(distances)
    assert_allclose(model.embedding_, expected.embedding_)
    new = digits[0][150:153].astype(np.float64)
    to_training = 2 * np.abs(new[:, None] - few[None, :60]).sum(axis=2)
    assert_allclose(model.transform(new), expected.transform(to_training))
    assert model.n_features_in_ == 64
    assert_array_equal(pickle.loads(pickle.dumps(model)).transform(new), model.transform(new))
    assert_array_equal(clone(model).fit_transform(few[:60]), model.embedding_)
    model.save(tmp_path / "model.lowland")
    loaded = lowland.load(tmp_path / "model.lowland")
    assert loaded.metric == "precomputed"
    assert_allclose(loaded.transform(to_training), model.transform(new))


def test_functions_in_neighbors_and_scores_and_invalid_functions(few):
    graph = lowland.neighbors(few[:40], 5, metric=manhattan)
    assert_array_equal(graph.indices, lowland.neighbors(few[:40], 5, metric="manhattan").indices)
    points = few[:40, 20:22]
    scores = lowland.quality.report(few[:40], points, metric=manhattan, n_neighbors=5)
    assert scores["knn recall"] == lowland.quality.report(few[:40], points, metric="manhattan", n_neighbors=5)["knn recall"]
    words = ["cat", "cart", "card", "care", "dog", "dot", "dig", "log"]
    lengths = lowland.SpectralEmbedding(metric=lambda a, b: abs(len(a) - len(b)) + (a[0] != b[0]), n_neighbors=4)
    assert lengths.fit(words).transform(["cat", "long"]).shape == (2, 2)
    with pytest.raises(ValueError, match="the function returned -1.0 for rows 0 and 1"):
        lowland.LVM(metric=lambda a, b: -1.0).fit(few)
    with pytest.raises(ValueError, match="a function compares rows as they are given"):
        lowland.LVM(metric=manhattan, standardize=True).fit(few)
