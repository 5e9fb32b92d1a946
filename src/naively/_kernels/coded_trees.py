"""Sums over trees that ask for small whole numbers, compiled: cells are read once, as the number of cuts below them.

No cell may be missing. All rows take a step before any takes the next, so that no branch depends on where a row goes.

A small tree has at most 16 leaves, numbered from the left. A row that goes right at a node cannot end in the leaves to
the left of it, so each question strikes some leaves out; of those that are left when all were asked, the first one is
where the row ends (Lucchese et al., 2015, "QuickScorer"). The other trees are walked.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import inlined, kernel
from naively._kernels.tree_reference import ALL_LEAVES, CODE_BITS, DE_BRUIJN, LINK_BITS, TOGETHER
from naively.typing import AnyArray, FloatArray, IntArray

CODE_MASK = (1 << CODE_BITS) - 1

WALKING = 128
"""Rows that go down a large tree together: what they hold stays in the cache."""

STEPS = 4
"""Steps after which it is asked which of them have arrived."""


@kernel
def count_cuts(
    features: FloatArray, rows: IntArray, asked: IntArray, cuts: FloatArray, first_cuts: IntArray, codes: AnyArray
) -> None:
    """Count the cuts below cells: of some rows, and of the features that are asked for.

    Parameters
    ----------
    features : ndarray (all rows, features)
    rows, asked : ndarray
        Which of them.
    cuts, first_cuts : ndarray
        The cuts of each of the features asked for, ascending, and where they begin.
    codes : uint16 ndarray (asked, rows), to be written
        It has room for whole blocks of rows.
    """
    cells, low = np.zeros(TOGETHER), np.zeros(TOGETHER, dtype=np.int64)
    for place in range(len(asked)):
        of_feature = cuts[first_cuts[place] : first_cuts[place + 1]]
        for start in range(0, len(rows), TOGETHER):
            for one in range(min(TOGETHER, len(rows) - start)):
                cells[one] = features[rows[start + one], asked[place]]
            low[:] = 0
            n_left = len(of_feature)
            while n_left > 1:
                half = n_left >> 1
                for one in range(TOGETHER):
                    low[one] += half * (of_feature[np.uint64(low[one] + half - 1)] < cells[one])
                n_left -= half
            for one in range(TOGETHER):
                codes[place, start + one] = low[one] + (of_feature[np.uint64(low[one])] < cells[one])


@kernel
def add_small(codes: AnyArray, first_nodes: IntArray, nodes: AnyArray, values: FloatArray, result: FloatArray) -> None:
    """Add what small trees say of rows to `result` (rows, classes).

    Parameters
    ----------
    codes : uint16 ndarray (asked, rows)
        It has room for whole blocks of rows.
    first_nodes, nodes : ndarray (trees + 1,), int32 ndarray (nodes, 3)
        Where the nodes of each tree begin; and of each node the place of its feature among those that are asked for,
        the place of its cut, and the leaves, as bits, that are left if a row goes right.
    values : ndarray (trees, classes, 16)
        What the leaves add to the classes, at the places that `_first_left` gives to them.
    """
    n_rows, n_classes = result.shape
    left = np.empty(TOGETHER, dtype=np.uint16)
    sums = np.empty((n_classes, TOGETHER))
    for start in range(0, n_rows, TOGETHER):
        sums[:] = 0.0
        for tree in range(len(first_nodes) - 1):
            left[:] = ALL_LEAVES
            for node in range(first_nodes[tree], first_nodes[tree + 1]):
                block = codes[nodes[node, 0], start : start + TOGETHER]
                _strike_out(block, np.uint16(nodes[node, 1]), np.uint16(nodes[node, 2]), left)
            _first_left(left)
            for label in range(n_classes):
                _add(values[tree, label], left, sums[label])
        for one in range(min(TOGETHER, n_rows - start)):
            for label in range(n_classes):
                result[start + one, label] += sums[label, one]


@inlined
def _strike_out(codes: AnyArray, cut: int, kept: int, left: AnyArray) -> None:
    """Of rows beyond a cut, strike out the leaves that are not kept."""
    for one in range(TOGETHER):
        left[one] &= kept if codes[one] > cut else np.uint16(ALL_LEAVES)


@inlined
def _first_left(left: AnyArray) -> None:
    """Of the leaves that are left the first, by the place of its values."""
    for one in range(TOGETHER):
        left[one] = np.uint16((left[one] & -left[one]) * DE_BRUIJN) >> np.uint16(12)


@inlined
def _add(values: FloatArray, places: AnyArray, sums: FloatArray) -> None:
    for one in range(TOGETHER):
        sums[one] += values[places[one] & 15]


@kernel
def add_large(codes: AnyArray, roots: IntArray, nodes: IntArray, values: AnyArray, result: FloatArray) -> None:
    """Add what trees of any size say of rows to `result` (rows, classes).

    Parameters
    ----------
    codes : uint16 ndarray (rows, asked)
    roots : ndarray (trees,)
    nodes : int64 ndarray (nodes,)
        The right one of the next nodes, the place of the feature, and a number that the codes of rows that go left are
        below: 0 at a leaf, which has itself to the right, so that rows stay there.
    values : ndarray (nodes, classes)
    """
    n_rows, n_classes = result.shape
    width = np.uint32(codes.shape[1])
    at, going = np.empty(WALKING, dtype=np.uint32), np.empty(WALKING, dtype=np.uint32)
    for root in roots:  # all rows go down one tree before the next, which then stays in the cache
        for start in range(0, n_rows, WALKING):
            block = codes[start : start + WALKING].reshape(-1)
            n_going = min(WALKING, n_rows - start)
            for one in range(n_going):
                at[one], going[one] = root, one
            while n_going > 0:
                for _ in range(STEPS):
                    for one in range(n_going):
                        node = nodes[at[one]]
                        code = np.int64(block[going[one] * width + np.uint32((node >> CODE_BITS) & CODE_MASK)])
                        is_left = code < (node & CODE_MASK)
                        at[one] = at[one] + np.uint32(1) if is_left else np.uint32(node >> LINK_BITS)
                n_still = 0
                for one in range(n_going):
                    row, end = going[one], at[one]
                    if nodes[end] >> LINK_BITS != end:
                        going[n_still], at[n_still] = row, end
                        n_still += 1
                    else:
                        for label in range(n_classes):
                            result[start + row, label] += values[end, label]
                n_going = n_still
