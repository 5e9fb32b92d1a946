"""Kernel densities without a background: a bell on every value of the class.

Summed exactly or, to agree with R, on the grid of R's `density`. Beyond three bandwidths of a class's outermost values
its density is held, as that grid ends there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from naively.families._bandwidths import Rule, bandwidths
from naively.families._densities import Density, Sample
from naively.typing import FloatArray, IntArray

CUT = 3.0
"""How many bandwidths beyond the outermost values a density is held."""

GRID = 512
"""Between the values, the log-density is taken for a straight line from one of so many points to the next."""

LOG_ZERO = -800.0
"""The logarithm of a density of zero: the exponential of it is zero, and it can be interpolated."""

FARTHEST = 1e150
"""Deviations are held within so many bandwidths, so that their squares stay finite."""

NARROWEST = 2.0**-44
"""The least bandwidth as a share of the largest value: the points of a grid over less would be one number."""

SPARE = 4.0
"""R sums bells on a range that is so many bandwidths wider at each end, so that they do not meet around the circle."""

JUMP = 1e-9
"""How far, in steps, from the middle of two points the density jumps from one to the other."""

BLOCK_CELLS = 1 << 20

Shape = Callable[[FloatArray], FloatArray]
"""From deviations, in units in which the bell ends at 1, to heights; the bell has the area 1."""

COMPACT: dict[str, tuple[float, Shape]] = {
    "rectangular": (math.sqrt(3), lambda u: np.full(u.shape, 0.5)),
    "triangular": (math.sqrt(6), lambda u: 1 - u),
    "epanechnikov": (math.sqrt(5), lambda u: 0.75 * (1 - u**2)),
    "biweight": (math.sqrt(7), lambda u: 15 / 16 * (1 - u**2) ** 2),
    "cosine": (1 / math.sqrt(1 / 3 - 2 / math.pi**2), lambda u: (1 + np.cos(math.pi * u)) / 2),
    "optcosine": (1 / math.sqrt(1 - 8 / math.pi**2), lambda u: math.pi / 4 * np.cos(math.pi * u / 2)),
}
"""Half the width of each bell in its standard deviations, and its shape."""

KERNELS = ("gaussian", *COMPACT)


def log_bell(deviation: FloatArray, kernel: str) -> FloatArray:
    """The log-density at so many standard deviations from the middle of a bell of standard deviation 1."""
    if kernel == "gaussian":
        return np.asarray(-0.5 * (np.clip(deviation, -FARTHEST, FARTHEST) ** 2 + math.log(2 * math.pi)))
    width, shape = COMPACT[kernel]
    share = np.abs(deviation) / width
    height = np.where(share < 1, shape(np.minimum(share, 1.0)), 0.0) / width
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(height), LOG_ZERO)


class Bells:
    """The density of one class: a bell on every value, summed exactly.

    Parameters
    ----------
    values, counts : ndarray (cells,)
        The values of the column, ascending, and how often the class has each; at least one count is above zero.
    width : float
        The bandwidth.
    kernel : str
        The shape of the bells.
    """

    def __init__(self, values: FloatArray, counts: FloatArray, width: float, kernel: str):
        self.values, self.counts, self.width, self.kernel = values, counts, width, kernel
        self.total = float(counts.sum())
        self.own = np.flatnonzero(counts)
        self.low = float(values[self.own[0]]) - CUT * width
        self.high = float(values[self.own[-1]]) + CUT * width

    def log_density(self, x: FloatArray) -> FloatArray:
        """The log-density at x, held beyond the range."""
        return self._log_sums(np.clip(x, self.low, self.high)) - math.log(self.total)

    @property
    def knots(self) -> FloatArray:
        """Values between which the log-density is taken for a straight line."""
        return np.linspace(self.low, self.high, GRID)

    def _log_sums(self, x: FloatArray, apart: bool = False) -> FloatArray:
        """The logarithm of the sum of the bells at x; `apart`: x are the own values, each without its own bells."""
        centres, logs = self.values[self.own], np.log(self.counts[self.own])
        result = np.empty(len(x))
        step = max(1, BLOCK_CELLS // len(centres))
        for start in range(0, len(x), step):
            part = slice(start, start + step)
            terms = logs + log_bell((x[part, None] - centres) / self.width, self.kernel)
            if apart:
                rows = np.arange(len(terms))
                terms[rows, rows + start] = LOG_ZERO
            largest = terms.max(axis=1)
            result[part] = largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1))
        return np.maximum(result, LOG_ZERO) - math.log(self.width)

    @cached_property
    def _beside(self) -> FloatArray:
        """The logarithm of the sum, at each cell that is not empty, of the bells on the other cells (cells,)."""
        result = np.full(len(self.values), LOG_ZERO)
        result[self.own] = self._log_sums(self.values[self.own], apart=True)
        return result

    def without(self, cells: IntArray, weight: FloatArray) -> FloatArray:
        """The exact log-density at cells once so much weight of each is removed; NaN where nothing is left."""
        here, left = np.maximum(self.counts[cells] - weight, 0.0), self.total - weight
        with np.errstate(divide="ignore", invalid="ignore"):
            itself = np.maximum(np.log(here) + log_bell(np.zeros(1), self.kernel) - math.log(self.width), LOG_ZERO)
            return np.where(left > 0, np.logaddexp(self._beside[cells], itself) - np.log(left), np.nan)


class Grid(Bells):
    """Sums of kernels on equally spaced points, computed as R's `density` does.

    The values are rounded to the two nearest of at least 512 points, in shares, and their bells summed by a fast
    Fourier transform. That moves a density by about a thousandth of its peak, more where the range is many bandwidths.

    Parameters
    ----------
    values, counts, width, kernel
        As for `Bells`.
    points : int
        How many points are given.
    nearest : bool or "mean"
        Whether a density is that of the nearest point (klaR), on the line between two (naivebayes), or the mean of both
        (klaR, if asked to interpolate).
    """

    def __init__(self, values: FloatArray, counts: FloatArray, width: float, kernel: str, points: int, nearest: Any):
        super().__init__(values, counts, width, kernel)
        self.points, self.nearest = np.linspace(self.low, self.high, points), nearest

    @cached_property
    def heights(self) -> FloatArray:
        """The density at the points."""
        size = 1 << (max(len(self.points), GRID) - 1).bit_length()
        start, stop = self.low - SPARE * self.width, self.high + SPARE * self.width
        position = (self.values[self.own] - start) / ((stop - start) / (size - 1))
        left = np.floor(position).astype(np.int64)
        share, counts = position - left, self.counts[self.own]
        mass = np.bincount(left, counts * (1 - share), 2 * size) + np.bincount(left + 1, counts * share, 2 * size)
        away = np.linspace(0, 2 * (stop - start), 2 * size)  # as in R, whose steps are not quite those of the points
        away[size + 1 :] = -away[size - 1 : 0 : -1]
        bell = np.exp(log_bell(away / self.width, self.kernel)) / self.width
        sums = np.fft.irfft(np.fft.rfft(mass / self.total) * np.conj(np.fft.rfft(bell)), 2 * size)[:size]
        return np.interp(self.points, np.linspace(start, stop, size), np.maximum(sums, 0.0))

    def log_density(self, x: FloatArray) -> FloatArray:
        if self.nearest == "mean":
            heights = self._means_beside(x)
        elif self.nearest:
            step = self.points[1] - self.points[0]
            places = np.ceil((np.clip(x, self.low, self.high) - self.low) / step - 0.5)
            heights = self.heights[np.clip(places, 0, len(self.points) - 1).astype(np.int64)]
        else:
            heights = np.interp(x, self.points, self.heights)
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(np.log(heights), LOG_ZERO))

    def _means_beside(self, x: FloatArray) -> FloatArray:
        """The mean height of the two points beside each x; beyond the ends that of the end."""
        above, last = np.searchsorted(self.points, x, side="right"), len(self.points) - 1
        beside = np.clip(above, 0, last), np.clip(above - 1, 0, last)
        held = np.where(x <= self.points[0], 0, last)
        inside = (x > self.points[0]) & (x < self.points[-1])
        return np.where(inside, (self.heights[beside[0]] + self.heights[beside[1]]) / 2, self.heights[held])

    @property
    def knots(self) -> FloatArray:
        if self.nearest is False:
            return self.points
        if self.nearest == "mean":
            step = self.points[1] - self.points[0]
            return np.concatenate([self.points - JUMP * step, self.points + JUMP * step])
        middles, step = (self.points[1:] + self.points[:-1]) / 2, self.points[1] - self.points[0]
        return np.concatenate([middles - JUMP * step, middles + JUMP * step])


def bells(
    sample: Sample,
    rule: Rule,
    adjust: float = 1.0,
    kernel: str = "gaussian",
    points: int | None = None,
    nearest: Any = False,
) -> Density:
    """The density of each class: a bell on every value. A class without values borrows the density of all.

    With `points` densities are read from R's `Grid`, not summed exactly; leave-one-out is exact either way.
    """
    widths = np.maximum(adjust * bandwidths(sample, rule), NARROWEST * np.abs(sample.values).max())

    def of(counts: FloatArray, width: float) -> Bells:
        options = (sample.values, counts, width, kernel)
        return Bells(*options) if points is None else Grid(*options, points, nearest)

    of_all = of(sample.counts.sum(axis=0), float(widths[-1]))
    classes = [
        of(counts, width) if counts.any() else of_all
        for counts, width in zip(sample.counts, widths[:-1].tolist(), strict=True)
    ]

    def at(x: FloatArray) -> FloatArray:
        return np.stack([one.log_density(x) for one in classes])

    def without(codes: IntArray, cells: IntArray, weight: FloatArray | float) -> FloatArray:
        codes, cells, weights = np.broadcast_arrays(codes, cells, weight)
        result = np.empty(codes.shape)
        for code in np.unique(codes).tolist():
            in_class = codes == code
            rest = classes[code].without(cells[in_class], weights[in_class])
            if np.isnan(rest).any():  # the class has gone: it borrows what is left of all
                borrowed = np.nan_to_num(of_all.without(cells[in_class], weights[in_class]))
                rest = np.where(np.isnan(rest), borrowed, rest)
            result[in_class] = rest
        return result

    return Density(at(sample.values), without, at, np.unique(np.concatenate([one.knots for one in classes])))
