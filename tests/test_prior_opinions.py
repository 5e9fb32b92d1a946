"""The m-estimate whose prior opinion differs by class."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naively
from naively import JointBayes, NaiveBayes
from naively.errors import ParameterError
from naively.smoothing import MEstimate

COATS = {"cat": {"plain": 0.2, "striped": 0.8}, "dog": {"plain": 0.9, "striped": 0.1}}
ROWS, KINDS = [["plain"], ["striped"], ["plain"], ["plain"], ["striped"]], ["cat", "cat", "cat", "dog", "dog"]


def probabilities(model):
    found = model.parameters()["x0"]["probability"]
    return np.array([found["plain"], found["striped"]]).T


@given(
    counts=st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(lambda n: n[0] + n[1] and n[2] + n[3]),
    m=st.floats(0.01, 50),
    p=st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.99)),
)
def test_each_class_has_its_own_imaginary_rows(counts, m, p):
    counts = np.array(counts, dtype=float).reshape(2, 2)
    opinion = np.array([[p[0], 1 - p[0]], [p[1], 1 - p[1]]])
    cells = [(kind, coat) for kind in ("cat", "dog") for coat in ("plain", "striped")]
    weights = counts.ravel()
    named = {
        kind: {"striped": row[1], "plain": row[0]} for kind, row in zip(("dog", "cat"), opinion[::-1], strict=True)
    }
    model = NaiveBayes("textbook", smoothing=MEstimate(m, named), families="categorical")
    model.fit([[coat] for _, coat in cells], [kind for kind, _ in cells], sample_weight=weights)
    expected = (counts + m * opinion) / (counts.sum(axis=1, keepdims=True) + m)
    known = [place for place, value in enumerate(("plain", "striped")) if counts[:, place].any()]
    if len(known) == 2:
        np.testing.assert_allclose(probabilities(model), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "given_as",
    [
        pd.DataFrame(COATS).T,
        pd.DataFrame(COATS).T.loc[["dog", "cat"], ["striped", "plain"]],
        {kind: pd.Series(row) for kind, row in reversed(COATS.items())},
        {"cat": [0.2, 0.8], "dog": (0.9, 0.1)},
    ],
    ids=["frame", "frame in another order", "dict of Series", "dict of sequences"],
)
def test_labels_decide_and_not_positions(given_as):
    expected = NaiveBayes("textbook", smoothing=MEstimate(3, COATS)).fit(ROWS, KINDS)
    found = NaiveBayes("textbook", smoothing=MEstimate(3, given_as)).fit(ROWS, KINDS)
    np.testing.assert_array_equal(probabilities(found), probabilities(expected))


def test_a_row_is_left_out_exactly():
    def fitted(rows, kinds):
        return NaiveBayes("textbook", smoothing=MEstimate(3, COATS)).fit(rows, kinds)

    left_out = fitted(ROWS, KINDS).loo(ROWS, KINDS)
    for row in range(len(ROWS)):
        rest = fitted(ROWS[:row] + ROWS[row + 1 :], KINDS[:row] + KINDS[row + 1 :])
        np.testing.assert_allclose(left_out[row], rest.predict_log_proba(ROWS[row : row + 1])[0], rtol=1e-12)


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto", "strong"])
def test_every_recipe_obeys_and_saves_it(recipe, tmp_path):
    models = [NaiveBayes(recipe, smoothing=MEstimate(30, p)).fit(ROWS * 40, KINDS * 40) for p in (COATS, "uniform")]
    answers = [model.predict_proba(ROWS) for model in models]
    if recipe != "strong":  # whose pool may give the columns no weight
        assert not np.allclose(*answers)
    models[0].save(tmp_path / "m.json")
    np.testing.assert_array_equal(naively.load(tmp_path / "m.json").predict_proba(ROWS), answers[0])


def test_yes_or_no_columns_have_it_by_truth():
    p = {0: {False: 0.9, True: 0.1}, 1: {False: 0.2, True: 0.8}}
    model = NaiveBayes("textbook", families="bernoulli", smoothing=MEstimate(2, p)).fit([[1, 0], [0, 0]], [0, 1])
    found = np.array([column["probability"] for column in model.parameters().values()])
    np.testing.assert_allclose(found, [[(1 + 0.2) / 3, 1.6 / 3], [0.2 / 3, 1.6 / 3]])


@pytest.mark.parametrize(
    ("p", "says"),
    [
        (0.3, "a probability for each value, got the single number 0.3"),
        ({"cat": {"plain": 0.5, "striped": 0.6}}, r"MEstimate\(p\)\['cat'\] must hold probabilities that sum to 1"),
        ({"cat": 0.5, "dog": {"plain": 1.0}}, r"MEstimate\(p\)\['cat'\] must hold finite numbers"),
        (pd.DataFrame([[0.5, 0.5]]), "rows have no labels"),
    ],
)
def test_an_opinion_that_is_none_is_refused_at_once(p, says):
    with pytest.raises(ParameterError, match=says):
        MEstimate(2, p)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (NaiveBayes("textbook", smoothing=MEstimate(2, {"cat": COATS["cat"]})), "no opinion for the class 'dog'"),
        (NaiveBayes("textbook", smoothing=MEstimate(2, {**COATS, "hen": COATS["cat"]})), "names 'hen'"),
        (NaiveBayes("textbook", smoothing=MEstimate(2, {kind: [1.0] for kind in COATS})), "has 1 entries"),
        (NaiveBayes("textbook", prior_smoothing=MEstimate(2, COATS)), "prior of the classes"),
        (JointBayes(smoothing=MEstimate(2, COATS)), "the values of a Joint are combinations"),
    ],
    ids=["no class", "unknown class", "no value", "prior", "joint"],
)
def test_an_opinion_that_does_not_fit_the_model_is_refused(model, says):
    with pytest.raises(ParameterError, match=says):
        model.fit(ROWS, KINDS).predict(ROWS)
