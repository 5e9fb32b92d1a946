"""Recipes: named sets of defaults. What the user gives explicitly always overrides them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from naively.errors import ParameterError
from naively.families import Categorical, Family, Gaussian
from naively.smoothing import Laplace, NoSmoothing, Smoothing


@dataclass(frozen=True)
class Recipe:
    """The defaults of a model.

    Parameters
    ----------
    numeric, categorical : Family
        How columns of numbers, and of labels, are read.
    smoothing : Smoothing
        Of the columns' probabilities.
    prior_smoothing : Smoothing
        Of the class probabilities.
    """

    numeric: Family
    categorical: Family
    smoothing: Smoothing
    prior_smoothing: Smoothing


RECIPES = {
    "textbook": Recipe(Gaussian(), Categorical(), Laplace(), NoSmoothing()),
}


def as_recipe(name: Any) -> Recipe:
    """The recipe of that name."""
    if isinstance(name, str) and name in RECIPES:
        return RECIPES[name]
    raise ParameterError(f"recipe must be one of {', '.join(map(repr, RECIPES))}; got {name!r}.")
