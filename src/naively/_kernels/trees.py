"""Sums over trees, compiled: all rows go down one tree after the other."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import kernel
from naively._kernels.tree_reference import LEAST_SHARE
from naively.typing import AnyArray, FloatArray, IntArray

DEEPEST = 128
"""Parts of a row that can wait at once: a row is split at most so often on one path, since each split shares it out."""


@kernel
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
    waiting = np.empty(DEEPEST, dtype=np.int64)
    waiting_part = np.empty(DEEPEST)
    n_classes = values.shape[1]
    for root in roots:  # all rows go down one tree before the next, which then stays in the cache
        for row in range(features.shape[0]):
            waiting[0] = root
            waiting_part[0] = 1.0
            n_waiting = 1
            while n_waiting > 0:
                n_waiting -= 1
                node = waiting[n_waiting]
                part = waiting_part[n_waiting]
                while feature[node] >= 0:
                    cell = features[row, feature[node]]
                    if cell <= cut[node]:
                        node = left[node]
                    elif cell > cut[node]:
                        node = right[node]
                    elif part < LEAST_SHARE or n_waiting >= DEEPEST:
                        break
                    else:
                        part_left = part * share[node]
                        waiting[n_waiting] = right[node]
                        waiting_part[n_waiting] = part - part_left
                        n_waiting += 1
                        node = left[node]
                        part = part_left
                for label in range(n_classes):
                    result[row, label] += part * values[node, label]
