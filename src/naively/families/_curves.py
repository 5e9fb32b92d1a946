"""Numeric columns whose evidence is a curve: the estimate that the additive recipes give to the scorer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from naively._kernels import frozen, kernel_of, repays_compiler, with_reference
from naively.families._numbers import spread_places
from naively.families._stacking import interpolate
from naively.families.base import Estimate
from naively.typing import AnyArray, FloatArray

GUIDE_STEPS = 8192
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

    def _for_kernel(self) -> tuple[FloatArray, FloatArray]:
        """The knots, at least two, and the table (knots, classes)."""
        if len(self.knots) == 1:
            return np.repeat(self.knots, 2), np.repeat(self.table.T, 2, axis=0)
        return self.knots, self.table.T


def _guide(knots: FloatArray, n_steps: int) -> AnyArray:
    """The last knot that lies in an earlier one of equal steps over the knots; the steps as the kernel rounds them.

    Over a range that cannot be cut into steps it is not read.
    """
    first, span = float(knots[0]), float(knots[-1]) - float(knots[0])
    pace = n_steps / span if span > 0 else math.inf
    if not (math.isfinite(span) and math.isfinite(pace)):
        return np.zeros(n_steps + 1, dtype=np.int32)
    steps = np.minimum(((knots - first) * pace).astype(np.int64), n_steps - 1)
    earlier = np.cumsum(np.bincount(steps + 1, minlength=n_steps + 1))
    return np.clip(earlier - 1, 0, len(knots) - 2).astype(np.int32)


def packed(curves: Sequence[Curve]) -> tuple[AnyArray, ...]:
    """Curves as the kernel reads them, one after the other: knots, their ends, tables, what is missing, guides.

    All of one type, whatever the curves: a kernel that has code for some has it for all.
    """
    knots, tables = zip(*(curve._for_kernel() for curve in curves), strict=True)
    n_steps = min(GUIDE_STEPS, GUIDE_STEPS_PER_KNOT * max(len(part) for part in knots))  # few knots need few steps
    guides = [_guide(part, n_steps) for part in knots]
    ends = np.cumsum([len(part) for part in knots])
    missing = np.stack([curve.missing for curve in curves])
    parts = (np.concatenate(knots), ends, np.concatenate(tables), missing, np.stack(guides))
    return tuple(frozen(part) for part in parts)


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

    @cached_property
    def _packed(self) -> tuple[AnyArray, ...]:
        return packed(self.curves)

    @with_reference
    def add_to(self, scores: FloatArray, block: FloatArray) -> None:
        """Add the evidence of every row."""
        if repays_compiler(block.size):
            add_curves = kernel_of("curves", "add_curves")
            add_curves(frozen(block), *self._packed, scores)
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
