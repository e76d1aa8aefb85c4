"""Where computations run. These tests need no card; what needs one is crates/lowland-testkit/examples/device_suite.rs."""

import numpy as np
import pytest

import lowland


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(60, 5))


def no_card():
    with pytest.warns(UserWarning, match="no card"):
        return lowland.devices() == []


def test_small_work_stays_on_the_processor(rows):
    for device in ("auto", "cpu"):
        model = lowland.TSNE(max_iter=20, device=device).fit(rows)
        assert not any("computed on" in note for note in model.notes_)
    first, second = (lowland.TSNE(max_iter=20, device=d).fit_transform(rows) for d in ("auto", "cpu"))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("device", ["gpu", "cuda:x", ""])
def test_unknown_devices_are_refused(rows, device):
    with pytest.raises(ValueError, match="auto, cpu, cuda or cuda:N"):
        lowland.PCA(device=device).fit(rows)


def test_a_device_is_a_name(rows):
    with pytest.raises(ValueError, match="device"):
        lowland.neighbors(rows, 3, device=0)


def test_a_card_that_is_not_there_is_an_error_with_the_reason(rows):
    if not no_card():
        pytest.skip("there is a card")
    calls = [
        lambda: lowland.TSNE(device="cuda").fit(rows),
        lambda: lowland.neighbors(rows, 3, device="cuda:0"),
        lambda: lowland.quality.report(rows, rows[:, :2], device="cuda"),
        lambda: lowland.trust(rows, rows[:, :2], device="cuda"),
        lambda: lowland.embed(rows, device="cuda"),
    ]
    for call in calls:
        with pytest.raises((ValueError, RuntimeError), match="cuda:0.*device='cpu'"):
            call()
    # The device of one call is not that of the next.
    assert lowland.neighbors(rows, 3).indices.shape == (60, 3)


def test_a_fitted_model_can_be_used_on_another_device(rows):
    model = lowland.TSNE(max_iter=20).fit(rows)
    model.set_params(device="cuda:99")
    with pytest.raises((ValueError, RuntimeError), match="cuda:99"):
        model.transform(rows[:3])
    model.set_params(device="cpu")
    assert model.transform(rows[:3]).shape == (3, 2)
