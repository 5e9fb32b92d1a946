"""Categorical columns: an m-estimate toward the marginal. A value that was never seen gives no evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from naively.families._stacking import centred
from naively.smoothing import Smoothing
from naively.typing import FloatArray, IntArray, Label

PSEUDO_ROWS = 1.0
PRIOR_SMOOTHING = 1.0
LEAST_PRIOR_COUNT = 1e-3
MISSING_GAIN = 5.0  # nats


@dataclass(frozen=True)
class CategoryTable:
    """Log-likelihoods of the values of one categorical column.

    Parameters
    ----------
    full : float64 array (classes, values)
        Log-likelihood of each value.
    own : float64 array (classes, values)
        Log-likelihood under the row's own class, with the row removed.
    """

    full: FloatArray
    own: FloatArray

    @property
    def table(self) -> FloatArray:
        """Evidence of each value, centred over the classes, and of one never seen, which is 0 (classes, values + 1)."""
        return np.column_stack([centred(self.full), np.zeros(len(self.full))])

    def evidence(self, values: IntArray) -> FloatArray:
        """Return the centred evidence (classes, n) of value codes (n,); -1 is missing and gives none."""
        return look_up(self.table, values)

    def leave_one_out(self, values: IntArray, codes: IntArray) -> FloatArray:
        """Return the centred evidence (classes, rows) of training rows, each with itself removed."""
        result = self.full[:, values]
        result[codes, np.arange(len(values))] = self.own[codes, values]
        return np.where(values >= 0, centred(result), 0.0)


def look_up(table: FloatArray, values: IntArray) -> FloatArray:
    """Read ``table`` (classes, values + 1) at value codes (n,): past the end is unseen, -1 is missing and 0."""
    unseen = table.shape[1] - 1
    return np.where(values >= 0, table[:, np.minimum(values, unseen)], 0.0)


def estimate(counts: FloatArray, pseudo_rows: float = PSEUDO_ROWS) -> CategoryTable:
    """Estimate the likelihood of each value from ``counts`` (classes, values)."""
    marginal = (counts.sum(axis=0) + 1) / (counts.sum() + counts.shape[1])
    rows = counts.sum(axis=1, keepdims=True)
    full = (counts + pseudo_rows * marginal) / (rows + pseudo_rows)
    left = np.maximum(counts - 1, 0.0) + pseudo_rows * marginal
    own = left / (np.maximum(rows - 1, 0.0) + pseudo_rows)
    return CategoryTable(np.log(full), np.log(own))


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
    class_weights: FloatArray, codes: IntArray, added: FloatArray | float = PRIOR_SMOOTHING
) -> FloatArray:
    """Return the log prior (classes, rows) without the row itself."""
    added = np.broadcast_to(added, class_weights.shape)
    smoothed = np.repeat((class_weights + added)[:, None], len(codes), axis=1)
    rows = np.arange(len(codes))
    smoothed[codes, rows] = np.maximum(class_weights[codes] - 1, 0.0) + added[codes]
    return np.asarray(np.log(smoothed / smoothed.sum(axis=0)))


def missing_indicator(missing: FloatArray, class_weights: FloatArray) -> CategoryTable | None:
    """Estimate whether a missing cell tells the class: a table of (observed, missing), or None if it does not pay.

    It pays if the leave-one-out log-likelihood of the classes given the indicator exceeds that given the prior by
    more than `MISSING_GAIN`. It needs counts only.

    Parameters
    ----------
    missing, class_weights : float64 arrays (classes,)
        Weight of the rows of each class in which the cell is missing, and of all its rows.
    """
    counts = np.column_stack([class_weights - missing, missing])
    if not (counts.sum(axis=0) > 0).all():
        return None
    table = estimate(counts)
    codes, states = np.nonzero(counts > 0)
    prior = leave_one_out_log_prior(class_weights, codes)
    score = prior + table.leave_one_out(states, codes)
    pairs = np.arange(len(codes))
    gain = score[codes, pairs] - np.log(np.exp(score).sum(axis=0)) - prior[codes, pairs]
    return table if float(counts[codes, states] @ gain) > MISSING_GAIN else None
