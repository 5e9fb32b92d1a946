"""The probability of combinations of labels: a table over a product, of which only what occurred is held.

Any question is one of a *set* of combinations: all that have the known values, whatever the missing ones are. What was
counted of the set is summed, its pseudo-counts are summed, and the share is the answer:

    ``P(set | class) = (count + sum of alpha over the set) / (n + sum of alpha over all)``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod

import numpy as np

from naively.smoothing import Smoothing, share
from naively.statistics._combinations import Combinations
from naively.statistics._joint import JointSums, cell_key
from naively.typing import AnyArray, FloatArray, IntArray

MOST_KEPT = 256
"""So many patterns of missing members are kept ready."""

LARGEST_PRODUCT = 10**300
"""More combinations than this are taken for this many: all that depends on them is nothing by then."""


@dataclass(frozen=True)
class Marginal:
    """The counts over some of the labels, the others being summed over.

    Parameters
    ----------
    combinations : Combinations
        Those of the known members that occur.
    counts : ndarray of shape (classes, combinations + 1)
        The last column, of zeros, is for a combination that does not occur.
    logs : ndarray of shape (combinations + 1, classes)
        The log-probabilities.
    group_of : ndarray
        The combination of each cell of the whole table.
    n_hidden : float
        How many combinations the missing members have.
    """

    combinations: Combinations
    counts: FloatArray
    logs: FloatArray
    group_of: IntArray
    n_hidden: float


@dataclass(frozen=True)
class ProductTable:
    """Counts of combinations, and the smoothing that makes frequencies of them.

    Parameters
    ----------
    sums : JointSums
    smoothing : Smoothing
    """

    sums: JointSums
    smoothing: Smoothing
    _marginals: dict[bytes, Marginal] = field(default_factory=dict, repr=False)

    @property
    def n_values(self) -> float:
        """How many combinations there are, seen or not; one, to be divided by, where no row was ever complete."""
        return _product(self.sums.sizes)

    def marginal(self, known: AnyArray) -> Marginal:
        """The table of the known members."""
        key = cell_key(known)
        if key not in self._marginals:
            if len(self._marginals) >= MOST_KEPT:
                self._marginals.clear()
            members = np.flatnonzero(known).tolist()
            groups = Combinations(self.sums.cells[:, members], [self.sums.sizes[member] for member in members])
            counts = np.zeros((self.sums.n_classes, groups.n + 1))
            for row, weights in enumerate(self.sums.weight.high):
                counts[row, : groups.n] = np.bincount(groups.places, weights=weights, minlength=groups.n)
            hidden = _product(size for size, there in zip(self.sums.sizes, known, strict=True) if not there)
            with np.errstate(divide="ignore"):
                logs = np.log(frequencies(self.smoothing, counts, self.total(), hidden, self.n_values)).T
            self._marginals[key] = Marginal(groups, counts, np.ascontiguousarray(logs), groups.places, hidden)
        return self._marginals[key]

    def total(self) -> FloatArray:
        """The weight of each class (classes, 1)."""
        return np.asarray(self.sums.weight.high.sum(axis=1, keepdims=True))

    def log_probability(self, known: AnyArray, codes: IntArray) -> tuple[FloatArray, IntArray]:
        """The log-probability (rows, classes) of rows with these members known, and each row's combination."""
        table = self.marginal(known)
        places = table.combinations.find(codes[:, known])
        if not known.any():
            return np.zeros((len(codes), self.sums.n_classes)), places
        return table.logs[places], np.asarray(places)


def _product(sizes: Iterable[int]) -> float:
    return float(min(max(prod(sizes), 1), LARGEST_PRODUCT))


def frequencies(
    smoothing: Smoothing,
    counted: FloatArray,
    total: FloatArray,
    n_part: FloatArray | float,
    n_values: FloatArray | float,
) -> FloatArray:
    """The probability of sets of values per class, (classes, sets).

    Parameters
    ----------
    smoothing : Smoothing
    counted, total : ndarray of shape (classes, sets) or (classes, 1)
        What was counted of the set, and of all values.
    n_part, n_values : ndarray of shape (sets,) or float
        How many values the set has, and how many there are.

    Notes
    -----
    A class without a count and without pseudo-counts borrows from all classes together, as `smoothed_frequencies` does.
    """
    n_classes, n_part, n_values = len(counted), np.asarray(n_part, dtype=float), np.asarray(n_values, dtype=float)
    part, whole = counted.sum(axis=0), total.sum(axis=0)
    alpha = smoothing.pseudo_counts_together(part, whole, n_part, n_values, n_classes)
    all_alpha = smoothing.pseudo_counts_together(whole, whole, n_values, n_values, n_classes)
    borrowed = share(part + n_classes * alpha, whole + n_classes * all_alpha, n_part / n_values)
    return share(counted + alpha, total + all_alpha, borrowed)
