"""Sums of the values and squares of each column, per class, over a dense row-major block.

`total` and `square` have shape (classes, columns), and beside each stands what its rounding lost. They hold the recent
rows only: now and then they are folded into `sums`, of shape (4, classes, columns), the same four in that order. Rows
with a negative class code are skipped; NaN cells add to `absent` instead. Infinite values make the sums non-finite,
which the caller reports. (The four are separate arguments because the compiler then vectorises the loop: 3x faster.)
"""

from __future__ import annotations

from numba import njit

from naively.kernels.double_double import accumulate, fold, product_error
from naively.typing import FloatArray, IntArray

ROWS_BETWEEN_FOLDS = 512


@njit(cache=True, nogil=True)
def add_power_sums(
    block: FloatArray,
    codes: IntArray,
    total: FloatArray,
    total_low: FloatArray,
    square: FloatArray,
    square_low: FloatArray,
    n_recent: IntArray,
    sums: FloatArray,
    absent: FloatArray,
) -> None:
    """Add the rows of a block, each with weight one."""
    n_rows, n_columns = block.shape
    for row in range(n_rows):
        code = codes[row]
        if code < 0:
            continue
        n_missing = 0
        for column in range(n_columns):
            n_missing |= block[row, column] != block[row, column]
        if n_missing == 0:
            for column in range(n_columns):
                value = block[row, column]
                squared = value * value
                accumulate(total, total_low, code, column, value, 0.0)
                accumulate(square, square_low, code, column, squared, product_error(value, value, squared))
        else:
            for column in range(n_columns):
                known = block[row, column] == block[row, column]
                absent[code, column] += 0.0 if known else 1.0
                value = block[row, column] if known else 0.0
                squared = value * value
                accumulate(total, total_low, code, column, value, 0.0)
                accumulate(square, square_low, code, column, squared, product_error(value, value, squared))
        n_recent[code] += 1
        if n_recent[code] == ROWS_BETWEEN_FOLDS:
            fold_class(total, total_low, square, square_low, n_recent, sums, code)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
