"""Moving the prior, moving the bias and moving the threshold are one: precision against recall."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import fbeta_score, precision_recall_curve

from naively import NaiveBayes
from naively.analysis.thresholds import trade_off, trade_off_of
from naively.errors import InputError, NaivelyError, ParameterError, RecipeError
from tests.models import textbook
from tests.strategies import cases

pytestmark = pytest.mark.filterwarnings("ignore:.*every class had probability zero")  # without smoothing, that is right

GENTLE = ("colour", "truth", "yes", "events", "words")
"""Kinds of columns whose evidence is moderate, so that a float64 can hold every prior."""


def measured(answered, is_positive, weights):
    """Precision and recall by their definitions."""
    found = weights[answered & is_positive].sum()
    precision = found / weights[answered].sum() if weights[answered].sum() > 0 else 1.0
    return precision, found / weights[is_positive].sum()


def assert_priors_do_what_the_curve_says(model, curve, X, y, weights):
    place = model.classes_.tolist().index(curve.positive)
    is_positive = np.array([label == curve.positive for label in y])
    for index, threshold in enumerate(curve.threshold):
        prior = curve.prior_at(threshold)
        assert prior[curve.positive] == curve.prior[index]
        answered = model.predict_proba(X, prior=prior)[:, place] > 0.5
        if len(model.classes_) == 2:
            assert (answered == (model.predict(X, prior=prior) == curve.positive)).all()
        assert measured(answered, is_positive, weights) == (curve.precision[index], curve.recall[index])


@given(cases(kinds=GENTLE, min_rows=2), st.data())
def test_predicting_with_the_prior_gives_that_precision_and_recall(case, data):
    model = case.fitted()
    assume(len(model.classes_) > 1)
    positive = data.draw(st.sampled_from(model.classes_.tolist()))
    rows = case.rows
    curve = trade_off(model, rows.columns, rows.y, rows.weights, positive=positive)
    weights = np.ones(len(rows)) if rows.weights is None else np.array(rows.weights)
    assert_priors_do_what_the_curve_says(model, curve, rows.columns, rows.y, weights)


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto", "strong"])
def test_so_does_every_recipe(recipe):
    random = np.random.default_rng(1)
    y = np.arange(90) % 3
    X = random.normal(y[:, None], size=(90, 2))
    model = NaiveBayes(recipe).fit(X, y)
    for positive in (0, 2):
        curve = trade_off(model, X, y, positive=positive)
        assert len(curve.prior) > 20
        assert_priors_do_what_the_curve_says(model, curve, X, y, np.ones(90))
    binary = NaiveBayes(recipe, prior="uniform").fit(X, y > 1)
    assert_priors_do_what_the_curve_says(binary, trade_off(binary, X, y > 1), X, y > 1, np.ones(90))


def test_left_out_rows_are_seen_by_the_model_without_them():
    random = np.random.default_rng(2)
    y = np.array(["a", "b", "b"] * 8)
    X = random.normal((y == "b")[:, None], size=(24, 2))
    weights = random.integers(1, 4, 24) / 2
    model = textbook().fit(X, y, weights)
    curve = trade_off(model, X, y, weights, left_out=True)
    assert curve.base_prior == dict(zip("ab", model.class_prior_, strict=True))
    others = [textbook().fit(np.delete(X, i, 0), np.delete(y, i), np.delete(weights, i)) for i in range(24)]
    for index, threshold in enumerate(curve.threshold):
        prior = curve.prior_at(threshold)
        answered = np.array([other.predict(X[i : i + 1], prior=prior)[0] == "b" for i, other in enumerate(others)])
        assert measured(answered, y == "b", weights) == (curve.precision[index], curve.recall[index])


@pytest.mark.parametrize("recipe", ["fast", "auto", "strong"])
def test_kept_rows_need_no_data(recipe):
    random = np.random.default_rng(3)
    y = np.arange(200) % 4 == 0
    X = random.normal(2.0 * y[:, None], size=(200, 2))
    model = NaiveBayes(recipe).fit(X, y)
    curve = trade_off(model, left_out=True)
    assert curve.precision[0] == 0.25
    assert curve.base_prior[True] == pytest.approx(0.25, abs=0.01)
    kept = model._estimated()[0].weighed.model.loo
    answered = model.loo().argmax(axis=1) == 1
    precision, recall = measured(answered, kept.codes == 1, kept.weights)
    place = np.flatnonzero(curve.recall == recall)[-1]
    assert curve.precision[curve.recall == recall].max() >= precision
    assert abs(curve.threshold[place]) < 1.0  # near to where neither side is more probable
    with pytest.raises(RecipeError, match="'textbook' keeps none"):
        trade_off(textbook().fit(X, y), left_out=True)


def test_the_target_may_be_a_column():
    table = {"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", "b", "a", "b"]}
    model = textbook().fit(table, "y")
    by_name, apart = trade_off(model, table, "y"), trade_off(model, {"x": table["x"]}, table["y"])
    assert by_name.threshold.tolist() == apart.threshold.tolist()
    assert trade_off(model, table, "y", left_out=True).recall[0] == 1.0


@given(
    st.lists(st.tuples(st.integers(-20, 20), st.booleans(), st.integers(1, 5)), min_size=1).filter(
        lambda rows: any(hit for _, hit, _ in rows)
    ),
    st.sampled_from([0.5, 1.0, 2.0]),
)
def test_the_curve_is_scikit_learns(rows, beta):
    scores, hits, weights = (np.array(part) for part in zip(*rows, strict=True))
    curve = trade_off_of(scores / 4, hits, weights)
    precision, recall, _ = precision_recall_curve(hits, scores / 4, sample_weight=weights)
    np.testing.assert_allclose(curve.precision, precision)
    np.testing.assert_allclose(curve.recall, recall)
    expected = [
        fbeta_score(hits, scores / 4 > threshold, beta=beta, sample_weight=weights, zero_division=0)
        for threshold in curve.threshold
    ]
    np.testing.assert_allclose(curve.f_beta(beta), expected)
    best = curve.threshold_for_f_beta(beta)
    assert curve.f_beta(beta)[curve.threshold.tolist().index(best)] == curve.f_beta(beta).max()


@given(st.lists(st.tuples(st.integers(-20, 20), st.booleans()), min_size=1), st.floats(0, 1))
def test_the_threshold_for_a_precision_has_it_and_the_highest_recall(rows, least):
    scores, hits = (np.array(part) for part in zip(*rows, strict=True))
    assume(hits.any())
    curve = trade_off_of(scores, hits)
    place = curve.threshold.tolist().index(curve.threshold_for_precision(least))
    assert curve.precision[place] >= least
    assert curve.recall[place] == curve.recall[curve.precision >= least].max()


def test_impossible_rows_stay_where_they_are():
    curve = trade_off_of([-np.inf, 0.0, np.inf], [False, True, True])
    assert curve.threshold.tolist() == [-np.inf, -0.5, 0.5, np.inf]
    assert curve.recall.tolist() == [1.0, 1.0, 0.5, 0.0]
    assert trade_off_of([-np.inf, np.inf], [False, True]).threshold.tolist() == [-np.inf, 0.0, np.inf]


def test_scores_that_differ_by_rounding_are_one():
    curve = trade_off_of([0.1 + 0.2, 0.3, 1.0], [True, False, True])
    assert len(curve.threshold) == 3


def test_the_prior_moves_as_the_bias_does():
    base = {"ham": 0.9, "spam": 0.1}
    curve = trade_off_of([0.0, 1.0], [False, True], positive="spam", base_prior=base)
    assert curve.prior_at(0.0) == pytest.approx(base)
    moved = curve.prior_at(2.0)
    assert np.log(moved["spam"] / moved["ham"]) == pytest.approx(np.log(0.1 / 0.9) - 2.0)
    assert curve.prior_at(-100.0)["ham"] == pytest.approx(9 * np.exp(-100.0))  # though 1 - prior would be 0
    three = trade_off_of([0.0, 1.0], [False, True], positive="a", base_prior={"a": 0.5, "b": 0.3, "c": 0.2})
    moved = three.prior_at(1.0)
    assert moved["b"] / moved["c"] == pytest.approx(1.5)
    assert sum(moved.values()) == pytest.approx(1.0)


X, Y = [[1.0], [2.0], [7.0], [8.0]], ["a", "a", "b", "b"]
MODEL = textbook().fit(X, Y)
THREE = textbook().fit(X, ["a", "a", "b", "c"])

BAD = {
    "no rows": (lambda: trade_off(MODEL), InputError, "X and y"),
    "left-out rows of a recipe that keeps its own": (
        lambda: trade_off(NaiveBayes("fast").fit(X, Y), X, Y, left_out=True),
        ParameterError,
        "without arguments gives their",
    ),
    "another class": (lambda: trade_off(MODEL, X, Y, positive="c"), ParameterError, "one of the classes 'a', 'b'.*'c'"),
    "three classes": (lambda: trade_off(THREE, X, Y), ParameterError, "positive must be one of the classes.*None"),
    "one class": (lambda: trade_off(textbook().fit(X, ["a"] * 4), X, Y), ParameterError, "two classes"),
    "no row of the class": (lambda: trade_off(MODEL, X, ["a"] * 4), InputError, "No row is of the class"),
    "a certain prior": (
        lambda: trade_off(textbook(prior=[0.0, 1.0]).fit(X, Y), X, Y),
        ParameterError,
        "the probability 1 and the rest 0",
    ),
    "a prior per row": (
        lambda: trade_off(textbook(prior=np.full((4, 2), 0.5)).fit(X, Y), X, Y),
        ParameterError,
        "one prior for all rows",
    ),
    "too few classes": (lambda: trade_off_of([1.0, 2.0], [True]), InputError, "they have 2, 1 and 2"),
    "classes of text": (lambda: trade_off_of([1.0], ["a"]), InputError, "True and False"),
    "scores of text": (lambda: trade_off_of(["x"], [True]), InputError, "log_odds must hold one number per row"),
    "scores of NaN": (lambda: trade_off_of([np.nan], [True]), InputError, "no NaN"),
    "weights below zero": (lambda: trade_off_of([1.0], [True], [-1.0]), InputError, "zero or more"),
    "a prior without the class": (
        lambda: trade_off_of([1.0], [True], positive="a", base_prior={"b": 1.0}),
        ParameterError,
        "no entry for the class 'a'",
    ),
    "beta": (lambda: trade_off_of([1.0], [True]).f_beta(0), ParameterError, "beta must be above 0"),
    "beta of text": (lambda: trade_off_of([1.0], [True]).threshold_for_f_beta("1"), ParameterError, "beta must be"),
    "precision": (lambda: trade_off_of([1.0], [True]).threshold_for_precision(1.5), ParameterError, "between 0 and 1"),
    "threshold": (lambda: trade_off_of([1.0], [True]).prior_at(np.nan), ParameterError, r"prior_at\(threshold\)"),
}


@pytest.mark.parametrize(("call", "error", "message"), [pytest.param(*case, id=name) for name, case in BAD.items()])
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert isinstance(caught.value, NaivelyError)
