"""`NaiveBayes`: what it learns, what it answers, and what else it can be asked."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from naively._common.by_label import code_of
from naively._common.checks import position_of, require_bool, require_number, require_whole
from naively._common.estimators import BaseEstimator, ClassifierMixin
from naively._common.progress import told
from naively._common.read_only import in_c_order
from naively._model.options import with_options
from naively._model.record import plain_notes, record_schema
from naively._model.schema import Schema, assign_families, ignored_places, summaries_of, with_monotone
from naively._model.smoothings import refuse_unread, smoothing_of_columns
from naively._model.state import State, learning_lock, of_one_state
from naively._scoring.annotation import annotated, annotation_names, known_part
from naively._scoring.calibration import Calibration, calibration
from naively._scoring.decision import (
    Decider,
    check_prior,
    check_reject,
    class_prior,
    labelled,
    log_prior,
    loss_matrix,
    right_weight,
    share,
)
from naively._scoring.explained_cells import WIDE, explained_cells
from naively._scoring.explained_tokens import parts_of_dates, strongest_tokens
from naively._scoring.explanation import as_frame, attribute, explanation
from naively._scoring.leave_one_out import LearntRows, codes_among, left_out_log_prior, left_out_scores
from naively._scoring.model import Factor, LeftOutRows, Scorer, checked_numbers, chosen_columns, make_factors
from naively._table.device import device_labels, is_on_device, on_host
from naively._table.labels import exact_labels
from naively._table.read import read_table
from naively._table.results import Columns, Result, one_row
from naively._table.table import SparseTable, Table, require_rows
from naively._table.target import read_rows, read_target
from naively._weighing.auto import Tempering, refuse_unweighable, weigh
from naively._weighing.kept import class_rows
from naively._weighing.scorer import PooledScorer
from naively.analysis._bootstrap import bootstrapped_bounds
from naively.analysis._check import Seen, checked_rows, warn_of_asked, warn_of_learnt, warn_of_source
from naively.analysis._contrast import Contrast
from naively.analysis._credible import certain, credible_bounds, uncertain_prior
from naively.analysis._discriminant import Discriminant, linear_factors
from naively.analysis._findings import Check
from naively.analysis._given_parameters import given_columns, given_prior, imaginary_rows, refuse_others
from naively.analysis._importance import evidence_used, importances, require_rows_only_for_evidence
from naively.analysis._imputation import filled, fillings
from naively.analysis._left_out import left_out_by_fold
from naively.analysis._likelihood import factor_log_likelihood, parameter_counts
from naively.analysis._log_odds import LogOdds, additive_form
from naively.analysis._posterior import Posterior, factor_log_marginal_likelihood, posterior_of
from naively.analysis._ranking import SCORES, ranked, scores_by_weight, scores_of_columns
from naively.analysis._sampling import DrawnColumn, as_rows, as_table, distributions, draw_columns
from naively.engines._pieces import counted_pieces, of_pieces
from naively.engines._registry import engine_of, source_of
from naively.engines._threads import thread_count
from naively.engines.base import Piece, Plan, Source, Target
from naively.errors import FrozenError, InputError, ParameterError, RecipeError, SchemaError, brief, listed
from naively.families import ByKind, Family, as_factors
from naively.families._distributions import Distribution
from naively.families._joined import Cuts, JoinedColumns, joined, member_places
from naively.families._posteriors import dirichlets, log_marginal, prior_counts
from naively.recipes import MOST_KEPT, RECIPES, Recipe, as_recipe
from naively.smoothing import Smoothing, as_smoothing
from naively.statistics._information import counted
from naively.statistics._statistics import Statistics, merged_classes, refuse_heavy
from naively.statistics._sums import Sum
from naively.statistics.base import Summary, in_words
from naively.typing import (
    AnyArray,
    ColumnsLike,
    FactorsLike,
    FamiliesLike,
    FloatArray,
    IntArray,
    Label,
    LossLike,
    PathLike,
    PriorLike,
    SmoothingLike,
    SourceLike,
    TableLike,
    TargetLike,
    WeightsLike,
)

if TYPE_CHECKING:
    from naively._export.records import Waiting
    from naively._export.scorecard import Scorecard
    from naively._export.sql import SQLModel
    from naively.analysis._steps import Steps
    from naively.analysis._summary import ModelSummary
    from naively.analysis._tables import ConditionalTables
    from naively.analysis._top_words import TopWords

BLOCK_ROWS = 1 << 15
"""So many rows are simulated at once."""


class _Simulated(NamedTuple):
    error: float
    standard_error: float
    n: int


class BayesError(Result, _Simulated):
    """The error of the best possible rule, found by simulation.

    Parameters
    ----------
    error : float
        The share of rows whose class it gets wrong.
    standard_error : float
        How far off `error` may be by the chance of the simulation, as a standard deviation. That the model was learnt
        from few rows is not in it: then the model takes its classes for further apart than they are. More
        simulated rows do not mend that.
    n : int
        How many rows were simulated.
    """

    __slots__ = ()

    def _columns(self) -> Columns:
        return one_row(self._asdict())


class _OfDensities:
    """A method that models of a recipe that weighs evidence do not have: for them `hasattr` says no.

    scikit-learn asks in this way what an estimator can do.
    """

    def __init__(self, method: Callable[..., Any]):
        self._method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self._method
        known = isinstance(model.recipe, str) and model.recipe in RECIPES  # a bad one is refused when it is used
        if known or isinstance(model.recipe, Recipe):
            model._require_density(self._method.__name__)
        return self._method.__get__(model, owner)


NO_CLASSES: AnyArray = np.array([], dtype=object)
NO_CLASSES.flags.writeable = False

Learnt = tuple[Schema, Statistics, AnyArray]
"""What makes a state: the columns, the statistics, the classes that were declared."""


class Batch(NamedTuple):
    """Rows to learn or to forget, read and checked: the result of `read_rows`."""

    table: Table
    classes: AnyArray
    codes: IntArray
    weights: FloatArray | None


class Stream(NamedTuple):
    """Rows to learn or to forget that are no table in memory, with what was given beside them."""

    source: Source
    y: Any
    sample_weight: Any
    seen: Seen


class NaiveBayes(ClassifierMixin, BaseEstimator):
    """Naive Bayes for any table: numbers, categories, booleans, counts and missing cells in one model.

    Parameters
    ----------
    recipe : "auto", "strong", "textbook", "fast" or Recipe, default="auto"
        A set of defaults, by name or as an object; the parameters below override it. "auto": stacked densities and
        categories, each column's evidence weighed so that the probabilities are calibrated. "strong": the same, pooled
        with experts that relax the independence of the columns. "textbook": Gaussian and categorical columns, Laplace
        smoothing, the class frequencies as prior, every column counted in full. "fast": bins, and one temperature.
    families : family, str, dict or ByKind, optional
        How columns are distributed: one family for all, or a dict by column name or position, for example
        ``{"age": Gaussian(ties="feature"), "city": "categorical"}``. Columns that are not given are inferred: numbers
        are Gaussian in "textbook" and stacked densities in other recipes; booleans, text and categorical types are
        categorical; text with many words is prose. `ByKind` sets what is inferred. All recipes take all families.
    smoothing : smoothing, float, str or dict, optional
        Pseudo-counts: an object such as ``MEstimate(2)``, a number (Lidstone), a name, or a dict by column. By default
        "textbook" has Laplace's rule, the other recipes ``StackedMEstimate()``. Densities have no pseudo-counts, and
        neither has prose where evidence is weighed; `fit` and answers refuse a smoothing that no column reads.
    factors : list of Joint or Tree, optional
        Columns that are not independent given the class, each group one factor of the model, for example
        ``[Joint("height", "weight")]``; all others stay independent. Needs ``recipe="textbook"``.
    prior : "estimated", "uniform", dict, Series or array, default="estimated"
        The probability of each class before any evidence; dicts and Series by class, arrays in the order of `classes_`.
    prior_smoothing : smoothing, float or str, optional
        Pseudo-counts of the estimated prior; by default none in "textbook" and one for each class in other recipes.
    ignore : list of str or int, optional
        Columns to leave out, by name or position, such as identifiers; ``families={"client_id": "ignore"}`` says the
        same of one. Nothing is learnt or kept of them, and they need not be there when the model is asked.
    monotone : dict, optional
        By column name or position 1 or -1: the log-odds of the second of two classes never fall, or never rise, as the
        number rises, for example ``{"duration": 1}``. In "fast", "auto" and "strong", and wherever `Stacked` reads
        the column.
    kept_rows : int, optional
        How many rows the recipes that weigh evidence keep as a sample. By default "fast" keeps 2048 and "auto" 4096,
        and both fit weights on all of them; "strong" keeps 32768, fits its experts on all of them and the weights of
        columns on at most 4096. Rare classes have places of their own beside these. More rows give better weights and
        take longer.
    n_threads : int, optional
        At most so many threads; by default the variable NAIVELY_NUM_THREADS, or all cores. The answer does not depend
        on it.
    verbose : bool, default=False
        Whether to show what is going on, once it takes longer than a second, even where nobody may be watching. On
        terminals and in notebooks it is shown anyway. The logger "naively" of `logging` is told in any case.

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

    _state: State
    """All that was learnt; a model that is not fitted has none."""

    _notes: dict[str, Any]
    """What was noted when the model was saved."""

    ignore: ColumnsLike | None = None  # of subclasses that have no such parameter
    monotone: Mapping[Any, int] | None = None
    verbose: bool = False

    def __init__(
        self,
        recipe: str | Recipe = "auto",
        *,
        families: FamiliesLike | None = None,
        smoothing: SmoothingLike | None = None,
        factors: FactorsLike | None = None,
        prior: PriorLike = "estimated",
        prior_smoothing: SmoothingLike | None = None,
        ignore: ColumnsLike | None = None,
        monotone: Mapping[Any, int] | None = None,
        kept_rows: int | None = None,
        n_threads: int | None = None,
        verbose: bool = False,
    ):
        self.recipe = recipe
        self.families = families
        self.smoothing = smoothing
        self.factors = factors
        self.prior = prior
        self.prior_smoothing = prior_smoothing
        self.ignore = ignore
        self.monotone = monotone
        self.kept_rows = kept_rows
        self.n_threads = n_threads
        self.verbose = verbose

    @classmethod
    def from_parameters(cls, prior: PriorLike, columns: Any, rows: float = 1.0) -> NaiveBayes:
        """A model of recipe "textbook" from given parameters, without data.

        Parameters
        ----------
        prior : dict or Series
            The probability of each class.
        columns : dict
            For each column its parameters, named as in `parameters`: ``{"mean": ..., "variance": ...}`` for Gaussian
            columns, ``{"probability": {value: ...}}`` for labels, ``{"probability": ...}`` for yes and no, ``{"rate":
            ...}`` for Poisson, ``{"shape": ..., "scale": ...}`` for Gamma; any other needs its ``"family"``, an object
            or a name. Each parameter has a number for every class, in a dict or Series by class, or in the sorted order
            of the classes.
        rows : float, default=1.0
            How many rows the parameters are worth to a model that goes on to learn.

        Returns
        -------
        NaiveBayes
            With ``smoothing="none"``, so that the parameters are those that were given.

        Examples
        --------
        >>> model = NaiveBayes.from_parameters(
        ...     {"cat": 0.6, "dog": 0.4},
        ...     {
        ...         "weight": {"mean": {"cat": 4.5, "dog": 20.0}, "variance": {"cat": 1.0, "dog": 64.0}},
        ...         "coat": {"probability": {"plain": [0.3, 0.9], "striped": [0.7, 0.1]}},
        ...     },
        ... )
        >>> model.predict_proba({"weight": [6.0], "coat": ["plain"]}).round(3).tolist()
        [[0.857, 0.143]]
        >>> model.sample(2, y="cat", seed=0)[0]["coat"].tolist()
        ['plain', 'plain']
        """
        if cls is not NaiveBayes:
            raise ParameterError(f"from_parameters makes a NaiveBayes model, not a {cls.__name__}.")
        shares = given_prior(prior)
        require_number("rows", rows, at_least=1e-9)
        classes, weight = list(shares), float(rows) * np.array(list(shares.values()))
        given = given_columns(columns, classes)
        model = cls("textbook", families={name: column.family for name, column in given.items()}, smoothing="none")
        imagined = imaginary_rows(given, classes, weight)
        schema, statistics = model._count(model._read_batch(*imagined), None)
        model._replace(schema, replace(statistics, class_weight=Sum(weight)), NO_CLASSES)
        refuse_others(model.parameters(), given)
        return model

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and options of those that are objects: ``set_params(families__ties="feature")``.

        Parameters
        ----------
        **params
            Parameters of the model by name; behind two underscores an option of a family, a smoothing or a recipe, or
            the name of a column in a dict of these.

        Returns
        -------
        self

        Examples
        --------
        >>> NaiveBayes("textbook", families="gaussian").set_params(families__ties="feature").families.ties
        'feature'
        """
        options: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            parameter, nested, option = name.partition("__")
            if nested:
                options.setdefault(parameter, {})[option] = value
        super().set_params(**{name: value for name, value in params.items() if "__" not in name})
        known = self.get_params(deep=False)
        for name, given in options.items():
            if name not in known:
                raise ParameterError(f"{name!r} is no parameter of the model: {', '.join(known)}.")
            super().set_params(**{name: with_options(known[name], given, name)})
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(
        self, X: TableLike | SourceLike, y: TargetLike | None = None, sample_weight: WeightsLike | None = None
    ) -> Self:
        """Learn the rows of X, and nothing but them.

        The recipes that weigh evidence do so here, and answers come at once. To learn rows of which no answer is asked
        before others have come, or before they are added to another model, use `partial_fit`, which only counts.

        Parameters
        ----------
        X : array, data frame, sparse matrix, dict or list of dicts; path, Arrow stream, lazy frame or iterator
            NaN, None and null cells are missing: they are marginalised. A dict of single values is one row, a dict of
            lists a table; a list or Series of texts is one column of prose. Rows that are no table in memory are
            counted piece by piece: the path of a file (Parquet, CSV, JSON lines, Arrow), a pattern such as
            ``"sales/*.parquet"``, a list of paths or `naively.files`; anything that is an Arrow stream; an iterator of
            data frames, or of pairs (X, y). Lazy frames of Polars, DuckDB, Ibis, PySpark and Dask are counted where
            they are, as far as that goes.
        y : array-like or str
            The classes, or the name of the column of X that holds them; for a dict of single values, which is one row,
            the class itself. Of files and streams always the name; of pairs (X, y) nothing.
        sample_weight : array-like or str, optional
            A weight w counts as w repetitions of the row; or the name of the column of X that holds the weights, which
            then is no evidence. A Series with the row labels of X is matched by them.

        Returns
        -------
        self
        """
        batch = self._read_batch(X, y, sample_weight)
        fitted = self._taken()
        shown = isinstance(batch, Stream) and batch.source.shows_progress
        with told("learning", False if shown else self._says_progress()):
            fitted._replace(*fitted._count(batch, None), NO_CLASSES)
        if isinstance(batch, Batch):
            table, classes, codes, weights = batch
            warn_of_learnt(fitted.schema_, fitted.statistics_, table, classes, codes, weights is None)
        else:
            warn_of_source(fitted.schema_, fitted.statistics_, batch.seen)
        recipe = as_recipe(self.recipe)
        if recipe.tempering is None:
            fitted._refuse_unread_smoothing(recipe)
        else:
            fitted._estimated()
        with learning_lock(self):
            self._settle()  # what has waited until now belongs to what is replaced
            self._state = fitted._fitted()
        return self

    def partial_fit(
        self,
        X: TableLike | SourceLike,
        y: TargetLike | None = None,
        classes: Sequence[Label] | AnyArray | None = None,
        sample_weight: WeightsLike | None = None,
    ) -> Self:
        """Learn more rows: afterwards the model equals one fitted on all rows at once.

        Small batches of numbers wait once they are checked, and are counted together before the next answer.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. A data frame or dict may have new columns, which are missing in the rows before.
        classes : array-like, optional
            Classes to know of from now on, seen or not. Not needed: new classes are welcome at any time.

        Returns
        -------
        self
        """
        self._refuse_frozen("partial_fit")
        named = NO_CLASSES if classes is None else read_target(classes, len(classes))[0]
        batch = self._read_batch(X, y, sample_weight)
        if classes is not None or not self._waits(batch):
            self._learn(batch, named)
        return self

    def _learn(self, batch: Batch | Stream, named: AnyArray = NO_CLASSES) -> None:
        """Learn a batch, and from now on know of the classes that are named."""

        def added(state: State | None, schema: Schema, statistics: Statistics) -> Learnt:
            if state is None:
                return schema, statistics, named
            return schema, state.statistics + statistics, merged_classes(state.declared, named)

        self._change(batch, added)

    def forget(
        self, X: TableLike | SourceLike, y: TargetLike | None = None, sample_weight: WeightsLike | None = None
    ) -> Self:
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
        self._refuse_frozen("forget")
        batch = self._read_batch(X, y, sample_weight)

        def taken_away(state: State | None, _: Schema, statistics: Statistics) -> Learnt:
            assert state is not None  # a fitted model stays fitted
            return state.schema, state.statistics - statistics, state.declared

        self._change(batch, taken_away, forgets=True)
        return self

    # -- one record at a time ------------------------------------------------------------------------------------------

    def learn_one(self, record: Mapping[str, Any], label: Label) -> Self:
        """Learn one record: afterwards the model equals one fitted on all rows.

        Records wait, and are counted together before the next answer: learning many in a row takes microseconds each.
        Threads may learn at once, and no record is lost.

        Parameters
        ----------
        record : dict
            Cells by column name. A key that is absent is a missing cell; new keys become columns.
        label : label
            The class.

        Returns
        -------
        self

        Examples
        --------
        >>> model = NaiveBayes("textbook")
        >>> model.predict_one({"coat": "plain"}) is None
        True
        >>> for coat, label in [("plain", "dog"), ("plain", "dog"), ("striped", "cat")]:
        ...     _ = model.learn_one({"coat": coat}, label)
        >>> model.predict_one({"coat": "plain"})
        'dog'
        """
        self._waiting().learn(self, record, label)
        return self

    def forget_one(self, record: Mapping[str, Any], label: Label) -> Self:
        """Unlearn one record that was learnt before.

        Parameters
        ----------
        record, label
            As in `learn_one`.

        Returns
        -------
        self

        Examples
        --------
        >>> rows = [{"coat": "plain"}, {"coat": "striped"}, {"coat": "striped"}]
        >>> model = NaiveBayes("textbook").fit(rows, ["dog", "cat", "cat"])
        >>> model.forget_one({"coat": "striped"}, "cat").class_count_.tolist()
        [1.0, 1.0]
        """
        self._waiting().forget(self, record, label)
        return self

    def predict_one(self, record: Mapping[str, Any]) -> Label | None:
        """The most probable class of one record; None before anything was learnt.

        Parameters
        ----------
        record : dict
            Cells by column name. Absent keys are missing cells; keys that the model does not know are ignored.

        Returns
        -------
        label or None

        Examples
        --------
        >>> model = NaiveBayes("textbook").fit([{"x": 1.0}, {"x": 2.0}, {"x": 8.0}, {"x": 9.0}], [0, 0, 1, 1])
        >>> model.predict_one({"x": 7.5})
        1
        """
        from naively._export.records import predict_one

        return predict_one(self, record)

    def predict_proba_one(self, record: Mapping[str, Any]) -> dict[Label, float]:
        """The probability of each class for one record; an empty dict before anything was learnt.

        Parameters
        ----------
        record : dict
            As in `predict_one`.

        Returns
        -------
        dict from each class to its probability

        Examples
        --------
        >>> model = NaiveBayes("textbook").fit([{"coat": "plain"}, {"coat": "striped"}], ["dog", "cat"])
        >>> {label: round(p, 3) for label, p in model.predict_proba_one({"coat": "plain"}).items()}
        {'cat': 0.333, 'dog': 0.667}
        """
        from naively._export.records import predict_proba_one

        return predict_proba_one(self, record)

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
        self._refuse_frozen("decay")
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
        _refuse_any_frozen("+", self, other)
        merged: NaiveBayes = copy.deepcopy(self._taken())
        merged._learn_state(other._taken().__dict__.get("_state"))
        return merged

    def __radd__(self, other: Any) -> NaiveBayes:
        """What `sum` begins with, 0, adds nothing: ``sum(models)`` is the model of all their rows."""
        return copy.deepcopy(self._taken()) if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: Any) -> NaiveBayes:
        """Forget all that another model has learnt: a new model of the rows that are left."""
        if not isinstance(other, NaiveBayes):
            return NotImplemented
        _refuse_any_frozen("-", self, other)
        left: NaiveBayes = copy.deepcopy(self._taken())
        state, gone = left._fitted(), other._fitted()
        left._replace(state.schema, state.statistics - gone.statistics, state.declared)
        return left

    def __iadd__(self, other: Any) -> Self:
        """Learn all that another model has learnt, in place: ``model += other``."""
        if not isinstance(other, NaiveBayes):
            return NotImplemented
        _refuse_any_frozen("+=", self, other)
        with learning_lock(self):
            self._learn_state(other._taken().__dict__.get("_state"))
        return self

    def _learn_state(self, other: State | None) -> None:
        """Add what another model has learnt; a model that is not fitted has learnt nothing."""
        self._settle()
        present: State | None = self.__dict__.get("_state")
        if present is None and other is not None:
            self._state = copy.copy(other)
        elif present is not None and other is not None:
            declared = merged_classes(present.declared, other.declared)
            self._replace(present.schema.merged(other.schema), present.statistics + other.statistics, declared)

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

    def _read_batch(self, X: Any, y: Any, sample_weight: Any) -> Batch | Stream:
        """Read and check rows that are to be counted, or open their source; a bad parameter is refused first."""
        thread_count(self.n_threads)
        as_recipe(self.recipe)
        source = source_of(X, y)
        if source is not None:
            return Stream(source, y, sample_weight, Seen())
        batch = Batch(*read_rows(X, y, sample_weight))
        if batch.weights is not None and not batch.weights.any():
            raise InputError("sample_weight must not be zero for every row: there would be nothing to learn.")
        return batch

    def _waits(self, batch: Batch | Stream) -> bool:
        """Whether a batch was taken to be counted later, together with others."""
        return "_state" in self.__dict__ and isinstance(batch, Batch) and self._waiting().take(self, batch)

    def _change(
        self, batch: Batch | Stream, change: Callable[[State | None, Schema, Statistics], Learnt], forgets: bool = False
    ) -> None:
        """Take the state that the present one and a counted batch `change` to; no other thread can learn meanwhile.

        Rows are counted before the others have to wait; once more, if the columns have changed until it is our turn. A
        stream flows once: then its columns are merged with those that there are.
        """
        taken = self._taken()
        state: State | None = taken.__dict__.get("_state")
        kept_rows = None
        if forgets and state is not None:  # rows leave the sample that there is, whatever the recipe would keep now
            kept_rows = 0 if state.statistics.kept is None else state.statistics.kept.capacity
        counted = taken._count(batch, None if state is None else state.schema, kept_rows, forgets)
        with learning_lock(self):
            taken = self._taken()  # records that have come meanwhile are learnt before the state is read, and not after
            now: State | None = taken.__dict__.get("_state")
            if now is not None and (state is None or now.schema is not state.schema):
                if isinstance(batch, Stream):
                    counted = now.schema.merged(counted[0]), counted[1]
                else:
                    counted = taken._count(batch, now.schema, kept_rows, forgets)
            self._replace(*change(now, *counted))

    def _count(
        self, batch: Batch | Stream, schema: Schema | None, kept_rows: int | None = None, forgets: bool = False
    ) -> tuple[Schema, Statistics]:
        """Count a batch, or all pieces of a source; nothing of the model is changed."""
        if kept_rows is None:
            recipe = as_recipe(self.recipe)
            kept_rows = recipe.kept_rows if self.kept_rows is None else self._checked_kept_rows()
        if isinstance(batch, Stream):
            return self._count_stream(batch, schema, kept_rows, forgets)
        table, schema, positions = self._matched(batch.table, batch.weights, schema, forgets)
        target = Target(batch.classes, batch.codes, batch.weights)
        n_threads = thread_count(self.n_threads)
        return schema, engine_of(table).count(table, schema, positions, target, n_threads, kept_rows)

    def _count_stream(
        self, stream: Stream, schema: Schema | None, kept_rows: int, forgets: bool
    ) -> tuple[Schema, Statistics]:
        """Count the rows of a source: where they are, if it can, else piece by piece."""
        source, y, sample_weight, seen = stream

        def schema_of(table: Table) -> tuple[Schema, IntArray | None]:
            seen.head = table
            return self._matched(table, None, schema, forgets)[1:]

        def count(piece: Piece, known: Schema | None) -> tuple[Schema, Statistics]:
            batch = Batch(*read_rows(*piece[:3]))
            if seen.n_rows and schema is None and known is not None:
                self._refuse_pieces(known)
            seen.take(batch.table)
            return self._count(batch, known, kept_rows, forgets)

        pushed = source.count(Plan(y, sample_weight, schema_of, kept_rows, thread_count(self.n_threads)))
        if pushed is not None:
            return pushed
        needed = schema.names if forgets and schema is not None else None
        return counted_pieces(lambda: seen.begin(source.pieces(y, sample_weight, needed)), schema, count)

    def _refuse_pieces(self, schema: Schema) -> None:
        """Refuse rows that come in several pieces, where the first rows would decide what all others are read by."""
        for factor in self._factors(as_recipe(self.recipe)):
            factor.refuse_pieces([schema.names[place] for place in factor.places(schema.names)], schema.cuts)

    def _matched(
        self, table: Table, weights: FloatArray | None, schema: Schema | None, forgets: bool
    ) -> tuple[Table, Schema, IntArray | None]:
        """A table as it is counted, what to count of it, and where the columns stand in it."""
        recipe = as_recipe(self.recipe)
        if schema is None:
            first = self._first_schema(table, recipe, weights)
            return first.with_dates(table, None), first, None
        if not forgets and all(factor.columns for factor in self._factors(recipe)):  # not joined once and for all
            schema = schema.widened(table)
        table, positions = schema.matched(table)
        known = schema

        def assign(names: Any, kinds: Any) -> list[Family | None]:
            return self._assigned(recipe, names, kinds, known.cuts)

        schema = schema.completed(table, positions, assign)
        return schema.with_dates(table, positions), schema, positions

    def _first_schema(self, table: Table, recipe: Recipe, weights: FloatArray | None) -> Schema:
        self._smoothings(table.names, recipe)  # a bad parameter is refused before any work
        check_prior(self._given_prior())
        self._prior_rule()
        families = self._first_families(table, recipe, weights)
        self._refuse_unweighable(table.names, families, recipe)
        return Schema.of_table(table, families)

    def _refuse_unweighable(self, names: Sequence[str], families: Sequence[Family | None], recipe: Recipe) -> None:
        """Refuse families that the recipe cannot weigh."""
        if recipe.tempering is not None:
            refuse_unweighable(names, families)

    def _refuse_unread_smoothing(self, recipe: Recipe) -> None:
        """Refuse a smoothing that changes nothing, of all that was learnt: other columns may come with later rows."""
        if self.smoothing is not None:
            names, families = self.schema_.names, self._checked_families(recipe)
            ignored = ignored_places(names, self.families, self.ignore)
            refuse_unread(self.smoothing, recipe.smoothing, names, families, ignored, recipe.tempering is not None)

    def _first_families(self, table: Table, recipe: Recipe, weights: FloatArray | None) -> list[Family | None]:
        """The families of the columns of a first table, whose rows tell where factors cut numbers into bins."""
        factors = self._factors(recipe)
        cuts: Cuts = {}
        if factors:
            alone = self._alone(recipe, table.names, table.kinds, factors)[0]
            for factor in factors:
                cuts |= factor.cuts_in(table, factor.members(table.names, alone), weights)
        return self._assigned(recipe, table.names, table.kinds, cuts)

    def _replace(self, schema: Schema, statistics: Statistics, declared: AnyArray) -> None:
        """Take a new state, whole: an answer, or whatever interrupts, finds the old one or the new one."""
        refuse_heavy(statistics.class_weight.high)
        self._state = State.of(schema, statistics, declared)

    # -- state ---------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        state = dict(super().__getstate__())
        for made_again in ("_records", "_program"):
            state.pop(made_again, None)
        if "_state" in state:
            state["_state"] = copy.copy(state["_state"])  # a copy estimates for itself once its parameters change
        return state

    def save(self, path: PathLike, *, rows: bool = True, notes: Mapping[str, Any] | None = None) -> None:
        """Write the model to one JSON file; `naively.load` reads it back, and its answers are the same to the last bit.

        The file holds the parameters, the columns, the statistics and, of the recipes that weigh evidence, the
        estimates. A model that can go on learning with "auto", "fast" or "strong" has kept a sample of the training
        data, and the file holds it: up to `kept_rows` rows, word for word. ``rows=False`` leaves them out.

        Parameters
        ----------
        path : str or path
            The file, replaced in one step if it exists; it then keeps its mode. A new one that holds rows of the data
            can be read by its owner alone.
        rows : bool, default=True
            False to write the model as it is when `frozen`: it answers, and cannot learn. The file then holds no row,
            but still what the estimates are made of, the values of labels and the words of prose among it.
        notes : dict, optional
            Whatever you want to find again in ``load(path).notes_``: texts, numbers, lists and dicts of these. By
            default those that the model was loaded with.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from naively import NaiveBayes, load
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.json"
        >>> model = NaiveBayes().fit([[1.0], [2.0], [7.0], [8.0]], ["a", "a", "b", "b"])
        >>> model.save(file, rows=False, notes={"author": "Ada"})
        >>> load(file).notes_, load(file).predict([[1.5]]).tolist()
        ({'author': 'Ada'}, ['a'])
        """
        from naively._export.json import save

        self._require_fitted()
        if not isinstance(rows, bool):
            raise ParameterError(f"save(rows) must be True or False, got {brief(rows)}.")
        model = self._taken()
        if notes is not None:
            model._notes = plain_notes(notes)
        save(model if rows else model.frozen(), path)

    @property
    def notes_(self) -> dict[str, Any]:
        """The notes that came with the model's file; empty where there were none."""
        return copy.deepcopy(self.__dict__.get("_notes", {}))

    @of_one_state
    def frozen(self) -> Self:
        """A model that only answers, as this one does to the last bit: no kept rows, no learning, estimates inside.

        It predicts, explains, scores and gives log-odds. It holds what `calibration_` is measured on: that is estimated
        now if it was not asked for before. Of the recipes that weigh evidence it has no statistics, and what needs them
        (`rank_features`, `impute`, `statistics_`) is refused, as are other parameters than the prior.
        `partial_fit`, `forget`, `decay` and ``+`` are refused with any recipe; `fit` begins anew.

        Returns
        -------
        NaiveBayes
            A new model.

        Examples
        --------
        >>> model = NaiveBayes().fit([[1.0], [2.0], [7.0], [8.0]], ["a", "a", "b", "b"]).frozen()
        >>> model.predict([[1.5]]).tolist()
        ['a']
        >>> model.partial_fit([[3.0]], ["a"])
        Traceback (most recent call last):
        ...
        naively.errors.FrozenError: partial_fit: this model only answers. Learn with the model that it was made from.
        """
        self._require_classes()
        state, frozen = self._fitted(), self._taken()
        if state.frozen:
            return frozen
        weighs = as_recipe(self.recipe).tempering is not None
        left_out = self._left_out_rows() if weighs else None
        frozen._state = state.answering(class_rows(state.statistics) if weighs else None)
        if weighs and isinstance(scorer := frozen._estimated()[0], Scorer):
            scorer.left_out = left_out
        return frozen

    @property
    def frozen_(self) -> bool:
        """Whether the model only answers: see `frozen`."""
        return self._fitted().frozen

    def _refuse_frozen(self, asked: str) -> None:
        state: State | None = self.__dict__.get("_state")
        if state is not None and state.frozen:
            raise FrozenError(f"{asked}: this model only answers. Learn with the model that it was made from.")

    @of_one_state
    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema (draft 2020-12) of one record that the model answers for.

        Returns
        -------
        dict
            Of an object, or of an array if the columns have no names. Any cell may be null, and a named one absent.
            Labels may be others than those that were learnt, which are listed where they are no more than 100.

        Examples
        --------
        >>> rows = [{"coat": "striped", "weight": 4.0}, {"coat": "plain", "weight": 30.0}]
        >>> schema = NaiveBayes("textbook").fit(rows, ["cat", "dog"]).json_schema()
        >>> schema["properties"]["weight"]
        {'type': ['number', 'null']}
        >>> schema["properties"]["coat"]
        {'anyOf': [{'enum': ['plain', 'striped']}, {'type': ['string', 'null']}]}
        """
        self._require_classes()
        return record_schema(self.schema_, self._estimated()[0].factors)

    # -- the model elsewhere -------------------------------------------------------------------------------------------

    @of_one_state
    def to_python(self) -> str:
        """The model as the source text of one Python file that needs the standard library alone.

        The file has ``predict_proba(record)``, a dict from each class to its probability, and ``predict(record)``. They
        answer as the model does, within 1e-9, and refuse the cells that it refuses.

        Returns
        -------
        str
            Names and values of the data stand in it as literals: importing the file runs nothing of them.

        Raises
        ------
        GapError
            Where the model has no additive form: the recipe "strong", prose, and factors that join columns.

        Examples
        --------
        >>> model = NaiveBayes("textbook").fit({"coat": ["plain", "plain", "striped"]}, ["dog", "dog", "cat"])
        >>> program = {}
        >>> exec(model.to_python(), program)
        >>> program["predict"]({"coat": "plain"})
        'dog'
        """
        from naively._export.python import to_python

        return to_python(self)

    @of_one_state
    def to_sql(
        self,
        table: str | Sequence[str],
        dialect: str = "duckdb",
        *,
        keep: Sequence[str] = (),
        prefix: str = "naively",
        inline: int = 12,
    ) -> SQLModel:
        """The model as one SELECT that answers, within 1e-9, as `predict_proba` does.

        Look-ups of many values, and the curves of "auto", lie in model tables beside the query: execute `statements`
        once, and `query` as often as there are rows to answer. The columns of the table must have the names and types
        that the model has learnt. A number that the model would refuse, infinity for example, is read as missing.

        Parameters
        ----------
        table : str or tuple of str
            The table or view that holds the rows, in one part or qualified: ``("main", "visitors")``.
        dialect : "duckdb", "postgres", "sqlite" or "spark"
        keep : sequence of str, default=()
            Columns of the table to have beside the answer: its key, as a rule.
        prefix : str, default="naively"
            How the names of the model tables begin; they lie beside the table.
        inline : int, default=12
            The most values, or bins, of a column that are written into the query and need no table.

        Returns
        -------
        SQLModel
            With `query`, `statements`, `tables` and `script()`. The columns of the answer are those to `keep`,
            `prediction`, and ``probability_<class>`` for each class.

        Raises
        ------
        GapError
            Where the model has no additive form: the recipe "strong", prose, and factors that join columns.

        Examples
        --------
        >>> model = NaiveBayes("textbook").fit({"coat": ["plain", "plain", "striped"]}, ["dog", "dog", "cat"])
        >>> import sqlite3
        >>> db = sqlite3.connect(":memory:")
        >>> _ = db.execute("CREATE TABLE pets (name TEXT, coat TEXT)")
        >>> _ = db.execute("INSERT INTO pets VALUES ('Tom', 'striped'), ('Rex', 'plain'), ('Bo', NULL)")
        >>> db.execute(model.to_sql("pets", "sqlite", keep=["name"]).query).fetchall()[0][:2]
        ('Tom', 'cat')
        """
        from naively._export.sql import to_sql

        return to_sql(self, table, dialect, keep, prefix, inline)

    @of_one_state
    def summary(self) -> ModelSummary:
        """The model at a glance: its classes and its columns, from what was counted alone, so that it comes at once.

        Returns
        -------
        ModelSummary
            It prints as a table, and is what notebooks show of a fitted model; `frame()` has a row for each column.

        Examples
        --------
        >>> rows = {"coat": ["striped", "plain", "plain", None], "weight": [4.0, 20.0, 31.0, 5.0]}
        >>> NaiveBayes("auto").fit(rows, ["cat", "dog", "dog", "cat"]).summary()
        NaiveBayes, recipe 'auto', 4 rows, 2 columns, 2 classes
        classes: cat 50.0%, dog 50.0%
        column  holds   family       missing  values
        coat    label   categorical      25%  'plain', 'striped'
        weight  number  stacked           0%  4 to 31
        """
        from naively.analysis._summary import summary

        self._require_fitted()
        return summary(self)

    @of_one_state
    def tables(self) -> ConditionalTables:
        """The class prior and the tables of P(x | y), as R prints them: what each class expects of each column.

        Labels have the probability of each value; numbers their mean and standard deviation, or the parameters of
        their family; bins the probability of each. They are computed from what was counted alone, so that they come at
        once.

        Returns
        -------
        ConditionalTables
            It prints as `print` of R's ``e1071::naiveBayes`` does; ``tables["coat"]`` is the table of a column, and
            `frame()` has a row for each column, parameter (and value) and class.

        Notes
        -----
        In "textbook" these are the parameters that the model answers with, as in `parameters`. The recipes "fast",
        "auto" and "strong" answer with more than such a table can hold, see `log_odds`: shown is what they start from,
        the smoothed probabilities of labels (of the default smoothing, those with one pseudo-row), and of numbers the
        mean and the standard deviation. `Kernel` and `Stacked` columns have these, too, in any recipe. Prose is shown
        by `top_words`.

        Examples
        --------
        >>> rows = {"coat": ["striped", "plain", "plain", "plain"], "weight": [4.0, 5.0, 20.0, 31.0]}
        >>> model = NaiveBayes("textbook").fit(rows, ["cat", "cat", "dog", "dog"])
        >>> model.tables()
        A-priori probabilities:
        Y
        cat dog
        0.5 0.5
        <BLANKLINE>
        Conditional probabilities:
        <BLANKLINE>
             coat
        Y     plain striped
          cat  0.50    0.50
          dog  0.75    0.25
        <BLANKLINE>
             weight
        Y     mean  sd
          cat  4.5 0.5
          dog 25.5 5.5
        """
        from naively.analysis._tables import conditional_tables

        self._require_fitted()
        return conditional_tables(self)

    @of_one_state
    def top_words(
        self, column: str | int | None = None, most: int = 10, *, runs: bool = False, min_texts: int = 2
    ) -> TopWords:
        """The words of a column of prose that say most for each class.

        Parameters
        ----------
        column : str or int, optional
            Its name or position; by default the first column of prose.
        most : int, default=10
            How many words are listed for each class.
        runs : bool, default=False
            Whether all that is counted is listed, pairs of words for example, and not the first kind alone.
        min_texts : int, default=2
            Words that fewer texts have are left out.

        Returns
        -------
        TopWords
            It prints as a table; ``of(label)`` are the words for a class, and `frame()` has a row for each word:
            ``column``, ``class``, ``rank``, ``word``, ``bits``, and how many ``texts`` of the class have it.

        Notes
        -----
        Bits are what one more such word adds to the evidence for the class, against the mean of the other classes; in
        the recipes that weigh evidence those of a text of the typical length. The experts of "strong" have weights of
        their own beside these.

        Examples
        --------
        >>> texts = ["free prize now", "free cash now", "home for lunch", "lunch after home"]
        >>> y = ["spam", "spam", "ham", "ham"]
        >>> model = NaiveBayes("textbook", families={"text": "text"}).fit({"text": texts}, y)
        >>> model.top_words(most=2)
        Words of 'text' for each class
        ham      bits  spam    bits
        home   0.8697  free  0.8697
        lunch  0.8697  now   0.8697
        >>> model.top_words().of("spam")
        ['free', 'now']
        """
        from naively.analysis._top_words import top_words

        self._require_classes()
        return top_words(self, column, most, runs, min_texts)

    def _repr_html_inner(self) -> str:
        """What notebooks show: the summary of a fitted model, else its parameters."""
        if self._is_fitted():
            return self.summary()._repr_html_()
        return str(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What notebooks show, by media type."""
        if not self._is_fitted():
            return dict(super()._repr_mimebundle_(**kwargs))
        return {"text/plain": repr(self), "text/html": self._repr_html_inner()}

    @of_one_state
    def steps(self, X: TableLike, prior: PriorLike | None = None) -> Steps:
        """Bayes' rule for one row, step by step: the prior, times what each cell says, normalised.

        Parameters
        ----------
        X : one row, for example a dict
        prior : as in `predict`, optional

        Returns
        -------
        Steps
            It prints as a table: for each step and class the factor and the probability after it.

        Examples
        --------
        >>> rows = {"coat": ["striped", "plain", "plain", "plain"]}
        >>> model = NaiveBayes("textbook").fit(rows, ["cat", "dog", "dog", "cat"])
        >>> model.steps({"coat": "plain"})
        step   value  class  factor  probability
        prior         cat    0.5000       0.5000
        prior         dog    0.5000       0.5000
        coat   plain  cat    0.5000       0.4000
        coat   plain  dog    0.7500       0.6000
        """
        from naively.analysis._steps import steps

        table, positions, scorer, decider = self._ready(X, prior)
        if table.n_rows != 1:
            raise InputError(f"steps takes one row, got {table.n_rows}. Ask for one after the other.")
        names, log_prior = list(scorer.names), decider.log_prior.reshape(-1, len(self.classes_))[0]
        places = range(len(self.schema_.names)) if positions is None else positions.tolist()
        values = [None if place < 0 else _cell(table, place) for place in places]
        values += [None] * (len(names) - len(values))
        return steps(self.classes_, log_prior, names, values, scorer.evidence(table, positions)[0])

    @of_one_state
    def scorecard(
        self,
        good: Label | None = None,
        *,
        pdo: float = 20.0,
        base: float = 600.0,
        odds: float = 50.0,
        n_bins: int = 5,
        rounded: bool = True,
    ) -> Scorecard:
        """The model as a card of points, as lenders and clinicians use them; for two classes.

        The points of a row's values add up to its score, ``base + pdo * log2(odds of the good class / odds)``. Numbers
        are cut into bins of about equally many rows, each worth the mean of what the model gives its rows.

        Parameters
        ----------
        good : label, optional
            The class whose odds the points count; by default the one with more rows.
        pdo : float, default=20
            The points that double the odds.
        base, odds : float
            A row with the odds `odds` has `base` points.
        n_bins : int, default=5
            The number of bins of a column of numbers.
        rounded : bool, default=True
            Whether points are whole numbers.

        Returns
        -------
        Scorecard
            It prints as a table; `frame()` has points, weight of evidence (WOE) and information value (IV), and
            `score(X)` gives the points of rows.

        Examples
        --------
        >>> rows = {"job": ["yes", "yes", "yes", "no", "no", "no", "yes", "no"]}
        >>> y = ["good", "good", "good", "bad", "bad", "good", "good", "bad"]
        >>> card = NaiveBayes("textbook", smoothing=1).fit(rows, y).scorecard("good", odds=1)
        >>> card.score({"job": ["yes", "no", None]}).tolist()
        [651.0, 585.0, 615.0]
        >>> card
        Points for 'good' against 'bad': 20 double the odds
                                points    woe  rows
        job (IV 1.90)  no          585  -1.25     4
                       yes         651   1.79     4
                       other       615            0
                       missing     615            0
        """
        from naively._export.scorecard import scorecard

        self._require_classes()
        return scorecard(self, good, pdo, base, odds, n_bins, rounded)

    @of_one_state
    def to_onnx(self, *, missing: str = "") -> Any:
        """The model as an ONNX graph that answers, within 1e-6, as `predict_proba` does.

        It has an input of shape (rows, 1) for each column, by its name: float64 for numbers and booleans, in which NaN
        is missing, and text for labels; float64 seconds since 1970 by the clock on the wall for dates, and since
        midnight for times of day. A model of an array of numbers has the one input "X". The outputs are `label`
        and `probabilities` (with an underscore before it if a column has that name). A number that the model would
        refuse, infinity for example, is read as missing.

        Parameters
        ----------
        missing : str, default=""
            The text that stands for a missing cell in columns of text; no label.

        Returns
        -------
        onnx.ModelProto
            Write it with ``onnx.save(graph, path)``, or run it with ONNX Runtime.

        Raises
        ------
        GapError
            Where the model has no additive form: the recipe "strong", prose, and factors that join columns.

        Examples
        --------
        >>> import numpy as np, onnxruntime
        >>> X, y = np.array([[1.0], [2.0], [8.0], [9.0]]), ["low", "low", "high", "high"]
        >>> graph = NaiveBayes("textbook").fit(X, y).to_onnx()
        >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
        >>> session.run(["label"], {"X": np.array([[1.5], [7.0]])})[0].tolist()
        ['low', 'high']
        """
        from naively._export.onnx import to_onnx

        return to_onnx(self, missing)

    @of_one_state
    def plot(self, most: int = 12, axes: Any = None) -> Any:
        """Draw how the columns are distributed in each class, one picture each, the most informative first.

        Parameters
        ----------
        most : int, default=12
            How many columns are shown.
        axes : array of Axes, optional
            At least one for each column.

        Returns
        -------
        ndarray of Axes

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> from naively import NaiveBayes
        >>> from naively.demo import penguins
        >>> [ax.get_xlabel() for ax in NaiveBayes().fit(*penguins()).plot(most=2)]
        ['flipper_length_mm', 'bill_length_mm']
        """
        from naively.plots import plot_model

        self._require_fitted()
        return plot_model(self, most, axes)

    @of_one_state
    def report(self, path: PathLike, data: Any = None, *, row: Any = None, title: str | None = None) -> Path:
        """Write a page about the model: one HTML file that works anywhere, offline, and holds no row of the data.

        It shows the model at a glance; a nomogram whose markers can be moved, with the evidence in bits and the
        probability that follow at once, equal to those of the model; why a row gets its class; how columns are
        distributed; how far the probabilities can be believed; and which columns depend on each other.

        Parameters
        ----------
        path : str or path
            The file to write, for example ``"report.html"``.
        data : (X, y) or (X, y, sample_weight), optional
            Rows to judge the model on, as `fit` takes them, for example ``(frame, "target")``. By default the
            leave-one-out answers for the kept rows, which "textbook" has not. Only counts of them get into the page.
        row : table of one row, optional
            The row that the page opens with and explains, for example a dict; its values get into the page. By default
            the middle of every column.
        title : str, optional

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from naively import NaiveBayes
        >>> from naively.demo import penguins
        >>> model = NaiveBayes().fit(*penguins())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = model.report(Path(folder) / "penguins.html", row={"island": "Dream"}, title="Penguins")
        ...     page.stat().st_size < 1_500_000
        True
        """
        from naively._report.page import write_report

        self._require_classes()
        return write_report(self, path, data, row, title)

    # -- what was learnt -----------------------------------------------------------------------------------------------

    def _taken(self) -> Self:
        """A model with the parameters and the state that this one has now, whatever becomes of this one."""
        self._settle()
        taken: Self = object.__new__(type(self))
        taken.__dict__ = self.__dict__.copy()
        taken.__dict__.pop("_records", None)  # what waits is this model's to learn
        return taken

    def _waiting(self) -> Waiting:
        """The rows that wait to be learnt."""
        waiting: Waiting | None = self.__dict__.get("_records")
        if waiting is None:  # an import at every call would take as long as all the rest
            from naively._export.records import waiting_of

            waiting = waiting_of(self)
        return waiting

    def _settle(self) -> None:
        """Learn the rows that wait to be learnt, so that the state is that of all of them."""
        waiting = self.__dict__.get("_records")
        if waiting is not None and (waiting.rows or waiting.batches or waiting.settling):
            from naively._export.records import settle

            settle(self, waiting)

    def _fitted(self) -> State:
        self._settle()
        state: State | None = self.__dict__.get("_state")
        if state is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or 'partial_fit' with rows first."
            )
        return state

    def _is_fitted(self) -> bool:
        self._settle()
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
        state = self._fitted()
        if state.class_rows is not None:
            raise FrozenError(
                "This model only answers: what it has learnt was left out when it was frozen, and what was asked needs "
                "that. Ask the model that it was made from."
            )
        return state.statistics

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

    # -- answers -------------------------------------------------------------------------------------------------------

    @of_one_state
    def predict(
        self,
        X: TableLike,
        prior: PriorLike | None = None,
        loss: LossLike | None = None,
        reject: float | None = None,
        reject_label: Any = None,
    ) -> AnyArray:
        """The class of least expected loss of each row; without `loss`, the most probable one.

        Parameters
        ----------
        X : as in `fit`
        prior : as the parameter `prior`, or an array or data frame of shape (n_rows, n_classes), optional
            Another class prior, for this call only. The columns of a data frame are named by class.
        loss : array of shape (n_classes, n_classes), data frame or dict, optional
            What answers cost: ``loss[true, predicted]`` in the order of `classes_`; or by label, as
            ``{true: {predicted: cost}}`` or ``{(true, predicted): cost}``, where a right answer costs 0 unless given,
            or as a data frame with the true classes as index and the predicted ones as columns.
        reject : float, optional
            What it costs to leave a row undecided. A row whose every answer is expected to cost more is rejected;
            without `loss`, that is one whose highest probability is below ``1 - reject`` (Chow's rule).
        reject_label : optional
            What rejected rows get, instead of None; no class.

        Returns
        -------
        ndarray of shape (n_rows,)
            With `reject`, an array of objects in which None stands for "undecided", whether or not any row is; or an
            array of the classes' type if `reject_label` is of that type.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> X, y = [[0], [0], [1], [1], [1], [2], [2]], ["ham"] * 4 + ["spam"] * 3
        >>> model = NaiveBayes("textbook", families="categorical").fit(X, y)
        >>> model.predict_proba([[0], [1], [2]])[:, 1].round(2)
        array([0.23, 0.37, 0.72])
        >>> model.predict([[0], [1], [2]], loss={("ham", "spam"): 10, ("spam", "ham"): 1}).tolist()
        ['ham', 'ham', 'ham']
        >>> model.predict([[0], [1], [2]], reject=0.3, reject_label="unsure").tolist()
        ['ham', 'unsure', 'spam']
        """
        table, positions, scorer, decider = self._ready(X, prior)
        cost = check_reject(reject, reject_label, self.classes_)
        decider = Decider(decider.log_prior, loss_matrix(loss, self.classes_), cost)
        n_threads = thread_count(self.n_threads, table.n_rows)
        best = engine_of(table).choose(table, positions, scorer, decider, n_threads)
        decider.warn()
        if is_on_device(best):
            answer: AnyArray = device_labels(table, best, self.classes_)
            return answer
        return labelled(best, self.classes_, cost is not None, reject_label)

    @of_one_state
    def predict_proba(self, X: TableLike, prior: PriorLike | None = None) -> FloatArray:
        """The probability of each class.

        Parameters
        ----------
        X, prior
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._scores(X, prior, "probabilities")

    @of_one_state
    def predict_log_proba(self, X: TableLike, prior: PriorLike | None = None) -> FloatArray:
        """The logarithm of the probability of each class.

        Parameters
        ----------
        X, prior
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._scores(X, prior, "normalise")

    @of_one_state
    def predict_joint_log_proba(self, X: TableLike, prior: PriorLike | None = None) -> FloatArray:
        """The joint log-probability ``log P(class) + log P(row | class)``.

        Parameters
        ----------
        X, prior
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._scores(X, prior, "add_prior")

    @of_one_state
    def score(
        self, X: TableLike | SourceLike, y: TargetLike | None = None, sample_weight: WeightsLike | None = None
    ) -> float:
        """The accuracy: the share of the rows whose class is predicted.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
        """
        source = source_of(X, y)
        if source is not None:
            self._require_fitted()
            parts = of_pieces(lambda: source.pieces(y, sample_weight, self.schema_.names), self._right_weight)
            return share(*np.sum(parts, axis=0).tolist())
        return share(*self._right_weight(Piece(X, y, sample_weight)))

    def _right_weight(self, piece: Piece) -> tuple[float, float]:
        """The weight of the rows whose class is predicted, and that of all rows."""
        table, classes, codes, weights = read_rows(*piece[:3])
        return right_weight(classes[on_host(codes)], on_host(self.predict(table)), on_host(weights))

    @of_one_state
    def evidence(self, X: TableLike) -> FloatArray:
        """The log-likelihood that each cell contributes to each class; 0 where the cell is missing.

        ``log prior + evidence.sum(axis=1)`` is `predict_joint_log_proba`.

        Returns
        -------
        ndarray of shape (n_rows, n_columns, n_classes)
            More terms follow the columns: joint factors, whose members are 0 themselves; where evidence is weighed the
            class bias, equal for all rows; in the recipe "strong" experts and their pool.
            `evidence_names_` names them all.
        """
        table, positions, scorer, _ = self._ready(X, None)
        evidence: FloatArray = engine_of(table).evidence(table, positions, scorer)
        return evidence

    @of_one_state
    def explain(
        self, X: TableLike, target: Label | None = None, prior: PriorLike | None = None, tokens: int = 10
    ) -> Any:
        """Why each row is, or is not, of a class: the evidence of the prior and of every column, in bits.

        A bit doubles the odds. The bits of a row add up to ``log2(P / (1 - P))``, P being the probability of the class;
        `naively._scoring.explanation` says how "the rest" is weighed where there are more than two classes.

        Parameters
        ----------
        X, prior
            As in `predict`.
        target : label, optional
            The class to speak for; by default each row's predicted one.
        tokens : int, default=10
            Of a column of prose, so many tokens are named, those that say most; 0 to keep it in one line. So it is
            with the columns that are stored in a row of a sparse matrix with more than 100 of them: all others are
            one line.

        Returns
        -------
        data frame
            Of the same library as X; of pandas if X is no data frame; where pandas is not installed, a dict of lists.
            For each row of X one row for the prior and one for each of `evidence_names_` (but for the members of joint
            factors, which have no evidence of their own): ``row`` (its position in X), ``column``, ``value`` (as text;
            null where missing, which ``frame.to_json(orient="records")`` writes as JSON has it), ``class`` and
            ``bits``.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> from naively._scoring.explanation import as_text
        >>> rows = [{"coat": "striped"}, {"coat": "plain"}, {"coat": "plain"}]
        >>> model = NaiveBayes("textbook").fit(rows, ["cat", "dog", "dog"])
        >>> print(as_text(model.explain([{"coat": "plain"}])))
        row 0: dog against the rest, probability 0.818
        +1.17  coat      plain
        +1.00  prior
        +2.17  log-odds
        """
        table, positions, scorer, decider = self._ready(X, prior)
        wanted = None if target is None else self._class_code(target)
        if isinstance(table, SparseTable) and table.n_columns > WIDE:
            lines = explained_cells(scorer, table, positions, decider, self.classes_, wanted, tokens)
            decider.warn()
            return as_frame(lines, self.classes_, X)
        evidence = scorer.evidence(table, positions)
        chosen = decider.choose(evidence.sum(axis=1), slice(0, table.n_rows))
        if wanted is not None:
            chosen = np.full(table.n_rows, wanted)
        decider.warn()
        bits = attribute(decider.log_prior, evidence, chosen)
        by_token = strongest_tokens(scorer, table, positions, decider.log_prior, evidence, chosen, tokens)
        ignored = ignored_places(self.schema_.names, self.families, self.ignore)
        hidden = {*scorer.silent, *(self.schema_.names[place] for place in ignored)}
        terms = [place for place, name in enumerate(scorer.names) if name not in hidden]
        names = [scorer.names[place] for place in terms]
        bits = bits[:, [0, *(place + 1 for place in terms)]]
        by_part = parts_of_dates(scorer, table, positions, decider.log_prior, evidence, chosen) if tokens else {}
        columns = self.schema_.names
        return explanation(X, table, positions, columns, names, self.classes_, chosen, bits, by_token, by_part)

    @of_one_state
    def check(self, X: TableLike) -> Check:
        """How rows differ from those that were learnt: unseen labels, missing cells, numbers outside the range.

        Before 50 rows or more are answered for, a `NaivelyWarning` says the same.

        Parameters
        ----------
        X : as in `predict`
            At most 1000 rows are looked at, evenly spread.

        Returns
        -------
        Check
            One finding for each column that deserves a look; empty if none does.

        See Also
        --------
        naively.check : Looks at rows before they are learnt.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> model = NaiveBayes().fit({"sick": ["t", "f"] * 20, "age": [31, 58] * 20}, [0, 1] * 20)
        >>> model.check({"sick": ["F", "T", "F"], "age": [40, None, None]})
        column  finding        detail
        sick    unseen labels  'F' and the like in 3 of 3
        age     missing cells  67% now, 0% then
        """
        self._require_classes()
        return checked_rows(self, X)

    @of_one_state
    def annotate(self, X: TableLike | SourceLike, to: PathLike | None = None, evidence: bool = False) -> Any:
        """Rows with the answers beside them: the class that is predicted, and the probability of each.

        Parameters
        ----------
        X : data frame of any library, eager or lazy, or path, Arrow stream or iterator of data frames as in `fit`
        to : path, optional
            Where X is files or a stream, the file to write, Parquet, CSV or JSON lines by its ending. It is there when
            all rows are, or not at all; what was there is replaced.
        evidence : bool, default=False
            Whether to add what each column says for the class that is predicted, in bits; with that of the prior they
            add up to its log-odds, as in `explain`.

        Returns
        -------
        data frame, iterator of data frames, or path
            A new frame of the library of X, with ``prediction``, ``probability_<class>`` for each class and, if asked
            for, ``evidence_prior`` and ``evidence_<column>``; of files and streams such frames one by one, or the path
            that was written. A lazy frame stays lazy, but for databases, which give a reader of record batches.

        Examples
        --------
        >>> import pandas as pd
        >>> from naively import NaiveBayes
        >>> frame = pd.DataFrame({"coat": ["striped", "plain", "plain"], "kind": ["cat", "dog", "dog"]})
        >>> model = NaiveBayes("textbook").fit(frame, "kind")
        >>> model.annotate(frame[["coat"]]).round(2)
              coat prediction  probability_cat  probability_dog
        0  striped        cat             0.57             0.43
        1    plain        dog             0.18             0.82
        2    plain        dog             0.18             0.82
        """
        self._require_classes()
        source = source_of(X)
        if source is not None:
            return source.annotate(self, to, evidence)
        if to is not None:
            raise ParameterError("annotate(to) is for files and streams. Write the frame that annotate returns.")
        names = annotation_names(self.classes_, self.evidence_names_ if evidence else None)
        known = known_part(X, self.schema_.names if self.schema_.named else (), names)
        table, positions, scorer, decider = self._ready(known, None)
        chooser, chosen = Decider(decider.log_prior), np.empty(table.n_rows, dtype=np.int64)
        posterior = np.empty((table.n_rows, len(self.classes_)))

        def finish(scores: FloatArray, rows: slice) -> None:
            posterior[rows] = scores
            chosen[rows] = chooser.choose(scores, rows)
            decider.probabilities(posterior[rows], rows)

        engine_of(table).score(table, positions, scorer, finish, thread_count(self.n_threads))
        decider.warn()
        bits = attribute(decider.log_prior, scorer.evidence(table, positions), chosen) if evidence else None
        return annotated(X, names, self.classes_, chosen, posterior, bits)

    def _says_progress(self) -> bool | None:
        """Whether long steps are announced; None leaves it to the terminal."""
        require_bool(self.verbose, "verbose")
        return self.verbose or None

    def _class_code(self, label: Any, where: str = "target") -> int:
        return code_of(label, self.classes_.tolist(), where)

    @of_one_state
    def loo(
        self,
        X: TableLike | SourceLike | None = None,
        y: TargetLike | None = None,
        sample_weight: WeightsLike | None = None,
    ) -> FloatArray:
        """Leave-one-out: the log-probability of each class for rows that were learnt, by the model without that row.

        Nothing is fitted again where rows are given; it takes about the time of a prediction.

        Parameters
        ----------
        X, y, sample_weight
            Rows that the model has learnt, as they were given to `fit`; a row loses its whole weight. Without X, the
            rows that the recipe has kept, each left out with its fold as in `calibration_`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)

        Notes
        -----
        The answer is that of `forget` and `predict_log_proba`, row by row. `Kernel`, `Binned` and `Stacked` do not
        choose their bandwidths, cuts and shares again. A class of which nothing is left stays, without any rows.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> X, y = [[1.0], [3.0], [6.0], [2.0], [5.0], [9.0]], ["a", "a", "a", "b", "b", "b"]
        >>> model = NaiveBayes("textbook").fit(X, y)
        >>> model.loo(X, y)[0].round(3)
        array([-1.571, -0.233])
        >>> model.forget(X[:1], y[:1]).predict_log_proba(X[:1])[0].round(3)
        array([-1.571, -0.233])
        """
        self._require_fitted()
        if X is None:
            return self._left_out_of_kept_rows()
        recipe = as_recipe(self.recipe)
        if recipe.tempering is not None:
            raise ParameterError(
                f"Recipe {self.recipe!r} weighs evidence on the rows it has kept: loo() without arguments gives their "
                "leave-one-out answers. Use recipe='textbook' for other rows."
            )
        source = source_of(X, y)
        if source is not None:
            pieces = of_pieces(lambda: source.pieces(y, sample_weight, self.schema_.names), self._left_out_of)
            return np.concatenate(pieces)
        return self._left_out_of(Piece(X, y, sample_weight))

    def _left_out_of(self, piece: Piece) -> FloatArray:
        """The leave-one-out log-probabilities of rows that were learnt."""
        recipe = as_recipe(self.recipe)
        rows, decider = self._learnt_rows(*piece[:3])
        families, smoothings = self._checked_families(recipe), self._smoothings(self.schema_.names, recipe)
        n_threads = thread_count(self.n_threads)
        scores = left_out_scores(self.schema_, families, smoothings, self.statistics_, rows, n_threads)
        decider.normalise(scores, slice(0, len(scores)))
        decider.warn()
        return scores

    def _learnt_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[LearntRows, Decider]:
        """Rows that were learnt, and the prior of each without it."""
        table, classes, codes, weights = read_rows(X, y, sample_weight)
        table, positions = self.schema_.matched(table)
        rows = LearntRows(table, positions, codes_among(self.classes_, classes, on_host(codes)), on_host(weights))
        return rows, Decider(left_out_log_prior(self.statistics_, rows, self._given_prior(), self._prior_rule()))

    @of_one_state
    def kept_answers(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """The kept rows' leave-one-out answers, with their true classes: what `naively.evaluate(model)` measures.

        Returns
        -------
        log_proba : ndarray of shape (n_rows, n_classes)
            As `loo` gives them.
        codes : ndarray of shape (n_rows,)
            The place of each row's class in `classes_`.
        weights : ndarray of shape (n_rows,)
        """
        self._require_classes()
        log_proba, left_out = self._left_out_of_kept_rows(), self._left_out_rows()
        assert left_out is not None
        return log_proba, left_out.codes.copy(), left_out.weights.copy()

    def _left_out_rows(self) -> LeftOutRows | None:
        """The kept rows as seen by models that did not learn from them; None where none are kept."""
        state, left_out = self._fitted(), self._estimated()[0].left_out
        if left_out is None or state.frozen or not len(left_out.codes):
            return left_out
        recipe = as_recipe(self.recipe)
        if recipe.pooled:  # what the pool says has been compared on these very rows
            return left_out
        tempering = self._tempering(recipe)
        found: LeftOutRows = state.estimated(2, self._basis(), lambda: left_out_by_fold(self, tempering, left_out))
        return found

    def _left_out_of_kept_rows(self) -> FloatArray:
        left_out = self._left_out_rows()
        if left_out is None:
            raise ParameterError(
                f"loo() without X answers for kept rows, and recipe {self.recipe!r} keeps none. Give it X and y: rows "
                "that the model has learnt."
            )
        return left_out.log_posterior.copy()

    @of_one_state
    def parameters(self) -> dict[str, dict[str, Any]]:
        """The estimated parameters of every column, by name; arrays follow `classes_`.

        Returns
        -------
        dict
            For each column a dict with its ``family`` and, for example, ``mean`` and ``variance``; for each joint
            factor one under its name, such as ``"a & b"``.
        """
        self._require_fitted()
        result: dict[str, dict[str, Any]] = {}
        for factor in self._estimated()[0].factors:
            described = _copied(factor.estimate.describe())
            if factor.family.one_term:
                result[factor.family.term] = {"family": factor.family.as_given, **described}
                continue
            for place, member in enumerate(factor.members.tolist()):
                column = {name: _of_column(values, place) for name, values in described.items()}
                result[self.schema_.names[member]] = {"family": factor.family, **column}
        return {name: result[name] for name in self._estimated()[0].names if name in result}

    @property
    @of_one_state
    def evidence_names_(self) -> list[str]:
        """What the terms of `evidence` are called: the columns, and what the recipe adds to them."""
        self._require_fitted()
        return list(self._estimated()[0].names)

    @property
    @of_one_state
    def class_count_(self) -> FloatArray:
        """The weight of the rows of each class."""
        self._require_fitted()
        return self._fitted().statistics.class_weight.high.copy()

    @property
    @of_one_state
    def calibration_(self) -> Calibration:
        """How good the probabilities are: accuracy, log-loss, Brier score, calibration error and reliability.

        Measured on the kept rows, each as seen by estimates and weights that did not learn from it, under the class
        frequencies as prior. Only the recipes that keep rows have it. With up to 2,048 of them "auto" takes one of
        eight folds after the other out of all that it has learnt and estimates again, when this is first asked for.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> import numpy as np
        >>> X, y = np.repeat([[1.0], [2.0], [7.0], [8.0]], 5, axis=0), [0] * 10 + [1] * 10
        >>> NaiveBayes("fast").fit(X, y).calibration_.accuracy
        1.0
        """
        self._require_fitted()
        left_out = self._left_out_rows()
        if left_out is None:
            raise RecipeError(
                f"calibration_ is measured on kept rows, and recipe {self.recipe!r} keeps none. Fit with "
                "recipe='auto', 'fast' or 'strong', or score other rows."
            )
        if not len(left_out.codes):
            raise RecipeError(
                "calibration_ is measured on kept rows, and none of them is left: nearly all rows were forgotten. "
                "Score other rows, or learn some more."
            )
        return calibration(left_out.log_posterior, left_out.codes, left_out.weights)

    def _scores(self, X: Any, prior: Any, step: str) -> FloatArray:
        table, positions, scorer, decider = self._ready(X, prior)
        engine, n_threads = engine_of(table), thread_count(self.n_threads, table.n_rows)
        result: FloatArray = engine.scores(table, positions, scorer, decider, step, n_threads)
        decider.warn()
        return result

    def _ready(self, X: Any, prior: Any) -> tuple[Table, IntArray | None, Scorer | PooledScorer, Decider]:
        """All that an answer needs: the table, where its columns are, the estimates and the prior."""
        state = self._require_classes()
        table = read_table(X)
        require_rows(table, to_learn=False)
        table, positions = state.schema.matched(table)
        scorer, logs = self._estimated()
        warn_of_asked(state, scorer.factors, table, positions)
        if prior is not None:
            logs = log_prior(self._prior(prior))
            if logs.ndim == 2 and len(logs) != table.n_rows:
                raise ParameterError(f"prior has {len(logs)} rows but X has {table.n_rows}.")
        return table, positions, scorer, Decider(logs)

    def _require_classes(self) -> State:
        state = self._fitted()
        if len(state.statistics.classes) == 0:
            raise InputError("The model has forgotten all its rows, so it knows no class. Let it learn some first.")
        return state

    # -- what the model is made of -------------------------------------------------------------------------------------

    @of_one_state
    def log_odds(self, base: Label | None = None, prior: PriorLike | None = None, n_points: int = 33) -> LogOdds:
        """The additive form: the log-odds against a base class as a constant plus a function of each column.

        ``log P(j | x) / P(base | x) = alpha_j + sum over columns i of g_ji(x_i)``: alpha is ``intercept``, g_i is
        ``columns[name]``, a function and a table.

        Parameters
        ----------
        base : label, optional
            The class to compare with; by default the last.
        prior : as the parameter `prior`, optional
            Another class prior.
        n_points : int, default=33
            At how many points, at most, the tables of numbers are taken.

        Returns
        -------
        LogOdds
            Of the model as it is now. The recipe "strong" is not additive and has none.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> X, y = [[1.0], [2.0], [5.0], [6.0]], ["a", "a", "b", "b"]
        >>> log_odds = NaiveBayes("textbook").fit(X, y).log_odds()
        >>> log_odds.base, log_odds.intercept.tolist()
        ('b', [0.0, 0.0])
        >>> log_odds.columns["x0"](3.5).tolist()
        [0.0, 0.0]
        """
        n_points = require_whole("n_points", n_points, at_least=2)
        contrast = self._contrast(base, prior, "log_odds()")
        together = next((factor for factor in contrast.scorer.factors if factor.family.together), None)
        if together is not None:
            name = self.schema_.names[int(together.members[0])]
            raise ParameterError(
                f"Column {name!r} is read together with others, so it has no function of its own: log_odds() is for "
                "models whose columns stand alone. explain() gives the evidence of each row."
            )
        return additive_form(contrast, n_points)

    @of_one_state
    def discriminant(self, base: Label | None = None, prior: PriorLike | None = None) -> Discriminant:
        """The linear discriminant of each class against a base class: the w and b of ``F(x) = sum_i w_i x_i + b``.

        Parameters
        ----------
        base : label, optional
            The class to compare with; by default the last.
        prior : as the parameter `prior`, optional
            Another class prior. It moves the bias and nothing else: the trade of precision for recall.

        Returns
        -------
        Discriminant
            F is the posterior log-odds, to rounding. A model that is not linear raises `ParameterError`, which says
            which column bends, and why.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> X, y = [[0, 1], [0, 0], [1, 1], [1, 0]], ["no", "no", "yes", "yes"]
        >>> F = NaiveBayes("textbook", families="bernoulli").fit(X, y).discriminant(base="no")
        >>> F.terms, F.weights[1].round(3).tolist(), F.bias.round(3).tolist()
        (['x0 > 0', 'x1 > 0'], [2.197, 0.0], [0.0, -1.099])
        """
        contrast = self._contrast(base, prior, "discriminant()")
        names = self.schema_.names
        factors = linear_factors(contrast.scorer.factors, names, contrast.base)
        scorer = Scorer(factors, names, len(self.classes_), contrast.scorer.bias)
        return Discriminant(
            Contrast(scorer, self.schema_, contrast.log_prior, self.classes_, contrast.base, contrast.n_threads)
        )

    @of_one_state
    def rank_features(
        self, by: str = "information", like: Any = None, *, X: TableLike | None = None, classes: Any = None
    ) -> Any:
        """The columns, the most telling first: by what was learnt of each alone, or by what the model makes of them.

        Parameters
        ----------
        by : "information", "evidence", "likelihood_ratio", "effect" or "weight", default="information"
            What the score is:

            - "information": the mutual information of the column and the class, in bits, at most the entropy of the
              class, less what a column that tells nothing shows by chance, ``by_chance``; it may be a little below 0.
              It is that of the counts, for labels and bins (numbers with a histogram that are not binned are
              cut into 10 bins of equal weight), and that of the estimated densities, by numeric integration, for
              `Gaussian`, `StudentT` and `Poisson`. Of a `Multinomial` column it is that of one event: is it of this
              column or not?
            - "evidence": how much the model uses the column: the mean absolute evidence that it gives, in bits, weighed
              as it is in the answers, over the rows that the recipe has kept, or over the rows of X. Two columns that
              say the same share it. Joint factors and the experts of "strong" are terms of their own.
            - "likelihood_ratio": twice the gain in log-likelihood over the same family with the classes taken
              together: G, with its degrees of ``freedom`` and the ``p_value``, the chance of at least this gain where
              the classes do not differ.
            - "effect": how far the means of the two classes that differ most are apart, in standard deviations within
              the classes. A label counts as a number that is 1 for one of its values, the one with the largest effect.
            - "weight": the largest absolute weight in the linear `discriminant` of any two classes; of labels the
              largest gap between the weights of two values. It changes with the unit of the column: rank by "effect"
              unless all have the same.
        like : data frame, optional
            Another one, for its library; by default pandas. Where pandas is not installed, a dict of lists.
        X : as in `predict`, optional
            With "evidence", the rows to take the mean over.
        classes : label or pair of labels, optional
            With "evidence", a class against the rest, or one class against another; by default the mean over all pairs
            of classes.

        Returns
        -------
        data frame
            ``column`` and ``score``, the largest first; for "information" also ``by_chance``, for "likelihood_ratio"
            ``freedom`` and ``p_value``.

        Notes
        -----
        Only known cells count. Scores are of each column alone: two columns that say the same both rank high. What
        counts of n rows show by chance is the mean over all ways to deal their classes out anew, about
        ``freedom / (2 n log 2)`` bits where values are frequent, and all there is to a column of identifiers. The
        p-value is that of Pearson's test where values are counted.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> X, y = [[1.0, 3.0], [2.0, 1.0], [7.0, 2.0], [8.0, 3.0]], ["a", "a", "b", "b"]
        >>> NaiveBayes("textbook").fit(X, y).rank_features()["column"].tolist()
        ['x0', 'x1']
        """
        self._require_classes()
        if not isinstance(by, str) or by not in (*SCORES, "weight", "evidence"):
            raise ParameterError(f"by must be one of {listed((*SCORES, 'weight', 'evidence'))}, got {by!r}.")
        require_rows_only_for_evidence(by, X, classes)
        names = self.schema_.names
        if by == "evidence":
            terms, bits = evidence_used(self, X, classes, "rank_features(by='evidence')")
            return ranked(terms, {"score": bits}, X if like is None else like)
        if by == "weight":
            factors = self._contrast(None, None, "rank_features(by='weight')").scorer.factors
            return ranked(names, scores_by_weight(factors, names), like)
        recipe = as_recipe(self.recipe)
        families, smoothings = self._checked_families(recipe), self._smoothings(names, recipe)
        return ranked(names, scores_of_columns(by, self.schema_, families, smoothings, self.statistics_), like)

    @property
    @of_one_state
    def feature_importances_(self) -> FloatArray:
        """The share of each column in the evidence that all columns give: `rank_features` by "evidence", summing to 1.

        Measured on the kept rows; recipe "textbook" keeps none and has no such attribute.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> X, y = {"size": [1.0, 2.0, 8.0, 9.0] * 9, "coat": ["plain", "plain", "striped", "plain"] * 9}, [0, 0, 1, 1]
        >>> importances = NaiveBayes().fit(X, y * 9).feature_importances_
        >>> bool(importances[0] > importances[1]), round(float(importances.sum()), 6)
        (True, 1.0)
        """
        self._require_classes()
        return importances(self)

    def _contrast(self, base: Any, prior: Any, asked: str) -> Contrast:
        """The scores of the model, to be read against a class."""
        self._require_classes()
        code = len(self.classes_) - 1 if base is None else self._class_code(base, "base")
        scorer, logs = self._estimated()
        if isinstance(scorer, PooledScorer):
            raise RecipeError(
                f"{asked} needs an additive model, and recipe {self.recipe!r} pools it with experts that read several "
                "columns at once. Use set_params(recipe='auto'), which needs no new fit, or explain()."
            )
        if prior is not None:
            logs = log_prior(self._prior(prior))
        if logs.ndim != 1:
            raise ParameterError(f"{asked} takes one prior for all rows, one probability per class.")
        factors, bias = copy.deepcopy((scorer.factors, scorer.bias))  # they are handed out
        own = Scorer(factors, self.schema_.names, len(self.classes_), bias)
        return Contrast(own, self.schema_, logs.copy(), self.classes_, code, thread_count(self.n_threads))

    # -- how well it fits ----------------------------------------------------------------------------------------------

    @property
    @of_one_state
    def log_likelihood_(self) -> float:
        """The log-likelihood ``sum of weight * log P(row, class)`` of all rows learnt, under the estimates in force.

        Computed from the statistics: no rows are needed. It is what `predict_joint_log_proba` gives the rows at their
        own classes, summed; but `Poisson` columns leave out ``sum of log x!``, which no parameter changes (and
        `Multinomial` columns their coefficients, as everywhere): compare such models among themselves, not with others.

        Only the recipe "textbook" has it, as weighed evidence is no probability of rows. `StudentT` and
        ``Gaussian(interval=...)`` are no functions of means and variances: for them, and for `Kernel`, it takes an
        exact histogram, which the recipes "auto" and "strong" keep of columns with at most 2048 distinct values
        (``model.set_params(recipe="textbook", ...)`` then has it). `Stacked` is no density and has none. `Joint`
        factors, `JointBayes` and `TAN` have it if no cell was missing: of rows with missing members too little is kept.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> rows, y = {"coat": ["striped", "plain", "plain", "plain"]}, ["cat", "cat", "dog", "dog"]
        >>> model = NaiveBayes("textbook", smoothing="none").fit(rows, y)
        >>> model.log_likelihood_, 4 * math.log(1 / 2) + 2 * math.log(1 / 2)  # the classes, and the coats of the cats
        (-4.1588830833596715, -4.1588830833596715)
        """
        factors = self._unweighed_factors("log_likelihood_")
        prior = self.class_prior_
        if prior.ndim == 2:
            raise ParameterError("log_likelihood_ needs one prior for all rows, but the model's has one for each row.")
        return counted(self.statistics_.class_weight.high, log_prior(prior)) + sum(
            factor_log_likelihood(factor, self.schema_, self.statistics_) for factor in factors
        )

    @of_one_state
    def log_likelihood(self, X: TableLike, y: TargetLike, sample_weight: WeightsLike | None = None) -> float:
        """The log-likelihood ``sum of weight * log P(row, class)`` of given rows: log P(D | theta).

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; every class must be known. `from_parameters` makes a model of any theta.

        Returns
        -------
        float
            Minus infinity if a row has no chance in its class. Nothing is left out: `Poisson` counts have their
            factorials, and `Multinomial` counts the number of orders in which they can have come about.

        Examples
        --------
        Three heads and a tail, in this order, for some coins:

        >>> tosses, coin = {"heads": [1, 1, 1, 0]}, ["coin"] * 4
        >>> for theta in (0.5, 0.75, 1.0):
        ...     model = NaiveBayes.from_parameters({"coin": 1.0}, {"heads": {"probability": {"coin": theta}}})
        ...     print(theta, round(math.exp(model.log_likelihood(tosses, coin)), 4))
        0.5 0.0625
        0.75 0.1055
        1.0 0.0
        """
        self._require_fitted()
        self._require_density("log_likelihood")
        self._require_no_stacking("log_likelihood")
        table, classes, codes, weights = read_rows(X, y, sample_weight)
        known = np.array([self._class_code(label, "y") for label in classes.tolist()], dtype=np.int64)[codes]
        with np.errstate(divide="ignore"):
            joint = self._joint_log_density(table)[np.arange(len(codes)), known]
        weighed = joint if weights is None else np.where(weights > 0, joint, 0.0) * weights
        return float(weighed.sum())

    @property
    @of_one_state
    def log_marginal_likelihood_(self) -> float:
        """The logarithm of P(D), the probability of all that was learnt, whatever the parameters.

        The parameters have the prior that the smoothing stands for (``smoothing=Dirichlet(1.0, "mean")`` or Laplace's
        rule: all probabilities alike), and are integrated out. It is the divisor in P(theta | D), which a point
        estimate can leave out, and it compares models: the ratio of two is their Bayes factor.

        It takes labels, yes and no, or Multinomial counts, or the tables of a `TAN`, and a smoothing of the class prior
        (``prior_smoothing="laplace"``) unless the prior is given. Densities of numbers have no proper prior here, so
        that P(D) is not defined: they raise `RecipeError`.

        Examples
        --------
        Three heads and a tail in this order, if all coins are alike probable: 3! 1! / 5! = 1/20.

        >>> coin = NaiveBayes("textbook", families="bernoulli", prior={"coin": 1.0})
        >>> round(math.exp(coin.fit({"heads": [1, 1, 1, 0]}, ["coin"] * 4).log_marginal_likelihood_), 6)
        0.05
        """
        factors = self._unweighed_factors("log_marginal_likelihood_")
        smoothings = self._smoothings(self.schema_.names, as_recipe(self.recipe))
        total = self._log_marginal_of_classes()
        for factor in factors:
            smoothing = smoothings[int(factor.members[0])]
            total += factor_log_marginal_likelihood(factor, smoothing, self.schema_, self.statistics_)
        return total

    def _log_marginal_of_classes(self) -> float:
        weight, given = self.statistics_.class_weight.high, self._given_prior()
        if not (given is None or (isinstance(given, str) and given == "estimated")):
            return counted(weight, log_prior(self.class_prior_))
        concentration = prior_counts(self._prior_rule(), weight[None], self.classes_.tolist())
        if (concentration <= 0).any():
            raise RecipeError(
                "log_marginal_likelihood_ needs a prior of the class probabilities: prior_smoothing='laplace' takes "
                "all alike, and prior={...} gives them."
            )
        return log_marginal(weight[None], concentration)

    @of_one_state
    def posterior(self) -> Posterior:
        """What is known of the parameters: their posterior distributions, those of `scipy.stats`.

        Returns
        -------
        Posterior
            ``posterior.columns[name][parameter][class]`` is a frozen distribution: Dirichlet for the probabilities of
            labels, beta for those of yes and for the shares of counts, gamma for rates, Student's t for means and
            inverse gamma for variances. In a tree there is one for each value of the parent, and for labels in a joint
            factor one of their combinations, under its name. ``posterior.class_prior`` is that of the class prior, None
            if it was given. ``frame()`` has means and 95 % intervals.

        Notes
        -----
        The prior of probabilities is the one that the smoothing stands for: pseudo-counts are its parameters, and
        ``Dirichlet(beta)`` and ``Beta(b1, b0)`` say theirs. Means and variances have the prior ``1 / variance``. Where
        that leaves no distribution (a value that a class never had, without smoothing; a class with one row), the error
        says so.

        Examples
        --------
        >>> from naively.smoothing import Beta
        >>> coin = NaiveBayes("textbook", families="bernoulli", smoothing=Beta(3, 3), prior="uniform")
        >>> theta = coin.fit({"heads": [1, 1, 1, 0]}, ["coin"] * 4).posterior().columns["heads"]["probability"]["coin"]
        >>> theta.dist.name, theta.args, float(theta.mean()), theta.interval(0.95)[0].round(2).item()
        ('beta', (6.0, 4.0), 0.6, 0.3)
        """
        factors = self._unweighed_factors("posterior")
        given, prior = self._given_prior(), None
        if given is None or (isinstance(given, str) and given == "estimated"):
            weight = self.statistics_.class_weight.high[None]
            prior = dirichlets(weight + prior_counts(self._prior_rule(), weight, self.classes_.tolist()))[0]
        smoothings = self._smoothings(self.schema_.names, as_recipe(self.recipe))
        return posterior_of(factors, smoothings, self.schema_, self.statistics_, prior)

    @property
    @of_one_state
    def n_parameters_(self) -> int:
        """How many parameters are free, as `parameter_counts` counts them: the number in `aic_` and `bic_`."""
        return parameter_counts(self).naive_bayes.free

    @property
    @of_one_state
    def aic_(self) -> float:
        """Akaike's criterion, ``2 * n_parameters_ - 2 * log_likelihood_``: the less, the better.

        It is meant for estimates of maximum likelihood: ``smoothing="none"``.
        """
        return 2.0 * self.n_parameters_ - 2.0 * self.log_likelihood_

    @property
    @of_one_state
    def bic_(self) -> float:
        """The Bayesian (Schwarz's) criterion, ``log(n) * n_parameters_ - 2 * log_likelihood_``: the less, the better.

        n is the weight of all rows. As `aic_`, it is meant for estimates of maximum likelihood.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> from naively.families import Gaussian
        >>> X, y = [[1.0], [2.0], [4.0], [7.0], [8.0], [9.0]], ["a", "a", "a", "b", "b", "b"]
        >>> model = NaiveBayes("textbook").fit(X, y)
        >>> model.n_parameters_, round(model.bic_, 2)  # the prior, two means, two variances
        (5, 34.41)
        >>> model = model.set_params(families=Gaussian(ties="feature"))
        >>> model.n_parameters_, round(model.bic_, 2)
        (4, 33.14)
        """
        return math.log(float(self.class_count_.sum())) * self.n_parameters_ - 2.0 * self.log_likelihood_

    def _unweighed_factors(self, asked: str) -> Sequence[Factor]:
        """The estimates of a model whose evidence is a log-likelihood."""
        self._require_fitted()
        if as_recipe(self.recipe).tempering is not None:
            raise RecipeError(
                f"{asked} needs P(row, class), but the recipe {self.recipe!r} weighs evidence, which then is no "
                "probability of a row. Use recipe='textbook'."
            )
        return self._estimated()[0].factors

    # -- the model as a generator of rows ------------------------------------------------------------------------------

    @of_one_state
    def sample(
        self, n: int = 1, *, y: TargetLike | Label | None = None, seed: Any = None, length: Any = None, like: Any = None
    ) -> tuple[Any, AnyArray]:
        """Draw rows from the model: a class from the prior, then every cell from its column's distribution.

        Parameters
        ----------
        n : int, default=1
            How many rows.
        y : label or array of n labels, optional
            Draw rows of these classes instead.
        seed : int or Generator, optional
        length : float or dict by group, optional
            The total of a row's counts, for `Multinomial` columns, which say nothing about it; by default the mean
            total of the class, rounded.
        like : data frame, optional
            Another one, for its library; by default pandas.

        Returns
        -------
        X : data frame or ndarray
            An array if the model was fitted on one (or on anything without names), else a data frame; without pandas a
            dict of arrays. No cell is missing: the model does not know why cells are.
        y : ndarray of shape (n,)

        Notes
        -----
        `Binned` columns draw one of the values that were learnt in a bin, `Kernel` ones from the tabulated density,
        `Bernoulli` ones 0 and 1 (or the threshold and one above it). Columns of `Joint` and `TAN` are drawn together;
        the numbers of a `TAN` uniformly within their bins, the outermost of which are taken to be as wide as their
        neighbours. The recipes that weigh evidence have no distribution of rows to draw from: use "textbook".

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> X, y = [[1.0], [2.0], [7.0], [9.0]], ["a", "a", "b", "b"]
        >>> model = NaiveBayes("textbook").fit(X, y)
        >>> rows, labels = model.sample(10_000, seed=0)
        >>> [float(rows[labels == label].mean().round(1)) for label in "ab"]
        [1.5, 8.0]
        """
        self._require_fitted()
        rng = np.random.default_rng(seed)
        codes = self._sampled_codes(n, y, rng)
        columns = self._drawn(codes, rng, length)
        return as_rows(columns, self.schema_, like), np.asarray(self.classes_[codes])

    def _sampled_codes(self, n: Any, y: Any, rng: np.random.Generator) -> IntArray:
        require_whole("n", n)
        if len(self.classes_) == 0:
            raise InputError("The model has forgotten all its rows, so it knows no class. Let it learn some first.")
        if y is None:
            prior = self.class_prior_
            if prior.ndim != 1:
                raise ParameterError(
                    "The model's prior differs from row to row, so new rows have none. Give one prior."
                )
            return rng.choice(len(self.classes_), size=int(n), p=prior).astype(np.int64)
        labels = exact_labels(y)
        if labels.ndim == 0:
            return np.full(int(n), self._class_code(labels.item(), "y"), dtype=np.int64)
        if labels.shape != (int(n),):
            raise ParameterError(f"sample(y) must be one class, or n={n} of them; its shape is {labels.shape}.")
        return np.array([self._class_code(label, "y") for label in labels.tolist()], dtype=np.int64)

    def _drawn(self, codes: IntArray, rng: np.random.Generator, length: Any = None) -> list[DrawnColumn]:
        return draw_columns(self._distributions("sample", length), self.schema_, codes, rng)

    def _distributions(self, what: str, length: Any = None) -> list[Distribution]:
        """The columns as distributions; refused where evidence was weighed, which makes it no density."""
        self._require_density(what)
        return distributions(self._estimated()[0].factors, self.schema_, self.statistics_, length)

    def _require_density(self, what: str) -> None:
        if as_recipe(self.recipe).tempering is not None:
            raise RecipeError(
                f"{what} needs a model that is a distribution of rows; recipe {self.recipe!r} weighs evidence, after "
                "which it is none. Use recipe='textbook'."
            )

    @_OfDensities
    @of_one_state
    def score_samples(self, X: TableLike, prior: PriorLike | None = None) -> FloatArray:
        """The log-density of each row, which is low for rows unlike those that were learnt.

        It is ``log p(x) = log sum_j P(j) p(x | j)``.

        Parameters
        ----------
        X, prior
            As in `predict`. Missing cells are marginalised, so rows with fewer known cells have densities of another
            kind; compare those with the same cells known.

        Returns
        -------
        ndarray of shape (n_rows,)
            Minus infinity for a row that no class can have.

        Notes
        -----
        Numbers have a density, so the unit of measurement matters; labels, bins and counts have a probability.
        `Multinomial` counts are given their total. A column that is constant says nothing.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> model = NaiveBayes("textbook").fit([[1.0], [2.0], [7.0], [9.0]], ["a", "a", "b", "b"])
        >>> model.score_samples([[1.5], [4.5], [30.0]]).round(1)
        array([  -0.9,   -7.7, -243.6])
        """
        self._require_fitted()
        self._require_no_stacking("score_samples")
        return np.asarray(np.logaddexp.reduce(self._joint_log_density(X, prior), axis=1))

    def _joint_log_density(self, X: Any, prior: Any = None) -> FloatArray:
        """The log-density of each row with each class, (rows, classes), what all classes share included."""
        table, positions, scorer, decider = self._ready(X, prior)
        result = np.empty((table.n_rows, len(self.classes_)))

        def finish(scores: FloatArray, rows: slice) -> None:
            result[rows] = scores + (decider.log_prior if decider.log_prior.ndim == 1 else decider.log_prior[rows])

        engine_of(table).score(table, positions, scorer, finish, thread_count(self.n_threads))
        for factor in scorer.factors:
            if factor.family.log_base is not None:
                chosen = chosen_columns(factor.members, positions, scorer.n_columns)
                block = checked_numbers(table, chosen, slice(0, table.n_rows), nonnegative=True)
                result += factor.family.log_base(block)[:, None]
        return result

    def _require_no_stacking(self, what: str) -> None:
        for factor in self._estimated()[0].factors:
            if not (factor.family.compares_rows and factor.family.is_distribution):
                column = self.schema_.names[int(factor.members[0])]
                raise ParameterError(
                    f"{what}: column {column!r} is read by {factor.family!r}, which "
                    "tells classes apart, but is no density of a column's values. Use another family, for example "
                    "Kernel(), StudentT() or Gaussian(), or leave the column out."
                )

    @of_one_state
    def impute(self, X: TableLike, prior: PriorLike | None = None) -> Any:
        """X with its missing cells filled in by what the other cells of the row say.

        Numbers become their mean, ``sum_j P(j | the other cells) mean_ij``; labels the most probable value.

        Parameters
        ----------
        X, prior
            As in `predict`. X is not changed.

        Returns
        -------
        A copy of X, of the same type; columns that the model does not know are left as they are.

        Notes
        -----
        Works for all recipes: those that weigh evidence give the classes calibrated probabilities here as well. A mean
        lies between the classes and has less spread than real cells; draw from `sample` where the spread matters.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> rows = [{"coat": "striped", "weight": 4.0}, {"coat": "plain", "weight": 30.0}]
        >>> model = NaiveBayes("textbook", smoothing=0.1).fit(rows, ["cat", "dog"])
        >>> filled = model.impute([{"coat": "striped", "weight": None}, {"coat": None, "weight": 29.0}])
        >>> round(filled[0]["weight"], 1), filled[1]["coat"]
        (6.2, 'plain')
        """
        table, positions, scorer, decider = self._ready(X, prior)
        posterior = self._posterior(table, positions, scorer, decider)
        fills = list(fillings(self._imputing(), table, positions, posterior))
        return filled(X, fills, table.names)

    @of_one_state
    def impute_proba(
        self, X: TableLike, column: str | int, prior: PriorLike | None = None
    ) -> tuple[list[Label], FloatArray]:
        """The probability of each value of a column of labels, given the other cells of the row.

        Parameters
        ----------
        X, prior
            As in `predict`; the cells of the column itself are not looked at.
        column : str or int
            Its name or position.

        Returns
        -------
        values : list
            What the column can hold.
        probabilities : ndarray of shape (n_rows, n_values)

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> rows = [{"coat": "striped", "weight": 4.0}, {"coat": "plain", "weight": 30.0}]
        >>> model = NaiveBayes("textbook").fit(rows, ["cat", "dog"])
        >>> values, probabilities = model.impute_proba([{"weight": 4.1, "coat": None}], "coat")
        >>> values, probabilities.round(3).tolist()
        (['plain', 'striped'], [[0.333, 0.667]])
        """
        table, positions, scorer, decider = self._ready(X, prior)
        member = position_of(column, {name: place for place, name in enumerate(self.schema_.names)}, "column")
        values, table_of_values = self._label_probabilities(member)
        there = np.arange(len(self.schema_.names)) if positions is None else positions.copy()
        there[member] = -1
        return list(values), self._posterior(table, there, scorer, decider) @ table_of_values

    def _posterior(self, table: Table, positions: IntArray | None, scorer: Any, decider: Decider) -> FloatArray:
        """The probability (rows, classes) of each class, of a table whose columns stand at these positions."""
        posterior = np.empty((table.n_rows, len(self.classes_)))

        def finish(scores: FloatArray, rows: slice) -> None:
            decider.probabilities(scores, rows)
            posterior[rows] = scores

        engine_of(table).score(table, positions, scorer, finish, thread_count(self.n_threads))
        decider.warn()
        return posterior

    def _label_probabilities(self, member: int) -> tuple[tuple[Label, ...], FloatArray]:
        for distribution in self._imputing(member):
            place = int(np.flatnonzero(distribution.members == member)[0])
            labels: tuple[tuple[Label, ...], FloatArray] | None = distribution.labels_of(place)
            if labels is not None:
                return labels
        raise ParameterError(
            f"Column {self.schema_.names[member]!r} holds numbers, not labels. Use impute, which gives their mean."
        )

    def _imputing(self, member: int | None = None) -> list[Distribution]:
        """What each class expects of each column, or of one; of numbers without a density it is the class's mean."""
        return distributions(self._expecting_factors(member), self.schema_, self.statistics_)

    def _expecting_factors(self, member: int | None = None) -> list[Factor]:
        """The factors of all columns, or of one, not weighed, by families that say what is expected of a cell."""
        recipe = as_recipe(self.recipe)
        families = [family and family.expecting() for family in self._checked_families(recipe)]
        self._refuse_together(families, member)
        smoothings = self._smoothings(self.schema_.names, recipe)
        factors = make_factors(self.schema_, families, smoothings, self.statistics_)
        return [factor for factor in factors if member is None or member in factor.members]

    def _refuse_together(self, families: Sequence[Family | None], member: int | None) -> None:
        """Refuse to fill in a column whose cells depend on those of others, given the class."""
        for name, place, family in zip(self.schema_.names, range(len(families)), families, strict=True):
            if family is not None and family.together and member in (None, place):
                raise ParameterError(
                    f"Column {name!r} is read together with others, so the class alone does not tell what its missing "
                    "cells are expected to be. Use a model without factors, NaiveBayes('textbook')."
                )

    @of_one_state
    def bayes_error(self, n: int = 10_000, *, seed: Any = None) -> BayesError:
        """The error that remains when the model is the truth: that of the best possible rule, by simulation.

        Rows are drawn from the model, and the chance that the most probable class is wrong, ``1 - max_j P(j | x)``, is
        averaged. No rule can do better on such rows; `predict` does as well.

        It is the error in *this* model's world, and the standard error is that of the simulation alone. A model of few
        rows takes the classes to be farther apart than they are: of 50 rows and 10 columns it says .15 where .21 is so.
        `loo` and `evaluate` ask rows that the answer has not seen.

        Parameters
        ----------
        n : int, default=10000
            How many rows are drawn; the standard error falls with its square root.
        seed : int or Generator, optional

        Returns
        -------
        BayesError
            With `error`, `standard_error` and `n`.

        Examples
        --------
        Two normal classes, two standard deviations apart, overlap by 15.9 %:

        >>> from naively import NaiveBayes
        >>> model = NaiveBayes("textbook").fit([[-2.0], [0.0], [0.0], [2.0]], [0, 0, 1, 1])
        >>> error = model.bayes_error(20_000, seed=1)
        >>> abs(error.error - 0.1587) < 3 * error.standard_error < 0.01
        True
        """
        self._require_fitted()
        self._require_density("bayes_error")
        rng = np.random.default_rng(seed)
        codes = self._sampled_codes(n, None, rng)
        doubt = np.empty(len(codes))
        for start in range(0, len(codes), BLOCK_ROWS):
            block = slice(start, min(start + BLOCK_ROWS, len(codes)))
            table = as_table(self._drawn(codes[block], rng), self.schema_)
            doubt[block] = 1.0 - self.predict_proba(table).max(axis=1)
        spread = float(doubt.std(ddof=1)) if len(codes) > 1 else np.nan
        return BayesError(float(doubt.mean()), spread / float(np.sqrt(len(codes))), len(codes))

    @of_one_state
    def credible_interval(self, X: TableLike, level: float = 0.95, n_draws: int = 32) -> FloatArray:
        """Between which bounds each class's probability lies, given how few or many rows were learnt.

        Parameters
        ----------
        X : as in `predict`
        level : float, default=0.95
            The probability that the bounds are to hold.
        n_draws : int, default=32
            How often a recipe that weighs evidence is estimated anew, on its kept rows under random weights: the time
            that this takes is so many times that of the first answer. The draws are the same in every call.

        Returns
        -------
        ndarray of shape (n_rows, n_classes, 2)
            The lower and the upper bound.

        Notes
        -----
        In "textbook" in closed form: the log-odds of the class against the rest are taken for normal, with the mean and
        variance that the posterior of the parameters gives. They hold for a column model that is right, and for
        columns that are independent; they say nothing of what else may be wrong. For `Gaussian`, `StudentT`,
        `Categorical`, `Bernoulli`, `Poisson`, `Multinomial`, `Binned` and `Date` columns, with `Joint` factors of
        labels, or of numbers that share no covariance, and for `TAN` where a parent is known.

        In "fast" and "auto" by a Bayesian bootstrap of the kept rows, see `naively.analysis._bootstrap`: how much all
        that was estimated, densities, weights and prior, would differ with other rows. The bounds are about the
        model's own answer, so what it shrinks or cannot say is not in them. Of a model that has learnt more rows than
        it keeps they are wider than need be. "strong" has none.

        Examples
        --------
        >>> from naively import NaiveBayes
        >>> rows, y = [["red"]] * 3 + [["blue"]] * 3, [1, 1, 0, 0, 0, 1]
        >>> few = NaiveBayes("textbook").fit(rows, y)
        >>> many = NaiveBayes("textbook").fit(rows * 100, y * 100)
        >>> few.credible_interval([["red"]])[0, 1].round(2).tolist()
        [0.14, 0.94]
        >>> many.credible_interval([["red"]])[0, 1].round(2).tolist()
        [0.61, 0.72]
        """
        from scipy.special import ndtri

        if isinstance(level, bool) or not isinstance(level, (int, float, np.floating)) or not 0 < level < 1:
            raise ParameterError(f"credible_interval(level) must be a number between 0 and 1, got {level!r}.")
        require_whole("credible_interval(n_draws)", n_draws, at_least=2)
        table, positions, _, _ = self._ready(X, None)
        recipe = as_recipe(self.recipe)
        if recipe.tempering is not None and not recipe.pooled:
            return bootstrapped_bounds(self, table, positions, float(level), int(n_draws))
        self._require_density("credible_interval")
        given = self._given_prior()
        if given is None or (isinstance(given, str) and given == "estimated"):
            weight = self.statistics_.class_weight.high[None, :]
            prior = uncertain_prior((weight + self._prior_rule().pseudo_counts(weight, self.classes_.tolist()))[0])
        else:
            prior = certain(log_prior(self.class_prior_))
        families, smoothings = self._checked_families(recipe), self._smoothings(self.schema_.names, recipe)
        deviations = float(ndtri(0.5 + level / 2))
        return credible_bounds(
            self.schema_, families, smoothings, self.statistics_, table, positions, prior, deviations
        )

    # -- what is estimated from it -------------------------------------------------------------------------------------

    @property
    @of_one_state
    def families_(self) -> dict[str, Family | None]:
        """The family that each column is read with, by name; None where nothing is known yet, or to be ignored."""
        self._require_fitted()
        return dict(zip(self.schema_.names, self._checked_families(as_recipe(self.recipe)), strict=True))

    @property
    @of_one_state
    def class_prior_(self) -> FloatArray:
        """The class prior that is in force."""
        self._require_fitted()
        return self._prior(self._given_prior())

    def _given_prior(self) -> Any:
        """What the parameters say of the class prior."""
        return self.prior

    def _prior(self, prior: Any) -> FloatArray:
        state = self._fitted()
        weight = state.class_rows
        if weight is None:
            weighs = as_recipe(self.recipe).tempering is not None
            weight = class_rows(state.statistics) if weighs else state.statistics.class_weight.high
        return class_prior(prior, self._prior_rule(), self.classes_, weight)

    def _prior_rule(self) -> Smoothing:
        if self.prior_smoothing is not None:
            return as_smoothing(self.prior_smoothing, "prior_smoothing")
        return as_recipe(self.recipe).prior_smoothing

    def _estimated(self) -> tuple[Scorer | PooledScorer, FloatArray]:
        """The scorer and the log-prior, computed when first needed and again when what they stand on has changed."""
        state, basis = self._fitted(), self._basis()
        scorer = state.estimated(0, basis, self._told_scorer)
        logs = state.estimated(1, (*basis, self.prior), lambda: log_prior(self._prior(self._given_prior())))
        return scorer, logs

    def _told_scorer(self) -> Scorer | PooledScorer:
        """The scorer, with word of it if it takes long."""
        with told("estimating", self._says_progress()):
            return self._scorer(as_recipe(self.recipe))

    def _basis(self) -> tuple[Any, ...]:
        """The parameters that estimates are computed from, but for the prior, which weighs nothing."""
        return (
            self.recipe,
            self.families,
            self.smoothing,
            self.factors,
            self.prior_smoothing,
            self.ignore,
            self.monotone,
            self.kept_rows,
        )

    def _scorer(self, recipe: Recipe) -> Scorer | PooledScorer:
        """The estimates of all columns, weighed if the recipe says so."""
        if self._fitted().class_rows is not None:
            raise FrozenError(
                "This model only answers, under the parameters that it was frozen with; only the prior can be another. "
                "Set them as they were, or use the model that it was made from."
            )
        schema, statistics = self.schema_, self.statistics_
        families = self._checked_families(recipe)
        smoothings = self._smoothings(schema.names, recipe)
        self._refuse_unweighable(schema.names, families, recipe)
        self._refuse_unread_smoothing(recipe)
        if recipe.tempering is None:
            return Scorer(make_factors(schema, families, smoothings, statistics), schema.names, len(self.classes_))
        n_threads = thread_count(self.n_threads)
        weighed = weigh(
            schema, families, smoothings, self._prior_rule(), statistics, self._tempering(recipe), n_threads
        )
        if recipe.pooled and len(weighed.codes) and weighed.model.speaks:  # experts need rows, and something known
            return PooledScorer.fitted(weighed, schema, n_threads)
        factors = in_c_order(weighed.factors)
        scorer = Scorer(factors, schema.names, len(self.classes_), in_c_order(weighed.model.bias))
        scorer.weighed, scorer.left_out = weighed, weighed.left_out
        return scorer

    def _tempering(self, recipe: Recipe) -> Tempering:
        """How a recipe weighs evidence, and on how many of the kept rows."""
        assert recipe.tempering is not None
        most = recipe.kept_rows if self.kept_rows is None else self._checked_kept_rows()
        return replace(recipe.tempering, rows=min(most, recipe.tempering.rows or most))

    def _checked_families(self, recipe: Recipe) -> list[Family | None]:
        """The family of each column, which must need no more than was kept of it."""
        schema = self.schema_
        families = self._assigned(recipe, schema.names, schema.kinds, schema.cuts, counting=False)
        needed = summaries_of(schema.names, schema.kinds, families)
        for name, kept, need, family in zip(schema.names, schema.summaries, needed, families, strict=True):
            if kept is not need and kept and family is not None and not _holds(kept, need):
                raise SchemaError(
                    f"Column {name!r} was learnt for another family: {family.name()!r} needs {in_words(need)}, "
                    f"but what was kept is {in_words(kept)}. Fit again with the new families, factors or recipe."
                )
        return schema.with_declared(families)

    def _smoothings(self, names: Any, recipe: Recipe) -> list[Smoothing]:
        """The smoothing of each column, for the classes that there are."""
        rules = self._given_smoothings(names, recipe)
        if not self._is_fitted():
            return rules
        labels = self.classes_.tolist()
        known = {place: rule.for_classes(labels) for place, rule in {id(rule): rule for rule in rules}.items()}
        return [known[id(rule)] for rule in rules]

    def _given_smoothings(self, names: Any, recipe: Recipe) -> list[Smoothing]:
        """The smoothing of each column as the parameters have it."""
        return smoothing_of_columns(self.smoothing, recipe.smoothing, names, self._factors(recipe))

    def _assigned(
        self, recipe: Recipe, names: Any, kinds: Any, cuts: Cuts, counting: bool = True
    ) -> list[Family | None]:
        """The family of each column, that of a factor for its members."""
        factors = self._factors(recipe)
        families, ignored = self._alone(recipe, names, kinds, factors, counting)
        return joined(factors, names, families, cuts, ignored) if factors else families

    def _alone(
        self, recipe: Recipe, names: Any, kinds: Any, factors: Sequence[JoinedColumns], counting: bool = True
    ) -> tuple[list[Family | None], set[int]]:
        """The family that reads each column alone, and the positions of the columns that are ignored.

        While rows are counted, `ByKind` keeps what any of its families needs. In a factor, numbers are numbers.
        """
        members = {place for places in member_places(factors, names) for place in places}

        def by_kind(families: ByKind, place: int) -> Family | None:
            if place in members:
                return families.numbers
            return families.undecided if counting else families.of_numbers(names[place], self.statistics_)

        ignored = ignored_places(names, self.families, self.ignore)
        if ignored:  # whatever they hold
            kinds = ["empty" if place in ignored else kind for place, kind in enumerate(kinds)]
        families = assign_families(names, kinds, self.families, recipe, by_kind)
        for place in ignored:
            families[place] = None
        return with_monotone(names, families, self.monotone), ignored

    def _factors(self, recipe: Recipe) -> tuple[JoinedColumns, ...]:
        """The columns that are joined."""
        factors = as_factors(self.factors)
        if factors and recipe.tempering is not None:
            raise ParameterError(
                f"factors need recipe='textbook', but the recipe is {self.recipe!r}, which weighs each column by "
                "itself (and 'strong' finds interactions on its own). Use NaiveBayes('textbook', factors=...)."
            )
        return factors

    def _checked_kept_rows(self) -> int:
        kept_rows = require_whole("kept_rows", self.kept_rows, at_least=0, at_most=MOST_KEPT)
        if kept_rows == 0 and as_recipe(self.recipe).tempering is not None:
            raise ParameterError(
                f"kept_rows must be at least 1, got 0: recipe {self.recipe!r} weighs evidence on the kept rows. Fit "
                "with some and use frozen() or save(path, rows=False) for a model without rows, or recipe='textbook'."
            )
        return kept_rows


def _refuse_any_frozen(asked: str, *models: NaiveBayes) -> None:
    for model in models:
        model._refuse_frozen(asked)


def _holds(kept: Sequence[Summary], needed: Sequence[Summary]) -> bool:
    """Whether what was kept of a column is all that is needed."""
    return all(summary in kept or summary.lenient in kept for summary in needed)


def _copied(described: Any) -> Any:
    """A description with arrays of its own, which may be written to."""
    if isinstance(described, dict):
        return {name: _copied(value) for name, value in described.items()}
    if isinstance(described, list):
        return [_copied(value) for value in described]
    return described.copy() if isinstance(described, np.ndarray) else described


def _of_column(values: Any, place: int) -> Any:
    """One column's part of a described parameter: a column of an array, or an entry of a list."""
    return values[place] if isinstance(values, list) else values[:, place]


def _cell(table: Table, position: int) -> Any:
    """What the one row of a table holds in a column; None where it is missing."""
    if table.kind(position) == "text":
        return table.texts(position)[0]
    codes, labels = table.labels(position)
    return None if codes[0] < 0 else labels[int(codes[0])]
