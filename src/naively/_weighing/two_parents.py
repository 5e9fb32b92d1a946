"""Averaged two-dependence estimator (A2DE; Webb et al. 2012) with back-off and exact leave-one-out.

Every pair of columns in turn is the parent of all others; an estimate with few rows backs off to the
mean of the two one-parent estimates of `ande`. For few columns and small bins only: see `is_affordable`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from scipy.special import logsumexp

from naively._kernels import repays_compiler
from naively._weighing.ande import (
    BACK_OFF,
    BLOCK_NUMBERS,
    SEEN,
    LeftOut,
    OneParentModel,
    estimate_one_parent,
    in_blocks,
    leave_out,
    nothing_left_out,
    one_parent_scores,
)
from naively._weighing.discretise import BinPlan
from naively._weighing.pair_counts import TripleCounts, column_sums, triple_starts
from naively.typing import AnyArray, FloatArray, IntArray

MAX_COLUMNS = 24
MAX_TABLE = 4e7


def is_affordable(plan: BinPlan, n_classes: int) -> bool:
    """Whether the triples of a plan are few enough; below three columns there are none."""
    return 3 <= len(plan.sizes) <= MAX_COLUMNS and n_classes * float(plan.n_cells) ** 3 <= MAX_TABLE


@dataclass(frozen=True)
class TwoParentModel:
    """A2DE: estimates from triple counts.

    Attributes
    ----------
    one
        The one-parent estimates on the same bins, to back off to.
    counts
        Statistics.
    observed
        Weight of a cell pair with a column observed (cells, cells, columns, classes); filled for
        pairs whose first column comes first.
    pair_observed
        Weight with two columns observed (columns, columns, classes).
    log_joint
        log P(cell pair | class) (cells, cells, classes).
    log_conditional
        log P(child | class, two parents), packed as the triples are (triple cells, child, classes);
        the child is the last, the middle, the first column of the triple in turn.
    """

    one: OneParentModel
    counts: TripleCounts
    observed: FloatArray
    pair_observed: FloatArray
    log_joint: FloatArray
    log_conditional: FloatArray

    def scores(self, codes: IntArray) -> FloatArray:
        """Log-joint scores (rows, classes), up to the number of parent pairs."""
        cells = self._cells(codes)
        return in_blocks(
            lambda part: two_parent_scores(
                self, codes[part], cells[part], nothing_left_out(self.one, len(cells[part]))
            ),
            len(codes),
            self._block(codes),
        )

    def loo_scores(self, codes: IntArray, target: IntArray, weights: FloatArray) -> FloatArray:
        """The scores that each row would get from a model fitted without it."""
        cells = self._cells(codes)
        return in_blocks(
            lambda part: two_parent_scores(
                self, codes[part], cells[part], leave_out(self.one, cells[part], target[part], weights[part])
            ),
            len(codes),
            self._block(codes),
        )

    def _cells(self, codes: IntArray) -> IntArray:
        return np.where(codes < 0, -1, codes + self.one.plan.offsets)

    def _block(self, codes: IntArray) -> int:
        return max(1, BLOCK_NUMBERS // int(codes.shape[1]) ** 3)


def estimate_two_parents(counts: TripleCounts, plan: BinPlan, measure: FloatArray | None = None) -> TwoParentModel:
    """Estimates of A2DE from merged counts; ``measure`` as in `estimate_one_parent`."""
    one = estimate_one_parent(counts.base, plan, measure)
    sizes, offsets = np.asarray(plan.sizes, dtype=np.int64), plan.offsets
    starts = triple_starts(sizes)
    n_classes = counts.triples.shape[1]
    observed = np.zeros((plan.n_cells, plan.n_cells, len(sizes), n_classes))
    log_conditional = np.empty((len(counts.triples), 3, n_classes))
    cell = [slice(int(start), int(start + size)) for start, size in zip(offsets, sizes, strict=True)]
    given = one.conditional
    for t, (i, k, m) in enumerate(combinations(range(len(sizes)), 3)):
        u, v, w = cell[i], cell[k], cell[m]
        packed = slice(int(starts[t]), int(starts[t + 1]))
        block = counts.triples[packed].reshape(sizes[i], sizes[k], sizes[m], n_classes)
        observed[u, v, m] = block.sum(axis=2)
        observed[u, w, k] = block.sum(axis=1)
        observed[v, w, i] = block.sum(axis=0)
        last = (given[u, w][:, None] + given[v, w][None]) / 2
        middle = (given[u, v][:, :, None] + given[w, v].transpose(1, 0, 2)[None]) / 2
        first = (given[v, u].transpose(1, 0, 2)[:, :, None] + given[w, u].transpose(1, 0, 2)[:, None]) / 2
        for role, (back_off, axis) in enumerate(((last, 2), (middle, 1), (first, 0))):
            estimate = (block + BACK_OFF * back_off) / (block.sum(axis=axis, keepdims=True) + BACK_OFF)
            log_conditional[packed, role] = estimate.reshape(-1, n_classes)
    np.log(log_conditional, out=log_conditional)
    pair_observed = column_sums(one.observed, plan, axis=0)
    expected = one.marginal[:, None] * one.marginal[None]
    spread = np.repeat(np.repeat(pair_observed, sizes, axis=0), sizes, axis=1)
    log_joint = np.log((counts.base.pairs + BACK_OFF * expected) / (spread + BACK_OFF))
    return TwoParentModel(one, counts, observed, pair_observed, log_joint, log_conditional)


@dataclass(frozen=True)
class _OwnClass:
    """Log-probabilities of each row's own class without the row: none when no row is left out."""

    log_joint: FloatArray
    log_conditional: FloatArray


def _own_class(model: TwoParentModel, codes: IntArray, cells: IntArray, left: LeftOut) -> _OwnClass:
    """The left-out numbers of the own class: pairs (rows, pairs) and triples (rows, triples, child)."""
    n_columns = codes.shape[1]
    if not np.any(left.own >= 0):
        n_pairs, n_triples = comb(n_columns, 2), comb(n_columns, 3)
        return _OwnClass(np.empty((0, n_pairs)), np.empty((0, n_triples, 3)))
    sizes = np.asarray(model.one.plan.sizes, dtype=np.int64)
    seen, code = np.maximum(cells, 0), np.maximum(codes, 0)
    own, removed = left.own[:, None], left.weights[:, None]
    first, second = np.triu_indices(n_columns, 1)
    expected = left.marginal[:, first] * left.marginal[:, second]
    pair = np.maximum(model.counts.base.pairs[seen[:, first], seen[:, second], own] - removed, 0.0)
    both = np.maximum(model.pair_observed[first, second, own] - removed, 0.0)
    log_joint = np.log((pair + BACK_OFF * expected) / (both + BACK_OFF))

    i, k, m = (np.array(index, dtype=np.int64) for index in zip(*combinations(range(n_columns), 3), strict=True))
    position = triple_starts(sizes)[:-1] + (code[:, i] * sizes[k] + code[:, k]) * sizes[m] + code[:, m]
    triple = np.maximum(model.counts.triples[position, own] - removed, 0.0)
    log_conditional = np.empty((len(codes), len(i), 3))
    for role, (left_parent, right_parent, child) in enumerate(((i, k, m), (i, m, k), (k, m, i))):
        back_off = (left.conditional[:, left_parent, child] + left.conditional[:, right_parent, child]) / 2
        weight = model.observed[seen[:, left_parent], seen[:, right_parent], child, own]
        log_conditional[:, :, role] = (triple + BACK_OFF * back_off) / (np.maximum(weight - removed, 0.0) + BACK_OFF)
    return _OwnClass(log_joint, np.log(log_conditional, out=log_conditional))


def two_parent_scores(model: TwoParentModel, codes: IntArray, cells: IntArray, left: LeftOut) -> FloatArray:
    """Scores of A2DE, by the kernel where the work repays it."""
    n_rows, n_columns = codes.shape
    first, second = np.triu_indices(n_columns, 1)
    seen = np.maximum(cells, 0)
    totals = model.counts.base.pairs.sum(axis=2)[seen[:, first], seen[:, second]] - left.weights[:, None]
    is_parent = (cells[:, first] >= 0) & (cells[:, second] >= 0) & (totals > SEEN)
    own = _own_class(model, codes, cells, left)
    without = ~is_parent.any(axis=1)
    fallback = one_parent_scores(model.one, cells, left) if without.any() else np.zeros_like(left.log_prior)
    if not repays_compiler(n_rows * n_columns**3 * left.log_prior.shape[1]):
        return two_parent_scores_reference(model, codes, left, own, is_parent, fallback)
    from naively._kernels import dependence as kernels

    sizes = np.asarray(model.one.plan.sizes, dtype=np.int64)
    scores = np.empty_like(left.log_prior)
    kernels.score_two_parents(
        np.ascontiguousarray(codes),
        model.one.plan.offsets,
        sizes,
        triple_starts(sizes),
        left.own,
        own.log_joint,
        own.log_conditional,
        left.log_prior,
        model.log_joint,
        model.log_conditional,
        is_parent,
        fallback,
        scores,
    )
    return scores


def two_parent_scores_reference(
    model: TwoParentModel, codes: IntArray, left: LeftOut, own: _OwnClass, is_parent: AnyArray, fallback: FloatArray
) -> FloatArray:
    """`kernels.score_two_parents` in plain NumPy: a step per triple of columns over all rows."""
    n_columns = codes.shape[1]
    sizes, offsets = np.asarray(model.one.plan.sizes, dtype=np.int64), model.one.plan.offsets
    starts = triple_starts(sizes)
    row = np.flatnonzero(left.own >= 0)
    own_class = left.own[row]
    code = np.maximum(codes, 0)
    pair_number = {pair: number for number, pair in enumerate(combinations(range(n_columns), 2))}
    terms = np.empty((len(pair_number), *left.log_prior.shape))
    for (i, k), pair in pair_number.items():
        log_joint = model.log_joint[offsets[i] + code[:, i], offsets[k] + code[:, k]]
        log_joint[row, own_class] = own.log_joint[:, pair]
        terms[pair] = np.where(is_parent[:, pair, None], left.log_prior + log_joint, -np.inf)
    for t, (i, k, m) in enumerate(combinations(range(n_columns), 3)):
        position = starts[t] + (code[:, i] * sizes[k] + code[:, k]) * sizes[m] + code[:, m]
        present = (codes[:, i] >= 0) & (codes[:, k] >= 0) & (codes[:, m] >= 0)
        conditional = model.log_conditional[position]
        conditional[row, :, own_class] = own.log_conditional[:, t]
        for role, parents in enumerate(((i, k), (i, m), (k, m))):
            terms[pair_number[parents]] += np.where(present[:, None], conditional[:, role], 0.0)
    without = ~is_parent.any(axis=1)
    terms[0][without] = fallback[without]
    scores: FloatArray = logsumexp(terms, axis=0)
    return scores
