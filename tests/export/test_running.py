"""Answers from sums that follow single records are those of a model fitted on the same rows."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively import NaiveBayes
from naively.errors import ForgetError
from naively.families import ByKind, Categorical, Gaussian, Poisson
from naively.smoothing import MEstimate

BASE = [
    ({"a": 0.5, "n": 3.0, "b": "x", "c": True}, "p"),
    ({"a": -1.5, "n": 0.0, "b": "y", "c": False}, "p"),
    ({"a": 2.5, "n": 1.0, "b": "x", "c": True}, "q"),
]
OPTIONS = {
    "defaults": {},
    "unbiased": {"families": {"a": Gaussian(ddof=1), "n": Gaussian(floor=0.5)}},
    "absolute": {"families": {"a": Gaussian(rule="absolute", floor=0.1)}, "ignore": ["c"]},
    "declared": {"families": {"b": Categorical(["x", "y", "z", "w"])}, "smoothing": 0.1},
    "no smoothing": {"smoothing": "none", "prior_smoothing": "laplace"},
    "given prior": {"prior": {"p": 0.9, "q": 0.1}},
    "tied": {"families": {"a": Gaussian(ties="feature")}},
    "borrowed": {"smoothing": MEstimate(2, "marginal")},
    "counts": {"families": ByKind(counts=Poisson())},
}
records = st.fixed_dictionaries(
    {},
    optional={
        "a": st.floats(-1e6, 1e6) | st.sampled_from([0.5, 1e8, 1e8 + 1]),
        "n": st.integers(0, 9).map(float) | st.integers(0, 9),
        "b": st.sampled_from(["x", "y", "z"]),
        "c": st.booleans(),
    },
)
learning = st.tuples(st.just("learn"), records, st.sampled_from("pq"))
steps = st.lists(learning | st.tuples(st.sampled_from(["forget", "ask"]), records, st.integers(0, 30)), max_size=15)


def fitted(rows, options):
    columns = {name: [record.get(name) for record, _ in rows] for name in BASE[0][0]}
    return NaiveBayes("textbook", **options).fit(columns, [label for _, label in rows])


def require_same(model, rows, record, options):
    table = {name: [record.get(name)] for name in BASE[0][0]}
    whole = fitted(rows, options)
    expected, found = whole.predict_proba(table)[0], model.predict_proba_one(record)
    assert list(found) == whole.classes_.tolist()
    assert list(found.values()) == pytest.approx(expected.tolist(), rel=1e-6, abs=1e-8)


@given(st.sampled_from(list(OPTIONS)), steps)
@settings(max_examples=25, deadline=None)
def test_what_was_learnt_and_forgotten_is_answered_as_the_rows_are(name, steps):
    options = OPTIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class of few rows
        model, rows = NaiveBayes("textbook", **options), list(BASE)
        for record, label in BASE:
            model.learn_one(record, label)
        for what, record, more in [*steps, ("ask", BASE[0][0], 0)]:
            if what == "learn":
                model.learn_one(record, more)
                rows.append((record, more))
            elif what == "ask":
                require_same(model, rows, record, options)
            elif len(rows) > len(BASE):
                model.forget_one(*rows.pop(len(BASE) + more % (len(rows) - len(BASE))))
        counts = {label: sum(one == label for _, one in rows) for label in "pq"}
        assert dict(zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True)) == counts


def stream(n, far=0.0):
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, n).tolist()
    return [({"a": far + label + float(rng.normal()), "b": "xyz"[int(rng.integers(3))]}, label) for label in labels]


@pytest.mark.parametrize("far", [0.0, 1e8, -3e11])
def test_a_window_that_moves_holds_what_is_in_it(far):
    rows, model = stream(900, far), NaiveBayes("textbook")
    for place, (record, label) in enumerate(rows):
        model.learn_one(record, label)
        if place >= 200:
            model.forget_one(*rows[place - 200])
            model.predict_one(record)
    window = rows[-200:]
    whole = NaiveBayes("textbook").fit([record for record, _ in window], [label for _, label in window])
    for record, _ in window[:20]:
        expected = whole.predict_proba([record])[0].tolist()
        assert list(model.predict_proba_one(record).values()) == pytest.approx(expected, rel=1e-6)
    assert model.class_count_.tolist() == whole.class_count_.tolist()
    assert model.statistics_.class_weight == whole.statistics_.class_weight


def test_a_new_record_makes_no_new_estimates():
    rows, model = stream(400), NaiveBayes("textbook")
    for record, label in rows[:200]:
        model.learn_one(record, label)
    model.predict_one(rows[0][0])
    state = model.__dict__["_state"]
    for record, label in rows[200:300]:
        model.learn_one(record, label)
        model.predict_one(record)
    for record, label in rows[200:220]:
        model.forget_one(record, label)
    assert model.__dict__["_state"] is state


def test_a_record_that_was_never_learnt_is_refused_at_once():
    model = NaiveBayes("textbook")
    for record, label in stream(50):
        model.learn_one(record, label)
    before = model.predict_proba_one({"a": 0.2, "b": "x"})
    for record in ({"a": 0.5, "b": "never"}, {"a": 1e9, "b": "x"}):
        with pytest.raises(ForgetError):
            model.forget_one(record, 0)
    assert model.predict_proba_one({"a": 0.2, "b": "x"}) == pytest.approx(before)
    assert model.class_count_.sum() == 50


def test_a_bad_cell_is_refused_as_in_the_additive_form():
    model = NaiveBayes("textbook")
    for record, label in stream(50):
        model.learn_one(record, label)
    with pytest.raises(TypeError, match="'a' must hold a number"):
        model.predict_one({"a": "old"})
    with pytest.raises(ValueError, match="'a' must hold a finite number"):
        model.predict_one({"a": float("inf")})
    with pytest.raises(TypeError, match="'b' must hold text"):
        model.predict_one({"b": 3})
    assert model.predict_proba_one({"a": float("nan"), "b": "unseen"}) == model.predict_proba_one({})
