"""Plots and interactive pages."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from sklearn.exceptions import NotFittedError

import lowland


def axes():
    return plt.figure().gca()


def test_all_points_of_all_classes_are_drawn(few, digits):
    model = lowland.LVM(max_iter=10).fit(few)
    ax = lowland.plot(model, digits[1][:150], ax=axes(), title="digits")
    (drawn,) = ax.collections
    assert ax.get_title() == "digits"
    np.testing.assert_array_equal(drawn.get_offsets(), model.embedding_)
    assert drawn.get_alpha().min() < 0.2 < 0.8 < drawn.get_alpha().max()
    assert len(np.unique(drawn.get_facecolors()[:, :3], axis=0)) == 10
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [str(digit) for digit in range(10)]


def test_legend_swatches_are_opaque(few, digits):
    ax = lowland.plot(lowland.LVM(max_iter=10).fit(few), digits[1][:150], ax=axes())
    for swatch in ax.get_legend().legend_handles:
        assert swatch.get_alpha() in (None, 1) and swatch.get_markerfacecolor()[3] == 1


def test_one_dimension_and_wrong_labels():
    points = np.arange(50.0)[:, None]
    assert len(lowland.plot(points, ax=axes()).collections) == 1
    with pytest.raises(ValueError, match="labels: expected 50 values, found 3"):
        lowland.plot(points, [1, 2, 3])
    with pytest.raises(ValueError, match=r"labels: expected one value per point, found an array of shape \(50, 2\)"):
        lowland.plot(points, np.ones((50, 2)))


@pytest.mark.parametrize("make", [lambda n: np.linspace(0, 1, n), np.arange, lambda n: np.arange(n).astype("datetime64[D]")])
def test_numbers_have_a_color_bar_and_one_scatter(make):
    figure = plt.figure()
    ax = lowland.plot(np.random.default_rng(0).normal(size=(500, 2)), make(500), ax=figure.gca())
    assert len(ax.collections) == 1 and ax.get_legend() is None
    assert len(figure.axes) == 2
    figure.canvas.draw()


def test_many_classes_have_a_legend_in_several_columns():
    names = [f"class {i}" for i in range(45)]
    ax = lowland.plot(np.random.default_rng(0).normal(size=(90, 2)), names * 2, ax=axes())
    assert len(ax.get_legend().get_texts()) == 45 and ax.get_legend()._ncols == 3 and len(ax.collections) == 1
    ax = lowland.plot(np.zeros((200, 2)), [f"id {i}" for i in range(200)], ax=axes())
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "and 140 more"


def test_categories_keep_their_order():
    sizes = ["small", "medium", "large"]
    values = ["large", "small", "medium", "small"]
    points = np.random.default_rng(0).normal(size=(4, 2))
    ordered = pandas.Categorical(values, categories=sizes, ordered=True)
    for labels in (ordered, pandas.Series(ordered), polars.Series(values, dtype=polars.Enum(sizes))):
        ax = lowland.plot(points, labels, ax=axes())
        assert [text.get_text() for text in ax.get_legend().get_texts()] == sizes


def test_unfitted_estimators_are_not_drawn():
    with pytest.raises(NotFittedError, match="This TSNE instance has no embedding yet"):
        lowland.plot(lowland.TSNE())
    with pytest.raises(NotFittedError, match="This TSNE instance has no embedding yet"):
        lowland.view({"map": lowland.TSNE()})


def test_target_of_a_surface_can_be_drawn_and_scored():
    X, y = lowland.datasets.load("swiss-roll", n_points=100, return_X_y=True)
    assert y.shape == (100,)
    figure = plt.figure()
    lowland.plot(X[:, :2], y, ax=figure.gca())
    assert len(figure.axes) == 2
    report = lowland.quality.report(X, X[:, :2], y)
    assert "not classes" in report.omitted["classification error"] and report["trustworthiness"] > 0
    assert b"label" in lowland.view(X[:, :2], y).html


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, pyarrow.table], ids=["pandas", "polars", "pyarrow"])
def test_columns_of_a_page_can_be_a_table(few, make):
    columns = {"ink": few.sum(axis=1), "kind": ["dark" if ink > 300 else "light" for ink in few.sum(axis=1)]}
    assert lowland.view(few[:, :2], columns=make(columns)).html == lowland.view(few[:, :2], columns=columns).html
    with pytest.raises(ValueError, match="columns: expected a dict or a table, got ndarray"):
        lowland.view(few[:, :2], columns=few)


def test_page_contains_covariances(few):
    model = lowland.LLLVM(max_iter=3, starts=1).fit(few)
    without = lowland.view({"LLLVM": model.embedding_}).html
    assert len(lowland.view({"LLLVM": model}).html) > len(without) + 3 * 150


def test_page_contains_all_data_and_can_be_saved(few, digits, tmp_path):
    model = lowland.LVM(max_iter=10).fit(few)
    graph = lowland.neighbors(few, 15)
    columns = {"ink": few.sum(axis=1), "kind": np.where(few.sum(axis=1) > 300, "dark", "light")}
    page = lowland.view(
        {"LVM": model, "PCA": lowland.PCA().fit(few)}, digits[1][:150], X=few, neighbors=graph, columns=columns,
        ids=range(150), title="the digits",
    )
    assert b"the digits" in page.html and len(page.html) > len(lowland.view(model).html)
    page.save(tmp_path / "map.html")
    assert (tmp_path / "map.html").read_bytes() == page.html and len(list(tmp_path.iterdir())) == 1
    (tmp_path / "other").touch()
    assert (tmp_path / "map.html").stat().st_mode == (tmp_path / "other").stat().st_mode
    (tmp_path / "map.html").chmod(0o600)
    page.save(tmp_path / "map.html")
    assert (tmp_path / "map.html").stat().st_mode & 0o777 == 0o600
    assert page._repr_html_().startswith("<iframe") and "MiB" in repr(page)
    with pytest.raises(ValueError, match="expected 150, found 3"):
        lowland.view(model, columns={"wrong": [1, 2, 3]})


def test_reliability_is_drawn_in_plots_and_pages(few, digits):
    points = lowland.PCA().fit_transform(few)
    island = np.where(points[:, 0] > 0, 1.0, 2.0)
    bridge = np.where(np.arange(150) < 20, 3 - island, 0.0)
    columns = {"kept": np.linspace(0, 1, 150), "flagged": np.arange(150) % 10 == 0, "island": island, "bridge_to": bridge}
    ax = lowland.plot(points, reliability=columns, color="kept", ax=plt.figure().gca())
    # Points, rings around the flagged ones, and a line between the islands.
    assert [len(each.get_offsets()) for each in ax.collections] == [135, 15] and len(ax.lines) == 1
    assert len(ax.collections[1].get_facecolor()) == 0
    ax = lowland.plot(points, digits[1][:150], reliability=columns, flagged="fade", bridges=False, ax=plt.figure().gca())
    alphas = np.concatenate([collection.get_alpha() for collection in ax.collections])
    assert (alphas < 0.5).sum() == 15 and len(ax.lines) == 0

    class Result:
        pass

    result = Result()
    result.columns = columns
    page = lowland.view(points, reliability=result)
    assert page.html == lowland.view(points, reliability=columns).html
    assert b'"name":"kept"' in page.html and b'"islands":[1,2]' in page.html
    both = lowland.view({"a": points, "b": points}, reliability={"b": columns})
    assert both.html.count(b'"name":"kept"') == 1
    with pytest.raises(ValueError, match="there is no column 'trust'; expected kept"):
        lowland.view(points, reliability={"trust": np.zeros(150)})
    with pytest.raises(ValueError, match="expected 150"):
        lowland.view(points, reliability={"kept": np.zeros(3)})
    with pytest.raises(ValueError, match="color='jump': reliability has the columns kept"):
        lowland.plot(points, reliability=columns, color="jump")
    with pytest.raises(ValueError, match="flagged='maybe'"):
        lowland.plot(points, reliability=columns, flagged="maybe")
    with pytest.raises(TypeError, match="reliability: expected a dict"):
        lowland.view(points, reliability=3)
