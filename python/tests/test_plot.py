"""Plots and interactive pages."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import lowland


def test_all_points_of_all_classes_are_drawn(few, digits):
    model = lowland.LVM(max_iter=10).fit(few)
    ax = lowland.plot(model, digits[1][:150], ax=plt.figure().gca(), title="digits")
    assert len(ax.collections) == 10 and ax.get_title() == "digits"
    drawn = np.concatenate([collection.get_offsets() for collection in ax.collections])
    assert sorted(map(tuple, np.asarray(drawn))) == sorted(map(tuple, model.embedding_))
    alphas = np.concatenate([collection.get_alpha() for collection in ax.collections])
    assert alphas.min() < 0.2 < 0.8 < alphas.max()


def test_one_dimension_and_many_classes():
    points = np.arange(50.0)[:, None]
    ax = lowland.plot(points, np.arange(50), ax=plt.figure().gca())
    assert len(ax.collections) == 50 and ax.get_legend() is None
    with pytest.raises(ValueError, match="labels: expected 50 values, found 3"):
        lowland.plot(points, [1, 2, 3])


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
