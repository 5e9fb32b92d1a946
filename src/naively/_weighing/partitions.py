"""Small partitions of rows, and the trees that they are: their nodes are numbered level by level, as in a full tree.

Those next to node i are 2 i + 1, to the left, and 2 i + 2. A node that asks nothing is a cell, or is not there at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from naively._weighing.trees import Features, Trees, monotone_values
from naively.typing import FloatArray, IntArray


class Partition(NamedTuple):
    """What the nodes ask, and what each cell adds to the score of each class.

    Parameters
    ----------
    column, place : ndarray (nodes,)
        See `naively._kernels.partition_reference.grow`.
    totals : ndarray (nodes,)
        The weight of the rows in each cell.
    steps : ndarray (classes, nodes)
    """

    column: IntArray
    place: IntArray
    totals: FloatArray
    steps: FloatArray

    def monotone(self, features: Features, signs: IntArray) -> Partition:
        """The partition with steps that rise or fall as they must; see `naively._weighing.trees.monotone_values`."""
        totals, steps = self.totals[None].copy(), self.steps[None].copy()
        _set_means(self.column[None], totals, steps)
        tree = _FullTree.of(self.column, features)
        return self._replace(totals=totals[0], steps=monotone_values(tree, steps[0].T, signs).T)


class _FullTree(NamedTuple):
    """A tree with all of its nodes, and the names that those of scikit-learn have."""

    feature: IntArray
    children_left: IntArray
    children_right: IntArray

    @classmethod
    def of(cls, column: IntArray, features: Features) -> _FullTree:
        asks, left = column >= 0, 2 * np.arange(len(column)) + 1
        feature = np.where(asks, features.first_of_columns[column], -1)
        return cls(feature, np.where(asks, left, -1), np.where(asks, left + 1, -1))


def trees_of(partitions: Sequence[Partition], features: Features, n_labels: IntArray) -> Trees:
    """Partitions side by side, as trees that ask for features.

    Parameters
    ----------
    partitions : sequence of Partition
    features : Features
    n_labels : ndarray (columns,)
        How many labels each column has, 0 if numbers.
    """
    column, place, totals, steps = (np.stack(part) for part in zip(*partitions, strict=True))
    _set_means(column, totals, steps)
    n_trees, n_nodes = column.shape
    asks, left, is_there = column >= 0, 2 * np.arange(n_nodes) + 1, np.ones(column.shape, dtype=bool)
    for node in range(n_nodes // 2):
        is_there[:, [left[node], left[node] + 1]] = asks[:, [node]]
    order = np.array(_left_first(0, n_nodes))
    kept = is_there[:, order].ravel()
    number = np.empty(column.shape, dtype=np.int64)
    number[:, order] = (np.cumsum(kept) - 1).reshape(column.shape)

    def of_nodes(values: FloatArray | IntArray) -> FloatArray:
        return values[:, order].reshape(n_trees * n_nodes, *values.shape[2:])[kept]

    is_label = n_labels[column] > 0
    inner = np.minimum(left, n_nodes - 2)  # where nothing lies below, nothing is asked
    share = totals[:, inner] / np.where(asks, totals, 1.0)
    return Trees(
        roots=number[:, 0],
        feature=of_nodes(np.where(asks, features.first_of_columns[column] + is_label * place, -1)).astype(np.int32),
        cut=of_nodes(np.where(asks, np.where(is_label, 0.5, place + 0.5), 0.0)),
        right=of_nodes(np.where(asks, number[:, inner + 1], 0)).astype(np.int32),
        share=of_nodes(np.where(asks, share, 0.0)).astype(np.float32),
        values=of_nodes(np.moveaxis(steps, 1, 2)).astype(np.float32),
    )


def _left_first(node: int, n_nodes: int) -> list[int]:
    """A node and all below it, each before what lies to its left, which comes before all to its right."""
    if node >= n_nodes:
        return []
    return [node, *_left_first(2 * node + 1, n_nodes), *_left_first(2 * node + 2, n_nodes)]


def _set_means(column: IntArray, totals: FloatArray, steps: FloatArray) -> None:
    """Give nodes that ask the weight and the mean step of the cells below them.

    Parameters
    ----------
    column : ndarray (partitions, nodes)
    totals : ndarray (partitions, nodes)
        Changed.
    steps : ndarray (partitions, classes, nodes)
        Changed.
    """
    for node in range(column.shape[1] // 2)[::-1]:
        asks, left, right = column[:, node] >= 0, 2 * node + 1, 2 * node + 2
        of_left, of_right = totals[asks, left], totals[asks, right]
        totals[asks, node] = of_left + of_right
        mean = steps[asks, :, left] * of_left[:, None] + steps[asks, :, right] * of_right[:, None]
        steps[asks, :, node] = mean / totals[asks, node, None]
