"""`NaiveBayes`: the scikit-learn surface over the sum of statistics."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from naively.engines import local
from naively.engines.threads import thread_count
from naively.errors import InputError, ParameterError
from naively.estimation import of_one_state
from naively.families import Family
from naively.generation import Generation
from naively.inspection import Inspection
from naively.likelihood import Likelihood
from naively.recipes import Recipe, as_recipe
from naively.schema import Schema
from naively.scoring.decision import check_prior
from naively.state import State, learning_lock
from naively.statistics.statistics import Statistics, merged_classes, refuse_heavy
from naively.table.table import Table
from naively.table.target import read_rows, read_target
from naively.typing import AnyArray, FloatArray, IntArray
from naively.weighing.auto import stacked_densities

NO_CLASSES: AnyArray = np.array([], dtype=object)
NO_CLASSES.flags.writeable = False


class Batch(NamedTuple):
    """Rows to learn or to forget, read and checked: the result of `read_rows`."""

    table: Table
    classes: AnyArray
    codes: IntArray
    weights: FloatArray | None


class NaiveBayes(Inspection, Likelihood, Generation, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes for any table: numbers, categories, booleans, counts and missing cells in one model.

    Parameters
    ----------
    recipe : "auto", "strong", "textbook" or "fast", default="auto"
        A named set of defaults; the parameters below override it. "auto": stacked densities and categories, each
        column's evidence weighed so that the probabilities are calibrated. "strong": the same, pooled with experts that
        relax the independence of the columns. "textbook": Gaussian and categorical
        columns, Laplace smoothing, the class frequencies as prior, every column counted in full. "fast": bins, and one
        temperature.
    families : family, str, dict or ByKind, optional
        How columns are distributed: one family for all, or a dict by column name or position, for example
        ``{"age": Gaussian(ties="feature"), "city": "categorical"}``. Columns that are not given are inferred: numbers
        are Gaussian; booleans, text and categorical types are categorical. `ByKind` sets what is inferred.
    smoothing : smoothing, float, str or dict, optional
        Pseudo-counts: an object such as ``MEstimate(2)``, a number (Lidstone), a name, or a dict by column.
    factors : list of Joint, optional
        Columns that are not independent given the class, each group one factor of the model, for example
        ``[Joint("height", "weight")]``; all others stay independent. Needs ``recipe="textbook"``.
    prior : "estimated", "uniform", dict or array, default="estimated"
        The probability of each class before any evidence.
    prior_smoothing : smoothing, float or str, optional
        Pseudo-counts of the estimated prior; none by default.
    kept_rows : int, optional
        How many rows the recipes that weigh evidence keep as a sample, and fit the weights on. By default "auto" keeps
        4096; "strong" keeps 32768, counts pairs on all of them and fits weights on 4096. More rows give better weights
        and take longer.
    n_threads : int, optional
        At most so many threads; by default the variable NAIVELY_NUM_THREADS, or all cores. The answer does not depend
        on it.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, sorted.
    n_features_in_ : int
    feature_names_in_ : ndarray
        The columns' names, if X had any.
    schema_ : Schema
        What the columns are.
    statistics_ : Statistics
        The sum of all that was learnt. Everything else is computed from it when asked for, so `families`, `smoothing`
        and `prior` can be changed after fitting, without data; also in place, which the next answer sees.

    Notes
    -----
    Threads may share a model. Every answer is that of one state: all that had been learnt when the call began, and
    nothing of what other threads learn meanwhile. No row is lost when several threads call `partial_fit`, `forget`,
    `decay` or ``model += other``. What a model hands out is a copy, or cannot be written to.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> rows = [
    ...     {"weight": 4.2, "coat": "striped"},
    ...     {"weight": 5.0, "coat": "plain"},
    ...     {"weight": 31.0, "coat": "plain"},
    ...     {"weight": 24.0, "coat": "plain"},
    ...     {"weight": None, "coat": "striped"},
    ... ]
    >>> model = NaiveBayes().fit(rows, ["cat", "cat", "dog", "dog", "dog"])
    >>> model.predict([{"weight": 4.5, "coat": "striped"}, {"weight": 30.0}]).tolist()
    ['cat', 'dog']
    """

    def __init__(
        self,
        recipe: str = "auto",
        *,
        families: Any = None,
        smoothing: Any = None,
        factors: Any = None,
        prior: Any = "estimated",
        prior_smoothing: Any = None,
        kept_rows: int | None = None,
        n_threads: int | None = None,
    ):
        self.recipe = recipe
        self.families = families
        self.smoothing = smoothing
        self.factors = factors
        self.prior = prior
        self.prior_smoothing = prior_smoothing
        self.kept_rows = kept_rows
        self.n_threads = n_threads

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    # -- learning -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rows of X, and nothing but them.

        Parameters
        ----------
        X : array, data frame, sparse matrix or list of dicts
            NaN, None and null cells are missing: they are marginalised.
        y : array-like or str
            The classes, or the name of the column of X that holds them.
        sample_weight : array-like, optional
            A weight w counts as w repetitions of the row.

        Returns
        -------
        self
        """
        batch = self._read_batch(X, y, sample_weight)
        schema, statistics = self._taken()._count(batch, None)
        with learning_lock(self):
            self._replace(schema, statistics, NO_CLASSES)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows: afterwards the model equals one fitted on all rows at once.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, optional
            Classes to know of from now on, seen or not. Not needed: new classes are welcome at any time.

        Returns
        -------
        self
        """
        named = NO_CLASSES if classes is None else read_target(classes, len(classes))[0]
        batch = self._read_batch(X, y, sample_weight)
        with self._learning(batch) as (state, schema, statistics):
            declared = named
            if state is not None:
                declared = merged_classes(state.declared, named)
                statistics = state.statistics + statistics
            self._replace(schema, statistics, declared)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows that were learnt before.

        Sums and counts are as if the rows had never been seen. The kept rows and the histograms of the recipes that
        weigh evidence are so at their present threshold and level, which tighten when they are full and never widen
        again.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; after `decay`, with the weights that the rows have now. Rows that were never learnt raise
            `ForgetError` where the statistics can tell.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> X, y = np.array([[1.0], [2.0], [8.0], [9.0]]), [0, 0, 1, 1]
        >>> model = NaiveBayes().fit(X, y)
        >>> model.forget(X[:1], y[:1]).statistics_ == NaiveBayes().fit(X[1:], y[1:]).statistics_
        True
        """
        self._require_fitted()
        batch = self._read_batch(X, y, sample_weight)
        with self._learning(batch, forgets=True) as (state, _, statistics):
            assert state is not None  # a fitted model stays fitted
            self._replace(state.schema, state.statistics - statistics, state.declared)
        return self

    def decay(self, factor: float) -> Self:
        """Multiply the weight of all that was learnt so far, so that what comes next counts for more.

        Parameters
        ----------
        factor : float
            Above 0, usually below 1.

        Returns
        -------
        self
        """
        self._require_fitted()
        if isinstance(factor, bool) or not isinstance(factor, (int, float, np.number)) or not 0 < factor < np.inf:
            raise ParameterError(f"decay(factor) must be a finite number above 0, got {factor!r}.")
        with learning_lock(self):
            state = self._fitted()
            self._replace(state.schema, state.statistics.scaled(float(factor)), state.declared)
        return self

    def __add__(self, other: Any) -> NaiveBayes:
        """Merge two models that were trained apart: the same as training one on all rows."""
        if not isinstance(other, NaiveBayes):
            return NotImplemented
        merged: NaiveBayes = copy.deepcopy(self._taken())
        merged._learn_state(other.__dict__.get("_state"))
        return merged

    def __iadd__(self, other: Any) -> Self:
        """Learn all that another model has learnt, in place: ``model += other``."""
        if not isinstance(other, NaiveBayes):
            return NotImplemented
        with learning_lock(self):
            self._learn_state(other.__dict__.get("_state"))
        return self

    def _learn_state(self, other: State | None) -> None:
        """Add what another model has learnt; a model that is not fitted has learnt nothing."""
        mine: State | None = self.__dict__.get("_state")
        if mine is None and other is not None:
            self._state = copy.copy(other)
        elif mine is not None and other is not None:
            declared = merged_classes(mine.declared, other.declared)
            self._replace(mine.schema.merged(other.schema), mine.statistics + other.statistics, declared)

    @of_one_state
    def with_statistics(self, statistics: Statistics) -> NaiveBayes:
        """A new model with the parameters and columns of this one that has learnt these statistics instead.

        Parameters
        ----------
        statistics : Statistics
            Made from this model's: ``model.statistics_ - earlier.statistics_``, for example.

        Returns
        -------
        NaiveBayes
        """
        state = self._fitted()
        other: NaiveBayes = clone(self)
        other._replace(state.schema, statistics, state.declared)
        return other

    def _read_batch(self, X: Any, y: Any, sample_weight: Any) -> Batch:
        """Read and check rows that are to be counted; a bad parameter is refused first."""
        thread_count(self.n_threads)
        as_recipe(self.recipe)
        batch = Batch(*read_rows(X, y, sample_weight))
        if batch.weights is not None and not batch.weights.any():
            raise InputError("sample_weight must not be zero for every row: there would be nothing to learn.")
        return batch

    @contextmanager
    def _learning(self, batch: Batch, forgets: bool = False) -> Iterator[tuple[State | None, Schema, Statistics]]:
        """The state that a batch is to change, and the batch counted by it; no other thread can learn meanwhile.

        Rows are counted before the others have to wait; once more, if the columns have changed until it is our turn.
        """
        taken = self._taken()
        state: State | None = taken.__dict__.get("_state")
        kept_rows = None
        if forgets and state is not None:  # rows leave the sample that there is, whatever the recipe would keep now
            kept_rows = 0 if state.statistics.kept is None else state.statistics.kept.capacity
        counted = taken._count(batch, None if state is None else state.schema, kept_rows)
        with learning_lock(self):
            now: State | None = self.__dict__.get("_state")
            if now is not None and (state is None or now.schema is not state.schema):
                counted = self._taken()._count(batch, now.schema, kept_rows)
            yield now, *counted

    def _count(self, batch: Batch, schema: Schema | None, kept_rows: int | None = None) -> tuple[Schema, Statistics]:
        """Count a batch; nothing of the model is changed."""
        n_threads = thread_count(self.n_threads)
        recipe = as_recipe(self.recipe)
        table, classes, codes, weights = batch
        if schema is None:
            schema, positions = self._first_schema(table, recipe, weights), None
        else:
            positions = schema.locate(table)
            schema = schema.completed(table, positions, lambda *known: self._assigned(recipe, *known))
        if kept_rows is None:
            kept_rows = recipe.kept_rows if self.kept_rows is None else self._checked_kept_rows()
        return schema, local.count(table, schema, positions, classes, codes, weights, n_threads, kept_rows)

    def _first_schema(self, table: Table, recipe: Recipe, weights: FloatArray | None) -> Schema:
        self._smoothings(table.names, recipe)  # a bad parameter is refused before any work
        check_prior(self.prior)
        self._prior_rule()
        families = self._first_families(table, recipe, weights)
        if recipe.tempering is not None:
            stacked_densities(table.names, families)
        return Schema.of_table(table, families)

    def _first_families(self, table: Table, recipe: Recipe, weights: FloatArray | None) -> list[Family | None]:
        """The families of the columns of a first table; models that cut numbers into bins look at the rows, too."""
        return self._assigned(recipe, table.names, table.kinds, None, table.column)

    def _replace(self, schema: Schema, statistics: Statistics, declared: AnyArray) -> None:
        """Take a new state, whole: an answer, or whatever interrupts, finds the old one or the new one."""
        refuse_heavy(statistics.class_weight.high)
        self._state = State.of(schema, statistics, declared)

    # -- state -------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_state" in state:
            state["_state"] = copy.copy(state["_state"])  # estimates are computed again, under its own parameters
        return state

    def save(self, path: Any) -> None:
        """Write the model to one JSON file; `naively.load` reads it back, to the last bit.

        Parameters
        ----------
        path : str or path
            The file, replaced in one step if it exists.
        """
        from naively.export.json import save

        self._require_fitted()
        save(self._taken(), path)
