"""Averaged one-dependence estimator (A1DE) with back-off, exact leave-one-out and missing cells.

Every column in turn is the parent of all others, and the joint probabilities are averaged (Webb,
Boughton and Wang 2005). An estimate with few rows backs off to the one without a parent. A missing cell
is neither a parent nor a child, and a denominator counts the rows where parent and child are both
observed. `two_parents` does the same with pairs of parents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from naively._kernels import repays_compiler
from naively._weighing.discretise import BinPlan
from naively._weighing.pair_counts import PairCounts, base_measure, column_sums
from naively.typing import AnyArray, FloatArray, IntArray

BACK_OFF = 2.0
MARGINAL_BACK_OFF = 1.0
PRIOR_PSEUDO_COUNT = 1.0
# A parent must have been seen; anything above rounding counts, so that decayed weights work too.
SEEN = 1e-9
# Numbers held at once for the rows left out.
BLOCK_NUMBERS = 4_000_000


@dataclass(frozen=True)
class LeftOut:
    """What changes when each row is left out: its class, and that class' numbers without the row.

    For plain scoring ``own`` is -1 everywhere and nothing is replaced.
    """

    own: IntArray
    weights: FloatArray
    log_prior: FloatArray
    marginal: FloatArray
    conditional: FloatArray


@dataclass(frozen=True)
class OneParentModel:
    """A1DE: estimates from pair counts.

    Attributes
    ----------
    plan, counts, measure
        Bins, statistics and the class-free probability of each cell.
    marginal
        P(cell | class) (cells, classes).
    observed
        Weight of a cell with a column observed (cells, columns, classes).
    conditional
        P(child cell | class, parent cell) (parent cells, child cells, classes).
    """

    plan: BinPlan
    counts: PairCounts
    measure: FloatArray
    marginal: FloatArray
    observed: FloatArray
    conditional: FloatArray
    log_conditional: FloatArray

    def scores(self, cells: IntArray) -> FloatArray:
        """Log-joint scores (rows, classes), up to the number of parents, which all classes share."""
        return one_parent_scores(self, cells, nothing_left_out(self, len(cells)))

    def loo_scores(self, cells: IntArray, target: IntArray, weights: FloatArray) -> FloatArray:
        """The scores that each row would get from a model fitted without it."""
        block = max(1, BLOCK_NUMBERS // cells.shape[1] ** 2)
        return in_blocks(
            lambda part: one_parent_scores(
                self, cells[part], leave_out(self, cells[part], target[part], weights[part])
            ),
            len(cells),
            block,
        )


def estimate_one_parent(counts: PairCounts, plan: BinPlan, measure: FloatArray | None = None) -> OneParentModel:
    """Estimates of A1DE from merged counts.

    ``measure`` fixes the base measure, for a comparison with a refit on other rows.
    """
    measure = base_measure(counts, plan) if measure is None else measure
    singles = counts.singles
    sizes = np.asarray(plan.sizes)
    column_weights = np.repeat(column_sums(singles, plan, axis=0), sizes, axis=0)
    marginal = (singles + MARGINAL_BACK_OFF * measure[:, None]) / (column_weights + MARGINAL_BACK_OFF)
    observed = column_sums(counts.pairs, plan, axis=1)
    conditional = (counts.pairs + BACK_OFF * marginal) / (np.repeat(observed, sizes, axis=1) + BACK_OFF)
    return OneParentModel(plan, counts, measure, marginal, observed, conditional, np.log(conditional))


def leave_out_marginals(model: OneParentModel, cells: IntArray, target: IntArray, weights: FloatArray) -> FloatArray:
    """P(x_i | own class) of each row without the row (rows, columns)."""
    seen = np.maximum(cells, 0)
    removed = weights[:, None]
    own = np.maximum(model.counts.singles[seen, target[:, None]] - removed, 0.0)
    columns_seen = column_sums(model.counts.singles, model.plan, axis=0)[:, target].T
    return (own + MARGINAL_BACK_OFF * model.measure[seen]) / (
        np.maximum(columns_seen - removed, 0.0) + MARGINAL_BACK_OFF
    )


def leave_out(model: OneParentModel, cells: IntArray, target: IntArray, weights: FloatArray) -> LeftOut:
    """Prior, marginals and conditionals of each row's own class without the row."""
    seen = np.maximum(cells, 0)
    row = np.arange(len(cells))
    marginal = leave_out_marginals(model, cells, target, weights)
    own_pair = model.counts.pairs[seen[:, :, None], seen[:, None, :], target[:, None, None]]
    own_observed = model.observed[seen, :, target[:, None]]
    removed = weights[:, None, None]
    conditional = (np.maximum(own_pair - removed, 0.0) + BACK_OFF * marginal[:, None, :]) / (
        np.maximum(own_observed - removed, 0.0) + BACK_OFF
    )
    prior = np.repeat(model.counts.class_weights[None, :] + PRIOR_PSEUDO_COUNT, len(cells), axis=0)
    prior[row, target] = np.maximum(prior[row, target] - weights, PRIOR_PSEUDO_COUNT)
    log_prior = np.log(prior / prior.sum(axis=1, keepdims=True))
    return LeftOut(target, weights, log_prior, marginal, conditional)


def nothing_left_out(model: OneParentModel, n_rows: int) -> LeftOut:
    """The prior for plain scoring."""
    prior = model.counts.class_weights + PRIOR_PSEUDO_COUNT
    log_prior = np.repeat(np.log(prior / prior.sum())[None, :], n_rows, axis=0)
    nobody = np.full(n_rows, -1, dtype=np.int64)
    n_columns = len(model.plan.sizes)
    nothing = np.empty((0, n_columns)), np.empty((0, n_columns, n_columns))
    return LeftOut(nobody, np.zeros(n_rows), log_prior, *nothing)


def one_parent_scores(model: OneParentModel, cells: IntArray, left: LeftOut) -> FloatArray:
    """Scores of A1DE, by the kernel where the work repays it."""
    totals = model.counts.singles.sum(axis=1)[np.maximum(cells, 0)] - left.weights[:, None]
    is_parent = (cells >= 0) & (totals > SEEN)
    n_classes = left.log_prior.shape[1]
    if not repays_compiler(cells.size * cells.shape[1] * n_classes):
        return one_parent_scores_reference(model, cells, left, is_parent)
    from naively._kernels import dependence as kernels

    scores = np.empty_like(left.log_prior)
    kernels.score_one_parent(
        np.ascontiguousarray(cells),
        left.own,
        np.log(left.marginal),
        np.log(left.conditional),
        left.log_prior,
        np.log(model.marginal),
        model.log_conditional,
        is_parent,
        scores,
    )
    return scores


def one_parent_scores_reference(
    model: OneParentModel, cells: IntArray, left: LeftOut, is_parent: AnyArray
) -> FloatArray:
    """`kernels.score_one_parent` in plain NumPy: one gather per parent column."""
    n_columns = cells.shape[1]
    seen = np.maximum(cells, 0)
    row = np.flatnonzero(left.own >= 0)
    own = left.own[row]
    present = cells >= 0
    marginal = np.log(model.marginal)[seen]
    marginal[row, :, own] = np.log(left.marginal)
    terms = np.full((n_columns, *left.log_prior.shape), -np.inf)
    for parent in range(n_columns):
        conditional = model.log_conditional[seen[:, parent, None], seen]
        conditional[row, :, own] = np.log(left.conditional[:, parent])
        child = present.copy()
        child[:, parent] = False
        sums = np.einsum("nkj,nk->nj", conditional, child.astype(np.float64))
        terms[parent] = np.where(is_parent[:, parent, None], left.log_prior + marginal[:, parent] + sums, -np.inf)
    naive = left.log_prior + np.einsum("nkj,nk->nj", marginal, present.astype(np.float64))
    without = ~is_parent.any(axis=1)
    terms[0][without] = naive[without]
    scores: FloatArray = logsumexp(terms, axis=0)
    return scores


def in_blocks(score: Callable[[slice], FloatArray], n_rows: int, block: int) -> FloatArray:
    """Score the rows block by block: what is held per row is large, the result is small."""
    parts = [score(slice(start, start + block)) for start in range(0, max(n_rows, 1), block)]
    return np.concatenate(parts)
