"""lowland.embed, lowland.choose_method and lowland.spectrum."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import lowland


def test_embed_is_a_fit_of_the_default_method(few):
    embedding, model = lowland.embed(few, max_iter=60, random_state=1, return_model=True)
    assert type(model) is lowland.TSNE
    assert_array_equal(embedding, lowland.TSNE(max_iter=60, random_state=1).fit_transform(few))
    assert_array_equal(embedding, lowland.embed(few, max_iter=60, random_state=1))
    assert_array_equal(lowland.embed(few, method="pca"), lowland.PCA().fit_transform(few))
    assert_array_equal(lowland.embed(few, method="PCA"), lowland.PCA().fit_transform(few))


def test_unknown_methods_and_parameters_are_named(few):
    with pytest.raises(ValueError, match="method='umaps': expected 'auto' or one of 'tsne'"):
        lowland.embed(few, method="umaps")
    with pytest.raises(TypeError, match="n_neighbors"):
        lowland.embed(few, n_neighbors=5)


def test_exaggeration_makes_clusters_more_compact(few):
    def spread(exaggeration):
        points = lowland.TSNE(exaggeration=exaggeration, perplexity=10).fit_transform(few)
        distances = lowland.neighbors(points, n_neighbors=5).distances
        return distances.mean() / points.std()

    assert spread(4) < 0.9 * spread(1)
    with pytest.raises(ValueError, match="exaggeration=0.5: from 1 to 1000"):
        lowland.TSNE(exaggeration=0.5).fit(few)


def test_auto_takes_the_method_with_the_largest_mean(few):
    choice = lowland.choose_method(few, perplexity=10)
    means = {method: scores["mean"] for method, scores in choice.scores.items()}
    assert choice.method == max(means, key=means.get) and set(means) == {"tsne", "umap", "pacmap", "lvm", "spectral", "isomap", "pca"}
    assert "has the largest mean" in repr(choice)
    _, model = lowland.embed(few, method="auto", perplexity=10, n_jobs=1, return_model=True)
    assert model._method == choice.method


def test_auto_answers_few_rows_strings_and_distances(few):
    assert "fewer than 60 rows" in lowland.choose_method(few[:20]).reason
    words = [f"{'ab' * (i % 7)}{'c' * (i % 5)}{i}" for i in range(80)]
    choice = lowland.choose_method(words, metric="levenshtein", perplexity=5)
    assert "pca" in choice.skipped and "tsne" in choice.scores
    with pytest.raises(ValueError, match="name a method"):
        lowland.embed(np.zeros((70, 70)), method="auto", metric="precomputed")
    with pytest.raises(ValueError, match="none of the methods"):
        lowland.embed(few, method="auto", inducing=5)


def test_a_spectrum_has_aligned_maps_scores_and_a_page(digits, few, tmp_path):
    settings = {"max_iter": 400, "exaggeration_iter": 100, "perplexity": 10}
    found = lowland.spectrum(few, digits[1][:150], exaggerations=[1, 4], **settings)
    assert found.exaggerations == [1, 4] and found.scores[0]["knn recall"] > found.scores[1]["knn recall"]
    assert_array_equal(found.embeddings[0], lowland.TSNE(**settings).fit_transform(few))
    assert lowland.quality.procrustes(*found.embeddings) < 0.9
    found.save(tmp_path / "spectrum.html")
    page = (tmp_path / "spectrum.html").read_text()
    assert '"slider":{"label":"exaggeration","values":[1.0,4.0]}' in page
    assert "exaggeration" in repr(found)
    for params, message in [
        ({"exaggerations": [4, 1]}, r"exaggerations=\[4, 1\]: at least one number"),
        ({"exaggeration": 4}, "use exaggerations"),
        ({"landmarks": 50}, "fits all rows"),
    ]:
        with pytest.raises(ValueError, match=message):
            lowland.spectrum(few, **params)
