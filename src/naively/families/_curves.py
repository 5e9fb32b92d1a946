"""Numeric columns whose evidence is a curve: the estimate that the additive recipes give to the scorer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from naively._kernels import frozen, repays_compiler, with_reference
from naively.families._numbers import spread_places
from naively.families._stacking import interpolate
from naively.families.base import Estimate
from naively.typing import AnyArray, FloatArray, IntArray

GUIDE_STEPS = 4096
GUIDE_STEPS_PER_KNOT = 8


@dataclass(frozen=True)
class Curve:
    """What a number says: linear between knots, constant beyond them.

    Parameters
    ----------
    knots : ndarray (knots,), ascending
    table : ndarray (classes, knots)
    missing : ndarray (classes,)
        What a missing cell says.
    """

    knots: FloatArray
    table: FloatArray
    missing: FloatArray

    def evidence(self, x: FloatArray) -> FloatArray:
        """The evidence (rows, classes) of a column of numbers."""
        return np.where(np.isnan(x)[:, None], self.missing, interpolate(self.knots, self.table, x).T)

    @cached_property
    def guide(self) -> IntArray:
        """The last knot before each of equal steps; empty where the range is too large to be cut into steps."""
        first, last = float(self.knots[0]), float(self.knots[-1])
        if not math.isfinite(last - first):
            return np.empty(0, dtype=np.int64)
        steps = np.linspace(first, last, min(GUIDE_STEPS, GUIDE_STEPS_PER_KNOT * len(self.knots)) + 1)
        return np.clip(np.searchsorted(self.knots, steps, side="right") - 1, 0, len(self.knots) - 2)

    @cached_property
    def for_kernel(self) -> tuple[AnyArray, ...]:
        """The knots, at least two, the table (knots, classes), what a missing cell says, and the guide.

        All of one type, whatever the curve: a kernel that has code for one has it for all.
        """
        alone = len(self.knots) == 1
        parts = (np.repeat(self.knots, 2), np.repeat(self.table.T, 2, axis=0)) if alone else (self.knots, self.table.T)
        guide = np.empty(0, dtype=np.int64) if alone else self.guide
        return tuple(frozen(part) for part in (*parts, self.missing, guide))


@dataclass(frozen=True)
class Curves(Estimate):
    """The curves of a group of columns."""

    reads: ClassVar[str] = "numbers"
    least_rows: ClassVar[int] = 1 << 14
    """A curve is large: it is read from cache while so many rows pass, not fetched again for every few."""

    curves: tuple[Curve, ...]

    def evidence(self, block: FloatArray) -> FloatArray:
        """The evidence of every cell."""
        return np.stack([curve.evidence(block[:, place]) for place, curve in enumerate(self.curves)], axis=1)

    @with_reference
    def add_to(self, scores: FloatArray, block: FloatArray) -> None:
        """Add the evidence of every row."""
        if repays_compiler(block.size):
            from naively._kernels.curves import add_curve

            for place, curve in enumerate(self.curves):
                add_curve(frozen(block[:, place]), *curve.for_kernel, scores)
        else:
            for place, curve in enumerate(self.curves):
                scores += curve.evidence(block[:, place])

    def describe(self) -> dict[str, Any]:
        """Knots, and the evidence at them."""
        return {
            "knots": [curve.knots for curve in self.curves],
            "evidence": [curve.table for curve in self.curves],
            "missing": [curve.missing for curve in self.curves],
        }

    # -- Questions ------------------------------------------------------------------------------------------------

    def points(self, place: int, n_points: int) -> list[Any]:
        """Some of the knots."""
        knots = self.curves[place].knots
        return [float(knot) for knot in knots[spread_places(len(knots), n_points)]]

    def as_table(self) -> list[dict[str, Any]]:
        """The evidence at the knots."""
        return [
            {"kind": "curve", "knots": curve.knots, "evidence": curve.table, "missing": curve.missing}
            for curve in self.curves
        ]
