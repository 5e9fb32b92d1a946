"""Sums and sums of squares on a GPU: `_kernels/gpu/moments.cu` launched over the rows, and what it gives as moments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from naively._table.device import DeviceSparseTable, DeviceTable, on_host
from naively.engines._gpu_rows import DeviceRows, answers, floats, row_major
from naively.engines._gpu_sparse import small_sums, sparse_powers
from naively.statistics._moments import Moments
from naively.statistics._sums import Sum
from naively.statistics.base import Summary
from naively.typing import AnyArray, IntArray

STRIP = 64
"""Columns that a block of `class_moments` adds up at once."""

CHUNK_CELLS = 1 << 28
"""Cells that are converted at once where a family asks for something other than the numbers themselves."""

CANCELLED = 1e6
"""Sums are taken once more, about the means, where the mean is so many standard deviations from the anchor."""


def sum_powers(rows: DeviceRows, names: tuple[str, ...], positions: IntArray, summary: Summary) -> Moments | None:
    """The power sums of each column; None where the host must look at the cells: some are refused, or stored NaN."""
    there = positions >= 0
    if isinstance(rows.table, DeviceSparseTable):
        small = small_sums(rows, positions[there], summary)
        if small is not None:
            return Moments(names, _spread(small, there), _observed(rows, there) if summary.observed else None)
    elif shape_of(rows) is None:
        return None
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


def _observed(rows: DeviceRows, there: AnyArray) -> Sum:
    """The weight of the known cells of CSR rows, which are all of them."""
    return _spread(Sum(np.repeat(rows.class_weight.high[:, None], np.count_nonzero(there), axis=1)), there)


def _spread(sums: Sum, there: AnyArray) -> Sum:
    return sums if there.all() else sums.spread((sums.shape[0], len(there)), (slice(None), there))


def _are_refused(rows: DeviceRows, positions: IntArray, summary: Summary) -> bool:
    """Whether there are negative cells where counts belong, or such that have no logarithm."""
    if not (summary.nonnegative or summary.logs):
        return False
    if isinstance(rows.table, DeviceSparseTable):
        return bool((rows.table.matrix.data < 0).any()) or summary.logs
    step = max(1, CHUNK_CELLS // max(len(positions), 1))
    blocks = (floats(rows.table, slice(start, start + step), positions) for start in range(0, rows.n_rows, step))
    return any(bool(((block <= 0) if summary.logs else (block < 0)).any()) for block in blocks)


def _powers_of(
    rows: DeviceRows, positions: IntArray, summary: Summary, logs: bool = False
) -> tuple[Sum, Sum, Sum] | None:
    """Sums, sums of squares and weight of the known cells, (classes, columns) each."""
    if not len(positions):
        nothing = Sum.zeros((rows.n_classes, 0))
        return nothing, nothing, nothing
    if isinstance(rows.table, DeviceSparseTable):
        return sparse_powers(rows, positions, summary)
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
    """Some rows with what is asked about their numbers, as numbers."""
    answer = answers(floats(rows.table, piece, positions), summary, logs)
    weights = None if rows.weights is None else rows.weights[piece]
    return DeviceRows(DeviceTable(answer, "cupy"), rows.codes[piece], weights, rows.n_classes, rows.exact)


def class_moments(rows: DeviceRows, positions: IntArray) -> tuple[Sum, Sum, Sum]:
    """Sums, sums of squares and weight of the known cells of each class, about anchors, so that nothing cancels."""
    anchors, missing = first_cells(rows, positions)
    sums, squares, observed = _about(rows, positions, anchors, missing)
    anchor = on_host(anchors)
    with np.errstate(all="ignore"):
        mean = sums.high / observed.high
        scatter = squares.high - sums.high * mean
        far = np.isfinite(mean) & (observed.high * mean**2 > CANCELLED * np.maximum(scatter, 0.0)) & (mean != 0)
    if far.any() and sums.is_finite():
        import cupy

        anchor = np.where(far, anchor + mean, anchor)
        sums, squares, observed = _about(rows, positions, cupy.asarray(anchor), cupy.zeros_like(missing))
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = observed * Sum(anchor)
        return sums + shifted, squares + (sums + sums + shifted) * Sum(anchor), observed


LOOKED_AT = 1 << 16
"""Anchors are looked for among so many rows; a class that none of them has gets its own in a second reading."""


def first_cells(rows: DeviceRows, positions: IntArray) -> tuple[Any, Any]:
    """The cells (classes, columns) of a row of each class: what others are compared to; and as many zeros."""
    import cupy

    shape = shape_of(rows)
    assert shape is not None
    step = max(1, rows.n_rows // LOOKED_AT)
    values, stride = row_major(rows.table.values)
    options = _moment_options(rows, values, positions, shape)
    anchors = cupy.empty((rows.n_classes, len(positions)))
    missing = cupy.empty(anchors.shape, dtype=cupy.uint64)
    take = rows.kernel("moments", "first_cells", **options)
    take.max_dynamic_shared_size_bytes = max(4 * rows.n_classes, 49152)
    sizes = (np.int64(step), np.int32(-(-rows.n_rows // step)), np.int32(rows.n_classes))
    take(
        (min(rows.n_processors, -(-anchors.size // 1024)),),
        (1024,),
        (
            values, stride, _columns(rows, positions, options), np.int32(len(positions)), rows.codes, *sizes, anchors,
            missing,
        ),
        shared_mem=4 * rows.n_classes,
    )  # fmt: skip
    return anchors, missing


def _columns(rows: DeviceRows, positions: IntArray, options: dict[str, Any]) -> Any:
    """Positions on the GPU, where they are looked up."""
    return rows.codes if options["NEIGHBOURS"] else rows.columns(positions)


class Shape(NamedTuple):
    """How `class_moments` goes about the rows.

    Parameters
    ----------
    warps : int
        Of a block.
    tile : int
        The rows that a block sorts at once: the more classes, the more rows, so that those of a class make a run.
    unroll : int
        The rows that a lane loads at once; half as many of 8 bytes.
    in_shared : bool
        Whether the sums of a block stand in shared memory.
    """

    warps: int
    tile: int
    unroll: int
    in_shared: bool

    def shared(self, rows: DeviceRows) -> int:
        """The bytes of shared memory that a block takes."""
        n = rows.n_classes
        sums = 8 * n_parts(rows) * STRIP * (2 * self.warps + n * self.in_shared)
        return sums + 4 * (n + 1 + 2 * self.warps) + 2 * (self.warps * n + self.tile)

    def n_resident(self, rows: DeviceRows) -> int:
        """The blocks that a multiprocessor runs at once: each has its share of rows, and none comes after others."""
        of_registers = 1 if rows.exact else 32 // self.warps  # 64 for each of 1,024 threads
        return max(1, min((rows.shared_bytes + 1024) // (self.shared(rows) + 1024), of_registers))


FEW, SOME = Shape(8, 4096, 12, True), Shape(24, 12288, 12, True)
SHAPES = (
    Shape(32, 32768, 8, False),
    Shape(16, 16384, 8, False),
    Shape(8, 16384, 8, False),
    Shape(4, 8192, 8, False),
    Shape(2, 4096, 8, False),
)
"""For ever more classes: the first that a block has the memory for is taken."""


def shape_of(rows: DeviceRows) -> Shape | None:
    """What suits the number of classes; None where they are too many for a block."""
    if rows.n_classes * n_parts(rows) <= 96:
        return FEW
    shapes = (Shape(8, 8192, 8, False) if rows.exact else SOME, *SHAPES) if rows.n_classes <= 160 else SHAPES
    fitting = (one for one in shapes if one.shared(rows) <= rows.shared_bytes)
    return next(fitting, None) if rows.n_classes < 1 << 16 else None


def n_parts(rows: DeviceRows) -> int:
    """The numbers that a block keeps for each class and column."""
    return (2 if rows.weights is None else 3) * (2 if rows.exact else 1)


def _moment_options(rows: DeviceRows, values: Any, positions: IntArray, shape: Shape) -> dict[str, Any]:
    """What the kernels of moments are compiled for."""
    neighbours = bool((positions == np.arange(len(positions))).all())
    aligned = (values.strides[0] | values.data.ptr) % (2 * values.itemsize) == 0
    return {
        "WARPS": shape.warps,
        "TILE": shape.tile,
        "UNROLL": shape.unroll // (2 if values.itemsize == 8 else 1),  # as many bytes, in as many registers
        "BLOCKS": shape.n_resident(rows),
        "IN_SHARED": int(shape.in_shared),
        "WEIGHTED": int(rows.weights is not None),
        "NEIGHBOURS": int(neighbours),
        "PAIRS": int(neighbours and aligned and len(positions) % 2 == 0),
        "EXACT": int(rows.exact),
    }


def _about(rows: DeviceRows, positions: IntArray, anchors: Any, missing: Any) -> tuple[Sum, Sum, Sum]:
    """Sums and squares of the distances to anchors (classes, columns), and the weight of the known cells."""
    found = summed_about(rows, positions, anchors, missing)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = Sum.of_parts(*on_host(found))
    if rows.weights is not None:
        return sums[0], sums[1], sums[2]
    present = rows.class_weight.high[:, None] - on_host(missing).astype(np.float64)
    return sums[0], sums[1], Sum(present)


def summed_about(rows: DeviceRows, positions: IntArray, anchors: Any, missing: Any) -> Any:
    """High and low parts of the sums (2, sums, classes, columns), on the GPU; missing cells are added to `missing`.

    The sums are those of the distances, of their squares and, where rows have weights, the weight of the known cells.
    """
    import cupy

    shape = shape_of(rows)
    assert shape is not None
    values, stride = row_major(rows.table.values)
    options = _moment_options(rows, values, positions, shape)
    n_sums, n_columns, n_classes = 3 if options["WEIGHTED"] else 2, len(positions), rows.n_classes
    n_strips, shared, n_rows = -(-n_columns // STRIP), shape.shared(rows), max(rows.n_rows, 1)
    n_blocks = max(1, min(rows.n_processors * options["BLOCKS"] // n_strips, -(-n_rows // shape.tile)))
    tile = -(-n_rows // (n_blocks * -(-n_rows // (n_blocks * shape.tile))))  # each block has as many, of one size
    scratch = (cupy.empty if shape.in_shared else cupy.zeros)(n_blocks * n_strips * n_parts(rows) * n_classes * STRIP)
    add = rows.kernel("moments", "class_moments", **options)
    add.max_dynamic_shared_size_bytes = max(shared, 49152)
    add(
        (n_blocks, n_strips),
        (32 * shape.warps,),
        (
            values, stride, _columns(rows, positions, options), np.int32(n_columns), rows.codes,
            rows.codes if rows.weights is None else rows.weights, anchors, np.int64(rows.n_rows), np.int32(n_classes),
            np.int32(tile), scratch, missing,
        ),
        shared_mem=shared,
    )  # fmt: skip
    found = cupy.empty((2, n_sums, n_classes, n_columns))
    merge = rows.kernel("moments", "merge_blocks", **options)
    sizes = (n_blocks, n_strips, n_classes, n_columns)
    merge((-(-found[0].size // 8),), (256,), (scratch, *map(np.int32, sizes), found[0], found[1]))
    return found
