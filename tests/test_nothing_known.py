"""Columns in which nothing is known leave the answer to the prior, in every recipe."""

import numpy as np
import pytest

from naively import NaiveBayes
from naively.families import Categorical, Text

RECIPES = ["textbook", "fast", "auto", "strong"]
NOTHING = {
    "one column": [[None]] * 4,
    "two columns": [[None, None]] * 4,
    "NaN": np.full((4, 1), np.nan),
    "two of NaN": np.full((4, 2), np.nan),
    "named": {"a": [None] * 4, "b": [None] * 4},
}

pytestmark = pytest.mark.parametrize("recipe", RECIPES)


@pytest.mark.parametrize("y", [[0, 0, 1, 1], [0, 0, 0, 1], [7, 7, 7, 7], list("abbb")])
@pytest.mark.parametrize("weights", [None, [0, 1, 1, 1], [1, 0, 0, 0], [3, 0.5, 0.5, 0]])
@pytest.mark.parametrize("table", NOTHING)
def test_the_prior_answers(recipe, table, y, weights):
    X = NOTHING[table]
    model = NaiveBayes(recipe).fit(X, y, weights)
    np.testing.assert_allclose(model.predict_proba(X), np.tile(model.class_prior_, (4, 1)), rtol=1e-12)
    assert not model.evidence(X).any()


def test_many_rows(recipe):
    X, y = np.full((200, 2), np.nan), [0] * 150 + [1] * 50
    model = NaiveBayes(recipe).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:1]), [model.class_prior_], rtol=1e-12)


def test_leave_one_out_and_calibration_are_those_of_the_prior(recipe):
    model = NaiveBayes(recipe).fit([[None]] * 4, [0, 0, 0, 1])
    if recipe != "textbook":
        np.testing.assert_allclose(np.exp(model.loo())[0], [3 / 5, 2 / 5], rtol=1e-12)
        assert model.calibration_.accuracy == 0.75


@pytest.mark.parametrize("cells", [[None] * 3, ["", "", ""], [" ", None, ""], ["a", None, None]])
def test_texts(recipe, cells):
    model = NaiveBayes(recipe, families={"text": Text()}).fit({"text": cells}, [0, 0, 1])
    assert np.isfinite(model.predict_proba({"text": ["a", "", None, "new"]})).all()


@pytest.mark.parametrize("family", [Categorical(), Categorical(["p", "q"])])
def test_labels(recipe, family):
    model = NaiveBayes(recipe, families={"label": family}).fit({"label": [None] * 3}, [0, 0, 1])
    assert np.isfinite(model.predict_proba({"label": [None, None]})).all()


def test_one_row_and_what_comes_later(recipe):
    model = NaiveBayes(recipe).fit({"a": [None], "b": [None]}, [0])
    assert model.predict_proba({"a": [None], "b": [None]}).tolist() == [[1.0]]
    model.partial_fit({"a": ["x", "y"], "b": [1.0, 2.0]}, [0, 1])
    assert np.isfinite(model.predict_proba({"a": ["x", None], "b": [None, 1.0]})).all()
