"""Small partitions of rows, and the trees that they are: their nodes are numbered level by level, as in a full tree.

Those next to node i are 2 i + 1, to the left, and 2 i + 2. A node that asks nothing is a cell, or is not there at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from naively._weighing.trees import Features, Trees, monotone_values
from naively.typing import AnyArray, FloatArray, IntArray


class Partitions(NamedTuple):
    """What the nodes of partitions ask, and what each cell adds to the score of each class.

    Parameters
    ----------
    column, place : ndarray (partitions, nodes)
        See `naively._kernels.partition_reference.grow`.
    totals : ndarray (partitions, nodes)
        The weight of the rows in each cell.
    steps : ndarray (partitions, classes, nodes)
    """

    column: IntArray
    place: IntArray
    totals: FloatArray
    steps: FloatArray

    def with_means(self) -> Partitions:
        """The partitions with the weight and the mean step, at nodes that ask, of the cells below them."""
        totals, steps = self.totals.copy(), self.steps.copy()
        for node in range(self.column.shape[1] // 2)[::-1]:
            asks, left, right = self.column[:, node] >= 0, 2 * node + 1, 2 * node + 2
            of_left, of_right = totals[asks, left], totals[asks, right]
            totals[asks, node] = of_left + of_right
            mean = steps[asks, :, left] * of_left[:, None] + steps[asks, :, right] * of_right[:, None]
            steps[asks, :, node] = mean / totals[asks, node, None]
        return self._replace(totals=totals, steps=steps)

    def monotone(self, first_of_columns: IntArray, signs: IntArray) -> Partitions:
        """Partitions whose steps rise or fall as they must; see `naively._weighing.trees.monotone_values`.

        Parameters
        ----------
        first_of_columns : ndarray (columns,)
            The first feature of each column.
        signs : ndarray (features,)
            Which features are monotone.
        """
        whole = self.with_means()
        values = [
            monotone_values(_FullTree.of(column, first_of_columns), steps.T, signs).T
            for column, steps in zip(self.column, whole.steps, strict=True)
        ]
        return self._replace(steps=np.stack(values))

    def trees(self, features: Features, n_labels: IntArray) -> Trees:
        """The partitions side by side, as trees that ask for features.

        Parameters
        ----------
        features : Features
        n_labels : ndarray (columns,)
            How many labels each column has, 0 if numbers.
        """
        column, place, totals, steps = self.with_means()
        n_trees, n_nodes = column.shape
        asks, left, is_there = column >= 0, 2 * np.arange(n_nodes) + 1, np.ones(column.shape, dtype=bool)
        for node in range(n_nodes // 2):
            is_there[:, [left[node], left[node] + 1]] = asks[:, [node]]
        order = np.array(_left_first(0, n_nodes))
        kept = is_there[:, order].ravel()
        number = np.empty(column.shape, dtype=np.int64)
        number[:, order] = (np.cumsum(kept) - 1).reshape(column.shape)

        def of_nodes(values: AnyArray) -> AnyArray:
            return values[:, order].reshape(n_trees * n_nodes, *values.shape[2:])[kept]

        is_label = n_labels[column] > 0
        below = np.minimum(left, n_nodes - 2)  # where nothing lies below, nothing is asked
        share = totals[:, below] / np.where(asks, totals, 1.0)
        return Trees(
            roots=number[:, 0],
            feature=of_nodes(np.where(asks, features.first_of_columns[column] + is_label * place, -1)).astype(np.int32),
            cut=of_nodes(np.where(asks, np.where(is_label, 0.5, place + 0.5), 0.0)),
            right=of_nodes(np.where(asks, number[:, below + 1], 0)).astype(np.int32),
            share=of_nodes(np.where(asks, share, 0.0)).astype(np.float32),
            values=of_nodes(np.moveaxis(steps, 1, 2)).astype(np.float32),
        )


class _FullTree(NamedTuple):
    """A tree with all of its nodes, and the names that those of scikit-learn have."""

    feature: IntArray
    children_left: IntArray
    children_right: IntArray

    @classmethod
    def of(cls, column: IntArray, first_of_columns: IntArray) -> _FullTree:
        asks, left = column >= 0, 2 * np.arange(len(column)) + 1
        feature = np.where(asks, first_of_columns[column], -1)
        return cls(feature, np.where(asks, left, -1), np.where(asks, left + 1, -1))


def _left_first(node: int, n_nodes: int) -> list[int]:
    """A node and all below it, each before what lies to its left, which comes before all to its right."""
    if node >= n_nodes:
        return []
    return [node, *_left_first(2 * node + 1, n_nodes), *_left_first(2 * node + 2, n_nodes)]
