"""Sums over small trees, compiled: many rows answer one question at a time, and no row goes its own way.

A tree has at most 16 leaves, numbered from the left. A row that goes right at a node cannot end in the leaves to the
left of it, so each question strikes some leaves out; of those that are left when all were asked, the first one is where
the row ends (Lucchese et al., 2015, "QuickScorer"). Cells are read once, as the number of cuts below them: questions
then compare small whole numbers, many rows at once.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import inlined, kernel
from naively._kernels.tree_reference import ALL_LEAVES, DE_BRUIJN
from naively.typing import AnyArray, FloatArray, IntArray

BLOCK = 512
"""Rows that are asked at once: what is known of them stays in the cache."""


@kernel
def add_small(
    features: FloatArray,
    rows: IntArray,
    asked: IntArray,
    cuts: FloatArray,
    first_cuts: IntArray,
    first_nodes: IntArray,
    nodes: AnyArray,
    values: FloatArray,
    result: FloatArray,
) -> None:
    """Add what all trees say of some rows to `result` (all rows, classes); no cell of these rows may be missing.

    Parameters
    ----------
    features : ndarray (all rows, features)
    rows : ndarray
        The rows in question.
    asked : ndarray
        The features that trees ask for.
    cuts, first_cuts : ndarray
        The cuts of each of these, ascending, and where they begin.
    first_nodes, nodes : ndarray (trees + 1,), int32 ndarray (nodes, 3)
        Where the nodes of each tree begin; and of each node the place of its feature among those that are asked for,
        the place of its cut, and the leaves, as bits, that are left if a row goes right.
    values : ndarray (trees, classes, 16)
        What the leaves add to the classes, at the places that `_ends` gives to them.
    """
    n_classes = values.shape[1]
    codes = np.empty((len(asked), BLOCK), dtype=np.int16)
    cells, low = np.zeros(BLOCK), np.zeros(BLOCK, dtype=np.int64)
    left = np.empty(BLOCK, dtype=np.uint16)
    sums = np.empty((n_classes, BLOCK))
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        for place in range(len(asked)):
            for one in range(len(block)):
                cells[one] = features[block[one], asked[place]]
            _count_cuts(cells, cuts[first_cuts[place] : first_cuts[place + 1]], low, codes[place])
        sums[:] = 0.0
        for tree in range(len(first_nodes) - 1):
            left[:] = ALL_LEAVES
            for node in range(first_nodes[tree], first_nodes[tree + 1]):
                _strike_out(codes[nodes[node, 0]], np.int16(nodes[node, 1]), np.uint16(nodes[node, 2]), left)
            _ends(left)
            for label in range(n_classes):
                _add(values[tree, label], left, sums[label])
        for one in range(len(block)):
            for label in range(n_classes):
                result[block[one], label] += sums[label, one]


@inlined
def _count_cuts(cells: FloatArray, cuts: FloatArray, low: IntArray, codes: IntArray) -> None:
    """How many cuts lie below the cell of each row: a search in which all rows take each step together."""
    low[:] = 0
    n_left = len(cuts)
    while n_left > 1:
        half = n_left >> 1
        for one in range(BLOCK):
            low[one] += half * (cuts[np.uint64(low[one] + half - 1)] < cells[one])
        n_left -= half
    for one in range(BLOCK):
        codes[one] = low[one] + (cuts[np.uint64(low[one])] < cells[one])


@inlined
def _strike_out(codes: IntArray, cut: int, kept: int, left: AnyArray) -> None:
    """Of rows beyond a cut, strike out the leaves that are not kept."""
    for one in range(BLOCK):
        left[one] &= kept if codes[one] > cut else np.uint16(ALL_LEAVES)


@inlined
def _ends(left: AnyArray) -> None:
    """The first leaf that is left, by the place of its values."""
    for one in range(BLOCK):
        left[one] = np.uint16((left[one] & -left[one]) * DE_BRUIJN) >> np.uint16(12)


@inlined
def _add(values: FloatArray, places: AnyArray, sums: FloatArray) -> None:
    for one in range(BLOCK):
        sums[one] += values[places[one] & 15]
