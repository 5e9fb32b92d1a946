"""What a model estimates from its statistics and parameters: families, smoothings, prior, and the scorer they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from sklearn.exceptions import NotFittedError

from naively._checks import require_whole
from naively.scoring.decision import class_prior, log_prior
from naively.engines.threads import thread_count
from naively.errors import ParameterError, SchemaError
from naively.scoring.model import Scorer, make_factors
from naively.factors import as_joints, joined, one_rule
from naively.families import ByKind, Family, Joint
from naively.weighing.scorer import PooledScorer
from naively.recipes import Recipe, as_recipe
from naively.schema import Schema, assign_families, position_of, summaries_of
from naively.smoothing import Smoothing, as_smoothing
from naively.state import State, as_it_is, unchanged
from naively.statistics.statistics import Statistics
from naively.weighing.auto import weigh
from naively.typing import AnyArray, FloatArray

Model = TypeVar("Model", bound="Estimation")
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def of_one_state(method: Callable[Concatenate[Model, Given], Answer]) -> Callable[Concatenate[Model, Given], Answer]:
    """A method that answers from the model as it is when the call begins, whatever other threads do until it ends.

    Every public method and property that reads what was learnt has this.
    """

    @wraps(method)
    def answer(self: Model, *args: Given.args, **options: Given.kwargs) -> Answer:
        return method(self._taken(), *args, **options)

    return cast("Callable[Concatenate[Model, Given], Answer]", answer)


class Estimation:
    """The part of `NaiveBayes` that turns statistics and parameters into estimates.

    Methods whose names begin with an underscore may look at the state more than once: they are for a model that was
    taken (`_taken`), as `of_one_state` does.
    """

    recipe: str
    families: Any
    smoothing: Any
    factors: Any
    prior: Any
    prior_smoothing: Any
    kept_rows: int | None
    n_threads: int | None
    _state: State

    # -- what was learnt ----------------------------------------------------------------------------------------------

    def _taken(self) -> Self:
        """A model with the parameters and the state that this one has now, whatever becomes of this one."""
        taken: Self = object.__new__(type(self))
        taken.__dict__ = self.__dict__.copy()
        return taken

    def _fitted(self) -> State:
        state: State | None = self.__dict__.get("_state")
        if state is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or 'partial_fit' with rows first."
            )
        return state

    def _is_fitted(self) -> bool:
        return "_state" in self.__dict__

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

    def _require_fitted(self) -> None:
        self._fitted()

    @property
    def schema_(self) -> Schema:
        """What the columns are."""
        return self._fitted().schema

    @property
    def statistics_(self) -> Statistics:
        """The sum of all that was learnt; it cannot be written to."""
        return self._fitted().statistics

    @property
    def classes_(self) -> AnyArray:
        """The class labels, sorted."""
        return self._fitted().statistics.classes

    @property
    def declared_classes_(self) -> AnyArray:
        """The classes that `partial_fit` was told of."""
        return self._fitted().declared

    @property
    def n_features_in_(self) -> int:
        """How many columns there are."""
        return len(self._fitted().schema.names)

    @property
    def feature_names_in_(self) -> AnyArray:
        """The columns' names, if X had any."""
        state = self._fitted()
        if not state.schema.named:
            raise AttributeError("The model was fitted on columns without names, so it has no feature_names_in_.")
        return state.feature_names

    # -- what is estimated from it ------------------------------------------------------------------------------------

    @property
    @of_one_state
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
        state, basis = self._fitted(), self._basis()
        known = state.estimates[0]
        if known is None or not unchanged(known[0], basis):
            basis = as_it_is(basis)  # before the work: what changes meanwhile is seen at the next answer
            known = basis, (self._scorer(as_recipe(self.recipe)), log_prior(self._prior(self.prior)))
            state.estimates[0] = known
        estimated: tuple[Scorer | PooledScorer, FloatArray] = known[1]
        return estimated

    def _basis(self) -> tuple[Any, ...]:
        """The parameters that estimates are computed from."""
        return (
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
                    f"Column {name!r} was learnt for another family: {family.name()!r} needs {need}, but {kept} was "
                    "kept. Fit again with the new families, factors or recipe."
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
