"""Kernel densities without a background: a bell on every value of the class.

Summed exactly or, to agree with R, on the grid of R's `density`. Beyond three bandwidths of a class's outermost values
its density is held, as that grid ends there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from naively.additive.densities import Density, Sample
from naively.errors import ParameterError
from naively.typing import FloatArray, IntArray

CUT = 3.0
"""How many bandwidths beyond the outermost values a density is held."""

GRID = 512
"""Between the values, the log-density is taken for a straight line from one of so many points to the next."""

LOG_ZERO = -800.0
"""The logarithm of a density of zero: the exponential of it is zero, and it can be interpolated."""

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

Rule = str | float | Sequence[float]
"""A bandwidth: by R's rule "nrd0", one for all classes, or one for each."""


def log_bell(deviation: FloatArray, kernel: str) -> FloatArray:
    """The log-density at so many standard deviations from the middle of a bell of standard deviation 1."""
    if kernel == "gaussian":
        return np.asarray(-0.5 * (deviation**2 + math.log(2 * math.pi)))
    width, shape = COMPACT[kernel]
    share = np.abs(deviation) / width
    height = np.where(share < 1, shape(np.minimum(share, 1.0)), 0.0) / width
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(height), LOG_ZERO)


def quartiles(values: FloatArray, counts: FloatArray) -> tuple[float, float]:
    """The first and third quartile of counted values as R has them (type 7); weights count as repetitions."""
    cumulative = np.cumsum(counts)
    last = max(float(cumulative[-1]) - 1, 0.0)

    def at(share: float) -> float:
        place = last * share
        below = values[min(int(np.searchsorted(cumulative, math.floor(place), side="right")), len(values) - 1)]
        above = values[min(int(np.searchsorted(cumulative, math.floor(place) + 1, side="right")), len(values) - 1)]
        return float(below + (place - math.floor(place)) * (above - below))

    return at(0.25), at(0.75)


def nrd0(values: FloatArray, counts: FloatArray, m2: float) -> float:
    """R's `bw.nrd0` of counted values: ``0.9 min(sd, IQR / 1.34) n^(-1/5)``, and what R takes where that is zero.

    Parameters
    ----------
    values, counts : ndarray (cells,)
    m2 : float
        Sum of squared deviations from the mean.

    Examples
    --------
    >>> round(nrd0(np.array([1.0, 2.0, 4.0, 8.0]), np.ones(4), 28.75), 6)
    1.65428
    """
    n = float(counts.sum())
    sd = math.sqrt(m2 / (n - 1)) if n > 1 else 0.0
    low, high = quartiles(values, counts)
    scale = min(sd, (high - low) / 1.34) or sd or abs(float(values[counts > 0][0])) or 1.0
    return float(0.9 * scale * n**-0.2)


def bandwidths(sample: Sample, rule: Rule) -> FloatArray:
    """The bandwidth of every class, and last of all classes together; a class of fewer than two rows takes the last."""
    if isinstance(rule, str):
        everyone = nrd0(sample.values, sample.counts.sum(axis=0), sample.total_m2)
        of_class = [
            nrd0(sample.values, counts, float(m2)) if n > 1 else everyone
            for counts, m2, n in zip(sample.counts, sample.m2, sample.n, strict=True)
        ]
        return np.array([*of_class, everyone])
    given = np.ravel(np.asarray(rule, dtype=np.float64))
    if len(given) not in (1, len(sample.n)):
        raise ParameterError(
            f"Kernel(bandwidth) has {len(given)} bandwidths, but there are {len(sample.n)} classes. Give one for each, "
            "in the order of classes_, or one for all."
        )
    each = np.broadcast_to(given, len(sample.n))
    return np.append(each, each.mean())


class Grid:
    """The density of a class on equally spaced points, computed as R's `density` does, and held beyond them.

    The values are rounded to the two nearest of at least 512 points, in shares, and their bells summed by a fast
    Fourier transform. That moves a density by about a thousandth of its peak, more where the range is many bandwidths.

    Parameters
    ----------
    values, counts : ndarray (cells,)
        At least one count is above zero.
    width : float
        The bandwidth.
    kernel : str
    points : int
        How many points are given.
    nearest : bool
        Whether a density is that of the nearest point (klaR) or on the line between two (naivebayes).
    """

    def __init__(self, values: FloatArray, counts: FloatArray, width: float, kernel: str, points: int, nearest: bool):
        occupied = values[counts > 0]
        low, high = occupied[0] - CUT * width, occupied[-1] + CUT * width
        size = 1 << (max(points, GRID) - 1).bit_length()
        start, stop = low - SPARE * width, high + SPARE * width
        position = (values - start) / ((stop - start) / (size - 1))
        left = np.clip(np.floor(position).astype(np.int64), 0, size - 2)
        share = position - left
        mass = np.bincount(left, counts * (1 - share), 2 * size) + np.bincount(left + 1, counts * share, 2 * size)
        away = np.linspace(0, 2 * (stop - start), 2 * size)  # as in R, whose steps are not quite those of the points
        away[size + 1 :] = -away[size - 1 : 0 : -1]
        bell = np.exp(log_bell(away / width, kernel)) / width
        sums = np.fft.irfft(np.fft.rfft(mass / counts.sum()) * np.conj(np.fft.rfft(bell)), 2 * size)[:size]
        self.points, self.nearest = np.linspace(low, high, points), nearest
        self.heights = np.interp(self.points, np.linspace(start, stop, size), np.maximum(sums, 0.0))

    def log_density(self, x: FloatArray) -> FloatArray:
        """The log-density at x."""
        if self.nearest:
            step = self.points[1] - self.points[0]
            places = np.ceil((np.clip(x, self.points[0], self.points[-1]) - self.points[0]) / step - 0.5)
            heights = self.heights[np.clip(places, 0, len(self.points) - 1).astype(np.int64)]
        else:
            heights = np.interp(x, self.points, self.heights)
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(np.log(heights), LOG_ZERO))

    @property
    def knots(self) -> FloatArray:
        """Values between which the density is a straight line."""
        if not self.nearest:
            return self.points
        middles, step = (self.points[1:] + self.points[:-1]) / 2, self.points[1] - self.points[0]
        return np.concatenate([middles - JUMP * step, middles + JUMP * step])


def bells(
    sample: Sample,
    rule: Rule,
    adjust: float = 1.0,
    kernel: str = "gaussian",
    points: int | None = None,
    nearest: bool = False,
) -> Density:
    """The density of each class: a bell on every value. A class without values borrows the density of all.

    With `points` densities are read from R's `Grid`, not summed exactly; leave-one-out is exact either way.
    """
    values = sample.values
    counts = np.vstack([sample.counts, sample.counts.sum(axis=0)])
    width = adjust * bandwidths(sample, rule)
    total = counts.sum(axis=1)
    owner = np.where(total[:-1] > 0, np.arange(len(total) - 1), len(total) - 1).tolist()
    cells_of = [np.flatnonzero(row) for row in counts]

    def log_sums(code: int, x: FloatArray, apart: bool = False) -> FloatArray:
        """The logarithm of the sum of the bells of a class at x; `apart`: x are its cells, each without its own."""
        cells = cells_of[code]
        logs = np.log(counts[code, cells])
        result = np.empty(len(x))
        step = max(1, BLOCK_CELLS // len(cells))
        for start in range(0, len(x), step):
            part = slice(start, start + step)
            terms = logs + log_bell((x[part, None] - values[cells]) / width[code], kernel)
            if apart:
                rows = np.arange(len(terms))
                terms[rows, rows + start] = LOG_ZERO
            largest = terms.max(axis=1)
            result[part] = largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1))
        return np.maximum(result, LOG_ZERO) - math.log(width[code])

    def exact(code: int, x: FloatArray) -> FloatArray:
        """The log-density of a class at x, held beyond the outermost values."""
        cells, reach = cells_of[code], CUT * width[code]
        return log_sums(code, np.clip(x, values[cells[0]] - reach, values[cells[-1]] + reach)) - math.log(total[code])

    @cache
    def grid(code: int) -> Grid:
        return Grid(values, counts[code], float(width[code]), kernel, points or GRID, nearest)

    def at(x: FloatArray) -> FloatArray:
        return np.stack([exact(code, x) if points is None else grid(code).log_density(x) for code in owner])

    @cache
    def beside(code: int) -> FloatArray:
        """The logarithm of the sum at each cell of the bells on the other cells (cells,)."""
        result = np.full(len(values), LOG_ZERO)
        result[cells_of[code]] = log_sums(code, values[cells_of[code]], apart=True)
        return result

    def of_rest(code: int, cells: IntArray, weight: FloatArray) -> FloatArray:
        """The log-density of a class at cells once so much weight of each is removed; NaN where nothing is left."""
        own, left = np.maximum(counts[code, cells] - weight, 0.0), total[code] - weight
        with np.errstate(divide="ignore", invalid="ignore"):
            itself = np.maximum(np.log(own) + log_bell(np.zeros(1), kernel) - math.log(width[code]), LOG_ZERO)
            return np.where(left > 0, np.logaddexp(beside(code)[cells], itself) - np.log(left), np.nan)

    def without(codes: IntArray, cells: IntArray, weight: FloatArray | float) -> FloatArray:
        codes, cells, weights = np.broadcast_arrays(codes, cells, weight)
        result = np.empty(codes.shape)
        for code in np.unique(codes).tolist():
            mine = codes == code
            rest = of_rest(code, cells[mine], weights[mine])
            if np.isnan(rest).any():  # the class has gone: it borrows what is left of all
                everyone = of_rest(len(total) - 1, cells[mine], weights[mine])
                rest = np.where(np.isnan(rest), np.nan_to_num(everyone), rest)
            result[mine] = rest
        return result

    knots = np.unique(np.concatenate([_equal_steps(values[cells_of[code]], CUT * width[code]) for code in set(owner)]))
    if points is not None:
        knots = np.unique(np.concatenate([grid(code).knots for code in set(owner)]))
    return Density(at(values), without, at, knots)


def _equal_steps(values: FloatArray, reach: float) -> FloatArray:
    """Points over the range of the values, and so much beyond."""
    return np.linspace(values[0] - reach, values[-1] + reach, GRID)
