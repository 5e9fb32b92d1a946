"""Rounded numbers: the probability that a normal value falls into an interval, accurate however small it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from naively.families._linear import classes_last
from naively.families._numbers import edges_around, points_within
from naively.families.base import Estimate
from naively.typing import FloatArray

FARTHEST = 1e150
"""Deviations and widths are held within this many standard deviations, so that their squares stay finite."""

NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(10)


def log_interval_probability(deviation: FloatArray, width: FloatArray) -> FloatArray:
    """The logarithm of the probability that a standard normal value is within half a width of a deviation.

    ``log (Phi(z + w/2) - Phi(z - w/2))``, to about 15 digits for narrow and wide intervals, in the middle and in both
    tails.

    Parameters
    ----------
    deviation, width : ndarray
        In standard deviations, of shapes that go together; widths above 0.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> log_interval_probability(np.array([0.0, 3.0, 20.0]), np.array([2.0, 1e-9, 1.0])).round(3)
    array([  -0.382,  -26.142, -194.017])
    """
    from scipy.special import log_ndtr

    # By symmetry the left tail, where Phi is small and its logarithm says all of it.
    z = np.maximum(-np.abs(deviation), -FARTHEST)
    z, width = np.broadcast_arrays(z, np.clip(width, 1 / FARTHEST, FARTHEST))
    slope = -z * width  # log Phi rises by at least so much from one end to the other
    upper = log_ndtr(z + width / 2)
    fall = np.minimum(log_ndtr(z - width / 2) - upper, -slope)
    with np.errstate(divide="ignore"):
        result = np.asarray(upper + np.log(-np.expm1(fall)))
    # Where the ends are close their difference cancels, but the density is smooth: a few points have all of it.
    narrow = np.maximum(slope, width) < 1.0
    result[narrow] = _by_quadrature(z[narrow], width[narrow] / 2)
    return result


def _by_quadrature(z: FloatArray, half: FloatArray) -> FloatArray:
    """The mass of an interval by Gauss-Legendre quadrature of the density, divided by the density at the middle."""
    steps = half[:, None] * NODES
    relative = np.exp(-steps * (z[:, None] + steps / 2)) @ NODE_WEIGHTS
    return np.asarray(np.log(half) + np.log(relative) - z * z / 2 - math.log(2 * math.pi) / 2)


@dataclass(frozen=True)
class IntervalEstimate(Estimate):
    """Means, variances and the resolution of a group of columns; arrays as in `GaussianEstimate`.

    A column in which a class has variance 0, all values being the same, gives no evidence.
    """

    reads: ClassVar[str] = "numbers"

    mean: FloatArray
    variance: FloatArray
    interval: float

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray, Any]:
        """Mean, standard deviation and whether the column speaks, classes last."""
        informative = np.asarray((self.variance > 0).all(axis=0))[..., None]
        spread = np.sqrt(np.where(informative, classes_last(self.variance), 1.0))
        return classes_last(self.mean), spread, informative

    def evidence(self, block: FloatArray) -> FloatArray:
        """The log-probability of every cell."""
        mean, spread, informative = self._parts
        values = block[:, :, None]
        known = ~np.isnan(values)
        with np.errstate(over="ignore"):  # what overflows is held within reach
            deviation = (np.where(known, values, 0.0) - mean) / spread
            logs = log_interval_probability(deviation, self.interval / spread)
        return np.where(known & informative, logs, 0.0)

    # -- Description ----------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Means and variances of the values before they were rounded."""
        return {"mean": self.mean, "variance": self.variance}

    # -- Questions ------------------------------------------------------------------------------------------------

    @property
    def mass(self) -> float:
        return self.interval  # the probability of an interval, whose middle is anywhere

    def points(self, place: int, n_points: int) -> list[Any]:
        """Points within three standard deviations of the means."""
        return points_within(self.mean[:, place], np.sqrt(self.variance[:, place]), n_points)

    def edges(self) -> FloatArray:
        """Nine standard deviations to both sides of every mean."""
        return edges_around(self.mean, np.sqrt(self.variance), np.linspace(-9, 9, 73))
