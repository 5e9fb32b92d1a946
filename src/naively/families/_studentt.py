"""Normal densities whose mean and variance are not known for certain: Student's t."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from naively._common.checks import require_number
from naively._kernels import frozen, reference, repays_compiler, with_reference
from naively.errors import ParameterError
from naively.families._densities import (
    PRIOR_ROWS,
    PRIOR_SHAPE,
    VARIANCE_FLOOR,
    Predictive,
    log_gamma_ratio,
    pooled_predictive,
    student_predictive,
)
from naively.families._distributions import Numbers
from naively.families._gaussian import LARGEST_DEVIATION, anchor_of, gaussian_parameter_count, left_out, normal_ratio
from naively.families._linear import classes_last
from naively.families._numbers import bell_tables, edges_around, points_within
from naively.families._uncertainty import Uncertain, uncertain_normal
from naively.families.base import Estimate, Family, LeftOut, Parameters
from naively.smoothing import Smoothing
from naively.statistics._information import standardised_gap
from naively.statistics._moments import Centre, Moments, centre, centred, pooled_centre
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray


@dataclass(frozen=True)
class StudentT(Family):
    """Student's t: what a normal column looks like to someone who has seen only so many of its values.

    It is the predictive density of a normal-inverse-gamma prior, centred at the column's mean over all classes and its
    variance within classes: a class with few rows leans on these, and its tails are heavier.

    Parameters
    ----------
    pooled : bool, default=False
        One variance for all classes; only the means differ.
    prior_rows : float, default=0.1
        How many rows the column's mean is worth against a class's own.
    prior_shape : float, default=1.0
        How much the column's variance is worth against a class's own, in half rows; without effect if `pooled`.
    floor : float, default=0.001
        The least prior (if `pooled`: shared) variance, as a share of the column's variance over all classes.

    Notes
    -----
    A column that is constant over all rows gives no evidence.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> X, y = [[1.0], [2.0], [3.0], [7.0]], ["a", "a", "a", "b"]
    >>> model = NaiveBayes("textbook", families="studentt").fit(X, y)
    >>> model.parameters()["x0"]["freedom"]
    array([5., 3.])
    >>> model.predict_proba([[6.0]]).round(3)
    array([[0.079, 0.921]])
    """

    pooled: bool = False
    prior_rows: float = PRIOR_ROWS
    prior_shape: float = PRIOR_SHAPE
    floor: float = VARIANCE_FLOOR

    def __post_init__(self) -> None:
        if not isinstance(self.pooled, (bool, np.bool_)):
            raise ParameterError(f"StudentT(pooled) must be True or False, got {self.pooled!r}.")
        for name in ("prior_rows", "prior_shape"):
            require_number(f"StudentT({name})", getattr(self, name), at_least=0)
            if getattr(self, name) == 0:
                raise ParameterError(f"StudentT({name}) must be above 0, got {getattr(self, name)!r}.")
        require_number("StudentT(floor)", self.floor, at_least=0)

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("moments", observed=True, squares=True),)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, statistics: Moments, *, smoothing: Smoothing) -> StudentEstimate:
        """Freedom, location and scale; the smoothing of labels does not touch them, the prior does."""
        return self._estimate(centre(statistics), pooled_centre(statistics))

    def _estimate(self, of_class: Centre, of_all: Centre) -> StudentEstimate:
        """Freedom, location and scale; far from zero all is computed, and read, from an anchor."""
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.where(of_all.weight > 0, of_all.scatter / of_all.weight, 0.0)
        known = np.where(of_class.weight > 0, of_class.mean, of_all.mean)
        anchor = anchor_of(known, np.broadcast_to(variance, known.shape))
        if anchor is None:
            return StudentEstimate(*self._parameters(of_class, of_all))
        near = (
            part._replace(mean=np.where(anchor != 0, part.mean - anchor + part.rest, part.mean))
            for part in (of_class, of_all)
        )
        freedom, location, variance = self._parameters(*near)
        return StudentEstimate(freedom, location + anchor, variance, Anchored(anchor, location))

    def _parameters(self, of_class: Centre, of_all: Centre) -> Predictive:
        """Freedom, location and squared scale (classes, ..., columns)."""
        weight, mean, scatter, _ = of_class
        total, center, total_scatter, _ = of_all
        within = scatter.sum(axis=0)
        freedom = total - (weight > 0).sum(axis=0)
        floor = self.floor * total_scatter / np.where(total > 0, total, 1.0)
        if self.pooled:
            df, location, variance = pooled_predictive(weight, mean, within, freedom, center, floor, self.prior_rows)
            return np.broadcast_to(df, variance.shape), location, variance
        variance = np.maximum(within / np.maximum(freedom, 1.0), floor)
        return student_predictive(weight, mean, scatter, center, variance, self.prior_rows, self.prior_shape)

    def takes_smoothing(self, weighed: bool) -> bool:
        """Whether its estimates have pseudo-counts: a density has none."""
        return False

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, statistics: Moments, *, smoothing: Smoothing) -> LeftOut:
        """The estimate from sums without one row at a time: exact, the prior included."""
        return left_out(statistics, lambda *known: self._estimate(*known).evidence)

    # -- Questions ------------------------------------------------------------------------------------------------

    def n_parameters(self, estimate: Any, n_classes: int, n_columns: int) -> Parameters:
        """The number of means and variances, which are not known for certain; a constant has none."""
        ties = "feature" if self.pooled else "none"
        n_varied = int((estimate.variance > 0).all(axis=0).sum())
        return Parameters.all_free(gaussian_parameter_count(n_classes, n_varied, ties))

    def distribution(self, estimate: Any, tables: Any, class_weight: Any, length: Any) -> Numbers:
        """Student's t at a location, in a scale."""
        freedom, location, scale = estimate.freedom, estimate.location, np.sqrt(estimate.variance)
        return Numbers(location, lambda codes, rng: location[codes] + scale[codes] * rng.standard_t(freedom[codes]))

    def uncertain(self, estimate: Any, tables: Any, smoothing: Any, block: FloatArray) -> Uncertain:
        """Under the posterior of the normal distribution, the prior rows included."""
        rows = centred(tables[0])[0] + self.prior_rows
        variance = estimate.variance * rows / (rows + 1)
        axes = (1,) if self.pooled else ()
        return uncertain_normal(estimate.location, variance, rows, np.asarray(estimate.freedom), axes, block)

    def likelihood_ratio(self, statistics: Moments) -> tuple[FloatArray, IntArray]:
        """The likelihood ratio of normal columns."""
        return normal_ratio(statistics, shared=bool(self.pooled))

    def effect(self, statistics: Moments) -> FloatArray:
        """By the means and scatters of the classes."""
        return standardised_gap(*centred(statistics))


# -- Evidence -----------------------------------------------------------------------------------------------------


class Anchored(NamedTuple):
    """An anchor (columns,) or (rows, columns), and the locations from there, which do not round as those from zero."""

    anchor: FloatArray
    location: FloatArray


@dataclass(frozen=True)
class StudentEstimate(Estimate):
    """Freedom, location and squared scale of a group of columns, (classes, columns) or (classes, rows, columns).

    A column in which a class has scale 0, all values being the same, gives no evidence.
    """

    reads: ClassVar[str] = "numbers"

    freedom: FloatArray
    location: FloatArray
    variance: FloatArray
    far: Anchored | None = None
    """Where a column is far from zero: what numbers are read from."""

    def _read(self, block: FloatArray) -> FloatArray:
        return block if self.far is None else block - self.far.anchor

    @cached_property
    def _constants(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Location, scale, peak and power, classes last: what the kernels read."""
        informative = np.asarray((self.variance > 0).all(axis=0))[..., None]
        freedom = classes_last(self.freedom)
        location = classes_last(self.location if self.far is None else self.far.location)
        spread = freedom * np.where(informative, classes_last(self.variance), 1.0)
        peak = log_gamma_ratio(freedom / 2, 0.5) - 0.5 * (np.log(spread) + math.log(math.pi))
        parts = (
            location,
            1 / np.sqrt(spread),
            np.where(informative, peak, 0.0),
            np.where(informative, (freedom + 1) / 2, 0.0),
        )
        location, scale, peak, power = (np.ascontiguousarray(part) for part in parts)
        return location, scale, peak, power

    def evidence(self, block: FloatArray) -> FloatArray:
        """The log-density of every cell."""
        return reference.student_evidence(self._read(block), *self._constants, LARGEST_DEVIATION)

    @with_reference
    def add_to(self, scores: FloatArray, block: FloatArray) -> None:
        """Add the log-density of every row."""
        if repays_compiler(block.size * scores.shape[1]):
            from naively._kernels.student_scores import add_student

            add_student(frozen(self._read(block)), *self._constants, LARGEST_DEVIATION, scores)
        else:
            scores += self.evidence(block).sum(axis=1)

    # -- Description ----------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Degrees of freedom, location and scale."""
        return {"freedom": self.freedom, "location": self.location, "scale": np.sqrt(self.variance)}

    # -- Questions ------------------------------------------------------------------------------------------------

    def quantile(self, levels: FloatArray) -> FloatArray:
        """The numbers below which so much of each class lies."""
        from scipy.special import stdtrit

        return np.asarray(self.location + np.sqrt(self.variance) * stdtrit(self.freedom, levels[:, None, None]))

    def points(self, place: int, n_points: int) -> list[Any]:
        """Points within three scales of the locations."""
        return points_within(self.location[:, place], np.sqrt(self.variance[:, place]), n_points)

    def edges(self) -> FloatArray:
        """Far out to both sides of every location: the tails are heavy."""
        return edges_around(self.location, np.sqrt(self.variance), np.sinh(np.linspace(-9, 9, 145)))

    def as_table(self) -> list[dict[str, Any]]:
        """The log-density of Student's t."""
        location, scale, peak, power = (np.moveaxis(part, -1, 0) for part in self._constants)
        return bell_tables(
            "peak - power * log1p(square(({x} - location) * scale))",
            {"location": location, "scale": scale, "peak": peak, "power": power},
            None if self.far is None else self.far.anchor,
            (power == 0).all(axis=0),
        )
