"""The checks of scikit-learn for all estimators."""

import pytest
from conftest import estimators
from sklearn.utils.estimator_checks import parametrize_with_checks

from lowland.compat import sklearn, umap

#: Checks that are expected to fail, with reasons, by class.
EXCLUDED = {
    "TSNE": {
        "check_fit2d_1sample": "sets perplexity to 0.5 for classes called TSNE, which is not a valid value"
    }
}


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
@parametrize_with_checks(estimators(inducing=5))
def test_check_estimator(estimator, check):
    reason = EXCLUDED.get(type(estimator).__name__, {}).get(check.func.__name__)
    if reason is not None:
        pytest.xfail(reason)
    check(estimator)


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        umap.UMAP(n_neighbors=3, n_epochs=10, random_state=0),
        sklearn.LocallyLinearEmbedding(),
        sklearn.SpectralEmbedding(),
        sklearn.Isomap(),
        sklearn.PCA(),
        sklearn.TruncatedSVD(),
        sklearn.TSNE(perplexity=3, max_iter=250),
    ]
)
def test_check_replacements(estimator, check):
    check(estimator)
