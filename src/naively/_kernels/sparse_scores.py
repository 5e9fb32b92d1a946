"""Scores that are linear in the stored cells of a CSR matrix."""

from __future__ import annotations

import numpy as np

from naively._kernels.class_strips import LANES, MOST_STRIPS, sum_products
from naively._kernels.compiling import kernel
from naively.typing import AnyArray, FloatArray


def in_strips(slope: FloatArray) -> FloatArray:
    """Slopes (columns, classes) with as many classes of zeros behind them as fill the last strip."""
    strips = np.zeros((slope.shape[0], slope.shape[1] + -slope.shape[1] % LANES))
    strips[:, : slope.shape[1]] = slope
    return strips


@kernel
def add_sparse_products(
    values: FloatArray, indices: AnyArray, indptr: AnyArray, slope: FloatArray, scores: FloatArray
) -> None:
    """Add to the scores (rows, classes) each row's values times the slopes `in_strips` of their columns."""
    sums = np.empty(slope.shape[1])
    for row in range(scores.shape[0]):
        first, last = np.int64(indptr[row]), np.int64(indptr[row + 1])
        for start in range(0, len(sums), LANES * MOST_STRIPS):
            sum_products(values, indices, first, last, slope, start, sums)
        for code in range(scores.shape[1]):
            scores[row, code] += sums[code]
