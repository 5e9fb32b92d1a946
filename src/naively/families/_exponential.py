"""Numbers of zero or more that fall off at a rate: times between events, distances, amounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._common.checks import require_number
from naively.errors import ParameterError
from naively.families._distributions import Numbers
from naively.families._linear import LinearEstimate, left_out
from naively.families._poisson import pseudo_rows_of
from naively.families._posteriors import Posteriors, gammas
from naively.families._uncertainty import Uncertain, independent, log_gamma_moments
from naively.families.base import Estimate, Family, LeftOut, Parameters
from naively.smoothing import Smoothing
from naively.statistics._moments import Moments
from naively.statistics.base import Summary
from naively.typing import FloatArray


@dataclass(frozen=True)
class Exponential(Family):
    """The exponential distribution: the log-density of x is ``log(rate) - rate * x``.

    Parameters
    ----------
    floor : float, default=1e-9
        The least mean of a class, as a share of the column's mean over all classes.

    Notes
    -----
    The rate is ``n / sum of x``. Smoothing by `alpha` adds pseudo-rows that have the column's mean over all classes, as
    for `Poisson`. A column of zeros alone tells no class from another. Negative numbers are refused.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> X, y = [[1.0], [3.0], [9.0], [11.0]], ["fast", "fast", "slow", "slow"]
    >>> model = NaiveBayes("textbook", families="exponential", smoothing="none").fit(X, y)
    >>> model.parameters()["x0"]["rate"]
    array([0.5, 0.1])
    """

    floor: float = 1e-9

    def __post_init__(self) -> None:
        require_number("Exponential(floor)", self.floor, at_least=1e-300)

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        # The rate takes no squares; with them, `drift.compare` can tell a change from chance.
        return (Summary("moments", observed=True, squares=True, nonnegative=True),)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, statistics: Moments, *, smoothing: Smoothing) -> ExponentialEstimate:
        """The rate of each column in each class."""
        rows, total = self._sums(statistics, smoothing)
        overall = _overall_mean(statistics)
        mean = np.where(rows > 0, total / np.where(rows > 0, rows, 1.0), overall)
        mean = np.maximum(mean, self.floor * overall)
        informative = mean > 0
        rate = 1.0 / np.where(informative, mean, 1.0)
        slope, offset = np.where(informative, -rate, 0.0), np.where(informative, np.log(rate), 0.0)
        parameters = {"rate": np.where(informative, rate, np.inf)}
        return ExponentialEstimate(slope, offset, nonnegative=True, parameters=parameters)

    def _sums(self, statistics: Moments, smoothing: Smoothing) -> tuple[FloatArray, FloatArray]:
        """The rows and the sum of each class, pseudo-rows included."""
        assert statistics.observed is not None
        alpha = pseudo_rows_of(smoothing)
        return statistics.observed.high + alpha, statistics.total.high + alpha * _overall_mean(statistics)

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, statistics: Moments, *, smoothing: Smoothing) -> LeftOut:
        """The estimate from sums without one row at a time: exact."""
        return left_out(statistics, lambda moments: self.estimate(moments, smoothing=smoothing))

    # -- Questions ------------------------------------------------------------------------------------------------

    def n_parameters(self, estimate: Any, n_classes: int, n_columns: int) -> Parameters:
        """A rate per column and class."""
        return Parameters.all_free(n_classes * n_columns)

    def distribution(self, estimate: Any, tables: Any, class_weight: Any, length: Any) -> Numbers:
        """Exponential numbers."""
        mean = 1.0 / estimate.parameters["rate"]
        return Numbers(mean, lambda codes, rng: rng.exponential(mean[codes]))

    def posterior(self, tables: Any, smoothing: Smoothing) -> list[Posteriors]:
        """Gamma."""
        rows, total = self._sums(tables[0], smoothing)
        return [{"rate": gammas(rows[:, place], total[:, place])} for place in range(rows.shape[1])]

    def rows_of(self, parameters: Any) -> list[list[tuple[Any, float]]]:
        """The mean, in the place of all numbers that have it."""
        if (parameters["rate"] <= 0).any():
            raise ParameterError(f"The rate of {self!r} must be above 0, got {parameters['rate'].tolist()}.")
        return [[(1.0 / rate, 1.0)] for rate in parameters["rate"].tolist()]

    def uncertain(self, estimate: Any, tables: Any, smoothing: Smoothing, block: FloatArray) -> Uncertain:
        """Under a gamma posterior of the rates."""
        rows, total = self._sums(tables[0], smoothing)
        known = (~np.isnan(block))[:, None, :] & ((rows > 0) & (total > 0))[None]
        x, total = np.where(np.isnan(block), 0.0, block)[:, None, :], np.where(total > 0, total, 1.0)
        logs, spread = log_gamma_moments(np.where(rows > 0, rows, 1.0))
        mean = logs - np.log(total) - x * rows / total
        variance = spread + x**2 * rows / total**2 - 2 * x / total
        parts = (np.where(known, part, 0.0).sum(axis=2) for part in (mean, np.maximum(variance, 0.0)))
        return independent(*parts)


def _overall_mean(statistics: Moments) -> FloatArray:
    """The mean of each column over all classes; 0 where no cell is known."""
    assert statistics.observed is not None
    rows = statistics.observed.high.sum(axis=0)
    return np.asarray(statistics.total.high.sum(axis=0) / np.where(rows > 0, rows, 1.0))


# -- Evidence -----------------------------------------------------------------------------------------------------


class ExponentialEstimate(LinearEstimate):
    """Rates: the evidence is a falling line."""

    def quantile(self, levels: FloatArray) -> FloatArray:
        """The numbers below which so much of each class lies."""
        return np.asarray(-np.log1p(-levels)[:, None, None] / self.parameters["rate"])

    def points(self, place: int, n_points: int) -> list[Any]:
        """Numbers from near 0 to what few exceed."""
        return Estimate.points(self, place, n_points)
