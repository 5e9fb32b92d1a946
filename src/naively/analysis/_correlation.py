"""The correlation of columns of numbers within the classes."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from naively._common.blas import one_blas_thread
from naively.typing import FloatArray, IntArray

LEAST_FREEDOM = 2
"""A correlation needs so many rows beyond those that the means take."""

ROUNDING = 1e-13
"""What is left of a difference below this share of its parts is rounding."""

WIDE = 256
"""From so many columns on, products are large enough for several threads; below, these would only wait."""


def in_units_of_spread(block: FloatArray, codes: IntArray) -> FloatArray:
    """Columns less their class means, in units of their spread: correlations stay, and nothing cancels."""
    result = block.copy()
    for code in np.unique(codes):
        rows = codes == code
        known = ~np.isnan(block[rows])
        share = 1 / np.maximum(known.sum(axis=0), 1)
        result[rows] -= np.where(known, block[rows] * share, 0.0).sum(axis=0)
    spread = np.nanmax(np.abs(result), axis=0, initial=0.0)
    varies = spread > ROUNDING * np.nanmax(np.abs(block), axis=0, initial=0.0)
    return np.asarray(np.where(np.isnan(block), np.nan, np.where(varies, result / np.where(varies, spread, 1.0), 0.0)))


def correlations(values: FloatArray, codes: IntArray, part: slice, weights: FloatArray | None = None) -> FloatArray:
    """The correlation, within the classes, of some columns with all, over the rows where both are known.

    Parameters
    ----------
    values : ndarray of shape (rows, columns)
        NaN where missing; as `in_units_of_spread` makes them.
    codes : ndarray of shape (rows,)
        The class of each row; all the same for plain correlations.
    part : slice
        Of the columns.
    weights : ndarray of shape (rows,), optional

    Returns
    -------
    ndarray of shape (columns of the part, columns)
        NaN where either does not vary, or where too few rows are known.

    Examples
    --------
    >>> values = np.array([[0.0, 5.0], [1.0, 4.0], [2.0, 3.0], [3.0, np.nan]])
    >>> correlations(values, np.zeros(4, dtype=int), slice(0, 1)).round(3).tolist()
    [[1.0, -1.0]]
    """
    shape = (len(range(*part.indices(values.shape[1]))), values.shape[1])
    product, first, second, freedom = (np.zeros(shape) for _ in range(4))
    with one_blas_thread() if values.shape[1] < WIDE else nullcontext():
        for code in np.unique(codes):
            chosen = codes == code
            rows = values[chosen]
            known = (~np.isnan(rows)).astype(np.float64)
            rows = np.where(known > 0, rows, 0.0)
            weight = 1.0 if weights is None else weights[chosen][:, None]
            own, own_known = (weight * rows[:, part]).T, (weight * known[:, part]).T
            count = own_known @ known
            some = np.where(count > 0, count, 1.0)
            first_sum, second_sum = own @ known, own_known @ rows
            product += own @ rows - first_sum * second_sum / some
            first_squares, second_squares = (own * rows[:, part].T) @ known, own_known @ np.square(rows)
            first += _spread(first_squares, np.square(first_sum) / some)
            second += _spread(second_squares, np.square(second_sum) / some)
            freedom += np.maximum(count - 1, 0)
    enough = (freedom >= LEAST_FREEDOM) & (first > 0) & (second > 0)
    scale = np.sqrt(np.where(enough, first, 1.0)) * np.sqrt(np.where(enough, second, 1.0))
    return np.where(enough, np.clip(product / scale, -1.0, 1.0), np.nan)


def _spread(squares: FloatArray, of_means: FloatArray) -> FloatArray:
    """Sums of squares less those of the means; 0 where that is rounding."""
    left = squares - of_means
    return np.where(left > ROUNDING * squares, left, 0.0)
