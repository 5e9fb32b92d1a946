"""Histograms on a GPU: `_kernels/gpu/histogram.cu` launched over the rows, and what it gives as histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._table.device import on_host
from naively.engines._gpu_rows import LARGEST_TABLE_BYTES, DeviceRows, fetched, row_major
from naively.statistics._histogram import CAP, Histogram, Histograms
from naively.statistics.base import Summary
from naively.typing import AnyArray, IntArray

SAMPLE_ROWS = 1 << 17
"""Levels and windows are chosen by about so many rows."""

SAMPLE_COLUMNS = 64
"""Columns whose sample is sorted at once: six bits of a key say which."""

FREE = np.int64(-(2**63))
GROUP = 8
"""Columns that a block counts."""

WINDOW = np.dtype(
    [("low", "i8", 2), ("exact", "u8"), ("size", "i4", 2), ("shift", "i4"), ("level", "i4")]
)  # fmt: skip
"""As histogram.cu has it: the cells that nearly all numbers of a column fall into."""


def count_histograms(rows: DeviceRows, names: tuple[str, ...], positions: IntArray, summary: Summary) -> Histograms:
    """The histogram of each column."""
    cap = summary.most_cells or CAP
    found = [Histogram.empty(rows.n_classes, cap) for _ in names]
    there = np.flatnonzero(positions >= 0) if rows.n_rows else np.empty(0, dtype=np.int64)
    n_slots = 1 << int(np.ceil(np.log2(4 * cap)))
    counter_bytes = 4 if rows.weights is None and rows.n_rows < 2**32 else 8
    step = max(1, LARGEST_TABLE_BYTES // (n_slots * (8 + counter_bytes * rows.n_classes)))
    for start in range(0, len(there), step):
        chosen = there[start : start + step]
        for place, one in zip(chosen.tolist(), _histograms_of(rows, positions[chosen], cap, n_slots), strict=True):
            found[place] = one
    return Histograms(names, tuple(found), rows.n_classes)


def _histograms_of(rows: DeviceRows, positions: IntArray, cap: int, n_slots: int) -> list[Histogram]:
    """The histograms of some columns: those whose cells are too many for their table are counted on a coarser level."""
    windows = _windows(rows, positions, cap)
    found: dict[int, Histogram] = {}
    left = np.arange(len(positions))
    while len(left):
        table, slots, counts, occupied = _filled(rows, positions[left], windows[left], n_slots)
        full = occupied > _most(n_slots)
        cells = _sorted_cells(table, slots, counts, windows[left])
        for place, histogram in enumerate(_within_cap(*cells, windows["level"][left], cap, rows)):
            if not full[place]:
                found[int(left[place])] = histogram
        left = left[full]
        windows["level"][left] += 1
        windows["size"][left] = 0  # by their keys alone: a window is one of its level
    return [found[place] for place in range(len(positions))]


def _most(n_slots: int) -> int:
    return 3 * n_slots // 4


def _windows(rows: DeviceRows, positions: IntArray, cap: int) -> AnyArray:
    """The level and the window of each column, by a sample: on a finer level even that has more cells than `cap`."""
    import cupy

    step = max(1, rows.n_rows // SAMPLE_ROWS)
    n_sampled = -(-rows.n_rows // step)
    narrow = rows.weights is None and rows.n_rows < 2**32
    most = (rows.shared_bytes // (4 * GROUP)) if narrow else 0
    values, stride = row_major(rows.table.values)
    options = _options(rows)
    found = []
    for start in range(0, len(positions), SAMPLE_COLUMNS):
        chosen = positions[start : start + SAMPLE_COLUMNS]
        keys = cupy.empty(n_sampled * len(chosen), dtype=cupy.uint64)
        take = rows.kernel("histogram", "sample_keys", **options)
        where = (rows.columns(chosen), np.int32(len(chosen)), rows.codes, np.int64(step), np.int32(n_sampled))
        take((-(-keys.size // 256),), (256,), (values, stride, *where, keys))
        keys.sort()
        windows = cupy.zeros(len(chosen) * WINDOW.itemsize, dtype=cupy.uint8)
        find = rows.kernel("histogram", "find_windows", **options)
        find((len(chosen),), (512,), (keys, np.int32(n_sampled), np.int32(cap), np.int32(most), windows))
        found.append(on_host(windows).view(WINDOW))
    return np.concatenate(found)


def _options(rows: DeviceRows) -> dict[str, Any]:
    narrow = rows.weights is None and rows.n_rows < 2**32
    return {
        "WEIGHTED": int(rows.weights is not None),
        "COUNT": "unsigned int" if narrow else "unsigned long long",
        "ROW": rows.row_type,
    }


def _filled(rows: DeviceRows, positions: IntArray, windows: AnyArray, n_slots: int) -> tuple[Any, Any, Any, AnyArray]:
    """What was counted of each column.

    Counts (columns, classes, cells) of the windows; the hash tables of what is outside, keys (columns, slots) and
    counts (columns, slots, classes); and their occupied slots (columns,), on the host.
    """
    import cupy

    options, n_columns = _options(rows), len(positions)
    counter = cupy.uint32 if options["COUNT"] == "unsigned int" else cupy.uint64
    sizes = windows["size"].sum(axis=1)
    width = int(sizes.max(initial=0)) + 1 if sizes.any() else 0
    table = cupy.zeros((n_columns, rows.n_classes, width), dtype=cupy.uint32)
    slots = cupy.full((n_columns, n_slots), FREE, dtype=cupy.int64)
    counts = cupy.zeros((n_columns, n_slots, rows.n_classes), dtype=counter)
    occupied = cupy.zeros(n_columns, dtype=cupy.int32)
    order, begins = rows.by_class
    values, stride = row_major(rows.table.values)
    shared, n_groups = 4 * GROUP * width, -(-n_columns // GROUP)
    n_resident = rows.n_processors * max(1, min(2, rows.shared_bytes // (shared + 1024)))
    count = rows.kernel("histogram", "count_cells", **options)
    count.max_dynamic_shared_size_bytes = max(shared, 49152)
    count(
        (max(1, n_resident // n_groups) * n_groups,),
        (512,),
        (
            values, stride, rows.columns(positions), np.int32(n_columns), order, begins,
            rows.codes if rows.weights is None else rows.units, np.int32(rows.n_classes),
            cupy.asarray(windows.view(np.uint8)), np.int32(width), table, np.int32(n_slots),
            np.int32(64 - int(np.log2(n_slots))), np.int32(_most(n_slots)), slots, counts, occupied,
        ),
        shared_mem=shared,
    )  # fmt: skip
    return table, slots, counts, on_host(occupied)


def _sorted_cells(table: Any, slots: Any, counts: Any, windows: AnyArray) -> tuple[Any, Any, Any]:
    """Columns and keys of all cells, ascending, and their counts (cells, classes), on the GPU."""
    import cupy

    outside, slot = cupy.nonzero(slots != FREE)
    inside, cell = cupy.nonzero(table.any(axis=1))
    keys = cupy.concatenate([slots[outside, slot], _keys_of(inside, cell, windows)])
    column = cupy.concatenate([outside, inside])
    cells = cupy.concatenate([counts[outside, slot], table.transpose(0, 2, 1)[inside, cell].astype(counts.dtype)])
    order = cupy.lexsort(cupy.stack([keys, column]))
    return column[order], keys[order], cells[order]


def _keys_of(column: Any, cell: Any, windows: AnyArray) -> Any:
    """The keys of cells of windows."""
    import cupy

    low, size = cupy.asarray(windows["low"]), cupy.asarray(windows["size"].astype(np.int64))
    shift = cupy.asarray((windows["shift"] - windows["level"]).astype(np.int64))
    above = cell - 1
    below = above - size[column, 0]
    positive = (low[column, 0] + above) << shift[column]
    negative = ~((low[column, 1] + below) << shift[column])
    return cupy.where(cell == 0, 0, cupy.where(below < 0, positive, negative))


def _within_cap(column: Any, keys: Any, cells: Any, levels: IntArray, cap: int, rows: DeviceRows) -> list[Histogram]:
    """Histograms of sorted cells, each on the finest level on which at most `cap` cells are occupied.

    Keys that come twice (of zero, and of what is as near to it as to share its key) become one.
    """
    import cupy

    if not len(keys):
        return [Histogram.empty(rows.n_classes, cap) for _ in levels]
    n_columns, n_bits = len(levels), 65
    begins_column = cupy.ones(len(keys), dtype=bool)
    begins_column[1:] = column[1:] != column[:-1]
    length = cupy.zeros(len(keys), dtype=cupy.int64)  # of the bits in which a key differs from the one before
    length[1:] = cupy.ElementwiseKernel("uint64 x", "int64 n", "n = 64 - __clzll((long long)x)", "bit_length")(
        (keys[1:] ^ keys[:-1]).view(cupy.uint64)
    )
    length[begins_column] = n_bits - 1  # it has a cell of its own on every level
    n_of_length = on_host(cupy.bincount(column * n_bits + length, minlength=n_columns * n_bits))
    n_longer = np.cumsum(n_of_length.reshape(n_columns, n_bits)[:, ::-1], axis=1)[:, ::-1]  # or as long
    coarser = np.argmax(np.concatenate([n_longer[:, 1:] <= cap, np.ones((n_columns, 1), bool)], axis=1), axis=1)
    first = length > cupy.asarray(coarser)[column]
    place = cupy.flatnonzero(first)
    summed = cupy.zeros((len(place), rows.n_classes), dtype=cupy.uint64)
    cupy.add.at(summed, cupy.cumsum(first) - 1, cells.astype(cupy.uint64))  # whole numbers: in any order
    kept, of_column = on_host((keys >> cupy.asarray(coarser)[column])[place]), column[place]
    bounds = np.searchsorted(on_host(of_column), np.arange(n_columns + 1))
    n = rows.n_classes
    counts = fetched(_column_by_column(summed.astype(cupy.float64) * rows.unit, of_column, bounds))
    return [
        Histogram(int(level), kept[start:stop], counts[n * start : n * stop].reshape(n, stop - start), cap)
        for level, start, stop in zip(levels + coarser, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]


def _column_by_column(counts: Any, column: Any, bounds: IntArray) -> Any:
    """Counts (cells, classes) as those of one column after the other, each (classes, cells): slices need no copying."""
    import cupy

    n_cells, n_classes = counts.shape
    start = cupy.asarray(bounds[:-1])[column]
    size = cupy.asarray(np.diff(bounds))[column]
    first = n_classes * start + cupy.arange(n_cells) - start
    found = cupy.empty(counts.size)
    found[first[:, None] + size[:, None] * cupy.arange(n_classes)] = counts
    return found
