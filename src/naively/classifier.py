"""`NaiveBayes`: the scikit-learn surface over the sum of statistics."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError

from naively.additive.calibration import Calibration, calibration
from naively.decision import Decider, class_prior, log_prior
from naively.engines import local
from naively.engines.threads import thread_count
from naively.errors import InputError, ParameterError, RecipeError, SchemaError, listed
from naively.evidence import Scorer, make_factors
from naively.explanation import attribute, explanation
from naively.families import Family
from naively.leave_one_out import LearntRows, codes_among, left_out_log_prior, left_out_scores
from naively.pooled import PooledScorer
from naively.recipes import Recipe, as_recipe
from naively.schema import Schema, assign_families, position_of, require_rows, summaries_of
from naively.smoothing import Smoothing, as_smoothing
from naively.statistics import Statistics, merged_classes
from naively.table import Table, read_table
from naively.target import read_target, read_weights, split_target
from naively.tempered import weigh
from naively.typing import AnyArray, FloatArray, IntArray


class NaiveBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes for any table: numbers, categories, booleans, counts and missing cells in one model.

    Parameters
    ----------
    recipe : "auto", "strong", "textbook" or "fast", default="auto"
        A named set of defaults; the parameters below override it. "auto": stacked densities and categories, each
        column's evidence weighed so that the probabilities are calibrated. "strong": the same, pooled with experts that
        relax the independence of the columns. "textbook": Gaussian and categorical
        columns, Laplace smoothing, the class frequencies as prior, every column counted in full. "fast": bins, and one
        temperature.
    families : family, str or dict, optional
        How columns are distributed: one family for all, or a dict by column name or position, for example
        ``{"age": Gaussian(ties="feature"), "city": "categorical"}``. Columns that are not given are inferred: numbers
        are Gaussian; booleans, text and categorical types are categorical.
    smoothing : smoothing, float, str or dict, optional
        Pseudo-counts: an object such as ``MEstimate(2)``, a number (Lidstone), a name, or a dict by column.
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
        prior: Any = "estimated",
        prior_smoothing: Any = None,
        kept_rows: int | None = None,
        n_threads: int | None = None,
    ):
        self.recipe = recipe
        self.families = families
        self.smoothing = smoothing
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
        table, classes, codes, weights = _read_rows(X, y, sample_weight)
        if weights is not None and not weights.any():
            raise InputError("sample_weight must not be zero for every row: there would be nothing to learn.")
        if schema is None:
            schema, positions = self._first_schema(table, recipe), None
        else:
            positions = schema.locate(table)
            schema = schema.completed(table, positions, lambda names, kinds: self._assigned(names, kinds, recipe))
        kept_rows = recipe.kept_rows if self.kept_rows is None else self._checked_kept_rows()
        return schema, local.count(table, schema, positions, classes, codes, weights, n_threads, kept_rows)

    def _checked_kept_rows(self) -> int:
        count = self.kept_rows
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise ParameterError(f"kept_rows must be a whole number of at least 1, got {count!r}.")
        return int(count)

    def _first_schema(self, table: Table, recipe: Recipe) -> Schema:
        self._smoothings(table.names, recipe)  # a bad parameter is refused before any work
        return Schema.of_table(table, self._assigned(table.names, table.kinds, recipe))

    def _assigned(self, names: Any, kinds: Any, recipe: Recipe) -> list[Family | None]:
        return assign_families(names, kinds, self.families, recipe.numeric, recipe.categorical)

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

    # -- answering ------------------------------------------------------------------------------------------------

    def predict(self, X: Any, prior: Any = None) -> AnyArray:
        """The most probable class of each row.

        Parameters
        ----------
        X : as in `fit`
        prior : as the parameter `prior`, or an array of shape (n_rows, n_classes), optional
            Another class prior, for this call only.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        table, positions, scorer, decider = self._ready(X, prior)
        best = np.empty(table.n_rows, dtype=np.int64)

        def finish(scores: FloatArray, rows: slice) -> None:
            best[rows] = decider.choose(scores, rows)

        scorer.run(table, positions, finish, thread_count(self.n_threads))
        decider.warn()
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any, prior: Any = None) -> FloatArray:
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

    def predict_log_proba(self, X: Any, prior: Any = None) -> FloatArray:
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

    def predict_joint_log_proba(self, X: Any, prior: Any = None) -> FloatArray:
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

    def evidence(self, X: Any) -> FloatArray:
        """The log-likelihood that each cell contributes to each class; 0 where the cell is missing.

        ``log prior + evidence.sum(axis=1)`` is `predict_joint_log_proba`.

        Returns
        -------
        ndarray of shape (n_rows, n_columns, n_classes)
            In the recipe "strong" more terms follow the columns: pairs, experts and their pool. `evidence_names_` names
            them all.
        """
        table, positions, scorer, _ = self._ready(X, None)
        return scorer.evidence(table, positions)

    def explain(self, X: Any, target: Any = None, prior: Any = None) -> Any:
        """Why each row is, or is not, of a class: the evidence of the prior and of every column, in bits.

        A bit doubles the odds. The bits of a row add up to ``log2(P / (1 - P))``, P being the probability of the class;
        `naively.explanation` says how "the rest" is weighed where there are more than two classes.

        Parameters
        ----------
        X, prior
            As in `predict`.
        target : label, optional
            The class to speak for; by default each row's predicted one.

        Returns
        -------
        data frame
            Of the same library as X; of pandas if X is no data frame; where pandas is not installed, a dict of lists.
            For each row of X one row for the prior and one for each of `evidence_names_`: ``row`` (its position in X),
            ``column``, ``value`` (as text; null where missing), ``class`` and ``bits``.

        Examples
        --------
        >>> from naively.explanation import as_text
        >>> rows = [{"coat": "striped"}, {"coat": "plain"}, {"coat": "plain"}]
        >>> model = NaiveBayes("textbook").fit(rows, ["cat", "dog", "dog"])
        >>> print(as_text(model.explain([{"coat": "plain"}])))
        row 0: dog against the rest, probability 0.818
        +1.17  coat      plain
        +1.00  prior
        +2.17  log-odds
        """
        table, positions, scorer, decider = self._ready(X, prior)
        evidence = scorer.evidence(table, positions)
        chosen = decider.choose(evidence.sum(axis=1), slice(0, table.n_rows))
        if target is not None:
            chosen = np.full(table.n_rows, self._class_code(target))
        decider.warn()
        bits = attribute(decider.log_prior, evidence, chosen)
        return explanation(X, table, positions, self.schema_.names, scorer.names, self.classes_, chosen, bits)

    def _class_code(self, label: Any) -> int:
        known = self.classes_.tolist()
        if isinstance(label, np.generic):
            label = label.item()
        if label not in known:
            raise ParameterError(f"target must be one of the classes {listed(known, 20)}, got {label!r}.")
        return int(known.index(label))

    def loo(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> FloatArray:
        """Leave-one-out: the log-probability of each class for rows that were learnt, by the model without that row.

        Nothing is fitted again; it takes about the time of a prediction.

        Parameters
        ----------
        X, y, sample_weight
            Rows that the model has learnt, as they were given to `fit`; a row loses its whole weight. Without X, the
            rows that the recipe has kept, as in `calibration_`: there, evidence is weighed by what the rows of other
            folds say.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)

        Notes
        -----
        The answer is that of `forget` and `predict_log_proba`, row by row. `Kernel`, `Binned` and `Stacked` do not
        choose their bandwidths, cuts and shares again. A class of which nothing is left stays, without any rows.

        Examples
        --------
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
        table, classes, codes, weights = _read_rows(X, y, sample_weight)
        positions = self.schema_.locate(table)
        rows = LearntRows(table, positions, codes_among(self.classes_, classes, codes), weights)
        decider = Decider(left_out_log_prior(self.statistics_, rows, self.prior, self._prior_rule()))
        families, smoothings = self._checked_families(recipe), self._smoothings(self.schema_.names, recipe)
        n_threads = thread_count(self.n_threads)
        scores = left_out_scores(self.schema_, families, smoothings, self.statistics_, rows, n_threads)
        decider.normalise(scores, slice(0, table.n_rows))
        decider.warn()
        return scores

    def _left_out_of_kept_rows(self) -> FloatArray:
        scorer = self._estimated()[0]
        if scorer.weighed is None:
            raise ParameterError(
                f"loo() without X answers for kept rows, and recipe {self.recipe!r} keeps none. Give it X and y: rows "
                "that the model has learnt."
            )
        return scorer.model.left_out if isinstance(scorer, PooledScorer) else scorer.weighed.model.loo.log_posterior

    def parameters(self) -> dict[str, dict[str, Any]]:
        """The estimated parameters of every column, by name; arrays follow `classes_`.

        Returns
        -------
        dict
            For each column a dict with its ``family`` and, for example, ``mean`` and ``variance``.
        """
        self._require_fitted()
        result: dict[str, dict[str, Any]] = {}
        for factor in self._estimated()[0].factors:
            described = factor.estimate.describe()
            for place, member in enumerate(factor.members.tolist()):
                column = {name: _of_column(values, place) for name, values in described.items()}
                result[self.schema_.names[member]] = {"family": factor.family, **column}
        return {name: result[name] for name in self.schema_.names if name in result}

    @property
    def evidence_names_(self) -> list[str]:
        """What the terms of `evidence` are called: the columns, and what the recipe adds to them."""
        self._require_fitted()
        return list(self._estimated()[0].names)

    @property
    def class_prior_(self) -> FloatArray:
        """The class prior that is in force."""
        self._require_fitted()
        return self._prior(self.prior)

    @property
    def class_count_(self) -> FloatArray:
        """The weight of the rows of each class."""
        self._require_fitted()
        return self.statistics_.class_weight.high

    @property
    def calibration_(self) -> Calibration:
        """How good the probabilities are: accuracy, log-loss, Brier score, calibration error and reliability.

        Measured on the kept rows, each as seen by estimates and weights that did not learn from it, under the class
        frequencies as prior. Only the recipes that keep rows have it.

        Examples
        --------
        >>> import numpy as np
        >>> X, y = np.repeat([[1.0], [2.0], [7.0], [8.0]], 5, axis=0), [0] * 10 + [1] * 10
        >>> NaiveBayes("fast").fit(X, y).calibration_.accuracy
        1.0
        """
        self._require_fitted()
        scorer = self._estimated()[0]
        if scorer.weighed is None:
            raise RecipeError(
                f"calibration_ is measured on kept rows, and recipe {self.recipe!r} keeps none. Fit with "
                "recipe='auto', 'fast' or 'strong', or score other rows."
            )
        loo = scorer.weighed.model.loo
        return calibration(self._left_out_of_kept_rows(), loo.codes, loo.weights)

    def _scores(self, X: Any, prior: Any, step: str) -> FloatArray:
        table, positions, scorer, decider = self._ready(X, prior)
        result = np.empty((table.n_rows, len(self.classes_)))
        change = getattr(decider, step)

        def finish(scores: FloatArray, rows: slice) -> None:
            change(scores, rows)
            result[rows] = scores

        scorer.run(table, positions, finish, thread_count(self.n_threads))
        decider.warn()
        return result

    def _ready(self, X: Any, prior: Any) -> tuple[Table, IntArray | None, Scorer | PooledScorer, Decider]:
        """All that an answer needs: the table, where its columns are, the estimates and the prior."""
        self._require_fitted()
        table = read_table(X)
        if table.n_rows == 0 or table.n_columns == 0:
            require_rows(table)
        positions = self.schema_.locate(table)
        scorer, logs = self._estimated()
        if prior is not None:
            logs = log_prior(self._prior(prior))
            if logs.ndim == 2 and len(logs) != table.n_rows:
                raise ParameterError(f"prior has {len(logs)} rows but X has {table.n_rows}.")
        return table, positions, scorer, Decider(logs)

    def _prior(self, prior: Any) -> FloatArray:
        return class_prior(prior, self._prior_rule(), self.classes_, self.statistics_.class_weight.high)

    def _prior_rule(self) -> Smoothing:
        if self.prior_smoothing is not None:
            return as_smoothing(self.prior_smoothing, "prior_smoothing")
        return as_recipe(self.recipe).prior_smoothing

    def _estimated(self) -> tuple[Scorer | PooledScorer, FloatArray]:
        """The scorer and the log-prior, computed when first needed and again when what they stand on has changed."""
        basis = (
            self.statistics_,
            self.recipe,
            self.families,
            self.smoothing,
            self.prior,
            self.prior_smoothing,
            self.kept_rows,
        )
        if not self._estimates or any(old is not new for old, new in zip(self._estimates[0], basis, strict=True)):
            scorer = self._scorer(as_recipe(self.recipe))
            self._estimates[:] = [basis, (scorer, log_prior(self.class_prior_))]
        return self._estimates[1]  # type: ignore[no-any-return]

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
        families = self._assigned(schema.names, schema.kinds, recipe)
        needed = summaries_of(schema.names, schema.kinds, families)
        for name, kept, need, family in zip(schema.names, schema.summaries, needed, families, strict=True):
            if kept is not need and kept and family is not None and not set(need) <= set(kept):
                raise SchemaError(
                    f"Column {name!r} was learnt for another family: {family.name()!r} needs {need}, but {kept} was "
                    "kept. Fit again with the new families or recipe."
                )
        return families

    def _smoothings(self, names: Any, recipe: Recipe) -> list[Smoothing]:
        """The smoothing of each column."""
        if self.smoothing is None:
            return [recipe.smoothing] * len(names)
        if not isinstance(self.smoothing, Mapping):
            return [as_smoothing(self.smoothing)] * len(names)
        index = {name: position for position, name in enumerate(names)}
        rules = [recipe.smoothing] * len(names)
        for key, rule in self.smoothing.items():
            rules[position_of(key, index, "smoothing")] = as_smoothing(rule, f"smoothing[{key!r}]")
        return rules

    # -- state ----------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_estimates" in state:
            state["_estimates"] = []
        return state

    def _is_fitted(self) -> bool:
        return "statistics_" in self.__dict__

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

    def _require_fitted(self) -> None:
        if "statistics_" not in self.__dict__:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or 'partial_fit' with rows first."
            )

    def save(self, path: Any) -> None:
        """Write the model to one JSON file; `naively.load` reads it back, to the last bit.

        Parameters
        ----------
        path : str or path
            The file, replaced in one step if it exists.
        """
        from naively.export.json import save

        self._require_fitted()
        save(self, path)


def _read_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Table, AnyArray, IntArray, FloatArray | None]:
    """The rows, the classes among them, each row's position among these, and the weights."""
    table = read_table(X)
    if isinstance(y, str):
        table, classes, codes = split_target(table, y)
    else:
        classes, codes = read_target(y, table.n_rows)
    require_rows(table)
    return table, classes, codes, read_weights(sample_weight, table.n_rows)


def _of_column(values: Any, place: int) -> Any:
    """One column's part of a described parameter: a column of an array, or an entry of a list."""
    return values[place] if isinstance(values, list) else values[:, place]
