"""Histograms of numeric columns: a few neighbouring columns and many rows at a time, as memory is read in lines."""

from __future__ import annotations

from naively.engines._rows import Rows
from naively.engines._threads import in_order
from naively.statistics._histogram import CAP, Histogram, Histograms
from naively.statistics.base import Summary
from naively.typing import IntArray

CHUNK_ROWS = 1 << 18
COLUMNS_AT_ONCE = 8


def count_histograms(rows: Rows, names: tuple[str, ...], positions: IntArray, summary: Summary) -> Histograms:
    """The histogram of each column."""
    cap = summary.most_cells or CAP
    groups = [positions[start : start + COLUMNS_AT_ONCE] for start in range(0, len(positions), COLUMNS_AT_ONCE)]
    tasks = [(group, chunk) for chunk in rows.chunks(CHUNK_ROWS) for group in groups]

    def count(task: tuple[IntArray, slice]) -> list[Histogram]:
        group, chunk = task
        columns = rows.table.numbers_by_column(group, chunk)
        weights = None if rows.weights is None else rows.weights[chunk]
        return [Histogram.of(values, rows.codes[chunk], rows.n_classes, weights, cap) for values in columns]

    found: list[Histogram] = []
    merged: list[Histogram] = []
    for counted in in_order(count, tasks, rows.n_threads):
        found.extend(counted)
        if len(found) == len(names):
            merged = [old + new for old, new in zip(merged, found, strict=True)] if merged else found
            found = []
    return Histograms(names, tuple(merged), rows.n_classes)
