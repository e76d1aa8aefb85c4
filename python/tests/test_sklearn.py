"""The checks of scikit-learn for all estimators."""

import pytest
from conftest import estimators
from sklearn.utils.estimator_checks import parametrize_with_checks

#: Checks that are expected to fail, with reasons, by class.
EXCLUDED = {
    "TSNE": {
        "check_fit2d_1sample": "sets perplexity to 0.5 for classes called TSNE, which is not a valid value"
    }
}


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
@parametrize_with_checks(
    estimators(inducing=5), expected_failed_checks=lambda estimator: EXCLUDED.get(type(estimator).__name__, {})
)
def test_check_estimator(estimator, check):
    check(estimator)
