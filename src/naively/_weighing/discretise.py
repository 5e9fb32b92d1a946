"""Turn mixed columns into small integer codes, with bins frozen as cut points.

A *bin plan* is learnt once, without the class, and never changes: counts made under one plan can be
added and subtracted, and leaving a row out does not move a cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from naively._weighing.terms import Column
from naively.typing import FloatArray, IntArray

MISSING = -1

TOO_MANY = 1 << 40
"""How many values prose has: too many for any table."""


@dataclass(frozen=True)
class BinPlan:
    """How each column becomes codes ``0 .. size - 1``; ``-1`` is missing.

    Attributes
    ----------
    cuts
        Per column, increasing cut points of a numeric column, or ``None`` for a categorical one.
        A value equal to a cut belongs to the bin above it.
    sizes
        Number of codes of each column.
    """

    cuts: tuple[FloatArray | None, ...]
    sizes: tuple[int, ...]

    @property
    def offsets(self) -> IntArray:
        """First *cell* of each column, when the cells of all columns are numbered in one row."""
        return np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)[:-1]]).astype(np.int64)

    @property
    def n_cells(self) -> int:
        """Number of cells of all columns together."""
        return int(sum(self.sizes))

    def cells(self, columns: Sequence[Column]) -> IntArray:
        """Cell numbers (rows, columns): code plus the offset of its column, ``-1`` if missing."""
        codes = encode(columns, self)
        return np.where(codes == MISSING, MISSING, codes + self.offsets)


def equal_frequency_cuts(values: FloatArray, weights: FloatArray | None = None, n_bins: int = 10) -> FloatArray:
    """Cut points that give bins of nearly equal weight.

    Parameters
    ----------
    values
        Values, or the representatives of histogram cells. NaN is ignored.
    weights
        Weight of each value (the counts of the histogram cells); 1 each if not given.
    n_bins
        Number of bins wanted; ties may leave fewer. With at most ``n_bins`` distinct values each
        value gets its own bin: no cut could say more.

    Returns
    -------
    Increasing cut points, each between two neighbouring distinct values.
    """
    values = np.asarray(values, dtype=np.float64)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    used = ~np.isnan(values) & (weights > 0)
    distinct, inverse = np.unique(values[used], return_inverse=True)
    if len(distinct) < 2:
        return np.empty(0)
    if len(distinct) <= n_bins:
        boundaries = np.arange(1, len(distinct))
    else:
        cumulative = np.cumsum(np.bincount(inverse, weights=weights[used]))
        targets = cumulative[-1] * np.arange(1, n_bins) / n_bins
        above = np.clip(np.searchsorted(cumulative, targets), 1, len(distinct) - 1)
        # The boundary whose cumulative weight is nearest to the target: heavy ties stay whole.
        nearer_below = targets - cumulative[above - 1] <= cumulative[above] - targets
        boundaries = np.unique(np.where(nearer_below, above, above + 1))
        boundaries = boundaries[boundaries < len(distinct)]
    lower, upper = distinct[boundaries - 1], distinct[boundaries]
    # Halving first cannot overflow; where the two halves round to the lower value, cut at the upper.
    middle = lower / 2 + upper / 2
    return np.where((middle > lower) & (middle < upper), middle, upper)


def plan_bins(
    columns: Sequence[Column],
    n_bins: int,
    weights: FloatArray | None = None,
    n_categories: Sequence[int | None] | None = None,
) -> BinPlan:
    """Equal-frequency bins for numeric columns, categories as they are; prose fits no table.

    Parameters
    ----------
    columns
        ``("numeric", floats with NaN)`` or ``("categorical", codes with -1)`` each.
    n_bins
        Bins of a numeric column.
    weights
        Sample weights.
    n_categories
        Number of categories of each categorical column; from the largest code if not given.
    """
    cuts: list[FloatArray | None] = []
    sizes: list[int] = []
    for index, (kind, values) in enumerate(columns):
        if kind == "text":
            cuts.append(None)
            sizes.append(TOO_MANY)
        elif kind == "numeric":
            column_cuts = equal_frequency_cuts(values, weights, n_bins)
            cuts.append(column_cuts)
            sizes.append(len(column_cuts) + 1)
        else:
            known = n_categories[index] if n_categories is not None else None
            cuts.append(None)
            sizes.append(max(1, known if known is not None else int(np.max(values, initial=0)) + 1))
    return BinPlan(tuple(cuts), tuple(sizes))


def encode(columns: Sequence[Column], plan: BinPlan) -> IntArray:
    """Codes (rows, columns) under a frozen plan; missing cells and unknown categories are ``-1``.

    An unknown category is marginalised like a missing cell: the pair counts know nothing about it.
    """
    n_rows = len(columns[0][1]) if columns else 0
    codes = np.empty((n_rows, len(columns)), dtype=np.int64)
    for index, ((_, values), column_cuts, size) in enumerate(zip(columns, plan.cuts, plan.sizes, strict=True)):
        if column_cuts is None:
            codes[:, index] = np.where((values >= 0) & (values < size), values, MISSING)
        else:
            numbers = np.asarray(values, dtype=np.float64)
            codes[:, index] = np.where(np.isnan(numbers), MISSING, np.searchsorted(column_cuts, numbers, side="right"))
    return codes


def columns_within_budget(sizes: Sequence[int], n_classes: int, power: int, budget: float) -> IntArray:
    """Indices of the columns to keep so that a table of ``n_classes * cells ** power`` fits ``budget``.

    The columns with most cells go first: a column of thousands of rare values has hardly any pair
    seen twice, so it costs the most and says the least there.
    """
    order = np.argsort(sizes, kind="stable")
    cells = np.cumsum(np.asarray(sizes, dtype=np.float64)[order])
    n_kept = int(np.searchsorted(n_classes * cells**power, budget, side="right"))
    return np.sort(order[:n_kept]).astype(np.int64)
