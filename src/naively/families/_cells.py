"""Leave-one-out of the families that read the cells of a histogram."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from naively.errors import ForgetError
from naively.families.base import LeftOut
from naively.statistics._histogram import Histograms
from naively.typing import FloatArray, IntArray

LeftOutColumn = Callable[[IntArray, IntArray, FloatArray], FloatArray]
"""From the cells, class codes and weights of rows to their log-likelihoods (classes, rows) without them."""


def left_out(histograms: Histograms, columns: Sequence[LeftOutColumn | None]) -> LeftOut:
    """Leave-one-out of a family that reads its histograms' cells; None for a column that says nothing."""

    def evidence(block: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
        result = np.zeros((*block.shape, histograms.n_classes))
        for place, (name, histogram) in enumerate(zip(histograms.columns, histograms.histograms, strict=True)):
            cells = histogram.cell_of(block[:, place])
            unknown = (cells < 0) & ~np.isnan(block[:, place]) & (weights > 0)
            if unknown.any():
                raise ForgetError(
                    f"Column {name!r}: the value {block[unknown, place][0]!r} was never learnt. Only rows that the "
                    "model has learnt can be left out."
                )
            column, known = columns[place], np.flatnonzero(cells >= 0)
            if column is not None:
                result[known, place] = column(cells[known], codes[known], weights[known]).T
        return result

    return LeftOut("numbers", evidence)
