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
