"""Counts that share a total: how a document's words, or a basket's goods, are drawn, per class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from naively.families.base import Family, LeftOut
from naively.families.linear import LinearEstimate, left_out, logs_and_zeros
from naively.smoothing import Smoothing, smoothed_frequencies
from naively.statistics.base import Summary
from naively.statistics.counts import frequencies_without
from naively.statistics.moments import Moments
from naively.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Multinomial(Family):
    """Word counts and the like, dense or sparse; the columns of a group share one distribution.

    Parameters
    ----------
    group : str, default=""
        Columns of the same group are one multinomial. Give the words of the title and of the body different groups
        and each has its own distribution.

    Notes
    -----
    The multinomial coefficient, the same for all classes, is left out, as in other systems. A missing count is read as
    "not counted" and gives no evidence.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> model = NaiveBayes("textbook", families="multinomial").fit([[2, 0], [0, 1]], ["spam", "ham"])
    >>> [float(probability) for probability in model.parameters()["x0"]["probability"]]
    [0.3333333333333333, 0.75]
    """

    shares_weight: ClassVar[bool] = True

    group: str = ""

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("moments", observed=False, nonnegative=True),)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, statistics: Moments, *, smoothing: Smoothing) -> LinearEstimate:
        """The probability of each column; smoothing adds pseudo-counts to every column."""
        frequencies = smoothed_frequencies(statistics.total.high, smoothing, statistics.columns)
        slope, no_other = logs_and_zeros(frequencies)
        return LinearEstimate(
            slope, np.zeros_like(slope), no_other, nonnegative=True, parameters={"probability": frequencies}
        )

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, statistics: Moments, *, smoothing: Smoothing) -> LeftOut:
        """The same estimate, of sums without one row at a time: exact."""
        dense = left_out(statistics, lambda moments: self.estimate(moments, smoothing=smoothing))
        return replace(dense, sparse=partial(_sparse_without, statistics, smoothing))


def _sparse_without(
    statistics: Moments, smoothing: Smoothing, rows: Any, codes: IntArray, weights: FloatArray
) -> FloatArray:
    """The log-likelihood (rows, classes) of CSR rows without them: only the cells that are stored speak."""
    n_rows, n_classes = rows.shape[0], statistics.total.shape[0]
    stored = np.flatnonzero((rows.data != 0) & ~np.isnan(rows.data))
    row = np.repeat(np.arange(n_rows), np.diff(rows.indptr))[stored]
    count, place = rows.data[stored], rows.indices[stored].astype(np.int64)
    length = np.bincount(row, weights=count, minlength=n_rows)
    weight = weights[row]
    frequency = frequencies_without(
        statistics.total, smoothing, statistics.columns, place, codes[row], weight * count, weight * length[row]
    )
    with np.errstate(divide="ignore"):
        terms = count * np.log(frequency)
    return np.stack([np.bincount(row, weights=terms[code], minlength=n_rows) for code in range(n_classes)], axis=1)
