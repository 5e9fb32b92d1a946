"""NaiveBayes is a scikit-learn classifier: its own checks, and life among pipelines and searches."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from naively import NaiveBayes
from naively.errors import SchemaError
from naively.families import Gaussian
from tests.models import textbook

POOR_SCORE = "the check wants 83 % of its normal blobs right, which this family was not made for"
ANY_SIGN = "only this family's columns must be positive, and the tag speaks of all columns"
EXPECTED_FAILURES = {
    "bernoulli": {"check_classifiers_train": POOR_SCORE},
    "poisson": {"check_positive_only_tag_during_fit": ANY_SIGN},
    "multinomial": {"check_classifiers_train": POOR_SCORE, "check_positive_only_tag_during_fit": ANY_SIGN},
}
ESTIMATORS = [
    NaiveBayes(),
    textbook(),
    textbook(families=Gaussian(ties="feature", ddof=1), prior="uniform", n_threads=2),
    textbook(families=Gaussian(rule="scikit-learn"), prior_smoothing=1.0),
    textbook(families="categorical"),
    textbook(families="bernoulli", smoothing="jeffreys"),
    textbook(families="poisson"),
    textbook(families="multinomial"),
]


def all_checks():
    """scikit-learn's checks, without the one that skips itself wherever SCIPY_ARRAY_API is not set.

    That one is for estimators that claim to support the Array API, and NaiveBayes does not.
    """
    mark = parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda model: failures_of(model.families))
    names, pairs = mark.args
    return pytest.mark.parametrize(
        names, [pair for pair in pairs if "check_array_api_input" not in str(pair)], **mark.kwargs
    )


def failures_of(families):
    return EXPECTED_FAILURES.get(families, {}) if isinstance(families, str) else {}


@all_checks()
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


def test_what_scikit_learn_wants_to_know(iris):
    model = textbook()
    assert is_classifier(model)
    with pytest.raises(NotFittedError, match="fit"):
        model.predict(iris[0])
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    model.fit(*iris)
    check_is_fitted(model)
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list(iris[0].columns)
    assert model.classes_.tolist() == [0, 1, 2]
    assert not hasattr(model.fit(iris[0].to_numpy(), iris[1]), "feature_names_in_")


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "evidence", "parameters", "forget", "decay", "save", "score"]
)
def test_an_unfitted_model_says_so(method, iris):
    arguments = {"decay": (0.5,), "save": ("model.json",), "parameters": (), "forget": iris, "score": iris}
    with pytest.raises(NotFittedError, match=r"not fitted yet. Call 'fit'"):
        getattr(textbook(), method)(*arguments.get(method, iris[:1]))


def test_cloning_keeps_the_parameters_and_drops_what_was_learnt(iris):
    model = textbook(
        families={"sepal length (cm)": Gaussian(ties="all")}, prior_smoothing=2.0, prior={0: 0.5, 1: 0.25, 2: 0.25}
    )
    copy = clone(model.fit(*iris))
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "statistics_")


def test_pickling(iris):
    model = textbook().fit(*iris)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.statistics_ == model.statistics_
    assert np.array_equal(copy.predict_proba(iris[0]), model.predict_proba(iris[0]))
    unfitted = pickle.loads(pickle.dumps(textbook(smoothing=2.0)))
    assert unfitted.smoothing == 2.0


def test_in_a_pipeline(iris):
    pipeline = make_pipeline(StandardScaler(), textbook()).fit(*iris)
    assert pipeline.score(*iris) == textbook().fit(*iris).score(*iris) == 0.96


def test_behind_a_column_transformer():
    frame = pd.DataFrame({"size": [1.0, 2.0, 8.0, 9.0], "colour": ["red", "red", "blue", "red"]})
    encode = ColumnTransformer([("codes", OrdinalEncoder(), ["colour"])], remainder="passthrough")
    pipeline = make_pipeline(encode, textbook(families={0: "categorical"}))
    assert pipeline.fit(frame, list("aabb")).predict(frame).tolist() == list("aabb")


def test_a_grid_search_over_smoothings_and_families(iris):
    grid = [
        {"smoothing": [0.1, "laplace", {"petal width (cm)": 3.0}], "families": ["categorical"]},
        {"smoothing": ["none", "laplace"], "families": [None, Gaussian(ties="feature")]},  # others, no density reads
    ]
    search = GridSearchCV(textbook(), grid, cv=3).fit(*iris)
    assert search.best_score_ > 0.94
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()


def test_cross_validation(iris):
    assert cross_val_score(textbook(), *iris, cv=5).mean() > 0.94
    assert (cross_val_score(textbook(), *iris, cv=3, scoring="neg_log_loss") > -0.5).all()
    assert cross_val_predict(textbook(), *iris, cv=3, method="predict_log_proba").shape == (150, 3)


def test_inside_other_estimators(iris):
    assert BaggingClassifier(textbook(), n_estimators=3, random_state=0).fit(*iris).score(*iris) > 0.9
    assert CalibratedClassifierCV(textbook(), cv=3).fit(*iris).score(*iris) > 0.9


def test_sample_weight_is_routed(iris):
    weights = np.linspace(0.5, 2.0, 150)
    with sklearn.config_context(enable_metadata_routing=True):
        model = textbook().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        routed = cross_validate(model, *iris, params={"sample_weight": weights}, cv=3, return_estimator=True)
        pipeline = make_pipeline(model).fit(*iris, sample_weight=weights)
    total = sum(fitted.class_count_.sum() for fitted in routed["estimator"])
    np.testing.assert_allclose(total, 2 * weights.sum(), rtol=1e-12)
    assert pipeline[-1].statistics_ == textbook().fit(*iris, sample_weight=weights).statistics_


def test_a_scorer_and_a_weighted_score(iris):
    model = textbook().fit(*iris)
    assert get_scorer("accuracy")(model, *iris) == 0.96
    wrong = model.predict(iris[0]) != iris[1]
    assert model.score(*iris, sample_weight=np.where(wrong, 0.0, 1.0)) == 1.0


def test_parameters_can_be_changed_after_fitting_without_data(iris):
    X, y = iris
    model = textbook().fit(X, y)
    model.predict_proba(X)
    changes = [
        {"families": Gaussian(ties="feature")},
        {"families": {"petal width (cm)": Gaussian(ties="all", ddof=1)}},
        {"prior": [0.2, 0.3, 0.5]},
        {"prior": "uniform"},
        {"prior_smoothing": 5.0},
        {"smoothing": "none"},
        {"families": Gaussian(rule="scikit-learn", floor=0.1)},
    ]
    for change in changes:
        fresh = textbook(**{**model.get_params(), **change}).fit(X, y)
        model.set_params(**change)
        assert np.array_equal(model.predict_log_proba(X), fresh.predict_log_proba(X)), change


def test_smoothing_can_be_changed_after_fitting_without_data():
    table = {"colour": ["red", "red", "blue", "green"], "events": [1, 0, 4, 2]}
    families = {"events": "poisson"}
    model = textbook(families=families).fit(table, list("aabb"))
    for smoothing in (0.5, "none", {"colour": 3.0}, {"events": "jeffreys", 0: 0.25}):
        fresh = textbook(families=families, smoothing=smoothing).fit(table, list("aabb"))
        model.set_params(smoothing=smoothing)
        assert np.array_equal(model.predict_log_proba(table), fresh.predict_log_proba(table))


def test_a_family_that_needs_other_statistics_wants_the_data_again(iris):
    model = textbook().fit(*iris).set_params(families="categorical")
    with pytest.raises(SchemaError, match=r"'sepal length \(cm\)'.*Fit again"):
        model.predict(iris[0])


def test_partial_fit_does_not_need_the_classes_but_takes_them():
    model = textbook().partial_fit([[1.0]], ["b"]).partial_fit([[2.0], [9.0]], ["a", "c"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    declared = textbook().partial_fit([[1.0]], ["b"], classes=["a", "b", "c"])
    assert declared.classes_.tolist() == ["a", "b", "c"]
    assert declared.class_count_.tolist() == [0, 1, 0]
    assert declared.predict_proba([[1.0]]).tolist() == [[0, 1, 0]]
    declared.partial_fit([[2.0], [9.0]], ["a", "c"])
    assert declared.statistics_ == model.statistics_
