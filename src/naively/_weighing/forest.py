"""A fold forest: extremely random trees whose nodes hold class counts, in groups that each leave a fold out.

Trees find interactions of any order. Each tree is grown out; the counts of a node are drawn to those of its parent, by
as many rows as make left-out rows most probable, so that a leaf of one row does not claim to be sure. A group of trees
does not learn one of the folds: a row's left-out answer is that of the group that did not see it, and nothing is fitted
twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively._weighing.terms import Column
from naively._weighing.trees import NOT_MONOTONE, Features, Trees, joined_trees, monotone_values, side_by_side
from naively.engines._threads import in_order
from naively.typing import AnyArray, FloatArray, IntArray

TREES_PER_FOLD = 25
SHARE_OF_COLUMNS = 0.7
"""At each node as many features are tried as this share of the columns: many labels do not make it cost more."""

SHRINKAGES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Rows by which a node may be drawn to its parent."""

SMALLEST_PARENT = 1.0
"""A node is cut only if it has more rows than this share of those by which the next nodes are drawn to it."""

MOST_VALUES = 1 << 26
"""Numbers that the nodes of all trees may hold for all classes (256 MB in a model), were each leaf as small as may be.
Where more would be needed leaves have more rows, so that there are fewer nodes."""

LEAST_ROWS = 20
"""With fewer kept rows no trees are grown."""


@dataclass(frozen=True)
class ForestExpert:
    """The mean of the trees' class probabilities, with a share of the prior.

    Parameters
    ----------
    features : Features
    trees : Trees
        Their values are probabilities divided by the number of trees.
    prior : ndarray (classes,)
    floor : float
        The share of the prior.
    """

    features: Features
    trees: Trees
    prior: FloatArray
    floor: float
    name: str = "forest"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        return floored_log(self.trees.total(self.features(columns)), self.prior, self.floor)


def floored_log(proba: FloatArray, prior: FloatArray, floor: float) -> FloatArray:
    """The logarithm of probabilities with a share of the prior; a class that no tree saw has no more than that."""
    return np.asarray(np.log((1.0 - floor) * proba / proba.sum(axis=1, keepdims=True) + floor * prior))


def fit_forest(
    features: Features,
    table: AnyArray,
    target: IntArray,
    weights: FloatArray,
    folds: IntArray,
    is_asked: AnyArray,
    prior: FloatArray,
    floor: float,
    n_threads: int,
    monotone: Mapping[int, int] = NOT_MONOTONE,
) -> tuple[ForestExpert, FloatArray]:
    """Grow the forest, and answer for each row that is asked by the trees that did not see it.

    Parameters
    ----------
    features, table : Features, ndarray (rows, features)
        How columns are read, and the kept rows so read, numbers by rank.
    target, weights, folds : ndarray (rows,)
    is_asked : bool ndarray (rows,)
        The rows to answer for.
    prior, floor
        See `ForestExpert`.
    n_threads : int
    monotone : dict
        Columns in which the probability of the second of two classes must only rise (1) or fall (-1).
    """
    missing = np.isnan(table)
    filled, signs = np.where(missing, features.middles, table), features.signs(monotone)
    n_tried = max(1, int(SHARE_OF_COLUMNS * len(features.columns)))
    numbers = np.unique(folds).tolist()
    n_learnt = max(int((folds != fold).sum()) for fold in numbers) or len(target)
    least_rows = _least_rows_of_a_leaf(n_learnt, len(prior), len(numbers))
    groups = list(
        in_order(
            lambda fold: _grow(
                filled, target, weights, folds == fold, is_asked, fold, least_rows, len(prior), signs, n_tried
            ),
            numbers,
            n_threads,
        )
    )
    shrinkage = min(
        SHRINKAGES, key=lambda rows: sum(group.asked_loss(rows, target, weights, prior, floor) for group in groups)
    )
    left_out, place = np.empty((np.count_nonzero(is_asked), len(prior))), np.cumsum(is_asked) - 1
    parts = []
    while groups:  # each of which is large
        group = groups.pop(0)
        trees = group.joined(shrinkage)
        parts.append(replace(trees, values=trees.values / np.float32(len(numbers) * TREES_PER_FOLD)))
        left_out[place[group.asked]] = group.asked_sums(shrinkage)
        parted = group.asked & missing.any(axis=1)
        if parted.any():
            left_out[place[parted]] = trees.total(table[parted].astype(np.float64))
    return ForestExpert(features, features.cut_numbers(side_by_side(parts)), prior, floor), floored_log(
        left_out, prior, floor
    )


@dataclass(frozen=True)
class Group:
    """Trees that did not see the rows of a fold, and the nodes of all of them, level by level.

    Parameters
    ----------
    asked : bool ndarray (rows,)
        The rows of the fold that are asked.
    trees : list
        Trees of scikit-learn.
    order, parents : ndarray (nodes,)
        The nodes, numbered through all trees, by level; and where among them the parent of each one is.
    levels : list of slice
        The nodes of each level below the roots.
    totals, proba : ndarray (nodes,), (nodes, classes)
        The weight of the rows in each node, and how it is shared by the classes.
    leaves : list of ndarray
        Where, among the nodes, the rows that are asked end in each tree.
    signs : ndarray (features,)
        Which features are monotone: see `Features.signs`.
    """

    asked: AnyArray
    trees: list[Any]
    order: IntArray
    parents: IntArray
    levels: list[slice]
    totals: FloatArray
    proba: FloatArray
    leaves: list[IntArray]
    signs: IntArray

    def drawn(self, shrinkage: float) -> FloatArray:
        """The class probabilities of each node, drawn to those of its parent by so many rows, (nodes, classes)."""
        proba, pull = self.proba.copy(), (shrinkage / (self.totals + shrinkage))[:, None]
        for level in self.levels:
            proba[level] += pull[level] * (proba[self.parents[level]] - proba[level])
        return self._monotone(proba) if self.signs.any() else proba

    def _monotone(self, proba: FloatArray) -> FloatArray:
        """Probabilities (nodes, classes) that rise or fall as they must."""
        numbered = np.empty_like(proba)
        numbered[self.order] = proba
        trees = zip(self.trees, self._by_tree(numbered), strict=True)
        return np.concatenate([monotone_values(tree, values, self.signs) for tree, values in trees])[self.order]

    def _by_tree(self, numbered: FloatArray) -> list[FloatArray]:
        """What is known of the nodes, numbered through all trees, tree by tree."""
        return np.split(numbered, _starts(self.trees)[1:])

    def kept(self, shrinkage: float) -> AnyArray:
        """The roots, and the nodes whose parent has enough rows to be cut."""
        kept: AnyArray = self.totals[self.parents] > SMALLEST_PARENT * shrinkage
        return np.asarray(kept | (self.parents == np.arange(len(kept))))

    def asked_sums(self, shrinkage: float) -> FloatArray:
        """The sums of the trees' class probabilities of the rows that are asked (rows, classes)."""
        proba, ends = self.drawn(shrinkage), self._ends(shrinkage)
        sums = np.zeros((np.count_nonzero(self.asked), proba.shape[1]))
        for leaves in self.leaves:
            sums += proba[ends[leaves]]
        return sums

    def asked_loss(
        self, shrinkage: float, target: IntArray, weights: FloatArray, prior: FloatArray, floor: float
    ) -> float:
        """The log-loss of the rows that are asked: of all classes it needs their own alone."""
        proba, ends, own = self.drawn(shrinkage), self._ends(shrinkage), target[self.asked]
        mean = sum(proba[ends[leaves], own] for leaves in self.leaves) / len(self.leaves)
        return -float(weights[self.asked] @ np.log((1.0 - floor) * mean + floor * prior[own]))

    def _ends(self, shrinkage: float) -> IntArray:
        """The node itself, or where it is not kept the one above it that is."""
        kept, ends = self.kept(shrinkage), np.arange(len(self.order))
        for level in self.levels:
            ends[level] = np.where(kept[level], ends[level], ends[self.parents[level]])
        return ends

    def joined(self, shrinkage: float) -> Trees:
        """The trees side by side, without the nodes that are not kept."""
        proba, kept = np.empty_like(self.proba), np.empty(len(self.order), dtype=bool)
        proba[self.order], kept[self.order] = self.drawn(shrinkage), self.kept(shrinkage)
        return joined_trees(list(zip(self.trees, self._by_tree(proba), strict=True))).pruned(kept)


def _grow(
    filled: AnyArray,
    target: IntArray,
    weights: FloatArray,
    held_out: AnyArray,
    is_asked: AnyArray,
    fold: int,
    least_rows: int,
    n_classes: int,
    signs: IntArray,
    n_tried: int,
) -> Group:
    from sklearn.tree import ExtraTreeClassifier

    learnt = ~held_out if not held_out.all() else held_out
    rows, classes, weight = filled[learnt], target[learnt], weights[learnt]
    first, constraints = fold * TREES_PER_FOLD, signs if signs.any() else None
    trees = [
        ExtraTreeClassifier(
            max_features=n_tried,
            min_samples_leaf=least_rows,
            random_state=first + number,
            monotonic_cst=constraints,
        )
        .fit(rows, classes, sample_weight=weight, check_input=False)
        .tree_
        for number in range(TREES_PER_FOLD)
    ]
    order, parents, levels = _by_level(trees)
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    known = np.concatenate([tree.value[:, 0, :] for tree in trees])[order]
    proba = np.zeros((len(order), n_classes))
    proba[:, np.unique(classes)] = known
    totals = np.concatenate([tree.weighted_n_node_samples for tree in trees])[order]
    asked, starts = held_out & is_asked, _starts(trees)
    ends = [tree.apply(filled[asked]) for tree in trees]
    leaves = [position[start + end] for start, end in zip(starts.tolist(), ends, strict=True)]
    return Group(asked, trees, order, parents, levels, totals, proba, leaves, signs)


def _least_rows_of_a_leaf(n_rows: int, n_classes: int, n_folds: int) -> int:
    """As many as keep the values of all trees within bounds: a tree has two nodes for each of its leaves, but one."""
    return -(-2 * n_rows * n_classes * n_folds * TREES_PER_FOLD // MOST_VALUES)


def _starts(trees: Sequence[Any]) -> IntArray:
    """The number of the first node of each tree, the nodes being numbered through all of them."""
    return np.cumsum([0, *(tree.node_count for tree in trees[:-1])])


def _by_level(trees: Sequence[Any]) -> tuple[IntArray, IntArray, list[slice]]:
    """The nodes of trees, numbered through all of them, by level; where their parents are; and the levels but one."""
    starts = _starts(trees)
    left, right = (
        np.concatenate([np.where(one >= 0, one + start, one) for start, one in zip(starts, each, strict=True)])
        for each in ([tree.children_left for tree in trees], [tree.children_right for tree in trees])
    )
    orders, parents, levels, done = [starts], [np.arange(len(starts))], [], 0
    while (asks := left[orders[-1]] >= 0).any():
        front, at = orders[-1][asks], done + np.flatnonzero(asks)
        done += len(asks)
        orders.append(np.concatenate([left[front], right[front]]))
        parents.append(np.concatenate([at, at]))
        levels.append(slice(done, done + 2 * len(front)))
    return np.concatenate(orders), np.concatenate(parents), levels
