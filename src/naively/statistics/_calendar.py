"""How often each month, weekday and hour occurs in each class: the statistics of columns of dates and times of day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from naively.errors import ForgetError
from naively.statistics._counts import Counts
from naively.statistics._moments import most_weight
from naively.statistics._plain import sum_from, sum_to_dict
from naively.statistics._sums import Sum
from naively.statistics.base import Statistic, Summary
from naively.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from naively.statistics._divergence import Change

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NAMES: dict[str, tuple[str, ...]] = {"month": MONTHS, "weekday": WEEKDAYS, "hour": tuple(map(str, range(24)))}
"""The parts of a date that go round, and what their values are called."""

N_CELLS = sum(map(len, NAMES.values()))
SECONDS_PER_DAY = 86400


def cells_of(part: str) -> slice:
    """Where the values of a part stand among all cells."""
    first = sum(len(NAMES[before]) for before in list(NAMES)[: list(NAMES).index(part)])
    return slice(first, first + len(NAMES[part]))


def part_of(seconds: FloatArray, part: str) -> IntArray:
    """The month (0: January), the weekday (0: Monday) or the hour of dates, given as seconds; -1 where missing.

    Examples
    --------
    >>> at = np.array([1709218800.0, np.nan])  # Thursday, 29 February 2024, 15:00
    >>> [part_of(at, part).tolist() for part in NAMES]
    [[1, -1], [3, -1], [15, -1]]
    """
    known = ~np.isnan(seconds)
    whole = np.floor(np.where(known, seconds, 0.0)).astype(np.int64)
    days = whole // SECONDS_PER_DAY
    if part == "hour":
        found = whole % SECONDS_PER_DAY // 3600
    elif part == "weekday":
        found = (days + 3) % 7  # the first of January 1970 was a Thursday
    else:
        found = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    return np.where(known, found, -1)


@dataclass(frozen=True)
class Calendar(Statistic):
    """The weight of every month, weekday and hour of every column in every class.

    Parameters
    ----------
    columns : tuple of str
    cells : Sum of shape (classes, columns, cells)
        Of the 12 months, the 7 weekdays and the 24 hours, in this order.
    """

    kind: ClassVar[str] = "calendar"
    detail: ClassVar[int] = -1
    """Where there is a trend as well, that is compared."""

    columns: tuple[str, ...]
    cells: Sum

    @classmethod
    def empty(cls, summary: Summary, columns: tuple[str, ...], n_classes: int) -> Calendar:
        return cls(columns, Sum.zeros((n_classes, len(columns), N_CELLS)))

    def counts(self, part: str) -> Counts:
        """How often each value of a part occurs: of those that occurred, by their numbers."""
        cells = cells_of(part)
        tables = [self.cells[:, place, cells] for place in range(len(self.columns))]
        return Counts.of_tables(self.columns, [range(len(NAMES[part]))] * len(tables), tables)

    def __add__(self, other: Calendar) -> Calendar:
        return Calendar(self.columns, self.cells + other.cells)

    def less(self, other: Calendar, peak: FloatArray) -> Calendar:
        left = self.cells.less(other.cells, peak[:, None, None])
        if (left.high < 0).any():
            column = self.columns[int(np.argwhere(left.high < 0)[0][1])]
            raise ForgetError(
                f"Column {column!r}: a month, weekday or hour would be forgotten more often than it was learnt. Forget "
                "only rows that this model has learnt, with the same weights and classes."
            )
        return Calendar(self.columns, left)

    def scaled(self, factor: float) -> Calendar:
        return Calendar(self.columns, self.cells * factor)

    def for_classes(self, positions: IntArray, n_classes: int) -> Calendar:
        kept = positions >= 0
        shape = (n_classes, *self.cells.shape[1:])
        return Calendar(self.columns, self.cells[kept].spread(shape, positions[kept]))

    def for_columns(self, columns: Sequence[str]) -> Calendar:
        columns = tuple(columns)
        if columns == self.columns:
            return self
        shared = [place for place, name in enumerate(columns) if name in self.columns]
        own = [self.columns.index(columns[place]) for place in shared]
        shape = (self.cells.shape[0], len(columns), N_CELLS)
        return Calendar(columns, self.cells[:, own].spread(shape, (slice(None), shared)))

    def check(self, summary: Summary, class_weight: FloatArray, peak: FloatArray) -> None:
        """Refuse more known cells than rows."""
        most = most_weight(class_weight, peak)[:, None]
        for part in NAMES:
            self._refuse_impossible(self.cells.high[:, :, cells_of(part)].sum(axis=2) > most)

    def observed_weight(self, place: int) -> FloatArray:
        return np.asarray(self.cells.high[:, place, cells_of("month")].sum(axis=1))

    def to_dict(self) -> dict[str, Any]:
        return {"cells": sum_to_dict(self.cells)}

    @classmethod
    def from_dict(
        cls, entry: Mapping[str, Any], summary: Summary, columns: tuple[str, ...], n_classes: int
    ) -> Calendar:
        return cls(columns, sum_from(entry["cells"], (n_classes, len(columns), N_CELLS), nonnegative=True))

    def compare(self, other: Calendar, summary: Summary, rows: FloatArray) -> tuple[Change, FloatArray]:
        """How often each month, weekday and hour occurs: the part that changed most, its chance times their number."""
        from naively.statistics._divergence import Change, compare_tables, with_missing

        both = np.stack([self.cells.high, other.cells.high])
        parts = []
        for part in NAMES:
            cells = both[..., cells_of(part)]
            found, weights = compare_tables([with_missing(one, rows) for one in np.moveaxis(cells, 2, 0)])
            parts.append(found)
        most = np.argmax([one.bits for one in parts], axis=0)[None]
        changes = ([one.bits for one in parts], [one.expected for one in parts])
        bits, expected = (np.take_along_axis(np.stack(some), most, axis=0)[0] for some in changes)
        p_value = np.minimum(1.0, len(parts) * np.min([one.p_value for one in parts], axis=0))
        return Change(bits, expected, p_value), weights
