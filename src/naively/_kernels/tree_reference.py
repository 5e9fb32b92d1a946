"""Sums over trees, in plain NumPy: all rows and trees go down together, level by level.

The parts of a row stay in the order in which the compiled kernel meets them, tree by tree and left before right, so
that both add them up alike, to the last bit.
"""

from __future__ import annotations

import numpy as np

from naively.typing import AnyArray, FloatArray, IntArray

LEAST_SHARE = 1 / 64
"""A part of a row that is worth less than this stops where it is, and takes the mean of what lies below."""

FEATURE_BITS = 32
"""Of the link of a node, the lower bits say which feature it asks for, the upper ones which node lies to the right."""

CODE_BITS = 16
"""Of a node that asks for a code, the bits that hold it; as many hold the place of the feature."""

LINK_BITS = 2 * CODE_BITS
"""The bits above these say which node lies to the right."""

TOGETHER = 512
"""Rows that are asked at once: what is known of them stays in the cache."""

MOST_LEAVES = 16
"""Trees with no more are small: their leaves are the bits of one number."""

ALL_LEAVES = (1 << MOST_LEAVES) - 1

DE_BRUIJN = 0x09AF
"""The powers of two up to 2 ** 15, times this, differ in the bits 12 to 15: they tell which bit is set."""

BLOCK_PATHS = 1 << 18
"""Pairs of a row and a tree that go down at once."""


def total(
    features: FloatArray,
    roots: IntArray,
    nodes: FloatArray,
    links: IntArray,
    share: AnyArray,
    values: AnyArray,
    result: FloatArray,
) -> None:
    """Add what all trees say of rows to `result` (rows, classes); see `naively._weighing.trees.Trees.for_walk`."""
    cut, feature, right = nodes[:, 0], links[:, 1] & ((1 << FEATURE_BITS) - 1), links[:, 1] >> FEATURE_BITS
    step = max(1, BLOCK_PATHS // max(len(roots), 1))
    for start in range(0, len(features), step):
        block = features[start : start + step]
        rows = np.repeat(np.arange(len(block)), len(roots))
        at: AnyArray = np.tile(roots, len(block))
        parts: AnyArray = np.ones(len(rows))
        goes_on = np.arange(len(rows))
        while len(goes_on):
            here = at[goes_on]
            cells = block[rows[goes_on], feature[here]]
            leaf = right[here] == here
            unknown = np.isnan(cells) & ~leaf
            ends = leaf | (unknown & (parts[goes_on] < LEAST_SHARE))
            goes = ~ends & ~unknown
            at[goes_on[goes]] = np.where(cells[goes] <= cut[here[goes]], here[goes] + 1, right[here[goes]])
            both, goes_on = goes_on[~ends & unknown], goes_on[~ends]
            if len(both):
                rows, at, parts, goes_on = _split(rows, at, parts, goes_on, both, right, share)
        addends = parts[:, None] * values[at]
        for label in range(result.shape[1]):
            result[start : start + step, label] += np.bincount(rows, weights=addends[:, label], minlength=len(block))


def _split(
    rows: IntArray,
    nodes: IntArray,
    parts: FloatArray,
    goes_on: IntArray,
    both: IntArray,
    right: IntArray,
    share: AnyArray,
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """Let the parts of rows at the places `both` go both ways: each becomes two, one after the other."""
    times = np.ones(len(rows), dtype=np.int64)
    times[both] = 2
    first = np.cumsum(times) - times
    wider_nodes: AnyArray = np.repeat(nodes, times)
    wider_parts: AnyArray = np.repeat(parts, times)
    part_left = parts[both] * share[nodes[both]]
    at = first[both]
    wider_nodes[at], wider_nodes[at + 1] = nodes[both] + 1, right[nodes[both]]
    wider_parts[at], wider_parts[at + 1] = part_left, parts[both] - part_left
    return np.repeat(rows, times), wider_nodes, wider_parts, np.sort(np.concatenate([first[goes_on], at + 1]))
