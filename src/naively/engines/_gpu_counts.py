"""Counts of whole numbers on a GPU: `_kernels/gpu/counts.cu` launched over the rows, and what it gives as counts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from naively._table.device import on_host
from naively.engines._gpu_rows import LARGEST_TABLE_BYTES, DeviceRows, row_major
from naively.statistics._counts import Counts
from naively.statistics._sums import Sum
from naively.statistics.base import Summary
from naively.typing import AnyArray, IntArray


def count_categories(rows: DeviceRows, names: tuple[str, ...], positions: IntArray, summary: Summary) -> Counts | None:  # noqa: ARG001
    """How often each whole number of each column occurs in each class; None where no table of them fits."""
    there = np.flatnonzero(positions >= 0)
    if len(there) == len(positions) > 0:
        bytes_found = _counted_bytes(rows, names, positions)
        if bytes_found is not None:
            return bytes_found
    labels: list[list[Any]] = [[] for _ in names]
    tables = [Sum.zeros((rows.n_classes, 0)) for _ in names]
    if len(there):
        found = _counted_window(rows, positions[there])
        if found is None:
            return None
        for place, (low, table) in zip(there.tolist(), found, strict=True):
            window = range(low, low + table.shape[1])
            truth = rows.table.kind(int(positions[place])) == "truth"
            labels[place] = [bool(value) for value in window] if truth else list(window)
            tables[place] = table
    return Counts.of_tables(names, labels, tables)


Window = list[tuple[int, Sum]]
"""First value and table (classes, values) of each column."""


def _counted_bytes(rows: DeviceRows, names: tuple[str, ...], positions: IntArray) -> Counts | None:
    """Counts of small bytes, four columns to a load; None where the columns are not of that kind."""
    values = rows.table.values
    n_columns = len(positions)
    n_quads = n_columns // 4
    contiguous = values.flags.c_contiguous and n_columns == values.shape[1] and bool((np.diff(positions) == 1).all())
    aligned = values.data.ptr % 4 == 0 and n_columns % 4 == 0 and (n_quads >= 32 or 32 % max(n_quads, 1) == 0)
    if rows.weights is not None or values.dtype != np.uint8 or not (contiguous and aligned):
        return None
    table = _counted_in_pairs(rows, n_quads)
    if table is None:
        table = _counted_by_lanes(rows, n_quads, int(values[:: max(1, rows.n_rows // 4096)].max()) + 1)
    if table is None:
        return None
    counted = rows.as_sum(table).high
    used = np.asarray(counted.any(axis=0))
    found = np.nonzero(used)[1].tolist()
    ends = np.cumsum(used.sum(axis=1)).tolist()
    categories = tuple(tuple(found[begin:end]) for begin, end in pairwise([0, *ends]))
    return Counts(names, categories, Sum(counted[:, used]))


def _counted_in_pairs(rows: DeviceRows, n_quads: int) -> Any:
    """Counts (classes, columns, values), two columns at a time; None where there is no room for the bits of a value.

    To look at the values first would take as long as to count a gigabyte of them.
    """
    import cupy

    room = {bits: 4 * 32 * rows.n_classes * (2 * 4**bits + 4 * 2**bits) for bits in (4, 3, 2, 1)}
    bits, shared = next(((bits, one) for bits, one in room.items() if one <= rows.shared_bytes), (0, 0))
    if not bits:
        return None
    found = cupy.zeros(rows.n_classes * n_quads * 4 * 2**bits + 1, dtype=cupy.uint64)  # the last: some were larger
    count = rows.kernel("counts", "count_byte_pairs", WEIGHTED=0, LANES=1)
    count.max_dynamic_shared_size_bytes = max(shared, 49152)
    n_resident = rows.n_processors * max(1, min(2, rows.shared_bytes // (shared + 1024)))
    sizes = (np.int64(rows.n_rows), np.int32(rows.n_classes), np.int32(bits))
    arguments = (rows.table.values.view(cupy.uint32), np.int32(n_quads), rows.codes, *sizes, found, found[-1:])
    count((n_resident, -(-n_quads // 32)), (1024,), arguments, shared_mem=shared)
    table = on_host(found)
    return None if table[-1] else table[:-1].reshape(rows.n_classes, n_quads * 4, 2**bits)


def _counted_by_lanes(rows: DeviceRows, n_quads: int, size: int) -> Any:
    """Counts (classes, columns, values below `size`), for each lane of a warp; None where there is no room for that."""
    import cupy

    shared = 4 * rows.n_classes * (size + 1) * 128
    if shared > rows.shared_bytes - 1024:
        return None
    table = cupy.zeros((rows.n_classes, n_quads * 4, size + 1), dtype=cupy.uint64)
    count = rows.kernel("counts", "count_bytes", WEIGHTED=0, LANES=1)
    count.max_dynamic_shared_size_bytes = max(shared, 49152)
    n_blocks = rows.n_processors * max(1, min(8, rows.shared_bytes // (shared + 1024)))
    arguments = (rows.table.values.view(cupy.uint32), np.int32(n_quads), rows.codes, np.int64(rows.n_rows))
    sizes = (np.int32(rows.n_classes), np.int32(size))
    count((n_blocks, -(-n_quads // 32)), (256,), (*arguments, *sizes, table), shared_mem=shared)
    found = on_host(table)
    return None if found[:, :, size].any() else found[:, :, :size]  # larger values than the sample has


def _counted_window(rows: DeviceRows, positions: IntArray) -> Window | None:
    """Counts of whole numbers in a window of each column; None where one is too wide or a number has a fraction."""
    import cupy

    low, high, fractions = _whole_bounds(rows, positions)
    sizes = np.where(low > high, 0, high - low + 1)
    if fractions.any() or (sizes < 0).any() or int(sizes.sum() + len(sizes)) * rows.n_classes * 8 > LARGEST_TABLE_BYTES:
        return None
    low = np.where(low > high, 0, low)
    offsets = np.concatenate([[0], np.cumsum(sizes + 1)])
    table = cupy.zeros((rows.n_classes, int(offsets[-1])), dtype=cupy.uint64)
    weighted = int(rows.weights is not None)
    count = rows.kernel("counts", "count_in_memory", WEIGHTED=weighted, LANES=0)
    values, stride = row_major(rows.table.values)
    count(
        (rows.n_blocks,),
        (256,),
        (
            values, stride, rows.columns(positions), np.int32(len(positions)), rows.codes,
            rows.units if weighted else rows.codes, np.int64(rows.n_rows), cupy.asarray(low, dtype=cupy.int64),
            cupy.asarray(sizes, dtype=cupy.int32), cupy.asarray(offsets, dtype=cupy.int64), np.int64(offsets[-1]),
            table,
        ),
    )  # fmt: skip
    counted = rows.as_sum(table)
    starts = zip(low.tolist(), offsets[:-1].tolist(), sizes.tolist(), strict=True)
    return [(first, counted[:, start : start + size]) for first, start, size in starts]


def _whole_bounds(rows: DeviceRows, positions: IntArray) -> tuple[IntArray, IntArray, AnyArray]:
    """The least and largest value of each column, and whether it has one with a fraction."""
    import cupy

    limits = np.iinfo(np.int64)
    least = cupy.full(len(positions), limits.max, dtype=cupy.int64)
    largest = cupy.full(len(positions), limits.min, dtype=cupy.int64)
    fractions = cupy.zeros(len(positions), dtype=cupy.int32)
    find = rows.kernel("counts", "whole_bounds", WEIGHTED=0, LANES=0)
    values, stride = row_major(rows.table.values)
    width = min(len(positions), 128)
    find(
        (rows.n_blocks, -(-len(positions) // width)), (width,),
        (values, stride, rows.columns(positions), np.int32(len(positions)), np.int64(rows.n_rows), least, largest,
         fractions),
    )  # fmt: skip
    return on_host(least), on_host(largest), on_host(fractions).astype(bool)
