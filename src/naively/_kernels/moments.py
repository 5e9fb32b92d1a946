"""Sums of the values and squares of each column, per class.

Rows are gathered by class in blocks that stay in cache, so that the sums of a class stay in registers (`strips`). Now
and then what was summed is folded into `sums`, of shape (4, classes, columns): sums, what their rounding lost, and the
same of the squares. Rows with a negative class code are skipped; NaN cells add to `absent` instead. Infinite values
make the sums non-finite, which the caller reports.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import kernel
from naively._kernels.double_double import accumulate, fold, product_error
from naively._kernels.strips import LANES, MOST_ROWS, cells_at, copy_strip, sum_strip
from naively.typing import FloatArray, IntArray

ROWS_BETWEEN_FOLDS = 64
BLOCK_BYTES = 1 << 18
"""Two blocks of so many bytes stay in the second-level cache: the one that is summed, and the next."""

ROWS_OF_A_CLASS = 16
"""A block has about so many rows of each class, or more: each of them begins with some work of its own."""

LEAST, LARGEST = 2.0**-480, 2.0**480
"""Numbers between these, or zero, have squares whose sums can be anchored."""


@kernel
def add_power_sums(
    like: FloatArray,
    addresses: IntArray,
    stride: int,
    codes: IntArray,
    sums: FloatArray,
    absent: FloatArray,
) -> None:
    """Add the rows of a table, each with weight one.

    Its cells are those of ``like.dtype`` (float32 or float64) at ``addresses[column] + row * stride`` bytes. Where the
    cells of a row lie side by side and all are known they are summed where they are; else from a copy of the block.
    """
    n_rows, n_classes, n_columns = len(codes), sums.shape[1], sums.shape[2]
    n_strips = (n_columns + LANES - 1) // LANES
    block_rows = min(max(BLOCK_BYTES // (n_columns * like.itemsize), ROWS_OF_A_CLASS * n_classes, 16), n_rows)
    order, starts = np.empty(block_rows, dtype=np.int64), np.empty(n_classes + 1, dtype=np.int64)
    recent, known, double = np.empty((6, LANES * n_strips)), np.empty((0, 0)), np.empty(0)
    in_place = n_columns >= LANES
    for column in range(n_columns):
        in_place &= addresses[column] == addresses[0] + column * like.itemsize
    # Loops instead of array expressions, each of which would take the compiler a second.
    here, strips = np.empty(LANES * n_strips, dtype=np.int64), np.empty(n_strips, dtype=np.int64)
    columns = np.empty(n_strips, dtype=np.int64)
    for first in range(0, n_rows, block_rows):
        block_codes = codes[first : first + block_rows]
        _gather(block_codes, order, starts)
        for place in range(LANES * n_strips):  # the last column is repeated: columns are copied by the strip
            here[place] = addresses[min(place, n_columns - 1)] + first * stride
        if in_place and not _any_missing(like, here[0], stride, len(block_codes), n_columns):
            for strip in range(n_strips):  # the last begins among the columns of the one before, and ends with the last
                columns[strip] = min(LANES * strip, n_columns - LANES)
                strips[strip] = here[columns[strip]]
            _add_block(like, strips, stride, columns, order, starts, block_rows * stride, recent, sums)
        else:
            if len(known) == 0:
                known = np.empty((n_strips * block_rows, LANES))
            for strip in range(n_strips):
                cells = known[strip * block_rows : strip * block_rows + len(block_codes)]
                if copy_strip(like, here, stride, LANES * strip, cells):
                    _fill(cells, block_codes, absent[:, LANES * strip : LANES * (strip + 1)])
                columns[strip] = LANES * strip
                strips[strip] = np.int64(known.ctypes.data) + strip * block_rows * known.strides[0]
            _add_block(double, strips, known.strides[0], columns, order, starts, np.int64(0), recent, sums)


@kernel
def _gather(codes: IntArray, order: IntArray, starts: IntArray) -> None:
    """Order the rows by class: those of class k become ``order[starts[k]:starts[k + 1]]``."""
    starts[:] = 0
    for row in range(len(codes)):
        if codes[row] >= 0:
            starts[codes[row]] += 1
    end = 0
    for code in range(len(starts)):
        end += starts[code]
        starts[code] = end
    for row in range(len(codes) - 1, -1, -1):
        if codes[row] >= 0:
            starts[codes[row]] -= 1
            order[starts[codes[row]]] = row


@kernel
def _any_missing(like: FloatArray, address: int, stride: int, n_rows: int, n_columns: int) -> bool:
    """Whether any cell is NaN; also brings the block into the cache, in the order in which it lies in memory."""
    if stride == n_columns * like.itemsize:
        return bool(_has_nan(cells_at(address, n_rows * n_columns, like)))
    missing = False
    for row in range(n_rows):
        missing |= _has_nan(cells_at(address + row * stride, n_columns, like))
    return missing


@kernel
def _has_nan(cells: FloatArray) -> bool:
    missing = 0
    for place in range(len(cells)):
        missing |= cells[place] != cells[place]
    return missing != 0


@kernel
def _fill(cells: FloatArray, codes: IntArray, absent: FloatArray) -> None:
    """Put zero for each missing cell of a strip, and count it."""
    for row in range(len(codes)):
        for lane in range(LANES):
            if cells[row, lane] != cells[row, lane]:
                cells[row, lane] = 0.0
                if codes[row] >= 0 and lane < absent.shape[1]:
                    absent[codes[row], lane] += 1.0


@kernel
def _add_block(
    like: FloatArray,
    strips: IntArray,
    stride: int,
    columns: IntArray,
    order: IntArray,
    starts: IntArray,
    ahead: int,
    recent: FloatArray,
    sums: FloatArray,
) -> None:
    """Add the rows of a block, gathered by class, from strips at these addresses that begin with these columns."""
    for code in range(len(starts) - 1):
        for first in range(starts[code], starts[code + 1], MOST_ROWS):
            last = min(first + MOST_ROWS, starts[code + 1])
            for strip in range(len(strips)):
                sum_strip(like, strips[strip], stride, order, first, last, columns[strip], ahead, recent)
            for column in range(sums.shape[2]):
                if recent[4, column] != 0.0 and not LEAST <= recent[4, column] <= LARGEST:
                    strip = min(column // LANES, len(strips) - 1)
                    address = strips[strip] + (column - columns[strip]) * like.itemsize
                    _sum_extreme(like, address, stride, order[first:last], recent, column)
            fold(recent[0:1], recent[1:2], sums[0, code : code + 1], sums[1, code : code + 1], 0)
            fold(recent[2:3], recent[3:4], sums[2, code : code + 1], sums[3, code : code + 1], 0)
            fold(recent[5:6], recent[1:2], sums[2, code : code + 1], sums[3, code : code + 1], 0)  # the latter is 0 now


@kernel
def _sum_extreme(like: FloatArray, address: int, stride: int, rows: IntArray, recent: FloatArray, column: int) -> None:
    """The sums of a column from zero, for numbers near the ends of what a float64 can hold."""
    recent[:, column] = 0.0
    total, total_low, square, square_low = recent[0:1], recent[1:2], recent[2:3], recent[3:4]
    for row in rows:
        value = np.float64(cells_at(address + row * stride, 1, like)[0])
        squared = value * value
        accumulate(total, total_low, 0, column, value, 0.0)
        accumulate(square, square_low, 0, column, squared, product_error(value, value, squared))


@kernel
def add_weighted_power_sums(
    block: FloatArray,
    codes: IntArray,
    weights: FloatArray,
    total: FloatArray,
    total_low: FloatArray,
    square: FloatArray,
    square_low: FloatArray,
    n_recent: IntArray,
    sums: FloatArray,
    absent: FloatArray,
    absent_low: FloatArray,
) -> None:
    """Add the rows of a block, each with its weight."""
    n_rows, n_columns = block.shape
    for row in range(n_rows):
        code = codes[row]
        if code < 0:
            continue
        weight = weights[row]
        for column in range(n_columns):
            value = block[row, column]
            if value != value:
                accumulate(absent, absent_low, code, column, weight, 0.0)
                continue
            weighted = weight * value
            error = product_error(weight, value, weighted)
            accumulate(total, total_low, code, column, weighted, error)
            squared = weighted * value
            square_error = product_error(weighted, value, squared) + error * value
            accumulate(square, square_low, code, column, squared, square_error)
        n_recent[code] += 1
        if n_recent[code] == ROWS_BETWEEN_FOLDS:
            fold_class(total, total_low, square, square_low, n_recent, sums, code)


@kernel
def fold_class(
    total: FloatArray,
    total_low: FloatArray,
    square: FloatArray,
    square_low: FloatArray,
    n_recent: IntArray,
    sums: FloatArray,
    code: int,
) -> None:
    """Fold one class's recent sums into its long-run ones."""
    fold(total, total_low, sums[0], sums[1], code)
    fold(square, square_low, sums[2], sums[3], code)
    n_recent[code] = 0


@kernel
def fold_all(
    total: FloatArray,
    total_low: FloatArray,
    square: FloatArray,
    square_low: FloatArray,
    n_recent: IntArray,
    sums: FloatArray,
) -> None:
    """Fold every class that has recent rows."""
    for code in range(len(n_recent)):
        if n_recent[code]:
            fold_class(total, total_low, square, square_low, n_recent, sums, code)
