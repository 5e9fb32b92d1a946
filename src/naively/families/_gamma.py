"""Numbers above 0 that are skewed to the right: the gamma distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import special

from naively._common.checks import require_number
from naively.families._distributions import Numbers
from naively.families._linear import classes_last, left_out
from naively.families._numbers import formula_tables
from naively.families.base import Estimate, Family, LeftOut, Parameters
from naively.smoothing import Smoothing
from naively.statistics._moments import Moments
from naively.statistics._sums import Sum
from naively.statistics.base import Summary
from naively.typing import AnyArray, FloatArray, IntArray

NOISE = 1e-14
"""Logarithms of a mean that differ from the mean of logarithms by less than this share are equal, but for rounding."""

NARROW = 1e-4
"""Below this spread the shape follows from a series to all digits."""

STEPS = 8
"""Newton's steps to the shape; the error of the start is below 1.5 percent, and squares with each."""


FARTHEST, LEAST_LOG = 1e280, -1e300
"""Numbers are held within the first and log-densities above the second, so that nothing overflows."""


@dataclass(frozen=True)
class Gamma(Family):
    """The gamma distribution: a shape and a scale per column and class, by maximum likelihood.

    Parameters
    ----------
    floor : float, default=1e-9
        The least spread of a class, ``log(mean) - mean(log)``, as a share of the column's spread over all classes.

    Notes
    -----
    Numbers of zero or less are refused. The smoothing of labels does not touch the parameters. A column that is
    constant over all rows gives no evidence. A class without a known value in a column borrows the parameters of all
    classes together.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> X, y = [[1.0], [2.0], [4.0], [20.0], [30.0], [50.0]], ["a", "a", "a", "b", "b", "b"]
    >>> model = NaiveBayes("textbook", families="gamma").fit(X, y)
    >>> model.parameters()["x0"]["shape"].round(3)
    array([3.401, 7.281])
    >>> model.predict([[3.0], [25.0]]).tolist()
    ['a', 'b']
    """

    floor: float = 1e-9

    def __post_init__(self) -> None:
        require_number("Gamma(floor)", self.floor, at_least=0)

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("moments", observed=True, squares=True, logs=True),)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, statistics: Moments, *, smoothing: Smoothing) -> GammaEstimate:
        """Shapes and means, classes first and columns last."""
        assert statistics.observed is not None
        assert statistics.log is not None
        sums = (statistics.observed, statistics.total, statistics.log)
        mean, spread = _mean_and_spread(*sums)
        mean_of_all, spread_of_all = _mean_and_spread(*(part.total(0) for part in sums))
        noise = NOISE * (1 + np.abs(np.log(mean_of_all)))
        unknown = statistics.observed.high == 0
        mean, spread = np.where(unknown, mean_of_all, mean), np.where(unknown, spread_of_all, spread)
        spread = np.maximum(spread, np.maximum(self.floor * spread_of_all, noise))
        return GammaEstimate(shape_of(spread), mean, np.asarray(spread_of_all > noise))

    def takes_smoothing(self, weighed: bool) -> bool:
        """Whether its estimates have pseudo-counts: a density has none."""
        return False

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, statistics: Moments, *, smoothing: Smoothing) -> LeftOut:
        """The estimate from sums without one row at a time: exact."""
        return left_out(statistics, lambda moments: self.estimate(moments, smoothing=smoothing))

    # -- Questions ------------------------------------------------------------------------------------------------

    def n_parameters(self, estimate: Any, n_classes: int, n_columns: int) -> Parameters:
        """A shape and a scale per column and class; of a constant column, which is silent, none."""
        return Parameters.all_free(2 * n_classes * int(np.sum(estimate.informative)))

    def rows_of(self, parameters: Any) -> list[list[tuple[Any, float]]]:
        """Two numbers with the mean of the distribution, and with that of its logarithms."""
        shape, scale = parameters["shape"], parameters["scale"]
        spread = np.log(shape) - special.digamma(shape)  # of the mean above the mean of the logarithms
        apart = np.sqrt(-np.expm1(-2 * spread))
        means = shape * scale
        return [[(m * (1 - d), 0.5), (m * (1 + d), 0.5)] for m, d in zip(means.tolist(), apart.tolist(), strict=True)]

    def distribution(self, estimate: Any, tables: Any, class_weight: Any, length: Any) -> Numbers:
        """Gamma numbers; of a constant column the constant."""
        mean, shape, informative = estimate.mean, estimate.shape, estimate.informative

        def draw(codes: IntArray, rng: np.random.Generator) -> FloatArray:
            return np.asarray(np.where(informative, mean[codes] * rng.gamma(shape[codes]) / shape[codes], mean[codes]))

        return Numbers(mean, draw)


def _mean_and_spread(weight: Sum, total: Sum, log: Sum) -> tuple[FloatArray, FloatArray]:
    """The mean, and ``log(mean) - mean(log)``; 1 and 0 where nothing is known."""
    known = (weight.high > 0) & (total.high > 0)
    rows = np.where(known, weight.high, 1.0)
    mean = np.where(known, total.high, 1.0) / rows
    return mean, np.where(known, np.log(mean) - log.high / rows, 0.0)


def shape_of(spread: FloatArray) -> FloatArray:
    """The shape of a gamma distribution with ``log(mean) - mean(log)`` equal to a spread above 0.

    It solves ``log(shape) - digamma(shape) = spread`` by Newton's method on 1 / shape.

    Examples
    --------
    >>> from scipy.special import digamma
    >>> shape_of(np.log([0.01, 1.0, 50.0]) - digamma([0.01, 1.0, 50.0])).round(9).tolist()
    [0.01, 1.0, 50.0]
    """
    inverse = 4 * spread / (1 + np.sqrt(1 + 4 * spread / 3))  # of the series, to all digits where the spread is small
    wide = spread > NARROW
    wanted = spread[wide]
    shape = (3 - wanted + np.sqrt((wanted - 3) ** 2 + 24 * wanted)) / (12 * wanted)
    for _ in range(STEPS):
        error = np.log(shape) - special.digamma(shape) - wanted
        change = error / (shape**2 * (1 / shape - special.polygamma(1, shape)))
        shape = 1 / (1 / shape + change)
    result = np.asarray(1 / inverse)
    result[wide] = shape
    return result


def _log_height(shape: FloatArray) -> FloatArray:
    """``shape log(shape) - shape - log Gamma(shape)``, by Stirling's series where the terms would cancel."""
    large = shape > 100
    some = np.where(large, shape, 101.0)
    series = 0.5 * np.log(some / (2 * math.pi)) - 1 / (12 * some) + 1 / (360 * some**3)
    few = np.where(large, 1.0, shape)
    return np.where(large, series, few * np.log(few) - few - special.gammaln(few))


# -- Evidence -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GammaEstimate(Estimate):
    """Shapes and means of a group of columns, (classes, columns) or (classes, rows, columns) if rows differ.

    Parameters
    ----------
    shape, mean : ndarray
    informative : ndarray of bool, (columns,) or (rows, columns)
        False for a column that is constant: it gives no evidence.
    """

    reads: ClassVar[str] = "numbers"
    positive: ClassVar[bool] = True

    shape: FloatArray
    mean: FloatArray
    informative: AnyArray

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Shape, mean and log-height, classes last."""
        return classes_last(self.shape), classes_last(self.mean), classes_last(_log_height(self.shape))

    def evidence(self, block: FloatArray) -> FloatArray:
        """The log-density of every cell: ``shape (log(x / mean) - x / mean + 1) - log(x) + height``."""
        shape, mean, height = self._parts
        x = np.where(np.isnan(block), 1.0, np.minimum(block, FARTHEST))[:, :, None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = x / mean
            log_ratio = np.where(ratio < 0.5, np.log(ratio), np.log1p(ratio - 1))  # each where it keeps its digits
            logs = shape * (log_ratio - (ratio - 1)) - np.log(x) + height
        logs = np.where(x > 0, np.maximum(logs, LEAST_LOG), -np.inf)
        return np.where(np.isnan(block)[:, :, None] | ~self.informative[..., None], 0.0, logs)

    # -- Description ----------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Shapes and scales."""
        return {"shape": self.shape, "scale": self.mean / self.shape}

    # -- Questions ------------------------------------------------------------------------------------------------

    def log_likelihood(self, moments: Moments) -> FloatArray:
        """The log-density is linear in x and log(x), so that it is a sum of sums."""
        assert moments.observed is not None
        assert moments.log is not None
        weight, total, log = moments.observed.high, moments.total.high, moments.log.high
        shape, mean = self.shape, self.mean
        terms = shape * (log - weight * np.log(mean) - total / mean + weight) - log + weight * _log_height(shape)
        return np.asarray(np.where(self.informative, terms, 0.0).sum(axis=0))

    def quantile(self, levels: FloatArray) -> FloatArray:
        """The numbers below which so much of each class lies."""
        found = special.gammaincinv(self.shape, levels[:, None, None]) * (self.mean / self.shape)
        return np.where(self.informative, found, self.mean)

    def as_table(self) -> list[dict[str, Any]]:
        """The log-density."""
        formula = "(shape - 1) * log(x) - x / scale - lgamma(shape) - shape * log(scale)"
        return formula_tables(formula, {"shape": self.shape, "scale": self.mean / self.shape}, ~self.informative)
