"""Yes or no: the probability that a column is above a threshold, per class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from naively.families.base import Family, LeftOut, Summary
from naively.families.linear import LinearEstimate, left_out, logs_and_zeros
from naively.families.moments import Moments
from naively.smoothing import Smoothing, require_number, smoothed_frequencies


@dataclass(frozen=True)
class Bernoulli(Family):
    """Whether a number is above a threshold; dense or sparse, booleans included.

    Parameters
    ----------
    threshold : float, default=0.0
        A cell counts as "yes" above it, as `binarize` in scikit-learn.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> model = NaiveBayes("textbook", families="bernoulli").fit([[0], [1], [1], [1]], ["a", "a", "b", "b"])
    >>> model.parameters()["x0"]["probability"]
    array([0.5 , 0.75])
    """

    threshold: float = 0.0

    def __post_init__(self) -> None:
        require_number("Bernoulli(threshold)", self.threshold, at_least=-np.inf)

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("moments", observed=True, above=float(self.threshold)),)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, statistics: Moments, *, smoothing: Smoothing) -> LinearEstimate:
        """The probability of yes; smoothing adds pseudo-counts to no and yes."""
        assert statistics.observed is not None
        counts = np.stack([(statistics.observed - statistics.total).high, statistics.total.high], axis=-1)
        frequencies = smoothed_frequencies(counts, smoothing, [False, True])
        log_no, no_zero = logs_and_zeros(frequencies[..., 0])
        log_yes, no_other = logs_and_zeros(frequencies[..., 1])
        parameters = {"probability": frequencies[..., 1]}
        return LinearEstimate(log_yes - log_no, log_no, no_other, no_zero, self.threshold, parameters=parameters)

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, statistics: Moments, *, smoothing: Smoothing) -> LeftOut:
        """The same estimate, of sums without one row at a time: exact."""
        return left_out(statistics, lambda moments: self.estimate(moments, smoothing=smoothing), float(self.threshold))
