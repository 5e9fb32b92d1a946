"""Cross-validation by arithmetic: a model without some rows is the sum without their statistics.

Every fold is counted once. The model without a fold is the total minus that fold, where subtraction is exact: for power
sums and for counts. A histogram that had to be made coarser does not become finer again by subtraction, nor do rows
that made way for others come back to a sample; there the other folds are added up instead, which is exact for all
statistics. Either way it is the model that would have been fitted on the rows of the other folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np

from naively.errors import InputError, ParameterError, brief
from naively.statistics._statistics import Statistics
from naively.typing import AnyArray, IntArray


@dataclass(frozen=True)
class Folds:
    """Which rows are learnt and which are asked about, several times over.

    Parameters
    ----------
    n_rows : int
    tests : list of ndarray
        The rows that are asked about.
    trains : list of ndarray or None
        The rows that are learnt; None: all others.
    """

    n_rows: int
    tests: Sequence[IntArray]
    trains: Sequence[IntArray] | None = None

    @cached_property
    def is_partition(self) -> bool:
        """Whether every row is asked about exactly once."""
        asked = np.bincount(np.concatenate(self.tests), minlength=self.n_rows)
        return bool((asked == 1).all())

    def statistics(
        self, count: Callable[[IntArray], Statistics], subtractable: bool
    ) -> tuple[Statistics, list[Statistics]]:
        """The statistics of all rows, and of the rows that are learnt in each fold.

        Parameters
        ----------
        count : callable
            From the places of some rows to their statistics.
        subtractable : bool
            Whether subtraction gives what counting would.
        """
        everything = np.arange(self.n_rows)
        if self.trains is not None:
            return count(everything), [count(train) for train in self.trains]
        if self.is_partition:
            parts = [count(test) for test in self.tests]
            total = reduce(add, parts)
            return total, [total - part for part in parts] if subtractable else sums_of_others(parts)
        if subtractable:
            total = count(everything)
            return total, [total - count(test) for test in self.tests]
        return count(everything), [count(np.setdiff1d(everything, test)) for test in self.tests]


def sums_of_others(parts: Sequence[Statistics]) -> list[Statistics]:
    """For each part, the sum of all others: one sum from the left and one from the right."""
    left = [Statistics.empty(), *accumulate(parts[:-1], add)]
    right = [Statistics.empty(), *accumulate(parts[:0:-1], add)][::-1]
    return [before + after for before, after in zip(left, right, strict=True)]


def as_folds(folds: Any, codes: IntArray, labels: AnyArray, stratify: bool, seed: Any) -> Folds:
    """Read what the user said of the folds: a number, a scikit-learn splitter, or pairs of row numbers.

    Parameters
    ----------
    folds : int, splitter, or iterable of (train, test)
    codes, labels : ndarray
        Each row's class, as a code and as a label.
    stratify : bool
        Deal out the rows of each class evenly, if a number is given.
    seed : int or Generator
    """
    n_rows = len(codes)
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        return _dealt(int(folds), codes, stratify, seed)
    if hasattr(folds, "split") and not isinstance(folds, str):
        folds = folds.split(np.zeros((n_rows, 1)), labels)
    if isinstance(folds, str) or not isinstance(folds, Iterable):
        raise ParameterError(
            "folds must be a number of folds, 'loo', a scikit-learn splitter, or pairs of (train, test) row numbers; "
            f"got {brief(folds)}."
        )
    pairs = [_checked_pair(number, pair, n_rows) for number, pair in enumerate(folds)]
    if not pairs:
        raise ParameterError("folds holds no pair of (train, test) row numbers.")
    trains, tests = [train for train, _ in pairs], [test for _, test in pairs]
    everything = np.arange(n_rows)
    complementary = all(np.array_equal(np.sort(np.concatenate(pair)), everything) for pair in pairs)
    return Folds(n_rows, tests, None if complementary else trains)


def _dealt(n_folds: int, codes: IntArray, stratify: bool, seed: Any) -> Folds:
    """Deal out the rows, in random order, like cards; the rows of one class after the other, if stratified."""
    if not 2 <= n_folds <= len(codes):
        raise ParameterError(f"folds must be from 2 to the number of rows, {len(codes)}; got {n_folds}.")
    order = np.random.default_rng(seed).permutation(len(codes))
    if stratify:
        order = order[np.argsort(codes[order], kind="stable")]
    return Folds(len(codes), [np.sort(order[first::n_folds]) for first in range(n_folds)])


def _checked_pair(number: int, pair: Any, n_rows: int) -> tuple[IntArray, IntArray]:
    try:
        train, test = (np.asarray(rows) for rows in pair)
    except (TypeError, ValueError):
        raise ParameterError(
            f"folds[{number}] must be a pair of row numbers (train, test), got {brief(pair)}."
        ) from None
    for name, rows in (("train", train), ("test", test)):
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(rows) == 0:
            raise ParameterError(f"folds[{number}]: the {name} rows must be some whole numbers, got {brief(rows)}.")
        if rows.min() < 0 or rows.max() >= n_rows:
            raise InputError(f"folds[{number}]: the {name} rows must be from 0 to {n_rows - 1}; got {brief(rows)}.")
    shared = np.intersect1d(train, test)
    if len(shared):
        raise InputError(f"folds[{number}]: row {int(shared[0])} is both learnt and asked about.")
    return train.astype(np.int64), test.astype(np.int64)
