"""The drop-ins for scikit-learn's naive Bayes: the same answers, and the known faults mended."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from naively.errors import InputError, NaivelyWarning
from tests.sklearn.drop_in_models import ATTRIBUTES, COUNTING, DISCRETE, METHODS, NAMES, SAME, our, some_rows, their


@pytest.fixture(scope="module")
def rows():
    return some_rows()


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
