"""Plots and interactive pages."""

import io
import json
import warnings
from pathlib import Path

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


@pytest.fixture(autouse=True)
def figures_are_closed():
    yield
    plt.close("all")


def test_all_points_of_all_classes_are_drawn(few, digits):
    model = lowland.LVM(max_iter=10).fit(few)
    ax = lowland.plot(model, digits[1][:150], ax=axes(), title="digits", map_labels="off")
    (drawn,) = ax.collections
    assert ax.get_title() == "digits"
    np.testing.assert_array_equal(drawn.get_offsets(), model.embedding_)
    assert drawn.get_alpha().min() < 0.2 < 0.8 < drawn.get_alpha().max()
    assert len(np.unique(drawn.get_facecolors()[:, :3], axis=0)) == 10
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [str(digit) for digit in range(10)]


def test_legend_swatches_are_opaque(few, digits):
    ax = lowland.plot(lowland.LVM(max_iter=10).fit(few), digits[1][:150], ax=axes(), map_labels="off")
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
        ax = lowland.plot(points, labels, ax=axes(), map_labels="off")
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


def islands(names, each=60):
    """Round groups of points, and the name of each point's group."""
    angle = 2.4 * np.arange(each)
    group = np.sqrt(np.arange(each) / each)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.concatenate([group + 4 * np.array([at % 3, at // 3]) for at in range(len(names))])
    return points, np.repeat(np.array(names, dtype=object), each)


#: The strings of the tests of the page, and some that matplotlib could take for something else.
PAGE_STRINGS = json.loads((Path(__file__).parents[2] / "viewer/test/hostile.json").read_text(encoding="utf-8"))
HOSTILE = [*PAGE_STRINGS, "$\\frac{$", "\\$5 and $x^2$", "_hidden", "\u202eturned", "שלום", "a\nb\0c", "%s {0} {", "x" * 500]


def test_names_of_separate_classes_replace_the_legend():
    points, names = islands(["a", "b", "c", "unknown"])
    ax = lowland.plot(points, names, ax=axes())
    assert ax.get_legend() is None and sorted(text.get_text() for text in ax.texts) == ["a", "b", "c"]
    gray = ax.collections[0].get_facecolors()[names == "unknown"][0]
    assert max(gray[:3]) - min(gray[:3]) < 0.05
    # The text is black, the squares in front of it have the colors of the points.
    assert {text.get_color() for text in ax.texts if isinstance(text.get_color(), str)} == set()
    assert len({tuple(text.get_color()) for text in ax.texts}) == 1
    marks = {tuple(np.round(mark.get_color(), 4)) for mark in ax.lines if mark.get_marker() == "s"}
    colors = {tuple(np.round(ax.collections[0].get_facecolors()[names == name][0][:3], 4)) for name in "abc"}
    assert marks == colors and len(marks) == 3
    assert lowland.plot(points, names, ax=axes(), map_labels="off").get_legend() is not None
    with pytest.raises(ValueError, match="map_labels"):
        lowland.plot(points, names, map_labels="perhaps")


@pytest.mark.parametrize("map_labels", ["on", "off"])
def test_hostile_names_are_plain_text_in_plots(map_labels):
    points, names = islands(HOSTILE)
    with matplotlib.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        # A character without a font would be a warning.
        warnings.simplefilter("error")
        ax = lowland.plot(points, names, ax=axes(), map_labels=map_labels)
        legend = ax.get_legend()
        texts = [ax.title, *ax.texts, *([] if legend is None else legend.get_texts())]
        assert len(texts) > len(HOSTILE) and not any(text.get_parse_math() for text in texts)
        files = {}
        for format in ("svg", "pdf", "png"):
            ax.get_figure().savefig(files.setdefault(format, io.BytesIO()), format=format)
    svg = files["svg"].getvalue().decode()
    assert "<script" not in svg and "<img" not in svg and "]]>" not in svg.replace("]]&gt;", "")
    # As written: as a formula it would be an error, or an italic x with an exponent.
    shown = " ".join(text.get_text() for text in texts)
    for text in ("$\\frac{$", "$x^2$", "_hidden", "turned", "%s {0} {"):
        assert text in shown, text
    assert "$\\frac{$" in svg and not set("\u202e\0") & set(shown)


def test_titles_are_plain_text():
    for title in HOSTILE:
        ax = lowland.plot(np.zeros((3, 2)), ax=axes(), title=title)
        ax.figure.canvas.draw()
        plt.close()
        assert not set("\u202e\0") & set(ax.get_title())
    assert lowland.plot(np.zeros((3, 2)), ax=axes(), title="two\nlines, $5").get_title() == "two\nlines, $5"


def test_hostile_names_are_plain_text_in_pictures_and_pages():
    points, names = islands(HOSTILE)
    for title in HOSTILE:
        svg = lowland.draw(points, names, map_labels="on", ids=names, words=True, title=title).file("svg").decode()
        assert "<script" not in svg and "<img" not in svg and "&lt;script&gt;window.hacked = 1&lt;/script&gt;" in svg
    html = lowland.view({HOSTILE[0]: points}, names, ids=names, title=HOSTILE[0], columns={HOSTILE[2]: names}).html.decode()
    # The page has the script of its bundle and sections of data, and none from its data.
    assert "<script>window" not in html and "<img" not in html


def test_text_of_plots_has_the_fonts_of_pictures(caplog):
    from matplotlib import font_manager

    points, names = islands(["Ἀθῆναι", "Київ", "שלום", "مرحبا"])
    with warnings.catch_warnings(), caplog.at_level("WARNING", logger="matplotlib"):
        warnings.simplefilter("error")
        for map_labels in ("on", "off"):
            ax = lowland.plot(points, names, ax=axes(), map_labels=map_labels, title="Łódź")
            ax.figure.canvas.draw()
            for text in (ax.title, *ax.texts, *(ax.get_legend().get_texts() if ax.get_legend() else [])):
                assert text.get_fontfamily()[:3] == ["Inter", "Noto Sans Hebrew", "Noto Sans Arabic"]
        colored = lowland.plot(points, points[:, 0], ax=axes())
        colored.figure.canvas.draw()
        ticks = colored.figure.axes[1].get_yticklabels()
        assert ticks and all(tick.get_fontfamily()[0] == "Inter" for tick in ticks)
    assert caplog.records == []
    files = dict(lowland._lowland.embedded_fonts())
    for weight, name in (("normal", "Inter-Regular"), ("bold", "Inter-SemiBold")):
        path = font_manager.findfont(font_manager.FontProperties(family="Inter", weight=weight), fallback_to_default=False)
        assert Path(path).read_bytes() == files[name]
    with matplotlib.rc_context({"font.family": "monospace"}):
        assert lowland.plot(points, names, ax=axes(), title="own").title.get_fontfamily() == ["monospace"]


def test_plots_and_pictures_have_the_same_colors():
    points, names = islands(["a", "b", "c"])
    drawn = lowland.plot(points, names, ax=axes()).collections[0].get_facecolors()
    svg = lowland.draw(points, names, legend="right").file("svg").decode()
    for at in range(3):
        assert "#" + "".join(f"{round(255 * value):02x}" for value in drawn[60 * at][:3]) in svg
    own = {"a": "#102030", "b": "#ffffff"}
    assert 'fill="#102030"' in lowland.draw(points, names, palette=own).file("svg").decode()
    assert lowland.plot(points, names, palette=own, ax=axes()).collections[0].get_facecolors()[0][0] == pytest.approx(16 / 255)
    with pytest.raises(ValueError, match="line 1 of the palette"):
        lowland.draw(points, names, palette="nothing").file("png")


def test_pages_have_the_palette():
    points, names = islands(["a", "b"])
    header = lowland.view(points, names, palette={"a": "#102030"}).html.decode()
    assert '"named":{"a":{"dark":1056816,"light":1056816}}' in header or '"a":{"light":1056816,"dark":1056816}' in header


def test_pictures_have_their_size_and_format(tmp_path):
    points, names = islands(["a", "b"])
    picture = lowland.draw({"one": points, "two": points}, names, width="85mm", dpi=200, font_size=7, letters=True, plain=True)
    png = picture.file("png")
    assert int.from_bytes(png[16:20], "big") == round(85 / 25.4 * 200) and b"pHYs" in png
    assert b'width="84.96mm"' in picture.file("svg") or b'width="85' in picture.file("svg")
    picture.save(tmp_path / "figure.pdf")
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF-")
    assert picture._repr_png_() == png
    with pytest.raises(ValueError, match="width='3 ells'"):
        lowland.draw(points, width="3 ells")
    with pytest.raises(ValueError, match="background='pale'"):
        lowland.draw(points, background="pale")
    with pytest.raises(ValueError, match="legend"):
        lowland.draw(points, names, legend="above").file("png")
    with pytest.raises(ValueError, match="format"):
        lowland.draw(points).file("gif")


def test_islands_are_named_by_columns_texts_or_ids():
    points, _ = islands(["a", "b"])
    table = pandas.DataFrame({"mass": np.repeat([1.0, 9.0], 60), "other": np.tile([1.0, 2.0], 60)})
    assert "mass↑" in lowland.draw(points, X=table, map_labels="islands").file("svg").decode()
    texts = [f"the orbit {i}" for i in range(60)] + [f"the soup {i}" for i in range(60)]
    assert ">orbit" in lowland.draw(points, X=texts, map_labels="islands").file("svg").decode()
    ids = [f"w{i}" for i in range(120)]
    assert ">w60, w61" in lowland.draw(points, ids=ids, map_labels="islands").file("svg").decode()
    with pytest.raises(ValueError, match="map_labels='islands' needs"):
        lowland.draw(points, map_labels="islands")
    assert ">group</text>" in lowland.draw(points, map_labels=[["group"] * 120]).file("svg").decode()


def test_missing_characters_are_boxes_with_a_warning():
    points, names = islands(["a", "\U0010fffd"])
    with pytest.warns(lowland.LowlandWarning, match="U\\+10FFFD"):
        lowland.draw(points, names).file("png")
