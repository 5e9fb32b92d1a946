"""Additive statistics of cell pairs and triples by class, and the estimates made of them.

A sum of statistics is the statistics of the joined rows, a difference forgets rows exactly, and a
weight equals so many repetitions. The bins and the base measure of a column are frozen in the plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from naively._kernels import repays_compiler
from naively._weighing.discretise import BinPlan
from naively.typing import FloatArray, IntArray

# Below so many elementary additions the plain NumPy path is faster than loading compiled code.


@dataclass(frozen=True)
class PairCounts:
    """Weights of rows by class and cell pair.

    Attributes
    ----------
    class_weights
        Weight of each class (classes,).
    pairs
        Symmetric (cells, cells, classes); the diagonal holds the single cells.
    """

    class_weights: FloatArray
    pairs: FloatArray

    def __add__(self, other: PairCounts) -> PairCounts:
        return PairCounts(self.class_weights + other.class_weights, self.pairs + other.pairs)

    def __sub__(self, other: PairCounts) -> PairCounts:
        return PairCounts(forget(self.class_weights, other.class_weights), forget(self.pairs, other.pairs))

    def __rmul__(self, factor: float) -> PairCounts:
        return PairCounts(factor * self.class_weights, factor * self.pairs)

    @property
    def singles(self) -> FloatArray:
        """Weight of each cell by class (cells, classes)."""
        return np.ascontiguousarray(self.pairs.diagonal(axis1=0, axis2=1).T)


@dataclass(frozen=True)
class TripleCounts:
    """Pair counts and the packed weights of code triples (cells of column triples i < k < m, classes)."""

    base: PairCounts
    triples: FloatArray

    def __add__(self, other: TripleCounts) -> TripleCounts:
        return TripleCounts(self.base + other.base, self.triples + other.triples)

    def __sub__(self, other: TripleCounts) -> TripleCounts:
        return TripleCounts(self.base - other.base, forget(self.triples, other.triples))

    def __rmul__(self, factor: float) -> TripleCounts:
        return TripleCounts(factor * self.base, factor * self.triples)


def forget(whole: FloatArray, part: FloatArray) -> FloatArray:
    """Subtract counts; forgetting rows that were never counted is an error.

    Raises
    ------
    ValueError
        If a count would fall below zero by more than rounding.
    """
    rest = whole - part
    if np.any(rest < -1e-9 * np.maximum(whole, 1.0)):
        raise ValueError("Cannot forget rows that were never counted: a count would fall below zero.")
    return np.maximum(rest, 0.0)


def count_pairs(cells: IntArray, target: IntArray, n_cells: int, n_classes: int, weights: FloatArray) -> PairCounts:
    """Count the cell pairs of all rows, in one pass."""
    class_weights = np.bincount(target, weights=weights, minlength=n_classes).astype(np.float64)
    if repays_compiler(cells.size * cells.shape[1]):
        from naively._kernels import dependence as kernels

        upper = np.zeros((n_cells, n_cells, n_classes))
        kernels.count_pairs(cells, target, weights, upper)
    else:
        upper = count_pairs_reference(cells, target, n_cells, n_classes, weights)
    pairs = upper + upper.transpose(1, 0, 2)
    diagonal = np.arange(n_cells)
    pairs[diagonal, diagonal] = upper[diagonal, diagonal]
    return PairCounts(class_weights, pairs)


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


def triple_starts(sizes: IntArray) -> IntArray:
    """Where each column triple i < k < m begins in the packed table, and behind it the table's length."""
    volumes = [int(sizes[i] * sizes[k] * sizes[m]) for i, k, m in combinations(range(len(sizes)), 3)]
    return np.concatenate([[0], np.cumsum(volumes)]).astype(np.int64)


def count_triples(
    codes: IntArray, target: IntArray, plan: BinPlan, n_classes: int, weights: FloatArray
) -> TripleCounts:
    """Count code pairs and triples of all rows, in one pass."""
    cells = np.where(codes < 0, -1, codes + plan.offsets)
    base = count_pairs(cells, target, plan.n_cells, n_classes, weights)
    sizes = np.asarray(plan.sizes, dtype=np.int64)
    if repays_compiler(codes.size * codes.shape[1] ** 2):
        from naively._kernels import dependence as kernels

        starts = triple_starts(sizes)
        triples = np.zeros((int(starts[-1]), n_classes))
        kernels.count_triples(codes, target, weights, sizes, starts, triples)
    else:
        triples = count_triples_reference(codes, target, sizes, n_classes, weights)
    return TripleCounts(base, triples)


def count_triples_reference(
    codes: IntArray, target: IntArray, sizes: IntArray, n_classes: int, weights: FloatArray
) -> FloatArray:
    """`kernels.count_triples` in plain NumPy: one bincount per triple of columns."""
    starts = triple_starts(sizes)
    triples = np.zeros((int(starts[-1]), n_classes))
    for t, (i, k, m) in enumerate(combinations(range(len(sizes)), 3)):
        a, b, c = codes[:, i], codes[:, k], codes[:, m]
        seen = (a >= 0) & (b >= 0) & (c >= 0)
        flat = ((a[seen] * sizes[k] + b[seen]) * sizes[m] + c[seen]) * n_classes + target[seen]
        volume = int(starts[t + 1] - starts[t])
        counted = np.bincount(flat, weights=weights[seen], minlength=volume * n_classes)
        triples[starts[t] : starts[t + 1]] = counted.reshape(volume, n_classes)
    return triples


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
