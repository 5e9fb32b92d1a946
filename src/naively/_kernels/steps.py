"""Evidence that is a staircase: the same for all numbers of a bin."""

from __future__ import annotations

from naively._kernels.compiling import kernel
from naively.typing import FloatArray


@kernel
def add_steps(x: FloatArray, cuts: FloatArray, table: FloatArray, scores: FloatArray) -> None:
    """Add to the scores the row of the table (bins + 1, classes) of each value's bin; the last is for NaN."""
    n_bins = len(cuts) + 1
    for row in range(len(x)):
        value = x[row]
        low, high = 0, len(cuts)  # so many cuts, at least and at most, are not above the value
        if value != value:
            low = n_bins
        else:
            while low < high:
                middle = (low + high) >> 1
                if cuts[middle] <= value:
                    low = middle + 1
                else:
                    high = middle
        for code in range(table.shape[1]):
            scores[row, code] += table[low, code]
