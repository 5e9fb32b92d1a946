"""The drop-ins for scikit-learn's naive Bayes: the same answers, the known faults mended, life among pipelines."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import sklearn.naive_bayes as theirs
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import naively.sklearn as ours
from naively.errors import InputError, InputTypeError, NaivelyWarning, ParameterError, SchemaError

NAMES = ours.__all__
DISCRETE = [name for name in NAMES if name != "GaussianNB"]
COUNTING = [name for name in DISCRETE if name != "CategoricalNB"]

PARAMETERS = {
    "GaussianNB": [{}, {"var_smoothing": 0.01}, {"priors": [0.2, 0.3, 0.5]}],
    "BernoulliNB": [{}, {"alpha": 0.1, "binarize": 2.0}, {"fit_prior": False}],
    "MultinomialNB": [{}, {"alpha": [0.5, 1.0, 2.0, 3.0]}, {"class_prior": [0.2, 0.3, 0.5]}, {"fit_prior": False}],
    "ComplementNB": [{}, {"norm": True}, {"alpha": [0.5, 1.0, 2.0, 3.0]}, {"class_prior": [0.2, 0.3, 0.5]}],
    "CategoricalNB": [{}, {"min_categories": 9}, {"min_categories": [9, 1, 12, 3]}, {"alpha": 0.01}],
}
SAME = [(name, parameters) for name, choices in PARAMETERS.items() for parameters in choices]
ATTRIBUTES = {
    "GaussianNB": ["theta_", "var_", "epsilon_", "class_prior_"],
    "CategoricalNB": ["category_count_", "feature_log_prob_", "n_categories_", "class_log_prior_"],
    **{name: ["feature_count_", "feature_log_prob_", "class_log_prior_"] for name in COUNTING},
}
ATTRIBUTES["ComplementNB"].append("feature_all_")
METHODS = ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"]


def our(name, **parameters):
    return getattr(ours, name)(**parameters)


def their(name, **parameters):
    return getattr(theirs, name)(**parameters)


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(7)
    X, y = random.integers(0, 6, (60, 4)), np.repeat(["a", "b", "c"], [30, 20, 10])
    return X, y, random.random(60) * 3


def assert_same(mine, yours, X, name):
    assert mine.classes_.tolist() == yours.classes_.tolist()
    assert mine.n_features_in_ == yours.n_features_in_
    for attribute in ["class_count_", *ATTRIBUTES[name]]:
        assert_equal_tables(getattr(mine, attribute), getattr(yours, attribute), attribute)
    assert mine.predict(X).tolist() == yours.predict(X).tolist()
    for method in METHODS[1:]:
        np.testing.assert_allclose(getattr(mine, method)(X), getattr(yours, method)(X), rtol=1e-12, atol=1e-13)


def assert_equal_tables(mine, yours, name):
    if isinstance(yours, list):
        assert len(mine) == len(yours)
        for one, other in zip(mine, yours, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, err_msg=name)
    else:
        np.testing.assert_allclose(mine, yours, rtol=1e-12, err_msg=name)


# -- the same -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_same_parameters_with_the_same_defaults(name):
    assert our(name).get_params() == their(name).get_params()
    assert list(our(name).get_params()) == list(their(name).get_params())


@pytest.mark.parametrize("name", NAMES)
def test_the_same_public_attributes_and_methods(name, rows):
    X, y, _ = rows
    mine, yours = our(name).fit(X, y), their(name).fit(X, y)
    wanted = {attribute for attribute in dir(yours) if not attribute.startswith("_")}
    assert wanted <= set(dir(mine))
    for attribute in wanted:
        getattr(mine, attribute)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "parameters"), SAME)
def test_the_same_answers_and_attributes(name, parameters, weighted, rows):
    X, y, weights = rows
    weights = weights if weighted else None
    mine, yours = (make(name, **parameters).fit(X, y, sample_weight=weights) for make in (our, their))
    assert_same(mine, yours, X, name)
    assert mine.score(X, y) == yours.score(X, y)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array])
@pytest.mark.parametrize("name", COUNTING)
def test_the_same_answers_on_sparse_matrices(name, container, rows):
    X, y, weights = rows
    table = container(np.where(X > 2, X, 0))
    mine, yours = (make(name).fit(table, y, weights) for make in (our, their))
    assert_same(mine, yours, table, name)


@pytest.mark.parametrize("name", ["GaussianNB", "CategoricalNB"])
def test_sparse_matrices_where_scikit_learn_takes_none(name, rows):
    X, y, _ = rows
    table = sparse.csr_array(X)
    assert_same(our(name).fit(table, y), their(name).fit(X, y), X, name)
    np.testing.assert_allclose(our(name).fit(X, y).predict_proba(table), their(name).fit(X, y).predict_proba(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("name", NAMES)
def test_data_frames_keep_their_names(name, frame, rows):
    X, y, _ = rows
    table = frame({f"column {place}": X[:, place] for place in range(4)})
    mine = our(name).fit(table, y)
    assert mine.feature_names_in_.tolist() == [f"column {place}" for place in range(4)]
    np.testing.assert_allclose(mine.predict_proba(table), their(name).fit(X, y).predict_proba(X), rtol=1e-12)
    assert np.array_equal(mine.predict_proba(table[list(table.columns)[::-1]]), mine.predict_proba(table))
    assert not hasattr(mine.fit(X, y), "feature_names_in_")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8, bool])
def test_any_numbers(name, dtype, rows):
    X, y, _ = rows
    table = (X > 2).astype(dtype) if dtype is bool else X.astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = their(name).fit(table.astype(float), y).predict_proba(table.astype(float))
    np.testing.assert_allclose(our(name).fit(table, y).predict_proba(table), expected, rtol=1e-9)


def test_fractions_of_codes_are_cut_off_as_scikit_learn_does(rows):
    X, y, _ = rows
    fractions = X + 0.75
    mine, yours = our("CategoricalNB").fit(fractions, y), their("CategoricalNB").fit(fractions, y)
    assert_same(mine, yours, fractions, "CategoricalNB")
    frame = pd.DataFrame(fractions, columns=list("pqrs"))
    assert np.array_equal(our("CategoricalNB").fit(frame, y).predict_proba(frame), mine.predict_proba(fractions))


def test_binary_features_as_they_are(rows):
    X, y, _ = rows
    table = (X > 2).astype(float)
    for parameters in ({"binarize": None}, {"binarize": None, "alpha": 0.1}):
        mine, yours = (make("BernoulliNB", **parameters).fit(table, y) for make in (our, their))
        assert_same(mine, yours, table, "BernoulliNB")
    with pytest.raises(InputError, match="above 1"):
        our("BernoulliNB", binarize=None).fit(X, y).predict(X)


def test_the_variance_that_smooths_counts_each_row_once_whatever_it_weighs(rows):
    X, y, weights = rows
    mine, yours = our("GaussianNB", var_smoothing=0.5), their("GaussianNB", var_smoothing=0.5)
    assert_same(mine.fit(X, y, weights), yours.fit(X, y, weights), X, "GaussianNB")
    weights = np.where(np.arange(60) % 3 == 0, 0.0, weights)
    assert_same(mine.fit(X, y, weights), yours.fit(X, y, weights), X, "GaussianNB")
    assert mine.epsilon_ == pytest.approx(0.5 * X.var(axis=0).max(), rel=1e-14)


# -- mended ---------------------------------------------------------------------------------------------------------


def in_batches(model, X, y, cuts, weights=None):
    edges = [0, *sorted({cut % (len(y) - 1) + 1 for cut in cuts} - {len(y)}), len(y)]
    for start, stop in pairwise(edges):
        part = slice(start, stop)
        model.partial_fit(
            X[part], y[part], classes=["a", "b", "c"], sample_weight=None if weights is None else weights[part]
        )
    return model


@pytest.mark.parametrize(("name", "parameters"), SAME)
@pytest.mark.parametrize("weighted", [False, True])
@given(cuts=st.lists(st.integers(0, 200), max_size=4))
def test_batches_give_what_one_fit_gives(name, parameters, weighted, rows, cuts):
    X, y, weights = rows
    weights = np.round(weights * 8) / 8 + 0.125 if weighted else None
    whole = our(name, **parameters).fit(X, y, weights)
    batches = in_batches(our(name, **parameters), X, y, cuts, weights)
    for attribute in ["class_count_", *ATTRIBUTES[name]]:
        one, other = getattr(batches, attribute), getattr(whole, attribute)
        for left, right in zip(one, other, strict=True) if isinstance(one, list) else [(one, other)]:
            np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(batches.predict_joint_log_proba(X), whole.predict_joint_log_proba(X))


def test_weights_may_come_in_any_batch(rows):
    X, y, _ = rows
    whole = our("GaussianNB", var_smoothing=0.5).fit(X, y, np.r_[np.ones(30), np.full(15, 2.0), np.ones(15)])
    model = our("GaussianNB", var_smoothing=0.5)
    model.partial_fit(X[:30], y[:30], classes=["a", "b", "c"])
    model.partial_fit(X[30:45], y[30:45], sample_weight=np.full(15, 2.0))
    model.partial_fit(X[45:], y[45:])
    assert model.epsilon_ == whole.epsilon_
    np.testing.assert_array_equal(model.var_, whole.var_)
    unweighted = our("GaussianNB", var_smoothing=0.5)
    np.testing.assert_array_equal(model.fit(X, y).var_, unweighted.fit(X, y).var_)


def test_one_row_at_a_time_is_no_problem(rows):
    X, y, _ = rows
    model = our("GaussianNB").partial_fit(X[:1], y[:1], classes=["a", "b", "c"])
    assert model.predict_proba(X).tolist() == [[1.0, 0.0, 0.0]] * 60


def test_categories_grow_and_never_shrink(rows):
    X, y, _ = rows
    model = our("CategoricalNB").fit(X, y)
    before = model.n_categories_.tolist()
    model.partial_fit([[0, 0, 0, 0]], ["a"])
    assert model.n_categories_.tolist() == before
    model.partial_fit([[9, 0, 0, 0]], ["a"])
    assert model.n_categories_.tolist() == [10, *before[1:]]
    assert [table.shape for table in model.category_count_] == [(3, n) for n in model.n_categories_]


def test_a_category_that_was_never_seen_says_nothing(rows):
    X, y, _ = rows
    model = our("CategoricalNB").fit(X, y)
    odd = X[:5].copy()
    odd[:, 0] = 77
    with pytest.raises(IndexError):
        their("CategoricalNB").fit(X, y).predict(odd)
    rest = our("CategoricalNB").fit(X[:, 1:], y)
    np.testing.assert_allclose(model.predict_proba(odd), rest.predict_proba(odd[:, 1:]), rtol=1e-12)


@pytest.mark.parametrize("name", DISCRETE)
@given(data=st.data())
def test_no_answer_is_nan_without_smoothing(name, data):
    cells = st.lists(st.integers(0, 2), min_size=3, max_size=3)
    X = data.draw(st.lists(cells, min_size=2, max_size=6))
    y = data.draw(st.lists(st.sampled_from("ab"), min_size=len(X), max_size=len(X)))
    model = our(name, alpha=0.0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaivelyWarning)
        probability = model.predict_proba(data.draw(st.lists(cells, min_size=1, max_size=3)))
    assert np.isfinite(probability).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)


def test_one_alpha_per_feature_for_any_number_of_classes(rows):
    X, y, _ = rows
    alpha = np.array([0.5, 1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="broadcast"):
        their("BernoulliNB", alpha=alpha).fit(X, y)
    model = our("BernoulliNB", alpha=alpha).fit(X, y)
    expected = (model.feature_count_ + alpha) / (model.class_count_[:, None] + 2 * alpha)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), expected, rtol=1e-13)


def test_impossible_rows_get_the_prior_and_a_warning():
    model = our("MultinomialNB", alpha=0.0).fit([[1, 0, 0], [0, 1, 0], [0, 2, 0]], ["a", "b", "b"])
    assert np.isneginf(model.feature_log_prob_[0, 1])
    with pytest.warns(NaivelyWarning, match="every class had probability zero"):
        np.testing.assert_allclose(model.predict_proba([[1, 1, 0]]), [[1 / 3, 2 / 3]])


@pytest.mark.parametrize("name", NAMES)
def test_missing_cells_are_marginalised(name, rows):
    X, y, _ = rows
    holes = X.astype(float)
    holes[::7, 1] = np.nan
    if name in ("GaussianNB", "BernoulliNB", "CategoricalNB"):  # columns that stand alone
        mine = our(name).fit(X, y)
        rest = our(name).fit(X[:, [0, 2, 3]], y)
        hidden = X.astype(float)
        hidden[:, 1] = np.nan
        expected = rest.predict_proba(X[:, [0, 2, 3]])
        np.testing.assert_allclose(mine.predict_proba(hidden), expected, rtol=1e-7)
    learnt = our(name).fit(holes, y)
    assert np.isfinite(learnt.predict_log_proba(holes)).all()
    assert learnt.__sklearn_tags__().input_tags.allow_nan


def test_means_and_variances_of_known_cells_only():
    model = our("GaussianNB", var_smoothing=0).fit([[1.0], [np.nan], [3.0], [7.0], [9.0]], [0, 0, 0, 1, 1])
    assert model.theta_.ravel().tolist() == [2.0, 8.0]
    assert model.var_.ravel().tolist() == [1.0, 1.0]
    assert model.class_count_.tolist() == [3.0, 2.0]


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
