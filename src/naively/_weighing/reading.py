"""From a model's statistics to the sources of evidence: which family reads which columns, and how it is smoothed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from naively._schema import Schema
from naively._scoring.model import grouped, statistics_of
from naively._weighing.calendar import part_columns
from naively._weighing.sources import LabelColumn, LabelColumns, NumberColumns, NumericColumn, ProseColumn, Source
from naively._weighing.text import TextColumn
from naively.errors import ParameterError
from naively.families import Categorical, Date, Family, Stacked, Text
from naively.families._categorical import LabelTables
from naively.smoothing import Smoothing, StackedMEstimate
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
    sources: list[Source] = []
    labels: list[Labels] = [None] * len(readable)
    for family, smoothing, members in grouped(families, smoothings):
        columns = tuple(column_of[position] for position in members)
        known = statistics_of(schema, family, members, statistics)
        if isinstance(family, Stacked):
            sources.extend(_stacked(family, columns, *known))
        elif isinstance(family, Date):
            sources.extend(_dates(family, smoothing, columns, labels, known, statistics.class_weight.high))
        elif isinstance(family, Text):
            sources.extend(_prose(family, columns, known))
        elif isinstance(family, Categorical) and isinstance(smoothing, StackedMEstimate):
            sources.extend(_labels(family, columns, labels, known[0]))
        else:
            weights = statistics.class_weight.high
            sources.append(_of_family(family, smoothing, columns, labels, known, weights))
    return sorted(sources, key=lambda source: source.columns[0]), labels


def _stacked(
    family: Stacked, columns: Sequence[int], moments: ColumnStatistics, histograms: ColumnStatistics
) -> list[Source]:
    assert isinstance(moments, Moments)
    assert isinstance(histograms, Histograms)
    weight, mean, scatter = centred(moments)
    found: list[Source] = []
    for place, (column, histogram) in enumerate(zip(columns, histograms.histograms, strict=True)):
        exact = (weight[:, place], mean[:, place], scatter[:, place])
        few = histogram.within(cells_within(len(columns), histogram.n_classes))
        found.append(NumericColumn(column, few, exact, family.densities, monotone=family.monotone))
    return found


def cells_within(n_columns: int, n_classes: int) -> int:
    """The number of cells that each column of numbers may have."""
    of_column = max(FEW_CELLS, MOST_CELLS // max(n_columns, 1))
    return min(of_column, max(LEAST_CELLS, MOST_TABLE // max(n_classes, 1)))


def _dates(
    family: Date,
    smoothing: Smoothing,
    columns: tuple[int, ...],
    labels: list[Labels],
    known: Sequence[ColumnStatistics],
    class_weights: FloatArray,
) -> list[Source]:
    """The trend of dates, read as any numbers, and their other parts, each with a weight of its own."""
    *of_trend, calendar = known
    assert isinstance(calendar, Calendar)
    parts = part_columns(family, smoothing, columns, calendar)
    if not of_trend:
        return parts
    assert family.trend is not None
    if isinstance(family.trend, Stacked):
        return [*_stacked(family.trend, columns, *of_trend), *parts]
    return [_of_family(family.trend, smoothing, columns, labels, of_trend, class_weights), *parts]


def _prose(family: Text, columns: Sequence[int], known: Sequence[ColumnStatistics]) -> list[Source]:
    views: list[Tokens] = [one for one in known if isinstance(one, Tokens)]
    return [
        ProseColumn(
            column, TextColumn(family.views, tuple(view.tables[place].frequent(family.min_count) for view in views))
        )
        for place, column in enumerate(columns)
    ]


def _labels(
    family: Categorical, columns: Sequence[int], labels: list[Labels], counts: ColumnStatistics
) -> list[Source]:
    assert isinstance(counts, Counts)
    declared = family.with_known(counts)
    for place, column in enumerate(columns):
        labels[column] = declared.categories[place]
    return [LabelColumn(column, declared.table(place).high) for place, column in enumerate(columns)]


def _of_family(
    family: Family,
    smoothing: Smoothing,
    columns: tuple[int, ...],
    labels: list[Labels],
    known: Sequence[ColumnStatistics],
    class_weights: FloatArray,
) -> Source:
    """Columns as their family estimates them, with the smoothing that was asked for."""
    estimate = family.estimate(*known, smoothing=smoothing)
    left_out = family.leave_one_out(*known, smoothing=smoothing)
    observed = np.stack([_observed(known, place, class_weights) for place in range(len(columns))])
    if isinstance(estimate, LabelTables):
        for column, values in zip(columns, estimate.categories, strict=True):
            labels[column] = values
        return LabelColumns(columns, observed, family, estimate, left_out)
    if estimate.reads != "numbers":
        raise ParameterError(
            f"A recipe that weighs evidence cannot read columns with {family!r}: it weighs families of numbers, of "
            "labels and of texts. Use recipe='textbook' for this family."
        )
    return NumberColumns(columns, observed, family, estimate, left_out)


def _observed(known: Sequence[ColumnStatistics], place: int, class_weights: FloatArray) -> FloatArray:
    """The weight (classes,) of the known cells of a column; of all rows where the statistics do not tell."""
    told = (one.observed_weight(place) for one in known)
    return next((weight for weight in told if weight is not None), class_weights)
