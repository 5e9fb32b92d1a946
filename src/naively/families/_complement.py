"""Counts that share a total, judged by what the other classes have: each class against its complement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from naively._common.checks import require_bool
from naively.families._linear import LinearEstimate, left_out, logs_and_zeros
from naively.families._multinomial import share_cells
from naively.families.base import Family, LeftOut
from naively.smoothing import Smoothing, share, smoothed_frequencies
from naively.statistics._counts import what_is_left
from naively.statistics._moments import Moments
from naively.statistics._sums import Sum
from naively.statistics.base import Summary
from naively.typing import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class Complement(Family):
    """Word counts and the like, where what speaks for a class is how rare a word is in all the others.

    Parameters
    ----------
    norm : bool, default=False
        Divide the weights of each class by their sum, so that a class with longer documents does not count for more.
    group : str, default=""
        Columns of the same group share one distribution, as in `Multinomial`.
    squares : bool, default=False
        Also keep the sums of squares, as in `Multinomial`.

    Notes
    -----
    A class's counts are those of all other classes together, ``c_ki = sum of n_ji over j != k``; with pseudo-counts
    ``a_i`` a count of one in column i gives class k the evidence ``-log((c_ki + a_i) / sum_i (c_ki + a_i))``. Classes
    with few rows gain by it: their complements are large. The evidence is a weight, not a log-likelihood. The class
    prior is added as for any family; ``prior="uniform"`` leaves it out, as `ComplementNB` does.

    Without smoothing, a word that only one class has makes the other classes impossible.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> model = NaiveBayes("textbook", families="complement").fit([[2, 0], [0, 1]], ["spam", "ham"])
    >>> [round(float(weight), 3) for weight in model.parameters()["x0"]["weight"]]  # -log(3 / 4), -log(1 / 3)
    [0.288, 1.099]
    """

    is_distribution: ClassVar[bool] = False
    shares_weight: ClassVar[bool] = True

    norm: bool = False
    group: str = ""
    squares: bool = False

    def __post_init__(self) -> None:
        require_bool(self.norm, "Complement(norm)")
        require_bool(self.squares, "Complement(squares)")

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("moments", observed=False, squares=bool(self.squares), nonnegative=True),)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, statistics: Moments, *, smoothing: Smoothing) -> LinearEstimate:
        """The weight of each column; smoothing adds pseudo-counts to every column of every complement."""
        frequencies = smoothed_frequencies(_complement(statistics.total).high, smoothing, statistics.columns)
        logs, zeros = logs_and_zeros(frequencies)
        slope = _shares_of_logs(logs) if self.norm else -logs
        only_here = None if zeros is None else zeros & ~zeros.all(axis=0)  # the column is zero in all other classes
        weight = slope if only_here is None else np.where(only_here, np.inf, slope)
        no_other = None if only_here is None else only_here.any(axis=0) & ~only_here
        return LinearEstimate(
            slope, np.zeros_like(slope), no_other, nonnegative=True, parameters={"weight": np.asarray(weight)}
        )

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, statistics: Moments, *, smoothing: Smoothing) -> LeftOut:
        """The estimate from sums without one row at a time: exact. The row is in every complement but one."""
        dense = left_out(statistics, lambda moments: self.estimate(moments, smoothing=smoothing))
        if self.norm:  # every column's weight changes with the sum, so rows are not sparse to us
            return dense
        return replace(dense, sparse=partial(_sparse_without, statistics, smoothing))

    # -- Questions ------------------------------------------------------------------------------------------------

    def to_compare(self) -> Family:
        """With squares."""
        return replace(self, squares=True)

    def cells(self, statistics: Moments) -> list[FloatArray]:
        """Of one event: whether it is of another column, or of this one."""
        return share_cells(statistics)


def _complement(total: Sum) -> Sum:
    """The sums over all other classes; the first axis holds the classes."""
    everything = total.total(0)
    return (everything.reshaped((1, *everything.shape)) - total).without_noise(everything.high)


def _shares_of_logs(logs: FloatArray) -> FloatArray:
    """Logarithms as shares of their sum; all 0 where a single column is all there is."""
    summed = logs.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(summed < 0, logs / np.where(summed < 0, summed, 1.0), 0.0))


def _sparse_without(
    statistics: Moments, smoothing: Smoothing, rows: Any, codes: IntArray, weights: FloatArray
) -> FloatArray:
    """The evidence (rows, classes) of CSR rows without them: only the cells that are stored speak."""
    n_rows, (n_classes, n_columns) = rows.shape[0], statistics.total.shape
    stored = np.flatnonzero((rows.data != 0) & ~np.isnan(rows.data))
    row = np.repeat(np.arange(n_rows), np.diff(rows.indptr))[stored]
    count, place = rows.data[stored], rows.indices[stored].astype(np.int64)
    length = np.bincount(row, weights=count, minlength=n_rows)
    what_is_left(statistics.total[codes[row], place], weights[row] * count)
    complement, classes = _complement(statistics.total), np.arange(n_classes)[:, None]
    beside: AnyArray = classes != codes[row]  # the complements that hold the row
    taken = Sum(np.where(beside, weights[row] * count, 0.0))
    of_all = complement.total(1).reshaped((n_classes, 1))
    left = (complement[:, place] - taken).without_noise(complement.high[:, place]).high
    total = (of_all - Sum(np.where(beside, (weights * length)[row], 0.0))).without_noise(of_all.high).high
    before = np.broadcast_to(smoothing.pseudo_counts(complement.high, statistics.columns), complement.shape)
    added = smoothing.pseudo_counts_without(before[:, place], left, total, n_columns)
    borrowed = share(left.sum(axis=0), total.sum(axis=0), 1.0 / n_columns)
    frequency = share(left + added, total + before.sum(axis=1, keepdims=True), borrowed)
    logs, zeros = logs_and_zeros(frequency)
    terms = -count * logs
    if zeros is not None:
        only_here = zeros & ~zeros.all(axis=0)
        terms = np.where(only_here.any(axis=0) & ~only_here, -np.inf, terms)
    return np.stack([np.bincount(row, weights=terms[code], minlength=n_rows) for code in range(n_classes)], axis=1)
