"""Small trees as the kernel reads them that asks many rows at once; see `naively._kernels.small_trees`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from naively._kernels import frozen
from naively._kernels.tree_reference import ALL_LEAVES, DE_BRUIJN, MOST_LEAVES
from naively.typing import AnyArray, IntArray

if TYPE_CHECKING:
    from naively._weighing.trees import Trees

PLACES = ((1 << np.arange(MOST_LEAVES)) * DE_BRUIJN & ALL_LEAVES) >> 12
"""Where the values of the leaves of a tree, from the left, stand."""


def small_trees(trees: Trees) -> tuple[AnyArray, ...] | None:
    """What the kernel reads, see there; None if a tree has too many leaves, or there are too many cuts."""
    asks, roots = trees.feature >= 0, trees.roots
    if len(asks) > (2 * MOST_LEAVES - 1) * len(roots) or np.isnan(trees.cut).any():
        return None
    ends = _ends(trees)
    if ends is None:
        return None
    sizes = ends[roots] - roots
    of_tree = np.repeat(np.arange(len(roots)), sizes)
    nodes = np.arange(len(of_tree)) + np.repeat(roots - np.cumsum(sizes) + sizes, sizes)
    n_before: IntArray = np.cumsum(~asks) - ~asks
    leaf: IntArray = n_before[nodes] - n_before[roots][of_tree]  # the first that lies below, counted from the left
    inner, leaves = asks[nodes], ~asks[nodes]
    if leaf.max(initial=0) >= MOST_LEAVES:
        return None
    asking, first = nodes[inner], n_before[roots][of_tree[inner]]
    asked, place = np.unique(trees.feature[asking], return_inverse=True)
    cuts = [np.unique(trees.cut[asking[place == one]]) for one in range(len(asked))]
    if max(map(len, cuts), default=0) > np.iinfo(np.int16).max:
        return None
    questions = np.empty((len(asking), 3), dtype=np.int32)
    questions[:, 0] = place
    for one, of_feature in enumerate(cuts):
        questions[place == one, 1] = np.searchsorted(of_feature, trees.cut[asking[place == one]])
    questions[:, 2] = ALL_LEAVES & ~((1 << n_before[trees.right[asking]] - first) - (1 << leaf[inner]))
    values = np.zeros((len(roots), trees.values.shape[1], MOST_LEAVES))
    values[of_tree[leaves], :, PLACES[leaf[leaves]]] = trees.values[nodes[leaves]]
    first_cuts = np.cumsum([0, *map(len, cuts)])
    first_nodes = np.cumsum([0, *np.bincount(of_tree[inner], minlength=len(roots)).tolist()])
    parts = (asked.astype(np.int64), np.concatenate([np.empty(0), *cuts]), first_cuts, first_nodes, questions, values)
    return tuple(frozen(part) for part in parts)


def _ends(trees: Trees) -> IntArray | None:
    """The node behind the last one below each; None unless the nodes to the right follow those to the left."""
    feature, right = trees.feature.tolist(), trees.right.tolist()
    ends = list(range(1, len(feature) + 1))
    for node in reversed(range(len(feature))):
        if feature[node] >= 0:
            if ends[node + 1] != right[node]:
                return None
            ends[node] = ends[right[node]]
    return np.array(ends, dtype=np.int64)
