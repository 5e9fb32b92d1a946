"""The drop-ins are scikit-learn classifiers: scikit-learn's own checks on all five."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from naively.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

ESTIMATORS = [
    GaussianNB(),
    GaussianNB(var_smoothing=1e-3),
    BernoulliNB(),
    BernoulliNB(alpha=0.1, binarize=1.0, fit_prior=False),
    MultinomialNB(),
    MultinomialNB(alpha=0.0, fit_prior=False),
    ComplementNB(),
    ComplementNB(alpha=0.5, norm=True),
    CategoricalNB(),
    CategoricalNB(alpha=0.5, min_categories=4),
]


def all_checks():
    """scikit-learn's checks, without the one that is for estimators that claim to support the Array API."""
    mark = parametrize_with_checks(ESTIMATORS)
    names, pairs = mark.args
    return pytest.mark.parametrize(
        names, [pair for pair in pairs if "check_array_api_input" not in str(pair)], **mark.kwargs
    )


@pytest.mark.filterwarnings("ignore:In .* every class had probability zero")
@all_checks()
def test_scikit_learn_check(estimator, check):
    check(estimator)
