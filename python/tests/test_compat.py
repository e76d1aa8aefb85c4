"""Drop-in replacements: parameters, defaults and attributes of the originals, and what is refused."""

import numpy as np
import pytest
import sklearn.datasets
import sklearn.decomposition
import sklearn.manifold
from numpy.testing import assert_allclose, assert_array_equal

from lowland.compat import sklearn as ours
from lowland.compat._tsne import Monitor

ORIGINALS = [
    (ours.TSNE, sklearn.manifold.TSNE),
    (ours.Isomap, sklearn.manifold.Isomap),
    (ours.LocallyLinearEmbedding, sklearn.manifold.LocallyLinearEmbedding),
    (ours.SpectralEmbedding, sklearn.manifold.SpectralEmbedding),
    (ours.PCA, sklearn.decomposition.PCA),
    (ours.TruncatedSVD, sklearn.decomposition.TruncatedSVD),
]


@pytest.mark.parametrize("cls, original", ORIGINALS, ids=lambda cls: cls.__module__.split(".")[0] + cls.__name__)
def test_parameters_and_defaults_are_those_of_the_original(cls, original):
    assert cls().get_params() == original().get_params()
    assert issubclass(cls, original)


@pytest.mark.parametrize("cls, original", ORIGINALS, ids=lambda cls: cls.__module__.split(".")[0] + cls.__name__)
def test_fitted_attributes_are_those_of_the_original(cls, original, few):
    params = {"perplexity": 10, "max_iter": 250, "n_components": 2}
    params = {name: value for name, value in params.items() if name in original().get_params()}
    attributes = {name for name in vars(original(**params).fit(few)) if name.endswith("_") and not name.startswith("_")}
    found = {name for name in dir(cls(**params).fit(few)) if name.endswith("_") and not name.startswith("_")}
    assert attributes - found <= {"kernel_pca_"}


def test_tsne_keeps_neighbors_and_places_new_rows(digits):
    X = digits[0][:300].astype(float)
    tsne = ours.TSNE(perplexity=20, max_iter=400, random_state=0)
    points = tsne.fit_transform(X[:280])
    assert points.dtype == np.float32 and tsne.n_iter_ == 399 and 0 < tsne.kl_divergence_ < 2
    theirs = sklearn.manifold.TSNE(perplexity=20, max_iter=400, random_state=0).fit_transform(X[:280])
    scores = [sklearn.manifold.trustworthiness(X[:280], map) for map in (points, theirs)]
    assert scores[0] > scores[1] - 0.01
    assert tsne.transform(X[280:]).shape == (20, 2)
    assert_array_equal(ours.TSNE(perplexity=20, max_iter=400, random_state=0, n_jobs=1).fit_transform(X[:280]), points)
    other = ours.TSNE(perplexity=20, max_iter=300, metric="canberra", init="random").fit(X[:280])
    assert other.transform(X[280:]).shape == (20, 2)


def test_tsne_stops_without_progress_after_early_exaggeration():
    monitor = Monitor(early=250, patience=100, min_grad_norm=0.01, verbose=0, every=50)
    errors = {200: 0.1, 250: 0.1, 300: 3.0, 350: 2.0, 400: 2.0, 450: 2.1, 500: 2.0, 550: 1.0}
    stopped = [iteration for iteration, error in errors.items() if monitor(iteration, error, None, 0.02)]
    assert stopped == [500]
    assert not monitor(250, 0.5, None, 0.001) and monitor(600, 0.5, None, 0.01)


def test_tsne_prints_and_ends_like_the_original(few, capsys):
    mine = ours.TSNE(perplexity=10, min_grad_norm=2e-3, verbose=2, random_state=0).fit(few)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[t-SNE] Computing 31 nearest neighbors..."
    norms = [float(line.split("gradient norm = ")[1].split()[0]) for line in lines if "gradient norm = " in line]
    assert norms[-1] <= 2e-3 < min(norms[5:-1]) and "Finished" in lines[-2] and mine.n_iter_ + 1 == 50 * len(norms)
    assert lines[-1] == f"[t-SNE] KL divergence after {mine.n_iter_ + 1} iterations: {mine.kl_divergence_:f}"


def test_tsne_stays_where_all_points_are_equal():
    start = np.zeros((30, 2))
    mine = ours.TSNE(perplexity=5, init=start).fit(np.ones((30, 4)))
    theirs = sklearn.manifold.TSNE(perplexity=5, init=start).fit(np.ones((30, 4)))
    assert_array_equal(mine.embedding_, theirs.embedding_)
    assert mine.n_iter_ == theirs.n_iter_
    with pytest.raises(ValueError, match="at one place"):
        mine.transform(np.ones((1, 4)))


def test_tsne_refuses_what_it_cannot_honor(few):
    for params, reason in [
        ({"n_components": 4}, "at most 3"),
        ({"perplexity": 150}, r"perplexity \(150\) must be less than n_samples \(150\)"),
        ({"metric": "precomputed"}, "init=.pca. cannot be used"),
        ({"method": "nearest"}, "method"),
    ]:
        with pytest.raises(ValueError, match=reason):
            ours.TSNE(**params).fit(few)


@pytest.mark.parametrize("params", [{"n_neighbors": 10}, {"n_neighbors": None, "radius": 30.0}])
def test_isomap_agrees_with_the_original(params, digits):
    X = digits[0][digits[1] == 3][:120].astype(float)
    mine, theirs = ours.Isomap(**params).fit(X[:100]), sklearn.manifold.Isomap(**params).fit(X[:100])
    assert_allclose(mine.dist_matrix_, theirs.dist_matrix_)
    signs = np.sign((mine.embedding_ * theirs.embedding_).sum(axis=0))
    scale = np.abs(theirs.embedding_).max()
    assert_allclose(mine.embedding_ * signs, theirs.embedding_, atol=1e-3 * scale)
    assert_allclose(mine.transform(X[100:]) * signs, theirs.transform(X[100:]), atol=1e-2 * scale)
    assert_allclose(mine.reconstruction_error(), theirs.reconstruction_error(), rtol=1e-3)


def test_linear_methods_agree_with_the_original(digits):
    X = digits[0].astype(float)
    for cls, original in ORIGINALS[4:]:
        mine, theirs = cls(5, random_state=0).fit(X[:900]), original(5, random_state=0).fit(X[:900])
        assert_allclose(mine.singular_values_, theirs.singular_values_, rtol=1e-4)
        assert_allclose(np.abs(mine.transform(X[900:])), np.abs(theirs.transform(X[900:])), atol=1e-2)
    whitened = ours.PCA(0.8, whiten=True).fit(X)
    assert whitened.n_components_ == sklearn.decomposition.PCA(0.8).fit(X).n_components_
    assert_allclose(whitened.transform(X).std(axis=0, ddof=1), 1.0, rtol=1e-3)
    random = np.random.RandomState(0)
    low = random.normal(size=(300, 4)) @ random.normal(size=(4, 12)) + 0.1 * random.normal(size=(300, 12))
    for rows in (low, X[:300], np.hstack([low, low])):
        assert ours.PCA("mle").fit(rows).n_components_ == sklearn.decomposition.PCA("mle").fit(rows).n_components_
    assert ours.PCA(0).fit(low).transform(low).shape == (300, 0)
    assert_allclose(ours.PCA(3).fit(low).singular_values_, sklearn.decomposition.PCA(3).fit(low).singular_values_, rtol=1e-12)


@pytest.mark.parametrize("method", ["standard", "modified", "hessian", "ltsa"])
def test_locally_linear_embedding_agrees_with_the_original(method):
    X = sklearn.datasets.make_s_curve(200, random_state=0)[0]
    mine = ours.LocallyLinearEmbedding(n_neighbors=10, method=method, random_state=0).fit(X)
    theirs = sklearn.manifold.LocallyLinearEmbedding(n_neighbors=10, method=method, eigen_solver="dense").fit(X)
    signs = np.sign((mine.embedding_ * theirs.embedding_).sum(axis=0))
    assert_allclose(mine.embedding_ * signs, theirs.embedding_, atol=1e-6)
    assert_allclose(mine.transform(X[:9] + 0.01) * signs, theirs.transform(X[:9] + 0.01), atol=1e-6)
    assert_allclose(mine.reconstruction_error_, theirs.reconstruction_error_, rtol=1e-6)


def test_spectral_embedding_agrees_with_the_original(few):
    for params in ({"n_neighbors": 12}, {"affinity": "rbf", "gamma": 1e-3}):
        mine, theirs = ours.SpectralEmbedding(**params).fit(few), sklearn.manifold.SpectralEmbedding(**params).fit(few)
        signs = np.sign((mine.embedding_ * theirs.embedding_).sum(axis=0))
        assert_allclose(mine.embedding_ * signs, theirs.embedding_, atol=1e-5)
    # Two parts are told apart by the first coordinate.
    far = np.vstack([few[:40], few[:40] + 1000])
    with pytest.warns(UserWarning, match="not fully connected"):
        first = ours.SpectralEmbedding(n_components=1, n_neighbors=10).fit_transform(far).ravel()
    assert len(set(np.sign(first[:40]))) == 1 and np.sign(first[0]) != np.sign(first[-1])


def test_trustworthiness_is_that_of_the_original(few):
    points = sklearn.decomposition.PCA(2).fit_transform(few)
    for metric in ["euclidean", "cosine"]:
        expected = sklearn.manifold.trustworthiness(few, points, n_neighbors=7, metric=metric)
        assert ours.trustworthiness(few, points, n_neighbors=7, metric=metric) == pytest.approx(expected, abs=1e-3)
    with pytest.raises(ValueError, match="less than"):
        ours.trustworthiness(few, points, n_neighbors=75)
