"""Numbers as Weka's naive Bayes reads them: rounded to the column's resolution, with the probability of an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtr

from naively._common.checks import require_bool
from naively.families._bins import histogram_cells
from naively.families.base import Estimate, Family, Parameters
from naively.smoothing import Smoothing
from naively.statistics._histogram import Histogram, Histograms
from naively.statistics.base import Summary
from naively.typing import FloatArray

LEAST_PROBABILITY = 1e-75
"""What a probability is at least."""

NO_RESOLUTION = 0.01
"""The resolution of a column with a single value."""

ENOUGH = 0.01
"""The sum over kernels ends where what is left is at most so much of it."""

MOST_VALUES = 1 << 16
"""So many distinct values are told apart."""


@dataclass(frozen=True)
class Rounded(Family):
    """Numbers rounded to the mean gap between the column's distinct values, as Weka's `NaiveBayes` has them.

    The evidence of a cell is the probability of the interval of one resolution around the rounded number, at least
    1e-75: that of a normal distribution with the mean and standard deviation of the rounded numbers of the class, or
    the mean of such over a kernel on each of its rounded numbers.

    Parameters
    ----------
    kernel : bool, default=False
        A kernel on each number, of the standard deviation ``range / sqrt(n)``; its sum ends where the rest is at most
        a hundredth. By default one normal distribution.
    """

    kernel: bool = False

    def __post_init__(self) -> None:
        require_bool(self.kernel, "kernel")

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("histogram", most_cells=MOST_VALUES),)

    def estimate(self, histograms: Histograms, *, smoothing: Smoothing) -> RoundedEstimate:
        """The resolution of each column, and the distribution of each class."""
        return RoundedEstimate(tuple(_column(one, self.kernel) for one in histograms.histograms))

    def n_parameters(self, estimate: Any, n_classes: int, n_columns: int) -> Parameters:
        """A mean and a standard deviation per column and class."""
        if self.kernel:
            return super().n_parameters(estimate, n_classes, n_columns)  # type: ignore[no-any-return]
        return Parameters.all_free(2 * n_classes * n_columns)

    def cells(self, *tables: Any) -> list[FloatArray]:
        """The counts of a few bins."""
        return histogram_cells(tables[0])


class RoundedColumn(NamedTuple):
    """A column's resolution and, for each class, values (one, or a kernel on each), their weights and a deviation."""

    resolution: float
    values: tuple[FloatArray, ...]
    weights: tuple[FloatArray, ...]
    deviation: FloatArray
    mean: FloatArray
    kernel: bool


def _column(histogram: Histogram, kernel: bool) -> RoundedColumn:
    numbers, counts = histogram.values(), histogram.counts
    distinct = numbers[counts.any(axis=0)]
    resolution = float(distinct[-1] - distinct[0]) / (len(distinct) - 1) if len(distinct) > 1 else NO_RESOLUTION
    rounded = _rounded(numbers, resolution)
    parts = [_of_class(rounded, own, resolution, kernel) for own in counts]
    values, weights, deviation, mean = zip(*parts, strict=True)
    return RoundedColumn(resolution, values, weights, np.array(deviation), np.array(mean), kernel)


def _rounded(numbers: FloatArray, resolution: float) -> FloatArray:
    return np.asarray(np.rint(numbers / resolution) * resolution)


def _of_class(
    rounded: FloatArray, counts: FloatArray, resolution: float, kernel: bool
) -> tuple[FloatArray, FloatArray, float, float]:
    """Where the kernels of a class are, what they weigh, their standard deviation, and the mean of the class."""
    values, places = np.unique(rounded[counts > 0], return_inverse=True)
    weights = np.asarray(np.bincount(places, counts[counts > 0], len(values)), dtype=np.float64)
    total, least = float(weights.sum()), resolution / 6
    if not total:
        return np.zeros(1), np.ones(1), least, 0.0
    mean = float(weights @ values / total)
    if kernel:
        return values, weights, max(float(values[-1] - values[0]) / math.sqrt(total), least), mean
    deviation = math.sqrt(float(weights @ (values - mean) ** 2) / total)
    return np.array([mean]), np.ones(1), max(deviation, least), mean


class RoundedEstimate(Estimate):
    """The distributions of the rounded numbers of each column in each class."""

    reads: ClassVar[str] = "numbers"

    def __init__(self, columns: tuple[RoundedColumn, ...]):
        self.columns = columns
        self.n_classes = len(columns[0].deviation) if columns else 0

    def evidence(self, block: FloatArray) -> FloatArray:
        """The log-probability of the interval of every cell."""
        result = np.zeros((*block.shape, self.n_classes))
        for place, column in enumerate(self.columns):
            known = np.flatnonzero(~np.isnan(block[:, place]))
            numbers, back = np.unique(_rounded(block[known, place], column.resolution), return_inverse=True)
            logs = np.log(np.maximum(_probabilities(column, numbers), LEAST_PROBABILITY))
            result[known, place] = logs[back.reshape(-1)]
        return result

    def describe(self) -> dict[str, Any]:
        """Means, standard deviations and the resolution."""
        n_classes = self.n_classes
        return {
            "mean": np.array([column.mean for column in self.columns]).T,
            "deviation": np.array([column.deviation for column in self.columns]).T,
            "resolution": np.array([[column.resolution] * n_classes for column in self.columns]).T,
        }

    def quantile(self, levels: FloatArray) -> FloatArray:
        """The numbers below which so much lies, as if the kernels of a class were one normal distribution."""
        from scipy.special import ndtri

        spread = [
            np.sqrt(
                column.deviation**2
                + [
                    float(weights @ (values - weights @ values / weights.sum()) ** 2 / weights.sum())
                    for values, weights in zip(column.values, column.weights, strict=True)
                ]
            )
            for column in self.columns
        ]
        mean = np.array([column.mean for column in self.columns]).T
        return np.asarray(mean + np.array(spread).T * ndtri(levels)[:, None, None])


def _probabilities(column: RoundedColumn, numbers: FloatArray) -> FloatArray:
    """The probability (numbers, classes) of the interval around each number."""
    result = np.empty((len(numbers), len(column.deviation)))
    half = column.resolution / 2
    for code, (values, weights) in enumerate(zip(column.values, column.weights, strict=True)):
        for place, number in enumerate(numbers.tolist()):
            # from the number to the mean, or to each kernel: the difference of two values near 1 is Weka's own noise
            apart = values - number if column.kernel else number - values
            shares = ndtr((apart + half) / column.deviation[code]) - ndtr((apart - half) / column.deviation[code])
            result[place, code] = shares[0] if len(values) == 1 else _sum_of_kernels(values, weights, shares, number)
    return result


def _sum_of_kernels(values: FloatArray, weights: FloatArray, shares: FloatArray, number: float) -> float:
    """The mean of the kernels' shares: from the nearest on, upwards and then downwards, until the rest is little."""
    total = float(weights.sum())
    first = int(np.searchsorted(values, number))
    sum_of, weight = 0.0, 0.0
    for places in (np.arange(first, len(values)), np.arange(first - 1, -1, -1)):
        sums = sum_of + np.cumsum(shares[places] * weights[places])
        seen = weight + np.cumsum(weights[places])
        ends = np.flatnonzero(shares[places] * (total - seen) < sums * ENOUGH)
        last = int(ends[0]) if len(ends) else len(places) - 1
        if last >= 0:
            sum_of, weight = float(sums[last]), float(seen[last])
    return sum_of / total
