"""Scores that are linear in the stored cells of a CSR matrix."""

from __future__ import annotations

from naively._kernels.compiling import kernel
from naively.typing import AnyArray, FloatArray


@kernel
def add_sparse_products(
    values: FloatArray, indices: AnyArray, indptr: AnyArray, slope: FloatArray, scores: FloatArray
) -> None:
    """Add to the scores (rows, classes) each row's values times the slopes (columns, classes) of their columns."""
    n_classes = scores.shape[1]
    for row in range(scores.shape[0]):
        for cell in range(indptr[row], indptr[row + 1]):
            value, column = values[cell], indices[cell]
            for code in range(n_classes):
                scores[row, code] += value * slope[column, code]
