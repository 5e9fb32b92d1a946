"""Normal densities: a mean and a variance per column and class, the variance optionally shared."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from naively._common.checks import require_number, require_one_of
from naively._kernels import frozen, kernel_of, reference, repays_compiler, with_reference
from naively.errors import GapError, ParameterError, listed, warn
from naively.families._distributions import Numbers
from naively.families._intervals import IntervalEstimate
from naively.families._linear import Lines, classes_last
from naively.families._numbers import bell_tables, edges_around, points_within
from naively.families._posteriors import Posteriors, normals
from naively.families._uncertainty import Uncertain, uncertain_normal
from naively.families.base import Estimate, Family, LeftOut, Member, Parameters
from naively.smoothing import Smoothing
from naively.statistics._information import standardised_gap
from naively.statistics._moments import Centre, Moments, centre, centred, placed, pooled_centre
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray

LEAST_VARIANCE = 1e-9
"""Of a class, as a share of the column's, in tests: a class of equal values is no proof of anything."""

NOT_TIED = (
    "the variance differs between the classes, so the log-odds are quadratic. Share it: "
    "families=Gaussian(ties='feature'), which needs no new fit"
)
NOT_SHARED = (
    "a class has no known value, and each of the others always has the same, so there is no variance to share. Leave "
    "the column out"
)

ROUNDING = 1e-12
"""Less scatter than this share of the column's is that of equal values."""

LARGEST_DEVIATION = 1e150
"""Deviations are held within this many standard deviations, so that their squares stay finite."""

FAR = 2.0**20
"""Numbers whose mean is farther from zero than so many standard deviations are read from there."""


@dataclass(frozen=True)
class Gaussian(Family):
    """The normal distribution.

    Parameters
    ----------
    ties : "none", "feature", "class" or "all", default="none"
        Which variances are distinct: one per column and class (sigma_ij), one per feature (sigma_i, shared by the
        classes), one per class (sigma_j, shared by the columns) or a single one. Columns share a variance with the
        columns that have the same family options.
    ddof : 0 or 1, default=0
        Divide the scatter by n - ddof: 0 is maximum likelihood, 1 the unbiased estimate.
    floor : float, default=1e-9
        The least variance, as a share of the column's variance over all classes; what it is a share of makes it free
        of scale. With ``rule="scikit-learn"`` it is `var_smoothing`.
    rule : "column", "scikit-learn", "absolute" or "threshold", default="column"
        "column" lifts variances that are below the floor and leaves the others exact. "scikit-learn" adds
        ``floor * (largest variance of any column)`` to every variance, as `GaussianNB` does; "absolute" adds `floor`
        itself. "threshold" puts `floor`, here a standard deviation in the column's unit, in the place of one of `eps`
        or less, as R's packages do.
    interval : float, optional
        The resolution of values that were rounded, in the column's unit: 1 for whole years. A cell then gives the
        probability that a normal value is rounded to it, from half an interval below to half an interval above, which
        is never above 1; by default the density.
    eps : float, default=0.0
        The standard deviation that the rule "threshold" still replaces.
    lone : "floor" or "silent", default="floor"
        Under the rule "threshold": what becomes of a class with too few values for a standard deviation (one, if
        `ddof` is 1). It gets `floor`, or its density counts as 1, whatever the value.

    Notes
    -----
    A column that is constant over all rows gives no evidence. A class without a known value in a column borrows the
    mean and variance of all classes together. One whose weight is not above `ddof`, such as a single row if that is 1,
    has no variance, and gets the floor: it is then certain of its own values. ``ddof=0``, shared variances (`ties`) or
    `StudentT` do better there. Weights count as rows do: if those of a class add up to 1 or less, as shares do or after
    `decay`, ``n - 1`` leaves nothing to divide by. A warning says so where the class has more than one value; a lone
    one has no variance in any weight.

    Where the interval is small beside the standard deviation, the probability is the interval times the density; the
    interval is then the same factor for all classes and tells none from another. It tells where a class has a standard
    deviation of about the interval or less. It is for the user to say: means and variances know of no gaps.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> X, y = [[1.0], [2.0], [5.0], [6.0]], ["a", "a", "b", "b"]
    >>> model = NaiveBayes("textbook", families=Gaussian(ties="feature")).fit(X, y)
    >>> model.parameters()["x0"]["variance"]
    array([0.25, 0.25])
    """

    ties: Literal["none", "feature", "class", "all"] = "none"
    ddof: Literal[0, 1] = 0
    floor: float = 1e-9
    rule: Literal["column", "scikit-learn", "absolute", "threshold"] = "column"
    interval: float | None = None
    eps: float = 0.0
    lone: Literal["floor", "silent"] = "floor"

    def __post_init__(self) -> None:
        require_one_of("Gaussian(ties)", self.ties, ("none", "feature", "class", "all"))
        require_one_of("Gaussian(ddof)", self.ddof, (0, 1))
        require_one_of("Gaussian(rule)", self.rule, ("column", "scikit-learn", "absolute", "threshold"))
        require_one_of("Gaussian(lone)", self.lone, ("floor", "silent"))
        require_number("Gaussian(floor)", self.floor, at_least=0)
        require_number("Gaussian(eps)", self.eps, at_least=0)
        if self.interval is not None:
            require_number("Gaussian(interval)", self.interval, at_least=0)
            if self.interval == 0:
                raise ParameterError("Gaussian(interval) must be above 0; leave it out for densities.")
            if self.rule == "threshold":
                raise ParameterError("Gaussian(interval) gives probabilities, but rule='threshold' is for densities.")

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("moments", observed=True, squares=True),)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, statistics: Moments, *, smoothing: Smoothing) -> GaussianEstimate | IntervalEstimate:
        """Means and variances; smoothing does not touch them, the floor does."""
        of_class, of_all = centre(statistics), pooled_centre(statistics)
        if self.ddof:
            self._warn_of_light_classes(statistics.columns, of_class, of_all)
        return self._estimate(of_class, of_all)

    def _warn_of_light_classes(self, columns: Sequence[str], of_class: Centre, of_all: Centre) -> None:
        """Warn where values differ, but weigh too little for a variance: weights were given that are no rows."""
        scatter, freedom = self._pooled(of_class.weight, of_class.scatter)
        light = (freedom <= 0) & (scatter > ROUNDING * of_all.scatter)
        if light.any():
            names = listed(columns[place] for place in np.flatnonzero(light.any(axis=0)).tolist())
            warn(
                f"The values of a class weigh too little together for a variance in {names}: their weight less "
                f"{self.ddof} leaves nothing to divide by. Weights count as rows do: use larger ones, for example of "
                "mean 1, or Gaussian(ddof=0)."
            )

    def _estimate(self, of_class: Centre, of_all: Centre) -> GaussianEstimate | IntervalEstimate:
        mean, variance, rest = self._parameters(of_class, of_all)
        if self.interval is None:
            return GaussianEstimate(mean, variance, rest, shared=self.ties in ("feature", "all"))
        return IntervalEstimate(mean, variance, float(self.interval))

    def _parameters(self, of_class: Centre, of_all: Centre) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Means, variances and what rounding takes from the means (classes, ..., columns)."""
        weight, mean, scatter, rest = of_class
        all_weight, all_mean, all_scatter, all_rest = of_all
        overall = all_scatter / np.where(all_weight > 0, all_weight, 1.0)
        variance = self._tied(weight, scatter)
        unknown = weight == 0
        borrows = unknown if self.ties == "none" else unknown & (variance == 0)
        variance = np.where(borrows, overall, variance)
        if self.rule == "scikit-learn":
            variance = variance + self.floor * overall.max(axis=-1, keepdims=True, initial=0.0)
        elif self.rule == "threshold":
            variance = np.where(np.sqrt(variance) <= self.eps, self.floor**2, variance)
            if self.lone == "silent":
                variance = np.where(weight <= self.ddof, np.nan, variance)
        elif self.rule == "absolute":
            variance = variance + self.floor
        else:
            variance = np.maximum(variance, self.floor * overall)
        return np.where(unknown, all_mean, mean), variance, np.where(unknown, all_rest, rest)

    def _tied(self, weight: FloatArray, scatter: FloatArray) -> FloatArray:
        """The variances (classes, ..., columns): scatter over degrees of freedom, pooled along the tied axes."""
        scatter, freedom = self._pooled(weight, scatter)
        return np.asarray(np.where(freedom > 0, scatter / np.where(freedom > 0, freedom, 1.0), 0.0))

    def _pooled(self, weight: FloatArray, scatter: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scatter and degrees of freedom (classes, ..., columns), summed along the tied axes."""
        freedom = np.where(weight > 0, weight - self.ddof, 0.0)
        axes: tuple[int, ...] = {"none": (), "feature": (0,), "class": (-1,), "all": (0, -1)}[self.ties]
        if axes:
            scatter = np.broadcast_to(scatter.sum(axis=axes, keepdims=True), weight.shape)
            freedom = np.broadcast_to(freedom.sum(axis=axes, keepdims=True), weight.shape)
        return scatter, freedom

    def takes_smoothing(self, weighed: bool) -> bool:
        """Whether its estimates have pseudo-counts: a density has none."""
        return False

    def followed_as(self, smoothing: Any) -> str | None:
        """Its own weight, mean and scatter, where no other column or class has a part in the variance."""
        alone = self.ties == "none" and self.rule in ("column", "absolute") and self.interval is None
        return "normal" if alone and type(self) is Gaussian else None

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, statistics: Moments, *, smoothing: Smoothing) -> LeftOut:
        """The estimate from sums without one row at a time: exact, floors and ties included."""
        return left_out(statistics, lambda *known: self._estimate(*known).evidence)

    # -- Questions ------------------------------------------------------------------------------------------------

    def as_member(self) -> Member:
        """Numbers; the factor has options of its own for the normal density, in place of the family's."""
        if self != Gaussian():
            reason = "has options, which a factor of several columns does not read"
            raise GapError(f"{self!r}.as_member: it {reason}", reason)
        return Member("numbers")

    def n_parameters(self, estimate: Any, n_classes: int, n_columns: int) -> Parameters:
        """A mean per column and class, and the variances as they are tied; none of a constant column: it is silent."""
        informative = int((estimate.variance > 0).all(axis=0).sum())
        return Parameters.all_free(gaussian_parameter_count(n_classes, informative, self.ties))

    def distribution(self, estimate: Any, tables: Any, class_weight: Any, length: Any) -> Numbers:
        """Normal numbers, rounded to the interval if there is one."""
        mean, deviation, step = estimate.mean, np.sqrt(estimate.variance), self.interval

        def draw(codes: IntArray, rng: np.random.Generator) -> FloatArray:
            numbers = rng.normal(mean[codes], deviation[codes])
            return np.asarray(numbers if step is None else np.rint(numbers / step) * step)

        return Numbers(mean, draw)

    def uncertain(self, estimate: Any, tables: Any, smoothing: Any, block: FloatArray) -> Uncertain:
        """Under a normal-inverse-gamma posterior of means and variances, these as they are tied."""
        weight = centred(tables[0])[0]
        shared: dict[str, tuple[int, ...]] = {"none": (), "feature": (1,), "class": (2,), "all": (1, 2)}
        axes = shared[self.ties]
        freedom = np.maximum(weight - 1, 0.0)
        if axes:
            along = tuple(axis - 1 for axis in axes)
            freedom = np.broadcast_to(freedom.sum(axis=along, keepdims=True), weight.shape)
        rows, freedom = np.maximum(weight, 1.0), np.maximum(freedom, 1.0)
        return uncertain_normal(estimate.mean, estimate.variance, rows, freedom, axes, block)

    def posterior(self, tables: Any, smoothing: Any) -> list[Posteriors]:
        """Student's t for means and inverse gamma for variances, these as they are tied; no floor, no interval."""
        weight, mean, scatter = centred(tables[0])
        freedom = np.maximum(weight - 1, 0.0)
        axes: tuple[int, ...] = {"none": (), "feature": (0,), "class": (1,), "all": (0, 1)}[self.ties]
        if axes:
            freedom, scatter = (
                np.broadcast_to(part.sum(axis=axes, keepdims=True), weight.shape) for part in (freedom, scatter)
            )
        parts = (weight, mean, freedom, scatter)
        return [normals(*(part[:, place] for part in parts)) for place in range(weight.shape[1])]

    def rows_of(self, parameters: Any) -> list[list[tuple[Any, float]]]:
        """Two numbers, a standard deviation below and above the mean."""
        pairs = zip(parameters["mean"].tolist(), np.sqrt(parameters["variance"]).tolist(), strict=True)
        return [[(mean - deviation, 0.5), (mean + deviation, 0.5)] for mean, deviation in pairs]

    def likelihood_ratio(self, statistics: Moments) -> tuple[FloatArray, IntArray]:
        """Equal means, and equal variances unless they are shared anyway."""
        return normal_ratio(statistics, shared=self.ties in ("feature", "all"))

    def effect(self, statistics: Moments) -> FloatArray:
        """By the means and scatters of the classes."""
        return standardised_gap(*centred(statistics))


def gaussian_parameter_count(n_classes: int, n_columns: int, ties: str = "none") -> int:
    """The means and variances of normal columns: ``nK`` means, and nK, n, K or 1 variances.

    Parameters
    ----------
    n_classes, n_columns : int
    ties : "none", "feature", "class" or "all"
        Which variances are distinct, as in `Gaussian`.

    Examples
    --------
    >>> [gaussian_parameter_count(3, 4, ties) for ties in ("none", "feature", "class", "all")]
    [24, 16, 15, 13]
    """
    variances = {"none": n_columns * n_classes, "feature": n_columns, "class": n_classes, "all": 1}
    if ties not in variances:
        raise ParameterError(f"ties must be one of {', '.join(map(repr, variances))}, got {ties!r}.")
    return n_columns * n_classes + (variances[ties] if n_columns else 0)


def normal_ratio(moments: Moments, shared: bool) -> tuple[FloatArray, IntArray]:
    """The likelihood-ratio statistic of normal columns, and its degrees of freedom.

    A class with its own variance must weigh more than a single row to have one; others are left out.
    """
    weight, mean, scatter = centred(moments)
    weight = np.where(weight > (0 if shared else 1), weight, 0.0)
    scatter = np.where(weight > 0, scatter, 0.0)
    total = weight.sum(axis=0)
    some = np.where(total > 0, total, 1.0)
    centre = (weight * mean).sum(axis=0) / some
    overall = (scatter + weight * np.square(mean - centre)).sum(axis=0) / some
    own = scatter.sum(axis=0) / some if shared else scatter / np.where(weight > 0, weight, 1.0)
    own = np.maximum(own, LEAST_VARIANCE * overall)
    varies = (overall > 0) & (weight > 0)
    gain = (weight * np.log(np.where(varies, overall, 1.0) / np.where(varies, own, 1.0))).sum(axis=0)
    freedom = np.maximum((weight > 0).sum(axis=0) - 1, 0) * (1 if shared else 2)
    return np.maximum(gain, 0.0), np.where(overall > 0, freedom, 0)


def left_out(moments: Moments, estimate: Callable[[Centre, Centre], Callable[[FloatArray], FloatArray]]) -> LeftOut:
    """Leave-one-out of a family whose evidence follows from the weight, mean and scatter of its classes and of all."""
    whole = centre(moments)

    def evidence(block: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
        own = centre(moments.of_own_class(block, codes, weights))
        rest = Centre(*(placed(of_all, of_row, codes) for of_all, of_row in zip(whole, own, strict=True)))
        return estimate(rest, centre(moments.of_all_classes(block, weights)))(block)

    return LeftOut("numbers", evidence)


def anchor_of(mean: FloatArray, variance: FloatArray) -> FloatArray | None:
    """From where numbers are read so that deviations do not round: (..., columns); None if from zero everywhere.

    A column far from zero, in standard deviations, is read from the mean of its first class, if those of the others
    are near enough for the difference of the two to be exact.

    Parameters
    ----------
    mean, variance : ndarray (classes, ..., columns)
    """
    first = mean[0]
    far = np.abs(first) > FAR * np.sqrt(np.nan_to_num(variance).max(axis=0))
    near = (np.abs(mean - first) <= np.abs(first) / 4).all(axis=0)
    return np.where(far & near, first, 0.0) if (far & near).any() else None


# -- Evidence -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GaussianEstimate(Estimate):
    """Means and variances of a group of columns, (classes, columns), or (classes, rows, columns) if rows differ.

    A column in which a class has variance 0, all values being the same, gives no evidence; where a variance is NaN, the
    column gives none for that class. The kernels want the arrays as (columns, classes) and the factor 1/2 inside the
    scale.
    """

    reads: ClassVar[str] = "numbers"

    mean: FloatArray
    variance: FloatArray
    rest: FloatArray | None = None
    """What rounding took from the means; it matters far from zero."""

    shared: bool = False
    """Whether the variances were to be the same for all classes."""

    @cached_property
    def _anchor(self) -> FloatArray | None:
        return None if self.rest is None else anchor_of(self.mean, self.variance)

    def _read(self, block: FloatArray) -> FloatArray:
        """The numbers as the means are: far from zero less their anchor, which is exact."""
        return block if self._anchor is None else block - self._anchor

    @cached_property
    def _informative(self) -> Any:
        unknown = np.isnan(self.variance)
        return np.asarray(((self.variance > 0) | unknown).all(axis=0))[..., None] & ~classes_last(unknown)

    @cached_property
    def _mean(self) -> FloatArray:
        if self._anchor is None or self.rest is None:
            return np.ascontiguousarray(classes_last(self.mean))
        rest = np.where(self._anchor != 0, self.rest, 0.0)
        return np.ascontiguousarray(classes_last((self.mean - self._anchor) + rest))

    @cached_property
    def _scale(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            scale = np.sqrt(0.5) / np.sqrt(classes_last(self.variance))
            return np.ascontiguousarray(np.where(self._informative, scale, 0.0))

    @cached_property
    def _peak(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            peak = -0.5 * (np.log(classes_last(self.variance)) + math.log(2 * math.pi))
            return np.ascontiguousarray(np.where(self._informative, peak, 0.0))

    def evidence(self, block: FloatArray) -> FloatArray:
        """The log-density of every cell."""
        return reference.gaussian_evidence(self._read(block), self._mean, self._scale, self._peak, LARGEST_DEVIATION)

    @with_reference
    def add_to(self, scores: FloatArray, block: FloatArray) -> None:
        """Add the log-density of every row."""
        if repays_compiler(block.size * scores.shape[1]):
            add_gaussian = kernel_of("gaussian_scores", "add_gaussian")
            add_gaussian(frozen(self._read(block)), self._mean, self._scale, self._peak, LARGEST_DEVIATION, scores)
        else:
            scores += np.add.reduce(self.evidence(block), axis=1)

    # -- Description ----------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Means and variances."""
        return {"mean": self.mean, "variance": self.variance}

    # -- Questions ------------------------------------------------------------------------------------------------

    def log_likelihood(self, moments: Moments) -> FloatArray:
        """``-n/2 log(2 pi variance) - (scatter + n (mean of the class - mean in force)^2) / (2 variance)``."""
        weight, mean, scatter = centred(moments)
        informative = self._informative.T & (weight > 0)
        variance = np.where(informative, self.variance, 1.0)
        squares = scatter + weight * (mean - self.mean) ** 2
        terms = -0.5 * (weight * np.log(2 * math.pi * variance) + squares / variance)
        return np.asarray(np.where(informative, terms, 0.0).sum(axis=0))

    def quantile(self, levels: FloatArray) -> FloatArray:
        """The numbers below which so much of each class lies."""
        return normal_quantile(self.mean, self.variance, levels)

    def points(self, place: int, n_points: int) -> list[Any]:
        """Points within three standard deviations of the means."""
        return points_within(self.mean[:, place], np.sqrt(self.variance[:, place]), n_points)

    def edges(self) -> FloatArray:
        """Nine standard deviations to both sides of every mean."""
        return edges_around(self.mean, np.sqrt(self.variance), np.linspace(-9, 9, 73))

    def line(self, base: int) -> Lines:
        """``w = (mean - mean of the base) / variance``, where the classes share the variance."""
        bent = np.flatnonzero((self.variance != self.variance[0]).any(axis=0)).tolist()
        if bent:
            reason = NOT_SHARED if self.shared else NOT_TIED
            raise GapError(f"line: {reason}", reason, bent)
        silent = self.variance == 0
        rest = np.zeros(self.mean.shape) if self.rest is None else self.rest
        gap = (self.mean - self.mean[base]) + (rest - rest[base])
        slope = np.where(silent, 0.0, gap / np.where(silent, 1.0, self.variance))
        return Lines(slope, gap / 2 + rest[base], self.mean[base])

    def as_table(self) -> list[dict[str, Any]]:
        """The normal log-density; far from zero numbers are read from an anchor."""
        mean, scale, peak = (np.moveaxis(part, -1, 0) for part in (self._mean, self._scale, self._peak))
        return bell_tables(
            "peak - square(({x} - mean) * scale)",
            {"mean": mean, "scale": scale, "peak": peak},
            self._anchor,
            np.asarray(~np.asarray(self._informative).any(axis=-1)),
        )


def normal_quantile(mean: FloatArray, variance: FloatArray, levels: FloatArray) -> FloatArray:
    """The quantiles (levels, classes, columns) of normal columns."""
    from scipy.special import ndtri

    return np.asarray(mean + np.sqrt(variance) * ndtri(levels)[:, None, None])
