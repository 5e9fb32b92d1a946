"""The drop-ins among other estimators: what they refuse, and life in pipelines and searches."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from naively.errors import InputError, InputTypeError, ParameterError, SchemaError
from tests.sklearn.drop_in_models import ATTRIBUTES, COUNTING, METHODS, NAMES, our, some_rows, their


@pytest.fixture(scope="module")
def rows():
    return some_rows()


# -- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_an_unfitted_model_says_so(name, rows):
    model = our(name)
    for method in METHODS:
        with pytest.raises(NotFittedError, match=f"This {name} instance is not fitted"):
            getattr(model, method)(rows[0])
    for attribute in ("classes_", "class_count_", *ATTRIBUTES[name]):
        assert not hasattr(model, attribute)


@pytest.mark.parametrize("name", NAMES)
def test_classes_are_named_once(name, rows):
    X, y, _ = rows
    model = our(name)
    with pytest.raises(ParameterError, match="classes must be passed on the first call"):
        model.partial_fit(X, y)
    with pytest.raises(InputError, match=r"'c' in y do not exist in the initial classes \['a', 'b'\]"):
        model.partial_fit(X, y, classes=["a", "b"])
    model.partial_fit(X, y, classes=["c", "b", "a", "d"])
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.class_count_.tolist() == [30, 20, 10, 0]
    with pytest.raises(ParameterError, match="not the same as on last call"):
        model.partial_fit(X, y, classes=["a", "b"])
    with pytest.raises(InputError, match="'z' in y do not exist"):
        model.partial_fit(X[:1], ["z"])
    assert model.class_count_.sum() == 60
    assert name == "ComplementNB" or not model.predict_proba(X)[:, 3].any()  # it leaves the class prior out


def test_a_class_whose_rows_weigh_nothing_is_known(rows):
    X, y, _ = rows
    for name in NAMES:
        model = our(name).fit(X, y, sample_weight=(y != "c").astype(float))
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert model.class_count_.tolist() == [30, 20, 0]
        assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_failed_fit_leaves_the_model_as_it_was(name, rows):
    X, y, weights = rows
    prior = "priors" if name == "GaussianNB" else "class_prior"
    model = our(name, **{prior: [0.5, 0.3, 0.2]}).fit(X, y, weights)
    before = model.predict_proba(X)
    with pytest.raises(ParameterError, match="Number of priors must match number of classes"):
        model.fit(X, (y == "a").astype(int))
    with pytest.raises(InputError):
        model.partial_fit([["x", "y", "z", "w"]], ["a"])
    assert np.array_equal(model.predict_proba(X), before)
    assert model.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("GaussianNB", {"var_smoothing": -1.0}, "var_smoothing"),
        ("GaussianNB", {"priors": [0.5, 0.6, 0.1]}, "sum of the priors should be 1"),
        ("GaussianNB", {"priors": [-0.5, 1.0, 0.5]}, "non-negative"),
        ("BernoulliNB", {"binarize": -1.0}, "binarize"),
        ("BernoulliNB", {"alpha": [1.0, 2.0]}, "should contains `n_features`"),
        ("MultinomialNB", {"alpha": -1.0}, "alpha"),
        ("MultinomialNB", {"alpha": [1.0, 2.0, -1.0, 3.0]}, "All values in alpha"),
        ("MultinomialNB", {"class_prior": [-1.0, 1.0, 1.0]}, "non-negative"),
        ("MultinomialNB", {"class_prior": [0.0, 0.0, 0.0]}, "prior"),
        ("ComplementNB", {"norm": "yes"}, "norm"),
        ("CategoricalNB", {"alpha": [1.0, 1.0, 1.0, 1.0]}, "one number for alpha"),
        ("CategoricalNB", {"min_categories": 2.5}, "integral type"),
        ("CategoricalNB", {"min_categories": [2, 3]}, r"should have shape \(4,\)"),
    ],
)
def test_bad_parameters(name, parameters, message, rows):
    with pytest.raises(ParameterError, match=message):
        our(name, **parameters).fit(*rows[:2])


def test_a_class_prior_need_not_sum_to_one(rows):
    X, y, _ = rows
    mine, yours = (make("MultinomialNB", class_prior=[2.0, 3.0, 5.0]).fit(X, y) for make in (our, their))
    np.testing.assert_allclose(mine.predict_proba(X), yours.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(np.exp(mine.class_log_prior_), [0.2, 0.3, 0.5])


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "CategoricalNB"])
def test_negative_numbers_are_refused(name, rows):
    X, y, _ = rows
    for table in (X - 3, (X - 3).astype(float), sparse.csr_array(X - 3), pd.DataFrame(X - 3, columns=list("pqrs"))):
        with pytest.raises(InputError, match=rf"Negative values in data passed to {name} \(input X\)"):
            our(name).fit(table, y)
    with pytest.raises(InputError, match="Negative values"):
        our(name).fit(X, y).predict(X - 3)


@pytest.mark.parametrize("name", NAMES)
def test_odd_tables_are_refused(name, rows):
    X, y, _ = rows
    with pytest.raises(InputTypeError, match="text"):
        our(name).fit([["red"], ["blue"]], ["a", "b"])
    with pytest.raises(SchemaError, match="X has 3 features"):
        our(name).fit(X, y).predict(X[:, :3])
    infinite = X.astype(float)
    infinite[3, 2] = np.inf
    with pytest.raises(InputError, match="infinity"):
        our(name).fit(infinite, y)


# -- among pipelines ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_pickling_and_cloning(name, rows):
    X, y, weights = rows
    model = our(name).fit(X, y, weights)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))
    copy.partial_fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(copy.class_count_, 2 * model.class_count_)
    assert not hasattr(clone(model), "classes_")
    assert repr(model) == f"{name}()"


def test_words_in_a_pipeline_and_a_grid_search():
    texts = ["tea and milk", "milk and honey", "engine oil", "oil and engine", "honey tea", "engine fire"] * 5
    labels = ["food", "food", "car", "car", "food", "car"] * 5
    for name in COUNTING:
        pipelines = [make_pipeline(CountVectorizer(), make(name)) for make in (our, their)]
        grid = {f"{name.lower()}__alpha": [0.01, 1.0, 10.0], f"{name.lower()}__fit_prior": [True, False]}
        mine, yours = (GridSearchCV(pipeline, grid, cv=3).fit(texts, labels) for pipeline in pipelines)
        np.testing.assert_allclose(mine.cv_results_["mean_test_score"], yours.cv_results_["mean_test_score"])
        new = ["tea with oil", "fire"]
        np.testing.assert_allclose(mine.predict_proba(new), yours.predict_proba(new), rtol=1e-12)


def test_behind_an_ordinal_encoder():
    colours = np.array([["red", "s"], ["red", "m"], ["blue", "m"], ["blue", "l"]])
    y = [0, 0, 1, 1]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    model = make_pipeline(encoder, our("CategoricalNB")).fit(colours, y)
    assert model.predict([["red", "xl"], ["green", "l"]]).tolist() == [0, 1]


def test_sample_weight_is_routed(rows):
    X, y, weights = rows
    with sklearn.config_context(enable_metadata_routing=True):
        for name in NAMES:
            model = our(name).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
            model.set_partial_fit_request(classes=True, sample_weight=True)
            routed = cross_validate(model, X, y, params={"sample_weight": weights}, cv=3, return_estimator=True)
            total = sum(fitted.class_count_.sum() for fitted in routed["estimator"])
            assert total == pytest.approx(2 * weights.sum())


@pytest.mark.parametrize("name", NAMES)
def test_the_model_behind_forgets_and_explains(name, rows):
    X, y, _ = rows
    model = our(name).fit(X, y)
    model.model_.forget(X[50:], y[50:])
    assert model.class_count_.tolist() == [30, 20]
    assert set(model.model_.explain(X[:1])["column"]) == {"prior", "x0", "x1", "x2", "x3"}
