"""From a model's statistics to the sources of evidence: which family reads which columns, and how it is smoothed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from naively._model.schema import Schema
from naively._scoring.model import grouped, statistics_of
from naively._weighing.calendar import part_columns
from naively._weighing.sources import (
    LabelColumn,
    LabelColumns,
    NumberColumns,
    NumericColumn,
    PlainColumns,
    ProseColumn,
    Source,
)
from naively._weighing.text import TextColumn
from naively.errors import ParameterError
from naively.families import Family
from naively.families._stacked import DENSITIES
from naively.smoothing import Smoothing
from naively.statistics._calendar import Calendar
from naively.statistics._counts import Counts
from naively.statistics._histogram import Histograms
from naively.statistics._moments import Moments, centred
from naively.statistics._statistics import ColumnStatistics, Statistics
from naively.statistics._tokens import Tokens
from naively.typing import FloatArray, Label

Labels = tuple[Label, ...] | None

MOST_TABLE = 1 << 17
"""With many classes a column of numbers has fewer cells, so that a density's table of classes by cells is bounded."""

LEAST_CELLS = 64

MOST_CELLS = 1 << 19
"""Columns of numbers have so many cells together, or `FEW_CELLS` each: with very many columns none is read finely."""

FEW_CELLS = 256

MANY_COLUMNS = 256
"""Beyond so many columns of numbers they are read by three densities of few parameters, many columns at once: what very
many columns fit to chance adds up."""

COLUMNS_AT_ONCE = 64
"""So many columns of two classes are then read at once, fewer of more classes: their arrays hold a few megabytes."""


def read_sources(
    schema: Schema,
    families: Sequence[Family | None],
    smoothings: Sequence[Smoothing],
    statistics: Statistics,
    readable: Sequence[int],
) -> tuple[list[Source], list[Labels]]:
    """The sources of evidence in the order of their first columns, and the labels of each column (None: not labels).

    Columns are counted among those that have a family, at the positions `readable` of the schema.
    """
    column_of = {position: column for column, position in enumerate(readable)}
    reader = SourceReader([None] * len(readable), statistics.class_weight.high)
    for family, smoothing, members in grouped(families, smoothings):
        reader.columns = tuple(column_of[position] for position in members)
        family.weighed_by(reader, *statistics_of(schema, family, members, statistics), smoothing=smoothing)
    return sorted(reader.sources, key=lambda source: source.columns[0]), reader.labels


@dataclass
class SourceReader:
    """Collects the sources of evidence that families give of their columns.

    Parameters
    ----------
    labels : list
        The labels of each column, None where it has none: they are filled in.
    class_weights : ndarray (classes,)
    columns : tuple of int
        Those that the next family reads.
    sources : list of Source
        What was found.
    """

    labels: list[Labels]
    class_weights: FloatArray
    columns: tuple[int, ...] = ()
    sources: list[Source] = field(default_factory=list)

    def of_densities(
        self, densities: tuple[str, ...], moments: Moments, histograms: Histograms, monotone: int = 0
    ) -> None:
        """Columns of numbers that say what a mixture of densities does, monotone if need be."""
        weight, mean, scatter = centred(moments)
        cap = cells_within(len(self.columns), histograms.n_classes)
        few = tuple(histogram.within(cap) for histogram in histograms.histograms)
        if len(self.columns) > MANY_COLUMNS and densities == DENSITIES and not monotone:
            step = max(1, 2 * COLUMNS_AT_ONCE // histograms.n_classes)
            for start in range(0, len(few), step):
                part = slice(start, start + step)
                exact = (weight.T[part], mean.T[part], scatter.T[part])
                self.sources.append(PlainColumns(self.columns[part], few[part], exact, np.ones(len(weight))))
            return
        for place, (column, histogram) in enumerate(zip(self.columns, few, strict=True)):
            exact = (weight[:, place], mean[:, place], scatter[:, place])
            self.sources.append(NumericColumn(column, histogram, exact, densities, monotone=monotone))

    def of_parts(self, parts: Sequence[str], first: bool, calendar: Calendar, smoothing: Smoothing) -> None:
        """Columns of dates, of which months, weekdays and hours are labels; `first` tells that a cell is known."""
        self.sources.extend(part_columns(parts, first, smoothing, self.columns, calendar))

    def of_tokens(self, views: Any, tokens: Sequence[Tokens], min_count: float) -> None:
        """Columns of texts, with the tokens of each view that occur so often."""
        for place, column in enumerate(self.columns):
            frequent = tuple(view.tables[place].frequent(min_count) for view in tokens)
            self.sources.append(ProseColumn(column, TextColumn(views, frequent)))

    def of_counts(self, counts: Counts) -> None:
        """Columns of labels, whose counts of all values are smoothed towards those of all classes."""
        for place, column in enumerate(self.columns):
            self.labels[column] = counts.categories[place]
            self.sources.append(LabelColumn(column, counts.table(place).high))

    def of_estimate(self, family: Family, statistics: Sequence[ColumnStatistics], smoothing: Smoothing) -> None:
        """Columns as their family estimates them, with the smoothing that was asked for."""
        estimate: Any = family.estimate(*statistics, smoothing=smoothing)
        left_out = family.leave_one_out(*statistics, smoothing=smoothing)
        observed = [_observed(statistics, place, self.class_weights) for place in range(len(self.columns))]
        parts = (self.columns, np.stack(observed), family, estimate, left_out)
        if estimate.reads == "codes":
            for column, values in zip(self.columns, estimate.categories, strict=True):
                self.labels[column] = values
            self.sources.append(LabelColumns(*parts))
        elif estimate.reads == "numbers":
            self.sources.append(NumberColumns(*parts))
        else:
            raise ParameterError(
                f"A recipe that weighs evidence cannot read columns with {family!r}: it weighs families of numbers, of "
                "labels and of texts. Use recipe='textbook' for this family."
            )


def cells_within(n_columns: int, n_classes: int) -> int:
    """The number of cells that each column of numbers may have."""
    of_column = max(FEW_CELLS, MOST_CELLS // max(n_columns, 1))
    return min(of_column, max(LEAST_CELLS, MOST_TABLE // max(n_classes, 1)))


def _observed(known: Sequence[ColumnStatistics], place: int, class_weights: FloatArray) -> FloatArray:
    """The weight (classes,) of the known cells of a column; of all rows where the statistics do not tell."""
    told = (one.observed_weight(place) for one in known)
    return next((weight for weight in told if weight is not None), class_weights)
