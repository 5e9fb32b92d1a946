"""`NaiveBayes`: the scikit-learn surface over the sum of statistics."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from naively.decision import check_prior
from naively.engines import local
from naively.engines.threads import thread_count
from naively.errors import InputError, ParameterError
from naively.families import Family
from naively.generation import Generation
from naively.inspection import Inspection
from naively.likelihood import Likelihood
from naively.recipes import Recipe, as_recipe
from naively.schema import Schema
from naively.statistics import Statistics, merged_classes
from naively.table import Table
from naively.target import read_rows, read_target
from naively.tempered import stacked_densities
from naively.typing import AnyArray, FloatArray


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
        and `prior` can be changed after fitting, without data.

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

    classes_: AnyArray
    schema_: Schema
    statistics_: Statistics
    n_features_in_: int
    feature_names_in_: AnyArray

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
        schema, statistics = self._count(X, y, sample_weight, None)
        self._replace(schema, statistics, np.array([], dtype=object))
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
        fitted = self._is_fitted()
        declared = self.declared_classes_ if fitted else np.array([], dtype=object)
        if classes is not None:
            declared = merged_classes(declared, read_target(classes, len(classes))[0])
        schema, statistics = self._count(X, y, sample_weight, self.schema_ if fitted else None)
        if fitted:
            statistics = self.statistics_ + statistics
        self._replace(schema, statistics, declared)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows that were learnt before: the model is as if it had never seen them.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Rows that were never learnt raise `ForgetError` where the statistics can tell.

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
        _, statistics = self._count(X, y, sample_weight, self.schema_)
        self._replace(self.schema_, self.statistics_ - statistics, self.declared_classes_)
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
        self._replace(self.schema_, self.statistics_.scaled(float(factor)), self.declared_classes_)
        return self

    def __add__(self, other: Any) -> NaiveBayes:
        """Merge two models that were trained apart: the same as training one on all rows."""
        if not isinstance(other, NaiveBayes):
            return NotImplemented
        merged = copy.deepcopy(self) if self._is_fitted() else copy.deepcopy(other)
        if not self._is_fitted():
            merged.set_params(**self.get_params(deep=False))
        elif other._is_fitted():
            schema = self.schema_.merged(other.schema_)
            declared = merged_classes(self.declared_classes_, other.declared_classes_)
            merged._replace(schema, self.statistics_ + other.statistics_, declared)
        return merged

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
        self._require_fitted()
        other: NaiveBayes = clone(self)
        other._replace(self.schema_, statistics, self.declared_classes_)
        return other

    def _count(self, X: Any, y: Any, sample_weight: Any, schema: Schema | None) -> tuple[Schema, Statistics]:
        """Read, check and count a batch; nothing of the model is changed."""
        n_threads = thread_count(self.n_threads)
        recipe = as_recipe(self.recipe)
        table, classes, codes, weights = read_rows(X, y, sample_weight)
        if weights is not None and not weights.any():
            raise InputError("sample_weight must not be zero for every row: there would be nothing to learn.")
        if schema is None:
            schema, positions = self._first_schema(table, recipe, weights), None
        else:
            positions = schema.locate(table)
            schema = schema.completed(table, positions, lambda *known: self._assigned(recipe, *known))
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
        """Take a new state, whole."""
        self._estimates: list[Any] = []
        self.schema_ = schema
        self.declared_classes_ = declared
        self.statistics_ = statistics.with_classes(merged_classes(statistics.classes, declared))
        self.classes_ = self.statistics_.classes
        self.n_features_in_ = len(schema.names)
        if schema.named:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    # -- state -------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_estimates" in state:
            state["_estimates"] = []
        return state

    def save(self, path: Any) -> None:
        """Write the model to one JSON file; `naively.load` reads it back, to the last bit.

        The file holds the parameters, the columns and the statistics and, with the recipes "auto", "fast" and "strong",
        up to `kept_rows` rows of the training data.

        Parameters
        ----------
        path : str or path
            The file, replaced in one step if it exists; it then keeps its mode. A new one that holds rows of the data
            can be read by its owner alone.
        """
        from naively.export.json import save

        self._require_fitted()
        save(self, path)
