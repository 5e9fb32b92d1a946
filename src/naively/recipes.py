"""Recipes: sets of defaults, four of them with names. What the user gives explicitly always overrides them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from naively._common.checks import require_whole
from naively._weighing.auto import Tempering
from naively.errors import ParameterError, brief
from naively.families import Categorical, Family, Gaussian, Stacked, Text, as_family
from naively.smoothing import Laplace, NoSmoothing, Smoothing, StackedMEstimate, as_smoothing

MOST_KEPT = 1 << 30
"""The number of rows that may be kept as a sample."""

ALL_WAYS = ("T", "W", "V3", "V.3", "CV")


@dataclass(frozen=True)
class Recipe:
    """The defaults of a model: how columns are read, smoothed and weighed. ``Recipe()`` is "auto".

    Parameters
    ----------
    numeric, categorical, text : Family or str
        How columns of numbers, of labels and of prose are read that are given no family.
    smoothing : Smoothing, float or str
        The smoothing of the columns' probabilities.
    prior_smoothing : Smoothing, float or str
        The smoothing of the class probabilities.
    kept_rows : int, default=4096
        How many distinct rows are kept as a sample, and up to half as many more of rare classes; 0 for none.
    tempering : Tempering, sequence of str or None
        How evidence is weighed on the kept rows: the candidates that are added up, among "T" (one temperature), "W" (a
        weight per column), "V3" (and effects of values), "V.3" (and large ones) and "CV" (and weights that differ by
        class). None: every column counts in full, and no row need be kept.
    pooled : bool, default=False
        Whether experts that relax the independence of the columns are pooled with it, as "strong" does.

    Examples
    --------
    Gaussian columns, each with a weight:

    >>> from naively import NaiveBayes
    >>> from naively.recipes import Recipe
    >>> weighed = Recipe(numeric="gaussian", tempering=["T", "W"])
    >>> X, y = [[1.0], [2.0], [7.0], [8.0]] * 10, ["a", "a", "b", "b"] * 10
    >>> NaiveBayes(weighed).fit(X, y).predict([[1.4], [7.7]]).tolist()
    ['a', 'b']
    """

    numeric: Family = field(default_factory=Stacked)
    categorical: Family = field(default_factory=Categorical)
    text: Family = field(default_factory=Text)
    smoothing: Smoothing = field(default_factory=StackedMEstimate)
    prior_smoothing: Smoothing = field(default_factory=Laplace)
    kept_rows: int = 4096
    tempering: Tempering | None = field(default_factory=lambda: Tempering(ALL_WAYS))
    pooled: bool = False

    def __post_init__(self) -> None:
        read = {name: as_family(getattr(self, name), f"Recipe({name})") for name in ("numeric", "categorical", "text")}
        rules = {
            name: as_smoothing(getattr(self, name), f"Recipe({name})") for name in ("smoothing", "prior_smoothing")
        }
        given = self.tempering
        tempering = given if given is None or isinstance(given, Tempering) else Tempering(given)
        kept_rows = require_whole("Recipe(kept_rows)", self.kept_rows, at_least=0, at_most=MOST_KEPT)
        if not isinstance(self.pooled, bool):
            raise ParameterError(f"Recipe(pooled) must be True or False, got {self.pooled!r}.")
        if tempering is not None and not kept_rows:
            raise ParameterError(
                "Recipe(kept_rows) must be at least 1 where evidence is weighed, which is done on the kept rows. Give "
                "tempering=None for a recipe that weighs nothing."
            )
        if self.pooled and tempering is None:
            raise ParameterError("Recipe(pooled=True) needs a tempering: experts are pooled with weighed evidence.")
        for name, value in {**read, **rules, "tempering": tempering, "kept_rows": kept_rows}.items():
            object.__setattr__(self, name, value)


RECIPES = {
    "textbook": Recipe(Gaussian(), Categorical(), Text(1, tally="count"), Laplace(), NoSmoothing(), 0, None),
    "fast": Recipe(numeric=Stacked(("pkid",)), text=Text(1), kept_rows=2048, tempering=Tempering(("T",))),
    "auto": Recipe(),
    "strong": Recipe(kept_rows=32768, tempering=Tempering(ALL_WAYS, rows=4096), pooled=True),
}


def as_recipe(recipe: Any) -> Recipe:
    """Read a recipe from an object or a name."""
    if isinstance(recipe, Recipe):
        return recipe
    if isinstance(recipe, str) and recipe in RECIPES:
        return RECIPES[recipe]
    raise ParameterError(
        f"recipe must be one of {', '.join(map(repr, RECIPES))}, or a Recipe object; got {brief(recipe)}."
    )
