"""Evidence that is linear in a number: what Bernoulli, Poisson and multinomial columns have in common.

A known cell x gives ``slope * x + offset + base(x)``, where slope and offset depend on the class and base does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from naively._kernels import frozen, repays_compiler, with_reference
from naively._table.table import with_data
from naively.errors import GapError
from naively.families._numbers import against, formula_tables
from naively.families.base import Estimate, LeftOut
from naively.statistics._moments import Moments
from naively.typing import AnyArray, FloatArray, IntArray

LARGEST_COUNT = 1e280


@dataclass(frozen=True)
class LinearEstimate(Estimate):
    """Slopes and offsets of a group of columns, (classes, columns).

    Parameters
    ----------
    slope, offset : ndarray of shape (classes, columns), or (classes, rows, columns) if each row has its own
        Finite; 0 where the next two say that a value is impossible.
    no_other, no_zero : ndarray of bool or None
        Where a value other than zero, or zero itself, has probability 0. None: nowhere.
    above : float, optional
        Read not x but whether x is above this.
    base : callable, optional
        The part of a cell's log-likelihood that all classes share, from known values; 0 at 0.
    nonnegative : bool
        Whether the numbers are counts, which cannot be negative.
    parameters : dict
        What the family calls its parameters.
    """

    reads: ClassVar[str] = "numbers"
    reads_sparse: ClassVar[bool] = True

    slope: FloatArray
    offset: FloatArray
    no_other: AnyArray | None = None
    no_zero: AnyArray | None = None
    above: float | None = None
    base: Callable[[FloatArray], FloatArray] | None = None
    nonnegative: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)

    def _known(self, block: FloatArray) -> tuple[FloatArray, AnyArray | None]:
        """The values with 0 for missing cells, and which cells are known (None if all are)."""
        missing = np.isnan(block)
        values = within_reach(block) if self.above is None else (block > self.above).astype(np.float64)
        if not missing.any():
            return values, None
        return np.where(missing, 0.0, values), ~missing

    def evidence(self, block: FloatArray) -> FloatArray:
        """The log-likelihood of every cell."""
        values, known = self._known(block)
        result = values[:, :, None] * classes_last(self.slope) + classes_last(self.offset)
        if self.base is not None:
            result += self.base(values)[:, :, None]
        if self.no_other is not None:
            result[(values != 0)[:, :, None] & classes_last(self.no_other)] = -np.inf
        if self.no_zero is not None:
            result[(values == 0)[:, :, None] & classes_last(self.no_zero)] = -np.inf
        if known is not None:
            result[~known] = 0.0
        return np.asarray(result)

    def add_to(self, scores: FloatArray, block: FloatArray) -> None:
        """Add the log-likelihood of every row: matrix products."""
        values, known = self._known(block)
        scores += values @ self.slope.T
        scores += self._offset_of_all if known is None else known @ self.offset.T
        if self.base is not None:
            scores += self.base(values).sum(axis=1)[:, None]
        if self.no_other is not None:
            scores[_hits(values != 0, self.no_other)] = -np.inf
        if self.no_zero is not None:
            zero = values == 0 if known is None else (values == 0) & known
            scores[_hits(zero, self.no_zero)] = -np.inf

    def add_sparse(self, scores: FloatArray, rows: Any) -> None:
        """Add the evidence of CSR rows, whose unstored cells are zeros, to the scores (rows, classes)."""
        if self.no_zero is not None or (self.above is not None and self.above < 0):
            self.add_to(scores, rows.toarray())  # zeros speak for themselves, so the rows are not sparse to us
            return
        values = within_reach(rows.data) if self.above is None else (rows.data > self.above).astype(np.float64)
        if np.isnan(rows.data.max(initial=0.0)):
            missing = np.isnan(rows.data)
            values = np.where(missing, 0.0, values)
            scores -= with_data(rows, missing) @ np.ascontiguousarray(self.offset.T)
        self._add_products(scores, rows, values)
        scores += self._offset_of_all
        if self.base is not None:
            scores += np.asarray(with_data(rows, self.base(values)).sum(axis=1)).reshape(-1, 1)
        if self.no_other is not None:
            hits = with_data(rows, values != 0) @ np.ascontiguousarray(self.no_other.T, dtype=np.float64)
            scores[hits > 0] = -np.inf

    @with_reference
    def _add_products(self, scores: FloatArray, rows: Any, values: FloatArray) -> None:
        if repays_compiler(len(values) * scores.shape[1]):
            from naively._kernels.sparse_scores import add_sparse_products

            cells = (frozen(part) for part in (values, rows.indices, rows.indptr, self._slope_in_strips))
            add_sparse_products(*cells, scores)
        else:
            scores += with_data(rows, values) @ self._slope_by_column

    @cached_property
    def _slope_in_strips(self) -> FloatArray:
        from naively._kernels.sparse_scores import in_strips

        return in_strips(self.slope.T)

    @cached_property
    def _slope_by_column(self) -> FloatArray:
        return np.ascontiguousarray(self.slope.T)

    @cached_property
    def _offset_of_all(self) -> FloatArray:
        return np.asarray(self.offset.sum(axis=1))

    def only(self, columns: IntArray) -> LinearEstimate:
        """The estimate of some of the columns."""
        no_other, no_zero = (None if mask is None else mask[:, columns] for mask in (self.no_other, self.no_zero))
        return replace(
            self, slope=self.slope[:, columns], offset=self.offset[:, columns], no_other=no_other, no_zero=no_zero
        )

    def of_zeros_but(self, columns: IntArray) -> FloatArray:
        """The evidence (classes,) of a row whose cells are all zero, without these columns."""
        of_columns, impossible = self._of_zeros
        total = of_columns.sum(axis=1) - of_columns[:, columns].sum(axis=1)
        if impossible is None:
            return np.asarray(total)
        return np.where(impossible.sum(axis=1) > impossible[:, columns].sum(axis=1), -np.inf, total)

    @cached_property
    def _of_zeros(self) -> tuple[FloatArray, AnyArray | None]:
        """What a zero in each column says, and where it is impossible."""
        if self.above is not None and self.above < 0:
            return self.slope + self.offset, self.no_other
        return self.offset, self.no_zero

    def describe(self) -> dict[str, Any]:
        """The family's parameters."""
        return dict(self.parameters)

    # -- Questions ------------------------------------------------------------------------------------------------

    def log_likelihood(self, moments: Moments) -> FloatArray:
        """Slopes times sums, offsets times weights. What is impossible has the sum zero, and so is the slope.

        `base` is left out: it is the same whatever the parameters.
        """
        offsets = 0.0 if moments.observed is None else moments.observed.high * self.offset
        return np.asarray((moments.total.high * self.slope + offsets).sum(axis=0))

    def points(self, place: int, n_points: int) -> list[Any]:
        """Of a count that is read in proportion: none, and one."""
        return [0, 1]

    def line(self, base: int) -> LinearEstimate:
        """The slopes and offsets less those of the base."""
        for zeros in (self.no_other, self.no_zero):
            if zeros is not None:
                refuse_infinite_weights(np.asarray(zeros.any(axis=0)))
        slope, offset = (against(part.T, base).T for part in (self.slope, self.offset))
        return replace(self, slope=slope, offset=offset, no_other=None, no_zero=None, base=None, parameters={})

    def terms(self, place: int, name: str) -> list[tuple[str, FloatArray]]:
        """What the weights of a column belong to, and the weights (classes,)."""
        above = "" if self.above is None else f" > {self.above:g}"
        return [(f"{name}{above}", self.slope[:, place])]

    def largest_weights(self) -> FloatArray:
        """The largest weight of each column, in size, in the discriminant of any two classes."""
        return np.asarray(np.ptp(self.slope, axis=0))

    @property
    def table_is_whole(self) -> bool:
        return self.base is None

    def as_table(self) -> list[dict[str, Any]]:
        """A line in x, or in whether x is above a threshold; impossible values have the evidence minus infinity.

        What all classes share, such as the factorial of a Poisson column, is left out.
        """
        x = "x" if self.above is None else f"where(x > {self.above!r}, 1, 0)"
        silent = np.zeros(self.slope.shape[1], dtype=bool)
        if self.no_other is None and self.no_zero is None:
            return formula_tables(f"slope * {x} + offset", {"slope": self.slope, "offset": self.offset}, silent)
        nowhere = np.zeros(self.slope.shape, dtype=bool)
        no_other, no_zero = (nowhere if mask is None else mask for mask in (self.no_other, self.no_zero))
        parts = {
            "slope": self.slope,
            "offset": self.offset,
            "at_zero": np.where(no_zero, -np.inf, self.offset),
            "elsewhere": np.where(no_other, -np.inf, 0.0),
        }
        return formula_tables(f"where({x} == 0, at_zero, slope * {x} + offset + elsewhere)", parts, silent)


def refuse_infinite_weights(zeros: AnyArray) -> None:
    """Refuse a linear discriminant of columns in which something has probability zero."""
    if zeros.any():
        reason = (
            "something has probability zero in a class, and its weight would be infinite. Use some smoothing, for "
            "example smoothing='laplace', which needs no new fit"
        )
        raise GapError(f"line: {reason}", reason, np.flatnonzero(zeros).tolist())


@dataclass(frozen=True)
class Lines(Estimate):
    """Log-odds that are linear in a number: ``slope * (x - anchor - middle)``.

    `slope` and `middle` are (classes, columns). `anchor` (columns,) is the mean of the base class, and `middle` how far
    from it a class and the base are level: in this form the numbers of a column far from zero do not cancel.
    """

    reads: ClassVar[str] = "numbers"

    slope: FloatArray
    middle: FloatArray
    anchor: FloatArray

    @property
    def offset(self) -> FloatArray:
        """What is added at zero."""
        return -self.slope * (self.anchor + self.middle)

    def evidence(self, block: FloatArray) -> FloatArray:
        """The log-odds of every cell."""
        values = ((block - self.anchor)[:, :, None] - classes_last(self.middle)) * classes_last(self.slope)
        return np.where(np.isnan(block)[:, :, None], 0.0, values)

    def describe(self) -> dict[str, Any]:
        """Slopes, and where they cross zero."""
        return {"slope": self.slope, "middle": self.anchor + self.middle}

    def terms(self, place: int, name: str) -> list[tuple[str, FloatArray]]:
        """What the weights of a column belong to, and the weights (classes,)."""
        return [(name, self.slope[:, place])]

    def largest_weights(self) -> FloatArray:
        """The largest weight of each column, in size, in the discriminant of any two classes."""
        return np.asarray(np.ptp(self.slope, axis=0))


def classes_last(parameters: AnyArray) -> AnyArray:
    """From (classes, columns) to (columns, classes), or from (classes, rows, columns) to (rows, columns, classes)."""
    return np.moveaxis(parameters, 0, -1)


def within_reach(values: FloatArray) -> FloatArray:
    """Counts held below what can be multiplied and summed."""
    return np.minimum(values, LARGEST_COUNT) if values.max(initial=0.0) > LARGEST_COUNT else values


def _hits(cells: AnyArray, forbidden: AnyArray) -> AnyArray:
    """Which rows have, for a class, a cell that is forbidden in it: (rows, classes)."""
    return np.asarray(cells.astype(np.float64) @ forbidden.T.astype(np.float64) > 0)


def left_out(moments: Moments, estimate: Callable[[Moments], Estimate], above: float | None = None) -> LeftOut:
    """Leave-one-out: the same estimate, of sums without one row at a time."""

    def evidence(block: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
        counted = block if above is None else np.where(np.isnan(block), np.nan, block > above)
        return estimate(moments.without_each(counted, codes, weights)).evidence(block)

    return LeftOut("numbers", evidence)


def logs_and_zeros(probability: FloatArray) -> tuple[FloatArray, AnyArray | None]:
    """Logarithms with 0 in place of log 0, and where that was (None: nowhere)."""
    zero = probability == 0
    if not zero.any():
        return np.log(probability), None
    return np.log(np.where(zero, 1.0, probability)), zero
