"""The model as a generator of rows: samples, densities, imputation, Bayes error, credible intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, NamedTuple

import numpy as np

from naively.answers import Answers
from naively.checks import require_whole
from naively.credible import certain, credible_bounds, uncertain_prior
from naively.decision import Decider, log_prior
from naively.distributions import Distribution, Labels, distributions
from naively.draws import DrawnColumn, as_rows, as_table, draw_columns
from naively.engines.threads import thread_count
from naively.errors import InputError, ParameterError, RecipeError
from naively.evidence import checked_numbers, chosen_columns, make_factors
from naively.families import Family, Gaussian, Multinomial, Stacked, Text, Thresholded
from naively.imputation import filled, fillings
from naively.recipes import RECIPES, as_recipe
from naively.schema import position_of
from naively.table import Table
from naively.typing import AnyArray, FloatArray, IntArray, Label, PriorLike, TableLike, TargetLike

BLOCK_ROWS = 1 << 15
"""So many rows are simulated at once."""


class BayesError(NamedTuple):
    """The error of the best possible rule, found by simulation.

    Parameters
    ----------
    error : float
        The share of rows whose class it gets wrong.
    standard_error : float
        How far off `error` may be by chance, as a standard deviation.
    n : int
        How many rows were simulated.
    """

    error: float
    standard_error: float
    n: int


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
        if isinstance(model.recipe, str) and model.recipe in RECIPES:  # a bad one is refused when it is used
            model._require_density(self._method.__name__)
        return self._method.__get__(model, owner)


class Generation(Answers):
    """The part of `NaiveBayes` for this."""

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
        `Bernoulli` ones 0 and 1 (or the threshold and one above it). The recipes that weigh evidence have no
        distribution of rows to draw from: use "textbook".

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
        labels = np.asarray(y)
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
    def score_samples(self, X: TableLike, prior: PriorLike | None = None) -> FloatArray:
        """The log-density of each row, ``log p(x) = log sum_j P(j) p(x | j)``: low for rows unlike those learnt.

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
        table, positions, scorer, decider = self._ready(X, prior)
        self._require_no_stacking("score_samples")
        result = np.empty(table.n_rows)

        def finish(scores: FloatArray, rows: slice) -> None:
            scores += decider.log_prior if decider.log_prior.ndim == 1 else decider.log_prior[rows]
            result[rows] = np.logaddexp.reduce(scores, axis=1)

        scorer.run(table, positions, finish, thread_count(self.n_threads))
        for factor in scorer.factors:
            if isinstance(factor.family, Multinomial):
                result += _log_coefficients(table, chosen_columns(factor.members, positions, scorer.n_columns))
        return result

    def _require_no_stacking(self, what: str) -> None:
        for factor in self._estimated()[0].factors:
            if isinstance(factor.family, (Stacked, Text)):
                column = self.schema_.names[int(factor.members[0])]
                raise ParameterError(
                    f"{what}: column {column!r} is read by {factor.family!r}, which "
                    "tells classes apart, but is no density of a column's values. Use another family, for example "
                    "Kernel(), StudentT() or Gaussian(), or leave the column out."
                )

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

        scorer.run(table, positions, finish, thread_count(self.n_threads))
        decider.warn()
        return posterior

    def _label_probabilities(self, member: int) -> tuple[tuple[Label, ...], FloatArray]:
        for distribution in self._imputing(member):
            if isinstance(distribution, Labels):
                place = int(np.flatnonzero(distribution.members == member)[0])
                return distribution.values[place], distribution.probabilities[place]
        raise ParameterError(
            f"Column {self.schema_.names[member]!r} holds numbers, not labels. Use impute, which gives their mean."
        )

    def _imputing(self, member: int | None = None) -> list[Distribution]:
        """What each class expects of each column, or of one; of numbers without a density it is the class's mean."""
        recipe = as_recipe(self.recipe)
        families = [_expecting(family) for family in self._checked_families(recipe)]
        smoothings = self._smoothings(self.schema_.names, recipe)
        factors = make_factors(self.schema_, families, smoothings, self.statistics_)
        wanted = [factor for factor in factors if member is None or member in factor.members]
        return distributions(wanted, self.schema_, self.statistics_)

    def bayes_error(self, n: int = 10_000, *, seed: Any = None) -> BayesError:
        """The error that remains when the model is the truth: that of the best possible rule, by simulation.

        Rows are drawn from the model, and the chance that the most probable class is wrong, ``1 - max_j P(j | x)``, is
        averaged. No rule can do better on such rows; `predict` does as well.

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

    def credible_interval(self, X: TableLike, level: float = 0.95) -> FloatArray:
        """Between which bounds each class's probability lies, given how few or many rows were learnt.

        Parameters
        ----------
        X : as in `predict`
        level : float, default=0.95
            The probability that the bounds are to hold.

        Returns
        -------
        ndarray of shape (n_rows, n_classes, 2)
            The lower and the upper bound.

        Notes
        -----
        In closed form: the log-odds of the class against the rest are taken for normal, with the mean and variance that
        the posterior of the parameters gives (`naively.credible`). They hold for a column model that is right, and for
        columns that are independent; they say nothing of what else may be wrong. Only for recipe "textbook" with
        `Gaussian`, `StudentT`, `Categorical`, `Bernoulli`, `Poisson`, `Multinomial` and `Binned` columns.

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
        table, positions, _, _ = self._ready(X, None)
        self._require_density("credible_interval")
        if self.prior is None or (isinstance(self.prior, str) and self.prior == "estimated"):
            weight = self.statistics_.class_weight.high[None, :]
            prior = uncertain_prior((weight + self._prior_rule().pseudo_counts(weight, self.classes_.tolist()))[0])
        else:
            prior = certain(log_prior(self.class_prior_))
        recipe = as_recipe(self.recipe)
        families, smoothings = self._checked_families(recipe), self._smoothings(self.schema_.names, recipe)
        deviations = float(ndtri(0.5 + level / 2))
        return credible_bounds(
            self.schema_, families, smoothings, self.statistics_, table, positions, prior, deviations
        )


def _expecting(family: Family | None) -> Family | None:
    """The family that says what is expected of a cell, in the place of one whose evidence is no density."""
    if isinstance(family, Thresholded):
        return _expecting(family.family)
    return Gaussian() if isinstance(family, Stacked) or getattr(family, "scores", False) else family


def _log_coefficients(table: Table, chosen: IntArray | None) -> FloatArray:
    """In how many orders each row's counts can have come about: the part of a multinomial that all classes share."""
    from scipy.special import gammaln

    counts = np.nan_to_num(checked_numbers(table, chosen, slice(0, table.n_rows), nonnegative=True), nan=0.0)
    return np.asarray(gammaln(counts.sum(axis=1) + 1.0) - gammaln(counts + 1.0).sum(axis=1))
