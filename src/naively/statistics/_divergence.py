"""How far apart two distributions are, how far chance alone takes two samples of one, and the chance of what is seen.

Distances are Jensen-Shannon divergences in bits: 0 for equal distributions, 1 for those that have nothing in common.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from naively.typing import FloatArray

LEAST_EXPECTED = 5.0
"""Values of which the smaller sample expects fewer are taken together, so that the chi-square test holds."""

LARGEST_RATE = 1e4
ALIKE = 256
"""How many Poisson distributions are summed at once."""

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(64)


class Change(NamedTuple):
    """Arrays of equal shape: the divergence, its size by chance alone, and the chance of it."""

    bits: FloatArray
    expected: FloatArray
    p_value: FloatArray


def compare_cells(counts: FloatArray) -> Change:
    """The change between two tables of counts.

    Parameters
    ----------
    counts : ndarray of shape (2, ..., cells)
        Of each of them.

    Examples
    --------
    >>> change = compare_cells(np.array([[50.0, 50.0], [80.0, 20.0]]))
    >>> round(float(change.bits), 3), round(float(change.expected), 4), float(change.p_value) < 1e-4
    (0.073, 0.0036, True)
    """
    counts = _merged(counts)
    rows = counts.sum(axis=-1)
    some = np.where(rows > 0, rows, 1.0)
    pooled = counts.sum(axis=0)
    free = np.maximum((pooled > 0).sum(axis=-1) - 1, 0)
    expected = pooled * (rows / np.where(rows.sum(axis=0) > 0, rows.sum(axis=0), 1.0))[..., None]
    deviation = np.where(expected > 0, (counts - expected) ** 2 / np.where(expected > 0, expected, 1.0), 0.0)
    statistic = deviation.sum(axis=(0, -1))
    p_value = np.where(free > 0, special.chdtrc(np.maximum(free, 1), statistic), 1.0)
    shares = counts / some[..., None]
    return Change(divergence(shares[0], shares[1]), by_chance(free, some), p_value)


def _merged(counts: FloatArray) -> FloatArray:
    """Values that are too rare to be tested taken together, as one more cell, or with the most frequent one."""
    if not counts.shape[-1]:
        return counts
    rows = counts.sum(axis=-1)
    smaller = (rows.min(axis=0) / np.where(rows.sum(axis=0) > 0, rows.sum(axis=0), 1.0))[..., None]
    rare = counts.sum(axis=0) * smaller < LEAST_EXPECTED
    cells, rest = np.where(rare, 0.0, counts), np.where(rare, counts, 0.0).sum(axis=-1, keepdims=True)
    few = rest.sum(axis=0) * smaller < LEAST_EXPECTED
    largest = np.broadcast_to(cells.sum(axis=0).argmax(axis=-1)[None, ..., None], rest.shape)
    moved = np.take_along_axis(cells, largest, axis=-1) + np.where(few, rest, 0.0)
    np.put_along_axis(cells, largest, moved, axis=-1)
    return np.concatenate([cells, np.where(few, 0.0, rest)], axis=-1)


def by_chance(free: Any, rows: FloatArray) -> FloatArray:
    """The mean divergence, in bits, of two samples of the same distribution.

    Parameters
    ----------
    free : int or ndarray
        How many parameters the distribution has.
    rows : ndarray of shape (2, ...)
        The sizes of the samples.
    """
    return np.asarray(free * (1 / rows).sum(axis=0) / (8 * np.log(2)))


def divergence(p: FloatArray, q: FloatArray) -> FloatArray:
    """The Jensen-Shannon divergence, in bits, of probabilities along the last axis.

    Examples
    --------
    >>> divergence(np.array([1.0, 0.0]), np.array([0.0, 1.0])).tolist()
    1.0
    """
    both = p + q  # twice the mean: halving the smallest numbers would lose them
    return np.asarray((special.rel_entr(2 * p, both) + special.rel_entr(2 * q, both)).sum(axis=-1) / (4 * np.log(2)))


def normal_divergence(mean: FloatArray, variance: FloatArray, missing: FloatArray) -> FloatArray:
    """The Jensen-Shannon divergence, in bits, of two normal distributions with some cells missing.

    Parameters
    ----------
    mean, variance, missing : ndarray of shape (2, ...)
        A variance of 0 is a single value; `missing` is the share of missing cells.

    Examples
    --------
    >>> normal_divergence(np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.zeros(2)).round(3).tolist()
    0.161
    """
    largest = np.maximum(variance.max(axis=0), np.square(mean[0] - mean[1]))
    scale = np.sqrt(np.maximum(variance, np.where(largest > 0, 1e-12 * largest, 1.0)))
    known = 1.0 - missing
    result = np.zeros(mean.shape[1:])
    for own, other in ((0, 1), (1, 0)):
        x = mean[own][..., None] + scale[own][..., None] * NODES
        away = (x - mean[other][..., None]) / scale[other][..., None]
        with np.errstate(divide="ignore", invalid="ignore"):  # where no cell is known
            log_ratio = np.log(scale[own] * known[other]) - np.log(scale[other] * known[own])
            log_ratio = np.where(known[own] > 0, log_ratio, 0.0)[..., None] + (NODES**2 - away**2) / 2
        inside = 1.0 - np.logaddexp(0.0, log_ratio) / np.log(2)
        result += known[own] * (inside @ NODE_WEIGHTS) / NODE_WEIGHTS.sum() / 2
    return np.clip(result + _missing_divergence(missing), 0.0, 1.0)


def poisson_divergences(rate: FloatArray, missing: FloatArray) -> FloatArray:
    """The Jensen-Shannon divergences, in bits, of Poisson distributions; of large rates by the normal approximation.

    Parameters
    ----------
    rate, missing : ndarray of shape (2, ...)
        `missing` is the share of missing cells.

    Examples
    --------
    >>> poisson_divergences(np.array([[1.0, 0.5], [1.0, 4.0]]), np.zeros((2, 2))).round(3).tolist()
    [0.0, 0.662]
    """
    rates, shares = rate.reshape(2, -1), missing.reshape(2, -1)
    largest = rates.max(axis=0)
    result = normal_divergence(rates, rates, shares)
    order = np.argsort(largest)
    order = order[largest[order] <= LARGEST_RATE]
    for start in range(0, len(order), ALIKE):  # of about the same size, so that few counts too many are summed
        chosen = order[start : start + ALIKE]
        most = largest[chosen[-1]]
        counts = np.arange(int(most + 10 * np.sqrt(most) + 20))
        own, unknown = rates[:, chosen, None], shares[:, chosen, None]
        probability = np.exp(special.xlogy(counts, own) - own - special.gammaln(counts + 1))
        cells = np.concatenate([probability * (1 - unknown), unknown], axis=-1)
        result[chosen] = divergence(cells[0], cells[1])
    return np.asarray(result.reshape(rate.shape[1:]))


def _missing_divergence(missing: FloatArray) -> FloatArray:
    return divergence(missing[0][..., None], missing[1][..., None])


# -- columns of a statistic -------------------------------------------------------------------------------------------


def side_by_side(columns: list[tuple[Change, FloatArray]]) -> tuple[Change, FloatArray]:
    """The changes of columns, (classes,) each, and the weights that were compared, as arrays with a last axis more."""
    changes, weights = zip(*columns, strict=True)
    return Change(*(np.stack(parts, axis=-1) for parts in zip(*changes, strict=True))), np.stack(weights, axis=-1)


def compare_tables(tables: list[FloatArray]) -> tuple[Change, FloatArray]:
    """The changes of columns with tables (2, classes, cells) of their own."""
    return side_by_side([(compare_cells(cells), cells.sum(axis=-1)) for cells in tables])


def with_missing(cells: FloatArray, rows: FloatArray) -> FloatArray:
    """Counts (..., cells) with a last cell for those of the rows that have no value."""
    missing = rows - cells.sum(axis=-1)
    return np.concatenate([cells, np.where(missing > 1e-9 * rows, missing, 0.0)[..., None]], axis=-1)


def two_sided(deviation: FloatArray) -> FloatArray:
    """The p-values of deviations in standard errors."""
    return np.asarray(2 * special.ndtr(-np.abs(deviation)))


def compare_in_parts(
    tests: list[FloatArray],
    known: FloatArray,
    rows: FloatArray,
    bits: Callable[[FloatArray], FloatArray],
    n_parameters: int = 1,
) -> tuple[Change, FloatArray]:
    """A change that is tested in parts, one of them the missing cells: the surest, times their number (Bonferroni).

    Parameters
    ----------
    tests : list of ndarray of shape (classes, columns)
        The p-values of the known cells.
    known : ndarray of shape (2, classes, columns)
        The weight of the known cells.
    rows : ndarray of shape (2, classes)
        The weight of the rows.
    bits : callable
        Gives the divergence from the shares of missing cells, (2, classes, columns).
    n_parameters : int, default=1
        How many parameters the distributions of known cells have.
    """
    every = np.broadcast_to(rows[:, :, None], known.shape)
    cells = with_missing(known[..., None], every)
    missing = cells[..., 1] / np.where(every > 0, every, 1.0)
    p_values = [np.where((known > 0).all(axis=0), p_value, 1.0) for p_value in tests]
    n_parts = len(tests) + missing.any(axis=0)
    p_value = np.minimum(1.0, n_parts * np.min([*p_values, compare_cells(cells).p_value], axis=0))
    free = n_parameters + missing.any(axis=0)
    return Change(bits(missing), by_chance(free, np.where(every > 0, every, 1.0)), p_value), every
