"""Parameters that are changed in place: the next answer sees it, or an error says to fit the model again."""

import copy

import numpy as np
import pandas as pd
import pytest

import naively
from naively import TAN, JointBayes, NaiveBayes
from naively._model.state import as_it_is, unchanged
from naively.errors import SchemaError
from naively.families import Categorical, Gaussian, Joint, Stacked
from naively.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from naively.smoothing import Dirichlet, MEstimate
from tests.models import textbook

RANDOM = np.random.default_rng(11)
Y = np.array(["a", "b"])[RANDOM.integers(0, 2, 40)]
ROWS = pd.DataFrame(
    {
        "x": RANDOM.normal(size=40) + (Y == "a"),
        "z": RANDOM.normal(size=40),
        "coat": np.array(["red", "green", "blue"])[RANDOM.integers(0, 3, 40)],
    }
)
ASKED = ROWS[:5]
COATS = Categorical(["red", "green", "blue", "pink"])


def set_item(key, value):
    def change(parameter):
        parameter[key] = value

    return change


def write(values):
    def change(parameter):
        parameter[:] = values

    return change


SEEN = {
    # how the model is made, the parameter that is changed, and how
    "prior array": (textbook, "prior", np.array([0.5, 0.5]), write([0.9, 0.1])),
    "prior list": (textbook, "prior", [0.5, 0.5], write([0.9, 0.1])),
    "prior dict": (textbook, "prior", {"a": 0.5, "b": 0.5}, lambda prior: prior.update(a=0.9, b=0.1)),
    "prior series": (textbook, "prior", pd.Series([0.5, 0.5]), lambda prior: prior.update(pd.Series([0.9, 0.1]))),
    "families dict": (textbook, "families", {"x": "gaussian"}, set_item("z", Gaussian(ties="all"))),
    "family replaced": (textbook, "families", {"x": Gaussian()}, set_item("x", Gaussian(ties="feature"))),
    "smoothing dict": (textbook, "smoothing", {"coat": 1.0}, set_item("coat", 50.0)),
    "smoothing array": (
        textbook,
        "smoothing",
        {"coat": Dirichlet(np.array([2.0, 2.0, 2.0]))},
        lambda smoothing: write([90.0, 2.0, 2.0])(smoothing["coat"].beta),
    ),
    "smoothing by value": (
        textbook,
        "smoothing",
        {"coat": MEstimate(5, {"red": 0.2, "green": 0.4, "blue": 0.4})},
        lambda smoothing: smoothing["coat"].p.update(red=0.8, green=0.1, blue=0.1),
    ),
    "prior smoothing": (
        textbook,
        "prior_smoothing",
        Dirichlet([2.0, 2.0]),
        lambda smoothing: smoothing.beta.__setitem__(0, 90.0),
    ),
    "fast": (lambda **given: NaiveBayes("fast", **given), "prior", np.array([0.5, 0.5]), write([0.9, 0.1])),
    "auto": (
        NaiveBayes,
        "families",
        {"x": Stacked(), "z": Stacked()},
        lambda families: families.update(x=Stacked(("t",)), z=Stacked(("t",))),
    ),
    "TAN prior": (TAN, "prior", np.array([0.5, 0.5]), write([0.9, 0.1])),
    "TAN families": (TAN, "families", {}, set_item("coat", COATS)),
    "TAN prior smoothing": (
        TAN,
        "prior_smoothing",
        Dirichlet([2.0, 2.0]),
        lambda smoothing: smoothing.beta.__setitem__(0, 90.0),
    ),
    "JointBayes prior": (JointBayes, "prior", {"a": 0.5, "b": 0.5}, lambda prior: prior.update(a=0.9, b=0.1)),
    "JointBayes families": (
        JointBayes,
        "families",
        {},
        set_item("coat", COATS),
    ),
}


@pytest.mark.parametrize("case", SEEN)
def test_the_next_answer_sees_the_change(case, tmp_path):
    make, name, before, change = SEEN[case]
    model = make(**{name: copy.deepcopy(before)}).fit(ROWS, Y)
    old = model.predict_proba(ASKED)
    change(getattr(model, name))
    expected = make(**{name: copy.deepcopy(getattr(model, name))}).fit(ROWS, Y).predict_proba(ASKED)
    assert not np.array_equal(old, expected)  # or it would show nothing
    assert np.array_equal(model.predict_proba(ASKED), expected)
    assert np.array_equal(copy.deepcopy(model).predict_proba(ASKED), expected)
    if "series" not in case:  # no file holds one
        model.save(tmp_path / "model.json")
        assert np.allclose(naively.load(tmp_path / "model.json").predict_proba(ASKED), expected, rtol=1e-12)


MISFITS = {
    "families": (textbook, "families", {"x": Gaussian()}, set_item("z", "categorical")),
    "families of fast": (lambda **given: NaiveBayes("fast", **given), "families", {}, set_item("x", "categorical")),
    "factors": (textbook, "factors", [Joint("x", "z")], lambda factors: factors.append(Joint("coat"))),
    "factors replaced": (textbook, "factors", [Joint("x", "z")], set_item(0, Joint("x", "coat"))),
    "TAN families": (TAN, "families", {}, set_item("x", Categorical())),
    "TAN cuts": (TAN, "cuts", {"x": [0.0, 1.0]}, set_item("x", [0.5])),
    "TAN cut": (TAN, "cuts", {"x": [0.0, 1.0]}, lambda cuts: cuts["x"].append(2.0)),
    "JointBayes families": (JointBayes, "families", {}, set_item("x", Categorical())),
}


@pytest.mark.parametrize("case", MISFITS)
def test_what_was_counted_otherwise_is_refused(case):
    make, name, before, change = MISFITS[case]
    model = make(**{name: copy.deepcopy(before)}).fit(ROWS, Y)
    old = model.predict_proba(ASKED)
    change(getattr(model, name))
    with pytest.raises(SchemaError, match="Fit again"):
        model.predict_proba(ASKED)
    setattr(model, name, copy.deepcopy(before))
    assert np.array_equal(model.predict_proba(ASKED), old)


CODES, LABELS = RANDOM.integers(0, 4, (40, 3)), Y
DROP_INS = {
    "GaussianNB array": (GaussianNB, "priors", np.array([0.5, 0.5]), write([0.9, 0.1])),
    "GaussianNB list": (GaussianNB, "priors", [0.5, 0.5], write([0.9, 0.1])),
    "MultinomialNB alpha": (MultinomialNB, "alpha", np.array([1.0, 1.0, 1.0]), write([9.0, 1.0, 1.0])),
    "MultinomialNB prior": (MultinomialNB, "class_prior", np.array([0.5, 0.5]), write([0.9, 0.1])),
    "BernoulliNB alpha": (BernoulliNB, "alpha", [1.0, 1.0, 1.0], write([9.0, 1.0, 1.0])),
    "BernoulliNB prior": (BernoulliNB, "class_prior", [0.5, 0.5], write([0.9, 0.1])),
    "ComplementNB alpha": (ComplementNB, "alpha", np.array([1.0, 1.0, 1.0]), write([9.0, 1.0, 1.0])),
    "CategoricalNB prior": (CategoricalNB, "class_prior", np.array([0.5, 0.5]), write([0.9, 0.1])),
    "CategoricalNB categories": (CategoricalNB, "min_categories", np.array([4, 4, 4]), write([90, 4, 9])),
}


@pytest.mark.parametrize("case", DROP_INS)
def test_drop_ins_see_a_change_when_they_learn(case, tmp_path):
    """As in scikit-learn, where parameters are read when rows are; what is saved answers the same."""
    make, name, before, change = DROP_INS[case]
    model = make(**{name: copy.deepcopy(before)}).fit(CODES, LABELS)
    old = model.predict_proba(CODES)
    change(getattr(model, name))
    assert np.array_equal(model.predict_proba(CODES), old)
    model.model_.save(tmp_path / "model.json")
    prior = "uniform" if make is ComplementNB else None
    assert np.array_equal(naively.load(tmp_path / "model.json").predict_proba(CODES, prior=prior), old)
    expected = make(**{name: copy.deepcopy(getattr(model, name))}).fit(CODES, LABELS).partial_fit(CODES, LABELS)
    model.partial_fit(CODES, LABELS)
    assert np.array_equal(model.predict_proba(CODES), expected.predict_proba(CODES))


@pytest.mark.parametrize(
    "value",
    [None, "text", 3, 2.5, np.float64(2), (), (1, "a", None), Gaussian(), Dirichlet((1.0, 2.0)), len, Joint("a", "b")],
)
def test_what_cannot_change_is_its_own_snapshot(value):
    assert as_it_is((value,))[0] is value


@pytest.mark.parametrize(
    ("value", "change"),
    [
        ([1, [2]], lambda value: value[1].append(3)),
        ({"a": {"b": 1}}, lambda value: value["a"].update(b=2)),
        ({"a": 1, "b": 2}, lambda value: value.update(a=value.pop("a"))),
        (([1],), lambda value: value[0].clear()),
        ({1, 2}, lambda value: value.add(3)),
        (np.array([1, 2]), lambda value: value.__setitem__(0, 9)),
        (np.array(["a", None], dtype=object), lambda value: value.__setitem__(0, "b")),
        ([np.array([1.0, np.nan])], lambda value: value[0].__setitem__(0, np.nan)),
        (Dirichlet({"a": 1.0}), lambda value: value.beta.update(a=2.0)),
    ],
)
def test_a_snapshot_tells_whether_anything_changed(value, change):
    before = as_it_is((value,))
    assert unchanged(before, (value,))
    change(value)
    assert not unchanged(before, (value,))


def test_estimates_are_computed_once():
    """A parameter that can change in place, but has not, costs no new estimates."""
    model = textbook(prior=np.array([0.5, 0.5]), families={"x": Gaussian()}, smoothing={"coat": Dirichlet([2, 2, 2])})
    model.fit(ROWS, Y)
    assert model._estimated()[0] is model._estimated()[0]
