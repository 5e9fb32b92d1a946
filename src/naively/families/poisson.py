"""Counts with a rate: how many events a row has, per class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from naively.errors import ParameterError
from naively.families.base import Family, LeftOut
from naively.families.linear import LinearEstimate, left_out, logs_and_zeros
from naively.smoothing import Lidstone, Smoothing
from naively.statistics.base import Summary
from naively.statistics.moments import Moments
from naively.typing import FloatArray

LARGEST_RATE = 1e150
"""Pseudo-events of rows that weigh next to nothing could make a rate that is not finite."""


@dataclass(frozen=True)
class Poisson(Family):
    """Numbers of events.

    Parameters
    ----------
    pseudo : "rows" or "events", default="rows"
        What smoothing adds. Rows that have the column's rate over all classes: the class's rate is
        ``(sum + alpha * overall rate) / (rows + alpha)``, a Gamma prior in plain words. Or events alone, as R's
        naivebayes does: ``(sum + alpha) / rows``.

    Notes
    -----
    A column without a single event, pseudo-events included, tells no class from another.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> X, y = [[1], [3], [0], [0]], ["a", "a", "b", "b"]
    >>> model = NaiveBayes("textbook", families="poisson", smoothing="none").fit(X, y)
    >>> model.parameters()["x0"]["rate"]
    array([2., 0.])
    """

    pseudo: Literal["rows", "events"] = "rows"

    def __post_init__(self) -> None:
        if self.pseudo not in ("rows", "events"):
            raise ParameterError(f"Poisson(pseudo) must be 'rows' or 'events', got {self.pseudo!r}.")

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("moments", observed=True, nonnegative=True),)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, statistics: Moments, *, smoothing: Smoothing) -> LinearEstimate:
        """The rate of each column in each class."""
        assert statistics.observed is not None
        weight, total = statistics.observed.high, statistics.total.high
        everything = weight.sum(axis=0)
        overall = total.sum(axis=0) / np.where(everything > 0, everything, 1.0)
        alpha = pseudo_rows_of(smoothing)
        rows, events = (weight + alpha, alpha * overall) if self.pseudo == "rows" else (weight, alpha)
        with np.errstate(over="ignore"):
            rate = np.where(rows > 0, (total + events) / np.where(rows > 0, rows, 1.0), overall)
        rate = np.minimum(rate, LARGEST_RATE)
        silent = np.broadcast_to((rate == 0).all(axis=0), rate.shape)
        slope, no_other = logs_and_zeros(np.where(silent, 1.0, rate))
        offset = np.where(silent, 0.0, -rate)
        return LinearEstimate(
            slope, offset, no_other, base=_minus_log_factorial, nonnegative=True, parameters={"rate": rate}
        )

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, statistics: Moments, *, smoothing: Smoothing) -> LeftOut:
        """The same estimate, of sums without one row at a time: exact."""
        return left_out(statistics, lambda moments: self.estimate(moments, smoothing=smoothing))


def pseudo_rows_of(smoothing: Smoothing) -> float:
    """How many rows the smoothing is worth, for a family that has no values to spread them over."""
    if isinstance(smoothing, Lidstone):
        return float(smoothing.tau)
    return float(smoothing.pseudo_counts(np.zeros((1, 1)), ["rate"]).sum())


def _minus_log_factorial(values: FloatArray) -> FloatArray:
    from scipy.special import gammaln

    return np.asarray(-gammaln(values + 1.0))
