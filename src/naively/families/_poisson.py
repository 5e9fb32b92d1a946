"""Counts with a rate: how many events a row has, per class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import special

from naively._common.checks import require_one_of
from naively.families._distributions import Numbers
from naively.families._linear import LinearEstimate, left_out, logs_and_zeros
from naively.families._posteriors import Posteriors, gammas
from naively.families._uncertainty import Uncertain, independent, log_gamma_moments
from naively.families.base import Family, LeftOut, Parameters
from naively.smoothing import Lidstone, Smoothing
from naively.statistics._information import mutual_information, standardised_gap
from naively.statistics._moments import Moments
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from naively.statistics._divergence import Change

SUMMED_RATE = 1e4
"""Poisson distributions of larger rates are taken for normal ones."""

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
        require_one_of("Poisson(pseudo)", self.pseudo, ("rows", "events"))

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        # The squares are for comparisons: counts vary more than Poisson's distribution has them.
        return (Summary("moments", observed=True, squares=True, nonnegative=True),)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, statistics: Moments, *, smoothing: Smoothing) -> PoissonEstimate:
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
        return PoissonEstimate(
            slope, offset, no_other, base=minus_log_factorial, nonnegative=True, parameters={"rate": rate}
        )

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, statistics: Moments, *, smoothing: Smoothing) -> LeftOut:
        """The estimate from sums without one row at a time: exact."""
        return left_out(statistics, lambda moments: self.estimate(moments, smoothing=smoothing))

    # -- Questions ------------------------------------------------------------------------------------------------

    def n_parameters(self, estimate: Any, n_classes: int, n_columns: int) -> Parameters:
        """A rate per column and class."""
        return Parameters.all_free(n_classes * n_columns)

    def compare(self, before: Any, after: Any, summary: Summary, rows: FloatArray) -> tuple[Change, FloatArray]:
        """Whether the rates differ, and how often a cell is missing."""
        changed: tuple[Change, FloatArray] = before.compare_rates(after, rows)
        return changed

    def distribution(self, estimate: Any, tables: Any, class_weight: Any, length: Any) -> Numbers:
        """Numbers of events."""
        rate = estimate.parameters["rate"]
        return Numbers(rate, lambda codes, rng: rng.poisson(rate[codes]).astype(np.float64), counts=True)

    def uncertain(self, estimate: Any, tables: Any, smoothing: Smoothing, block: FloatArray) -> Uncertain:
        """Under a gamma posterior of the rates."""
        return independent(*_uncertain_rate(tables[0], pseudo_rows_of(smoothing), block))

    def posterior(self, tables: Any, smoothing: Smoothing) -> list[Posteriors]:
        """Gamma."""
        events, rows = _posterior_rate(tables[0], pseudo_rows_of(smoothing), self.pseudo)
        return [{"rate": gammas(events[:, place], rows[:, place])} for place in range(rows.shape[1])]

    def rows_of(self, parameters: Any) -> list[list[tuple[Any, float]]]:
        """The mean, in the place of all numbers that have it."""
        return [[(rate, 1.0)] for rate in parameters["rate"].tolist()]

    def information(self, statistics: Moments) -> FloatArray:
        """Summed over the counts."""
        weight, rate = _rates(statistics)
        return np.array([_poisson_bits(weight[:, place], rate[:, place]) for place in range(rate.shape[1])])

    def likelihood_ratio(self, statistics: Moments) -> tuple[FloatArray, IntArray]:
        """Equal rates."""
        weight, rate = _rates(statistics)
        total, every = statistics.total.high, weight.sum(axis=0)
        overall = total.sum(axis=0) / np.where(every > 0, every, 1.0)
        gain = 2 * (special.xlogy(total, rate).sum(axis=0) - special.xlogy(total.sum(axis=0), overall))
        freedom = np.where(overall > 0, np.maximum((weight > 0).sum(axis=0) - 1, 0), 0)
        return np.maximum(gain, 0.0), freedom

    def effect(self, statistics: Moments) -> FloatArray:
        """The variance of a number of events is its rate."""
        weight, rate = _rates(statistics)
        return standardised_gap(weight, rate, weight * rate)


class PoissonEstimate(LinearEstimate):
    """The evidence of numbers of events."""

    def points(self, place: int, n_points: int) -> list[Any]:
        """Numbers of events, from none to more than is common."""
        most = float(self.parameters["rate"][:, place].max())
        last = int(min(np.ceil(most + 3 * np.sqrt(most)), 2**53))
        return sorted({round(last * float(share)) for share in np.linspace(0, 1, min(n_points, last + 1))})


def _rates(moments: Moments) -> tuple[FloatArray, FloatArray]:
    """Weights and rates (classes, columns) of numbers of events."""
    assert moments.observed is not None
    weight = moments.observed.high
    return weight, moments.total.high / np.where(weight > 0, weight, 1.0)


def _poisson_bits(weight: FloatArray, rate: FloatArray) -> float:
    """Summed over the counts; from rates where that is many, over cells of normal distributions."""
    most = float(rate.max(initial=0.0))
    if most > SUMMED_RATE:
        deviation = np.sqrt(np.maximum(rate, 1.0))
        edges = np.unique(rate[:, None] + deviation[:, None] * np.linspace(-9, 9, 361))
        below = special.ndtr((edges - rate[:, None]) / deviation[:, None])
        return mutual_information(weight[:, None] * np.diff(below, axis=1))
    counts = np.arange(int(most + 10 * np.sqrt(most) + 20))
    logs = special.xlogy(counts, rate[:, None]) - rate[:, None] - special.gammaln(counts + 1.0)
    return mutual_information(weight[:, None] * np.exp(logs))


def _posterior_rate(moments: Moments, alpha: float, pseudo: str) -> tuple[FloatArray, FloatArray]:
    """Events and rows (classes, columns), those of the smoothing included."""
    assert moments.observed is not None
    weight, total = moments.observed.high, moments.total.high
    everything = weight.sum(axis=0)
    overall = total.sum(axis=0) / np.where(everything > 0, everything, 1.0)
    return (total + alpha * overall, weight + alpha) if pseudo == "rows" else (total + alpha, weight)


def _uncertain_rate(moments: Moments, pseudo_rows: float, block: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``x log rate - rate`` under a gamma posterior; what all classes share is left out."""
    shape, rows = _posterior_rate(moments, pseudo_rows, "rows")
    overall = moments.total.high.sum(axis=0)
    known = (~np.isnan(block))[:, None, :] & ((rows > 0) & (overall > 0))[None]
    x, rows = np.where(np.isnan(block), 0.0, block)[:, None, :], np.where(rows > 0, rows, 1.0)
    logs, spread = log_gamma_moments(shape)
    with np.errstate(invalid="ignore"):
        mean = np.where(x > 0, x * (logs - np.log(rows)), 0.0) - shape / rows
    variance = x**2 * spread + shape / rows**2 - 2 * x / rows * (shape > 0)
    return np.where(known, mean, 0.0).sum(axis=2), np.where(known, np.maximum(variance, 0.0), 0.0).sum(axis=2)


def pseudo_rows_of(smoothing: Smoothing) -> float:
    """How many rows the smoothing is worth, for a family that has no values to spread them over."""
    if isinstance(smoothing, Lidstone):
        return float(smoothing.tau)
    return float(smoothing.pseudo_counts(np.zeros((1, 1)), ["rate"]).sum())


def minus_log_factorial(values: FloatArray) -> FloatArray:
    from scipy.special import gammaln

    return np.asarray(-gammaln(values + 1.0))
