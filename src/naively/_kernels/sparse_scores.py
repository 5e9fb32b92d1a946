"""Scores that are linear in the stored cells of a CSR matrix."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import kernel
from naively._kernels.prefetching import LINE_BYTES, prefetch
from naively.typing import AnyArray, FloatArray

CELLS_AHEAD = 16
"""The slopes of a column are asked for so many cells before they are needed."""


@kernel
def add_sparse_products(
    values: FloatArray, indices: AnyArray, indptr: AnyArray, slope: FloatArray, scores: FloatArray
) -> None:
    """Add to the scores (rows, classes) each row's values times the slopes (columns, classes) of their columns."""
    n_classes, n_cells = scores.shape[1], len(values)
    slopes, line = slope.reshape(-1), LINE_BYTES // slope.itemsize
    sums = np.empty(n_classes)
    for row in range(scores.shape[0]):
        sums[:] = 0.0
        for cell in range(indptr[row], indptr[row + 1]):
            later = indices[min(cell + CELLS_AHEAD, n_cells - 1)] * n_classes
            for code in range(0, n_classes, line):
                prefetch(slopes, later + code)
            value, column = values[cell], np.uint64(indices[cell])  # unsigned: never from the end
            for code in range(n_classes):
                sums[code] += value * slope[column, code]
        for code in range(n_classes):
            scores[row, code] += sums[code]
