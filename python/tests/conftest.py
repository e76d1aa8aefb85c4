"""Fixtures and helpers of all tests."""

import os
import signal

import numpy as np
import pytest

import lowland

#: The command line program, if the tests should use it.
PROGRAM = os.environ.get("LOWLAND_PROGRAM")

#: A program that type checkers read; it is not run.
collect_ignore = ["typing_usage.py"]

needs_program = pytest.mark.skipif(PROGRAM is None, reason="LOWLAND_PROGRAM is not set")


@pytest.fixture(autouse=True)
def ctrl_c_raises():
    """Handle SIGINT as Python does by default. It does not if it was started with SIGINT ignored: in the background, by some CI."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def digits():
    return lowland.datasets.load("digits", return_X_y=True)


@pytest.fixture(scope="session")
def few(digits):
    """150 rows, few enough for every method."""
    return digits[0][:150].astype(np.float64)


def estimators(**params):
    """Return an estimator of each class with few iterations; parameters that a class does not have are ignored."""
    quick = {"max_iter": 15, "inducing": 10, **params}
    classes = [getattr(lowland, name) for name in sorted(lowland.estimators.__all__) if name != "load"]
    return [cls(**{name: value for name, value in quick.items() if name in cls().get_params()}) for cls in classes]


def estimators_with_neighbors():
    """Return an estimator of each class that uses nearest neighbors."""
    return [estimator for estimator in estimators(perplexity=10.0) if "neighbors" in estimator.get_params()]


def class_name(estimator):
    """Return the name of the estimator's class, for test ids."""
    return type(estimator).__name__


#: Classes that use the coordinates of the neighbors, not only their distances.
NEED_ROWS = (lowland.LLLVM, lowland.LTSA, lowland.LocallyLinearEmbedding)
