"""The additive model: evidence per column, weighed on kept rows that did not contribute to it.

``score = log prior + bias + sum of terms``; each term is a table or a curve of one column. All of it is computed from
statistics: the histogram, moments or counts of each column, and the kept rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from naively.engines.threads import in_order
from naively.families.densities import Sample
from naively.families.stacking import StackedColumn, stack
from naively.typing import AnyArray, FloatArray, IntArray
from naively.weighing import categories
from naively.weighing.effects import Basis, category_basis, numeric_basis
from naively.weighing.terms import (
    Column,
    ColumnStatistics,
    Estimated,
    LabelColumn,
    NumericColumn,
    Term,
    TextTerm,
    is_missing,
)
from naively.weighing.weights import (
    CANDIDATES,
    Coefficients,
    Design,
    average,
    candidate_shares,
    cross_fit,
    fit_temperature,
    log_loss,
    log_softmax,
    scores,
)

FOLDS = 4
FEW_ROWS = 20
"""Below so many kept rows only a temperature is fitted."""


@dataclass(frozen=True)
class LeaveOneOut:
    """The kept rows as seen by models that did not learn from them.

    Parameters
    ----------
    rows : ndarray (rows,)
        Where they stand among all kept rows.
    folds : ndarray (rows,)
    design : Design
        Their leave-one-out evidence and prior, class, weight and value effects.
    candidates : tuple of str
    candidate_log_posterior : ndarray (candidates, rows, classes)
        Each row under candidates that were fitted without its fold.
    candidate_weights : ndarray (candidates,)
    log_posterior : ndarray (rows, classes)
        The same for the average of the candidates.
    """

    rows: IntArray
    folds: IntArray
    design: Design
    candidates: tuple[str, ...]
    candidate_log_posterior: FloatArray
    candidate_weights: FloatArray
    log_posterior: FloatArray

    @property
    def codes(self) -> IntArray:
        """The class of each row."""
        return self.design.codes

    @property
    def weights(self) -> FloatArray:
        """The weight of each row."""
        return self.design.weights

    @property
    def evidence(self) -> FloatArray:
        """Leave-one-out evidence (rows, terms, classes), centred over the classes; 0 where missing."""
        return np.moveaxis(self.design.evidence, 0, 2)

    @property
    def effects(self) -> FloatArray:
        """The columns of the value effects (rows, effects)."""
        return self.design.effects

    @property
    def counted(self) -> FloatArray:
        """1 for a term that is evidence in its own right, 0 for one that must earn its weight."""
        return self.design.counted

    @property
    def log_prior(self) -> FloatArray:
        """Leave-one-out log-prior (rows, classes)."""
        return self.design.log_prior.T

    @property
    def temperature(self) -> float:
        """The temperature of all evidence."""
        return self.design.temperature

    @property
    def best(self) -> str:
        """The candidate with the lowest cross-fitted log-loss."""
        losses = [log_loss(one.T, self.codes, self.weights) for one in self.candidate_log_posterior]
        return self.candidates[int(np.argmin(losses))]


@dataclass(frozen=True)
class Reweighted:
    """Additive scores: a start (classes,), and terms."""

    start: FloatArray
    terms: Sequence[Term]

    def __call__(self, columns: Sequence[Column]) -> FloatArray:
        """Scores (rows, classes)."""
        total = np.repeat(self.start[:, None], len(columns[0][1]), axis=1)
        for term in self.terms:
            total += term.evidence(columns[term.column][1])
        return total.T


@dataclass(frozen=True)
class AdditiveModel:
    """A fitted additive model.

    Parameters
    ----------
    log_prior, bias : ndarray (classes,)
    terms : list of Term
    loo : LeaveOneOut
    estimates, bases, indicators, statistics, class_weights, fitted
        What the terms were made of, so that other weights can be folded into them, and other rows left out.
    """

    log_prior: FloatArray
    bias: FloatArray
    terms: list[Term]
    loo: LeaveOneOut
    estimates: Sequence[Estimated]
    bases: Sequence[Basis]
    indicators: Sequence[tuple[int, categories.CategoryTable]]
    statistics: Sequence[ColumnStatistics]
    class_weights: FloatArray
    fitted: Coefficients

    def left_out_scores(self, columns: Sequence[Column], codes: IntArray, weights: FloatArray) -> FloatArray:
        """The scores (rows, classes) of rows that were learnt, each by estimates without it."""
        design = self._design(columns, codes, weights)
        return scores(design, self.fitted).T

    def _design(self, columns: Sequence[Column], codes: IntArray, weights: FloatArray) -> Design:
        return left_out_design(
            self.statistics, self.class_weights, self.estimates, self.indicators, self.bases, columns, codes, weights
        )

    @property
    def speaks(self) -> bool:
        """Whether any cell of any column was ever known; else the prior answers."""
        return any_known(self.statistics)

    @property
    def numeric_terms(self) -> AnyArray:
        """Which terms read the value of a numeric column."""
        return np.array([term.kind == "numeric" for term in self.terms])

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        return log_softmax(Reweighted(self.log_prior + self.bias, self.terms)(columns).T).T

    def reweighted(self, prior_scale: float, bias: FloatArray, weights: FloatArray, effects: FloatArray) -> Reweighted:
        """The same estimates with other coefficients."""
        fitted = Coefficients(prior_scale, bias, weights, effects)
        terms = [
            term
            for term in fold_terms(self.estimates, self.bases, self.indicators, fitted)
            if term.table.any() or term.kind == "text"
        ]
        return Reweighted(prior_scale * self.log_prior + bias, terms)


def fit_additive(
    statistics: Sequence[ColumnStatistics],
    class_weights: FloatArray,
    kept: Sequence[Column],
    rows: IntArray,
    codes: IntArray,
    weights: FloatArray,
    densities: Sequence[str],
    candidates: Sequence[str],
    n_threads: int,
) -> AdditiveModel:
    """Weigh the evidence of the columns.

    Parameters
    ----------
    statistics : sequence
        What is known of each column.
    class_weights : ndarray (classes,)
    kept : sequence of Column
        The cells of the rows that weights are fitted on.
    rows : ndarray (rows,)
        Where these stand among all kept rows.
    codes, weights : ndarray (rows,)
        Their classes and weights.
    densities, candidates : sequences of str
        Which densities are stacked, and which candidates averaged.
    n_threads : int
    """
    log_prior = categories.log_prior(class_weights)

    def estimated(column: tuple[ColumnStatistics, Column]) -> Estimated:
        statistic, (_, values) = column
        if isinstance(statistic, (NumericColumn, LabelColumn)):
            return _estimated(statistic, densities)
        return statistic.fitted(values, codes, weights, log_prior)

    estimates = list(in_order(estimated, list(zip(statistics, kept, strict=True)), n_threads))
    indicators = _missing_indicators(kept, statistics, class_weights)
    enough = any_known(statistics) and weights.sum() >= FEW_ROWS
    chosen = {name: CANDIDATES[name] for name in (candidates if enough else ["T"])}
    with_effects = any(candidate.effect_penalty is not None for candidate in chosen.values())
    bases = [
        _basis(one, values) if with_effects else _no_basis for one, (_, values) in zip(statistics, kept, strict=True)
    ]
    design = left_out_design(statistics, class_weights, estimates, indicators, bases, kept, codes, weights)
    design = replace(design, temperature=fit_temperature(design))
    folds = dealt_folds(codes, FOLDS)
    crossed, fitted = cross_fit(design, folds, chosen)
    shares = candidate_shares(crossed, codes, weights)
    averaged = average(list(fitted.values()), shares, log_prior)
    loo = LeaveOneOut(
        rows=rows,
        folds=folds,
        design=design,
        candidates=tuple(chosen),
        candidate_log_posterior=np.moveaxis(crossed, 1, 2),
        candidate_weights=shares,
        log_posterior=log_softmax(np.tensordot(shares, crossed, axes=1)).T,
    )
    terms = fold_terms(estimates, bases, indicators, averaged)
    return AdditiveModel(
        log_prior, averaged.bias, terms, loo, estimates, bases, indicators, statistics, class_weights, averaged
    )


def any_known(statistics: Sequence[ColumnStatistics]) -> bool:
    """Whether any cell of these columns was ever known."""
    return any(statistic.observed.any() for statistic in statistics)


def left_out_design(
    statistics: Sequence[ColumnStatistics],
    class_weights: FloatArray,
    estimates: Sequence[Estimated],
    indicators: Sequence[tuple[int, categories.CategoryTable]],
    bases: Sequence[Basis],
    columns: Sequence[Column],
    codes: IntArray,
    weights: FloatArray,
) -> Design:
    """Rows that were learnt, each as seen by estimates without it."""
    evidence = [
        _leave_one_out(estimate, statistic, values, codes, weights)
        for estimate, statistic, (_, values) in zip(estimates, statistics, columns, strict=True)
    ]
    for column, table in indicators:
        evidence.append(table.leave_one_out(is_missing(columns[column][1]).astype(np.int64), codes))
    effects = [basis(values) for basis, (_, values) in zip(bases, columns, strict=True)]
    return Design(
        evidence=np.stack(evidence, axis=2) if evidence else np.zeros((len(class_weights), len(codes), 0)),
        log_prior=categories.leave_one_out_log_prior(class_weights, codes),
        codes=codes,
        weights=weights,
        effects=np.concatenate([np.zeros((len(codes), 0)), *effects], axis=1),
        counted=np.concatenate([np.ones(len(statistics)), np.zeros(len(indicators))]),
        penalty=np.ones(len(statistics) + len(indicators)),
    )


def dealt_folds(codes: IntArray, n_folds: int) -> IntArray:
    """Deal the rows of each class to folds in turn; they come in the order of their hashes, which is random enough."""
    by_class = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[by_class], codes[by_class])
    folds = np.empty(len(codes), dtype=np.int64)
    folds[by_class] = (np.arange(len(codes)) - first) % n_folds
    return folds


def _estimated(statistics: NumericColumn | LabelColumn, densities: Sequence[str]) -> Estimated:
    """The evidence of a column, from its statistics."""
    if isinstance(statistics, NumericColumn):
        histogram = statistics.histogram
        return stack(Sample(histogram.values(), histogram.counts, *statistics.moments), densities)
    return categories.estimate(statistics.counts)


def _leave_one_out(
    estimate: Estimated, statistics: ColumnStatistics, values: AnyArray, codes: IntArray, weights: FloatArray
) -> FloatArray:
    """The leave-one-out evidence (classes, rows) of kept rows in one column."""
    if isinstance(statistics, NumericColumn):
        if not len(statistics.histogram.keys):
            return np.zeros((statistics.histogram.n_classes, len(codes)))
        values = statistics.histogram.cell_of(values)
    elif isinstance(statistics, LabelColumn) and not statistics.counts.size:
        return np.zeros((statistics.counts.shape[0], len(codes)))
    if isinstance(estimate, (StackedColumn, categories.CategoryTable)):
        return estimate.leave_one_out(values, codes)
    return estimate.leave_one_out(values, codes, weights)


def _missing_indicators(
    kept: Sequence[Column], statistics: Sequence[ColumnStatistics], class_weights: FloatArray
) -> list[tuple[int, categories.CategoryTable]]:
    """The columns whose missing cells tell the class, one per pattern of missing rows."""
    seen: set[bytes] = set()
    result = []
    for index, (statistic, (_, values)) in enumerate(zip(statistics, kept, strict=True)):
        missing = class_weights - statistic.observed
        missing[missing < 1e-9 * class_weights] = 0.0
        # Equal counts in every class and equal rows among the kept ones: the same pattern.
        pattern = missing.tobytes() + np.packbits(is_missing(values)).tobytes()
        if not missing.any() or pattern in seen:
            continue
        seen.add(pattern)
        table = categories.missing_indicator(missing, class_weights)
        if table is not None:
            result.append((index, table))
    return result


def _basis(statistics: ColumnStatistics, values: AnyArray) -> Basis:
    """The value effects of one column, given its kept cells."""
    if isinstance(statistics, NumericColumn):
        return numeric_basis(statistics.histogram)
    return category_basis(values) if isinstance(statistics, LabelColumn) else _no_basis


def _no_basis(values: AnyArray) -> FloatArray:
    return np.zeros((len(values), 0))


def fold_terms(
    estimates: Sequence[Estimated],
    bases: Sequence[Basis],
    indicators: Sequence[tuple[int, categories.CategoryTable]],
    fitted: Coefficients,
) -> list[Term]:
    """Fold weights and value effects into one table per term."""
    terms: list[Term] = []
    first = 0
    for column, (estimate, basis) in enumerate(zip(estimates, bases, strict=True)):
        if not isinstance(estimate, (StackedColumn, categories.CategoryTable)):
            weights = fitted.weights[:, column]
            terms.append(TextTerm("text", column, np.empty(0), np.zeros((len(weights), 1)), estimate, weights))
            continue
        numeric = isinstance(estimate, StackedColumn)
        knots = estimate.knots if isinstance(estimate, StackedColumn) else np.empty(0)
        columns = basis(knots if numeric else np.arange(estimate.table.shape[1]))
        effects = fitted.effects[:, first : first + columns.shape[1]]
        first += columns.shape[1]
        table = fitted.weights[:, column, None] * estimate.table + effects @ columns.T
        terms.append(Term("numeric" if numeric else "categorical", column, knots, table))
    for index, (column, indicator) in enumerate(indicators, start=len(estimates)):
        table = fitted.weights[:, index, None] * indicator.table[:, :2]
        terms.append(Term("missing", column, np.empty(0), table))
    return terms
