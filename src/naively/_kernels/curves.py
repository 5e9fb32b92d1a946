"""Evidence that is a curve: linear between knots, constant beyond them."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import inlined, kernel
from naively.typing import FloatArray, IntArray


@kernel
def add_curve(
    x: FloatArray, knots: FloatArray, table: FloatArray, missing: FloatArray, guide: IntArray, scores: FloatArray
) -> None:
    """Add the curve (knots, classes) at each value, or `missing` (classes,) where it is NaN, to the scores.

    The guide, of equal steps over the knots, tells where to search, so that most values need no search at all. Over a
    range too small or too large to be cut into steps it is of no use, and all knots are searched.
    """
    first, last = knots[0], knots[-1]
    span = last - first
    pace = (len(guide) - 1) / span if span > 0.0 else np.inf
    guided = len(guide) > 1 and span < np.inf and pace < np.inf
    n_classes = table.shape[1]
    for row in range(len(x)):
        value = x[row]
        if value != value:
            for code in range(n_classes):
                scores[row, code] += missing[code]
            continue
        value = min(max(value, first), last)
        low, high = 0, len(knots) - 2
        if guided:
            step = min(int((value - first) * pace), len(guide) - 2)
            # The product above may round across a step: look one guide further to each side.
            low, high = guide[max(step - 1, 0)], guide[min(step + 2, len(guide) - 1)]
        while low < high:
            middle = (low + high + 1) >> 1
            if knots[middle] <= value:
                low = middle
            else:
                high = middle - 1
        share = _share(value, knots[low], knots[low + 1])
        for code in range(n_classes):
            scores[row, code] += table[low, code] * (1.0 - share) + table[low + 1, code] * share


@inlined
def _share(value: float, left: float, right: float) -> float:
    """How far a value is on the way between two knots; see `reference.share_between`."""
    gap = right - left
    if gap == np.inf:
        return (0.5 * value - 0.5 * left) / (0.5 * right - 0.5 * left)
    return (value - left) / gap if gap > 0.0 else 1.0
