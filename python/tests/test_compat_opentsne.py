"""The replacement of openTSNE: affinities, the embedding object, callbacks, and new rows."""

import inspect
import logging
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.manifold import trustworthiness
from sklearn.metrics import pairwise_distances

from lowland.compat import opentsne
from lowland.compat.opentsne import affinity, initialization, nearest_neighbors
from lowland.compat.opentsne.callbacks import Callback, VerifyExaggerationError
from lowland.compat.opentsne.optimization import kl_divergence

#: The parameters of openTSNE.TSNE 1.0.4 and their defaults.
DEFAULTS = {
    "n_components": 2,
    "perplexity": 30,
    "learning_rate": "auto",
    "early_exaggeration_iter": 250,
    "early_exaggeration": "auto",
    "n_iter": 500,
    "exaggeration": None,
    "dof": 1,
    "theta": 0.5,
    "n_interpolation_points": 3,
    "min_num_intervals": 50,
    "ints_in_interval": 1,
    "initialization": "pca",
    "metric": "euclidean",
    "metric_params": None,
    "initial_momentum": 0.8,
    "final_momentum": 0.8,
    "max_grad_norm": None,
    "max_step_norm": 5,
    "n_jobs": 1,
    "neighbors": "auto",
    "knn_kwargs": None,
    "negative_gradient_method": "auto",
    "callbacks": None,
    "callbacks_every_iters": 50,
    "random_state": None,
    "verbose": False,
}


@pytest.fixture(scope="module")
def rows(digits):
    return digits[0][:200].astype(float)


@pytest.fixture(scope="module")
def affinities(rows):
    return affinity.PerplexityBasedNN(rows, perplexity=15)


@pytest.fixture(scope="module")
def embedding(rows, affinities):
    tsne = opentsne.TSNE(perplexity=15, early_exaggeration_iter=100, n_iter=150, random_state=0)
    return tsne.fit(rows, affinities=affinities)


def test_parameters_and_defaults_are_those_of_the_original():
    found = {name: each.default for name, each in inspect.signature(opentsne.TSNE).parameters.items()}
    assert found == DEFAULTS and list(found) == list(DEFAULTS)
    assert opentsne.TSNE().early_exaggeration == 12 and opentsne.TSNE(exaggeration=20).early_exaggeration == 20


def test_the_embedding_keeps_neighbors_and_new_rows_join_it(embedding, rows):
    assert isinstance(embedding, np.ndarray) and trustworthiness(rows, embedding, n_neighbors=10) > 0.95
    assert embedding.kl_divergence == pytest.approx(kl_divergence(embedding.affinities.P, embedding))
    placed = embedding.transform(rows[:40] + 1e-3, n_iter=100)
    assert np.median(np.linalg.norm(placed - embedding[:40], axis=1)) < 0.1 * np.ptp(embedding)
    alone = embedding.transform(rows[3:4] + 1e-3, n_iter=100)
    assert_allclose(alone[0], placed[3], atol=1e-6)


def test_steps_add_up_to_a_fit(embedding, rows, affinities):
    init = initialization.pca(rows, random_state=0)
    by_hand = opentsne.TSNEEmbedding(init, affinities)
    by_hand = by_hand.optimize(100, exaggeration=12).optimize(100)
    by_hand.optimize(50, inplace=True)
    assert_array_equal(by_hand, embedding)
    again = pickle.loads(pickle.dumps(by_hand))
    assert_array_equal(again.optimize(5), by_hand.optimize(5))
    assert again.kl_divergence == by_hand.kl_divergence
    # A copy was optimized, not the array itself.
    assert_array_equal(by_hand, embedding)


def test_callbacks_see_the_divergence_and_end_the_iterations(rows, affinities):
    start = opentsne.TSNEEmbedding(initialization.random(rows, random_state=0), affinities)
    calls = []

    class Stop(Callback):
        def optimization_about_to_start(self):
            calls.append("start")

        def __call__(self, iteration, error, embedding):
            calls.append((iteration, error))
            return iteration == 20

    callbacks = [Stop(), VerifyExaggerationError(start)]
    found = start.optimize(100, exaggeration=4, callbacks=callbacks, callbacks_every_iters=10)
    assert calls[0] == "start" and [each[0] for each in calls[1:]] == [10, 20]
    assert found.kl_divergence == calls[-1][1]
    with pytest.raises(opentsne.OptimizationInterrupt) as raised:
        start.optimize(100, callbacks=callbacks, callbacks_every_iters=10, propagate_exception=True)
    assert raised.value.final_embedding.shape == (200, 2)


def test_affinities_are_weights_of_their_names(rows):
    distances = np.sort(pairwise_distances(rows), axis=1)[:, 1:61]
    for kind, expected in [
        (affinity.FixedSigmaNN(rows, sigma=10.0, k=60, symmetrize=False), np.exp(-(distances**2) / 200)),
        (affinity.Uniform(rows, k_neighbors=60, symmetrize=False), np.ones_like(distances)),
    ]:
        weights = np.sort(kind.P.toarray(), axis=1)[:, ::-1][:, :60] * 200
        assert_allclose(weights, expected / expected.sum(axis=1, keepdims=True), rtol=1e-6)
    rows_of = affinity.PerplexityBasedNN(rows, perplexity=20, symmetrize=False).P.toarray() * 200
    entropy = -np.sum(np.where(rows_of > 0, rows_of * np.log(np.where(rows_of > 0, rows_of, 1)), 0), axis=1)
    assert_allclose(np.exp(entropy), 20, rtol=1e-6)
    means = [affinity.PerplexityBasedNN(rows, perplexity=p, k_neighbors=60, symmetrize=False).P for p in (5, 20)]
    both = affinity.Multiscale(rows, perplexities=[5, 20], symmetrize=False).P
    assert_allclose(both.toarray(), ((means[0] + means[1]) / 2).toarray(), atol=1e-12)
    mixture = affinity.MultiscaleMixture(rows, perplexities=[5, 20])
    assert mixture.P.sum() == pytest.approx(1) and abs(mixture.P - mixture.P.T).max() < 1e-15
    # Densities of two Gaussians, whose precisions follow from the weights of the two nearest.
    densities = 0
    for P in means:
        weights = np.sort(P.toarray(), axis=1)[:, ::-1]
        precision = 2 * np.log(weights[:, :1] / weights[:, 1:2]) / (distances[:, 1:2] ** 2 - distances[:, :1] ** 2)
        densities = densities + np.sqrt(precision) * np.exp(-precision * distances**2 / 2)
    found = np.sort(affinity.MultiscaleMixture(rows, [5, 20], symmetrize=False).P.toarray(), axis=1)[:, ::-1][:, :60]
    assert_allclose(found * 200, densities / densities.sum(axis=1, keepdims=True), rtol=1e-3)
    given = affinity.PrecomputedAffinities(mixture.P * 3)
    assert_allclose(given.P.toarray(), mixture.P.toarray())
    for kind in (mixture, affinity.Uniform(rows, k_neighbors=10)):
        assert_allclose(np.asarray(kind.to_new(rows[:7] + 0.1).sum(axis=1)).ravel(), 1)


def test_perplexities_that_are_too_large_are_lowered(rows, caplog):
    with caplog.at_level(logging.WARNING):
        found = affinity.PerplexityBasedNN(rows[:40], perplexity=100)
    assert found.effective_perplexity_ == 13 and "perplexity=100" in caplog.text
    found.set_perplexity(5)
    assert found.effective_perplexity_ == 5
    with pytest.raises(RuntimeError, match="needs more than the 39 neighbors"):
        found.set_perplexity(50)


@pytest.mark.parametrize("search", [nearest_neighbors.Annoy, nearest_neighbors.NNDescent, nearest_neighbors.HNSW])
def test_searches_find_the_neighbors(search, rows):
    exact = nearest_neighbors.Sklearn(rows, 10)
    approximate = search(rows, 10, n_jobs=2)
    (indices, distances), (found, lengths) = exact.build(), approximate.build()
    assert np.mean([len(set(a) & set(b)) / 10 for a, b in zip(indices, found)]) > 0.9
    assert_allclose(approximate.query(rows[:5] + 0.1, 4)[1], exact.query(rows[:5] + 0.1, 4)[1], rtol=1e-4)
    assert found.shape == lengths.shape == (200, 10)
    with pytest.raises(ValueError, match="knn_kwargs"):
        search(rows, 10, knn_kwargs={"n_trees": 3})


def test_the_gradient_can_be_that_of_the_user(rows, affinities):
    calls = []

    def gradient(embedding, P, *, dof, should_eval_error, **_):
        calls.append(should_eval_error)
        return opentsne.tsne.kl_divergence_bh(embedding, P, dof, should_eval_error=should_eval_error)

    init = initialization.pca(rows, random_state=0)
    own = opentsne.TSNEEmbedding(init, affinities, negative_gradient_method=gradient).optimize(10, exaggeration=4)
    assert_allclose(own, opentsne.TSNEEmbedding(init, affinities).optimize(10, exaggeration=4), rtol=1e-8)
    assert len(calls) == 11
    with pytest.raises(ValueError, match="negative_gradient_method='tree'"):
        opentsne.TSNEEmbedding(init, affinities, negative_gradient_method="tree").optimize(1)
    with pytest.raises(ValueError, match="metric='imaginary'"):
        opentsne.TSNE(metric="imaginary").fit(rows)


def test_the_estimator_of_scikit_learn_returns_arrays(rows):
    model = opentsne.sklearn.TSNE(perplexity=10, early_exaggeration_iter=10, n_iter=20, random_state=0)
    assert type(model.fit_transform(rows)) is np.ndarray
    assert type(model.transform(rows[:5])) is np.ndarray
    assert opentsne.metrics.pBIC(opentsne.TSNEEmbedding(model.embedding_, affinity.PerplexityBasedNN(rows, 10)).optimize(1)) > 0
