"""Seven univariate densities, each read off a class-wise histogram, with closed-form leave-one-out.

A *density* is a function of (cell values, class-wise counts, exact class moments). It answers three things:
``full`` (classes, cells), the log-likelihood of each cell under each class; ``without``, the same for the class that a
row belongs to, with that row removed; and ``at(x)`` (classes, n), the log-likelihood of any value.
What is learnt without the class (cuts, bandwidths, prior scale) is not learnt again for each removed row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.fft import dct, irfft, rfft
from scipy.special import gammaln, ndtri

from naively.families._bins import equal_frequency, first_cells, pkid_bins
from naively.typing import FloatArray, IntArray

PRIOR_ROWS = 0.1  # weight of the grand mean against the mean of a class
PRIOR_SHAPE = 1.0  # inverse-gamma shape of the variance of a class
VARIANCE_FLOOR = 1e-3  # of the total variance
KERNEL_GRID, SCORE_GRID = 2048, 512
KERNEL_MARGIN, SCORE_MARGIN = 3.0, 1.5
MANY_CLASSES = 160
"""Beyond so many classes, each of few rows and so of wide kernels, the grid of the values has no more points than that
of the scores."""
FEW_DISTINCT = 50
SAFE_EXPONENT = 300
LEAST_RANK = 2.0**-53
"""Mid-ranks nearer to 0 or 1 have no finite normal score; only weights of more than 1e15 beside others lead there."""

LEAST_VARIANCE = 1e-18
"""The least total variance in units of the squared range: rows that differ have some, however little they weigh."""

ROUNDING = 2.0**-50
"""What is left of a class once a row is removed is nothing if it is no larger, as a share, than this."""

LARGE_SHAPE = 1e6
"""Above this the difference of two log-gammas is taken from Stirling's series: it would cancel."""

# Where no class has a kernel nearby all likelihoods are equal: below this the FFT returns rounding noise.
NOISE_FLOOR = 1e-10


@dataclass(frozen=True)
class Sample:
    """What the densities of one column are estimated from.

    Parameters
    ----------
    values : float64 array (cells,)
        Representative value of each cell, strictly ascending, at least two.
    counts : float64 array (classes, cells)
        Weight of the rows.
    n, mean, m2 : float64 arrays (classes,)
        Weight, mean and sum of squared deviations of each class, from the exact values.
    """

    values: FloatArray
    counts: FloatArray
    n: FloatArray
    mean: FloatArray
    m2: FloatArray

    @property
    def total(self) -> float:
        """Weight of all observed rows."""
        return float(self.n.sum())

    @property
    def grand_mean(self) -> float:
        """Mean over all classes."""
        return float(self.n @ self.mean / self.total)

    @property
    def total_m2(self) -> float:
        """Sum of squared deviations from the grand mean."""
        return float(self.m2.sum() + self.n @ (self.mean - self.grand_mean) ** 2)

    @property
    def total_variance(self) -> float:
        """Variance over all classes, above zero."""
        span = float(self.values[-1] - self.values[0])
        return max(self.total_m2 / self.total, LEAST_VARIANCE * span * span)


def rescaled(sample: Sample) -> tuple[Sample, int]:
    """Bring a column whose squares would overflow or vanish, or whose moments are lost, to magnitude one.

    Returns
    -------
    sample : Sample
        The values times ``2 ** -exponent``; the moments then come from the cells.
    exponent : int
        0 for the usual column, which stays as it is.
    """
    exponent = int(np.frexp(np.abs(sample.values).max(initial=0.0))[1])
    if abs(exponent) < SAFE_EXPONENT and sample.total > 0:  # nothing: weights that vanished beside those of other rows
        return sample, 0
    values = np.ldexp(sample.values, -exponent)
    n = sample.counts.sum(axis=1)
    mean = sample.counts @ values / np.where(n > 0, n, 1.0)
    m2 = (sample.counts * (values - mean[:, None]) ** 2).sum(axis=1)
    return Sample(values, sample.counts, n, mean, m2), exponent


@dataclass(frozen=True)
class Density:
    """A fitted density: its tables on the cells and its value anywhere.

    Parameters
    ----------
    full : float64 array (classes, cells)
        Log-likelihood of each cell.
    without : function
        Maps (codes, cells, weights), arrays that broadcast, to the log-likelihood of these cells under these classes
        once so much weight of that cell and class is removed.
    at : function
        Maps values (n,) without NaN to log-likelihoods (classes, n).
    bends : float64 array
        The values at which `at` bends, if it is made of straight pieces.
    """

    full: FloatArray
    without: Callable[[IntArray, IntArray, FloatArray | float], FloatArray]
    at: Callable[[FloatArray], FloatArray]
    bends: FloatArray = field(default_factory=lambda: np.empty(0))

    def own(self, row_weight: FloatArray | float = 1.0) -> FloatArray:
        """Log-likelihood of each cell under each class with one row of that cell and class removed.

        `row_weight` is what a row weighs, or a row of each class (classes,).
        """
        classes, cells = self.full.shape
        weight = np.broadcast_to(row_weight, (classes,))[:, None]
        return self.without(np.arange(classes)[:, None], np.arange(cells), weight)


# Student-t ---------------------------------------------------------------------------------------------------


def without_row(
    n: FloatArray, mean: FloatArray, m2: FloatArray, x: FloatArray, weight: FloatArray | float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Remove a row at ``x`` from moments (n, mean, sum of squares): Welford backwards, clipped at nothing."""
    left = np.where(n - weight > ROUNDING * n, n - weight, 0.0)
    new_mean = np.where(left > 0, mean - weight * (x - mean) / np.where(left > 0, left, 1.0), 0.0)
    new_m2 = np.where(left > 0, np.maximum(m2 - weight * (x - mean) * (x - new_mean), 0.0), 0.0)
    return left, new_mean, new_m2


def log_student(x: FloatArray, df: FloatArray, location: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the log-density of Student's t with squared scale ``variance``."""
    normaliser = log_gamma_ratio(df / 2, 0.5) - 0.5 * np.log(df * np.pi * variance)
    with np.errstate(over="ignore"):
        distance = np.clip((x - location) / np.sqrt(df * variance), -1e150, 1e150)  # its square must not overflow
    return np.asarray(normaliser - (df + 1) / 2 * np.log1p(distance**2))


def log_gamma_ratio(shape: FloatArray | float, more: FloatArray | float) -> FloatArray:
    """``log(gamma(shape + more) / gamma(shape))``, also for shapes so large that the two logarithms would cancel.

    Examples
    --------
    >>> log_gamma_ratio(np.array([4.0, 1e50]), 1.0).round(6).tolist()
    [1.386294, 115.129255]
    """
    shape = np.asarray(shape, dtype=np.float64)
    small = np.minimum(shape, LARGE_SHAPE)
    large = np.maximum(shape, LARGE_SHAPE)
    series = (large - 0.5) * np.log1p(more / large) + more * np.log(large + more) - more
    series += (1 / (large + more) - 1 / large) / 12
    return np.where(shape < LARGE_SHAPE, gammaln(small + more) - gammaln(small), series)


Predictive = tuple[FloatArray, FloatArray, FloatArray]
"""Degrees of freedom, location and squared scale of Student's t."""


def student_predictive(
    n: FloatArray,
    mean: FloatArray,
    m2: FloatArray,
    center: FloatArray | float,
    variance: FloatArray | float,
    prior_rows: float = PRIOR_ROWS,
    prior_shape: float = PRIOR_SHAPE,
) -> Predictive:
    """The predictive of a normal-inverse-gamma prior at ``center`` and ``variance``, given moments of any shape."""
    rows = prior_rows + n
    location = (prior_rows * center + n * mean) / rows
    shape = prior_shape + n / 2
    scale = prior_shape * variance + m2 / 2 + prior_rows * n * (mean - center) ** 2 / (2 * rows)
    return 2 * shape, location, scale * (rows + 1) / (shape * rows)


def pooled_predictive(
    n: FloatArray,
    mean: FloatArray,
    m2: FloatArray,
    freedom: FloatArray | float,
    center: FloatArray | float,
    floor: FloatArray | float,
    prior_rows: float = PRIOR_ROWS,
) -> Predictive:
    """The predictive density with ``m2``, the variance's sum of squares over ``freedom``, shared by the classes."""
    df = np.maximum(freedom, 1.0)
    location = (prior_rows * center + n * mean) / (prior_rows + n)
    return np.asarray(df), location, np.maximum(m2 / df, floor) * (1 + 1 / (n + prior_rows))


def student(sample: Sample) -> Density:
    """Student-t: the predictive of a normal-inverse-gamma prior at the grand mean and the pooled variance."""
    center, values = sample.grand_mean, sample.values
    within = sample.m2.sum() / max(sample.total - len(sample.n), 1.0)
    variance = max(within, VARIANCE_FLOOR * sample.total_variance)

    def at(x: FloatArray) -> FloatArray:
        n, mean, m2 = sample.n[:, None], sample.mean[:, None], sample.m2[:, None]
        return log_student(x, *student_predictive(n, mean, m2, center, variance))

    def without(codes: IntArray, cells: IntArray, weight: FloatArray | float) -> FloatArray:
        left = without_row(sample.n[codes], sample.mean[codes], sample.m2[codes], values[cells], weight)
        return log_student(values[cells], *student_predictive(*left, center, variance))

    return Density(at(values), without, at)


def pooled_student(sample: Sample) -> Density:
    """Student-t with the variance shared by the classes and each mean shrunk to the grand mean."""
    center, values = sample.grand_mean, sample.values
    floor = VARIANCE_FLOOR * sample.total_variance
    pooled, freedom = np.asarray(sample.m2.sum()), sample.total - len(sample.n)

    def at(x: FloatArray) -> FloatArray:
        n, mean = sample.n[:, None], sample.mean[:, None]
        return log_student(x, *pooled_predictive(n, mean, pooled, freedom, center, floor))

    def without(codes: IntArray, cells: IntArray, weight: FloatArray | float) -> FloatArray:
        x, m2 = values[cells], sample.m2[codes]
        n, mean, left_m2 = without_row(sample.n[codes], sample.mean[codes], m2, x, weight)
        predictive = pooled_predictive(n, mean, pooled - m2 + left_m2, freedom - weight, center, floor)
        return log_student(x, *predictive)

    return Density(at(values), without, at)


# Kernels -----------------------------------------------------------------------------------------------------


def quantile(values: FloatArray, counts: FloatArray, level: float) -> FloatArray:
    """Return the weighted quantile of each row of ``counts`` (classes, cells) on ascending ``values``."""
    cumulative = np.cumsum(counts, axis=1)
    return np.asarray(values[(cumulative >= level * cumulative[:, -1:]).argmax(axis=1)])


def bandwidth(
    values: FloatArray, counts: FloatArray, step: float, given: float | None = None, adjust: float = 1.0
) -> FloatArray:
    """Return Silverman's bandwidth of each row of ``counts``, kept above what grid and rounding can resolve.

    ``given`` replaces Silverman's, ``adjust`` multiplies either.
    """
    values = values - (values[0] + values[-1]) / 2  # keeps the squares below from cancelling
    n = np.maximum(counts.sum(axis=1), 1.0)
    mean = counts @ values / n
    sd = np.sqrt(np.maximum(counts @ values**2 / n - mean**2, 0.0))
    spread = (quantile(values, counts, 0.75) - quantile(values, counts, 0.25)) / 1.34
    scale = np.where(spread > 0, np.minimum(sd, spread), sd)
    floor = max(0.5 * step, 1e-3 * float(sd[-1]))
    if len(values) < FEW_DISTINCT:
        floor = max(floor, 0.25 * float(np.diff(values).min()))
    width = 0.9 * scale * n**-0.2 if given is None else np.full(len(n), given)
    return np.asarray(np.maximum(adjust * width, floor))


def _grid_kernels(
    values: FloatArray,
    counts: FloatArray,
    size: int,
    margin: float,
    given: float | None = None,
    adjust: float = 1.0,
    room: float = 0.0,
) -> Density:
    """Gaussian kernels on a grid over ``values``, the density of each class mixed with one row of the pooled one.

    The grid exceeds the values by ``margin``, and by at least ``room`` bandwidths.
    """
    pooled = np.vstack([counts, counts.sum(axis=0)])
    if room:
        margin = max(margin, room * 2 * float(bandwidth(values, pooled, 0.0, given, adjust).max()))
    low, high = values[0] - margin, values[-1] + margin
    step = (high - low) / (size - 1)
    width = bandwidth(values, pooled, step, given, adjust)
    width[-1] *= 2
    # The margins keep the circular convolution from wrapping: no padding is needed. A kernel is even, so half of it is
    # all, and its transform is real.
    half = np.exp(-0.5 * (np.arange(size // 2 + 1) * step / width[:, None]) ** 2)
    spectrum = dct(half, type=1, overwrite_x=False)
    area = spectrum[:, :1] * step
    spectrum /= area
    at_centre, beside_it = half[:, :1] / area, half[:, 1:2] / area

    def place(x: FloatArray) -> tuple[IntArray, FloatArray]:
        position = np.clip((x - low) / step, 0, size - 1)
        left = np.minimum(position.astype(np.int64), size - 2)
        return left, position - left

    left, right_share = place(values)
    sums = irfft(rfft(_on_grid(pooled, left, right_share, size), overwrite_x=True) * spectrum, size, overwrite_x=True)
    noise = NOISE_FLOOR / (high - low)
    everything = pooled[-1].sum()
    rows = counts.sum(axis=1)[:, None]

    def between(left: IntArray, share: FloatArray) -> FloatArray:
        """The sums of each class and of all (classes + 1, n) at a share of the way from a point to the next."""
        return np.asarray(np.maximum(sums[:, left], 0.0) * (1 - share) + np.maximum(sums[:, left + 1], 0.0) * share)

    def at(x: FloatArray) -> FloatArray:
        density = between(*place(x))
        return np.asarray(np.log((density[:-1] + (density[-1] / everything + noise)) / (rows + 1)))

    # What weight one at a cell's value adds to the sums at that value, given the same binning and interpolation.
    itself = ((1 - right_share) ** 2 + right_share**2) * at_centre
    itself = itself + 2 * right_share * (1 - right_share) * beside_it
    at_cells = between(left, right_share)

    def without(codes: IntArray, cells: IntArray, weight: FloatArray | float) -> FloatArray:
        others = np.where(everything > weight, everything - weight, 1.0)
        left_background = np.maximum(at_cells[-1, cells] - weight * itself[-1, cells], 0.0) / others + noise
        left = np.maximum(at_cells[codes, cells] - weight * itself[codes, cells], 0.0)
        return np.asarray(np.log((left + left_background) / np.maximum(rows[codes, 0] + (1.0 - weight), 1.0)))

    return Density(at(values), without, at, low + step * np.arange(size))


def _on_grid(counts: FloatArray, left: IntArray, right_share: FloatArray, size: int) -> FloatArray:
    """The weight (rows of counts, size) at the points of a grid, each cell's dealt to the two points beside it."""
    rows, cells = np.nonzero(counts)
    places, weights = rows * size + left[cells], counts[rows, cells]
    at_left = np.bincount(places, weights * (1 - right_share[cells]), len(counts) * size)
    at_right = np.bincount(places + 1, weights * right_share[cells], len(counts) * size)
    return np.asarray((at_left + at_right).reshape(len(counts), size))


def kernel(sample: Sample, given: float | None = None, adjust: float = 1.0, room: float = 0.0) -> Density:
    """Gaussian kernels on the values."""
    sd = np.sqrt(sample.total_variance)
    size = KERNEL_GRID if len(sample.counts) <= MANY_CLASSES else SCORE_GRID
    return _grid_kernels(sample.values, sample.counts, size, KERNEL_MARGIN * sd, given, adjust, room)


def kernel_of_scores(sample: Sample, given: float | None = None, adjust: float = 1.0, room: float = 0.0) -> Density:
    """Gaussian kernels on the normal scores of the values: the same under any increasing transformation."""
    scores = normal_scores(sample.counts)
    density = _grid_kernels(scores, sample.counts, SCORE_GRID, SCORE_MARGIN, given, adjust, room)
    inside = density.bends[(density.bends > scores[0]) & (density.bends < scores[-1])]
    bends = np.interp(inside, scores, sample.values)
    return Density(density.full, density.without, lambda x: density.at(np.interp(x, sample.values, scores)), bends)


def normal_scores(counts: FloatArray) -> FloatArray:
    """Return the standard normal quantile of the mid-rank of each cell (cells,) of ``counts`` (classes, cells)."""
    return scores_of_weights(counts.sum(axis=0))


def scores_of_weights(weights: FloatArray) -> FloatArray:
    """Return the standard normal quantile of the mid-rank of each value (values,), ascending, from their weights."""
    ranks = (np.cumsum(weights) - weights / 2) / weights.sum()
    return np.asarray(ndtri(np.clip(ranks, LEAST_RANK, 1 - LEAST_RANK)))


# Bins --------------------------------------------------------------------------------------------------------


def binned(sample: Sample, n_bins: int) -> Density:
    """Equal-frequency bins, each probability estimated with one pseudo-row spread like the marginal."""
    bins = equal_frequency(sample.counts, n_bins)
    starts = first_cells(bins)
    counts = np.add.reduceat(sample.counts, starts, axis=1)
    marginal = (counts.sum(axis=0) + 1) / (sample.total + counts.shape[1])
    rows = counts.sum(axis=1, keepdims=True)
    full = np.log((counts + marginal) / (rows + 1))
    cuts = (sample.values[starts[1:] - 1] + sample.values[starts[1:]]) / 2

    def without(codes: IntArray, cells: IntArray, weight: FloatArray | float) -> FloatArray:
        left = np.maximum(counts[codes, bins[cells]] - weight, 0) + marginal[bins[cells]]
        return np.asarray(np.log(left / (np.maximum(rows[codes, 0] - weight, 0) + 1)))

    return Density(full[:, bins], without, lambda x: full[:, np.searchsorted(cuts, x, side="right")])


FAMILIES: dict[str, Callable[[Sample], Density]] = {
    "t": student,
    "pool": pooled_student,
    "kde": kernel,
    "kdeq": kernel_of_scores,
    "ef5": lambda sample: binned(sample, 5),
    "ef10": lambda sample: binned(sample, 10),
    "pkid": lambda sample: binned(sample, pkid_bins(2 * sample.total / max(len(sample.n), 2))),
}
