"""Densities and probabilities that never vanish: one at or below `eps` is replaced by `threshold`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from naively._common.checks import require_number
from naively._table.table import Kind
from naively.errors import ParameterError
from naively.families._categorical import LabelTables
from naively.families._gaussian import Gaussian, GaussianEstimate
from naively.families._multinomial import Multinomial
from naively.families._stacked import Stacked
from naively.families.base import Estimate, Family, LeftOut
from naively.smoothing import Smoothing
from naively.statistics.base import Summary
from naively.typing import AnyArray, FloatArray, IntArray, Label

if TYPE_CHECKING:
    from naively.statistics._divergence import Change

ZERO = -1075 * math.log(2)
"""The exponential of what is below this is zero as a float64."""

FAR = -700.0
"""Below this, the exponential of a logarithm has fewer digits than a float64 usually has."""

NOWHERE = -1073 * math.log(2)
"""R's `dnorm` is zero where a bell of height 1 is smaller than the exponential of this, 38.57 deviations out."""


@dataclass(frozen=True)
class Thresholded(Family):
    """Another family, with every density or probability of at most `eps` replaced by `threshold`.

    This is what R's naive Bayes packages do in the place of smoothing: no value is impossible in any class. The
    replaced numbers are no longer a distribution, and a density of at most `eps` depends on the unit of the column.

    Parameters
    ----------
    family : Family, default=Gaussian()
        How the column is distributed.
    threshold : float, default=0.001
        Above 0: what takes the place of a vanishing density or probability.
    eps : float, default=0.0
        The largest density or probability that is replaced, below 1. At 0 only what is zero as a float64 is: an
        impossible value, or a density that underflows.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> from naively.families import Categorical
    >>> X, y = [["red"], ["red"], ["blue"]], ["a", "a", "b"]
    >>> family = Thresholded(Categorical(), threshold=0.001)
    >>> model = NaiveBayes("textbook", families=family, smoothing="none").fit(X, y)
    >>> model.predict_proba([["blue"]]).round(4)
    array([[0.002, 0.998]])
    """

    is_distribution: ClassVar[bool] = False

    family: Family = field(default_factory=Gaussian)
    threshold: float = 0.001
    eps: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.family, Family) or isinstance(self.family, (Multinomial, Stacked, Thresholded)):
            raise ParameterError(
                "Thresholded(family) must be a family that gives each cell a density or probability of its own, such "
                f"as Gaussian() or Categorical(); got {self.family!r}."
            )
        if getattr(self.family, "interval", None) is not None:
            raise ParameterError("Thresholded() replaces densities: leave Gaussian(interval) out.")
        require_number("Thresholded(threshold)", self.threshold, at_least=0)
        require_number("Thresholded(eps)", self.eps, at_least=0)
        if self.threshold == 0 or self.eps >= 1:
            raise ParameterError(
                f"Thresholded() needs a threshold above 0 and an eps below 1, got {self.threshold!r} and {self.eps!r}."
            )

    @property
    def accepts(self) -> tuple[Kind, ...]:  # type: ignore[override]
        """What the family inside reads."""
        return self.family.accepts

    @property
    def leaves_out_exactly(self) -> bool:  # type: ignore[override]
        """Whether the family inside leaves a row out exactly."""
        return self.family.leaves_out_exactly

    @property
    def reads_declared(self) -> bool:
        return self.family.reads_declared

    def with_declared(self, labels: tuple[Label, ...] | None) -> Family:
        return replace(self, family=self.family.with_declared(labels))

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return self.family.summaries

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, *statistics: Any, smoothing: Smoothing) -> ThresholdedEstimate | ThresholdedTables:
        """The estimate of the family inside; what labels say is thresholded once and for all."""
        inside = self.family.estimate(*statistics, smoothing=smoothing)
        if isinstance(inside, LabelTables):
            return ThresholdedTables(inside, self)
        return ThresholdedEstimate(inside, self)

    def takes_smoothing(self, weighed: bool) -> bool:
        """Whether the family inside has pseudo-counts."""
        return self.family.takes_smoothing(weighed)

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, *statistics: Any, smoothing: Smoothing) -> LeftOut:
        """The leave-one-out of the family inside, thresholded: exact where that is."""
        inside = self.family.leave_one_out(*statistics, smoothing=smoothing)
        return LeftOut(inside.reads, lambda *rows: self.replaced(inside.evidence(*rows)), inside.codebook)

    # -- Questions ------------------------------------------------------------------------------------------------

    def compare(self, before: Any, after: Any, summary: Summary, rows: FloatArray) -> tuple[Change, FloatArray]:
        """How the family inside compares."""
        return self.family.compare(before, after, summary, rows)

    def cells(self, *tables: Any) -> list[FloatArray] | None:
        """The counts of the cells of each column, of the family inside."""
        return self.family.cells(*tables)

    def information(self, *tables: Any) -> FloatArray:
        """The mutual information of a column and the class, of the family inside."""
        return self.family.information(*tables)

    def likelihood_ratio(self, *tables: Any) -> tuple[FloatArray, IntArray]:
        """The likelihood ratio of the family inside."""
        return self.family.likelihood_ratio(*tables)

    def effect(self, *tables: Any) -> FloatArray:
        """The effect of a column, of the family inside."""
        return self.family.effect(*tables)

    def expecting(self) -> Family:
        """The family inside."""
        return self.family.expecting()

    # -- Evidence -------------------------------------------------------------------------------------------------

    def replaced(self, evidence: FloatArray) -> FloatArray:
        """Logarithms of densities with those of vanishing ones replaced.

        A missing cell has the evidence 0, a density of 1 as it were: it stays, `eps` being below 1.
        """
        vanishes = evidence < ZERO if self.eps == 0 else evidence <= math.log(self.eps)
        return np.where(vanishes, math.log(self.threshold), evidence) if vanishes.any() else evidence


def as_float64(evidence: FloatArray, peak: FloatArray) -> FloatArray:
    """The logarithms of Gaussian densities as R's `dnorm` has them in float64: far out they lose digits and vanish.

    Parameters
    ----------
    evidence : ndarray (rows, columns, classes)
        The exact logarithms.
    peak : ndarray (columns, classes)
        Their largest.
    """
    far = evidence < FAR + np.maximum(peak, 0.0)
    if not far.any():
        return evidence
    tops = np.broadcast_to(peak, evidence.shape)[far]
    shape = evidence[far] - tops
    with np.errstate(divide="ignore", under="ignore", over="ignore"):
        bell = np.where(shape < NOWHERE, 0.0, np.exp(shape))
        density = bell * np.minimum(np.exp(tops), np.finfo(np.float64).max)
        result = evidence.copy()
        result[far] = np.log(density)
    return result


class ThresholdedTables(LabelTables):
    """Evidence of labels, thresholded."""

    def __init__(self, inside: Any, family: Thresholded):
        tables = tuple(family.replaced(table) for table in inside.tables)
        super().__init__(inside.categories, tables, inside.n_classes)
        object.__setattr__(self, "_inside", inside)

    _inside: ClassVar[Any]

    def describe(self) -> dict[str, Any]:
        """The parameters of the family inside."""
        described: dict[str, Any] = self._inside.describe()
        return described


@dataclass(frozen=True)
class ThresholdedEstimate(Estimate):
    """An estimate whose evidence is thresholded."""

    inside: Estimate
    family: Thresholded

    @property
    def reads(self) -> str:  # type: ignore[override]
        """What the blocks hold."""
        return self.inside.reads

    @property
    def nonnegative(self) -> bool:
        """Whether the numbers are counts, which cannot be negative."""
        return self.inside.nonnegative

    def evidence(self, block: AnyArray) -> FloatArray:
        """The log-likelihood of every cell."""
        evidence = self.inside.evidence(block)
        if isinstance(self.inside, GaussianEstimate) and self.family.eps == 0:
            evidence = as_float64(evidence, self.inside._peak)
        return self.family.replaced(evidence)

    # -- Description ----------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """The parameters of the family inside."""
        return self.inside.describe()

    # -- Questions ------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        return self.inside.kind

    def points(self, place: int, n_points: int) -> list[Any]:
        """The points that the family inside is tabulated at."""
        return self.inside.points(place, n_points)

    def as_numbers(self, points: Sequence[Any]) -> Sequence[Any]:
        """The numbers that stand for points, of the family inside."""
        return self.inside.as_numbers(points)
