"""Sums of the stored cells of CSR rows on a GPU (`_kernels/gpu/sparse.cu`), as whole numbers of a unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._kernels.gpu import kernel
from naively._table.device import DeviceTable
from naively.engines._gpu_rows import DeviceRows, answers, fetched
from naively.statistics._sums import Sum
from naively.statistics.base import Summary
from naively.typing import IntArray

MOST_READINGS = 8
"""Sums of one class are taken in shared memory where the columns need no more readings of the cells than that."""


def small_sums(rows: DeviceRows, positions: IntArray, summary: Summary) -> Sum | None:
    """Sums of small whole numbers, as counts of words are; None where cells are others, or more is asked for."""
    import cupy

    found = summed_small(rows, positions, summary)
    if found is None:
        return None
    sums, strange = found
    total = fetched(sums.astype(cupy.float64))
    return None if int(strange[0]) else Sum(total)


def summed_small(rows: DeviceRows, positions: IntArray, summary: Summary) -> tuple[Any, Any] | None:
    """Sums (classes, columns) on the GPU, and whether they are none, since a cell is no small whole number.

    The rows are read class by class, and a block has the sums of one class in shared memory.
    """
    import cupy

    matrix, n_classes = rows.table.matrix, rows.n_classes
    n_columns, n_cells = matrix.shape[1], matrix.data.size
    width = min(n_columns, rows.shared_bytes // 4)
    worth_it = 0 < n_classes * n_columns <= n_cells and width * MOST_READINGS >= n_columns
    if rows.weights is not None or summary.squares or summary.logs or not (worth_it and _are_all(positions, n_columns)):
        return None
    n_resident = rows.n_processors * (2 if 8 * width <= rows.shared_bytes - 2048 else 1)
    n_blocks = max(1, min(n_resident, n_cells // (2 * n_columns)))
    data = _data(matrix, summary)
    order, begins = rows.by_class
    sums, strange = cupy.zeros((n_classes, n_columns), dtype=cupy.uint64), cupy.zeros(1, dtype=cupy.int32)
    add = _kernel(rows, "class_sums", data, SQUARES=0, COUNT="unsigned int")
    add.max_dynamic_shared_size_bytes = max(4 * width, 49152)
    add(
        (n_blocks, -(-n_columns // width)),
        (1024,),
        (
            data, matrix.indices.astype(cupy.int32, copy=False), matrix.indptr.astype(cupy.int64), order, begins,
            np.int32(n_classes), np.int32(n_columns), np.int32(width), sums, strange,
        ),
        shared_mem=4 * width,
    )  # fmt: skip
    return sums, strange


def _data(matrix: Any, summary: Summary) -> Any:
    """The stored cells, or what is asked about them."""
    import cupy

    asked = summary.above is not None or summary.unlike is not None
    return answers(matrix.data.astype(cupy.float64), summary) if asked else matrix.data


def _kernel(rows: DeviceRows, name: str, data: Any, **options: Any) -> Any:
    c_type = DeviceTable(data.reshape(1, -1), "cupy").c_type
    return kernel("sparse", name, rows.table.device, ROW=rows.row_type, **c_type, **options)


def _are_all(positions: IntArray, n_columns: int) -> bool:
    return len(positions) == n_columns and bool((positions == np.arange(n_columns)).all())


def sparse_powers(rows: DeviceRows, positions: IntArray, summary: Summary) -> tuple[Sum, Sum, Sum] | None:
    """The sums of the stored cells of a CSR matrix, as whole numbers of a unit; None where one is NaN or infinite."""
    import cupy

    matrix = rows.table.matrix
    if not _are_all(positions, matrix.shape[1]):
        matrix = matrix[:, cupy.asarray(positions)]
    data = _data(matrix, summary)
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
    add = _kernel(rows, "sparse_sums", data, COUNT=count, SQUARES=int(summary.squares))
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
    total = fetched(high * unit)
    return Sum.of_parts(total, fetched(rest * unit)) if bool(rest.any()) else Sum(total)
