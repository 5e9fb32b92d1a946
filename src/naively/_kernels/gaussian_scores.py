"""The Gaussian log-density of each row, summed over the columns, for every class."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import kernel
from naively._kernels.row_strips import LANES, MOST_CLASSES, SUMMED_ROWS, add_turned, copy_turned, sum_bells
from naively.typing import FloatArray

TILE_ROWS = 64
"""Rows are turned on their side, in tiles that stay in the first-level cache: a multiple of `SUMMED_ROWS`."""

PADDING = 8
"""The columns of a tile lie so many cells further apart, lest all of them fall into the same few lines of the cache."""


@kernel
def add_gaussian(
    block: FloatArray, mean: FloatArray, scale: FloatArray, peak: FloatArray, most: float, scores: FloatArray
) -> None:
    """Add ``peak - ((x - mean) * scale)**2`` of every known cell to the scores (rows, classes).

    The parameters have shape (columns, classes); the deviation is held within ``+-most`` so that its square is finite.
    """
    n_rows, n_classes = scores.shape
    values = np.zeros((block.shape[1], TILE_ROWS + PADDING))
    sums = np.empty((MOST_CLASSES, SUMMED_ROWS))
    for first in range(0, n_rows, TILE_ROWS):
        n_tile = min(TILE_ROWS, n_rows - first)
        _turn(block, first, n_tile, values)
        code = 0
        while code < n_classes:
            left = n_classes - code
            n_chosen = left if left <= 2 else 2 if left < MOST_CLASSES else MOST_CLASSES
            for row in range(0, n_tile, SUMMED_ROWS):
                sum_bells(values, row, mean, scale, peak, code, n_chosen, most, sums)
                _add(sums, first + row, min(SUMMED_ROWS, n_tile - row), code, n_chosen, scores)
            code += n_chosen


@kernel
def _turn(block: FloatArray, first: int, n_tile: int, values: FloatArray) -> None:
    """Turn some rows on their side, with zeros behind the last."""
    n_columns = len(values)
    n_whole = n_tile - n_tile % LANES if n_columns >= LANES else 0
    for row in range(0, n_whole, LANES):
        for column in range(0, n_columns, LANES):  # the last eight begin among those before, and end with the last
            start = min(column, n_columns - LANES)
            copy_turned(block, first + row, start, values, start, row)
    for row in range(n_whole, TILE_ROWS):
        for column in range(n_columns):
            values[column, row] = block[first + row, column] if row < n_tile else 0.0


@kernel
def _add(sums: FloatArray, first: int, n_rows: int, code: int, n_classes: int, scores: FloatArray) -> None:
    """Add the sums (classes, rows) of some classes for some rows to their scores."""
    if n_classes == LANES and n_rows == SUMMED_ROWS:
        for row in range(0, SUMMED_ROWS, LANES):
            add_turned(sums, 0, row, scores, first + row, code)
        return
    for row in range(n_rows):
        for chosen in range(n_classes):
            scores[first + row, code + chosen] += sums[chosen, row]
