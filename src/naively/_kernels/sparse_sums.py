"""Sums of the values and squares of each column, per class, over the stored cells of a CSR matrix.

Rows come gathered by class, so that one class's sums stay in cache and the cost does not grow with the number of
classes; two threads never share a class, so the answer does not depend on their number.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import inlined, kernel
from naively._kernels.double_double import accumulate, accumulate_closely, product_error
from naively._kernels.prefetching import LINE_BYTES, prefetch
from naively.typing import AnyArray, FloatArray, IntArray

ROWS_AHEAD = 4
"""The cells of a row are asked for so many rows before they are needed."""


@kernel
def add_sparse_power_sums(
    data: FloatArray,
    indices: AnyArray,
    indptr: AnyArray,
    order: IntArray,
    starts: IntArray,
    weights: FloatArray,
    squares: bool,
    first_class: int,
    last_class: int,
    total: FloatArray,
    total_low: FloatArray,
    square: FloatArray,
    square_low: FloatArray,
    absent: FloatArray,
    absent_low: FloatArray,
) -> None:
    """Add the rows ``order[starts[k]:starts[k + 1]]`` of each class k in [first_class, last_class).

    `weights` is empty when all rows weigh one. NaN cells add to `absent`; without `squares` those arrays may be empty.
    """
    n_columns = total.shape[1]
    sums, sums_low = np.zeros((1, n_columns)), np.zeros((1, n_columns))
    powers, powers_low = np.zeros((1, n_columns)), np.zeros((1, n_columns))
    for code in range(first_class, last_class):
        sums[:] = sums_low[:] = powers[:] = powers_low[:] = 0.0
        for position in range(starts[code], starts[code + 1]):
            row = order[position]
            _ask_ahead(data, indices, indptr, order, position)
            weight = weights[row] if len(weights) else 1.0
            for cell in range(indptr[row], indptr[row + 1]):
                column = indices[cell]
                value = data[cell]
                if value != value:
                    accumulate(absent, absent_low, code, column, weight, 0.0)
                    continue
                weighted = weight * value
                error = product_error(weight, value, weighted)
                accumulate_closely(sums, sums_low, 0, column, weighted, error)
                if squares:
                    squared = weighted * value
                    square_error = product_error(weighted, value, squared) + error * value
                    accumulate_closely(powers, powers_low, 0, column, squared, square_error)
        for column in range(n_columns):
            if sums[0, column] != 0.0:
                total[code, column] = sums[0, column]
            if sums_low[0, column] != 0.0:
                total_low[code, column] = sums_low[0, column]
        if squares:
            for column in range(n_columns):
                square[code, column] = powers[0, column]
                square_low[code, column] = powers_low[0, column]


@kernel
def add_sparse_counts(
    data: FloatArray,
    indices: AnyArray,
    indptr: AnyArray,
    order: IntArray,
    starts: IntArray,
    first_class: int,
    last_class: int,
    total: FloatArray,
) -> bool:
    """Write the sums of whole numbers, which need no care for rounding; False if a number is not whole (or NaN).

    All classes are summed in the same place, which stays in cache: that of a class would first come from memory.
    """
    sums = np.zeros(total.shape[1])
    for code in range(first_class, last_class):
        whole = True
        for position in range(starts[code], starts[code + 1]):
            row = order[position]
            _ask_ahead(data, indices, indptr, order, position)
            for cell in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):  # unsigned: never from the end
                value = data[cell]
                whole &= value == np.floor(value)
                sums[np.uint64(indices[cell])] += value
        if not whole:
            return False
        for column in range(len(sums)):
            total[code, column] = sums[column]
            sums[column] = 0.0
    return True


@inlined
def _ask_ahead(data: FloatArray, indices: AnyArray, indptr: AnyArray, order: IntArray, position: int) -> None:
    """Ask for the cells of a row that comes soon: ordered by class, rows lie anywhere in memory."""
    if position + ROWS_AHEAD < len(order):
        later = order[position + ROWS_AHEAD]
        for cell in range(indptr[later], indptr[later + 1], LINE_BYTES // data.itemsize):
            prefetch(data, cell)
        for cell in range(indptr[later], indptr[later + 1], LINE_BYTES // indices.itemsize):
            prefetch(indices, cell)
