"""Boosted trees: small random partitions of the rows, each of which corrects the scores that are there.

A partition has a few cells. Of each number one cut is tried, drawn at random, and of labels each against the others:
the one that lowers the loss most is taken. What a cell adds to a class is one Newton step: the sum of its residuals
over the sum of its variances and a ridge. As many partitions are added as left-out rows justify; none, if they only
follow chance. Like the fold forest they come in groups that each leave a fold out, so that a row's left-out scores are
those of its group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_softmax

from naively._kernels import kernel_of, partition_reference, repays_compiler, with_reference
from naively._weighing.partitions import Partition, trees_of
from naively._weighing.softmax import log_loss
from naively._weighing.terms import Column
from naively._weighing.trees import NOT_MONOTONE, Features, Trees, TreeTable, side_by_side
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

N_NODES = 2 ** (DEPTH + 1) - 1

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
    corrected, parts = start.copy(), list[Trees]()
    for group in groups:
        parts.append(trees_of(group.partitions[:n_rounds], features, table.n_labels))
        corrected[group.held_out] += total_steps(parts[-1], table.ranks[group.held_out].astype(np.float64))
    trees = side_by_side(parts)
    return features.cut_numbers(replace(trees, values=trees.values / np.float32(len(groups)))), corrected


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
        self.held_out, self.partitions = held_out, list[Partition]()
        self._features, self._n_labels = features, table.n_labels
        self._signs, self._random = features.signs(monotone), np.random.RandomState(fold)
        learnt, n_classes = ~held_out, start.shape[1]
        self._learnt, self._asked = (np.ascontiguousarray(table.codes[rows].T) for rows in (learnt, held_out))
        self._target, self._asked_target, self._asked_weights = target[learnt], target[held_out], weights[held_out]
        self._weights = weights[learnt].astype(np.float32).astype(np.float64)  # equal ones to the last bit
        self._units = UNIT * self._weights
        # Learnt rows come first in what is known of all rows.
        self._scores = np.concatenate([start[learnt], start[held_out]]).T.copy()
        n_rows, n_learnt = self._scores.shape[1], len(self._target)
        self._gradient, self._stiffness = np.empty((2, n_classes, n_learnt), dtype=np.int64)
        self._exponentials, self._highest, self._totals = np.empty_like(self._scores), *np.empty((2, n_rows))
        self._cells = np.zeros(n_rows, dtype=np.uint8)
        self._add(np.zeros((n_classes, 1)))

    def loss_of_next(self) -> float:
        """Add a partition; the log-loss of the rows that are held out."""
        partition = self._next()
        self.partitions.append(partition)
        _ends(self._asked, self._n_labels, partition.column, partition.place, self._cells[len(self._target) :])
        self._add(partition.steps)
        return self._asked_loss()

    def _add(self, steps: FloatArray) -> None:
        """Add the steps of cells (classes, cells) to the scores of the rows in them, and derive the log-loss anew."""
        _add_steps(self._scores, steps, self._cells, self._exponentials, self._highest)
        np.exp(self._exponentials, out=self._exponentials)
        _derive(self._exponentials, self._target, self._units, self._totals, self._gradient, self._stiffness)

    def _asked_loss(self) -> float:
        n_learnt = len(self._target)
        own = self._scores[self._asked_target, np.arange(n_learnt, len(self._highest))]
        return float(self._asked_weights @ (np.log(self._totals[n_learnt:]) + self._highest[n_learnt:] - own))

    def _next(self) -> Partition:
        """The next partition; where the learnt rows end is put into their cells."""
        n_columns, n_classes = len(self._learnt), len(self._gradient)
        n_chosen = max(1, round(SHARE_OF_COLUMNS * n_columns))
        chosen = np.sort(self._random.permutation(n_columns)[:n_chosen])
        chosen = chosen[np.argsort(self._n_labels[chosen] > 0, kind="stable")]  # labels last, as the kernel wants them
        draws = self._random.random_sample((N_NODES, n_chosen))
        column, place = np.full(N_NODES, -1, dtype=np.int64), np.zeros(N_NODES, dtype=np.int64)
        pulls, stiffs = np.zeros((2, n_classes, N_NODES), dtype=np.int64)
        totals = np.zeros(N_NODES)
        _grow(
            self._learnt[chosen],
            self._n_labels[chosen],
            self._signs[self._features.first_of_columns[chosen]],
            _largest_classes(self._gradient),
            self._gradient,
            self._stiffness,
            self._weights,
            draws,
            column,
            place,
            self._cells[: len(self._target)],
            pulls,
            stiffs,
            totals,
        )
        share = STEP * (1.0 + len(self.partitions) / ROUNDS_TO_DOUBLE)
        steps = share * pulls / (stiffs + RIDGE * UNIT)
        partition = Partition(np.where(column >= 0, chosen[column], -1), place, totals, steps)
        return partition.monotone(self._features, self._signs) if self._signs.any() else partition


def _largest_classes(gradient: IntArray) -> IntArray:
    """The classes for which a partition is cut: one of two, which mirror each other, or those with most to gain."""
    n_classes = len(gradient)
    if n_classes <= MOST_OUTPUTS:
        return np.arange(n_classes == 2, n_classes)
    return np.sort(np.argsort(-np.abs(gradient).sum(axis=1), kind="stable")[:MOST_OUTPUTS])


def _kernel(name: str, n_cells: int) -> Any:
    return kernel_of("partitions", name) if repays_compiler(n_cells) else getattr(partition_reference, name)


@with_reference
def _grow(
    codes: AnyArray,
    n_labels: IntArray,
    signs: IntArray,
    outputs: IntArray,
    gradient: IntArray,
    stiffness: IntArray,
    weights: FloatArray,
    draws: FloatArray,
    *results: AnyArray,
) -> None:
    """Grow a partition of rows; see `naively._kernels.partition_reference.grow`."""
    rows = codes, n_labels, signs, outputs, gradient, stiffness, weights
    _kernel("grow", codes.size)(*rows, draws, RIDGE * UNIT, LEAST_ROWS_OF_A_CELL, *results)


@with_reference
def _ends(codes: AnyArray, n_labels: IntArray, column: IntArray, place: IntArray, cells: AnyArray) -> None:
    """Find the node in which each row ends."""
    _kernel("ends", len(cells))(codes, n_labels, column, place, cells)


@with_reference
def _add_steps(
    scores: FloatArray, steps: FloatArray, cells: AnyArray, shifted: FloatArray, highest: FloatArray
) -> None:
    """Add steps to scores; see `naively._kernels.partition_reference.add_steps`."""
    _kernel("add_steps", scores.size)(scores, steps, cells, shifted, highest)


@with_reference
def _derive(exponentials: FloatArray, target: IntArray, units: FloatArray, *results: AnyArray) -> None:
    """Write derivatives; see `naively._kernels.partition_reference.derivatives`."""
    _kernel("derivatives", exponentials.size)(exponentials, target, units, *results)
