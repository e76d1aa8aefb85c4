"""scikit-learn's own checks, all of them, for every estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import lowland

#: Checks that contradict what a method is, each with its reason, by class.
EXCLUDED = {}

CLASSES = [getattr(lowland, name) for name in sorted(lowland.estimators.__all__) if name != "load"]


@parametrize_with_checks(
    [cls() for cls in CLASSES], expected_failed_checks=lambda estimator: EXCLUDED.get(type(estimator).__name__, {})
)
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)
