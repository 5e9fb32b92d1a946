"""Additive terms of the score: what the cells of a column, or of a group of columns, add to each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from naively._weighing import categories
from naively.families._stacking import interpolate
from naively.statistics._calendar import part_of
from naively.typing import AnyArray, FloatArray, IntArray

Column = tuple[str, AnyArray]
"""("numeric", float64 with NaN) or ("categorical", codes with -1 where missing and anything past the end unknown)."""


def share_known(columns: Sequence[Column], n_labels: Sequence[int]) -> FloatArray:
    """The share of each row's cells that are known: neither missing ones nor labels that were never seen.

    A text is known whatever words it has.

    Parameters
    ----------
    columns : sequence of Column
    n_labels : sequence of int
        How many labels each categorical column has.
    """
    known = np.zeros(len(columns[0][1]))
    for (kind, values), count in zip(columns, n_labels, strict=True):
        if kind == "numeric":
            known += ~np.isnan(values)
        elif kind == "categorical":
            known += (values >= 0) & (values < count)
        else:
            known += np.array([text is not None for text in values.tolist()], dtype=bool)
    return known / len(columns)


class TextEstimate(Protocol):
    """The evidence of a text column."""

    def evidence(self, texts: Any) -> FloatArray:
        """The evidence (classes, rows) of texts, centred; 0 where missing."""

    def leave_one_out(self, texts: Any, codes: IntArray, removed: FloatArray) -> FloatArray:
        """The evidence (classes, rows) of learnt texts, each without the weight that it gave."""


@dataclass(frozen=True)
class Term:
    """One additive term of the score.

    Parameters
    ----------
    kind : "numeric", "categorical", "missing", "text", "numbers" or "part"
        A curve (`table` at `knots`), a table of values whose last entry is for one never seen, or a table of
        (known, missing).
    column : int
        The column that it reads.
    knots : ndarray
        Empty unless numeric.
    table : ndarray (classes, ...)
    n_values : int, optional
        The number of values of a column of labels: codes from here on are labels never seen, which say nothing.
    """

    kind: str
    column: int
    knots: FloatArray
    table: FloatArray
    n_values: int | None = field(default=None, kw_only=True)

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that it reads."""
        return (self.column,)

    def evidence(self, values: AnyArray) -> FloatArray:
        """The evidence (classes, rows) of the cells of its column."""
        if self.kind == "numeric":
            return interpolate(self.knots, self.table, values)
        if self.kind == "missing":
            said = self.table[:, is_missing(values).astype(np.int64)]
            return np.asarray(said if self.n_values is None else np.where(values >= self.n_values, 0.0, said))
        return categories.look_up(self.table, values)

    def by_column(self, columns: Sequence[Column]) -> list[tuple[int, FloatArray]]:
        """The columns that it reads, and the evidence (classes, rows) of each."""
        return [(self.column, self.evidence(columns[self.column][1]))]

    def is_silent(self) -> bool:
        """Whether it says nothing, whatever the cells hold."""
        return not self.table.any()


@dataclass(frozen=True)
class TextTerm(Term):
    """The term of a text column: the estimate's evidence times a weight per class, and `table` for every known text."""

    estimate: TextEstimate
    weights: FloatArray

    def evidence(self, values: AnyArray) -> FloatArray:
        """The evidence (classes, rows) of texts."""
        said = self.weights[:, None] * self.estimate.evidence(values)
        return np.asarray(said + np.where(is_missing(values), 0.0, self.table))

    def is_silent(self) -> bool:
        """Never: what a text says is computed from its tokens."""
        return False


@dataclass(frozen=True)
class PartTerm(Term):
    """The term of a part of dates: `table` has what each month, weekday or hour says."""

    part: str

    def evidence(self, values: AnyArray) -> FloatArray:
        """The evidence (classes, rows) of dates, given as seconds."""
        places = part_of(values, self.part)
        return np.where(places < 0, 0.0, self.table[:, places])


class NumbersEvidence(Protocol):
    """The evidence of a group of columns of numbers."""

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns."""

    def evidence(self, columns: Sequence[Column]) -> FloatArray:
        """The evidence of every cell, (rows, columns, classes), centred over the classes; 0 where missing."""


@dataclass(frozen=True)
class FamilyTerm(Term):
    """The term of a group of columns that one family reads: their evidence times weights (classes, columns)."""

    source: NumbersEvidence
    weights: FloatArray

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of the group."""
        return self.source.columns

    def by_column(self, columns: Sequence[Column]) -> list[tuple[int, FloatArray]]:
        """The columns of the group, and the evidence (classes, rows) of each."""
        said = self.source.evidence(columns) * self.weights.T
        return [(column, said[:, place].T) for place, column in enumerate(self.source.columns)]

    def is_silent(self) -> bool:
        """Whether no column of the group has a weight."""
        return not self.weights.any()


def is_missing(values: AnyArray) -> AnyArray:
    """Which cells are missing: NaN among floats, negative codes among integers, None among texts."""
    if values.dtype.kind == "O":
        return np.array([value is None for value in values.tolist()], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.asarray(values < 0)


def take_rows(columns: Sequence[Column], rows: IntArray | slice) -> list[Column]:
    """Some rows of all columns; all of them, in their order, are not copied."""
    if isinstance(rows, np.ndarray) and columns and np.array_equal(rows, np.arange(len(columns[0][1]))):
        return list(columns)
    return [(kind, np.asarray(values[rows])) for kind, values in columns]
