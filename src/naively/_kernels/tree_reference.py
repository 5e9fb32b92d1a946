"""Sums over trees, in plain NumPy: all rows and trees go down together, level by level."""

from __future__ import annotations

import numpy as np

from naively.typing import AnyArray, FloatArray, IntArray

LEAST_SHARE = 1 / 64
"""A part of a row that is worth less than this stops where it is, and takes the mean of what lies below."""

BLOCK_PATHS = 1 << 18
"""Pairs of a row and a tree that go down at once."""


def total(
    features: AnyArray,
    roots: IntArray,
    feature: AnyArray,
    cut: AnyArray,
    left: AnyArray,
    right: AnyArray,
    share: AnyArray,
    values: AnyArray,
    result: FloatArray,
) -> None:
    """Add what all trees say of rows to `result` (rows, classes); see `naively._weighing.trees.Trees`."""
    step = max(1, BLOCK_PATHS // max(len(roots), 1))
    for start in range(0, len(features), step):
        block = features[start : start + step]
        rows = np.repeat(np.arange(len(block)), len(roots))
        nodes, parts = np.tile(roots, len(block)), np.ones(len(rows))
        while len(rows):
            asked = feature[nodes]
            cells = block[rows, np.maximum(asked, 0)]
            unknown = np.isnan(cells) & (asked >= 0)
            ends = (asked < 0) | (unknown & (parts < LEAST_SHARE))
            _add_at(result[start : start + step], rows[ends], parts[ends, None] * values[nodes[ends]])
            goes = ~ends & ~unknown
            both = ~ends & unknown
            goes_left = cells[goes] <= cut[nodes[goes]]
            downward = np.where(goes_left, left[nodes[goes]], right[nodes[goes]])
            part_left = parts[both] * share[nodes[both]]
            rows = np.concatenate([rows[goes], rows[both], rows[both]])
            parts = np.concatenate([parts[goes], part_left, parts[both] - part_left])
            nodes = np.concatenate([downward, left[nodes[both]], right[nodes[both]]])


def _add_at(result: FloatArray, rows: IntArray, addends: FloatArray) -> None:
    for label in range(result.shape[1]):
        result[:, label] += np.bincount(rows, weights=addends[:, label], minlength=len(result))
