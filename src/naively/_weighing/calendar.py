"""The parts of dates that go round as sources of evidence: each month, weekday or hour is a label, with a weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from naively._weighing.effects import Basis
from naively._weighing.sources import LabelColumn, LabelColumns, Source
from naively._weighing.terms import Column, PartTerm, Term
from naively.families import Categorical
from naively.families._stacking import Folds
from naively.smoothing import Smoothing, StackedMEstimate
from naively.statistics._calendar import NAMES, Calendar, part_of
from naively.typing import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class PartBasis:
    """The value effects of a part, given the dates: the basis of its labels."""

    part: PartColumn
    of_labels: Basis

    def __call__(self, seconds: AnyArray) -> FloatArray:
        return self.of_labels(self.part.codes(seconds))


@dataclass(frozen=True)
class PartColumn(Source):
    """A part of a column of dates.

    Parameters
    ----------
    column : int
    part : str
        "month", "weekday" or "hour".
    values : tuple of int
        Its values that occurred.
    labels : Source
        Reads them as a column of labels, the only one.
    """

    column: int
    part: str
    values: tuple[int, ...]
    labels: Source

    @property
    def columns(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.column,)

    @property
    def observed(self) -> FloatArray:  # type: ignore[override]
        return self.labels.observed

    def codes(self, seconds: AnyArray) -> IntArray:
        """The places of the parts of dates among the values; one past the end where unknown, -1 where missing."""
        place = np.full(len(NAMES[self.part]) + 1, len(self.values))
        place[list(self.values)], place[-1] = np.arange(len(self.values)), -1
        return np.asarray(place[part_of(seconds, self.part)])

    def _of_labels(self, columns: Sequence[Column]) -> list[Column]:
        return [("categorical", self.codes(columns[self.column][1]))]

    def leave_one_out(
        self, columns: Sequence[Column], codes: IntArray, removed: FloatArray, folds: Folds | None = None
    ) -> FloatArray:
        return self.labels.leave_one_out(self._of_labels(columns), codes, removed, folds)

    def bases(self, columns: Sequence[Column], fine: bool = True) -> list[Basis]:
        return [PartBasis(self, basis) for basis in self.labels.bases(self._of_labels(columns), fine)]

    def terms(self, weights: FloatArray, effects: FloatArray, bases: Sequence[Basis]) -> list[Term]:
        of_labels = [basis.of_labels if isinstance(basis, PartBasis) else basis for basis in bases]
        (said,) = self.labels.terms(weights, effects, of_labels)
        table = np.zeros((len(weights), len(NAMES[self.part])))
        table[:, list(self.values)] = said.table[:, : len(self.values)]
        return [PartTerm("part", self.column, np.empty(0), table, self.part)]


def part_columns(
    parts: Sequence[str], first: bool, smoothing: Smoothing, columns: Sequence[int], calendar: Calendar
) -> list[Source]:
    """The parts of columns of dates that go round; a part of which one value is known says nothing.

    With `first` the first of them stays in any case: it says that a cell is known.
    """
    found: list[Source] = []
    for part in parts:
        counts = calendar.counts(part)
        for place, (column, values) in enumerate(zip(columns, counts.categories, strict=True)):
            table = counts.table(place).high
            if isinstance(smoothing, StackedMEstimate):
                labels: Source = LabelColumn(0, table)
            else:
                own = counts.for_columns([counts.columns[place]])
                estimate = Categorical().estimate(own, smoothing=smoothing)
                left_out = Categorical().leave_one_out(own, smoothing=smoothing)
                labels = LabelColumns((0,), table.sum(axis=1)[None], Categorical(), estimate, left_out)
            if len(values) > 1 or (first and part == parts[0]):
                found.append(PartColumn(column, part, tuple(map(int, values)), labels))
    return found
