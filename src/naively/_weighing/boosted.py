"""Boosted trees: small random partitions of the rows, each of which corrects the scores that are there.

A partition has a few cells. Of each number one cut is tried, drawn at random, and of labels each against the others:
the one that lowers the loss most is taken. What a cell adds to a class is one Newton step: the sum of its residuals
over the sum of its variances and a ridge. As many partitions are added as left-out rows justify; none, if they only
follow chance. Like the fold forest they come in groups that each leave a fold out, so that a row's left-out scores are
those of its group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax

from naively._kernels import kernel_of, partition_reference, repays_compiler, with_reference
from naively._weighing.softmax import log_loss
from naively._weighing.terms import Column
from naively._weighing.trees import NOT_MONOTONE, Features, Trees, TreeTable, joined_trees, monotone_values
from naively.engines._threads import in_order
from naively.typing import AnyArray, FloatArray, IntArray

ROUNDS = 250
PATIENCE = 25
"""Rounds without a lower left-out loss after which no more are tried."""

STEP = 0.15
"""The share of a Newton step that the first partition takes."""

ROUNDS_TO_DOUBLE = 100
"""Steps grow from round to round, by the first step after so many: few rounds are careful, many get somewhere."""

DEPTH = 4
"""How often a row is asked at most: a partition has 2 ** DEPTH cells."""

LEAST_ROWS_OF_A_CELL = 3
RIDGE = 1.0
SHARE_OF_COLUMNS = 0.7
"""Of the columns, how many a partition may cut."""

MOST_OUTPUTS = 4
"""With more classes, a partition is cut for those whose residuals are largest; its steps are made for all."""

UNIT = 2.0**20
"""Residuals are rounded to multiples of 1 / UNIT and counted in it. Sums of whole numbers are exact: no tie of two cuts
is broken by last bits, which depend on the order of rows and classes and on the scale of weights."""

LEAST_GAIN = 1e-5
"""Nats per row by which the left-out loss must fall below its least so far, to count as lower."""

LEAST_GAIN_OF_ALL = 2.0
"""Nats, over all left-out rows, that partitions must gain together: less may be chance."""

CELLS_FOR_THREADS = 100_000
"""Cells of a table from which groups grow in threads."""


@dataclass(frozen=True)
class BoostedExpert:
    """Partitions added up from the prior on: beside the other experts, since it makes none of their errors.

    Parameters
    ----------
    features : Features
    trees : Trees
    log_prior : ndarray (classes,)
    """

    features: Features
    trees: Trees
    log_prior: FloatArray
    name: str = "boosted trees"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        return np.asarray(log_softmax(self.log_prior + total_steps(self.trees, self.features(columns)), axis=1))


def fit_boosted_expert(
    features: Features,
    table: TreeTable,
    target: IntArray,
    weights: FloatArray,
    folds: IntArray,
    log_prior: FloatArray,
    n_threads: int = 1,
    monotone: Mapping[int, int] = NOT_MONOTONE,
) -> tuple[BoostedExpert, FloatArray] | None:
    """Partitions from the prior on, and their left-out log-probabilities; None if they tell nothing.

    What starts at the answers of a good expert sees little but its few sure errors, and follows these; what starts at
    the prior finds its own way, and the pool weighs the two.

    Parameters
    ----------
    features, table, target, weights, folds, n_threads, monotone
        See `fit_partitions`.
    log_prior : ndarray (classes,)
    """
    start = np.tile(log_prior, (len(target), 1))
    trees, scores = fit_partitions(features, table, target, weights, folds, start, n_threads, monotone)
    if trees is None:
        return None
    return BoostedExpert(features, trees, log_prior), np.asarray(log_softmax(scores, axis=1))


def fit_partitions(
    features: Features,
    table: TreeTable,
    target: IntArray,
    weights: FloatArray,
    folds: IntArray,
    start: FloatArray,
    n_threads: int = 1,
    monotone: Mapping[int, int] = NOT_MONOTONE,
) -> tuple[Trees | None, FloatArray]:
    """Partitions that correct left-out scores, or None if none pays; and the corrected left-out scores.

    Parameters
    ----------
    features, table : Features, TreeTable
        How columns are read, and the kept rows so read.
    target, weights, folds : ndarray (rows,)
    start : ndarray (rows, classes)
        Left-out scores.
    n_threads : int
    monotone : dict
        Columns with which the score of the second of two classes must only rise (1) or fall (-1).
    """
    groups = [
        _Group(features, table, target, weights, fold, folds == fold, start, monotone)
        for fold in np.unique(folds).tolist()
        if (folds != fold).any()
    ]
    if not groups:
        return None, start
    threads = n_threads if table.codes.size >= CELLS_FOR_THREADS else 1
    least = weights.sum() * LEAST_GAIN
    first = log_loss(log_softmax(start, axis=1), target, weights)
    best, n_rounds = first, 0
    for done in range(1, ROUNDS + 1):
        if best < LEAST_GAIN_OF_ALL:  # so much is no longer left to be gained
            break
        loss = sum(in_order(_Group.loss_of_next, groups, threads))
        if loss < best - least:
            best, n_rounds = loss, done
        elif done - n_rounds >= PATIENCE:
            break
    if first - best < LEAST_GAIN_OF_ALL:
        return None, start
    corrected = start.copy()
    for group in groups:
        asked = table.ranks[group.held_out].astype(np.float64)
        corrected[group.held_out] += total_steps(joined_trees(group.partitions[:n_rounds]), asked)
    share = 1.0 / len(groups)
    every = [(tree, share * effects) for group in groups for tree, effects in group.partitions[:n_rounds]]
    return features.cut_numbers(joined_trees(every)), corrected


def total_steps(trees: Trees, features: FloatArray) -> FloatArray:
    """What partitions add to the score of each class (rows, classes).

    The mean step of a partition counts only if its first question is answered, so that a row without known cells is
    not moved: the mean of scores is not the score of the mean.

    Parameters
    ----------
    trees : Trees
    features : ndarray (rows, features)
        NaN where a cell is missing.
    """
    total, unknown = trees.total(features), np.isnan(features)
    if unknown.any():
        first, values = trees.feature[trees.roots], trees.values[trees.roots].astype(np.float64)
        means = np.zeros((features.shape[1], total.shape[1]))
        np.add.at(means, first[first >= 0], values[first >= 0])
        total -= unknown @ means
    return total


class _Group:
    """Partitions that do not see the rows of a fold, and the scores of all rows under them.

    Parameters
    ----------
    features, table, target, weights, start, monotone
        See `fit_partitions`.
    fold : int
        Which cuts are drawn, too, depends on it.
    held_out : bool ndarray (rows,)
    """

    def __init__(
        self,
        features: Features,
        table: TreeTable,
        target: IntArray,
        weights: FloatArray,
        fold: int,
        held_out: AnyArray,
        start: FloatArray,
        monotone: Mapping[int, int],
    ):
        self.held_out, self.partitions = held_out, list[tuple[Any, FloatArray]]()
        self._features, self._signs, self._n_labels = features, features.signs(monotone), table.n_labels
        self._random, self._n_nodes = np.random.RandomState(fold), 2 ** (DEPTH + 1) - 1
        learnt = ~held_out
        self._learnt, self._asked = table.codes[learnt], table.codes[held_out]
        self._target = target[learnt]
        self._weights = weights[learnt].astype(np.float32).astype(np.float64)  # equal ones to the last bit
        self._scores, self._asked_scores = start[learnt].T.copy(), start[held_out].T.copy()
        self._exponentials, self._gradient, self._stiffness = np.empty((3, *self._scores.shape))  # written anew
        self._asked_target, self._asked_weights = target[held_out], weights[held_out]

    def loss_of_next(self) -> float:
        """Add a partition; the log-loss of the rows that are held out."""
        gradient, stiffness = self._derivatives()
        cuts, cells = self._cut(gradient, stiffness)
        tree, effects = self._tree(cuts, cells, gradient, stiffness)
        self.partitions.append((tree, effects[:, tree.numbers].T))
        _add_effects(self._scores, effects, cells)
        _add_effects(self._asked_scores, effects, _ends(self._asked, self._n_labels, cuts))
        return log_loss(log_softmax(self._asked_scores, axis=0).T, self._asked_target, self._asked_weights)

    def _derivatives(self) -> tuple[FloatArray, FloatArray]:
        """Of the log-loss of each row by the score of each class (classes, rows), whole numbers of units."""
        np.subtract(self._scores, self._scores.max(axis=0), out=self._exponentials)
        np.exp(self._exponentials, out=self._exponentials)
        _derive(self._exponentials, self._target, UNIT * self._weights, self._gradient, self._stiffness)
        return self._gradient, self._stiffness

    def _cut(self, gradient: FloatArray, stiffness: FloatArray) -> tuple[Cuts, IntArray]:
        """The next partition: what its nodes ask, and where the learnt rows end."""
        n_columns, random = self._learnt.shape[1], self._random
        n_chosen = max(1, round(SHARE_OF_COLUMNS * n_columns))
        chosen = np.sort(random.permutation(n_columns)[:n_chosen])
        labels_last = np.argsort(self._n_labels[chosen] > 0, kind="stable")  # as the kernel wants them
        chosen = chosen[labels_last]
        draws = random.random_sample((self._n_nodes, n_chosen))
        outputs = _largest_classes(gradient)
        cuts, cells = _grown(
            self._learnt[:, chosen],
            self._n_labels[chosen],
            self._signs[self._features.first_of_columns[chosen]],
            gradient[outputs].T,
            stiffness[outputs].T,
            draws,
        )
        return Cuts(np.where(cuts.column >= 0, chosen[cuts.column], -1), cuts.place), cells

    def _tree(
        self, cuts: Cuts, cells: IntArray, gradient: FloatArray, stiffness: FloatArray
    ) -> tuple[Partition, FloatArray]:
        """The partition as a tree, and what each of its nodes adds to each class (classes, nodes).

        What a cell adds is a step; a node above it adds the mean of what lies below.
        """
        pulls, stiffs = (_cell_sums(cells, values, self._n_nodes) for values in (gradient, stiffness))
        share = STEP * (1.0 + len(self.partitions) / ROUNDS_TO_DOUBLE)
        steps = share * pulls / (stiffs + RIDGE * UNIT)
        totals = np.bincount(cells, self._weights, self._n_nodes).astype(np.float64)
        for node in np.flatnonzero(cuts.column >= 0)[::-1].tolist():
            below = slice(2 * node + 1, 2 * node + 3)
            totals[node] = totals[below].sum()
            steps[:, node] = steps[:, below] @ totals[below] / totals[node]
        tree = cuts.tree(self._features.first_of_columns, self._n_labels, totals)
        if self._signs.any():
            steps[:, tree.numbers] = monotone_values(tree, steps[:, tree.numbers].T, self._signs).T
        return tree, steps


@dataclass(frozen=True)
class Cuts:
    """What the nodes of a partition ask; see `naively._kernels.partition_reference.grow`.

    Parameters
    ----------
    column, place : ndarray (nodes,)
    """

    column: IntArray
    place: IntArray

    def tree(self, first_of_columns: IntArray, n_labels: IntArray, totals: FloatArray) -> Partition:
        """The nodes that there are, as a tree that asks for features.

        Parameters
        ----------
        first_of_columns : ndarray (columns,)
            The first feature of each column.
        n_labels : ndarray (columns,)
            How many labels each column has, 0 if numbers.
        totals : ndarray (nodes,)
            The weight of the rows in each node.
        """
        asks = self.column >= 0
        there = np.zeros(len(asks), dtype=bool)
        there[0] = True
        inner = np.flatnonzero(asks)
        there[2 * inner + 1] = there[2 * inner + 2] = True
        numbers = np.flatnonzero(there)
        number = np.cumsum(there) - 1
        asks, column, place = asks[numbers], self.column[numbers], self.place[numbers]
        is_label = n_labels[column] > 0
        return Partition(
            numbers,
            np.where(asks, first_of_columns[column] + np.where(is_label, place, 0), -1),
            np.where(asks, np.where(is_label, 0.5, place + 0.5), 0.0),
            np.where(asks, number[np.where(asks, 2 * numbers + 1, 0)], -1),
            np.where(asks, number[np.where(asks, 2 * numbers + 2, 0)], -1),
            totals[numbers],
        )


@dataclass(frozen=True)
class Partition:
    """A small tree, with the attributes of those of scikit-learn.

    Parameters
    ----------
    numbers : ndarray (nodes,)
        Which of the nodes of a complete tree are there.
    feature, threshold, children_left, children_right, weighted_n_node_samples : ndarray (nodes,)
    """

    numbers: IntArray
    feature: IntArray
    threshold: FloatArray
    children_left: IntArray
    children_right: IntArray
    weighted_n_node_samples: FloatArray

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return len(self.numbers)


def _largest_classes(gradient: FloatArray) -> IntArray | slice:
    """The classes for which a partition is cut: one of two, which mirror each other, or those with most to gain."""
    n_classes = len(gradient)
    if n_classes == 2:
        return slice(1, 2)
    if n_classes <= MOST_OUTPUTS:
        return slice(None)
    return np.sort(np.argsort(-np.abs(gradient).sum(axis=1), kind="stable")[:MOST_OUTPUTS])


def _kernel(name: str, n_cells: int) -> Any:
    return kernel_of("partitions", name) if repays_compiler(n_cells) else getattr(partition_reference, name)


@with_reference
def _grown(
    codes: AnyArray,
    n_labels: IntArray,
    signs: IntArray,
    gradient: FloatArray,
    stiffness: FloatArray,
    draws: FloatArray,
) -> tuple[Cuts, IntArray]:
    """A partition of rows, and the node in which each ends; see `naively._kernels.partition_reference.grow`."""
    column, place = np.full(len(draws), -1, dtype=np.int64), np.zeros(len(draws), dtype=np.int64)
    cells = np.zeros(len(codes), dtype=np.int64)
    codes, pulls, stiffs = (np.ascontiguousarray(part) for part in (codes, gradient, stiffness))
    grow = _kernel("grow", codes.size)
    grow(codes, n_labels, signs, pulls, stiffs, draws, RIDGE * UNIT, LEAST_ROWS_OF_A_CELL, column, place, cells)
    return Cuts(column, place), cells


@with_reference
def _ends(codes: AnyArray, n_labels: IntArray, cuts: Cuts) -> IntArray:
    """The node in which each row ends."""
    cells = np.zeros(len(codes), dtype=np.int64)
    _kernel("ends", len(codes))(codes, n_labels, cuts.column, cuts.place, cells)
    return cells


@with_reference
def _derive(
    exponentials: FloatArray, target: IntArray, units: FloatArray, gradient: FloatArray, stiffness: FloatArray
) -> None:
    """Write derivatives; see `naively._kernels.partition_reference.derivatives`."""
    _kernel("derivatives", exponentials.size)(exponentials, target, units, gradient, stiffness)


@with_reference
def _add_effects(scores: FloatArray, effects: FloatArray, cells: IntArray) -> None:
    """Add the effects of cells (classes, cells) to the scores of the rows in them (classes, rows)."""
    _kernel("add_effects", scores.size)(scores, effects, cells)


@with_reference
def _cell_sums(cells: IntArray, values: FloatArray, n_nodes: int) -> FloatArray:
    """The sums of values (classes, rows) in each node (classes, nodes)."""
    sums = np.zeros((len(values), n_nodes))
    _kernel("cell_sums", values.size)(cells, values, sums)
    return sums
