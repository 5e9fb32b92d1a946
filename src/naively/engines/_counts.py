"""Counts of the values of categorical columns.

Columns of whole numbers close together are counted as they are, all at once, in a window of a flat table; any other
column by its labels, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from naively._kernels import frozen, reference, repays_compiler, with_reference
from naively._table.table import NOT_WHOLE, ArrayTable
from naively.engines._rows import CHUNK_ROWS, REFERENCE_CHUNK_ROWS, Rows
from naively.engines._threads import in_order
from naively.errors import InputError
from naively.statistics._counts import Counts
from naively.statistics._sums import Sum
from naively.statistics.base import Summary
from naively.typing import AnyArray, IntArray, Label

LARGEST_TABLE_BYTES = 4 << 30
LARGEST_WINDOW_BYTES = 64 << 20
LEAST_COLUMNS, MOST_CLASS_COLUMNS = 6, 1 << 11
"""From so many columns of bytes below 16 on, and up to so many of all classes, counting 16 rows at a time pays."""

BYTE_VALUES = 256
COUNTED_TYPES = (np.uint8, np.int64)
"""Whole numbers of these types are counted where they are."""

ENCODED_AT_ONCE = 16
"""So many columns are encoded at a time: what is held of them is bounded."""

LIMITS = np.iinfo(np.int64)


def count_categories(
    rows: Rows,
    names: tuple[str, ...],
    positions: IntArray,
    summary: Summary,  # noqa: ARG001
) -> Counts:
    """How often each value of each column occurs in each class."""
    labels: list[list[Label]] = [[] for _ in names]
    tables = [Sum.zeros((rows.n_classes, 0)) for _ in names]
    kinds = ["empty" if position < 0 else rows.table.kind(position) for position in positions.tolist()]
    numeric = [place for place, kind in enumerate(kinds) if kind in ("number", "truth")]
    by_label = [place for place, kind in enumerate(kinds) if kind in ("label", "text", "date", "time", "mixed")]
    if numeric:
        low, size, found = _windowed(rows, positions[numeric])
        for place, first, width, table in zip(numeric, low.tolist(), size.tolist(), found, strict=True):
            if table is None:
                by_label.append(place)
                continue
            window = range(first, first + width)
            labels[place] = [bool(value) for value in window] if kinds[place] == "truth" else list(window)
            tables[place] = table
    for start in range(0, len(by_label), ENCODED_AT_ONCE):
        group = by_label[start : start + ENCODED_AT_ONCE]
        for place, (column_labels, table) in zip(group, _labelled(rows, positions[group].tolist()), strict=True):
            labels[place], tables[place] = column_labels, table
    return Counts.of_tables(names, labels, tables)


# -- whole numbers --------------------------------------------------------------------------------------------------


@with_reference
def _windowed(rows: Rows, positions: IntArray) -> tuple[IntArray, IntArray, list[Sum | None]]:
    """First value, number of values and table (classes, values) of each column; None where no window fits."""
    chosen = rows.all_or(positions)
    n_columns = len(positions)
    room = LARGEST_WINDOW_BYTES // (8 * rows.n_classes * n_columns)
    first_rows = next(rows.blocks(slice(0, rows.table.n_rows), n_columns))
    least, largest = _bounds(rows, chosen, first_rows)
    if first_rows.stop < rows.table.n_rows and least.min() >= 0 and largest.max() < BYTE_VALUES <= room:
        # Codes are usually small: guess so, and save the pass that finds their range.
        low, size = np.zeros(n_columns, dtype=np.int64), np.full(n_columns, BYTE_VALUES)
        if rows.weights is None and repays_compiler(rows.table.n_rows * n_columns):
            tables, outside = _counted_bytes(rows, chosen, n_columns, int(largest.max()))
        else:
            tables, outside = _counted(rows, chosen, low, size)
        if not outside:
            return low, size, list(tables)
    least, largest = _all_bounds(rows, chosen, n_columns)
    room = min(4 * rows.table.n_rows + 1024, room)
    # Python integers: the difference of two int64 may not fit one.
    fits = np.array([0 <= int(top) - int(bottom) < room for bottom, top in zip(least, largest, strict=True)])
    low, size = np.where(fits, least, 0), np.where(fits, largest, -1) + 1
    size = np.where(fits, size - low, 0)
    found: list[Sum | None] = [None] * n_columns
    if fits.any():
        tables, _ = _counted(rows, rows.all_or(positions[fits]), low[fits], size[fits])
        for place, table in zip(np.flatnonzero(fits).tolist(), tables, strict=True):
            found[place] = table
    return low, size, found


def _all_bounds(rows: Rows, positions: IntArray | None, n_columns: int) -> tuple[IntArray, IntArray]:
    """The least and largest value of each column."""

    def of_chunk(chunk: slice) -> tuple[IntArray, IntArray]:
        return _widest([_bounds(rows, positions, piece) for piece in rows.blocks(chunk, n_columns)])

    return _widest(list(in_order(of_chunk, rows.chunks(CHUNK_ROWS), rows.n_threads)))


def _widest(bounds: list[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    return np.min([least for least, _ in bounds], axis=0), np.max([largest for _, largest in bounds], axis=0)


def _bounds(rows: Rows, positions: IntArray | None, piece: slice) -> tuple[IntArray, IntArray]:
    """The least and largest value of some rows; the whole int64 range for a column with a fraction."""
    block = rows.table.integers(positions, piece)
    least, largest = block.min(axis=0), block.max(axis=0)
    if (least <= NOT_WHOLE).any():
        none = block <= NOT_WHOLE
        least = np.where(none, LIMITS.max, block).min(axis=0)
        largest = np.where(none, LIMITS.min, block).max(axis=0)
        fraction = (block == NOT_WHOLE).any(axis=0)
        least[fraction], largest[fraction] = LIMITS.min, LIMITS.max
    return least, largest


def _counted(rows: Rows, positions: IntArray | None, low: IntArray, size: IntArray) -> tuple[list[Sum], bool]:
    """One table (classes, size) per column, and whether any cell was missing or outside its window."""
    offset = np.concatenate([[0], np.cumsum(size + 1)[:-1]]).astype(np.int64)
    cells = _value_sums(rows, lambda piece: rows.table.integers(positions, piece), low, size, offset, rows.n_threads)
    tables = [cells[:, start : start + width] for start, width in zip(offset.tolist(), size.tolist(), strict=True)]
    return tables, bool(cells.high[:, offset + size].any())


def _counted_bytes(
    rows: Rows, positions: IntArray | None, n_columns: int, largest_of_first: int
) -> tuple[list[Sum], bool]:
    """Counts of bytes, where every window is 0 ... 255."""
    from naively._kernels.counts import count_bytes, count_small
    from naively._kernels.nibble_strips import VALUES

    width = BYTE_VALUES + 1
    as_they_are = isinstance(rows.table, ArrayTable) and positions is None and rows.table.values.dtype in COUNTED_TYPES
    small = as_they_are and rows.table.values.dtype == np.uint8 and largest_of_first < VALUES  # type: ignore[attr-defined]
    small &= n_columns >= LEAST_COLUMNS and rows.n_classes * n_columns <= MOST_CLASS_COLUMNS

    def of_chunk(chunk: slice) -> IntArray:
        counts = np.zeros((rows.n_classes, n_columns * width), dtype=np.int64)
        if small and count_small(frozen(rows.table.values[chunk]), frozen(rows.codes[chunk]), width, counts):  # type: ignore[attr-defined]
            return counts
        counts[:] = 0
        for piece in rows.blocks(chunk, n_columns):
            block = rows.table.values[piece] if as_they_are else rows.table.integers(positions, piece)  # type: ignore[attr-defined]
            count_bytes(frozen(block), frozen(rows.codes[piece]), width, counts)
        return counts

    total = np.zeros((rows.n_classes, n_columns * width), dtype=np.int64)
    for part in in_order(of_chunk, rows.chunks(CHUNK_ROWS), rows.n_threads):
        total += part
    cells = Sum(total.astype(np.float64).reshape(rows.n_classes, n_columns, width))
    return [cells[:, place, :-1] for place in range(n_columns)], bool(total[:, width - 1 :: width].any())


# -- labels ---------------------------------------------------------------------------------------------------------


Coded = tuple[IntArray, list[Label]]
"""The codes of a column, in integers of any width, and the labels that they stand for."""


def _labelled(rows: Rows, positions: list[int]) -> list[tuple[list[Label], Sum]]:
    """The labels of some columns and their tables (classes, labels)."""
    coded = list(in_order(rows.table.coded, positions, rows.n_threads))
    room = LARGEST_WINDOW_BYTES // (8 * rows.n_classes * len(coded))
    small = [place for place, (_, labels) in enumerate(coded) if len(labels) < min(BYTE_VALUES, room)]
    large = [place for place in range(len(coded)) if place not in small]
    tables = dict(zip(small, _tables_of_few(rows, [coded[place] for place in small]), strict=True))
    counted = in_order(lambda place: _table_of_many(rows, positions[place], coded[place]), large, rows.n_threads)
    tables.update(zip(large, counted, strict=True))
    return [(labels, tables[place]) for place, (_, labels) in enumerate(coded)]


def _tables_of_few(rows: Rows, coded: list[Coded]) -> list[Sum]:
    """The tables of columns whose codes fit a byte, which are counted together."""
    if not coded:
        return []
    width = max(len(labels) for _, labels in coded) + 1

    def read(piece: slice) -> AnyArray:
        block = np.empty((len(coded), piece.stop - piece.start), dtype=np.uint8)
        for cells, (codes, _) in zip(block, coded, strict=True):
            np.copyto(cells, codes[piece], casting="unsafe")  # the code of the missing becomes the largest byte
        return block.T

    zeros = np.zeros(len(coded), dtype=np.int64)
    offset = width * np.arange(len(coded))
    cells = _value_sums(rows, read, zeros, zeros + (width - 1), offset, rows.n_threads)
    return [cells[:, start : start + len(labels)] for start, (_, labels) in zip(offset.tolist(), coded, strict=True)]


def _table_of_many(rows: Rows, position: int, coded: Coded) -> Sum:
    """The table of one column."""
    codes, labels = coded
    need = 8 * rows.n_classes * (len(labels) + 1)
    if need > LARGEST_TABLE_BYTES:
        raise InputError(
            f"Column {rows.table.names[position]!r} has {len(labels):,} values and y has {rows.n_classes:,} classes: "
            f"their table would take {need / 2**30:.0f} GiB. Drop the column, group its rare values, or read it as "
            "another family."
        )
    size, zero = np.array([len(labels)], dtype=np.int64), np.zeros(1, dtype=np.int64)
    cells = _value_sums(
        rows, lambda piece: codes[piece, None].astype(np.int64, copy=False), zero, size, zero, n_threads=1
    )
    return cells[:, : len(labels)]


# -- both -----------------------------------------------------------------------------------------------------------


@with_reference
def _value_sums(
    rows: Rows,
    read: Callable[[slice], AnyArray],
    low: IntArray,
    size: IntArray,
    offset: IntArray,
    n_threads: int,
) -> Sum:
    """The weight of every value, and in each column's last cell of the missing and outside, per class."""
    shape = (rows.n_classes, int((size + 1).sum()))
    compiled = repays_compiler(rows.table.n_rows * len(low))
    chunk_rows = max(CHUNK_ROWS, shape[0] * shape[1]) if compiled else REFERENCE_CHUNK_ROWS
    of_chunk = _compiled_sums if compiled else _reference_sums
    parts = in_order(
        lambda chunk: of_chunk(rows, chunk, read, (low, size, offset), shape), rows.chunks(chunk_rows), n_threads
    )
    result = Sum.zeros(shape)
    for part in parts:
        result = result + part
    return result


Layout = tuple[IntArray, IntArray, IntArray]
"""First value, number of values and first cell of each column."""


def _reference_sums(
    rows: Rows, chunk: slice, read: Callable[[slice], AnyArray], layout: Layout, shape: tuple[int, int]
) -> Sum:
    if rows.weights is not None:
        return reference.value_weights(read(chunk), rows.codes[chunk], rows.weights[chunk], *layout, shape)
    counts = np.zeros(shape, dtype=np.int64)
    reference.count_values(read(chunk), rows.codes[chunk], *layout, counts)
    return Sum(counts.astype(np.float64))


def _compiled_sums(
    rows: Rows, chunk: slice, read: Callable[[slice], AnyArray], layout: Layout, shape: tuple[int, int]
) -> Sum:
    from naively._kernels.counts import add_value_weights, count_bytes, count_values

    if rows.weights is None:
        counts = np.zeros(shape, dtype=np.int64)
        for piece in rows.blocks(chunk, len(layout[0])):
            block, codes = read(piece), frozen(rows.codes[piece])
            if block.dtype == np.uint8:  # columns side by side, with equal windows
                block.setflags(write=False)
                count_bytes(block, codes, int(layout[1][0]) + 1, counts)
            else:
                count_values(frozen(block), codes, *layout, counts)
        return Sum(counts.astype(np.float64))
    total, total_low = np.zeros(shape), np.zeros(shape)
    for piece in rows.blocks(chunk, len(layout[0])):
        block, weights = read(piece).astype(np.int64, copy=False), frozen(rows.weights[piece])
        add_value_weights(frozen(block), frozen(rows.codes[piece]), weights, *layout, total, total_low)
    return Sum.of_parts(total, total_low)
