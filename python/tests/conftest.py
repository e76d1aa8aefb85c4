"""What the tests share."""

import numpy as np
import pytest

import lowland


@pytest.fixture(scope="session")
def digits():
    return lowland.datasets.load("digits", return_X_y=True)


@pytest.fixture(scope="session")
def few(digits):
    """Rows few enough for every method."""
    return digits[0][:150].astype(np.float64)


def estimators(**params):
    """One of each, made quick; parameters that a class does not have are left out."""
    quick = {"max_iter": 15, "inducing": 10, **params}
    classes = [getattr(lowland, name) for name in sorted(lowland.estimators.__all__) if name != "load"]
    return [cls(**{name: value for name, value in quick.items() if name in cls().get_params()}) for cls in classes]
