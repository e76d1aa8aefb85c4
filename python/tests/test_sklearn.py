"""scikit-learn's own checks, all of them, for every estimator."""

from conftest import estimators
from sklearn.utils.estimator_checks import parametrize_with_checks

#: Checks that cannot pass, each with its reason, by class.
EXCLUDED = {
    "TSNE": {
        "check_fit2d_1sample": "for classes called TSNE it sets perplexity to 0.5, which is refused whatever the data"
    }
}


@parametrize_with_checks(
    estimators(inducing=5), expected_failed_checks=lambda estimator: EXCLUDED.get(type(estimator).__name__, {})
)
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)
