"""How much a column tells of the class, from counts or densities: pure functions on arrays, classes first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from naively.typing import FloatArray, IntArray

NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(3)
LARGEST_TABLE = 1 << 22
"""At most so many numbers are held at once while densities are integrated."""


def mutual_information(counts: FloatArray) -> float:
    """The information, in bits, that the cell of a table of counts has on its row.

    Parameters
    ----------
    counts : ndarray of shape (classes, cells)

    Examples
    --------
    >>> mutual_information(np.array([[4.0, 0.0], [0.0, 4.0]])), mutual_information(np.array([[1.0, 2.0], [2.0, 4.0]]))
    (1.0, 0.0)
    """
    total = counts.sum()
    if total == 0:
        return 0.0
    expected = counts.sum(axis=1, keepdims=True) * (counts.sum(axis=0) / total)
    return max(float(special.rel_entr(counts, expected).sum() / total / np.log(2)), 0.0)


MOST_EXACT = 1024
"""The expected information of values that occur more often is that of the chi-square distribution."""


def information_by_chance(counts: FloatArray) -> float:
    """The information, in bits, that a table of counts shows on average where its cells tell nothing of its rows.

    The mean is over all tables with the same margins: the rows are dealt out anew, as in a hypergeometric distribution.

    Parameters
    ----------
    counts : ndarray of shape (classes, cells)

    Examples
    --------
    A value in each row, which then seems to tell all, and two values in many rows:

    >>> round(information_by_chance(np.eye(6)), 6), round(mutual_information(np.eye(6)), 6)
    (2.584963, 2.584963)
    >>> round(float(information_by_chance(np.full((2, 2), 500.0)) * 2 * 2000 * np.log(2)), 2)
    1.0
    """
    of_class, of_value = counts.sum(axis=1), counts.sum(axis=0)
    of_class, of_value = of_class[of_class > 0], of_value[of_value > 0]
    total = float(counts.sum())
    if len(of_class) < 2 or len(of_value) < 2 or total <= 1:
        return 0.0
    excess = 0.0
    for size, n_values in zip(*np.unique(of_value, return_counts=True), strict=True):
        excess += n_values * _expected_excess(float(size), of_class, total)
    return max(float(excess / total / np.log(2)), 0.0)


def _expected_excess(size: float, of_class: FloatArray, total: float) -> float:
    """By how much ``x log x``, x the rows of a class among `size` of all, exceeds its value at the mean, on average."""
    mean = size * of_class / total
    if size > MOST_EXACT or not size.is_integer() or not total.is_integer():
        variance = mean * (1 - of_class / total) * (total - size) / (total - 1)
        return float((variance / (2 * mean)).sum())
    drawn = np.arange(int(size) + 1.0)[:, None]
    possible = (drawn <= of_class) & (size - drawn <= total - of_class)
    logs = (
        _log_choose(of_class, np.where(possible, drawn, 0.0))
        + _log_choose(total - of_class, np.where(possible, size - drawn, 0.0))
        - _log_choose(np.asarray(total), np.asarray(size))
    )
    probability = np.where(possible, np.exp(logs), 0.0)
    return float(((probability * special.xlogy(drawn, drawn)).sum(axis=0) - special.xlogy(mean, mean)).sum())


def _log_choose(n: FloatArray, k: FloatArray) -> FloatArray:
    return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))


def counted(counts: FloatArray, logs: FloatArray) -> float:
    """The sum of counts times logarithms, in which what was never counted adds nothing, be it impossible or not.

    Examples
    --------
    >>> counted(np.array([2.0, 0.0]), np.array([-0.5, -np.inf]))
    -1.0
    """
    seen = counts > 0
    return float((counts[seen] * logs[seen]).sum())


def table_freedom(counts: FloatArray) -> int:
    """The degrees of freedom of a table of counts: (classes - 1) (cells - 1), of those that occur."""
    classes, cells = (int(counts.any(axis=axis).sum()) for axis in (1, 0))
    return max(classes - 1, 0) * max(cells - 1, 0)


def symmetric_uncertainty(first: IntArray, second: IntArray, classes: IntArray) -> float:
    """The information that two columns of codes share within the classes, as a part of all they hold.

    Parameters
    ----------
    first, second, classes : ndarray of shape (rows,)
        Codes, of zero or more. With a single class it is the plain symmetric uncertainty ``2 I / (H + H)``.

    Returns
    -------
    float
        From 0, independent, to 1, each tells the other; 0 where neither varies.

    Examples
    --------
    >>> one, other = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> [round(symmetric_uncertainty(one, two, one * 0), 9) for two in (1 - one, other)]
    [1.0, 0.0]
    """
    own, other = _together(classes, first), _together(classes, second)
    both = _together(own, second)
    whole = _entropy_sum(classes)
    each = 2 * whole - _entropy_sum(own) - _entropy_sum(other)
    shared = each - (whole - _entropy_sum(both))
    return min(max(float(2 * shared / each), 0.0), 1.0) if each > 1e-12 * len(first) else 0.0


def _together(first: IntArray, second: IntArray) -> IntArray:
    """One code for each pair of codes that occurs."""
    pairs = first * (int(second.max(initial=0)) + 1) + second
    return np.asarray(np.unique(pairs, return_inverse=True)[1])


def _entropy_sum(codes: IntArray) -> float:
    """The sum of ``c log c`` over the counts c of the codes."""
    counts = np.bincount(codes)
    return float(special.xlogy(counts, counts).sum())


def density_information(
    log_density: Callable[[FloatArray], FloatArray], edges: FloatArray, shares: FloatArray
) -> FloatArray:
    """The information, in bits, that a number has on the class, by integration.

    Parameters
    ----------
    log_density : callable
        From numbers (points, columns) to logarithms of densities (points, columns, classes).
    edges : ndarray of shape (edges, columns), ascending
        Between two of them the densities are smooth, and beyond them nothing matters.
    shares : ndarray of shape (classes, columns)
        The probability of each class.

    Returns
    -------
    ndarray of shape (columns,)

    Examples
    --------
    Two normal distributions that are far apart have one bit; equal ones have none.

    >>> def log_density(x, means=np.array([0.0, 40.0])):
    ...     return -0.5 * (x[:, :, None] - means) ** 2 - 0.5 * np.log(2 * np.pi)
    >>> edges = np.linspace(-10.0, 50.0, 241)[:, None]
    >>> density_information(log_density, edges, np.full((2, 1), 0.5)).round(9).tolist()
    [1.0]
    """
    result = np.zeros(edges.shape[1])
    n_classes = len(shares)
    step = max(1, LARGEST_TABLE // max(edges.shape[1] * n_classes * len(NODES), 1))
    for start in range(0, len(edges) - 1, step):
        part = edges[start : start + step + 1]
        half = np.diff(part, axis=0) / 2
        for node, weight in zip(NODES, NODE_WEIGHTS, strict=True):
            logs = log_density(part[:-1] + half * (1 + node))
            joint = np.exp(logs) * shares.T
            mixture = joint.sum(axis=2)
            entropy = special.xlogy(mixture, mixture)
            gain = (joint * np.where(joint > 0, logs, 0.0)).sum(axis=2) - entropy
            result += (weight * half * gain).sum(axis=0)
    return np.asarray(np.clip(result / np.log(2), 0.0, None))


def density_moments(
    log_density: Callable[[FloatArray], FloatArray], edges: FloatArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """The means and variances (classes, columns) of densities, by integration; arguments as `density_information`."""
    half = np.diff(edges, axis=0) / 2
    points = [(weight * half, edges[:-1] + half * (1 + node)) for node, weight in zip(NODES, NODE_WEIGHTS, strict=True)]
    masses = [(size[:, :, None] * np.exp(log_density(x)), x[:, :, None]) for size, x in points]
    whole = sum((mass.sum(axis=0) for mass, _ in masses), np.zeros((edges.shape[1], n_classes)))
    some = np.where(whole > 0, whole, 1.0)
    mean = np.asarray(sum((mass * x).sum(axis=0) for mass, x in masses) / some)
    variance = np.asarray(sum((mass * np.square(x - mean)).sum(axis=0) for mass, x in masses) / some)
    return mean.T, variance.T


def standardised_gap(weight: FloatArray, mean: FloatArray, scatter: FloatArray) -> FloatArray:
    """How far the extreme class means are apart, in standard deviations within the classes.

    Parameters
    ----------
    weight, mean, scatter : ndarray of shape (classes, ...)
        Of each class: how many, their mean, and the sum of the squared deviations from it.

    Returns
    -------
    ndarray of shape (...)
        Infinity where the classes differ and nothing varies within them; 0 where nothing differs.

    Examples
    --------
    >>> standardised_gap(np.array([4.0, 4.0]), np.array([1.0, 4.0]), np.array([16.0, 16.0])).tolist()
    1.5
    """
    known = weight > 0
    total = weight.sum(axis=0)
    gap = np.where(known, mean, -np.inf).max(axis=0) - np.where(known, mean, np.inf).min(axis=0)
    gap = np.where(known.any(axis=0), gap, 0.0)
    deviation = np.sqrt(scatter.sum(axis=0) / np.where(total > 0, total, 1.0))
    with np.errstate(divide="ignore"):
        return np.where(gap > 0, gap / np.where(gap > 0, deviation, 1.0), 0.0)
