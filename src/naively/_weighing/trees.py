"""Trees whose nodes hold a number per class: what the fold forest and the boosted trees are made of.

A node asks one question of one column. A row that cannot answer it, because its cell is missing or holds a label that
was never seen, goes both ways, each by its share of the rows that grew the tree: its missing cell is averaged out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from naively._kernels import frozen, kernel_of, repays_compiler, with_reference
from naively._kernels.tree_reference import FEATURE_BITS
from naively._kernels.tree_reference import total as reference_total
from naively._weighing.coded_trees import CodedTrees, coded_trees
from naively._weighing.terms import Column
from naively.typing import AnyArray, FloatArray, IntArray

MOST_LABELS = 30
"""Columns with more labels are cut by the order of the labels instead of by each of them."""

MOST_FEATURE_CELLS = 50_000_000
"""Cells that the features of all kept rows may have (200 MB); beyond, the columns that tell least stay out."""

FEW_ROWS = 64
"""Fewer rows go down one by one: to ask them together would take as long as for a block of them."""

NOT_MONOTONE: Mapping[int, int] = MappingProxyType({})
"""No column must only rise or fall."""


@dataclass(frozen=True)
class TreeTable:
    """Rows that trees grow on.

    Parameters
    ----------
    ranks : float32 ndarray (rows, features)
        The features, numbers by their ranks; NaN where a cell is missing.
    codes : unsigned ndarray (rows, columns)
        Ranks of numbers, and labels. A missing number stands in the middle, a missing label behind the last one.
    n_labels : ndarray (columns,)
        How many labels each column has, 0 for numbers. Labels that are cut by their order count as numbers.
    """

    ranks: AnyArray
    codes: AnyArray
    n_labels: IntArray


@dataclass(frozen=True)
class Features:
    """How columns become numbers that a tree can cut.

    A label becomes an indicator for each label of its column. A missing cell or unseen label is NaN in all of them. A
    tree grows on the ranks of numbers among the distinct kept ones, so that neither their scale nor outliers matter;
    its cuts are then numbers between these, so that new rows need no ranks.

    Parameters
    ----------
    columns : tuple of int
        The columns that are read.
    scales : tuple
        For each, its distinct kept numbers (values,), or how many labels it has.
    """

    columns: tuple[int, ...]
    scales: tuple[FloatArray | int, ...]

    @property
    def count(self) -> int:
        """How many features there are."""
        return sum(_width(scale) for scale in self.scales)

    def __call__(self, columns: Sequence[Column]) -> FloatArray:
        """The features of rows (rows, features), numbers as they are."""
        return self._filled(columns, lambda values, _scale: values, np.float64)

    def ranks(self, columns: Sequence[Column]) -> AnyArray:
        """The features of rows (rows, features), float32, numbers by their ranks; NaN stays NaN."""
        return self._filled(columns, lambda values, scale: np.interp(values, scale, np.arange(len(scale))), np.float32)

    def table(self, columns: Sequence[Column]) -> TreeTable:
        """Rows for trees to grow on."""
        ranks = self.ranks(columns)
        return TreeTable(ranks, *self._codes(columns, ranks))

    def _codes(self, columns: Sequence[Column], ranks: AnyArray) -> tuple[AnyArray, IntArray]:
        n_labels = np.array([_width(scale) if _width(scale) > 1 else 0 for scale in self.scales], dtype=np.int64)
        most = max((scale if isinstance(scale, int) else len(scale) for scale in self.scales), default=0)
        result = np.empty((len(columns[0][1]), len(self.columns)), dtype=np.uint16 if most < 1 << 16 else np.uint32)
        each = zip(self.columns, self.scales, self._column_middles, self.first_of_columns.tolist(), strict=True)
        for place, (column, scale, middle, first) in enumerate(each):
            values = columns[column][1]
            if isinstance(scale, int):
                result[:, place] = np.where((values >= 0) & (values < scale), values, middle)
            else:
                result[:, place] = np.where(np.isnan(ranks[:, first]), middle, ranks[:, first])
        return result, n_labels

    @property
    def _column_middles(self) -> list[int]:
        """The code of a missing cell of each column."""
        return [
            (scale if _width(scale) > 1 else 0) if isinstance(scale, int) else (len(scale) - 1) // 2
            for scale in self.scales
        ]

    @cached_property
    def first_of_columns(self) -> IntArray:
        """The first feature of each column that is read."""
        return np.array([start for start, _ in self._places], dtype=np.int64)

    def _filled(
        self, columns: Sequence[Column], read: Callable[[FloatArray, FloatArray], FloatArray], dtype: Any
    ) -> AnyArray:
        result = np.empty((self.count, len(columns[0][1])), dtype=dtype)
        for (start, stop), column, scale in zip(self._places, self.columns, self.scales, strict=True):
            values = columns[column][1]
            result[start:stop] = _indicators(values, scale) if isinstance(scale, int) else read(values, scale)
        return np.ascontiguousarray(result.T)

    def cut_numbers(self, trees: Trees) -> Trees:
        """Trees that cut ranks, as trees that cut numbers: each row goes the same way."""
        cut = trees.cut.copy()
        for (start, _), scale in zip(self._places, self.scales, strict=True):
            if not isinstance(scale, int):
                asking = trees.feature == start
                cut[asking] = _between(scale, trees.cut[asking])
        return replace(trees, cut=cut)

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """The first feature of each column, and the first of the next."""
        stops = np.cumsum([_width(scale) for scale in self.scales], dtype=np.int64).tolist()
        return list(zip([0, *stops], stops, strict=False))

    def signs(self, monotone: Mapping[int, int]) -> IntArray:
        """Of each feature, 1 or -1 if its column is monotone, else 0: what trees of scikit-learn call constraints."""
        signs = [
            np.full(_width(scale), monotone.get(column, 0))
            for column, scale in zip(self.columns, self.scales, strict=True)
        ]
        return np.concatenate([np.empty(0, dtype=np.int64), *signs])

    @property
    def middles(self) -> AnyArray:
        """What stands for a missing cell while a tree grows (features,): the middle rank, and no label."""
        middles = [
            np.zeros(_width(scale)) if isinstance(scale, int) else np.array([(len(scale) - 1) / 2])
            for scale in self.scales
        ]
        return np.concatenate([np.empty(0), *middles]).astype(np.float32)


def _width(scale: FloatArray | int) -> int:
    if isinstance(scale, int) and 2 < scale <= MOST_LABELS:
        return scale
    return 1


def _indicators(codes: AnyArray, n_labels: int) -> AnyArray:
    """The features of a column of labels (features, rows)."""
    known = (codes >= 0) & (codes < n_labels)
    cells = codes == np.arange(n_labels)[:, None] if _width(n_labels) > 1 else codes[None]
    return np.where(known, cells, np.nan)


def _between(scale: FloatArray, ranks: FloatArray) -> FloatArray:
    """The numbers at fractional ranks: below the next number of the scale, however it is rounded."""
    below = np.clip(ranks.astype(np.int64), 0, len(scale) - 2)
    part = ranks - below
    numbers = (1.0 - part) * scale[below] + part * scale[below + 1]
    return np.clip(numbers, scale[below], np.nextafter(scale[below + 1], -np.inf))


def plan_features(
    columns: Sequence[Column], n_labels: Sequence[int], strength: FloatArray, names: Sequence[str]
) -> Features:
    """The features of columns that vary; where there is no room for all, of those that tell most.

    They stand in the order of the columns' names: trees draw features by their place, and the order of the columns of a
    table should mean nothing.

    Parameters
    ----------
    columns : sequence of Column
        The kept rows; prose has no features.
    n_labels : sequence of int
        The number of labels of each categorical column.
    strength : ndarray (columns,)
        How much each column tells.
    names : sequence of str
    """
    scales: dict[int, FloatArray | int] = {}
    room = MOST_FEATURE_CELLS // max(len(columns[0][1]), 1)
    for place in np.argsort(-strength, kind="stable").tolist():
        kind, values = columns[place]
        if kind == "text":
            continue
        scale = int(n_labels[place]) if kind == "categorical" else np.unique(values[~np.isnan(values)])
        varies = (scale if isinstance(scale, int) else len(scale)) > 1
        if varies and _width(scale) <= room:
            scales[place] = scale
            room -= _width(scale)
    places = tuple(sorted(scales, key=lambda place: names[place]))
    return Features(places, tuple(scales[place] for place in places))


@dataclass(frozen=True)
class Trees:
    """Trees side by side, whose answers are added. The left one of a node's two next nodes is the one behind it.

    Parameters
    ----------
    roots : ndarray (trees,)
        The first node of each tree.
    feature : int32 ndarray (nodes,)
        The feature that a node asks for, -1 at a leaf.
    cut : ndarray (nodes,)
        A row goes left if the feature is at most this.
    right : int32 ndarray (nodes,)
        The right one of the next nodes.
    share : float32 ndarray (nodes,)
        The share of the rows that went left.
    values : float32 ndarray (nodes, classes)
        What a row that ends there adds to each class.
    """

    roots: IntArray
    feature: AnyArray
    cut: FloatArray
    right: AnyArray
    share: AnyArray
    values: AnyArray

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Trees.__dataclass_fields__}  # what kernels read is made anew

    @cached_property
    def for_walk(self) -> tuple[AnyArray, ...]:
        """The roots; cuts, and right nodes with features, side by side in memory (nodes, 2); shares, and values.

        A leaf has the cut NaN, and itself to the right: whatever a row holds, there it stays.
        """
        ends = self.feature < 0
        nodes = np.empty((len(ends), 2))
        links = nodes.view(np.int64)
        nodes[:, 0] = np.where(ends, np.nan, self.cut)
        links[:, 1] = np.where(ends, np.arange(len(ends)), self.right) << FEATURE_BITS
        links[:, 1] |= np.where(ends, 0, self.feature)
        return tuple(frozen(part) for part in (self.roots, nodes, links, self.share, self.values))

    @cached_property
    def coded(self) -> CodedTrees | None:
        """The trees as many rows are asked at once, if they can be."""
        return coded_trees(self)

    @with_reference
    def total(self, features: FloatArray) -> FloatArray:
        """The sum of the answers of all trees (rows, classes)."""
        result = np.zeros((len(features), self.values.shape[1]))
        is_compiled = repays_compiler(len(features) * len(self.roots))
        walk: Any = kernel_of("trees", "total") if is_compiled else reference_total
        if not is_compiled or len(features) < FEW_ROWS or self.coded is None:
            walk(frozen(features), *self.for_walk, result)
            return result
        parted = np.isnan(features).any(axis=1)
        result[~parted] = self.coded.total(features, np.flatnonzero(~parted))
        if parted.any():
            of_parted = np.zeros((np.count_nonzero(parted), result.shape[1]))
            walk(frozen(features[parted]), *self.for_walk, of_parted)
            result[parted] = of_parted
        return result

    def pruned(self, kept: AnyArray) -> Trees:
        """The trees without some nodes. Of two next nodes both are kept or none, and none below one that is not."""
        number = np.cumsum(kept) - 1
        nodes = np.arange(len(kept))
        asks = (self.feature >= 0) & kept[np.minimum(nodes + 1, len(kept) - 1)]
        return Trees(
            number[self.roots],
            np.where(asks, self.feature, -1)[kept],
            np.where(asks, self.cut, 0.0)[kept],
            np.where(asks, number[self.right], 0).astype(np.int32)[kept],
            np.where(asks, self.share, 0.0).astype(np.float32)[kept],
            self.values[kept],
        )


def side_by_side(parts: Sequence[Trees]) -> Trees:
    """All trees of several parts."""
    starts = np.cumsum([0, *(len(part.feature) for part in parts[:-1])]).tolist()
    placed = [
        replace(
            part, roots=part.roots + start, right=np.where(part.feature < 0, 0, part.right + start).astype(np.int32)
        )
        for part, start in zip(parts, starts, strict=True)
    ]
    joined = {name: np.concatenate([getattr(part, name) for part in placed]) for name in Trees.__dataclass_fields__}
    return Trees(**joined)


def joined_trees(trees: Sequence[tuple[Any, FloatArray]]) -> Trees:
    """Trees, named as those of scikit-learn are, side by side, each with the values of its nodes (nodes, classes)."""
    sizes = [len(values) for _, values in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    orders = [_left_first(tree) for tree, _ in trees]
    parts = [_arrays(tree, order, root) for (tree, _), order, root in zip(trees, orders, roots.tolist(), strict=True)]
    values = [values[order] for (_, values), order in zip(trees, orders, strict=True)]
    feature, cut, right, share = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Trees(roots, feature, cut, right, share, np.concatenate(values).astype(np.float32))


def _left_first(tree: Any) -> IntArray:
    """The nodes of a tree, each before its left next one, which comes before all that lies to the right."""
    left, right = tree.children_left, tree.children_right
    nodes = np.arange(tree.node_count)
    if (left[left >= 0] == nodes[left >= 0] + 1).all():  # as they grow, unless the best cell is cut first
        return nodes
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if left[node] >= 0:
            waiting += [right[node], left[node]]
    return np.array(order, dtype=np.int64)


def _arrays(tree: Any, order: IntArray, root: int) -> tuple[AnyArray, ...]:
    """The features, cuts, right nodes and shares of a tree whose nodes are numbered in an order, from `root` on."""
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(root, root + len(order))
    asks = tree.children_left[order] >= 0
    weights = tree.weighted_n_node_samples
    share = weights[tree.children_left[order]] / np.maximum(weights[order], np.finfo(float).tiny)
    return (
        np.where(asks, tree.feature[order], -1).astype(np.int32),
        np.where(asks, tree.threshold[order], 0.0),
        np.where(asks, number[tree.children_right[order]], 0).astype(np.int32),
        np.where(asks, share, 0.0).astype(np.float32),
    )


def levels(tree: Any) -> list[IntArray]:
    """The nodes of a tree that ask a question, level by level from the root."""
    result = []
    front = np.array([0])
    while len(front := front[tree.children_left[front] >= 0]):
        result.append(front)
        front = np.concatenate([tree.children_left[front], tree.children_right[front]])
    return result


def monotone_values(tree: Any, values: FloatArray, signs: IntArray) -> FloatArray:
    """The values of two classes (nodes, classes), with those of the second class on the right side of each other.

    Trees are grown so that a question to a monotone feature parts lower from higher values; what a node takes over from
    its parent later may undo it. Here every node is kept within what the questions above it leave: the values of the
    two sides of such a question never cross the middle between them. The sum of the two classes stays.

    Parameters
    ----------
    tree : Tree
        A tree of scikit-learn.
    values : ndarray (nodes, classes)
    signs : ndarray (features,)
        See `Features.signs`.
    """
    if not signs.any():
        return values
    total, second = values.sum(axis=1), values[:, 1].copy()
    lowest, highest = np.full(len(second), -np.inf), np.full(len(second), np.inf)
    for front in levels(tree):
        left, right = tree.children_left[front], tree.children_right[front]
        for child in (left, right):
            lowest[child], highest[child] = lowest[front], highest[front]
            second[child] = np.clip(second[child], lowest[child], highest[child])
        asked = signs[tree.feature[front]]
        rising, falling = asked > 0, asked < 0
        for low, high in ((left[rising], right[rising]), (right[falling], left[falling])):
            middle = (second[low] + second[high]) / 2
            second[low], highest[low] = np.minimum(second[low], middle), np.minimum(highest[low], middle)
            second[high], lowest[high] = np.maximum(second[high], middle), np.maximum(lowest[high], middle)
    return np.stack([total - second, second], axis=1)
