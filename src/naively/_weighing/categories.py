"""Categorical columns: an m-estimate toward the marginal, with a cell kept for values never seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

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
    full : float64 array (classes, values + 1)
        Log-likelihood of each value; the last is any value never seen.
    counts, added : float64 arrays (classes, values) and (values,)
        The weight of the rows, and the pseudo-counts.
    """

    full: FloatArray
    counts: FloatArray
    added: FloatArray
    pseudo_rows: float

    @cached_property
    def class_counts(self) -> FloatArray:
        """The weight of the rows of each class (classes,)."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def table(self) -> FloatArray:
        """Evidence of each value and of an unseen one, centred over the classes (classes, values + 1)."""
        return centred(self.full)

    def evidence(self, values: IntArray) -> FloatArray:
        """Return the centred evidence (classes, n) of value codes (n,); -1 is missing and gives none."""
        return look_up(self.table, values)

    def leave_one_out(self, values: IntArray, codes: IntArray, removed: FloatArray) -> FloatArray:
        """Return the centred evidence (classes, rows) of training rows, each without the weight that it gave."""
        result = self.full[:, values]
        left = np.maximum(self.counts[codes, values] - removed, 0.0) + self.added[values]
        left /= np.maximum(self.class_counts[codes] - removed, 0.0) + self.pseudo_rows
        result[codes, np.arange(len(values))] = np.log(left)
        return np.where(values >= 0, centred(result), 0.0)


def look_up(table: FloatArray, values: IntArray) -> FloatArray:
    """Read ``table`` (classes, values + 1) at value codes (n,): past the end is unseen, -1 is missing and 0."""
    unseen = table.shape[1] - 1
    return np.where(values >= 0, table[:, np.minimum(values, unseen)], 0.0)


def estimate(counts: FloatArray, pseudo_rows: float = PSEUDO_ROWS) -> CategoryTable:
    """Estimate the likelihood of each value from ``counts`` (classes, values)."""
    classes, values = counts.shape
    marginal = (np.append(counts.sum(axis=0), 0.0) + 1) / (counts.sum() + values + 1)
    rows = counts.sum(axis=1, keepdims=True)
    full = (np.column_stack([counts, np.zeros(classes)]) + pseudo_rows * marginal) / (rows + pseudo_rows)
    return CategoryTable(np.log(full), counts, pseudo_rows * marginal[:-1], pseudo_rows)


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
    smoothed = np.repeat((class_weights + added)[:, None], len(codes), axis=1)
    rows = np.arange(len(codes))
    smoothed[codes, rows] = np.maximum(class_weights[codes] - removed, 0.0) + added[codes]
    return np.asarray(np.log(smoothed / smoothed.sum(axis=0)))


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
