"""Pairs of columns: bins, counts of cell pairs by class, and what two columns say together beyond each alone.

The correction of columns i and k is ``r(y) = log P(x_i, x_k | y) - log P(x_i | y) P(x_k | y)`` with the joint drawn to
the product. A row leaves the joint counts but not the product under them: without the row both marginals fall, the
ratio would *rise* for the row's own class, and would tell it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from naively._kernels import repays_compiler, with_reference
from naively._weighing.terms import Column
from naively.families._bins import equal_frequency_cuts
from naively.typing import FloatArray, IntArray

SHRINKAGE = 10.0
"""Rows by which the joint table of two columns is drawn to the product of its margins."""

MARGINAL_BACK_OFF = 1.0
"""Rows by which the margins of a class are drawn to those of all classes."""

BLOCK_NUMBERS = 4_000_000
"""Numbers held at once while pairs are measured."""

# -- bins -------------------------------------------------------------------------------------------------------------

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


# -- counts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairCounts:
    """Weights of rows by class and cell pair.

    Parameters
    ----------
    pairs : ndarray (cells, cells, classes)
        Symmetric; the diagonal holds the single cells.
    """

    pairs: FloatArray

    @property
    def singles(self) -> FloatArray:
        """Weight of each cell by class (cells, classes)."""
        return np.ascontiguousarray(self.pairs.diagonal(axis1=0, axis2=1).T)


@with_reference
def count_pairs(cells: IntArray, target: IntArray, n_cells: int, n_classes: int, weights: FloatArray) -> PairCounts:
    """Count the cell pairs of all rows, in one pass."""
    if repays_compiler(cells.size * cells.shape[1]):
        from naively._kernels import pairs as kernels

        upper = np.zeros((n_cells, n_cells, n_classes))
        kernels.count_pairs(cells, target, weights, upper)
    else:
        upper = count_pairs_reference(cells, target, n_cells, n_classes, weights)
    pairs = upper + upper.transpose(1, 0, 2)
    diagonal = np.arange(n_cells)
    pairs[diagonal, diagonal] = upper[diagonal, diagonal]
    return PairCounts(pairs)


def count_pairs_reference(
    cells: IntArray, target: IntArray, n_cells: int, n_classes: int, weights: FloatArray
) -> FloatArray:
    """`kernels.count_pairs` in plain NumPy: one bincount per pair of columns."""
    counts = np.zeros(n_cells * n_cells * n_classes)
    n_columns = cells.shape[1]
    for i in range(n_columns):
        for k in range(i, n_columns):
            seen = (cells[:, i] >= 0) & (cells[:, k] >= 0)
            if seen.any():
                # Only the block of rows of the left column is touched: bincount over its own range.
                flat = (cells[seen, i] * n_cells + cells[seen, k]) * n_classes + target[seen]
                first = int(flat.min())
                part = np.bincount(flat - first, weights=weights[seen])
                counts[first : first + len(part)] += part
    return counts.reshape(n_cells, n_cells, n_classes)


def base_measure(counts: PairCounts, plan: BinPlan) -> FloatArray:
    """Probability of each cell within its column, whatever the class (cells,): one pseudo-count each.

    It does not see the class, so like the bins it is frozen when a row is left out.
    """
    totals = counts.singles.sum(axis=1)
    measure = np.empty(plan.n_cells)
    for start, size in zip(plan.offsets, plan.sizes, strict=True):
        column = totals[start : start + size]
        measure[start : start + size] = (column + 1.0) / (column.sum() + size)
    return measure


def column_sums(table: FloatArray, plan: BinPlan, axis: int) -> FloatArray:
    """Sum a table over the cells of each column along ``axis``: weights with that column observed."""
    sums: FloatArray = np.add.reduceat(table, plan.offsets, axis=axis)
    return sums


def marginals(counts: PairCounts, plan: BinPlan) -> FloatArray:
    """P(cell | class) of each column, drawn to its distribution over all classes (cells, classes)."""
    known = np.repeat(column_sums(counts.singles, plan, axis=0), plan.sizes, axis=0)
    return (counts.singles + MARGINAL_BACK_OFF * base_measure(counts, plan)[:, None]) / (known + MARGINAL_BACK_OFF)


# -- corrections ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairCorrections:
    """The log-ratio tables of all column pairs.

    Parameters
    ----------
    counts : PairCounts
    marginal : ndarray (cells, classes)
        P(cell | class), the factors of the product.
    pair_observed : ndarray (columns, columns, classes)
        Weight with two columns observed.
    log_ratio : ndarray (cells, cells, classes)
        r.
    """

    counts: PairCounts
    marginal: FloatArray
    pair_observed: FloatArray
    log_ratio: FloatArray

    def values(self, cells: IntArray, first: IntArray, second: IntArray) -> FloatArray:
        """Corrections (rows, classes, pairs) of some column pairs; 0 where a cell is missing."""
        left, right = cells[:, first], cells[:, second]
        present = (left >= 0) & (right >= 0)
        ratio = self.log_ratio[np.maximum(left, 0), np.maximum(right, 0)] * present[:, :, None]
        return np.ascontiguousarray(ratio.transpose(0, 2, 1))

    def loo_values(
        self, cells: IntArray, target: IntArray, weights: FloatArray, first: IntArray, second: IntArray
    ) -> FloatArray:
        """Corrections (rows, classes, pairs), each row left out of the joint counts of its class."""
        ratio = self.values(cells, first, second)
        own = self.own_values(cells, target, weights, first, second)
        ratio[np.arange(len(cells)), target] = own
        return ratio

    def own_values(
        self, cells: IntArray, target: IntArray, weights: FloatArray, first: IntArray, second: IntArray
    ) -> FloatArray:
        """Left-out corrections of the rows' own classes (rows, pairs); 0 where a cell is missing."""
        marginal = self.marginal[np.maximum(cells, 0), target[:, None]]
        left, right = cells[:, first], cells[:, second]
        present = (left >= 0) & (right >= 0)
        removed = weights[:, None]
        expected = marginal[:, first] * marginal[:, second]
        joint = self.counts.pairs[np.maximum(left, 0), np.maximum(right, 0), target[:, None]]
        both = self.pair_observed[first, second, target[:, None]]
        ratio = _log_ratio(np.maximum(joint - removed, 0.0), np.maximum(both - removed, 0.0), expected)
        return np.where(present, ratio, 0.0)


def _log_ratio(joint: FloatArray, both: FloatArray, expected: FloatArray) -> FloatArray:
    return np.asarray(np.log((joint + SHRINKAGE * expected) / ((both + SHRINKAGE) * expected)))


def estimate_corrections(counts: PairCounts, plan: BinPlan, marginal: FloatArray | None = None) -> PairCorrections:
    """Log-ratio tables of all pairs; `marginal` fixes the marginals, to compare with counts of other rows."""
    marginal = marginals(counts, plan) if marginal is None else marginal
    pair_observed = column_sums(column_sums(counts.pairs, plan, axis=1), plan, axis=0)
    spread = np.repeat(np.repeat(pair_observed, plan.sizes, axis=0), plan.sizes, axis=1)
    expected = marginal[:, None] * marginal[None]
    return PairCorrections(counts, marginal, pair_observed, _log_ratio(counts.pairs, spread, expected))
