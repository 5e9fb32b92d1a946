"""Model tables: look-ups that are too large to be written into a query lie in tables beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._export.additive import LARGEST, OUT_OF_SCALE, ColumnTable, refuse_scale
from naively._export.sql_dialects import Dialect
from naively.errors import GapError
from naively.typing import AnyArray, FloatArray, IntArray

ROWS_PER_INSERT = 500
ROWS_PER_JOB = 5000
"""So many rows are inserted at a time, by Spark, for which each statement is a job."""

FARTHEST = LARGEST / 2
"""Numbers are held within so much, so that no difference of two overflows."""

FOR_LISTS = (3, 4, 8)
"""The range of a column's knots is cut in two while a bucket holds more knots than the first number says, as often as
the second says at most, and has so many buckets for each knot as the third says."""


@dataclass(frozen=True)
class ModelTable:
    """A table that a query looks values up in.

    Parameters
    ----------
    name : tuple of str
    columns : dict from column names to SQL types
    rows : list of tuples
    key : str
        The columns of the primary key, as SQL.
    """

    name: tuple[str, ...]
    columns: dict[str, str]
    rows: list[tuple[Any, ...]]
    key: str

    def statements(self, dialect: Dialect) -> Iterator[str]:
        """What creates and fills the table."""
        name = dialect.name_of(*self.name)
        key = "" if dialect.name == "spark" else f", PRIMARY KEY ({self.key})"
        types = ", ".join(f"{column} {kind}" for column, kind in self.columns.items())
        yield f"CREATE TABLE {name} ({types}{key})"
        step = ROWS_PER_JOB if dialect.name == "spark" else ROWS_PER_INSERT
        for start in range(0, len(self.rows), step):
            rows = ",\n".join(_row(row, dialect) for row in self.rows[start : start + step])
            yield f"INSERT INTO {name} VALUES\n{rows}"
        if dialect.name == "sqlite" and "low" in self.columns:
            yield f"CREATE INDEX {dialect.name_of(*self.name[:-1], self.name[-1] + '_low')} ON {name} (low)"
        if dialect.name == "postgres":
            yield f"ANALYZE {name}"


def _spelled(cell: float) -> str:
    """A number as databases cast it from text."""
    return repr(cell).replace("inf", "Infinity")


@dataclass(frozen=True)
class ListTable:
    """A table of one row, whose cells are lists: a query reads them by place, which is quicker than any join.

    Parameters
    ----------
    name : tuple of str
    lists : dict from column names to lists of numbers, or to dicts of lists side by side
    """

    name: tuple[str, ...]
    lists: dict[str, AnyArray | dict[str, FloatArray]]

    def statements(self, dialect: Dialect) -> Iterator[str]:
        """What creates and fills the table: from texts, as databases take long to read as many literals."""
        name, types, cells = dialect.name_of(*self.name), [], []
        for column, held in self.lists.items():
            if isinstance(held, dict):
                types.append(f"{column} {dialect.list_of_fields(list(held))}")
                cells.append(dialect.side_by_side([_listed(part, dialect.double, dialect) for part in held.values()]))
            else:
                kind = dialect.double if held.dtype.kind == "f" else "INT"
                types.append(f"{column} {dialect.list_of(kind)}")
                cells.append(_listed(held, kind, dialect))
        yield f"CREATE TABLE {name} ({', '.join(types)})"
        yield f"INSERT INTO {name}\nSELECT\n{_lines(cells)}"


def _listed(values: AnyArray, kind: str, dialect: Dialect) -> str:
    return dialect.list_from(",".join(map(_spelled, values.tolist())), kind)


def _lines(parts: Sequence[str]) -> str:
    return ",\n".join(parts)


def _row(row: tuple[Any, ...], dialect: Dialect) -> str:
    return f"({', '.join(map(dialect.literal, row))})"


# -- labels -----------------------------------------------------------------------------------------------------------


def label_table(name: tuple[str, ...], column: ColumnTable, codes: Sequence[int], dialect: Dialect) -> ModelTable:
    """The evidence of every label for some of the classes."""
    values, evidence = column.table["values"], column.table["evidence"]
    kind = dialect.text if isinstance(values[0], str) else dialect.whole
    if any(isinstance(value, float) for value in values):
        kind = dialect.double
    columns = {"label": kind, **{f"e{code}": dialect.double for code in codes}}
    rows = [(value, *evidence[codes, place].tolist()) for place, value in enumerate(values)]
    return ModelTable(name, columns, rows, "label")


# -- numbers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Intervals:
    """What numbers say, interval by interval: ``evidence + (x - low) * slope`` from each low to the next.

    Parameters
    ----------
    lows : ndarray (intervals,), ascending
        The first interval begins below all numbers.
    evidence : ndarray (classes, intervals)
    slopes : ndarray (classes, intervals) or None
        None where the evidence is constant in every interval.
    """

    lows: FloatArray
    evidence: FloatArray
    slopes: FloatArray | None


def intervals_of(column: ColumnTable) -> Intervals:
    """The intervals of steps or of a curve, which is constant beyond its knots."""
    evidence = column.table["evidence"]
    knots = column.table["cuts" if column.kind == "steps" else "knots"]
    refuse_scale(column, 0.0, FARTHEST)
    if column.kind == "steps":
        return Intervals(np.append(-FARTHEST, knots), evidence, None)
    rise, run = np.diff(evidence) / 2, np.diff(knots / 2)
    with np.errstate(divide="ignore", over="ignore"):
        slopes = np.where(np.abs(rise) > 1e-16, rise / run, 0.0)
    if not np.isfinite(slopes).all():
        raise GapError(f"Column {column.name!r} cannot be exported so: it {OUT_OF_SCALE}. Rescale it.", OUT_OF_SCALE)
    flat = np.zeros((len(evidence), 1))
    return Intervals(
        np.append(-FARTHEST, knots),
        np.column_stack([evidence[:, 0], evidence]),
        np.column_stack([flat, slopes, flat]),
    )


def said_in(intervals: Intervals, codes: Sequence[int]) -> dict[str, FloatArray]:
    """What is read in an interval: where it begins, and the evidence for some of the classes and its slopes there."""
    said = {"low": intervals.lows, **{f"e{code}": intervals.evidence[code] for code in codes}}
    if intervals.slopes is not None:
        said |= {f"slope{code}": intervals.slopes[code] for code in codes}
    return said


def interval_table(name: tuple[str, ...], intervals: Intervals, codes: Sequence[int], dialect: Dialect) -> ModelTable:
    """The intervals by place."""
    said = said_in(intervals, codes)
    types = {"place": dialect.whole} | dict.fromkeys(said, dialect.double)
    rows = zip(range(len(intervals.lows)), *(values.tolist() for values in said.values()), strict=True)
    return ModelTable(name, types, list(rows), "place")


@dataclass(frozen=True)
class Segment:
    """A part of the range in which `size` buckets have one width: ``base + floor((x - start) * scale)``."""

    start: float
    scale: float
    base: int
    size: int


@dataclass(frozen=True)
class Buckets:
    """Numbered cells of the range of some interval bounds, from which an interval is found in a few steps.

    Parameters
    ----------
    lows : ndarray
        The bounds; the first is below all numbers.
    segments : sequence of Segment
        They begin at bounds. Bucket 1 is for numbers before the second bound, the last for those from the last one on.
    """

    lows: FloatArray
    segments: Sequence[Segment]

    @classmethod
    def of(cls, lows: FloatArray, crowded: int, deepest: int, per_knot: int) -> Buckets:
        """Buckets that hold few bounds each."""
        segments: list[Segment] = []
        _cut(lows[1:], crowded, deepest, per_knot, segments)
        return cls(lows, segments)

    @property
    def last(self) -> int:
        """The number of the last bucket."""
        return self.segments[-1].base + self.segments[-1].size + 2

    def expression(self, x: str, dialect: Dialect) -> str:
        """The bucket of a number, as SQL."""
        first, last = (dialect.number(float(self.lows[place])) for place in (1, -1))
        inside = _searched(self.segments, x, dialect)
        return f"CASE WHEN {x} < {first} THEN 1 WHEN {x} >= {last} THEN {self.last} ELSE {inside} END"

    def first_places(self) -> IntArray:
        """For each bucket the place, from 1 on, of the interval in which it begins."""
        before = np.searchsorted(self._bucket(self.lows), np.arange(1, self.last + 1), side="left")
        before[0], before[-1] = 1, len(self.lows)
        return before

    def steps(self) -> list[int]:
        """So many places a number may be ahead of the first of its bucket: powers of two, whose sum is enough."""
        held = int(np.bincount(self._bucket(self.lows))[2 : self.last].max(initial=1))
        return [2**power for power in reversed(range(held.bit_length()))]

    def _bucket(self, x: FloatArray) -> IntArray:
        """The bucket of numbers, computed as the database computes it, operation by operation."""
        starts = np.array([segment.start for segment in self.segments])
        inside = np.clip(x, self.lows[1], self.lows[-1])
        place = np.searchsorted(starts, inside, side="right") - 1
        scale = np.array([segment.scale for segment in self.segments])[place]
        base = np.array([segment.base for segment in self.segments])[place]
        found = base + np.floor((inside - starts[place]) * scale).astype(np.int64)
        return np.where(x < self.lows[1], 1, np.where(x >= self.lows[-1], self.last, found))


def _cut(knots: FloatArray, crowded: int, depth: int, per_knot: int, segments: list[Segment]) -> None:
    """Append the segments of some knots, cut in two at the middle one while some bucket is crowded."""
    base = 2 if not segments else segments[-1].base + segments[-1].size + 2
    width = float(knots[-1] - knots[0])
    n_buckets = per_knot * len(knots)
    scale = n_buckets / width if width > 0 and np.isfinite(n_buckets / width) else 0.0
    if depth and len(knots) > 2 * crowded:
        cells = np.floor((knots - knots[0]) * scale).astype(np.int64)
        if np.bincount(cells).max() > crowded:
            middle = len(knots) // 2
            _cut(knots[: middle + 1], crowded, depth - 1, per_knot, segments)
            _cut(knots[middle:], crowded, depth - 1, per_knot, segments)
            return
    segments.append(Segment(float(knots[0]), scale, base, n_buckets))


def _searched(segments: Sequence[Segment], x: str, dialect: Dialect) -> str:
    if len(segments) == 1:
        start, scale = dialect.number(segments[0].start), dialect.number(segments[0].scale)
        return f"{segments[0].base} + CAST(FLOOR(({x} - {start}) * {scale}) AS {dialect.whole})"
    middle = len(segments) // 2
    low, high = (_searched(part, x, dialect) for part in (segments[:middle], segments[middle:]))
    return f"CASE WHEN {x} < {dialect.number(segments[middle].start)} THEN {low} ELSE {high} END"
