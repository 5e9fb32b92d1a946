"""Law 3: (S + T) - T == S. Forgetting is exact; forgetting what was never learnt is an error that changes nothing."""

import copy

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from naively.errors import ForgetError, NaivelyError
from tests.models import textbook
from tests.strategies import COLOURS, Rows, assert_close, assert_same_answer, cases, learn

pytestmark = pytest.mark.usefixtures("kernels")


def forget(model, rows):
    return model.forget(rows.columns, rows.y, sample_weight=rows.weights)


def assert_refused(model, rows):
    """The rows cannot be forgotten, and the attempt leaves no trace."""
    before = copy.deepcopy(model)
    with pytest.raises(ForgetError):
        forget(model, rows)
    assert model.statistics_ == before.statistics_
    assert model.schema_ == before.schema_
    assert model.classes_.tolist() == before.classes_.tolist()


@given(cases(min_rows=2), st.data())
def test_forgetting_rows_is_never_having_learnt_them(case, data):
    gone = data.draw(st.sets(st.integers(0, len(case.rows) - 1), max_size=len(case.rows) - 1))
    kept = [place for place in range(len(case.rows)) if place not in gone]
    assume(gone)
    model = forget(case.fitted(), case.rows.take(sorted(gone)))
    expected = case.fitted(case.rows.take(kept))
    assert model.statistics_ == expected.statistics_
    assert model.classes_.tolist() == expected.classes_.tolist()


@given(cases(min_rows=2), st.integers(1, 99))
def test_statistics_subtract_what_was_added(case, place):
    place = 1 + place % (len(case.rows) - 1)
    kept = case.fitted(case.rows.take(range(place))).statistics_
    gone = case.fitted(case.rows.take(range(place, len(case.rows)))).statistics_
    assert (kept + gone) - gone == kept
    assert (gone + kept) - gone == kept


@given(cases(min_rows=2), st.integers(1, 99))
def test_learning_and_forgetting_commute(case, place):
    place = 1 + place % (len(case.rows) - 1)
    early, late = case.rows.take(range(place)), case.rows.take(range(place, len(case.rows)))
    model = learn(forget(learn(case.fitted(early), late), early), early)
    assert model.statistics_ == case.fitted().statistics_


@given(cases())
def test_forgetting_everything_leaves_a_model_that_can_learn_again(case):
    model = forget(case.fitted(), case.rows)
    assert model.classes_.tolist() == []
    assert model.statistics_.class_weight.shape == (0,)
    assert learn(model, case.rows).statistics_ == case.fitted().statistics_


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_joint_log_proba"])
def test_a_model_that_forgot_everything_says_that_it_knows_no_class(method):
    model = textbook().fit([[1.0], [2.0]], ["a", "b"]).forget([[1.0], [2.0]], ["a", "b"])
    with pytest.raises((NaivelyError, NotFittedError)):
        getattr(model, method)([[1.0]])


@given(cases(kinds=("colour", "code", "truth", "level", "yes", "events", "words", "gaussian")), st.data())
def test_a_class_that_was_never_learnt_is_refused(case, data):
    place = data.draw(st.integers(0, len(case.rows) - 1))
    row = case.rows.take([place])
    assert_refused(case.fitted(), Rows(row.columns, ["zebra"], row.weights))


@given(cases(kinds=("colour",)), st.data())
def test_a_category_that_was_never_learnt_is_refused(case, data):
    row = case.rows.take([data.draw(st.integers(0, len(case.rows) - 1))])
    assume(any(cell is not None for cells in row.columns.values() for cell in cells))
    columns = {name: ["zinc" if cell is not None else None for cell in cells] for name, cells in row.columns.items()}
    assert_refused(case.fitted(), Rows(columns, row.y, row.weights))


@given(cases(), st.data())
def test_more_rows_than_were_learnt_are_refused(case, data):
    label = data.draw(st.sampled_from(case.rows.y))
    rows = case.rows.take([place for place, other in enumerate(case.rows.y) if other == label])
    heavier = [weight + 0.25 for weight in rows.weights or [1.0] * len(rows)]
    assert_refused(case.fitted(), rows.weighing(heavier))


@given(st.lists(st.sampled_from(COLOURS), min_size=2, max_size=8))
def test_a_category_learnt_in_another_class_only_is_refused(colours):
    y = ["a" if colour == colours[0] else "b" for colour in colours]
    assume("b" in y)
    assert_refused(textbook().fit({"colour": colours}, y), Rows({"colour": [colours[0]]}, ["b"]))


@pytest.mark.parametrize(
    ("family", "learnt", "forgotten"),
    [
        ("gaussian", [0.0, 0.0], [1e6]),
        ("gaussian", [0.0, 0.0], [1e6, -1e6]),
        ("gaussian", [5.0, 6.0, 7.0], [0.0]),  # what is left has a negative scatter
        ("gaussian", [1.0, 2.0], [None]),  # what is left has more known cells than rows
        ("gaussian", [1.0, None], [1.0, 1.0]),
        ("poisson", [0, 0], [100]),
        ("poisson", [3, 0], [0, 0]),  # events are left, but no row that had them
        ("poisson", [3, 4], [None]),
        ("multinomial", [0, 0], [100]),
        ("multinomial", [3, 0], [0, 0]),
        ("bernoulli", [0, 0], [1]),
        ("bernoulli", [1, 1, 0], [0, 0]),  # what is left has more "yes" than rows
        ("bernoulli", [1, 1], [None]),
        ("categorical", ["red", "red"], ["blue"]),
        ("categorical", ["red", "red"], [None]),  # what is left has more values than rows
        ("categorical", ["red", None], ["red", "red"]),
    ],
)
def test_values_that_cannot_have_been_learnt_are_refused(family, learnt, forgotten):
    model = learn(textbook(families=family), Rows({"x": [*learnt, *learnt]}, ["a"] * len(learnt) + ["b"] * len(learnt)))
    assert_refused(model, Rows({"x": forgotten}, ["a"] * len(forgotten)))


def test_the_message_names_the_column_and_the_cure():
    model = textbook().fit({"colour": ["red", "blue"]}, ["a", "b"])
    with pytest.raises(ForgetError, match=r"'colour'.*'blue'.*[Ff]orget only rows"):
        model.forget({"colour": ["blue"]}, ["a"])


def test_forgetting_the_last_row_of_a_class_forgets_the_class():
    model = textbook().fit([[1.0], [2.0], [3.0]], ["a", "b", "b"]).forget([[1.0]], ["a"])
    assert model.classes_.tolist() == ["b"]
    assert model.predict_proba([[5.0]]).tolist() == [[1.0]]


def test_what_is_left_equals_what_was_never_touched_though_the_rest_was_not_exact():
    X, y = [[0.1], [0.2], [0.3], [1.0]], ["a", "a", "a", "b"]
    model = textbook().fit(X, y).forget(X[:3], y[:3])
    assert model.statistics_ == textbook().fit(X[3:], y[3:]).statistics_


def test_declared_classes_are_not_forgotten():
    model = textbook().partial_fit([[1.0], [2.0]], ["a", "b"], classes=["a", "b"]).forget([[1.0]], ["a"])
    assert model.classes_.tolist() == ["a", "b"]
    assert model.class_count_.tolist() == [0, 1]


@given(st.integers(0, 2**32 - 1), st.integers(1, 59), st.booleans())
def test_forgetting_any_numbers_is_exact_to_rounding(seed, n_gone, weighted):
    random = np.random.default_rng(seed)
    X, y = random.normal(1000.0, 1.0, (60, 3)), random.integers(0, 2, 60)
    y[-2:] = [0, 1]
    weights = random.uniform(0.5, 2.0, 60) if weighted else np.ones(60)
    kept = slice(n_gone, None)
    model = textbook().fit(X, y, weights).forget(X[:n_gone], y[:n_gone], weights[:n_gone])
    expected = textbook().fit(X[kept], y[kept], weights[kept])
    for name in ("x0", "x1", "x2"):
        actual, wanted = model.parameters()[name], expected.parameters()[name]
        assert_close(actual["mean"], wanted["mean"], 1e3)
        assert_close(actual["variance"], wanted["variance"])
    assert_same_answer(model, expected, X[:5])


@given(st.integers(0, 2**32 - 1))
def test_a_thousand_updates_and_forgettings_leave_no_drift(seed):
    random = np.random.default_rng(seed)
    X, y = random.normal(1e4, 1.0, (40, 2)), random.integers(0, 2, 40)
    model = textbook().fit(X, y)
    before = model.parameters()["x0"]["variance"]
    for _ in range(10):
        other, classes = random.normal(-1e4, 100.0, (100, 2)), random.integers(0, 2, 100)
        model.partial_fit(other, classes).forget(other, classes)
    assert_close(model.parameters()["x0"]["variance"], before)
