"""Recipes: each keeps the laws of a model, and one that does not is caught."""

import pytest

from naively import NaiveBayes, Recipe
from naively.recipes import RECIPES
from naively.testing import check_recipe


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_keeps_the_laws(name):
    check_recipe(name)


@pytest.mark.parametrize(
    "recipe", [Recipe(numeric="gaussian"), Recipe(numeric="binned", smoothing=2.0), Recipe(categorical="categorical")]
)
def test_recipes_of_ones_own_keep_the_laws(recipe):
    check_recipe(recipe)


def test_a_recipe_that_breaks_a_law_is_caught(monkeypatch):
    honest = NaiveBayes.evidence
    monkeypatch.setattr(NaiveBayes, "evidence", lambda model, X: 1.1 * honest(model, X))
    with pytest.raises(AssertionError, match="evidence does not sum"):
        check_recipe("auto")


def test_a_trace_of_forgotten_rows_is_caught(monkeypatch):
    monkeypatch.setattr(NaiveBayes, "forget", lambda model, X, y: model)
    with pytest.raises(AssertionError, match="leaves a trace"):
        check_recipe("textbook")
