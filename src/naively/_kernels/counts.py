"""How often each value of each column occurs in each class, over a row-major block of integers.

Column `i` owns some cells of a flat table from ``offset[i]`` on; value v in ``low[i] ... low[i] + size[i] - 1`` is in
cell ``offset[i] + v - low[i]``. When counting, any other falls in the next cell; when looking up, an unknown value does
and a missing one falls in the cell after that.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import inlined, kernel
from naively._kernels.double_double import accumulate
from naively._kernels.nibble_strips import LANES, LEVELS, ROWS, STATE, VALUES, count_nibbles
from naively._kernels.prefetching import prefetch
from naively.typing import AnyArray, FloatArray, IntArray

MISSING = np.iinfo(np.int64).min

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
def count_small(block: AnyArray, codes: IntArray, width: int, counts: IntArray) -> bool:
    """The same for bytes below 16, three times as fast; False, and the counts are of no use, if one is larger.

    The rows of a class are counted 16 at a time (`nibble_strips`), up to a million of them; the last few one by one.
    """
    n_rows, n_columns, n_classes = len(codes), block.shape[1], len(counts)
    cells, n_strips = block.reshape(-1), (n_columns + LANES - 1) // LANES
    n_whole = min(n_rows, max(0, (len(cells) - LANES * n_strips) // n_columns + 1))  # whose strips end in the block
    states = np.zeros((n_classes, n_strips, STATE * LANES), dtype=np.uint16)
    starts, n_waiting = np.empty((n_classes, ROWS), dtype=np.int64), np.zeros(n_classes, dtype=np.int64)
    for row in range(n_whole):
        code = codes[row]
        if code < 0:
            continue
        starts[np.uint64(code), np.uint64(n_waiting[code])] = row * n_columns
        prefetch(cells, row * n_columns)
        n_waiting[code] += 1
        if n_waiting[code] == ROWS:
            n_waiting[code] = 0
            for strip in range(n_strips):
                count_nibbles(cells, starts[code], LANES * strip, states[code, strip])
    largest = _add_states(states, width, n_columns, counts)
    for code in range(n_classes):
        for waiting in range(n_waiting[code]):
            largest |= _add_row(cells, starts[code, waiting], n_columns, width, counts[code])
    for row in range(n_whole, n_rows):
        if codes[row] >= 0:
            largest |= _add_row(cells, row * n_columns, n_columns, width, counts[codes[row]])
    return bool(largest < VALUES)


@kernel
def _add_states(states: AnyArray, width: int, n_columns: int, counts: IntArray) -> int:
    """Add what was counted of strips; all bits that were seen in any cell."""
    seen = 0
    for code in range(len(counts)):
        for column in range(n_columns):
            state, lane = states[code, column // LANES], column % LANES
            seen |= state[(STATE - 1) * LANES + lane]
            for value in range(VALUES):
                count = np.int64(state[(LEVELS + value) * LANES + lane]) << LEVELS
                for level in range(LEVELS):
                    count += ((np.int64(state[level * LANES + lane]) >> value) & 1) << level
                counts[code, column * width + value] += count
    return seen


@kernel
def _add_row(cells: AnyArray, start: int, n_columns: int, width: int, counts: IntArray) -> int:
    """Add one to the cell of each value of a row; all bits that were seen in any."""
    seen = 0
    for column in range(n_columns):
        value = cells[start + column]
        counts[column * width + np.int64(value)] += 1
        seen |= value
    return seen


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
