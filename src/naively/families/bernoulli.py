"""Yes or no: the probability that a column is above a threshold, per class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from naively._checks import require_number
from naively.errors import InputError
from naively.families.base import Family, LeftOut
from naively.families.linear import LinearEstimate, left_out, logs_and_zeros
from naively.smoothing import Smoothing, smoothed_frequencies
from naively.statistics.base import Summary
from naively.statistics.moments import Moments
from naively.typing import FloatArray

ROUNDING = 1e-12
"""A count of "no" that is below zero by no more than this share of the count of "yes" is zero, but for rounding."""


@dataclass(frozen=True)
class Bernoulli(Family):
    """Whether a number is above a threshold; dense or sparse, booleans included.

    Parameters
    ----------
    threshold : float or None, default=0.0
        A cell counts as "yes" above it, as `binarize` in scikit-learn. With None the cells are 0 for "no", 1 for "yes",
        or the share of a "yes" between them.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> model = NaiveBayes("textbook", families="bernoulli").fit([[0], [1], [1], [1]], ["a", "a", "b", "b"])
    >>> model.parameters()["x0"]["probability"]
    array([0.5 , 0.75])
    """

    threshold: float | None = 0.0

    def __post_init__(self) -> None:
        if self.threshold is not None:
            require_number("Bernoulli(threshold)", self.threshold, at_least=-np.inf, at_most=np.inf)

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("moments", observed=True, above=self._above, nonnegative=self._above is None),)

    @property
    def _above(self) -> float | None:
        return None if self.threshold is None else float(self.threshold)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, statistics: Moments, *, smoothing: Smoothing) -> LinearEstimate:
        """The probability of yes; smoothing adds pseudo-counts to no and yes."""
        assert statistics.observed is not None
        counts = np.stack([(statistics.observed - statistics.total).high, statistics.total.high], axis=-1)
        if self.threshold is None:
            _refuse_more_than_yes(statistics, counts)
        counts = np.maximum(counts, 0.0)
        frequencies = smoothed_frequencies(counts, smoothing, [False, True])
        log_no, no_zero = logs_and_zeros(frequencies[..., 0])
        log_yes, no_other = logs_and_zeros(frequencies[..., 1])
        parameters = {"probability": frequencies[..., 1]}
        return LinearEstimate(
            *(log_yes - log_no, log_no, no_other, no_zero, self._above),
            nonnegative=self.threshold is None,
            parameters=parameters,
        )

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, statistics: Moments, *, smoothing: Smoothing) -> LeftOut:
        """The same estimate, of sums without one row at a time: exact."""
        return left_out(statistics, lambda moments: self.estimate(moments, smoothing=smoothing), self._above)


def _refuse_more_than_yes(statistics: Moments, counts: FloatArray) -> None:
    more = counts[..., 0] < -ROUNDING * counts[..., 1]
    if more.any():
        column = statistics.columns[int(np.argwhere(more)[0][-1])]
        raise InputError(
            f"Column {column!r} holds numbers above 1, where 0 for no and 1 for yes belong. Give Bernoulli a threshold."
        )
