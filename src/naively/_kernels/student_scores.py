"""The log-density of Student's t of each row, summed over the columns, for every class."""

from __future__ import annotations

import math

from naively._kernels.compiling import kernel
from naively.typing import FloatArray


@kernel
def add_student(
    block: FloatArray,
    location: FloatArray,
    scale: FloatArray,
    peak: FloatArray,
    power: FloatArray,
    most: float,
    scores: FloatArray,
) -> None:
    """Add ``peak - power * log1p(((x - location) * scale)**2)`` of every known cell to the scores (rows, classes).

    The parameters have shape (columns, classes); the deviation is held within ``+-most`` so that its square is finite.
    """
    for row in range(block.shape[0]):
        for column in range(block.shape[1]):
            value = block[row, column]
            if value != value:
                continue
            for code in range(scores.shape[1]):
                deviation = min(abs((value - location[column, code]) * scale[column, code]), most)
                scores[row, code] += peak[column, code] - power[column, code] * math.log1p(deviation * deviation)
