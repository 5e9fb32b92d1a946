"""What a model estimates from its statistics and parameters: families, smoothings, prior, and the scorer they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sklearn.exceptions import NotFittedError

from naively.checks import require_whole
from naively.decision import class_prior, log_prior
from naively.engines.threads import thread_count
from naively.errors import ParameterError, SchemaError
from naively.evidence import Scorer, make_factors
from naively.factors import as_joints, joined, one_rule
from naively.families import ByKind, Family, Joint
from naively.families.base import in_words
from naively.pooled import PooledScorer
from naively.recipes import Recipe, as_recipe
from naively.schema import Schema, assign_families, position_of, summaries_of
from naively.smoothing import Smoothing, as_smoothing
from naively.statistics import Statistics
from naively.tempered import weigh
from naively.typing import AnyArray, FloatArray


class Estimation:
    """The part of `NaiveBayes` that turns statistics and parameters into estimates."""

    recipe: str
    families: Any
    smoothing: Any
    factors: Any
    prior: Any
    prior_smoothing: Any
    kept_rows: int | None
    n_threads: int | None
    classes_: AnyArray
    schema_: Schema
    statistics_: Statistics
    _estimates: list[Any]

    @property
    def class_prior_(self) -> FloatArray:
        """The class prior that is in force."""
        self._require_fitted()
        return self._prior(self.prior)

    def _prior(self, prior: Any) -> FloatArray:
        return class_prior(prior, self._prior_rule(), self.classes_, self.statistics_.class_weight.high)

    def _prior_rule(self) -> Smoothing:
        if self.prior_smoothing is not None:
            return as_smoothing(self.prior_smoothing, "prior_smoothing")
        return as_recipe(self.recipe).prior_smoothing

    def _estimated(self) -> tuple[Scorer | PooledScorer, FloatArray]:
        """The scorer and the log-prior, computed when first needed and again when what they stand on has changed."""
        basis = self._basis()
        if not self._estimates or any(old is not new for old, new in zip(self._estimates[0], basis, strict=True)):
            scorer = self._scorer(as_recipe(self.recipe))
            self._estimates[:] = [basis, (scorer, log_prior(self.class_prior_))]
        return self._estimates[1]  # type: ignore[no-any-return]

    def _basis(self) -> tuple[Any, ...]:
        """All that estimates are computed from."""
        return (
            self.statistics_,
            self.recipe,
            self.families,
            self.smoothing,
            self.factors,
            self.prior,
            self.prior_smoothing,
            self.kept_rows,
        )

    def _scorer(self, recipe: Recipe) -> Scorer | PooledScorer:
        """The estimates of all columns, weighed if the recipe says so."""
        schema, statistics = self.schema_, self.statistics_
        families = self._checked_families(recipe)
        if recipe.tempering is None:
            factors = make_factors(schema, families, self._smoothings(schema.names, recipe), statistics)
            return Scorer(factors, schema.names, len(self.classes_))
        tempering = recipe.tempering
        if self.kept_rows is not None:
            tempering = replace(tempering, rows=self._checked_kept_rows())
        weighed = weigh(schema, families, statistics, tempering, thread_count(self.n_threads))
        if recipe.pooled:
            return PooledScorer(weighed, schema, len(self.classes_))
        scorer = Scorer(weighed.factors, schema.names, len(self.classes_))
        scorer.weighed = weighed
        return scorer

    def _checked_families(self, recipe: Recipe) -> list[Family | None]:
        """The family of each column, which must need no more than was kept of it."""
        schema = self.schema_
        families = self._assigned(recipe, schema.names, schema.kinds, schema.summaries)
        needed = summaries_of(schema.names, schema.kinds, families)
        for name, kept, need, family in zip(schema.names, schema.summaries, needed, families, strict=True):
            if kept is not need and kept and family is not None and not set(need) <= set(kept):
                raise SchemaError(
                    f"Column {name!r} was learnt for another family: {family.name()!r} needs {in_words(need)}, "
                    f"but what was kept is {in_words(kept)}. Fit again with the new families, factors or recipe."
                )
        return schema.with_declared(families)

    def _smoothings(self, names: Any, recipe: Recipe) -> list[Smoothing]:
        """The smoothing of each column."""
        if self.smoothing is None:
            return [recipe.smoothing] * len(names)
        if not isinstance(self.smoothing, Mapping):
            return [as_smoothing(self.smoothing)] * len(names)
        index = {name: position for position, name in enumerate(names)}
        rules = [recipe.smoothing] * len(names)
        given = {position_of(key, index, "smoothing"): key for key in self.smoothing}
        for position, key in given.items():
            rules[position] = as_smoothing(self.smoothing[key], f"smoothing[{key!r}]")
        return one_rule(self._joints(names, recipe), names, rules, set(given))

    def _assigned(self, recipe: Recipe, names: Any, kinds: Any, kept: Any, column: Any = None) -> list[Family | None]:
        """The family of each column, from what was kept of it or, if that is nothing yet, from its cells."""

        def by_kind(families: ByKind, place: int) -> Family:
            known = kept is not None and kept[place]
            return families.of_kept(kept[place]) if known else families.of_numbers(column(place))

        families = assign_families(names, kinds, self.families, recipe, by_kind)
        joints = self._joints(names, recipe)
        return joined(joints, names, families) if joints else families

    def _joints(self, names: Any, recipe: Recipe) -> tuple[Joint, ...]:  # names: for models that join all there are
        """The joint factors."""
        joints = as_joints(self.factors)
        if joints and recipe.tempering is not None:
            raise ParameterError(
                f"factors need recipe='textbook', but the recipe is {self.recipe!r}, which weighs each column by "
                "itself (and 'strong' finds pairs of columns on its own). Use NaiveBayes('textbook', factors=...)."
            )
        return joints

    def _checked_kept_rows(self) -> int:
        return require_whole("kept_rows", self.kept_rows)

    def _is_fitted(self) -> bool:
        return "statistics_" in self.__dict__

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

    def _require_fitted(self) -> None:
        if "statistics_" not in self.__dict__:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or 'partial_fit' with rows first."
            )
