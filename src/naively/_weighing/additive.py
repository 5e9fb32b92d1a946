"""The additive model: evidence per column, weighed on kept rows that did not contribute to it.

``score = log prior + bias + sum of terms``; each term is a table or a curve of one column. All of it is computed from
statistics: the histogram, moments or counts of each column, and the kept rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from naively._weighing import categories
from naively._weighing.design import LARGE, MOST_CLASSES, Design, side_by_side
from naively._weighing.effects import EFFECT_BINS, Basis, no_basis
from naively._weighing.kept import FittedRows
from naively._weighing.softmax import believed, log_softmax
from naively._weighing.sources import Source
from naively._weighing.terms import Column, Term, is_missing
from naively._weighing.weights import (
    CANDIDATES,
    Candidate,
    Coefficients,
    candidate_shares,
    cross_fit,
    fit_temperature,
    mixed,
    summed,
)
from naively.engines._threads import in_order
from naively.families._stacking import Folds
from naively.typing import AnyArray, FloatArray, IntArray

FEW_ROWS = 20
"""Below so many kept rows only a temperature is fitted."""

FREE_WEIGHTS = 10
"""Weights of more terms than this are pulled to their target the more, the more there are. Left-out evidence of one row
has seen all others, so a cross-fit cannot tell that the weights of very many columns fit chance; with this it can."""


EFFECTS_PER_ROW = 6
"""Beyond so many effects of bins per kept row, over all classes, numbers have an effect of their score only."""


WIDE = 1 << 23
"""Cells of evidence (classes, rows, terms) beyond which a table is very wide."""


MANY_TERMS = 256
"""And so is one with more terms than rows, if there are more than this."""


def weight_penalty(n_terms: int) -> float:
    """How strongly each weight is pulled to its target: the exponent was chosen on noise of 20 to 2,000 columns."""
    return float(max(1.0, (n_terms / FREE_WEIGHTS) ** 1.5))


@dataclass(frozen=True)
class LeaveOneOut:
    """The kept rows as seen by models that did not learn from them.

    Parameters
    ----------
    fitted_on : FittedRows
        Where they stand among all kept rows, their classes, weights and folds, and how often they occurred.
    candidates : tuple of str
        The ways of weighing that are added up.
    temperature : float
        The temperature of all evidence.
    log_posterior : ndarray (rows, classes)
        Each row under the sum of candidates that were fitted without its fold; in single precision where there
        is much evidence.
    """

    fitted_on: FittedRows
    candidates: tuple[str, ...]
    temperature: float
    log_posterior: FloatArray

    @property
    def rows(self) -> IntArray:
        """Where the rows stand among all kept rows."""
        return self.fitted_on.rows

    @property
    def codes(self) -> IntArray:
        """The class of each row."""
        return self.fitted_on.codes

    @property
    def weights(self) -> FloatArray:
        """The weight of each row."""
        return self.fitted_on.weights


@dataclass(frozen=True)
class Reweighted:
    """Additive scores: a start (classes,), and terms."""

    start: FloatArray
    terms: Sequence[Term]

    def __call__(self, columns: Sequence[Column]) -> FloatArray:
        """Scores (rows, classes)."""
        total = np.repeat(self.start[:, None], len(columns[0][1]), axis=1)
        for term in self.terms:
            for _, said in term.by_column(columns):
                total += said
        return total.T

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        return log_softmax(self(columns).T).T


Indicator = tuple[int, categories.CategoryTable]
"""A column whose missing cells tell the class, and what (known, missing) say."""


@dataclass(frozen=True)
class Prior:
    """The class frequencies: the weight of each class, and what smoothing adds to it, (classes,) each."""

    class_weights: FloatArray
    added: FloatArray

    @property
    def logs(self) -> FloatArray:
        """The log-prior (classes,)."""
        return categories.log_prior(self.class_weights, self.added)

    def without(self, codes: IntArray, removed: FloatArray) -> FloatArray:
        """The log-prior (classes, rows) without each of some rows, which gave so much weight."""
        return categories.leave_one_out_log_prior(self.class_weights, codes, self.added, removed)


@dataclass(frozen=True)
class AdditiveModel:
    """A fitted additive model.

    Parameters
    ----------
    log_prior, bias : ndarray (classes,)
    terms : list of Term
    loo : LeaveOneOut
    sources, bases, indicators, prior, fitted
        What the terms were made of, so that other weights can be folded into them, and other rows left out.
    """

    log_prior: FloatArray
    bias: FloatArray
    terms: list[Term]
    loo: LeaveOneOut
    sources: Sequence[Source]
    bases: Sequence[Sequence[Basis]]
    indicators: Sequence[Indicator]
    prior: Prior
    fitted: Coefficients

    @property
    def speaks(self) -> bool:
        """Whether any cell of any column was ever known; else the prior answers."""
        return any_known(self.sources)

    @property
    def monotone(self) -> dict[int, int]:
        """The columns whose evidence only rises (1) or falls (-1) from the first to the second class."""
        return {column: source.monotone for source in self.sources if source.monotone for column in source.columns}

    @property
    def free_numeric_weights(self) -> AnyArray:
        """Which weights belong to the values of numeric columns that need not be monotone."""
        of_values = [np.full(source.n_weights, source.is_numeric and not source.monotone) for source in self.sources]
        return np.concatenate([*of_values, np.zeros(len(self.indicators), dtype=bool)])

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        return self.scores.log_proba(columns)

    @property
    def scores(self) -> Reweighted:
        """The scores that it gives, without what they were fitted on."""
        return Reweighted(self.log_prior + self.bias, self.terms)

    @property
    def counted(self) -> FloatArray:
        """1 for a term that is evidence in its own right, 0 for one that must earn its weight (terms,)."""
        return counted_terms(self.fitted.weights.shape[1], len(self.indicators))

    def left_out(self, columns: Sequence[Column], rows: FittedRows) -> Design:
        """Rows that were learnt, each as seen by estimates without what it gave."""
        told = (rows.codes, rows.weights, rows.removed)
        return left_out_design(self.sources, self.indicators, self.bases, self.prior, columns, *told)

    def reweighted(self, start: FloatArray, weights: FloatArray, effects: FloatArray) -> Reweighted:
        """The model with other coefficients, and the estimates that it has; the scores of nothing are `start`."""
        fitted = Coefficients(start, weights, effects)
        terms = [term for term in fold_terms(self.sources, self.bases, self.indicators, fitted) if not term.is_silent()]
        return Reweighted(start, terms)


def fit_additive(
    sources: Sequence[Source],
    prior: Prior,
    kept: Sequence[Column],
    rows: FittedRows,
    typical: FloatArray,
    candidates: Sequence[str],
    n_threads: int,
) -> AdditiveModel:
    """Weigh the evidence of the columns.

    Parameters
    ----------
    sources : sequence of Source
        What the columns say.
    prior : Prior
    kept : sequence of Column
        The cells of the rows that weights are fitted on.
    rows : FittedRows
        Their classes, weights and folds.
    typical : ndarray (classes,)
        What a row of each class typically weighs.
    candidates : sequence of str
        Which candidates are added up.
    n_threads : int
    """
    log_prior, codes, weights = prior.logs, rows.codes, rows.weights
    sources = list(in_order(lambda source: source.prepared(kept, rows, typical, log_prior), sources, n_threads))
    indicators = _missing_indicators(kept, sources, prior.class_weights, typical)
    enough = any_known(sources) and weights.sum() >= FEW_ROWS
    n_terms = sum(source.n_weights for source in sources)
    chosen = _affordable(candidates if enough else ["T"], len(log_prior), len(codes), n_terms)
    with_effects = any(candidate.effect_penalty is not None for candidate in chosen.values())
    n_classes, n_numeric = len(prior.class_weights), sum(len(one.columns) for one in sources if one.is_numeric)
    fine = n_classes * n_numeric * EFFECT_BINS <= EFFECTS_PER_ROW * len(codes)
    bases = [source.bases(kept, fine) if with_effects else [no_basis] * len(source.columns) for source in sources]
    without = Folds(rows.folds, weights) if len(codes) else None  # with no rows nothing is left out
    design = left_out_design(sources, indicators, bases, prior, kept, codes, weights, rows.removed, without, n_threads)
    design = design.at_temperature(fit_temperature(design))
    crossed, by_candidate = cross_fit(design, rows.folds, chosen, n_threads)
    temperature, left_out_prior = design.temperature, design.log_prior
    del design  # the largest of all, and of no more use
    shares = candidate_shares(crossed, codes, weights, left_out_prior)
    crossed_sum = log_softmax(summed(crossed, shares, left_out_prior))
    share = believed(crossed_sum.T, left_out_prior.T, codes, weights)
    fitted = mixed(list(by_candidate.values()), shares).believed(share)
    loo = LeaveOneOut(rows, tuple(chosen), temperature, _drawn_to_prior(crossed_sum, left_out_prior, share).T)
    terms = fold_terms(sources, bases, indicators, fitted)
    return AdditiveModel(log_prior, fitted.bias, terms, loo, sources, bases, indicators, prior, fitted)


def _drawn_to_prior(log_posterior: FloatArray, log_prior: FloatArray, share: float) -> FloatArray:
    """Log-posteriors (classes, rows), of which a share is believed beside the prior."""
    return log_posterior if share == 1.0 else log_softmax(log_prior + share * (log_posterior - log_prior))


def _affordable(candidates: Sequence[str], n_classes: int, n_rows: int, n_terms: int) -> dict[str, Candidate]:
    """The candidates to fit.

    Very many classes have no weights or effects of their own, which too few rows of each would tell; in very wide
    tables effects are drawn strongly to nothing or left out: there weak ridges have hardly any share, and most of the
    cost.
    """
    chosen = {name: CANDIDATES[name] for name in candidates}
    if n_classes > MOST_CLASSES:
        return {name: one for name, one in chosen.items() if one.effect_penalty is None} or {"W": CANDIDATES["W"]}
    if n_classes * n_rows * n_terms <= WIDE and n_terms <= max(n_rows, MANY_TERMS):
        return chosen
    return {name: one for name, one in chosen.items() if one.effect_penalty is None or one.deviation_penalty} or chosen


def any_known(sources: Sequence[Source]) -> bool:
    """Whether any cell of their columns was ever known."""
    return any(source.observed.any() for source in sources)


def left_out_design(
    sources: Sequence[Source],
    indicators: Sequence[Indicator],
    bases: Sequence[Sequence[Basis]],
    prior: Prior,
    columns: Sequence[Column],
    codes: IntArray,
    weights: FloatArray,
    removed: FloatArray,
    folds: Folds | None = None,
    n_threads: int = 1,
) -> Design:
    """Rows that were learnt, each as seen by estimates without what it gave, and by choices without its fold."""
    n_classes, n_values = len(prior.class_weights), sum(source.n_weights for source in sources)
    n_terms = n_values + len(indicators)
    n_cells = n_classes * len(codes) * n_terms
    dtype = np.float32 if n_cells > LARGE else np.float64
    if n_classes > MOST_CLASSES:  # term by term, as they come and as they are weighed
        evidence = np.moveaxis(np.empty((n_terms, len(codes), n_classes), dtype), (0, 2), (2, 0))
    else:
        evidence = np.empty((n_classes, len(codes), n_terms), dtype)
    place, at_once = 0, n_threads if n_classes <= MOST_CLASSES else 1  # of very many classes one column is much
    for parts in in_order(lambda source: source.leave_one_out(columns, codes, removed, folds), sources, at_once):
        evidence[:, :, place : place + len(parts)] = np.moveaxis(parts, 0, 2)
        place += len(parts)
    for index, (column, table) in enumerate(indicators, start=n_values):
        missing = is_missing(columns[column][1]).astype(np.int64)
        evidence[:, :, index] = table.leave_one_out(missing, codes, removed)

    def effects_of(source: Source, of_source: Sequence[Basis]) -> FloatArray:
        read = [basis(columns[column][1]) for column, basis in zip(source.columns, of_source, strict=True)]
        return side_by_side(read, len(codes), n_cells)

    effects = list(in_order(lambda pair: effects_of(*pair), zip(sources, bases, strict=True), n_threads))
    return Design(
        evidence=evidence,
        log_prior=prior.without(codes, removed).astype(dtype, copy=False),
        codes=codes,
        weights=weights,
        effects=side_by_side(effects, len(codes), n_cells),
        counted=counted_terms(n_terms, len(indicators)),
        penalty=np.full(n_terms, weight_penalty(n_terms)),
    )


def counted_terms(n_terms: int, n_indicators: int) -> FloatArray:
    """1 for a term that is evidence in its own right, 0 for one that must earn its weight: that a cell is missing."""
    return np.where(np.arange(n_terms) < n_terms - n_indicators, 1.0, 0.0)


def observed_weights(sources: Sequence[Source]) -> dict[int, FloatArray]:
    """The weight (classes,) of the known cells of each column."""
    return {column: source.observed[place] for source in sources for place, column in enumerate(source.columns)}


def _missing_indicators(
    kept: Sequence[Column], sources: Sequence[Source], class_weights: FloatArray, typical: FloatArray
) -> list[Indicator]:
    """The columns whose missing cells tell the class, one per pattern of missing rows."""
    seen: set[bytes] = set()
    result = []
    observed = observed_weights(sources)
    for index, (_, values) in enumerate(kept):
        missing = class_weights - observed[index]
        missing[missing < 1e-9 * class_weights] = 0.0
        # Equal counts in every class and equal rows among the kept ones: the same pattern.
        pattern = missing.tobytes() + np.packbits(is_missing(values)).tobytes()
        if not missing.any() or pattern in seen:
            continue
        seen.add(pattern)
        table = categories.missing_indicator(missing, class_weights, typical)
        if table is not None:
            result.append((index, table))
    return result


def fold_terms(
    sources: Sequence[Source],
    bases: Sequence[Sequence[Basis]],
    indicators: Sequence[Indicator],
    fitted: Coefficients,
) -> list[Term]:
    """Fold weights and value effects into the terms of the columns, and then of the missing cells."""
    terms: list[Term] = []
    place, effect = 0, 0
    for source, of_source in zip(sources, bases, strict=True):
        mine = slice(place, place + source.n_weights)
        n_effects = source.n_effects(of_source)
        effects = fitted.effects[:, effect : effect + n_effects]
        terms.extend(source.terms(fitted.weights[:, mine], effects, of_source))
        place, effect = mine.stop, effect + n_effects
    n_values = {term.column: term.table.shape[1] - 1 for term in terms if term.kind == "categorical"}
    for index, (column, indicator) in enumerate(indicators, start=place):
        table = fitted.weights[:, index, None] * indicator.table[:, :2]
        terms.append(Term("missing", column, np.empty(0), table, n_values=n_values.get(column)))
    return terms
