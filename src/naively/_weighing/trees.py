"""Trees whose nodes hold a number per class: what the fold forest and the boosted cells are made of.

A node asks one question of one column. A row that cannot answer it, because its cell is missing or holds a label that
was never seen, goes both ways, each by its share of the rows that grew the tree: its missing cell is averaged out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np

from naively._kernels import repays_compiler, with_reference
from naively._kernels.tree_reference import total as reference_total
from naively._weighing.terms import Column
from naively.typing import AnyArray, FloatArray, IntArray

MOST_LABELS = 30
"""Columns with more labels are cut by the order of the labels instead of by each of them."""

MOST_FEATURE_CELLS = 50_000_000
"""Cells that the features of all kept rows may have (200 MB); beyond, the columns that tell least stay out."""


NOT_MONOTONE: Mapping[int, int] = MappingProxyType({})
"""No column must only rise or fall."""


@dataclass(frozen=True)
class Features:
    """How columns become numbers that a tree can cut.

    A number becomes its rank among the distinct kept numbers, so that neither its scale nor its outliers matter; a
    label becomes an indicator for each label of its column. A missing cell or unseen label is NaN in all of them.

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

    def __call__(self, columns: Sequence[Column]) -> AnyArray:
        """The features of rows (rows, features), float32."""
        result = np.empty((len(columns[0][1]), self.count), dtype=np.float32)
        start = 0
        for column, scale in zip(self.columns, self.scales, strict=True):
            width = _width(scale)
            result[:, start : start + width] = _cells(columns[column][1], scale)
            start += width
        return result

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


def _cells(values: AnyArray, scale: FloatArray | int) -> AnyArray:
    """The features of one column (rows, width)."""
    if not isinstance(scale, int):
        return np.interp(values, scale, np.arange(len(scale)))[:, None]  # NaN stays NaN
    known = (values >= 0) & (values < scale)
    cells = values[:, None] == np.arange(scale) if _width(scale) > 1 else values[:, None]
    return np.where(known[:, None], cells, np.nan)


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
    """Trees side by side, whose answers are added.

    Parameters
    ----------
    roots : ndarray (trees,)
        The first node of each tree.
    feature : ndarray (nodes,)
        The feature that a node asks for, -1 at a leaf.
    cut : float32 ndarray (nodes,)
        A row goes left if the feature is at most this.
    left, right : ndarray (nodes,)
        The next nodes.
    share : float32 ndarray (nodes,)
        The share of the rows that went left.
    values : float32 ndarray (nodes, classes)
        What a row that ends there adds to each class.
    """

    roots: IntArray
    feature: AnyArray
    cut: AnyArray
    left: AnyArray
    right: AnyArray
    share: AnyArray
    values: AnyArray

    @with_reference
    def total(self, features: AnyArray) -> FloatArray:
        """The sum of the answers of all trees (rows, classes)."""
        result = np.zeros((len(features), self.values.shape[1]))
        add = _compiled_total() if repays_compiler(len(features) * len(self.roots)) else reference_total
        add(features, self.roots, self.feature, self.cut, self.left, self.right, self.share, self.values, result)
        return result


def _compiled_total() -> Any:
    return import_module("naively._kernels.trees").total


def joined_trees(trees: Sequence[tuple[Any, FloatArray]]) -> Trees:
    """Trees of scikit-learn, each with the values (nodes, classes) of its nodes, side by side."""
    sizes = [len(values) for _, values in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    parts = [_arrays(tree, root) for (tree, _), root in zip(trees, roots.tolist(), strict=True)]
    values = np.concatenate([values for _, values in trees]).astype(np.float32)
    feature, cut, left, right, share = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Trees(roots, feature, cut, left, right, share, values)


def _arrays(tree: Any, root: int) -> tuple[AnyArray, ...]:
    """The features, cuts, next nodes and shares of a tree whose nodes are numbered from `root` on."""
    asks = tree.children_left >= 0
    weights = tree.weighted_n_node_samples
    share = weights[tree.children_left] / np.maximum(weights, np.finfo(float).tiny)
    return (
        np.where(asks, tree.feature, -1).astype(np.int32),
        _rounded_down(tree.threshold),
        np.where(asks, tree.children_left + root, 0).astype(np.int32),
        np.where(asks, tree.children_right + root, 0).astype(np.int32),
        np.where(asks, share, 0.0).astype(np.float32),
    )


def _rounded_down(cuts: FloatArray) -> AnyArray:
    """The largest float32 that is at most each cut: float32 features go the same way by either."""
    near = cuts.astype(np.float32)
    return np.where(near > cuts, np.nextafter(near, np.float32(-np.inf)), near)


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
