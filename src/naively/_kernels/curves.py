"""Evidence that is a curve: linear between knots, constant beyond them."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import inlined, kernel
from naively.typing import FloatArray, IntArray


@kernel
def add_curves(
    block: FloatArray,
    knots: FloatArray,
    ends: IntArray,
    table: FloatArray,
    missing: FloatArray,
    guides: IntArray,
    scores: FloatArray,
) -> None:
    """Add the curve of each column at each of its values, or what a missing one says (columns, classes), to the scores.

    The knots of all curves, and with them the rows of the table (knots, classes), lie one after the other, those of a
    curve up to its end. A guide, of equal steps over the knots, has the last knot before each step and so tells where
    to search: most values have at most one knot in their step. Over a range too small or too large to be cut into steps
    it is of no use, and all knots are searched.
    """
    n_rows, n_columns = block.shape
    n_classes, n_steps = scores.shape[1], guides.shape[1] - 1
    start = 0
    for column in range(n_columns):
        stop, guide = ends[column], guides[column]
        first, last = knots[start], knots[stop - 1]
        span = last - first
        pace = n_steps / span if span > 0.0 else np.inf
        guided = span < np.inf and pace < np.inf
        for row in range(n_rows):
            value = block[row, column]
            if value != value:
                for code in range(n_classes):
                    scores[row, code] += missing[column, code]
                continue
            value = min(max(value, first), last)
            low, high = np.uint64(start), np.uint64(stop - 2)  # unsigned: never from the end
            if guided:
                step = np.uint64(min(int((value - first) * pace), n_steps - 1))
                low, high = np.uint64(start + guide[step]), np.uint64(start + guide[step + np.uint64(1)])
            while high - low > np.uint64(1):
                middle = (low + high + np.uint64(1)) >> np.uint64(1)
                if knots[middle] <= value:
                    low = middle
                else:
                    high = middle - np.uint64(1)
            low += (high - low) * np.uint64(knots[high] <= value)  # no branch, which would be a coin toss
            after = low + np.uint64(1)
            share = _share(value, knots[low], knots[after])
            for code in range(n_classes):
                scores[row, code] += table[low, code] * (1.0 - share) + table[after, code] * share
        start = stop


@inlined
def _share(value: float, left: float, right: float) -> float:
    """How far a value is on the way between two knots; see `reference.share_between`."""
    gap = right - left
    if gap == np.inf:
        return (0.5 * value - 0.5 * left) / (0.5 * right - 0.5 * left)
    return (value - left) / gap if gap > 0.0 else 1.0
