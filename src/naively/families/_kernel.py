"""Densities of any shape: a small bell on every value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from naively._common.checks import require_bool, require_number, require_one_of, require_whole
from naively.errors import GapError, ParameterError
from naively.families._bandwidths import RULES
from naively.families._bells import KERNELS, bells
from naively.families._bins import histogram_cells
from naively.families._cells import left_out
from naively.families._curves import Curve, Curves
from naively.families._densities import Density, Sample, kernel, kernel_of_scores, rescaled
from naively.families._distributions import Numbers, curve_mean, draw_from_curve
from naively.families._gaussian import Gaussian
from naively.families.base import Family, LeftOut
from naively.smoothing import Smoothing
from naively.statistics._histogram import Histograms
from naively.statistics._information import standardised_gap
from naively.statistics._moments import Moments, centred, pooled
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray

ROOM = 5.0
"""The grid exceeds the values by at least so many bandwidths."""


MOST_POINTS = 1 << 16
"""The number of points that a density may be computed on."""

FINE = 1 << 16
"""So many distinct values are kept where a density is read off a grid that starts and ends with the data."""


@dataclass(frozen=True)
class Kernel(Family):
    """A kernel density: the mean of bells on the values of the class.

    Each class's density is mixed with one row's worth of the density of all classes together, of twice the bandwidth:
    where a class has no values nearby, the classes differ little. Without this `background` it is the density of R's
    naive Bayes packages.

    Parameters
    ----------
    bandwidth : "silverman", "nrd0", "SJ", "ucv", float or sequence of float, default="silverman"
        The standard deviation of a bell: by Silverman's rule of thumb for each class, or given, in the column's unit.
        It is held above half a step of the grid of 2048 (normal scores: 512) points on which densities are computed.
        Without background: the rule exactly as R's `bw.nrd0`, `bw.SJ` (Sheather and Jones) or `bw.ucv` (by cross-
        validation) has it, held above nothing, or one for each class in the order of `classes_`. Where the last two
        find none, as R says of samples that are too sparse, it is that of "nrd0".
    adjust : float, default=1.0
        Multiplies the bandwidth.
    scores : bool, default=False
        Work on the normal scores of the values, which are the same under any increasing transformation: right for
        skewed columns. The evidence is then the log-density of the score; `bandwidth` is in its unit.
    kernel : str, default="gaussian"
        The shape of the bells; without background also "rectangular", "triangular", "epanechnikov", "biweight",
        "cosine" or "optcosine", each scaled to the standard deviation `bandwidth`, as in R's `density`.
    background : bool, default=True
        Mix with the density of all classes.
    points : int, optional
        Without background: compute the density of each class as R's `density` does, on a grid of so many points (512
        there), to which the values are rounded. It differs from the exact sum by about a thousandth of its peak.
    nearest : bool or "mean", default=False
        With `points`: take the density of the nearest one, as klaR does, or the mean of the two beside the value, as it
        does with ``interpolate = TRUE``, not that on the line between two.

    Notes
    -----
    Beyond the grid the evidence is constant. Far from all values of a class what is left is the background, one row's
    worth in n + 1: as in any estimate with imaginary rows, a class of few rows can better have values that were never
    seen, and gains. A column with one distinct value gives no evidence.

    Without background the bells are summed exactly, on up to 2048 distinct values, or 65536 with `points` (more are
    rounded, all to the same relative precision), at these values and at 512 points per class; between them the
    log-density is a straight line. Beyond three bandwidths of the class's outermost values its density is held. A class
    with fewer than two values takes the bandwidth of all classes together, one without any takes their density.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> X, y = [[1.0], [2.0], [9.0], [10.0], [5.0], [6.0]], ["a", "a", "a", "a", "b", "b"]
    >>> NaiveBayes("textbook", families=Kernel(adjust=0.5)).fit(X, y).predict([[1.5], [5.5], [9.5]]).tolist()
    ['a', 'b', 'a']
    """

    leaves_out_exactly: ClassVar[bool] = False

    @property
    def compares_rows(self) -> bool:  # type: ignore[override]
        """Whether it is a density: that of scores is not one of the values, and one that is held has no end."""
        return self.background and not self.scores

    bandwidth: Literal["silverman", "nrd0", "SJ", "ucv"] | float | tuple[float, ...] = "silverman"
    adjust: float = 1.0
    scores: bool = False
    kernel: str = "gaussian"
    background: bool = True
    points: int | None = None
    nearest: bool | Literal["mean"] = False

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, str):
            if self.bandwidth not in RULES:
                names = ", ".join(map(repr, sorted(RULES)))
                raise ParameterError(f"Kernel(bandwidth) must be {names} or a number, got {self.bandwidth!r}.")
        elif isinstance(self.bandwidth, Sequence):
            object.__setattr__(self, "bandwidth", tuple(self.bandwidth))
            for one in self.bandwidth:
                _require_positive("Kernel(bandwidth)", one)
        else:
            _require_positive("Kernel(bandwidth)", self.bandwidth)
        _require_positive("Kernel(adjust)", self.adjust)
        require_bool(self.scores, "Kernel(scores)")
        require_bool(self.background, "Kernel(background)")
        if not (isinstance(self.nearest, str) and self.nearest == "mean"):
            require_bool(self.nearest, "Kernel(nearest), unless 'mean',")
        require_one_of("Kernel(kernel)", self.kernel, tuple(KERNELS))
        given = isinstance(self.bandwidth, tuple) or self.bandwidth in ("nrd0", "SJ", "ucv")
        if (given or self.kernel != "gaussian") and self.background:
            raise ParameterError(
                f"Kernel({self.bandwidth!r}, kernel={self.kernel!r}): R's bandwidths, one bandwidth per class and "
                "other bells than 'gaussian' are for densities without background: add background=False."
            )
        if self.scores and not self.background:
            raise ParameterError("Kernel(scores=True) is for densities with background.")
        if self.points is not None:
            require_whole("Kernel(points)", self.points, at_least=2, at_most=MOST_POINTS)
            if self.background:
                raise ParameterError("Kernel(points) is for densities without background: add background=False.")

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        fine = None if self.points is None else FINE  # a grid of the values' own range is shifted by rounding them
        return (Summary("moments", observed=True, squares=True), Summary("histogram", most_cells=fine))

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, moments: Moments, histograms: Histograms, *, smoothing: Smoothing) -> Curves:
        """The log-density of each column as a curve; the smoothing of labels does not touch it."""
        silence = np.zeros(histograms.n_classes)
        curves = []
        for density, values, exponent in self._densities(moments, histograms):
            if density is None:
                curves.append(Curve(np.zeros(1), silence[:, None], silence))
                continue
            knots = np.union1d(values, density.bends)
            table = density.at(knots) - self._log_unit(exponent)
            curves.append(Curve(*_finite(np.ldexp(knots, exponent), table), silence))
        return Curves(tuple(curves))

    def _densities(self, moments: Moments, histograms: Histograms) -> list[tuple[Density | None, FloatArray, int]]:
        """The density of each column, the cells' values and the power of two that they were divided by."""
        result: list[tuple[Density | None, FloatArray, int]] = []
        weight, mean, scatter = centred(moments)
        for place, histogram in enumerate(histograms.histograms):
            exact = (weight[:, place], mean[:, place], scatter[:, place])
            sample, exponent = rescaled(Sample(histogram.values(), histogram.counts, *exact))
            silent = len(sample.values) < (2 if self.background else 1)
            result.append((None if silent else self._density(sample, exponent), sample.values, exponent))
        return result

    def _density(self, sample: Sample, exponent: int) -> Density:
        if not self.background:
            given_by_rule = isinstance(self.bandwidth, str)
            rule: Any = self.bandwidth if given_by_rule else np.ldexp(self.bandwidth, -exponent)
            return bells(sample, rule, self.adjust, self.kernel, self.points, self.nearest)
        given = None if isinstance(self.bandwidth, (str, tuple)) else float(self.bandwidth)
        if self.scores:
            return kernel_of_scores(sample, given, self.adjust, ROOM)
        return kernel(sample, None if given is None else float(np.ldexp(given, -exponent)), self.adjust, ROOM)

    def _log_unit(self, exponent: int) -> float:
        """The logarithm of the unit in which the values were measured; scores have none."""
        return 0.0 if self.scores else exponent * float(np.log(2))

    def takes_smoothing(self, weighed: bool) -> bool:
        """Whether its estimates have pseudo-counts: a density has none."""
        return False

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, moments: Moments, histograms: Histograms, *, smoothing: Smoothing) -> LeftOut:
        """The sums of bells without the row's own. Bandwidths, grid and normal scores stay as they are."""
        columns = [
            None if density is None else partial(_without, density, self._log_unit(exponent))
            for density, _, exponent in self._densities(moments, histograms)
        ]
        return left_out(histograms, columns)

    # -- Questions ------------------------------------------------------------------------------------------------

    def distribution(self, estimate: Any, tables: Any, class_weight: Any, length: Any) -> Numbers:
        """Numbers by the curve of their log-density, inverted exactly."""
        if self.scores:
            reason = "tells classes apart, but is no distribution of a column's values"
            raise GapError(f"Kernel(scores=True).distribution: it {reason}", reason)
        constant = _means(tables[0])
        curves = [(curve.knots, curve.table) for curve in estimate.curves]
        mean = [
            curve_mean(knots, logs) if len(knots) > 1 else constant[:, place]
            for place, (knots, logs) in enumerate(curves)
        ]

        def draw(codes: IntArray, rng: np.random.Generator) -> FloatArray:
            columns = [
                draw_from_curve(knots, logs, codes, rng) if len(knots) > 1 else constant[codes, place]
                for place, (knots, logs) in enumerate(curves)
            ]
            return np.stack(columns, axis=1)

        return Numbers(np.stack(mean, axis=1), draw)

    def cells(self, moments: Moments, histograms: Histograms) -> list[FloatArray]:
        """The counts of a few bins."""
        return histogram_cells(histograms)

    def effect(self, moments: Moments, histograms: Histograms) -> FloatArray:
        """By the means and scatters of the classes."""
        return standardised_gap(*centred(moments))

    def expecting(self) -> Family:
        """Itself, but normal where the evidence is that of scores."""
        return Gaussian() if self.scores else self

    def in_tables(self) -> Family:
        """The normal distribution of the same moments: a curve is no table."""
        return Gaussian()


def _means(moments: Moments) -> FloatArray:
    """The mean of each class (classes, columns), of all classes where a class has no known cell."""
    weight, mean, _ = centred(moments)
    return np.where(weight > 0, mean, pooled(moments)[1])


def _without(density: Density, log_unit: float, cells: IntArray, codes: IntArray, weights: FloatArray) -> FloatArray:
    """The log-density (classes, rows) of rows by the classes without them."""
    result = density.full[:, cells]
    result[codes, np.arange(len(codes))] = density.without(codes, cells, weights)
    return np.asarray(result - log_unit)


def _finite(knots: FloatArray, table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Only the knots that do not overflow."""
    kept = np.abs(knots) < 2.0**1022
    return knots[kept], np.ascontiguousarray(table[:, kept])


def _require_positive(where: str, value: object) -> None:
    require_number(where, value, at_least=0)
    if value == 0:
        raise ParameterError(f"{where} must be above 0, got {value!r}.")
