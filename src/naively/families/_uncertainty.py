"""Evidence that is not known for certain: its mean and variance under the posterior distribution of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively.smoothing import Smoothing
from naively.typing import FloatArray, IntArray

LARGEST_DISTANCE = 1e60
"""Cells are held within so many standard deviations, so that fourth powers stay finite."""

Variance = Callable[[FloatArray], FloatArray]
"""From what each class's evidence counts for, (rows, classes), to the variance (rows,) of the sum."""


@dataclass(frozen=True)
class Uncertain:
    """Evidence that is not known for certain.

    Parameters
    ----------
    mean : ndarray of shape (rows, classes)
    variance : Variance
        Of a weighted sum over the classes.
    """

    mean: FloatArray
    variance: Variance


def independent(mean: FloatArray, variance: FloatArray) -> Uncertain:
    """Evidence (rows, classes) whose classes have nothing in common."""
    return Uncertain(mean, lambda counts_for: (counts_for**2 * variance).sum(axis=1))


def log_gamma_moments(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the logarithm of a gamma variable; what never occurs is impossible, for certain."""
    from scipy.special import digamma, polygamma

    never = counts <= 0
    safe = np.where(never, 1.0, counts)
    return np.where(never, -np.inf, digamma(safe)), np.where(never, 0.0, polygamma(1, safe))


def dirichlet(counts: FloatArray, smoothing: Smoothing, labels: Sequence[Any]) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the log-probability of every value, (classes, values)."""
    posterior = counts + smoothing.pseudo_counts(counts, labels)
    logs, variance = log_gamma_moments(posterior)
    of_all, variance_of_all = log_gamma_moments(posterior.sum(axis=-1, keepdims=True))
    unknown = np.isneginf(of_all)  # a class without rows or pseudo-counts says nothing
    return np.where(unknown, 0.0, logs - np.where(unknown, 0.0, of_all)), np.where(
        unknown, 0.0, np.maximum(variance - variance_of_all, 0.0)
    )


def looked_up(
    counts: Sequence[FloatArray], labels: Sequence[Sequence[Any]], smoothing: Smoothing, places: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance (rows, classes) of the evidence of cells that are places of values; negative: silent."""
    n_classes = len(counts[0])
    mean, variance = np.zeros((len(places), n_classes)), np.zeros((len(places), n_classes))
    for column, table in enumerate(counts):
        known = np.flatnonzero(places[:, column] >= 0)
        if not len(known):
            continue
        logs, spread = dirichlet(table, smoothing, labels[column])
        mean[known] += logs[:, places[known, column]].T
        variance[known] += spread[:, places[known, column]].T
    return mean, variance


def uncertain_normal(
    mean: FloatArray,
    variance: FloatArray,
    rows: FloatArray,
    freedom: FloatArray,
    axes: tuple[int, ...],
    block: FloatArray,
) -> Uncertain:
    """Log-densities under a normal-inverse-gamma posterior of means and (shared) variances.

    With precision t (gamma, `freedom` / 2) and mean m (normal, variance 1 / (t rows)) the log-density of a cell at the
    distance d from the estimated mean is ``log(t) / 2 - t d^2 / 2`` and what the uncertain mean adds to it. The first
    part is summed over all cells that share t before its variance is taken.

    Parameters
    ----------
    mean, variance, rows, freedom : ndarray of shape (classes, columns)
        What was estimated, the rows behind the mean, and the degrees of freedom of the variance.
    axes : tuple of int
        The axes of (rows, classes, columns) along which a variance is shared.
    block : ndarray of shape (rows, columns)
    """
    from scipy.special import digamma, polygamma

    informative = (variance > 0).all(axis=0)
    safe = np.where(informative, variance, 1.0)
    known = (~np.isnan(block) & informative)[:, None, :]
    distance = np.where(known, np.where(np.isnan(block), 0.0, block)[:, None, :] - mean, 0.0)
    squared = np.square(np.clip(distance / np.sqrt(safe), -LARGEST_DISTANCE, LARGEST_DISTANCE))
    log_precision = digamma(freedom / 2) - np.log(freedom / 2)  # above that of the estimate
    centre = 0.5 * (log_precision - np.log(safe)) - 0.5 * (squared + 1.0 / rows)
    of_mean = np.where(known, squared / rows + 0.5 / rows**2, 0.0).sum(axis=2)
    of_log, of_both, of_precision = 0.25 * polygamma(1, freedom / 2), 1.0 / freedom, 0.5 / freedom

    def shared_variance(counts_for: FloatArray) -> FloatArray:
        weights = counts_for[:, :, None]
        a, b = (weights * known).sum(axis=axes, keepdims=True), (weights * squared).sum(axis=axes, keepdims=True)
        parts = a**2 * _first(of_log, axes) - a * b * _first(of_both, axes) + b**2 * _first(of_precision, axes)
        return np.asarray(np.maximum(parts, 0.0).sum(axis=(1, 2)) + (counts_for**2 * of_mean).sum(axis=1))

    return Uncertain(np.where(known, centre, 0.0).sum(axis=2), shared_variance)


def _first(values: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    """What cells that share a variance have in common, once: along these axes of (rows, classes, columns)."""
    for axis in axes:
        values = np.take(values, [0], axis=axis - 1)
    return values[None]
