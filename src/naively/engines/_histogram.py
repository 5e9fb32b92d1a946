"""Histograms of numeric columns: a few neighbouring columns and many rows at a time, as memory is read in lines."""

from __future__ import annotations

from collections.abc import Sequence

from naively.engines._rows import Rows
from naively.engines._threads import in_order
from naively.statistics._histogram import CAP, SAMPLE_ROWS, Histogram, Histograms, level_of_first
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray

CHUNK_ROWS = 1 << 18
COLUMNS_AT_ONCE = 8


def count_histograms(rows: Rows, names: tuple[str, ...], positions: IntArray, summary: Summary) -> Histograms:
    """The histogram of each column."""
    cap = summary.most_cells or CAP
    groups = [slice(start, start + COLUMNS_AT_ONCE) for start in range(0, len(positions), COLUMNS_AT_ONCE)]
    tasks = [(group, chunk) for chunk in rows.chunks(CHUNK_ROWS) for group in groups]

    def read(group: slice, chunk: slice) -> tuple[Sequence[FloatArray], IntArray, FloatArray | None]:
        weights = None if rows.weights is None else rows.weights[chunk]
        return rows.table.numbers_by_column(positions[group], chunk), rows.codes[chunk], weights

    def first_levels(group: slice) -> list[int]:
        columns, codes, weights = read(group, slice(0, SAMPLE_ROWS))
        return [level_of_first(values, codes, weights, cap) for values in columns]

    levels: list[int | None] = [None] * len(names)
    if len(tasks) > len(groups):  # chunks will be added to the first: none need be finer than its first rows
        levels = [level for found in in_order(first_levels, groups, rows.n_threads) for level in found]

    def count(task: tuple[slice, slice]) -> list[Histogram]:
        columns, codes, weights = read(*task)
        return [
            Histogram.of(values, codes, rows.n_classes, weights, cap, level)
            for values, level in zip(columns, levels[task[0]], strict=True)
        ]

    found: list[Histogram] = []
    merged: list[Histogram] = []
    for counted in in_order(count, tasks, rows.n_threads):
        found.extend(counted)
        if len(found) == len(names):
            merged = [old + new for old, new in zip(merged, found, strict=True)] if merged else found
            found = []
    return Histograms(names, tuple(merged), rows.n_classes)
