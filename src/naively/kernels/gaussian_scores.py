"""The Gaussian log-density of each row, summed over the columns, for every class."""

from __future__ import annotations

from numba import njit

from naively.typing import FloatArray


@njit(cache=True, nogil=True)
def add_gaussian(
    block: FloatArray, mean: FloatArray, scale: FloatArray, peak: FloatArray, most: float, scores: FloatArray
) -> None:
    """Add ``peak - ((x - mean) * scale)**2`` of every known cell to the scores (rows, classes).

    The parameters have shape (columns, classes); the deviation is held within ``+-most`` so that its square is finite.
    """
    n_rows, n_columns = block.shape
    n_classes = scores.shape[1]
    for row in range(n_rows):
        for column in range(n_columns):
            value = block[row, column]
            if value != value:
                continue
            for code in range(n_classes):
                deviation = (value - mean[column, code]) * scale[column, code]
                deviation = most if deviation > most else deviation
                deviation = -most if deviation < -most else deviation
                scores[row, code] += peak[column, code] - deviation * deviation
