"""Counting on a GPU: the kernels of `_kernels/gpu` launched over the rows, and what they give as ordinary statistics.

What is added up with rounding is added in an order that the rows alone decide; all else is added as whole numbers,
whose order means nothing. So the result is the same to the last bit in every run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from naively._kernels.gpu import PAIRS_OF, kernel
from naively._schema import Schema
from naively._table.device import DeviceSparseTable, DeviceTable, on_host
from naively.engines._kept_rows import sample_rows
from naively.engines._rows import Rows
from naively.statistics._counts import Counts
from naively.statistics._histogram import CAP, Histogram, Histograms, within_cap
from naively.statistics._kept_rows import LARGEST_HASH, KeptRows, mixed, places_of_class, text_hash
from naively.statistics._moments import Moments
from naively.statistics._sums import Sum
from naively.statistics.base import Summary
from naively.typing import AnyArray, FloatArray, IntArray

STRIP = 64
"""Columns that a block of `class_moments` adds up at once."""

CHUNK_CELLS = 1 << 28
"""Cells that are converted at once where a family asks for something other than the numbers themselves."""

LARGEST_TABLE_BYTES = 1 << 30
CANCELLED = 1e6
"""Sums are taken once more, about the means, where the mean is so many standard deviations from the anchor."""


@dataclass(frozen=True)
class DeviceRows:
    """Rows on a GPU with their classes and weights.

    Parameters
    ----------
    table : DeviceTable or DeviceSparseTable
    codes : cupy.ndarray of int32
        Each row's position among the classes; negative for rows that are left out.
    weights : cupy.ndarray of float64 or None
    n_classes : int
    exact : bool, default=False
        Whether sums keep what rounding leaves out, as on the host: recipes that weigh evidence decide by their last
        bits, and so weigh alike wherever rows were counted.
    """

    table: Any
    codes: Any
    weights: Any
    n_classes: int
    exact: bool = False

    def kernel(self, source: str, name: str, **options: Any) -> Any:
        """A function of a CUDA source for the cells of the table."""
        return kernel(source, name, self.table.device, **{**self.table.c_type, **options})

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.table.n_rows)

    @cached_property
    def n_blocks(self) -> int:
        """As many blocks as keep the GPU busy, for kernels that stride over the rows."""
        import cupy

        return 16 * int(cupy.cuda.Device(self.table.device).attributes["MultiProcessorCount"])

    @cached_property
    def unit(self) -> float:
        """What a whole unit of weight is worth: a power of two, such that whole weights stay whole and sums fit."""
        total = float(self.weights.sum())
        return 1.0 if total == 0 else 2.0 ** float(np.ceil(np.log2(total)) - 61)

    @cached_property
    def units(self) -> Any:
        """The rows' weights as whole numbers of units; None where each weighs one."""
        import cupy

        return None if self.weights is None else cupy.rint(self.weights / self.unit).astype(cupy.uint64)

    def as_sum(self, counts: Any) -> Sum:
        """Counted units as weights."""
        whole = on_host(counts).astype(np.uint64)
        high = whole.astype(np.float64)
        if self.weights is None:
            return Sum(high)
        rest = (whole - high.astype(np.uint64)).astype(np.int64).astype(np.float64)  # what float64 does not hold
        return Sum.of_parts(high * self.unit, rest * self.unit)

    @cached_property
    def class_weight(self) -> Sum:
        """The weight of each class."""
        import cupy

        weighted = int(self.weights is not None)
        table = cupy.zeros((1 if weighted else 64, self.n_classes), dtype=cupy.uint64)
        count = self.kernel("counts", "count_codes", WEIGHTED=weighted, LANES=0)
        arguments = (
            self.codes,
            self.units if weighted else self.codes,
            np.int64(self.n_rows),
            np.int32(self.n_classes),
        )
        count((self.n_blocks,), (256,), (*arguments, table))
        return self.as_sum(table.sum(axis=0))

    def columns(self, positions: IntArray) -> Any:
        """Positions of columns on the GPU."""
        import cupy

        return cupy.asarray(positions, dtype=cupy.int64)


# -- moments ----------------------------------------------------------------------------------------------------------


def sum_powers(rows: DeviceRows, names: tuple[str, ...], positions: IntArray, summary: Summary) -> Moments | None:
    """The power sums of each column; None where the host must look at the cells: some are refused, or stored NaN."""
    there = positions >= 0
    if _are_refused(rows, positions[there], summary):
        return None
    found = _powers_of(rows, positions[there], summary)
    if found is None or not all(part.is_finite() for part in found):
        return None
    total, square, observed = found
    log = None
    if summary.logs:
        logs = _powers_of(rows, positions[there], summary, logs=True)
        assert logs is not None
        log = _spread(logs[0], there)
    return Moments(
        names,
        _spread(total, there),
        _spread(observed, there) if summary.observed else None,
        _spread(square, there) if summary.squares else None,
        log=log,
    )


def _spread(sums: Sum, there: AnyArray) -> Sum:
    return sums if there.all() else sums.spread((sums.shape[0], len(there)), (slice(None), there))


def _are_refused(rows: DeviceRows, positions: IntArray, summary: Summary) -> bool:
    """Whether there are negative cells where counts belong, or such that have no logarithm."""
    if not (summary.nonnegative or summary.logs):
        return False
    if isinstance(rows.table, DeviceSparseTable):
        return bool((rows.table.matrix.data < 0).any()) or summary.logs
    step = max(1, CHUNK_CELLS // max(len(positions), 1))
    blocks = (_floats(rows.table, slice(start, start + step), positions) for start in range(0, rows.n_rows, step))
    return any(bool(((block <= 0) if summary.logs else (block < 0)).any()) for block in blocks)


def _powers_of(
    rows: DeviceRows, positions: IntArray, summary: Summary, logs: bool = False
) -> tuple[Sum, Sum, Sum] | None:
    """Sums, sums of squares and weight of the known cells, (classes, columns) each."""
    if not len(positions):
        nothing = Sum.zeros((rows.n_classes, 0))
        return nothing, nothing, nothing
    if isinstance(rows.table, DeviceSparseTable):
        return _sparse_powers(rows, positions, summary)
    if not logs and summary.above is None and summary.unlike is None:
        return class_moments(rows, positions)
    step = max(1, CHUNK_CELLS // len(positions))
    parts = [
        class_moments(_answered(rows, slice(start, start + step), positions, summary, logs), np.arange(len(positions)))
        for start in range(0, rows.n_rows, step)
    ]
    first, *others = parts
    for part in others:
        first = tuple(one + another for one, another in zip(first, part, strict=True))  # type: ignore[assignment]
    return first


def _answered(rows: DeviceRows, piece: slice, positions: IntArray, summary: Summary, logs: bool) -> DeviceRows:
    """Some rows with what is asked about their numbers, as numbers: a logarithm, or 0 and 1."""
    import cupy

    block = _floats(rows.table, piece, positions)
    if logs:
        answer = cupy.log(block)
    else:
        if summary.unlike == "counts":
            truth = (block < 0) | (block != cupy.floor(block))
        elif summary.unlike == "binary":
            truth = (block != 0) & (block != 1)
        else:
            truth = block > summary.above
        answer = cupy.where(cupy.isfinite(block), truth, block)
    weights = None if rows.weights is None else rows.weights[piece]
    return DeviceRows(DeviceTable(answer, "cupy"), rows.codes[piece], weights, rows.n_classes, rows.exact)


def _floats(table: DeviceTable, piece: slice, positions: IntArray) -> Any:
    """A block of float64 on the GPU."""
    import cupy

    block = table.values[piece][:, cupy.asarray(positions)]
    if table.bfloat16:
        block = (block.astype(cupy.uint32) << 16).view(cupy.float32)
    return block.astype(cupy.float64)


def class_moments(rows: DeviceRows, positions: IntArray) -> tuple[Sum, Sum, Sum]:
    """Sums, sums of squares and weight of the known cells of each class, about anchors, so that nothing cancels."""
    anchors = first_cells(rows, positions)
    sums, squares, observed = _about(rows, positions, anchors)
    anchor = on_host(anchors)
    with np.errstate(all="ignore"):
        mean = sums.high / observed.high
        scatter = squares.high - sums.high * mean
        far = np.isfinite(mean) & (observed.high * mean**2 > CANCELLED * np.maximum(scatter, 0.0)) & (mean != 0)
    if far.any() and sums.is_finite():
        import cupy

        anchor = np.where(far, anchor + mean, anchor)
        sums, squares, observed = _about(rows, positions, cupy.asarray(anchor))
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = observed * Sum(anchor)
        return sums + shifted, squares + (sums + sums + shifted) * Sum(anchor), observed


FIRST_ROWS = 1 << 20
"""Anchors are looked for among so many rows; a class that comes later has its own in a second reading, if need be."""


def first_cells(rows: DeviceRows, positions: IntArray) -> Any:
    """The cells (classes, columns) of the first row of each class, on the GPU: what the others are compared to."""
    import cupy

    options = _moment_options(rows, positions)[0]
    n_looked_at = min(rows.n_rows, FIRST_ROWS)
    first = cupy.full(rows.n_classes, 2**31 - 1, dtype=cupy.int32)
    find = rows.kernel("moments", "first_rows", **options)
    find((-(-n_looked_at // 256),), (256,), (rows.codes, np.int64(n_looked_at), first))
    values, stride = _row_major(rows.table.values)
    anchors = cupy.empty((rows.n_classes, len(positions)))
    take = rows.kernel("moments", "first_cells", **options)
    sizes = (np.int32(len(positions)), np.int32(rows.n_classes), np.int64(rows.n_rows))
    take((-(-anchors.size // 256),), (256,), (values, stride, rows.columns(positions), *sizes, first, anchors))
    return anchors


def _moment_options(rows: DeviceRows, positions: IntArray) -> tuple[dict[str, Any], int, int]:
    """What the kernel of moments is compiled for; the bytes of shared memory, and the number of blocks, it needs."""
    values, n_classes = rows.table.values, rows.n_classes
    parts = (2 if rows.weights is None else 3) * (2 if rows.exact else 1)
    few = n_classes * parts <= 96
    warps, tile = (8, 4096) if few else (16, 16384 if n_classes > 160 else 32768)
    c_type = rows.table.c_type["TYPE"]
    neighbours = len(positions) % 2 == 0 and bool((positions == np.arange(len(positions))).all())
    row_cells = values.strides[0] // values.itemsize
    aligned = row_cells % 2 == 0 and values.data.ptr % (2 * values.itemsize) == 0
    pairs = int(neighbours and aligned and c_type in PAIRS_OF and values.strides[1] == values.itemsize)
    options = {
        "WARPS": warps,
        "TILE": tile,
        "UNROLL": 8,
        "IN_SHARED": int(few),
        "WEIGHTED": int(rows.weights is not None),
        "PAIRS": pairs,
        "EXACT": int(rows.exact),
        "PAIR": PAIRS_OF.get(c_type, "none"),
    }
    shared = 8 * warps * 2 * parts * STRIP + (8 * n_classes * parts * STRIP if few else 0)
    shared += 4 * (n_classes + 1 + 2 * warps) + 2 * (warps * n_classes + tile)
    n_strips = -(-len(positions) // STRIP)
    n_blocks = max(1, (2 * rows.n_blocks if few else rows.n_blocks // 8) // n_strips)
    return options, shared, min(n_blocks, max(1, -(-rows.n_rows // tile)))


def _about(rows: DeviceRows, positions: IntArray, anchors: Any) -> tuple[Sum, Sum, Sum]:
    """Sums and squares of the distances to anchors (classes, columns), and the weight of the known cells."""
    found, missing = summed_about(rows, positions, anchors)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = Sum.of_parts(*on_host(found))
    if rows.weights is not None:
        return sums[0], sums[1], sums[2]
    present = rows.class_weight.high[:, None] - on_host(missing).astype(np.float64)
    return sums[0], sums[1], Sum(present)


def summed_about(rows: DeviceRows, positions: IntArray, anchors: Any) -> tuple[Any, Any]:
    """High and low parts of the sums (2, sums, classes, columns), and the number of missing cells, on the GPU.

    The sums are those of the distances, of their squares and, where rows have weights, the weight of the known cells.
    """
    import cupy

    options, shared, n_blocks = _moment_options(rows, positions)
    n_sums = 3 if options["WEIGHTED"] else 2
    parts = 2 * n_sums if rows.exact else n_sums
    n_columns, n_classes = len(positions), rows.n_classes
    n_strips = -(-n_columns // STRIP)
    values, stride = _row_major(rows.table.values)
    tiles = -(-rows.n_rows // options["TILE"])
    scratch = cupy.zeros(n_blocks * n_strips * parts * n_classes * STRIP)
    missing = cupy.zeros((n_classes, n_columns), dtype=cupy.uint64)
    add = rows.kernel("moments", "class_moments", **options)
    add.max_dynamic_shared_size_bytes = max(shared, 49152)
    add(
        (n_blocks, n_strips),
        (32 * options["WARPS"],),
        (
            values, stride, rows.columns(positions), np.int32(n_columns), rows.codes,
            rows.codes if rows.weights is None else rows.weights, anchors, np.int64(rows.n_rows), np.int32(n_classes),
            np.int32(-(-tiles // n_blocks)), scratch, missing,
        ),
        shared_mem=shared,
    )  # fmt: skip
    found = cupy.empty((2, n_sums, n_classes, n_columns))
    merge = rows.kernel("moments", "merge_blocks", **options)
    sizes = (n_blocks, n_strips, n_classes, n_columns)
    merge((-(-found[0].size // 8),), (256,), (scratch, *map(np.int32, sizes), found[0], found[1]))
    return found, missing


def _sparse_powers(rows: DeviceRows, positions: IntArray, summary: Summary) -> tuple[Sum, Sum, Sum] | None:
    """The sums of the stored cells of a CSR matrix, as whole numbers of a unit; None where one is NaN or infinite."""
    import cupy

    matrix = rows.table.matrix
    everything = bool((positions == np.arange(matrix.shape[1])).all()) and len(positions) == matrix.shape[1]
    if not everything:
        matrix = matrix[:, cupy.asarray(positions)]
    data = matrix.data
    if summary.above is not None or summary.unlike is not None:
        whole = DeviceTable(data.reshape(-1, 1), "cupy")
        one_row = DeviceRows(whole, rows.codes, None, rows.n_classes)
        data = _answered(one_row, slice(None), np.array([0]), summary, False).table.values.ravel()
    weight = cupy.ones(()) if rows.weights is None else rows.weights.max()
    largest = float(cupy.abs(data).max() * weight) if data.size else 0.0
    whole_numbers = rows.weights is None and bool((data == cupy.rint(data)).all())
    unit = _unit_of(largest, data.size, whole_numbers)
    square_unit = _unit_of(largest * float(cupy.abs(data).max() if data.size else 0.0), data.size, whole_numbers)
    narrow = (
        whole_numbers and largest**2 * data.size < 2**31 and summary.squares is False and largest * data.size < 2**31
    )
    count = "unsigned int" if narrow else "unsigned long long"
    shape = (rows.n_classes, matrix.shape[1])
    sums = cupy.zeros(shape, dtype=cupy.uint32 if narrow else cupy.uint64)
    squares = cupy.zeros(shape if summary.squares else (1, 1), dtype=sums.dtype)
    strange = cupy.zeros(1, dtype=cupy.int32)
    add = kernel(
        "sparse", "sparse_sums", rows.table.device, COUNT=count, SQUARES=int(summary.squares),
        **DeviceTable(data.reshape(1, -1), "cupy").c_type,
    )  # fmt: skip
    add(
        (rows.n_blocks,),
        (256,),
        (
            data, matrix.indices.astype(cupy.int32, copy=False), matrix.indptr.astype(cupy.int64), rows.codes,
            np.intp(0) if rows.weights is None else rows.weights, np.int64(rows.n_rows), np.int32(shape[1]),
            np.float64(1 / unit), np.float64(1 / square_unit), sums, squares, strange,
        ),
    )  # fmt: skip
    if int(strange[0]) == 1:
        return None
    observed = (
        Sum(np.repeat(rows.class_weight.high[:, None], shape[1], axis=1)) if summary.observed else Sum.zeros(shape)
    )
    return _in_units(sums, unit), _in_units(squares, square_unit) if summary.squares else Sum.zeros(shape), observed


def _unit_of(largest: float, n_cells: int, whole: bool) -> float:
    """A power of two of which cells are whole numbers, or nearly so, whose sums fit into 63 bits."""
    if whole or largest == 0:
        return 1.0
    return float(2.0 ** (np.ceil(np.log2(largest)) + np.ceil(np.log2(max(n_cells, 1))) - 61))


def _in_units(sums: Any, unit: float) -> Sum:
    """Whole numbers on the GPU as sums; what float64 cannot hold of them is computed only if there is any."""
    import cupy

    signed = sums.astype(cupy.int64) if sums.dtype == cupy.uint32 else sums.view(cupy.int64)
    high = signed.astype(cupy.float64)
    rest = signed - high.astype(cupy.int64)
    total = _fetched(high * unit)
    return Sum.of_parts(total, _fetched(rest * unit)) if bool(rest.any()) else Sum(total)


def _fetched(values: Any) -> FloatArray:
    """A large array, copied to the host through memory that the GPU reaches directly."""
    import cupyx

    host: FloatArray = cupyx.empty_pinned(values.shape, dtype=values.dtype)
    values.get(out=host)
    return host


# -- counts -----------------------------------------------------------------------------------------------------------


def count_categories(rows: DeviceRows, names: tuple[str, ...], positions: IntArray, summary: Summary) -> Counts | None:  # noqa: ARG001
    """How often each whole number of each column occurs in each class; None where no table of them fits."""
    there = np.flatnonzero(positions >= 0)
    labels: list[list[Any]] = [[] for _ in names]
    tables = [Sum.zeros((rows.n_classes, 0)) for _ in names]
    if len(there):
        found = _counted_bytes(rows, positions[there]) or _counted_window(rows, positions[there])
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


def _counted_bytes(rows: DeviceRows, positions: IntArray) -> Window | None:
    """Counts of small bytes, four columns to a load; None where the columns are not of that kind."""
    import cupy

    values = rows.table.values
    n_columns = len(positions)
    contiguous = values.flags.c_contiguous and n_columns == values.shape[1] and bool((np.diff(positions) == 1).all())
    if rows.weights is not None or values.dtype != np.uint8 or not contiguous or n_columns % 4:
        return None
    n_quads = n_columns // 4
    sample = values[:: max(1, rows.n_rows // 4096)]
    size = int(sample.max()) + 1
    shared = 4 * rows.n_classes * (size + 1) * 128
    if shared > 200_000 or values.data.ptr % 4 or (n_quads < 32 and 32 % n_quads):
        return None
    table = cupy.zeros((rows.n_classes, n_columns, size + 1), dtype=cupy.uint64)
    count = rows.kernel("counts", "count_bytes", WEIGHTED=0, LANES=1)
    count.max_dynamic_shared_size_bytes = max(shared, 49152)
    n_blocks = rows.n_blocks // 16 * max(1, min(8, 220_000 // (shared + 1024)))
    arguments = (values.view(cupy.uint32), np.int32(n_quads), rows.codes, np.int64(rows.n_rows))
    count(
        (n_blocks, -(-n_quads // 32)), (256,), (*arguments, np.int32(rows.n_classes), np.int32(size), table),
        shared_mem=shared,
    )  # fmt: skip
    if bool(table[:, :, size].any()):
        return None  # larger values than the sample has
    counted = rows.as_sum(table)
    return [(0, counted[:, place, :size]) for place in range(n_columns)]


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
    values, stride = _row_major(rows.table.values)
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
    values, stride = _row_major(rows.table.values)
    width = min(len(positions), 128)
    find(
        (rows.n_blocks, -(-len(positions) // width)), (width,),
        (values, stride, rows.columns(positions), np.int32(len(positions)), np.int64(rows.n_rows), least, largest,
         fractions),
    )  # fmt: skip
    return on_host(least), on_host(largest), on_host(fractions).astype(bool)


def _row_major(values: Any) -> tuple[Any, Any]:
    """Cells whose rows are contiguous, and the number of cells from one row to the next."""
    import cupy

    if values.strides[1] != values.itemsize:
        values = cupy.ascontiguousarray(values)
    return values, np.int64(values.strides[0] // values.itemsize)


# -- histograms -------------------------------------------------------------------------------------------------------

SAMPLE_ROWS = 1 << 17
FREE = np.int64(-(2**63))


def count_histograms(rows: DeviceRows, names: tuple[str, ...], positions: IntArray, summary: Summary) -> Histograms:
    """The histogram of each column."""
    cap = summary.most_cells or CAP
    found = [Histogram.empty(rows.n_classes, cap) for _ in names]
    there = np.flatnonzero(positions >= 0)
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
    levels = _first_levels(rows, positions, cap)
    found: dict[int, Histogram] = {}
    left = np.arange(len(positions))
    while len(left):
        slots, counts, occupied = _filled(rows, positions[left], levels[left], n_slots)
        full = occupied > _most(n_slots)
        for place, (keys, cells) in enumerate(_sorted_cells(slots, counts, rows)):
            if not full[place]:
                level = int(levels[left[place]])
                found[int(left[place])] = within_cap(level, keys, cells, cap)
        left = left[full]
        levels[left] += 1
    return [found[place] for place in range(len(positions))]


def _most(n_slots: int) -> int:
    return 3 * n_slots // 4


def _first_levels(rows: DeviceRows, positions: IntArray, cap: int) -> IntArray:
    """The finest level on which a sample of each column has at most `cap` cells: all rows have no fewer."""
    import cupy

    piece = slice(None, None, max(1, rows.n_rows // SAMPLE_ROWS))
    numbers = _floats(rows.table, piece, positions)
    bits = cupy.ascontiguousarray(numbers.T).view(cupy.int64)
    keys = bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))
    keys = cupy.where(cupy.isnan(numbers.T) | (rows.codes[piece] < 0), FREE, keys + (keys == -1))
    keys = cupy.sort(keys, axis=1)
    differing = (keys[:, 1:] ^ keys[:, :-1]).view(cupy.uint64)
    differing[keys[:, :-1] == FREE] = 0
    length = cupy.ElementwiseKernel("uint64 x", "int32 n", "n = 64 - __clzll((long long)x)", "bit_length")(differing)
    length = cupy.sort(length, axis=1)
    n_equal = on_host((length == 0).sum(axis=1))
    n_pairs = int(length.shape[1])
    excess = (n_pairs - n_equal) + 1 - cap
    place = np.clip(n_equal + excess - 1, 0, max(n_pairs - 1, 0))
    chosen = on_host(length[cupy.arange(len(positions)), cupy.asarray(place)]) if n_pairs else np.zeros(len(positions))
    return np.where(excess > 0, chosen, 0).astype(np.int64)


def _filled(rows: DeviceRows, positions: IntArray, levels: IntArray, n_slots: int) -> tuple[Any, Any, AnyArray]:
    """The hash table of each column: keys (columns, slots), counts (columns, slots, classes), occupied slots."""
    import cupy

    narrow = rows.weights is None and rows.n_rows < 2**32
    slots = cupy.full((len(positions), n_slots), FREE, dtype=cupy.int64)
    counts = cupy.zeros((len(positions), n_slots, rows.n_classes), dtype=cupy.uint32 if narrow else cupy.uint64)
    occupied = cupy.zeros(len(positions), dtype=cupy.int32)
    weighted = int(rows.weights is not None)
    n_groups = -(-len(positions) // 8)
    count = rows.kernel(
        "histogram", "count_cells", WEIGHTED=weighted, COUNT="unsigned int" if narrow else "unsigned long long"
    )
    values, stride = _row_major(rows.table.values)
    count(
        (rows.n_blocks // 2 * n_groups,),
        (256,),
        (
            values, stride, rows.columns(positions), np.int32(len(positions)), rows.codes,
            rows.units if weighted else rows.codes, np.int64(rows.n_rows), np.int32(rows.n_classes),
            cupy.asarray(levels, dtype=cupy.int32), np.int32(n_slots), np.int32(64 - int(np.log2(n_slots))),
            np.int32(_most(n_slots)), slots, counts, occupied,
        ),
    )  # fmt: skip
    return slots, counts, on_host(occupied)


def _sorted_cells(slots: Any, counts: Any, rows: DeviceRows) -> list[tuple[IntArray, FloatArray]]:
    """The keys of each column, ascending, and their counts (classes, cells)."""
    import cupy

    column, slot = cupy.nonzero(slots != FREE)
    keys = slots[column, slot]
    order = cupy.lexsort(cupy.stack([keys, column]))
    all_keys = on_host(keys[order])
    cells = rows.as_sum(counts[column[order], slot[order]]).high
    bounds = np.concatenate([[0], np.cumsum(on_host((slots != FREE).sum(axis=1)))])
    pairs = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    return [(all_keys[start:stop], np.ascontiguousarray(cells[start:stop].T)) for start, stop in pairs]


# -- kept rows --------------------------------------------------------------------------------------------------------


def keep_rows(rows: DeviceRows, schema: Schema, positions: IntArray | None, capacity: int) -> KeptRows:
    """The kept rows: those that may be among them by their hash go to the host, which chooses."""
    there = np.arange(len(schema.names)) if positions is None else positions
    candidates = _candidates(rows, _hashes(rows, schema, there), capacity)
    table = rows.table.host_rows(candidates)
    codes = on_host(rows.codes[candidates]).astype(np.int64)
    weights = None if rows.weights is None else on_host(rows.weights[candidates])
    chosen = Rows(table, codes, weights, Sum.zeros(rows.n_classes), 1)
    return sample_rows(chosen, schema, positions, capacity)


def _hashes(rows: DeviceRows, schema: Schema, there: IntArray) -> Any:
    import cupy

    hashes = cupy.zeros(rows.n_rows, dtype=cupy.uint64)
    known = np.flatnonzero(there >= 0)
    with np.errstate(over="ignore"):
        salts = mixed(np.array([text_hash(schema.names[place]) for place in known], dtype=np.uint64))
    values, stride = _row_major(rows.table.values)
    add = rows.kernel("rows", "row_hashes")
    add(
        (rows.n_blocks,), (256,),
        (values, stride, rows.columns(there[known]), np.int32(len(known)), cupy.asarray(salts), np.int64(rows.n_rows),
         hashes),
    )  # fmt: skip
    return hashes


def _candidates(rows: DeviceRows, hashes: Any, capacity: int) -> Any:
    """Rows whose hashes are so small that the kept ones are among them, and enough more to set the thresholds."""
    n_of_class = DeviceRows(rows.table, rows.codes, None, rows.n_classes).class_weight.high
    n_known = int(n_of_class.sum())
    wanted = places_of_class(capacity, int(np.count_nonzero(n_of_class))) + 1
    factor = 1.2
    while True:
        limit = _hash_limit(factor * (capacity + 1) / max(n_known, 1))
        of_class = [max(limit, _hash_limit(factor * wanted / max(int(n), 1))) for n in n_of_class.tolist()]
        limits = np.array(of_class, dtype=np.uint64)
        found = _below(rows, hashes, limits)
        if _are_enough(rows, hashes, found, limit, limits, capacity, wanted):
            return found
        factor *= 4


def _hash_limit(share: float) -> int:
    """The hash below which such a share of the rows is expected, with room for chance."""
    return LARGEST_HASH if share >= 0.5 else int(share * 1.15 * 2.0**64)


def _below(rows: DeviceRows, hashes: Any, limits: AnyArray) -> Any:
    """The rows whose hash is no larger than the limit of their class, ascending."""
    import cupy

    most = 1 << 20
    while True:
        n_found, found = cupy.zeros(1, dtype=cupy.int32), cupy.empty(most, dtype=cupy.int64)
        select = rows.kernel("rows", "below_limits")
        arguments = (hashes, rows.codes, cupy.asarray(limits), np.int64(rows.n_rows), np.int32(most))
        select((rows.n_blocks,), (256,), (*arguments, n_found, found))
        n = int(n_found[0])
        if n <= most:
            return cupy.sort(found[:n])
        most = 1 << int(np.ceil(np.log2(n)))


def _are_enough(
    rows: DeviceRows, hashes: Any, found: Any, limit: int, limits: AnyArray, capacity: int, wanted: int
) -> bool:
    """Whether there are more distinct rows below the limits than places, or all rows are below."""
    chosen, codes = on_host(hashes[found]), on_host(rows.codes[found])
    below = np.unique(chosen[chosen <= np.uint64(limit)])
    if limit < LARGEST_HASH and len(below) <= capacity:
        return False
    pairs = np.unique(np.stack([codes.astype(np.uint64), chosen]), axis=1)[0].astype(np.int64)
    n_distinct = np.bincount(pairs, minlength=rows.n_classes)
    return bool(((n_distinct >= wanted) | (limits == np.uint64(LARGEST_HASH))).all())
