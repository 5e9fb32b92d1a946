"""Trees as the kernels read them that ask many rows at once; see `naively._kernels.coded_trees`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from naively._kernels import frozen, kernel_of
from naively._kernels.tree_reference import ALL_LEAVES, CODE_BITS, DE_BRUIJN, LINK_BITS, MOST_LEAVES, TOGETHER
from naively.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from naively._weighing.trees import Trees

PLACES = ((1 << np.arange(MOST_LEAVES)) * DE_BRUIJN & ALL_LEAVES) >> 12
"""Where the values of the leaves of a small tree, from the left, stand."""


@dataclass(frozen=True)
class CodedTrees:
    """Trees that ask how many of the cuts of a feature lie below a cell.

    Parameters
    ----------
    scale : tuple of ndarray
        The features that are asked for, their cuts, and where these begin.
    small, large : tuple of ndarray, or None
        The trees as `add_small` reads them, if all are small, else as `add_large` does.
    """

    scale: tuple[AnyArray, ...]
    small: tuple[AnyArray, ...] | None
    large: tuple[AnyArray, ...] | None

    def total(self, features: FloatArray, rows: IntArray) -> FloatArray:
        """The sum of the answers of all trees for some rows (rows, classes), of which no cell is missing."""
        n_blocks = -(-len(rows) // TOGETHER)
        codes = np.empty((len(self.scale[0]), n_blocks * TOGETHER), dtype=np.uint16)
        kernel_of("coded_trees", "count_cuts")(frozen(features), rows, *self.scale, codes)
        parts = self.small or self.large
        assert parts is not None
        result = np.zeros((len(rows), parts[-1].shape[1]))
        if self.small is not None:
            kernel_of("coded_trees", "add_small")(codes, *parts, result)
        else:
            kernel_of("coded_trees", "add_large")(np.ascontiguousarray(codes[:, : len(rows)].T), *parts, result)
        return result


def coded_trees(trees: Trees) -> CodedTrees | None:
    """Trees as kernels read them; None if nothing is asked, or more features or cuts than small numbers can tell."""
    asks = trees.feature >= 0
    feature = trees.feature[asks]
    is_asked = np.bincount(feature) > 0
    asked, place = np.flatnonzero(is_asked), (np.cumsum(is_asked) - 1)[feature]
    cut = trees.cut[asks]
    if not 0 < len(asked) <= 1 << CODE_BITS or np.isnan(cut).any():
        return None
    order = np.argsort(cut, kind="stable")
    order = order[np.argsort(place[order].astype(np.uint16), kind="stable")]  # which NumPy sorts by its digits
    place_of, sorted_cut = place[order], cut[order]
    is_new = np.ones(len(cut), dtype=bool)
    is_new[1:] = (place_of[1:] != place_of[:-1]) | (sorted_cut[1:] != sorted_cut[:-1])
    first_cuts = np.searchsorted(place_of[is_new], np.arange(len(asked) + 1))
    if np.diff(first_cuts).max() >= 1 << CODE_BITS:
        return None
    rank = np.empty(len(cut), dtype=np.int64)
    rank[order] = np.cumsum(is_new) - 1 - first_cuts[place_of]
    scale = tuple(frozen(part) for part in (asked.astype(np.int64), sorted_cut[is_new], first_cuts))
    small = _small(trees, place, rank)
    return CodedTrees(scale, small, _large(trees, place, rank) if small is None else None)


def _large(trees: Trees, place: IntArray, rank: IntArray) -> tuple[AnyArray, ...]:
    asks = trees.feature >= 0
    nodes = np.arange(len(asks)) << LINK_BITS
    nodes[asks] = (trees.right[asks].astype(np.int64) << LINK_BITS) | (place << CODE_BITS) | (rank + 1)
    return frozen(trees.roots), frozen(nodes), frozen(trees.values)


def _small(trees: Trees, place: IntArray, rank: IntArray) -> tuple[AnyArray, ...] | None:
    """Trees of few leaves; None if some have more, or their nodes are in no order."""
    asks, roots = trees.feature >= 0, trees.roots
    ends = _ends(trees) if len(asks) <= (2 * MOST_LEAVES - 1) * len(roots) else None
    if ends is None:
        return None
    sizes = ends[roots] - roots
    of_tree = np.repeat(np.arange(len(roots)), sizes)
    nodes = np.arange(len(of_tree)) + np.repeat(roots - np.cumsum(sizes) + sizes, sizes)
    n_before: IntArray = np.cumsum(~asks) - ~asks
    leaf: IntArray = n_before[nodes] - n_before[roots][of_tree]  # the first that lies below, counted from the left
    inner = asks[nodes]
    if leaf.max(initial=0) >= MOST_LEAVES:
        return None
    asking = nodes[inner]
    number = np.cumsum(asks)[asking] - 1  # among the nodes that ask
    beyond = n_before[trees.right[asking]] - n_before[roots][of_tree[inner]]
    kept = ALL_LEAVES & ~((1 << beyond) - (1 << leaf[inner]))
    questions = np.stack([place[number], rank[number], kept], axis=1).astype(np.int32)
    values = np.zeros((len(roots), trees.values.shape[1], MOST_LEAVES))
    values[of_tree[~inner], :, PLACES[leaf[~inner]]] = trees.values[nodes[~inner]]
    first_nodes = np.cumsum([0, *np.bincount(of_tree[inner], minlength=len(roots)).tolist()])
    return frozen(first_nodes), frozen(questions), frozen(values)


def _ends(trees: Trees) -> IntArray | None:
    """The node behind the last one below each; None unless the nodes to the right follow those to the left."""
    asks, nodes = trees.feature >= 0, np.arange(len(trees.feature))
    last = np.where(asks, trees.right, nodes)
    while not np.array_equal(further := last[last], last):
        last = further
    asking = np.flatnonzero(asks)
    if (last[asking + 1] + 1 != trees.right[asking]).any():
        return None
    return last + 1
