"""A fold forest: extremely random trees whose nodes hold class counts, in groups that each leave a fold out.

Trees find interactions of any order. Each tree is grown out; the counts of a node are drawn to those of its parent, by
as many rows as make left-out rows most probable, so that a leaf of one row does not claim to be sure. A group of trees
does not learn one of the folds: a row's left-out answer is that of the group that did not see it, and nothing is fitted
twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from naively._kernels import forest_reference, kernel_of, repays_compiler, with_reference
from naively._kernels.forest_reference import Grown
from naively._weighing.experts import FittedExpert
from naively._weighing.grid import downhill
from naively._weighing.terms import Column
from naively._weighing.trees import (
    NOT_MONOTONE,
    Features,
    Trees,
    TreeTable,
    joined_trees,
    monotone_values,
    side_by_side,
)
from naively.engines._threads import in_order
from naively.typing import AnyArray, FloatArray, IntArray

TREES_PER_FOLD, MOST_TREES = 25, 128
"""Trees that leave out a fold, and of all folds at most."""

SHARE_OF_COLUMNS = 0.7
"""At each node as many features are tried as this share of the columns: many labels do not make it cost more."""

SHRINKAGES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Rows by which a node may be drawn to its parent."""

SMALLEST_PARENT = 1.0
"""A node is cut only if it has more rows than this share of those by which the next nodes are drawn to it."""

ROWS_TO_ASK_FIRST, FIRST_TREES, SHARE_OF_FIRST = 2048, 4, 0.3
"""With more rows than the first, a few trees of one fold are grown out first. How far nodes are to be drawn to their
parents there, times a share, tells which nodes need not be cut in the others: where classes overlap, most of them."""

NOISE_OF_ROWS = 1.5
"""How much further groups are apart than halves of a group: they learn other rows, too. On twelve tables of 200 to
1,500 rows it was 1.3 to 1.9 times."""

MOST_VALUES = 1 << 26
"""Numbers that the nodes of all trees may hold for all classes (256 MB in a model), were each leaf as small as may be.
Where more would be needed leaves have more rows, so that there are fewer nodes."""

UNIT = 2.0**20
"""Weights are rounded to multiples of 1 / UNIT and counted in it: sums of whole numbers are exact in any order."""

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
    """The logarithm of probabilities with a share of the prior; a class that no tree saw has no more than that.

    Where no tree has seen any weight, since all of it is in one row, the prior answers.
    """
    total = proba.sum(axis=1, keepdims=True)
    proba = np.where(total > 0.0, proba, prior) / np.where(total > 0.0, total, 1.0)
    return np.asarray(np.log((1.0 - floor) * proba + floor * prior))


def fit_forest(
    features: Features,
    table: TreeTable,
    target: IntArray,
    weights: FloatArray,
    folds: IntArray,
    is_asked: AnyArray,
    prior: FloatArray,
    floor: float,
    n_threads: int,
    monotone: Mapping[int, int] = NOT_MONOTONE,
) -> FittedExpert:
    """Grow the forest, and answer for each row that is asked by the trees that did not see it.

    Parameters
    ----------
    features, table : Features, TreeTable
        How columns are read, and the kept rows so read.
    target, weights, folds : ndarray (rows,)
    is_asked : bool ndarray (rows,)
        The rows to answer for.
    prior, floor
        See `ForestExpert`.
    n_threads : int
    monotone : dict
        Columns in which the probability of the second of two classes must only rise (1) or fall (-1).
    """
    asks = _Questions.of(features, table, features.signs(monotone))
    n_tried = max(1, int(SHARE_OF_COLUMNS * len(features.columns)))
    numbers = np.unique(folds).tolist()
    n_learnt = max(int((folds != fold).sum()) for fold in numbers) or len(target)
    n_trees = min(TREES_PER_FOLD, MOST_TREES // len(numbers))
    least_rows = _least_rows_of_a_leaf(n_learnt, len(prior), len(numbers) * n_trees)

    def grown(fold: int, n_trees: int, smallest: float) -> Group:
        held_out = folds == fold
        return _grow(
            asks, target, weights, held_out, is_asked, fold, n_trees, len(prior), n_tried, least_rows, smallest
        )

    def best_shrinkage(groups: list[Group]) -> float:
        return downhill(
            lambda rows: sum(group.asked_loss(rows, target, weights, prior, floor) for group in groups), SHRINKAGES
        ).value

    smallest = 0.0
    if n_learnt > ROWS_TO_ASK_FIRST:
        smallest = SMALLEST_PARENT * SHARE_OF_FIRST * best_shrinkage([grown(numbers[0], FIRST_TREES, 0.0)])
    groups = list(in_order(lambda fold: grown(fold, n_trees, smallest), numbers, n_threads))
    shrinkage = best_shrinkage(groups)
    halves, place = np.empty((2, np.count_nonzero(is_asked), len(prior))), np.cumsum(is_asked) - 1
    left_out = np.empty(halves.shape[1:])
    parts = []
    while groups:  # each of which is large
        group = groups.pop(0)
        drawn = group.drawn(shrinkage)
        trees = group.joined(drawn, shrinkage)
        parts.append(replace(trees, values=trees.values / np.float32(len(numbers) * n_trees)))
        halves[:, place[group.asked]] = sums = group.asked_sums(drawn, shrinkage)
        left_out[place[group.asked]] = sums.sum(axis=0)
        parted = group.asked & np.isnan(table.ranks).any(axis=1)
        if parted.any():
            left_out[place[parted]] = trees.total(table.ranks[parted].astype(np.float64))
    expert = ForestExpert(features, features.cut_numbers(side_by_side(parts)), prior, floor)
    return FittedExpert(expert, floored_log(left_out, prior, floor), _noise(halves, prior, floor, len(numbers)))


def _noise(halves: FloatArray, prior: FloatArray, floor: float, n_groups: int) -> FloatArray | None:
    """Errors of left-out answers (rows, classes) as large as those that the mean of all groups of trees does away with.

    How far the two halves (2, rows, classes) of the trees that answer for a row are apart tells how much of an answer
    is the chance of these trees. To that comes the chance of the rows that a group learns.
    """
    if not halves.any(axis=2).all():  # there is one tree, or no more
        return None
    first, second = (floored_log(half, prior, floor) for half in halves)
    return NOISE_OF_ROWS * 0.5 * float(np.sqrt(1.0 - 1.0 / n_groups)) * (first - second)


@dataclass(frozen=True)
class Group:
    """Trees that did not see the rows of a fold, and the nodes of all of them, level by level.

    Parameters
    ----------
    asked : bool ndarray (rows,)
        The rows of the fold that are asked.
    trees : list of GrownTree
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
    trees: list[GrownTree]
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

    def asked_sums(self, drawn: FloatArray, shrinkage: float) -> FloatArray:
        """The sums of the class probabilities, drawn so far, of two halves of the trees (2, rows asked, classes)."""
        ends, sums = self._ends(shrinkage), np.zeros((2, np.count_nonzero(self.asked), drawn.shape[1]))
        for place, leaves in enumerate(self.leaves):
            sums[place % 2] += drawn[ends[leaves]]
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

    def joined(self, drawn: FloatArray, shrinkage: float) -> Trees:
        """The trees side by side, with probabilities drawn so far, without the nodes that are not kept."""
        proba, kept = np.empty_like(drawn), np.empty(len(self.order), dtype=bool)
        proba[self.order], kept[self.order] = drawn, self.kept(shrinkage)
        return joined_trees(list(zip(self.trees, self._by_tree(proba), strict=True))).pruned(kept)


@dataclass(frozen=True)
class _Questions:
    """What trees may ask: the rows that they grow on, and which column, and which of its labels, a feature reads.

    Parameters
    ----------
    codes : unsigned ndarray (columns, rows)
    column_of, label_of : ndarray (features,)
        See `naively._kernels.forest_reference.grow`.
    signs : ndarray (features,)
        See `Features.signs`.
    """

    codes: AnyArray
    column_of: IntArray
    label_of: IntArray
    signs: IntArray

    @classmethod
    def of(cls, features: Features, table: TreeTable, signs: IntArray) -> _Questions:
        """The questions about a table."""
        widths = np.maximum(table.n_labels, 1)
        column_of = np.repeat(np.arange(len(widths)), widths)
        label_of = np.arange(len(column_of)) - features.first_of_columns[column_of]
        label_of[table.n_labels[column_of] == 0] = -1
        return cls(np.ascontiguousarray(table.codes.T), column_of, label_of, signs)


@dataclass(frozen=True)
class GrownTree:
    """A tree that was grown, with the names that those of scikit-learn have.

    Parameters
    ----------
    feature, threshold, children_left, children_right, weighted_n_node_samples : ndarray (nodes,)
    proba : ndarray (nodes, classes)
    ends : ndarray (asked rows,)
        The leaf of each row that is asked.
    """

    feature: AnyArray
    threshold: FloatArray
    children_left: IntArray
    children_right: IntArray
    weighted_n_node_samples: FloatArray
    proba: FloatArray
    ends: IntArray

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return len(self.feature)

    @classmethod
    def of(cls, tree: Grown, label_of: IntArray, ends: IntArray) -> GrownTree:
        """A tree as it was grown, and where rows end in it."""
        asks, totals = tree.feature >= 0, tree.counts.sum(axis=1)
        return cls(
            tree.feature,
            np.where(label_of[tree.feature] < 0, tree.cut + 0.5, 0.5),
            np.where(asks, np.arange(1, len(asks) + 1), -1),
            np.where(asks, tree.right, -1),
            totals / UNIT,
            tree.counts / np.maximum(totals, 1)[:, None],
            ends,
        )


def _grow(
    asks: _Questions,
    target: IntArray,
    weights: FloatArray,
    held_out: AnyArray,
    is_asked: AnyArray,
    fold: int,
    n_trees: int,
    n_classes: int,
    n_tried: int,
    least_rows: int,
    smallest: float,
) -> Group:
    learnt = np.flatnonzero(~held_out if not held_out.all() else held_out)
    learnt = learnt[np.argsort(target[learnt], kind="stable")]  # as the kernel wants them
    asked, seeds = held_out & is_asked, np.arange(fold * n_trees, (fold + 1) * n_trees).astype(np.uint64)
    units = np.rint(UNIT * weights).astype(np.int64)
    grown = _grown(asks, target, units, learnt, seeds, n_classes, n_tried, least_rows, int(UNIT * smallest))
    codes = asks.codes[:, asked]
    trees = [GrownTree.of(tree, asks.label_of, _ends(codes, asks, tree)) for tree in grown]
    order, parents, levels = _by_level(trees)
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    proba = np.concatenate([tree.proba for tree in trees])[order]
    totals = np.concatenate([tree.weighted_n_node_samples for tree in trees])[order]
    leaves = [position[start + tree.ends] for start, tree in zip(_starts(trees).tolist(), trees, strict=True)]
    return Group(asked, trees, order, parents, levels, totals, proba, leaves, asks.signs)


@with_reference
def _grown(
    asks: _Questions,
    target: IntArray,
    units: IntArray,
    learnt: IntArray,
    seeds: AnyArray,
    n_classes: int,
    n_tried: int,
    least_rows: int,
    least_units: int,
) -> list[Grown]:
    """Trees; see `naively._kernels.forest_reference.grow`."""
    rows = asks.codes, asks.column_of, asks.label_of, asks.signs, target, units
    if not repays_compiler(len(seeds) * len(learnt) * n_tried):
        return forest_reference.grow(*rows, learnt, seeds, n_classes, n_tried, least_rows, least_units)
    grow_tree, most = kernel_of("forest", "grow_tree"), 2 * len(learnt)
    tree = Grown(
        np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.int32),
        np.empty((most, n_classes), dtype=np.int64),
    )
    result = []
    for seed in seeds:
        n_nodes = grow_tree(*rows, learnt.astype(np.uint32), seed, n_tried, least_rows, least_units, *tree)
        result.append(Grown(*(part[:n_nodes].copy() for part in tree)))
    return result


@with_reference
def _ends(codes: AnyArray, asks: _Questions, tree: Grown) -> IntArray:
    """The leaf in which each row ends."""
    rows = codes, asks.column_of, asks.label_of, tree.feature, tree.cut, tree.right
    if not repays_compiler(codes.shape[1]):
        return forest_reference.ends(*rows)
    found = np.empty(codes.shape[1], dtype=np.int64)
    kernel_of("forest", "ends")(*rows, found)
    return found


def _least_rows_of_a_leaf(n_rows: int, n_classes: int, n_trees: int) -> int:
    """As many as keep the values of all trees within bounds: a tree has two nodes for each of its leaves, but one."""
    return -(-2 * n_rows * n_classes * n_trees // MOST_VALUES)


def _starts(trees: Sequence[GrownTree]) -> IntArray:
    """The number of the first node of each tree, the nodes being numbered through all of them."""
    return np.cumsum([0, *(tree.node_count for tree in trees[:-1])])


def _by_level(trees: Sequence[GrownTree]) -> tuple[IntArray, IntArray, list[slice]]:
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
