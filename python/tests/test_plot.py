"""Pictures."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import lowland


def test_every_class_is_drawn_with_all_its_points(few, digits):
    model = lowland.LVM(max_iter=10).fit(few)
    ax = lowland.plot(model, digits[1][:150], ax=plt.figure().gca(), title="digits")
    assert len(ax.collections) == 10 and ax.get_title() == "digits"
    drawn = np.concatenate([collection.get_offsets() for collection in ax.collections])
    assert sorted(map(tuple, np.asarray(drawn))) == sorted(map(tuple, model.embedding_))
    alphas = np.concatenate([collection.get_alpha() for collection in ax.collections])
    assert alphas.min() < 0.2 < 0.8 < alphas.max()


def test_maps_of_one_dimension_and_many_classes_are_drawn():
    points = np.arange(50.0)[:, None]
    ax = lowland.plot(points, np.arange(50), ax=plt.figure().gca())
    assert len(ax.collections) == 50 and ax.get_legend() is None
    with pytest.raises(ValueError, match="labels: expected 50, found 3"):
        lowland.plot(points, [1, 2, 3])
