"""Evidence that is a curve: linear between knots, constant beyond them."""

from __future__ import annotations

from naively.kernels.compiling import kernel
from naively.typing import FloatArray, IntArray


@kernel
def add_curve(
    x: FloatArray, knots: FloatArray, table: FloatArray, missing: FloatArray, guide: IntArray, scores: FloatArray
) -> None:
    """Add the curve (knots, classes) at each value, or `missing` (classes,) where it is NaN, to the scores.

    The guide, of equal steps over the knots, tells where to search, so that most values need no search at all.
    """
    first, last = knots[0], knots[-1]
    pace = (len(guide) - 1) / (last - first)
    n_classes = table.shape[1]
    for row in range(len(x)):
        value = x[row]
        if value != value:
            for code in range(n_classes):
                scores[row, code] += missing[code]
            continue
        value = min(max(value, first), last)
        step = min(int((value - first) * pace), len(guide) - 2)
        # The product above may round across a step: look one guide further to each side.
        low, high = guide[max(step - 1, 0)], guide[min(step + 2, len(guide) - 1)]
        while low < high:
            middle = (low + high + 1) >> 1
            if knots[middle] <= value:
                low = middle
            else:
                high = middle - 1
        share = (value - knots[low]) / (knots[low + 1] - knots[low])
        for code in range(n_classes):
            scores[row, code] += table[low, code] * (1.0 - share) + table[low + 1, code] * share
