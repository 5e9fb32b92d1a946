"""How good answers are: one number from the probabilities given to rows whose class is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from naively.typing import FloatArray, IntArray

LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
"""The log-loss takes no probability for smaller than this, so that one impossible row does not decide alone."""


@dataclass(frozen=True)
class Measure:
    """A number that says how good probabilities are.

    Parameters
    ----------
    of : callable
        From log-probabilities (rows, classes), class codes (rows,) and weights (rows,) to the number.
    more_is_better : bool
    """

    of: Callable[[FloatArray, IntArray, FloatArray], float]
    more_is_better: bool = True


def accuracy(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """The share of the rows whose most probable class is the right one."""
    return float(weights @ (log_proba.argmax(axis=1) == codes) / weights.sum())


def balanced_accuracy(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """The mean over the classes that occur of the share of their rows that are right."""
    table = confusion(log_proba, codes, weights)
    rows = table.sum(axis=1)
    return float((np.diag(table)[rows > 0] / rows[rows > 0]).mean())


def kappa(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """Cohen's kappa: the agreement with the truth beyond what chance would give, as a share of what is possible.

    Examples
    --------
    >>> kappa(np.log([[0.8, 0.2], [0.7, 0.3], [0.6, 0.4], [0.1, 0.9]]), np.array([0, 0, 1, 1]), np.ones(4))
    0.5
    """
    table = confusion(log_proba, codes, weights)
    share = table / table.sum()
    agreed, by_chance = np.trace(share), share.sum(axis=0) @ share.sum(axis=1)
    if by_chance >= 1:
        return 1.0
    return float((agreed - by_chance) / (1 - by_chance))


def log_loss(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """The mean of minus the logarithm of the right class's probability, in nats."""
    right = log_proba[np.arange(len(codes)), codes]
    return float(-(weights @ np.maximum(right, np.log(LEAST_PROBABILITY))) / weights.sum())


def brier(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """The mean squared distance of the probabilities from the truth, summed over the classes."""
    error = np.exp(log_proba)
    error[np.arange(len(codes)), codes] -= 1
    return float(weights @ (error**2).sum(axis=1) / weights.sum())


def confusion(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
    """The weight of the rows of each class (first axis) that were given each class (second axis)."""
    n_classes = log_proba.shape[1]
    cells = np.bincount(codes * n_classes + log_proba.argmax(axis=1), weights, n_classes * n_classes)
    return np.asarray(cells.reshape(n_classes, n_classes))


MEASURES = {
    "accuracy": Measure(accuracy),
    "balanced_accuracy": Measure(balanced_accuracy),
    "kappa": Measure(kappa),
    "log_loss": Measure(log_loss, more_is_better=False),
    "brier": Measure(brier, more_is_better=False),
}
