"""Recipes: named sets of defaults. What the user gives explicitly always overrides them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from naively.errors import ParameterError
from naively.families import Categorical, Family, Gaussian, Stacked, Text
from naively.smoothing import Laplace, NoSmoothing, Reserved, Smoothing
from naively.weighing.auto import Tempering

MOST_KEPT = 1 << 30
"""The number of rows that may be kept as a sample."""


@dataclass(frozen=True)
class Recipe:
    """The defaults of a model.

    Parameters
    ----------
    numeric, categorical, text : Family
        How columns of numbers, of labels and of prose are read.
    smoothing : Smoothing
        Of the columns' probabilities.
    prior_smoothing : Smoothing
        Of the class probabilities.
    kept_rows : int
        How many rows are kept as a sample.
    tempering : Tempering or None
        How evidence is weighed on them; None: every column counts in full.
    pooled : bool
        Whether experts that relax independence are pooled with it.
    """

    numeric: Family
    categorical: Family
    text: Family
    smoothing: Smoothing
    prior_smoothing: Smoothing
    kept_rows: int = 0
    tempering: Tempering | None = None
    pooled: bool = False


ALL_WAYS = ("T", "W", "V3", "CV")

RECIPES = {
    "textbook": Recipe(Gaussian(), Categorical(), Text(1, tally="count"), Laplace(), NoSmoothing()),
    "fast": Recipe(Stacked(("pkid",)), Categorical(), Text(1), Reserved(), Laplace(), 2048, Tempering(("T",))),
    "auto": Recipe(Stacked(), Categorical(), Text(), Reserved(), Laplace(), 4096, Tempering(ALL_WAYS)),
    "strong": Recipe(
        Stacked(), Categorical(), Text(), Reserved(), Laplace(), 32768, Tempering(ALL_WAYS, 4096), pooled=True
    ),
}


def as_recipe(name: Any) -> Recipe:
    """The recipe of that name."""
    if isinstance(name, str) and name in RECIPES:
        return RECIPES[name]
    raise ParameterError(f"recipe must be one of {', '.join(map(repr, RECIPES))}; got {name!r}.")
