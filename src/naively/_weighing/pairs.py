"""Pair corrections: what two columns say together beyond what each says alone.

The correction of columns i and k is ``r(y) = log P(x_i, x_k | y) - log P(x_i | y) P(x_k | y)`` with the
joint shrunk to the product. It enters an additive model with a weight >= 0, so each correction is a
named table.

Two things keep it honest. A row leaves the joint counts but not the product under them: without the row
both marginals fall, the ratio would *rise* for the row's own class, and a positive weight could read the
class from that (on pure noise, ten codes per column, a gate of 2 nats let one table in four pass; with the
product frozen, one in ten or fewer). And left-out values are honest for a weight, but not for choosing
among thousands of pairs on the same rows, so the choice is repeated inside every cross-fitting fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from naively._kernels import repays_compiler
from naively._weighing.ande import OneParentModel
from naively._weighing.pair_counts import column_sums
from naively._weighing.softmax import Penalty, ScoreDesign, SoftmaxWeights, fit_softmax
from naively.typing import FloatArray, IntArray

SHRINKAGE = 10.0
PENALTY = 30.0
MIN_GAIN = 2.0
MAX_PAIRS = 128
# Numbers held at once while screening.
BLOCK_NUMBERS = 4_000_000


@dataclass(frozen=True)
class PairCorrections:
    """The log-ratio tables of all column pairs, from A1DE's counts and marginals.

    Attributes
    ----------
    model
        Bins and pair counts.
    marginal
        P(cell | class) (cells, classes), the factors of the product.
    pair_observed
        Weight with two columns observed (columns, columns, classes).
    log_ratio
        r (cells, cells, classes).
    """

    model: OneParentModel
    marginal: FloatArray
    pair_observed: FloatArray
    log_ratio: FloatArray

    def values(self, cells: IntArray, first: IntArray, second: IntArray) -> FloatArray:
        """Corrections (rows, classes, pairs) of some column pairs; 0 where a cell is missing."""
        left, right = cells[:, first], cells[:, second]
        present = (left >= 0) & (right >= 0)
        ratio = self.log_ratio[np.maximum(left, 0), np.maximum(right, 0)] * present[:, :, None]
        return np.ascontiguousarray(ratio.transpose(0, 2, 1))

    def loo_values(
        self, cells: IntArray, target: IntArray, weights: FloatArray, first: IntArray, second: IntArray
    ) -> FloatArray:
        """The same with each row left out of the joint counts of its class."""
        ratio = self.values(cells, first, second)
        own = self.own_values(cells, target, weights, first, second)
        ratio[np.arange(len(cells)), target] = own
        return ratio

    def own_values(
        self, cells: IntArray, target: IntArray, weights: FloatArray, first: IntArray, second: IntArray
    ) -> FloatArray:
        """Left-out corrections of the rows' own classes (rows, pairs); 0 where a cell is missing."""
        marginal = self.marginal[np.maximum(cells, 0), target[:, None]]
        left, right = cells[:, first], cells[:, second]
        present = (left >= 0) & (right >= 0)
        removed = weights[:, None]
        expected = marginal[:, first] * marginal[:, second]
        joint = self.model.counts.pairs[np.maximum(left, 0), np.maximum(right, 0), target[:, None]]
        both = self.pair_observed[first, second, target[:, None]]
        ratio = _log_ratio(np.maximum(joint - removed, 0.0), np.maximum(both - removed, 0.0), expected)
        return np.where(present, ratio, 0.0)


@dataclass(frozen=True)
class PairTerm:
    """One weighted correction, for explanations: columns and table (classes, codes of first, of second)."""

    first: int
    second: int
    weight: float
    table: FloatArray


@dataclass(frozen=True)
class PairFit:
    """An additive candidate refitted together with its chosen pairs.

    Attributes
    ----------
    first, second
        Column numbers of the chosen pairs.
    weights
        Weights of the candidate and, behind its shared columns, of the pairs.
    log_posterior
        Cross-fitted log-posteriors (rows, classes): choice and weights made without the row's fold.
    """

    first: IntArray
    second: IntArray
    weights: SoftmaxWeights
    log_posterior: FloatArray


def _log_ratio(joint: FloatArray, both: FloatArray, expected: FloatArray) -> FloatArray:
    ratio: FloatArray = np.log((joint + SHRINKAGE * expected) / ((both + SHRINKAGE) * expected))
    return ratio


def estimate_corrections(model: OneParentModel, marginal: FloatArray | None = None) -> PairCorrections:
    """Log-ratio tables of all pairs from the estimates of A1DE.

    ``marginal`` fixes the marginals, for a comparison with a refit on other rows.
    """
    marginal = model.marginal if marginal is None else marginal
    sizes = np.asarray(model.plan.sizes)
    pair_observed = column_sums(model.observed, model.plan, axis=0)
    spread = np.repeat(np.repeat(pair_observed, sizes, axis=0), sizes, axis=1)
    expected = marginal[:, None] * marginal[None]
    return PairCorrections(model, marginal, pair_observed, _log_ratio(model.counts.pairs, spread, expected))


def screen(
    corrections: PairCorrections,
    cells: IntArray,
    target: IntArray,
    weights: FloatArray,
    proba: FloatArray,
    row_weights: FloatArray,
) -> FloatArray:
    """Score test of every pair against several fitted models.

    Parameters
    ----------
    cells, target, weights
        Rows, their classes and sample weights.
    proba, row_weights
        Probabilities (models, rows, classes) and the weight of each row (models, rows).

    Returns
    -------
    Expected gain in nats (models, pairs) of a small positive weight; 0 if the slope is not positive.
    Pairs are in the order of ``np.triu_indices(columns, 1)``.
    """
    first, second = (index.astype(np.int64) for index in np.triu_indices(cells.shape[1], 1))
    slope, curvature = np.zeros((2, len(proba), len(first)))
    n_rows, n_classes = proba.shape[1:]
    block = max(1, BLOCK_NUMBERS // (n_rows * n_classes))
    compiled = repays_compiler(proba.size * len(first))
    for start in range(0, len(first), block):
        part = slice(start, start + block)
        own = corrections.own_values(cells, target, weights, first[part], second[part])
        arguments = (cells, first[part], second[part], target, own, corrections.log_ratio, proba, row_weights)
        if compiled:
            from naively._kernels import dependence as kernels

            kernels.screen_pairs(*arguments, slope[:, part], curvature[:, part])
        else:
            slope[:, part], curvature[:, part] = screen_reference(*arguments)
    return np.where(slope > 0, slope**2 / (2 * (curvature + 1.0)), 0.0)


def screen_reference(
    cells: IntArray,
    first: IntArray,
    second: IntArray,
    own: IntArray,
    log_own_ratio: FloatArray,
    log_ratio: FloatArray,
    proba: FloatArray,
    row_weights: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """`kernels.screen_pairs` in plain NumPy: slope and curvature (models, pairs)."""
    left, right = cells[:, first], cells[:, second]
    ratio = log_ratio[np.maximum(left, 0), np.maximum(right, 0)] * ((left >= 0) & (right >= 0))[:, :, None]
    ratio[np.arange(len(cells)), :, own] = log_own_ratio
    by_row = proba.transpose(1, 0, 2)
    mean = by_row @ ratio.transpose(0, 2, 1)
    square = by_row @ (ratio**2).transpose(0, 2, 1)
    slope = row_weights @ log_own_ratio - np.einsum("fn,nfq->fq", row_weights, mean)
    curvature = np.einsum("fn,nfq->fq", row_weights, square - mean**2)
    return slope, curvature


def choose(gains: FloatArray, n_columns: int) -> IntArray:
    """The pairs worth more than `MIN_GAIN`, the best first, at most ``min(128, max(10, 2 columns))``."""
    limit = min(MAX_PAIRS, max(10, 2 * n_columns))
    best = np.argsort(-gains, kind="stable")[:limit]
    return best[gains[best] > MIN_GAIN]


def fit_pairs(
    corrections: PairCorrections,
    cells: IntArray,
    target: IntArray,
    weights: FloatArray,
    removed: FloatArray,
    folds: IntArray,
    candidate: ScoreDesign,
    penalty: Penalty,
) -> PairFit | None:
    """Choose pairs for an additive candidate and refit it with them, cross-fitted with the choice.

    Parameters
    ----------
    corrections
        Tables of all pairs.
    cells, target, weights, removed, folds
        The kept rows, in the columns of the corrections; ``removed`` is what each gave to the counts.
    candidate, penalty
        Design of the candidate on the same rows, and its penalties.

    Returns
    -------
    The fit, or ``None`` if no pair is worth a weight.
    """
    problem = _PairProblem(corrections, cells, target, removed, candidate, penalty)
    plain = fit_softmax(*_used(candidate, target, weights), penalty)
    chosen = problem.choose([plain], [weights])[0]
    if len(chosen) == 0:
        return None
    fitted = problem.refit(chosen, weights, plain)
    # The problems are convex: starting from the fit to all rows saves time and tells the folds nothing.
    fold_weights = [weights * (folds != fold) for fold in np.unique(folds)]
    fold_plain = [fit_softmax(*_used(candidate, target, used), penalty, start=plain) for used in fold_weights]
    log_posterior = np.empty_like(candidate.offset)
    for fold, used, start, fold_chosen in zip(
        np.unique(folds), fold_weights, fold_plain, problem.choose(fold_plain, fold_weights), strict=True
    ):
        held_out = np.flatnonzero(folds == fold)
        fold_fitted = problem.refit(fold_chosen, used, start)
        log_posterior[held_out] = fold_fitted.log_proba(problem.design(fold_chosen, held_out))
    return PairFit(problem.first[chosen], problem.second[chosen], fitted, log_posterior)


@dataclass(frozen=True)
class _PairProblem:
    """The kept rows and the candidate that pairs are chosen for."""

    corrections: PairCorrections
    cells: IntArray
    target: IntArray
    weights: FloatArray
    candidate: ScoreDesign
    penalty: Penalty

    @property
    def first(self) -> IntArray:
        return np.triu_indices(self.cells.shape[1], 1)[0].astype(np.int64)

    @property
    def second(self) -> IntArray:
        return np.triu_indices(self.cells.shape[1], 1)[1].astype(np.int64)

    def choose(self, plain: Sequence[SoftmaxWeights], row_weights: Sequence[FloatArray]) -> list[IntArray]:
        """The pairs that each plain fit misses most, on the rows it was fitted to."""
        proba = np.exp(np.stack([fitted.log_proba(self.candidate) for fitted in plain]))
        gains = screen(self.corrections, self.cells, self.target, self.weights, proba, np.stack(row_weights))
        return [choose(one, self.cells.shape[1]) for one in gains]

    def design(self, chosen: IntArray, rows: IntArray) -> ScoreDesign:
        """The candidate with the chosen pairs, for some rows."""
        values = self.corrections.loo_values(
            self.cells[rows], self.target[rows], self.weights[rows], self.first[chosen], self.second[chosen]
        )
        return self.candidate.rows(rows).with_shared(values)

    def refit(self, chosen: IntArray, row_weights: FloatArray, plain: SoftmaxWeights) -> SoftmaxWeights:
        """The candidate's weights together with those of the chosen pairs."""
        rows = np.flatnonzero(row_weights > 0)
        penalty = self.penalty.with_shared(len(chosen), PENALTY)
        start = plain.with_shared(len(chosen))
        return fit_softmax(self.design(chosen, rows), self.target[rows], row_weights[rows], penalty, start)


def _used(design: ScoreDesign, target: IntArray, row_weights: FloatArray) -> tuple[ScoreDesign, IntArray, FloatArray]:
    rows = np.flatnonzero(row_weights > 0)
    return design.rows(rows), target[rows], row_weights[rows]


def pair_terms(corrections: PairCorrections, fit: PairFit, column_numbers: Sequence[int]) -> list[PairTerm]:
    """The chosen corrections with their weights and tables, the heaviest first.

    ``column_numbers`` are the numbers of the corrections' columns in the user's table.
    """
    plan = corrections.model.plan
    pair_weights = fit.weights.shared[len(fit.weights.shared) - len(fit.first) :]
    cell = [slice(int(start), int(start + size)) for start, size in zip(plan.offsets, plan.sizes, strict=True)]
    terms = [
        PairTerm(
            column_numbers[i],
            column_numbers[k],
            float(weight),
            weight * corrections.log_ratio[cell[i], cell[k]].transpose(2, 0, 1),
        )
        for i, k, weight in zip(fit.first.tolist(), fit.second.tolist(), pair_weights, strict=True)
        if weight > 0
    ]
    return sorted(terms, key=lambda term: -term.weight)
