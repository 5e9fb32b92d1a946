"""How much two labels tell of each other once the class is known, and the tree of those that tell most.

The conditional mutual information ``I(A; B | Y) = sum P(a, b, y) log(P(a, b | y) / (P(a | y) P(b | y)))`` is what naive
Bayes takes for zero. Functions of counts, in nats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc

from naively._table.results import Columns, Result, one_row
from naively.typing import FloatArray, IntArray


class _Test(NamedTuple):
    information: float
    corrected: float
    statistic: float
    freedom: int
    p_value: float


class Independence(Result, _Test):
    """A test of conditional independence.

    Attributes
    ----------
    information : float
        The conditional mutual information, in nats.
    corrected : float
        The same less what counts of independent labels show on average, ``freedom / (2 n)``; it may be negative.
    statistic : float
        Pearson's chi-square, summed over the classes.
    freedom : int
        The degrees of freedom: ``(values of A - 1) (values of B - 1)``, summed over the classes.
    p_value : float
        The probability of a statistic as large under independence, given how often each value occurs in each class.
        Its mean and variance are then known exactly, however rare the values are; a gamma distribution that has both
        takes the place of the chi-square distribution, which is its limit for many rows.
    """

    __slots__ = ()

    def _columns(self) -> Columns:
        return one_row(self._asdict())


def conditional_mutual_information(counts: FloatArray) -> float:
    """The conditional mutual information, in nats, of counts (classes, values of A, values of B).

    Examples
    --------
    >>> conditional_mutual_information(np.array([[[2.0, 2.0], [2.0, 2.0]]]))
    0.0
    >>> round(conditional_mutual_information(np.array([[[4.0, 0.0], [0.0, 4.0]]])), 6)
    0.693147
    """
    total = counts.sum()
    if total == 0:
        return 0.0
    of_class = counts.sum(axis=(1, 2), keepdims=True)
    expected = counts.sum(axis=2, keepdims=True) * counts.sum(axis=1, keepdims=True)
    seen = counts > 0
    ratio = np.where(seen, counts * of_class, 1.0) / np.where(seen, expected, 1.0)
    return float(max((counts * np.log(ratio)).sum() / total, 0.0))


def independence_test(counts: FloatArray) -> Independence:
    """Pearson's test of independence within each class, from counts (classes, values of A, values of B).

    A value that does not occur in a class takes no degree of freedom there.

    Examples
    --------
    >>> test = independence_test(np.array([[[10.0, 10.0], [10.0, 10.0]], [[30.0, 0.0], [0.0, 10.0]]]))
    >>> test.freedom, test.p_value < 1e-6
    (2, True)
    """
    total = float(counts.sum())
    information = conditional_mutual_information(counts)
    rows, columns = (counts.sum(axis=axis) > 0 for axis in (2, 1))
    freedom = int((np.maximum(rows.sum(axis=1) - 1, 0) * np.maximum(columns.sum(axis=1) - 1, 0)).sum())
    tables = [_occurring(table) for table in counts]
    statistic = sum(_chi_square(table) for table in tables)
    moments = np.array([_chi_square_moments(table) for table in tables])
    p_value = _gamma_tail(statistic, *moments.sum(axis=0)) if freedom else 1.0
    corrected = information - freedom / (2.0 * total) if total else 0.0
    return Independence(information, corrected, statistic, freedom, p_value)


def _occurring(table: FloatArray) -> FloatArray:
    """A table of counts without the rows and columns of values that do not occur."""
    return np.asarray(table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0])


def _chi_square(table: FloatArray) -> float:
    """Pearson's statistic of a table of counts."""
    if not table.size:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(((table - expected) ** 2 / expected).sum())


def _chi_square_moments(table: FloatArray) -> tuple[float, float]:
    """The mean and the variance of Pearson's statistic over all tables with these margins, if A and B are independent.

    The mean is ``n / (n - 1)`` for each degree of freedom; the variance is Haldane's (1940) in the form of Dawson
    (1954). Where rows have weights, they count as so many rows.
    """
    n = float(table.sum())
    n_rows, n_columns = table.shape
    if min(n_rows, n_columns) < 2 or n <= 1:
        return 0.0, 0.0
    spread, skew = [], []
    for size, margin in ((n_rows, table.sum(axis=1)), (n_columns, table.sum(axis=0))):
        spread.append((size - 1) * (n - size) / (n - 1))
        skew.append(((n / margin).sum() - size**2) / max(n - 2, 1.0))
    plain = 2 * n / max(n - 3, 1.0) * (spread[0] - skew[0]) * (spread[1] - skew[1])
    return n / (n - 1) * (n_rows - 1) * (n_columns - 1), max(plain + n**2 / (n - 1) * skew[0] * skew[1], 0.0)


def _gamma_tail(statistic: float, mean: float, variance: float) -> float:
    """The probability that a gamma variable of this mean and variance is at least so large; 1 if it cannot vary."""
    if variance <= 1e-12 * mean**2:
        return 1.0
    return float(gammaincc(mean**2 / variance, statistic * mean / variance))


def maximum_spanning_tree(weights: FloatArray, root: int) -> list[tuple[int | None, int]]:
    """The heaviest tree over all columns, as (parent, child) from the root outwards; the root has no parent.

    Of equal weights the one whose columns come first is taken. Weights of minus infinity join nothing: columns that
    have no other start a tree of their own.

    Examples
    --------
    >>> maximum_spanning_tree(np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]]), root=2)
    [(None, 2), (2, 1), (1, 0)]
    """
    n = len(weights)
    best, parent = np.full(n, -np.inf), np.zeros(n, dtype=np.int64)
    waiting, child = [place for place in range(n) if place != root], root
    arcs: list[tuple[int | None, int]] = [(None, root)]
    while waiting:
        nearer = weights[child] > best
        best, parent = np.where(nearer, weights[child], best), np.where(nearer, child, parent)
        child = max(waiting, key=best.__getitem__)
        waiting.remove(child)
        arcs.append((None if np.isneginf(best[child]) else int(parent[child]), child))
    return arcs


def crossed_counts(
    first: IntArray, second: IntArray, classes: IntArray, weights: FloatArray, sizes: Sequence[int]
) -> FloatArray:
    """Counts (classes, values of A, values of B) of rows; a row with a negative code is left out.

    Parameters
    ----------
    first, second, classes : ndarray of int
    weights : ndarray
    sizes : sequence of three int
        How many classes, values of A and values of B there are.
    """
    seen = (first >= 0) & (second >= 0) & (classes >= 0)
    flat = (classes[seen] * sizes[1] + first[seen]) * sizes[2] + second[seen]
    n_cells = sizes[0] * sizes[1] * sizes[2]
    return np.bincount(flat, weights=weights[seen], minlength=n_cells).reshape(tuple(sizes)).astype(np.float64)
