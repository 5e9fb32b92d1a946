"""How often each value of each column occurs in each class, over a row-major block of integers.

Column `i` owns some cells of a flat table from ``offset[i]`` on; value v in ``low[i] ... low[i] + size[i] - 1`` is in
cell ``offset[i] + v - low[i]``. When counting, any other falls in the next cell; when looking up, an unknown value does
and a missing one falls in the cell after that.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import inlined, kernel
from naively._kernels.double_double import accumulate
from naively.typing import AnyArray, FloatArray, IntArray

MISSING = np.iinfo(np.int64).min

PAIRED_VALUES = 16
"""Two columns with no more values than these are counted together, in a table of their pairs."""

TURNS = 4
"""Classes are counted in so many tables by turns: one that was just written to is slow to be read again."""


@inlined
def _cell(value: int, low: int, size: int, offset: int) -> int:
    # Compare before subtracting: the marks of the missing are the least integers there are.
    return offset + (value - low if low <= value <= low + (size - 1) else size)


@inlined
def _looked_up(value: int, low: int, size: int, offset: int) -> int:
    if low <= value <= low + (size - 1):
        return offset + value - low
    return offset + size + (value == MISSING)


@kernel
def count_values(
    block: IntArray, codes: IntArray, low: IntArray, size: IntArray, offset: IntArray, counts: IntArray
) -> None:
    """Add one to the cell of each value; `counts` has shape (classes, cells).

    Unsigned positions are taken as they are; of signed ones each would be asked whether it counts from the end.
    """
    n_rows, n_columns = block.shape
    if n_columns == 1:  # a column of a data frame, kept in registers
        first_low, first_size, first_offset = low[0], size[0], offset[0]
        for row in range(n_rows):
            if codes[row] >= 0:
                cell = _cell(block[row, 0], first_low, first_size, first_offset)
                counts[np.uint64(codes[row]), np.uint64(cell)] += 1
        return
    for row in range(n_rows):
        code = codes[row]
        if code < 0:
            continue
        for column in range(n_columns):
            cell = _cell(block[row, column], low[column], size[column], offset[column])
            counts[code, np.uint64(cell)] += 1


@kernel
def count_bytes(block: AnyArray, codes: IntArray, width: int, counts: IntArray) -> None:
    """Add one to the cell of each value when all columns have the same window, 0 ... width - 2; twice as fast.

    `counts` has shape (classes, columns * width); what is outside falls in a column's last cell.
    """
    n_rows, n_columns = block.shape
    last = np.uint64(width - 1)
    for row in range(n_rows):
        code = codes[row]
        if code < 0:
            continue
        cells = counts[code]
        for column in range(n_columns):
            value = np.uint64(block[row, column])  # a negative one becomes a huge one
            cells[np.uint64(column * width) + min(value, last)] += 1


@kernel
def count_pairs(block: AnyArray, codes: IntArray, counts: AnyArray) -> bool:
    """Add one to the cell of each pair of neighbouring columns; False, and nothing is added, if a value is too large.

    Half as many cells are written to as by `count_bytes`. `counts` has shape (classes, pairs * PAIRED_VALUES**2), a
    pair's cells in the order of its second value; the last column of an odd number is paired with zeros.
    """
    n_rows, n_columns = block.shape
    cells, n_pairs = block.reshape(-1), np.uint64(n_columns // 2)
    largest = np.uint8(0)
    for place in range(len(cells)):
        largest = max(largest, cells[place])
    if largest >= PAIRED_VALUES:
        return False
    size, width = np.uint64(PAIRED_VALUES), np.uint64(PAIRED_VALUES * PAIRED_VALUES)
    for row in range(n_rows):
        if codes[row] < 0:
            continue
        table, start = counts[codes[row]], np.uint64(row * n_columns)
        for pair in range(n_pairs):
            first = start + pair + pair
            table[pair * width + np.uint64(cells[first + np.uint64(1)]) * size + np.uint64(cells[first])] += np.uint32(
                1
            )
    if n_columns % 2:  # in a loop of its own: in that of the rows it takes three times as long
        for row in range(n_rows):
            if codes[row] >= 0:
                counts[codes[row], n_pairs * width + np.uint64(block[row, n_columns - 1])] += np.uint32(1)
    return True


@kernel
def count_codes(codes: IntArray, counts: IntArray) -> None:
    """Add one for each row to one of the counts (TURNS, classes) of its class, unless its code is negative."""
    for row in range(len(codes)):
        if codes[row] >= 0:
            counts[np.uint64(row % TURNS), np.uint64(codes[row])] += 1


@kernel
def add_value_weights(
    block: IntArray,
    codes: IntArray,
    weights: FloatArray,
    low: IntArray,
    size: IntArray,
    offset: IntArray,
    total: FloatArray,
    total_low: FloatArray,
) -> None:
    """Add the row's weight to the cell of each value."""
    n_rows, n_columns = block.shape
    for row in range(n_rows):
        code = codes[row]
        if code < 0:
            continue
        for column in range(n_columns):
            cell = _cell(block[row, column], low[column], size[column], offset[column])
            accumulate(total, total_low, code, cell, weights[row], 0.0)


@kernel
def add_looked_up(
    block: IntArray, low: IntArray, size: IntArray, offset: IntArray, table: FloatArray, scores: FloatArray
) -> None:
    """Add to the scores (rows, classes) the table's row (cells, classes) of each value, `MISSING` among them."""
    n_rows, n_columns = block.shape
    n_classes = scores.shape[1]
    for row in range(n_rows):
        if n_classes == 2:  # the usual case, kept in registers
            first, second = scores[row, 0], scores[row, 1]
            for column in range(n_columns):
                cell = np.uint64(_looked_up(block[row, column], low[column], size[column], offset[column]))
                first += table[cell, 0]
                second += table[cell, 1]
            scores[row, 0], scores[row, 1] = first, second
        else:
            for column in range(n_columns):
                cell = np.uint64(_looked_up(block[row, column], low[column], size[column], offset[column]))
                for code in range(n_classes):
                    scores[row, code] += table[cell, code]
