"""Counts of the months, weekdays and hours of columns of dates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from naively.engines._rows import CHUNK_ROWS, Rows
from naively.engines._threads import in_order
from naively.statistics._calendar import N_CELLS, NAMES, Calendar, cells_of, part_of
from naively.statistics._sums import Sum, sum_by_code
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray


def count_calendars(rows: Rows, names: tuple[str, ...], positions: IntArray, summary: Summary) -> Calendar:
    """How often each month, weekday and hour of each column occurs in each class."""
    total = Calendar.empty(summary, names, rows.n_classes)

    def count(chunk: slice) -> Calendar:
        columns = rows.table.numbers_by_column(positions, chunk)
        weights = None if rows.weights is None else rows.weights[chunk]
        return Calendar(names, _cells(columns, rows.codes[chunk], weights, rows.n_classes))

    for counted in in_order(count, rows.chunks(CHUNK_ROWS), rows.n_threads):
        total = total + counted
    return total


def _cells(columns: Sequence[FloatArray], codes: IntArray, weights: FloatArray | None, n_classes: int) -> Sum:
    """The weight of each cell, (classes, columns, cells)."""
    of_columns, each = [], np.ones(len(codes)) if weights is None else weights
    for seconds in columns:
        of_parts = []
        for part in NAMES:
            n_values = cells_of(part).stop - cells_of(part).start
            place = part_of(seconds, part)
            cells = np.where((place >= 0) & (codes >= 0), codes * n_values + place, -1)
            of_parts.append(sum_by_code(cells, each, n_classes * n_values).reshaped((n_classes, 1, n_values)))
        of_columns.append(Sum.concatenated(of_parts, axis=2))
    return Sum.concatenated(of_columns, axis=1) if of_columns else Sum.zeros((n_classes, 0, N_CELLS))
