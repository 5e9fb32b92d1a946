"""Sums over trees, compiled: all rows go down one tree after the other, several rows at a time."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import kernel
from naively._kernels.tree_reference import FEATURE_BITS, LEAST_SHARE
from naively.typing import AnyArray, FloatArray, IntArray

DEEPEST = 128
"""Parts of a row that can wait at once: a row is split at most so often on one path, since each split shares it out."""

TOGETHER = 16
"""Rows that go down a tree in turns: while a node of one is fetched from memory, the others go on."""

FEATURE_MASK = (1 << FEATURE_BITS) - 1


@kernel
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
    n_rows, n_classes = features.shape[0], values.shape[1]
    whole = np.empty(n_rows, dtype=np.int64)  # rows without a missing cell from the front, the others from the back
    n_whole, n_parted = 0, 0
    for row in range(n_rows):
        is_whole = True
        for place in range(features.shape[1]):
            is_whole &= features[row, place] == features[row, place]
        if is_whole:
            whole[n_whole] = row
            n_whole += 1
        else:
            n_parted += 1
            whole[n_rows - n_parted] = row
    at = np.empty(TOGETHER, dtype=np.int64)
    waiting = np.empty(DEEPEST, dtype=np.int64)
    waiting_part = np.empty(DEEPEST)
    for root in roots:  # all rows go down one tree before the next, which then stays in the cache
        for start in range(0, n_whole, TOGETHER):
            n_together = min(TOGETHER, n_whole - start)
            for one in range(n_together):
                at[one] = root
            goes_on = True
            while goes_on:
                goes_on = False
                for one in range(n_together):
                    node = at[one]
                    link = links[node, 1]
                    cell = features[whole[start + one], link & FEATURE_MASK]
                    following = node + 1 if cell <= nodes[node, 0] else link >> FEATURE_BITS
                    goes_on |= following != node
                    at[one] = following
            for one in range(n_together):
                for label in range(n_classes):
                    result[whole[start + one], label] += values[at[one], label]
        for place in range(n_whole, n_rows):
            row = whole[place]
            waiting[0] = root
            waiting_part[0] = 1.0
            n_waiting = 1
            while n_waiting > 0:
                n_waiting -= 1
                node = waiting[n_waiting]
                part = waiting_part[n_waiting]
                while True:
                    link = links[node, 1]
                    right = link >> FEATURE_BITS
                    cell = features[row, link & FEATURE_MASK]
                    if right == node:
                        break
                    if cell <= nodes[node, 0]:
                        node += 1
                    elif cell > nodes[node, 0]:
                        node = right
                    elif part < LEAST_SHARE or n_waiting >= DEEPEST:
                        break
                    else:
                        part_left = part * share[node]
                        waiting[n_waiting] = right
                        waiting_part[n_waiting] = part - part_left
                        n_waiting += 1
                        node += 1
                        part = part_left
                for label in range(n_classes):
                    result[row, label] += part * values[node, label]
