"""How often each value of each column occurs in each class, over a row-major block of integers.

Column `i` owns the cells ``offset[i] ... offset[i] + size[i]`` of a flat table; value v falls in cell
``offset[i] + v - low[i]``, and any value outside ``low[i] ... low[i] + size[i] - 1`` in the last one: the cell of
the missing and the unknown. Reading and writing the table share this rule.
"""

from __future__ import annotations

from numba import njit

from naively.kernels.double_double import accumulate
from naively.typing import FloatArray, IntArray


@njit(cache=True, nogil=True, inline="always")
def _cell(shifted: int, size: int, offset: int) -> int:
    return offset + (shifted if 0 <= shifted < size else size)


@njit(cache=True, nogil=True)
def count_values(
    block: IntArray, codes: IntArray, low: IntArray, size: IntArray, offset: IntArray, counts: IntArray
) -> None:
    """Add one to the cell of each value; `counts` has shape (classes, cells)."""
    n_rows, n_columns = block.shape
    if n_columns == 1:  # a column of a data frame, kept in registers
        first_low, first_size, first_offset = low[0], size[0], offset[0]
        for row in range(n_rows):
            if codes[row] >= 0:
                counts[codes[row], _cell(block[row, 0] - first_low, first_size, first_offset)] += 1
        return
    for row in range(n_rows):
        code = codes[row]
        if code < 0:
            continue
        for column in range(n_columns):
            cell = _cell(block[row, column] - low[column], size[column], offset[column])
            counts[code, cell] += 1


@njit(cache=True, nogil=True)
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
            cell = _cell(block[row, column] - low[column], size[column], offset[column])
            accumulate(total, total_low, code, cell, weights[row], 0.0)


@njit(cache=True, nogil=True)
def add_looked_up(
    block: IntArray, low: IntArray, size: IntArray, offset: IntArray, table: FloatArray, scores: FloatArray
) -> None:
    """Add to the scores (rows, classes) the table's row (cells, classes) of each value."""
    n_rows, n_columns = block.shape
    n_classes = scores.shape[1]
    for row in range(n_rows):
        if n_classes == 2:  # the usual case, kept in registers
            first, second = 0.0, 0.0
            for column in range(n_columns):
                cell = _cell(block[row, column] - low[column], size[column], offset[column])
                first += table[cell, 0]
                second += table[cell, 1]
            scores[row, 0] += first
            scores[row, 1] += second
        else:
            for column in range(n_columns):
                cell = _cell(block[row, column] - low[column], size[column], offset[column])
                for code in range(n_classes):
                    scores[row, code] += table[cell, code]
