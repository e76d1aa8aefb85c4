"""Quality measures and model selection."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from matplotlib.figure import Figure

import lowland


def test_scores_of_tsne_exceed_scores_of_random_points(digits):
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


def test_tsm_preserves_small_angles_better_than_svd(digits):
    X, _ = digits
    histogram = lowland.quality.angle_histogram(X, density=0.02)
    assert histogram.rows == len(X) and histogram.others.sum() == len(X) * (len(X) - 2)
    embeddings = [estimator(n_components=8).fit_transform(X) for estimator in (lowland.TSM, lowland.TruncatedSVD)]
    tsm, svd = (lowland.quality.angles(X, Y, histogram.tau) for Y in embeddings)
    assert tsm.deviation < 0.7 * svd.deviation and tsm.jaccard > svd.jaccard + 0.1
    assert tsm.pairs == svd.pairs == pytest.approx(0.02 * len(X) ** 2, rel=0.02)
    with pytest.raises(ValueError, match="tau=1.5"):
        lowland.quality.angles(X, embeddings[0], 1.5)
    with pytest.raises(ValueError, match="density"):
        lowland.quality.angle_histogram(X, density=0)


def test_analogies(tmp_path):
    words = ["king", "queen", "man", "woman", "tree"]
    vectors = [[1, 0, 1], [1, 1, 1], [1, 0, 0], [1, 1, 0], [-1, 0.2, 0]]
    questions = tmp_path / "questions.txt"
    questions.write_text(": family\nman woman king queen\nman woman king prince\n")
    assert lowland.quality.analogies(vectors, words, questions) == [("family", 1, 1, 1)]
    with pytest.raises(ValueError, match="expected 5"):
        lowland.quality.analogies(vectors, words[:4], questions)


LABEL_CONTAINERS = {
    "list": list,
    "numpy": np.array,
    "pandas": pandas.Series,
    "categories": pandas.Categorical,
    "polars": polars.Series,
    "pyarrow": pyarrow.array,
}


@pytest.mark.parametrize("make", LABEL_CONTAINERS.values(), ids=LABEL_CONTAINERS)
def test_labels_of_any_container_with_missing_values(make, few):
    words = ["one" if ink > 300 else "two" for ink in few.sum(axis=1)]
    points = few[:, 20:22]
    for labels in (make(words), make([None, *words[1:]])):
        assert {"one", "two"} <= set(lowland.quality.report(few, points, labels).classes)
        assert lowland.plot(points, labels, ax=Figure().gca()).get_legend() is not None
        assert lowland.view(points, labels).html


def test_select_numbers_of_neighbors_and_dimensions():
    params = {"starts": 2, "max_iter": 20}
    X = lowland.datasets.load("swiss-roll", n_points=120).data
    selection = lowland.select(X, [4, 8], [1, 2], **params)
    tried = [(choice.n_neighbors, choice.n_components) for choice in selection.choices]
    assert tried == [(4, 1), (4, 2), (8, 1), (8, 2)]
    assert all(choice.bounds.shape == (1, 2) for choice in selection.choices)
    parts = lowland.select(X, 4, [1, 2], subsamples=3, subsample_rows=40, **params)
    assert all(choice.bounds.shape == (3, 2) for choice in parts.choices)
    assert lowland.select(X, 4, [1, 2], subsamples=3, subsample_rows=40, subsample="all", **params).words != parts.words
    with pytest.raises(ValueError, match="near or all"):
        lowland.select(X, 4, subsample="some")
    assert parts.best.bound == max(choice.bound for choice in parts.choices)
    assert selection.best in selection.choices and selection.best not in selection.close
    assert f"n_neighbors {selection.best.n_neighbors}" in repr(selection)
    with pytest.raises(ValueError, match="n_neighbors=0"):
        lowland.select(X, 0, **params)
