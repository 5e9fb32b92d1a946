"""Value effects: columns that let a class prefer a value beyond what its weighed evidence says.

A *basis* maps the cells of one column (n,) to effect columns (n, k); a missing cell has none. The same basis reads the
kept rows, when effects are fitted, and the knots or values of a table, when they are folded into it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from naively.families._bins import equal_frequency
from naively.families._stacking import standard_scores
from naively.statistics._histogram import Histogram
from naively.typing import AnyArray, FloatArray, IntArray

Basis = Callable[[AnyArray], FloatArray]

EFFECT_BINS = 8  # equal-frequency bins of a numeric column, beside its linear score; 0 leaves them out
BLOCK_VALUES = 1 << 12
FEW_VALUES = 64
"""A column with more values that have an effect is read as a sparse one."""

MIN_ROWS = 2  # a category in one kept row would only learn that row


def no_basis(cells: AnyArray) -> FloatArray:
    """The basis of a column without value effects."""
    return np.zeros((len(cells), 0))


def numeric_basis(histogram: Histogram, bins: int = EFFECT_BINS) -> Basis:
    """Return the basis of a numeric column: its normal score, and one-hot equal-frequency bins."""
    cells, counts = histogram.values(), histogram.counts
    scores = standard_scores(counts)
    if len(cells) < 2:
        return lambda values: np.zeros((len(values), 0))
    first = np.flatnonzero(np.diff(equal_frequency(counts, bins))) + 1 if bins else np.empty(0, np.int64)
    cuts = (cells[first - 1] + cells[first]) / 2

    def columns(values: AnyArray) -> FloatArray:
        observed = ~np.isnan(values)
        known = values[observed]
        result = np.zeros((len(values), 1 + (len(cuts) + 1 if bins else 0)))
        result[observed, 0] = np.interp(known, cells, scores)
        if bins:
            result[observed, 1 + np.searchsorted(cuts, known, side="right")] = 1.0
        return result

    return columns


def effect_table(effects: FloatArray, basis: Basis, values: AnyArray) -> FloatArray:
    """Return what effects (classes, effects) say of values (n,), (classes, n), a few at a time: a basis is wide."""
    blocks = [values[start : start + BLOCK_VALUES] for start in range(0, len(values), BLOCK_VALUES)]
    return np.concatenate([np.zeros((len(effects), 0)), *((basis(block) @ effects.T).T for block in blocks)], axis=1)


def category_basis(kept: IntArray) -> Basis:
    """Return the basis of a categorical column: one-hot of the values that occur often enough among the kept rows.

    A column with one value has none: its effect would be a class bias.
    """
    values, rows = np.unique(kept[kept >= 0], return_counts=True)
    if len(values) < 2:
        return no_basis
    values = values[rows >= MIN_ROWS]
    if len(values) <= FEW_VALUES:
        return lambda codes: np.asarray(codes[:, None] == values, dtype=np.float64)
    return lambda codes: _one_hot(codes, values)


def _one_hot(codes: IntArray, values: IntArray) -> FloatArray:
    """Which of many values (values,), ascending, each code is: a sparse array (n, values)."""
    place = np.minimum(np.searchsorted(values, codes), len(values) - 1)
    known = values[place] == codes
    ends = np.concatenate([[0], np.cumsum(known)])
    found: FloatArray = sparse.csr_array((np.ones(ends[-1]), place[known], ends), shape=(len(codes), len(values)))
    return found
