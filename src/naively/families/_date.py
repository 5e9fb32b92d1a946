"""Dates and times of day, part by part: a trend, and the months, weekdays and hours that go round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from naively._common.checks import some_of
from naively._table.dates import written
from naively._table.table import NO_INTEGER, Kind
from naively.errors import ParameterError, brief
from naively.families import _information
from naively.families._categorical import Categorical
from naively.families._gaussian import Gaussian
from naively.families._uncertainty import Uncertain, independent, looked_up
from naively.families.base import Count, Estimate, EvidenceReader, Family, Gap, LeftOut, Parameters
from naively.smoothing import Smoothing
from naively.statistics._calendar import N_CELLS, NAMES, Calendar, cells_of, part_of
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray

TREND = "trend"
PARTS = (TREND, *NAMES)
FIRST = {"month": 1, "weekday": 1, "hour": 0}
"""What January, Monday and the hour after midnight are called in the tables for other programs."""

TREND_POINTS = 5
"""How many dates show the trend in a table of what a column says."""

NO_DENSITY = "adds up what the parts of a date say, which is no density of dates"


@dataclass(frozen=True)
class Date(Family):
    """Dates, with or without a time, and times of day, as evidence of their parts, which adds up.

    Columns of dates and of times of day are read so unless they are given another family. Texts in ISO 8601 are, where
    they are given this one: ``families={"when": "date"}``.

    Parameters
    ----------
    parts : tuple of str, default=("trend", "month", "weekday", "hour")
        Which parts say something: "trend" (the date as a number of seconds), "month", "weekday" and "hour". A part that
        is the same in all rows says nothing, so a date without a time has no hour; a time of day has the hour alone.
        Leave out the trend of a model that is to answer for dates far beyond those that it has learnt.
    trend : Family, optional
        How the trend is read; by default as the recipe reads numbers, which is a normal density in "textbook".

    Notes
    -----
    Dates are read by the clock on the wall: of a column with a time zone, hour, weekday and month are those that it
    shows in its zone, and the trend counts by the same clock. Give columns of one zone to `fit` and to `predict`.

    In the recipes that weigh evidence each part has a weight of its own, as a column has: parts that say the same are
    not counted twice. In "textbook" they count in full.

    Durations are numbers, of seconds, and not read by this family.

    Examples
    --------
    >>> from datetime import datetime
    >>> from naively import NaiveBayes
    >>> calls = [datetime(2024, 1, day, hour) for day in range(1, 29) for hour in (9, 20)]
    >>> model = NaiveBayes("textbook").fit({"call": calls}, ["work", "home"] * 28)
    >>> model.predict([{"call": datetime(2024, 2, 5, 9, 30)}, {"call": datetime(2024, 2, 5, 20, 15)}]).tolist()
    ['work', 'home']
    >>> model.families_["call"].parts
    ('trend', 'month', 'weekday', 'hour')
    """

    reads_dates: ClassVar[bool] = True
    is_distribution: ClassVar[bool] = False
    accepts: ClassVar[tuple[Kind, ...]] = ("date", "time", "label", "text", "empty")

    parts: tuple[str, ...] = PARTS
    trend: Family | None = None

    def __post_init__(self) -> None:
        parts = some_of("Date(parts)", self.parts, PARTS)
        if not isinstance(self.parts, str) and len(parts) < len(tuple(self.parts)):
            raise ParameterError(f"Date(parts) must be some of {PARTS}, each once, got {brief(self.parts)}.")
        object.__setattr__(self, "parts", parts)
        if self.trend is not None and not (isinstance(self.trend, Family) and _reads_dates(self.trend)):
            raise ParameterError(
                "Date(trend) must be a family of numbers of either sign, each by itself, such as Gaussian() or "
                f"Stacked(), got {brief(self.trend)}."
            )

    def for_column(self, kind: Kind, numeric: Family | None = None) -> Family:
        """The family with the parts that the column can have, and a trend as `numeric` reads it."""
        parts = ("hour",) if kind == "time" else self.parts
        if self.trend is not None:
            return replace(self, parts=parts)
        fits = numeric is not None and _reads_dates(numeric)
        return replace(self, parts=parts, trend=numeric if fits else Gaussian())

    @property
    def leaves_out_exactly(self) -> bool:  # type: ignore[override]
        """Whether the trend does; the parts do."""
        return TREND not in self.parts or self._trend.leaves_out_exactly

    @property
    def _trend(self) -> Family:
        return Gaussian() if self.trend is None else self.trend

    @property
    def cyclic(self) -> tuple[str, ...]:
        """The parts that go round."""
        return tuple(part for part in self.parts if part != TREND)

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (*(self._trend.summaries if TREND in self.parts else ()), Summary("calendar"))

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, *tables: Any, smoothing: Smoothing) -> DateEstimate:
        """The trend as its family has it, and the probability of each value of the other parts."""
        calendar: Calendar = tables[-1]
        n_classes, n_columns = calendar.cells.shape[:2]
        said = np.zeros((n_columns, n_classes, N_CELLS))
        for part in self.cyclic:
            counts = calendar.counts(part)
            found = Categorical().estimate(counts, smoothing=smoothing)
            for place, values in enumerate(counts.categories):
                said[place][:, cells_of(part).start + np.array(values, dtype=np.int64)] = found.tables[place][:, :-2]
        trend = self._trend.estimate(*tables[:-1], smoothing=smoothing) if TREND in self.parts else None
        return DateEstimate(self.parts, trend, tuple(said), np.zeros((n_classes, n_columns)))

    def in_tables(self) -> Family:
        """The family with a trend whose parameters are few."""
        return replace(self, trend=self._trend.in_tables())

    def takes_smoothing(self, weighed: bool) -> bool:
        """Whether its estimates have pseudo-counts: the values of its parts have."""
        return bool(self.cyclic)

    def weighed_by(self, reader: EvidenceReader, *statistics: Any, smoothing: Any) -> None:
        """The trend as its family gives it, and the other parts as labels, each with a weight of its own."""
        if TREND in self.parts:
            self._trend.weighed_by(reader, *statistics[:-1], smoothing=smoothing)
        reader.of_parts(self.cyclic, TREND not in self.parts, statistics[-1], smoothing)

    def with_parts(self, estimate: Any, parts: tuple[FloatArray, ...], missing: FloatArray) -> Estimate:
        return DateEstimate(self.parts, estimate, parts, missing)

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, *tables: Any, smoothing: Smoothing) -> LeftOut:
        """The trend as its family leaves a row out, and the counts of the other parts without the row."""
        trend = self._trend.leave_one_out(*tables[:-1], smoothing=smoothing) if TREND in self.parts else None
        left_out = {
            part: Categorical().leave_one_out(tables[-1].counts(part), smoothing=smoothing) for part in self.cyclic
        }
        n_classes = tables[-1].cells.shape[0]

        def evidence(block: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
            result = np.zeros((*block.shape, n_classes))
            if trend is not None:
                result += trend.evidence(block, codes, weights)
            for part, without in left_out.items():
                places = part_of(block, part)
                result += without.evidence(np.where(places < 0, NO_INTEGER, places), codes, weights)
            return result

        return LeftOut("numbers", evidence)

    # -- Questions ------------------------------------------------------------------------------------------------

    distribution: ClassVar[Any] = Gap(NO_DENSITY)

    def n_parameters(self, estimate: Any, n_classes: int, n_columns: int) -> Parameters:
        """The parameters of the trend, and the probability of every value of the other parts."""
        stored, free = 0, 0
        if TREND in self.parts:
            stored, free = self._trend.n_parameters(estimate.trend, n_classes, n_columns).numbers
        for table in estimate.tables:
            sizes = [int(table[:, cells_of(part)].any(axis=0).sum()) for part in self.cyclic]
            of_parts = Parameters.of_values(n_classes, sizes).numbers
            stored, free = stored + of_parts.stored, free + of_parts.free
        return Parameters(Count(stored, free))

    def uncertain(self, estimate: Any, tables: Any, smoothing: Smoothing, block: FloatArray) -> Uncertain:
        """The trend under the posterior of its family, and a Dirichlet one of the values of each other part."""
        n_classes = tables[-1].cells.shape[0]
        mean, variance = np.zeros((2, len(block), n_classes))
        for part in self.cyclic:
            counts = tables[-1].counts(part)
            index = [np.array([*_places(values, part), -1], dtype=np.int64) for values in counts.categories]
            places = np.stack([own[part_of(cells, part)] for own, cells in zip(index, block.T, strict=True)], axis=1)
            of_part = looked_up(Categorical().cells(counts), counts.categories, smoothing, places)
            mean, variance = mean + of_part[0], variance + of_part[1]
        parts = independent(mean, variance)
        if TREND not in self.parts:
            return parts
        trend = self._trend.uncertain(estimate.trend, tables[:-1], smoothing, block)
        return Uncertain(trend.mean + mean, lambda weights: trend.variance(weights) + parts.variance(weights))

    def cells(self, *tables: Any) -> list[FloatArray]:
        """The counts of the part of each column that tells most of the class; of the trend, if it can be counted."""
        parts = [Categorical().cells(tables[-1].counts(part)) for part in self.cyclic]
        of_trend = self._trend.cells(*tables[:-1]) if TREND in self.parts else None
        candidates = parts if of_trend is None else [of_trend, *parts]
        n_classes = tables[-1].cells.shape[0]
        nothing = np.zeros((n_classes, 1))
        return [max(some, key=_net_information) if some else nothing for some in zip(*candidates, strict=True)] or [
            nothing for _ in tables[-1].columns
        ]

    def information(self, *tables: Any) -> FloatArray:
        """The bits of the part that has most; all together have no less."""
        found = _information.information(self, tables)
        return np.maximum(found, self._trend.information(*tables[:-1])) if TREND in self.parts else found


def _reads_dates(family: Family) -> bool:
    """Whether a family can read a trend: numbers of either sign, each column by itself."""
    refuses = any(summary.nonnegative or summary.logs or summary.members for summary in family.summaries)
    alone = not (family.together or family.one_term or family.shares_weight or family.log_base is not None)
    return "number" in family.accepts and "label" not in family.accepts and alone and not refuses


def _places(values: Sequence[Any], part: str) -> list[int]:
    """Where each value of a part stands among those that occurred; -1 where it does not."""
    return [values.index(value) if value in values else -1 for value in range(len(NAMES[part]))]


def _net_information(counts: FloatArray) -> float:
    """The bits that a table has on the class beyond what chance gives it."""
    from naively.statistics._information import information_by_chance, mutual_information

    return float(mutual_information(counts) - information_by_chance(counts))


# -- Evidence -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DateEstimate(Estimate):
    """What dates say, as the sum of what their parts say.

    Parameters
    ----------
    parts : tuple of str
        Those that say something.
    trend : Estimate or None
        Of the dates as numbers of seconds.
    tables : tuple of ndarray (classes, cells)
        What each month, weekday and hour of a column says; 0 where it never occurred.
    missing : ndarray (classes, columns)
        What a missing cell says.
    """

    reads: ClassVar[str] = "numbers"

    parts: tuple[str, ...]
    trend: Estimate | None
    tables: tuple[FloatArray, ...]
    missing: FloatArray

    def evidence(self, block: FloatArray) -> FloatArray:
        """The sum of the parts."""
        result = sum(self._by_part(block).values(), np.zeros((*block.shape, len(self.missing))))
        return np.where(np.isnan(block)[:, :, None], self.missing.T, result)

    def _by_part(self, block: FloatArray) -> dict[str, FloatArray]:
        """What each part of known dates says, (rows, columns, classes)."""
        found = {} if self.trend is None else {TREND: self.trend.evidence(block)}
        for part in self.parts:
            if part == TREND:
                continue
            places = part_of(block, part)
            said = [table[:, cells_of(part)][:, own].T for table, own in zip(self.tables, places.T, strict=True)]
            found[part] = np.where((places < 0)[:, :, None], 0.0, np.stack(said, axis=1))
        return found

    def describe(self) -> dict[str, Any]:
        """The parameters of the trend, and what each value of the other parts says."""
        described = {} if self.trend is None else dict(self.trend.describe())
        for part in self.parts:
            if part != TREND:
                described[part] = [self._values(table, part) for table in self.tables]
        return described

    def tabled(self) -> dict[str, Any]:
        """The parameters of the trend, and the probability of each value of the other parts."""
        trend = {} if self.trend is None else dict(self.trend.tabled())
        parts = {part: [self._values(table, part) for table in self.tables] for part in self.parts if part != TREND}
        return trend | {
            part: [{name: np.exp(said) for name, said in values.items()} for values in by_column]
            for part, by_column in parts.items()
        }

    def _values(self, table: FloatArray, part: str) -> dict[str, FloatArray]:
        said = table[:, cells_of(part)]
        return {name: said[:, place] for place, name in enumerate(NAMES[part]) if said[:, place].any()}

    # -- Questions ------------------------------------------------------------------------------------------------

    def as_table(self) -> list[dict[str, Any]]:
        """The table of the trend, and the values of the other parts as labels."""
        trends = [None] * len(self.tables) if self.trend is None else self.trend.as_table()
        return [
            {"kind": "date", "parts": self._part_tables(table, trend), "missing": missing}
            for table, trend, missing in zip(self.tables, trends, self.missing.T, strict=True)
        ]

    def _part_tables(self, table: FloatArray, trend: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
        found = {} if trend is None else {TREND: trend}
        for part in self.parts:
            said = table[:, cells_of(part)] if part != TREND else np.empty(0)
            if said.any():
                places = np.flatnonzero(said.any(axis=0))
                unknown = np.zeros(len(said))
                values = (places + FIRST[part]).tolist()
                found[part] = {"kind": "labels", "values": values, "evidence": said[:, places], "unknown": unknown}
        return found

    @property
    def kind(self) -> str:
        return "part"

    def points(self, place: int, n_points: int) -> list[Any]:
        """The values of the parts that say something, and some dates for the trend."""
        found = [f"{part} {name}" for part in NAMES for name in self._values(self.tables[place], part)]
        if self.trend is None:
            return found
        dates = self.trend.points(place, min(n_points, TREND_POINTS))
        return [*found, *(f"{TREND} {written(float(np.floor(date)), 'date')}" for date in dates)]

    def tabulated(self, place: int, points: Sequence[Any], n_columns: int) -> FloatArray:
        """What each part says by itself; a date that is not known and says nothing; a missing cell."""
        said = np.zeros((len(points) + 2, len(self.missing)))
        for row, point in enumerate(points):
            part, _, value = str(point).partition(" ")
            if part == TREND and self.trend is not None:
                block = np.full((1, n_columns), np.nan)
                block[0, place] = np.datetime64(value.replace(" ", "T"), "s").astype(np.int64)
                said[row] = self.trend.evidence(block)[0, place]
            else:
                said[row] = self.tables[place][:, cells_of(part).start + NAMES[part].index(value)]
        said[-1] = self.missing[:, place]
        return said

    def token_evidence(self, place: int, seconds: float) -> tuple[list[str], FloatArray]:
        """The parts of a known date in the column at a place, and what each says, (parts, classes)."""
        block = np.full((1, len(self.tables)), np.nan)
        block[0, place] = seconds
        found = self._by_part(block)
        return [_named(part, seconds) for part in found], np.stack([said[0, place] for said in found.values()])


def _named(part: str, seconds: float) -> str:
    """A part of a date as people say it."""
    value = written(seconds, "date") if part == TREND else NAMES[part][int(part_of(np.array([seconds]), part)[0])]
    return f"{part} {value}"
