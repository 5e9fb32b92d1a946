"""The Gaussian log-density of each row, summed over the columns, for every class."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import kernel
from naively.typing import FloatArray

TILE_ROWS = 128
TILE_CLASSES = 16
"""Rows are turned on their side, in tiles that stay in the first-level cache: the inner loop runs down a column."""

PADDING = 8
"""The columns of a tile lie so many cells further apart, lest all of them fall into the same few lines of the cache."""


@kernel
def add_gaussian(
    block: FloatArray, mean: FloatArray, scale: FloatArray, peak: FloatArray, most: float, scores: FloatArray
) -> None:
    """Add ``peak - ((x - mean) * scale)**2`` of every known cell to the scores (rows, classes).

    The parameters have shape (columns, classes); the deviation is held within ``+-most`` so that its square is finite.
    """
    n_rows, n_columns = block.shape
    n_classes = scores.shape[1]
    values = np.zeros((n_columns, TILE_ROWS + PADDING))
    sums = np.empty((min(n_classes, TILE_CLASSES), TILE_ROWS))
    for first in range(0, n_rows, TILE_ROWS):
        n_tile = min(TILE_ROWS, n_rows - first)
        for row in range(n_tile):
            for column in range(n_columns):
                values[column, row] = block[first + row, column]
        for start in range(0, n_classes, TILE_CLASSES):
            stop = min(start + TILE_CLASSES, n_classes)
            _sum_tile(values, mean, scale, peak, start, stop, sums)
            if not np.isfinite(sums[: stop - start]).all():
                _sum_tile_within(values, mean, scale, peak, start, stop, most, sums)
            for row in range(n_tile):
                for code in range(start, stop):
                    scores[first + row, code] += sums[code - start, row]


@kernel
def _sum_tile(
    values: FloatArray,
    mean: FloatArray,
    scale: FloatArray,
    peak: FloatArray,
    start: int,
    stop: int,
    sums: FloatArray,
) -> None:
    """The sums of the classes from start to stop; not finite where a deviation is too large to be squared."""
    sums[:] = 0.0
    for column in range(len(values)):
        cells = values[column]
        for code in range(start, stop):
            centre, width, top = mean[column, code], scale[column, code], peak[column, code]
            total = sums[code - start]
            for row in range(TILE_ROWS):
                deviation = (cells[row] - centre) * width
                total[row] += top - deviation * deviation if cells[row] == cells[row] else 0.0


@kernel
def _sum_tile_within(
    values: FloatArray,
    mean: FloatArray,
    scale: FloatArray,
    peak: FloatArray,
    start: int,
    stop: int,
    most: float,
    sums: FloatArray,
) -> None:
    """Scores of normal densities with deviations held within ``+-most``."""
    sums[:] = 0.0
    for column in range(len(values)):
        for code in range(start, stop):
            for row in range(TILE_ROWS):
                value = values[column, row]
                if value == value:
                    deviation = min(abs((value - mean[column, code]) * scale[column, code]), most)
                    sums[code - start, row] += peak[column, code] - deviation * deviation
