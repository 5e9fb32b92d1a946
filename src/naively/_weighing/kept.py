"""The kept rows as the sample that weights are fitted on: what a row counts there, what is left out of it, its fold.

A row is judged by estimates that know nothing of it, so all that one occurrence of it gave is left out: its whole
weight, be it 1, 20 or 0.01. Weights matter by their ratios only: all are divided by the weight that one row has on
average (Kish), so that pseudo-counts and penalties, which are numbers of rows, mean what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from naively.statistics._kept_rows import LARGEST_HASH, KeptRows, mixed
from naively.statistics._statistics import Statistics
from naively.typing import AnyArray, FloatArray, IntArray

FEW_ROWS, FOLDS_OF_FEW, FOLDS = 2048, 8, 4
"""With few rows there are more folds: a fit that lacks an eighth of them is more like the one that answers."""

MOST_UNITS = 64
"""The occurrences of a row are dealt to the folds in at most so many parts."""

CHANCE = 0.01
"""A row that occurs more than once although fewer rows than this would be expected is a copy."""

FEW_DISTINCT = 16
"""The numbers of times that fewer rows occurred may well have a common divisor by chance."""

LARGEST_FACTOR = 1e150
"""What sums can be multiplied by at once without an overflow."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class FittedRows:
    """The rows that weights are fitted on; a row that occurred several times may be in several parts.

    Parameters
    ----------
    rows : ndarray (rows,)
        Where they stand among all kept rows.
    parts, codes : ndarray (rows,)
        The part that each is dealt to, and its class.
    weights : ndarray (rows,)
        What they count in the loss.
    occurrences : ndarray (rows,)
        How often the row occurred, in all folds.
    removed : ndarray (rows,)
        What one occurrence gave to the statistics, and what is left out of them to judge it.
    n_folds : int
        The parts are as many or several times as many.
    """

    rows: IntArray
    parts: IntArray
    codes: IntArray
    weights: FloatArray
    occurrences: IntArray
    removed: FloatArray
    n_folds: int = FOLDS

    @property
    def folds(self) -> IntArray:
        """The fold of each row (rows,)."""
        return self.parts % self.n_folds

    def taken(self, chosen: IntArray) -> FittedRows:
        """Some of the rows."""
        return FittedRows(
            self.rows[chosen],
            self.parts[chosen],
            self.codes[chosen],
            self.weights[chosen],
            self.occurrences[chosen],
            self.removed[chosen],
            self.n_folds,
        )


def in_rows(statistics: Statistics) -> Statistics:
    """The statistics with all weights divided by that of a typical row, so that they count rows.

    The weights of the single occurrences then add up to their effective number, ``sum(w) ** 2 / sum(w ** 2)``: rows
    that weigh alike count one each, and rows that have decayed to next to nothing do not count. Copies of a row are
    counted as one occurrence of it.
    """
    if statistics.kept is None or not statistics.kept.weights.any():
        return statistics
    class_weights = statistics.class_weight.high
    kept = _without_copies(statistics.kept, class_weights)
    typical = _typical(_standing_for_all(kept, class_weights), removed_weights(kept))
    statistics = replace(statistics, kept=kept)
    while typical < 1 / LARGEST_FACTOR:
        statistics, typical = statistics.scaled(LARGEST_FACTOR), typical * LARGEST_FACTOR
    return statistics if typical == 1.0 else statistics.scaled(1.0 / typical)


def _without_copies(kept: KeptRows, class_weights: FloatArray) -> KeptRows:
    """The kept rows, those that are copies of one row counted as one occurrence.

    Rows of few values repeat by chance, and each repetition is a row of its own. Where not even `CHANCE` repetitions
    would be expected if the columns were independent within the class, as with most rows that hold measured numbers, a
    repetition is a copy: it tells no more than the row did, and the row must not be judged by it. So are they where
    all rows of a class were given several times.
    """
    if not (kept.occurrences > 1).any():
        return kept
    kept = replace(kept, occurrences=kept.occurrences // _times_given(kept, len(class_weights))[kept.codes])
    again = np.flatnonzero(kept.occurrences > 1)
    n_kept = np.bincount(kept.codes, kept.occurrences, len(class_weights))
    n_all = n_kept * _rows_per_kept_row(kept, class_weights)
    expected = np.log(n_all[kept.codes[again]])
    for cells in kept.columns.values():
        values = _as_codes(cells)
        pairs, place = np.unique(kept.codes * (values.max() + 1) + values, return_inverse=True)
        n_here = np.bincount(place, kept.occurrences, len(pairs))[place[again]]
        share_of_all = np.bincount(values, kept.occurrences)[values[again]] / n_kept.sum()
        # A pseudo-row spread like all rows: a class of one row that repeats does not take its cells for certain.
        expected += np.log((n_here + share_of_all) / (n_kept[kept.codes[again]] + 1))
    occurrences = kept.occurrences.copy()
    occurrences[again[expected < np.log(CHANCE)]] = 1
    return replace(kept, occurrences=occurrences)


def _times_given(kept: KeptRows, n_classes: int) -> IntArray:
    """How many times all rows of each class were given (classes,): the largest divisor of all their occurrences."""
    n_distinct = np.bincount(kept.codes, minlength=n_classes)
    times = np.ones(n_classes, dtype=np.int64)
    many, ends = np.flatnonzero(n_distinct), np.cumsum(n_distinct)
    by_class = kept.occurrences[np.argsort(kept.codes, kind="stable")]
    times[many] = np.gcd.reduceat(by_class, (ends - n_distinct)[many])
    return np.where(n_distinct < FEW_DISTINCT, 1, np.maximum(times, 1))


def _as_codes(cells: AnyArray) -> IntArray:
    """Numbers of the distinct cells; missing ones are one of them."""
    if cells.dtype.kind == "f":
        return np.unique(cells, return_inverse=True)[1]
    known: dict[object, int] = {}
    return np.array([known.setdefault(cell, len(known)) for cell in cells.tolist()], dtype=np.int64)


def class_rows(statistics: Statistics) -> FloatArray:
    """The weight of the rows of each class (classes,), in rows."""
    return in_rows(Statistics(statistics.classes, statistics.class_weight, {}, statistics.kept)).class_weight.high


def removed_weights(kept: KeptRows) -> FloatArray:
    """What one occurrence of each row weighs."""
    return np.asarray(kept.weights / kept.occurrences)


def typical_weights(kept: KeptRows, n_classes: int) -> FloatArray:
    """What a row of each class typically weighs (classes,); 1 for a class without kept rows."""
    codes, weights, removed = kept.codes, kept.weights, removed_weights(kept)
    heaviest, largest = np.zeros((2, n_classes))
    np.maximum.at(heaviest, codes, weights)
    np.maximum.at(largest, codes, removed)
    known = largest > 0
    heaviest[~known] = largest[~known] = 1.0
    shares = weights / heaviest[codes]
    total = np.bincount(codes, shares, n_classes)
    mean = np.bincount(codes, shares * (removed / largest[codes]), n_classes) / np.where(known, total, 1.0)
    return np.where(known, largest * mean, 1.0)


def sample_weights(kept: KeptRows, class_weights: FloatArray) -> FloatArray:
    """What the kept rows count as a sample of all rows: classes as they are among all, and a typical row one."""
    weights = _standing_for_all(kept, class_weights)
    return weights / _typical(weights, weights / kept.occurrences) if weights.any() else weights


def _standing_for_all(kept: KeptRows, class_weights: FloatArray) -> FloatArray:
    """The weights of the kept rows, those of each class multiplied so that they add up to that of all its rows."""
    return np.asarray(kept.weights * _rows_per_kept_row(kept, class_weights)[kept.codes])


def _rows_per_kept_row(kept: KeptRows, class_weights: FloatArray) -> FloatArray:
    """How many rows a kept row of each class stands for (classes,)."""
    if kept.threshold == LARGEST_HASH:  # all rows are kept
        return np.ones(len(class_weights))
    weights = np.bincount(kept.codes, kept.weights, len(class_weights))
    return np.divide(class_weights, weights, out=np.ones(len(class_weights)), where=weights > 0)


def _typical(weights: FloatArray, of_one: FloatArray) -> float:
    """The mean of what one occurrence of each row weighs, by weight; no product of weights can overflow or vanish."""
    largest = float(of_one.max())
    return largest * float(np.average(of_one / largest, weights=weights / weights.max()))


def dealt(kept: KeptRows, class_weights: FloatArray, n_parts: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Deal the occurrences of the rows to parts.

    Each occurrence has a hash of its own, and those of a class are dealt in the order of these: an occurrence is as
    likely to share a fold with an equal row as with any other.

    Returns
    -------
    rows, parts : ndarray of int
        A row and a part for each pair of them that occurs.
    weights : ndarray of float
        The weight as a sample of all rows, in parts.
    """
    n_units = np.minimum(kept.occurrences, MOST_UNITS)
    rows = np.repeat(np.arange(len(kept)), n_units)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(n_units) - n_units, n_units)
    with np.errstate(over="ignore"):
        again = mixed(kept.hashes[rows] + number.astype(np.uint64) * GOLDEN)
    order = np.argsort(np.where(number == 0, kept.hashes[rows], again), kind="stable")
    parts = np.empty(len(rows), dtype=np.int64)
    parts[order] = dealt_folds(kept.codes[rows[order]], n_parts)
    pairs, n_here = np.unique(rows * n_parts + parts, return_counts=True)
    rows, parts = pairs // n_parts, pairs % n_parts
    return rows, parts, sample_weights(kept, class_weights)[rows] * (n_here / n_units[rows])


def dealt_folds(codes: IntArray, n_folds: int) -> IntArray:
    """Deal the rows of each class to folds in turn; they come in the order of their hashes, which is random enough."""
    by_class = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[by_class], codes[by_class])
    folds = np.empty(len(codes), dtype=np.int64)
    folds[by_class] = (np.arange(len(codes)) - first) % n_folds
    return folds


def fitted_rows(
    kept: KeptRows, class_weights: FloatArray, most: int | None = None, in_parts: Callable[[int], int] | None = None
) -> FittedRows:
    """The rows that weights are fitted on: all kept rows, or those that a smaller sample would have kept.

    Parameters
    ----------
    kept : KeptRows
    class_weights : ndarray (classes,)
    most : int, optional
        The size of the smaller sample.
    in_parts : callable, optional
        Says to how many parts so many rows are dealt; by default to as many as there are folds.
    """
    sample = kept if most is None else kept.smallest(most)
    places = np.flatnonzero(kept.hashes <= kept.limits(sample.threshold, sample.class_thresholds))
    n_rows = int(sample.occurrences.sum())
    n_folds = FOLDS_OF_FEW if n_rows <= FEW_ROWS else FOLDS
    rows, parts, weights = dealt(sample, class_weights, n_folds if in_parts is None else in_parts(n_rows))
    rows = places[rows]
    each = kept.codes[rows], weights, kept.occurrences[rows], removed_weights(kept)[rows]
    return FittedRows(rows, parts, *each, n_folds)
