"""Categorical columns: m-estimates toward the marginal, stacked. A value that no other row has gives no evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from naively.families._stacking import Folds, mixed_evidence, mixture_shares
from naively.smoothing import Smoothing
from naively.typing import AnyArray, FloatArray, IntArray, Label

PRIOR_SMOOTHING = 1.0
LEAST_PRIOR_COUNT = 1e-3
MISSING_GAIN = 5.0  # nats

STACK_COUNTS = np.array([0.05, 0.15, 0.8])
"""Pseudo-counts of the estimates in their mixture: one pseudo-row, as many as values, any number, which says nothing.
Their sum is small beside any row; their ratios count where no left-out row can tell, as with values seen once."""


@dataclass(frozen=True)
class CategoryTable:
    """What the values of one categorical column say: a mixture of m-estimates, as of densities in a numeric column.

    Parameters
    ----------
    counts : float64 array (classes, values)
    pseudo_rows : tuple of float
        The number of pseudo-rows, spread like the marginal, of each estimate; an infinite one is the last.
    """

    counts: FloatArray
    pseudo_rows: tuple[float, ...]

    @cached_property
    def class_counts(self) -> FloatArray:
        """The weight of the rows of each class (classes,)."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def marginal(self) -> FloatArray:
        """The share of each value in the pseudo-rows (values,)."""
        return np.asarray((self.counts.sum(axis=0) + 1) / (self.counts.sum() + self.counts.shape[1]))

    @cached_property
    def likelihood(self) -> FloatArray:
        """The probability of each value under each estimate (estimates, classes, values)."""
        return self._smoothed(self.counts, self.counts.sum(axis=1, keepdims=True), self.marginal)

    def _smoothed(self, counts: FloatArray, rows: FloatArray, marginal: FloatArray) -> FloatArray:
        estimates = [(counts + m * marginal) / (rows + m) for m in self.pseudo_rows if m < np.inf]
        if len(estimates) < len(self.pseudo_rows):
            estimates.append(np.broadcast_to(marginal, estimates[0].shape))
        return np.stack(estimates)

    def _own(self, codes: IntArray, values: IntArray, removed: FloatArray | float = 1.0) -> FloatArray:
        """The probability of values under the classes of rows that are left out (estimates, rows)."""
        left = np.maximum(self.counts[codes, values] - removed, 0.0)
        rows = np.maximum(self.class_counts[codes] - removed, 0.0)
        return self._smoothed(left, rows, self.marginal[values])

    @cached_property
    def _pairs(self) -> tuple[tuple[IntArray, IntArray], FloatArray]:
        """The (class, value) of rows whose value others have, and their left-out P(class) under each estimate."""
        codes, values = np.nonzero((self.counts > 0) & ~self._single)
        prior = (self.counts.sum(axis=1) + 1)[:, None]
        odds, own = prior * self.likelihood[:, :, values], prior[codes, 0] * self._own(codes, values)
        return (codes, values), own / (odds.sum(axis=1) - odds[:, codes, np.arange(len(codes))] + own)

    @cached_property
    def _single(self) -> AnyArray:
        """Whether a value is known from one row at most (values,): without it, it was never seen."""
        return np.asarray(self.counts.sum(axis=0) <= 1)

    def _shares(self, counts: FloatArray) -> FloatArray:
        """The shares (..., estimates) that rows with counts (..., classes, values) give."""
        if len(self.pseudo_rows) == 1:
            return np.ones(1)
        (codes, values), posterior = self._pairs
        return mixture_shares(posterior, counts[..., codes, values], STACK_COUNTS)

    @cached_property
    def table(self) -> FloatArray:
        """Evidence of each value, centred over the classes, and of one never seen, which is 0 (classes, values + 1)."""
        evidence = mixed_evidence(self._shares(self.counts), self.likelihood)
        return np.column_stack([evidence, np.zeros(len(evidence))])

    def evidence(self, values: IntArray) -> FloatArray:
        """Return the centred evidence (classes, n) of value codes (n,); -1 is missing and gives none."""
        return look_up(self.table, values)

    def leave_one_out(
        self, values: IntArray, codes: IntArray, removed: FloatArray, folds: Folds | None = None
    ) -> FloatArray:
        """Return the centred evidence (classes, rows) of training rows, each without the weight that it gave.

        Where folds are given, the shares of the estimates are those that the rows of other folds give.
        """
        likelihood = self.likelihood[:, :, values]
        likelihood[:, codes, np.arange(len(values))] = self._own(codes, values, removed)
        shares = self._shares(self.counts)
        if folds is not None and len(self.pseudo_rows) > 1:
            gone = folds.tables(codes, values, self.counts.shape)
            shares = self._shares(np.maximum(self.counts - gone, 0.0))[folds.of_rows].T
        result = mixed_evidence(shares, likelihood)
        others = self.counts.sum(axis=0)[values] - removed > 1e-9 * removed
        return np.where((values >= 0) & others, result, 0.0)


def look_up(table: FloatArray, values: IntArray) -> FloatArray:
    """Read ``table`` (classes, values + 1) at value codes (n,): past the end is unseen, -1 is missing and 0."""
    unseen = table.shape[1] - 1
    return np.where(values >= 0, table[:, np.minimum(values, unseen)], 0.0)


def estimate(counts: FloatArray) -> CategoryTable:
    """Estimate what each value says from ``counts`` (classes, values), by one pseudo-row."""
    return CategoryTable(counts, (1.0,))


def stacked(counts: FloatArray) -> CategoryTable:
    """The estimates with one pseudo-row, with as many as values, and with any number, mixed as left-out rows say."""
    return CategoryTable(counts, (1.0, float(max(counts.shape[1], 1)), np.inf))


def prior_pseudo_counts(class_weights: FloatArray, smoothing: Smoothing, labels: Sequence[Label]) -> FloatArray:
    """What the smoothing of the prior adds to each class (classes,).

    Not below `LEAST_PRIOR_COUNT`: the score of a class whose prior is 0 could not be weighed.
    """
    added = np.broadcast_to(smoothing.pseudo_counts(class_weights[None], labels), (1, len(class_weights)))[0]
    return np.asarray(np.maximum(added, LEAST_PRIOR_COUNT))


def log_prior(class_weights: FloatArray, added: FloatArray | float = PRIOR_SMOOTHING) -> FloatArray:
    """Return the smoothed log prior (classes,)."""
    smoothed = class_weights + added
    return np.asarray(np.log(smoothed / smoothed.sum()))


def leave_one_out_log_prior(
    class_weights: FloatArray,
    codes: IntArray,
    added: FloatArray | float = PRIOR_SMOOTHING,
    removed: FloatArray | float = 1.0,
) -> FloatArray:
    """Return the log prior (classes, rows) without the weight that each row gave."""
    added = np.broadcast_to(added, class_weights.shape)
    smoothed = class_weights + added
    own = np.maximum(class_weights[codes] - removed, 0.0) + added[codes]
    total = np.log(smoothed.sum() - smoothed[codes] + own)
    result = np.log(smoothed)[:, None] - total
    result[codes, np.arange(len(codes))] = np.log(own) - total
    return np.asarray(result)


def missing_indicator(missing: FloatArray, class_weights: FloatArray, typical: FloatArray) -> CategoryTable | None:
    """Estimate whether a missing cell tells the class: a table of (observed, missing), or None if it does not pay.

    It pays if the leave-one-out log-likelihood of the classes given the indicator exceeds that given the prior by
    more than `MISSING_GAIN`. It needs counts only.

    Parameters
    ----------
    missing, class_weights, typical : float64 arrays (classes,)
        Weight of the rows of each class in which the cell is missing, of all its rows, and typically of one.
    """
    counts = np.column_stack([class_weights - missing, missing])
    if not (counts.sum(axis=0) > 0).all():
        return None
    table = estimate(counts)
    codes, states = np.nonzero(counts > 0)
    prior = leave_one_out_log_prior(class_weights, codes, removed=typical[codes])
    score = prior + table.leave_one_out(states, codes, typical[codes])
    pairs = np.arange(len(codes))
    gain = score[codes, pairs] - np.log(np.exp(score).sum(axis=0)) - prior[codes, pairs]
    return table if float(counts[codes, states] @ gain) > MISSING_GAIN else None
