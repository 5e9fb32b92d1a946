"""Boosted trees: small random partitions of the rows, each of which corrects the scores that are there.

A partition has a few cells. Of each number one cut is tried, drawn at random, and of labels each against the others:
the one that lowers the loss most is taken. What a cell adds to a class is one Newton step: the sum of its residuals
over the sum of its variances and a ridge. As many partitions are added as left-out rows justify; none, if they only
follow chance. They come in groups that each leave a part of the rows out: a row's left-out scores are those of its
group, and those of a new row are the mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from naively._kernels import kernel_of, partition_reference, repays_compiler, with_reference
from naively._weighing.experts import FittedExpert
from naively._weighing.partitions import Partitions
from naively._weighing.softmax import log_loss, log_softmax
from naively._weighing.terms import Column
from naively._weighing.trees import NOT_MONOTONE, Features, Trees, TreeTable, side_by_side
from naively.engines._threads import in_order
from naively.typing import AnyArray, FloatArray, IntArray

ROUNDS = 250
PATIENCE = 12
"""Rounds without a lower left-out loss after which no more are tried."""

STEP = 0.15
"""The share of a Newton step that the first partition takes."""

ROUNDS_TO_DOUBLE = 100
"""Steps grow from round to round, by the first step after so many: few rounds are careful, many get somewhere."""

N_NODES = 31
"""The nodes of a full tree of 16 cells: a row is asked four times at most."""

LEAST_ROWS_OF_A_CELL = 3
RIDGE = 1.0
SHARE_OF_COLUMNS = 0.7
"""Of the columns, how many a partition may cut."""

UNIT = 2.0**20
"""Residuals are rounded to multiples of 1 / UNIT, or of what `MOST_UNITS` leaves, and counted in it. Sums of whole
numbers are exact: no tie of two cuts is broken by last bits, which depend on the order of rows and classes and on the
scale of weights."""

MOST_UNITS = 2.0**30
"""What all rows may weigh in units, which are larger where it would be more: half of what the kernels can add up."""

LEAST_GAIN = 1e-5
"""Nats per row by which the left-out loss must fall below its least so far, to count as lower."""

LEAST_GAIN_OF_ALL = 2.0
"""Nats, over all left-out rows, that partitions must gain together: less may be chance."""

GROUPS = ((1 << 16, 4096, 16), (1 << 17, 1 << 15, 8))
"""So many groups where no more than so many scores (rows x classes) and rows are at hand; elsewhere `LEAST_GROUPS`. The
mean of many groups is better than each, and each lacks fewer rows; beyond that they cost more than they bring."""

LEAST_GROUPS = 4

CELLS_FOR_THREADS = 100_000
"""Cells of a table from which groups grow in threads."""

CELLS_OF_OTHERS = 5
"""The reference takes some 35 ns for a cell, a fifth of what importing the compiler is reckoned to repay."""

CELLS_AT_ONCE = 1 << 17
"""Scores of groups that grow together: of small tables most of the time would go by between kernels, and of large ones
what is known of several groups would not stay in the cache."""


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
        return log_softmax(self.log_prior + total_steps(self.trees, self.features(columns)), axis=1)


def n_groups(n_rows: int, n_classes: int) -> int:
    """How many groups of partitions there are, each of which does not learn one part of the rows."""
    fitting = (groups for scores, rows, groups in GROUPS if n_rows * n_classes <= scores and n_rows <= rows)
    return next(fitting, LEAST_GROUPS)


def fit_boosted_expert(
    features: Features,
    table: TreeTable,
    target: IntArray,
    weights: FloatArray,
    parts: IntArray,
    log_prior: FloatArray,
    n_threads: int = 1,
    monotone: Mapping[int, int] = NOT_MONOTONE,
) -> FittedExpert | None:
    """Partitions from the prior on, and their left-out log-probabilities; None if they tell nothing.

    What starts at the answers of a good expert sees little but its few sure errors, and follows these; what starts at
    the prior finds its own way, and the pool weighs the two.

    Parameters
    ----------
    features, table, target, weights, parts, n_threads, monotone
        See `fit_partitions`.
    log_prior : ndarray (classes,)
    """
    start = np.tile(log_prior, (len(target), 1))
    trees, scores, noise = fit_partitions(features, table, target, weights, parts, start, n_threads, monotone)
    if trees is None:
        return None
    return FittedExpert(BoostedExpert(features, trees, log_prior), log_softmax(scores, axis=1), noise)


def fit_partitions(
    features: Features,
    table: TreeTable,
    target: IntArray,
    weights: FloatArray,
    parts: IntArray,
    start: FloatArray,
    n_threads: int = 1,
    monotone: Mapping[int, int] = NOT_MONOTONE,
) -> tuple[Trees | None, FloatArray, FloatArray | None]:
    """Partitions that correct left-out scores, or None if none pays; the corrected scores, and their noise if known.

    The noise (rows, classes) is errors as large as those of the left-out scores that the mean of all groups has not.

    Parameters
    ----------
    features, table : Features, TreeTable
        How columns are read, and the kept rows so read.
    target, weights, parts : ndarray (rows,)
        For each part there is a group that does not learn it.
    start : ndarray (rows, classes)
        Left-out scores.
    n_threads : int
    monotone : dict
        Columns with which the score of the second of two classes must only rise (1) or fall (-1).
    """
    held_out_by, n_rows = np.unique(parts, return_inverse=True)[1], len(target)
    count = int(held_out_by.max(initial=-1)) + 1
    if count < 2:
        return None, start, None
    threads = n_threads if table.codes.size >= CELLS_FOR_THREADS else 1
    n_blocks = max(threads, -(-count * start.size // CELLS_AT_ONCE))
    together = np.array_split(np.arange(count), min(n_blocks, count))
    losses = np.empty(n_rows)  # of each row by the group that does not learn it
    rows = _Rows(features, table, target, weights, held_out_by, start, features.signs(monotone), losses)
    boosts = [_Boosts(rows, groups) for groups in together]
    draw, least = _draws(count, table.codes.shape[1]), weights.sum() * LEAST_GAIN
    first = log_loss(log_softmax(start, axis=1), target, weights)
    best, n_rounds = first, 0
    for done in range(1, ROUNDS + 1):
        if best < LEAST_GAIN_OF_ALL:  # so much is no longer left to be gained
            break
        list(in_order(partial(_Boosts.add, drawn=next(draw)), boosts, threads))
        loss = float(weights @ losses)
        if loss < best - least:
            best, n_rounds = loss, done
        elif done - n_rounds >= PATIENCE:
            break
    if first - best < LEAST_GAIN_OF_ALL:
        return None, start, None
    corrected, noise, trees = start.copy(), np.zeros(start.shape), list[Trees]()
    for group, partitions in enumerate(one for each in boosts for one in each.partitions(n_rounds)):
        trees.append(partitions.trees(features, rows.n_labels_by_place))
        for before, sums, sign in ((0, corrected, 1.0), (1, noise, 1.0), (2, noise, -1.0)):
            asked = np.flatnonzero(held_out_by == (group - before) % count)
            sums[asked] += sign * total_steps(trees[-1], table.ranks[asked].astype(np.float64))
    joined = side_by_side(trees)
    trees_of_all = features.cut_numbers(replace(joined, values=joined.values / np.float32(count)))
    # One group answers for a left-out row. How far two others are apart, of those that learnt the row, tells how much
    # of an answer is the chance of a group; the mean of all groups does away with all but a part of that.
    noise *= float(np.sqrt(0.5 * (1.0 - 1.0 / count)))
    return trees_of_all, corrected, noise if count > 2 else None


def _draws(n_groups: int, n_columns: int) -> Iterator[tuple[IntArray, FloatArray]]:
    """For each round and group the columns that may be cut, in order, and where the nodes try cuts of numbers.

    All groups are drawn for together: in how many threads they grow shows in nothing.
    """
    random, n_chosen = np.random.RandomState(0), max(1, round(SHARE_OF_COLUMNS * n_columns))
    while True:
        order = np.argsort(random.random_sample((n_groups, n_columns)), axis=1)
        yield np.sort(order[:, :n_chosen], axis=1), random.random_sample((n_groups, N_NODES, n_chosen))


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


class _Rows:
    """What all groups of partitions read.

    Parameters
    ----------
    features, table, target, weights, start
        See `fit_partitions`.
    held_out_by : ndarray (rows,)
        The group that does not learn the row.
    signs : ndarray (features,)
        See `Features.signs`.
    losses : ndarray (rows,)
        Where the loss of each row by its group is written.
    """

    def __init__(
        self,
        features: Features,
        table: TreeTable,
        target: IntArray,
        weights: FloatArray,
        held_out_by: IntArray,
        start: FloatArray,
        signs: IntArray,
        losses: FloatArray,
    ):
        # Numbers come first, as the kernel wants them.
        self.columns = np.argsort(table.n_labels > 0, kind="stable")
        self.codes = np.ascontiguousarray(table.codes.T[self.columns])
        self.n_labels, self.n_labels_by_place = table.n_labels[self.columns], table.n_labels
        self.first_of_columns = features.first_of_columns[self.columns]
        self.signs, self.signs_of_columns, self.start = signs, signs[self.first_of_columns], start
        self.target, self.held_out_by, self.losses = target, held_out_by, losses
        self.weights = weights.astype(np.float32).astype(np.float64)  # equal ones to the last bit
        self.unit = min(UNIT, 2.0 ** np.floor(np.log2(MOST_UNITS / self.weights.sum())))


class _Boosts:
    """Groups of partitions, each of which does not learn some rows, and the scores of all rows under them.

    Parameters
    ----------
    rows : _Rows
    groups : ndarray (groups,)
        Which groups.
    """

    def __init__(self, rows: _Rows, groups: IntArray):
        self._rows, self.groups, self._rounds = rows, groups, list[Partitions]()
        shape = len(groups), rows.start.shape[1], len(rows.target)
        self.scores = np.empty(shape, dtype=np.float32)  # rows of a class side by side, which np.tile would not do
        self.scores[:] = rows.start.T
        self._derivatives, self._pulls = np.empty(shape, dtype=np.int64), np.empty(shape[:2], dtype=np.int64)
        self._highest = np.empty((shape[0], shape[2]), dtype=np.float32)
        self._totals, self._cells = (np.zeros(self._highest.shape, dtype=kind) for kind in (np.int32, np.uint8))
        units = np.where(rows.held_out_by == groups[:, None], 0.0, rows.unit * rows.weights)
        self._units, self._of_one = units.astype(np.float32), partition_reference.units_of_one(shape[1])
        self._own_rows = np.flatnonzero(np.isin(rows.held_out_by, groups))
        self._own_groups = rows.held_out_by[self._own_rows] - groups[0]
        self._derive(np.zeros((*shape[:2], 1)))

    def add(self, drawn: tuple[IntArray, FloatArray]) -> None:
        """Add a partition to each group, and write the losses of the rows that it does not learn.

        Parameters
        ----------
        drawn : tuple
            For all groups; see `_draws`.
        """
        chosen, draws = drawn
        partitions = self._grown(chosen[self.groups], draws[self.groups])
        self._rounds.append(partitions)
        self._derive(partitions.steps)
        at, rows = self._own_groups, self._own_rows
        own = self.scores[at, self._rows.target[rows], rows]
        totals = self._totals[at, rows].astype(np.float64) / self._of_one
        self._rows.losses[rows] = np.log(totals) + (self._highest[at, rows] - own)

    def partitions(self, n_rounds: int) -> Iterator[Partitions]:
        """The partitions of each group, of the first rounds."""
        stacked = [np.stack(part) for part in zip(*self._rounds[:n_rounds], strict=True)]
        for group in range(len(self.groups)):
            column, place, totals, steps = (part[:, group] for part in stacked)
            yield Partitions(np.where(column >= 0, self._rows.columns[column], -1), place, totals, steps)

    def _derive(self, steps: FloatArray) -> None:
        """Add the steps of cells (groups, classes, cells) to the scores of the rows in them, and derive the loss."""
        rows = self._rows.target, self._units, self._of_one
        results = self._highest, self._totals, self._derivatives, self._pulls
        _add_steps(self.scores, steps.astype(np.float32), self._cells, *rows, *results)

    def _grown(self, chosen: IntArray, draws: FloatArray) -> Partitions:
        """The next partition of each group; where all rows end is put into their cells."""
        n_groups, n_classes, _ = self.scores.shape
        column, place = np.zeros((2, n_groups, N_NODES), dtype=np.int64)
        pulls, stiffs = np.zeros((2, n_groups, n_classes, N_NODES), dtype=np.int64)
        totals, rows = np.zeros((n_groups, N_NODES)), self._rows
        _grow(
            rows.codes,
            rows.n_labels,
            rows.signs_of_columns,
            rows.held_out_by,
            self.groups,
            chosen,
            _largest_classes(self._pulls),
            self._derivatives,
            rows.weights,
            draws,
            RIDGE * rows.unit,
            column,
            place,
            self._cells,
            pulls,
            stiffs,
            totals,
        )
        share = STEP * (1.0 + len(self._rounds) / ROUNDS_TO_DOUBLE)
        partitions = Partitions(column, place, totals, share * pulls / (stiffs + RIDGE * rows.unit))
        return partitions.monotone(rows.first_of_columns, rows.signs) if rows.signs.any() else partitions


def _largest_classes(pulls: IntArray) -> IntArray:
    """The classes for which a partition is cut: one of two, which mirror each other, or those with most to gain."""
    n_groups, n_classes = pulls.shape
    if n_classes <= partition_reference.MOST_OUTPUTS:
        return np.tile(np.arange(n_classes == 2, n_classes), (n_groups, 1))
    return np.sort(np.argsort(-pulls, axis=1, kind="stable")[:, : partition_reference.MOST_OUTPUTS], axis=1)


def _kernel(name: str, n_cells: int) -> Any:
    is_compiled = repays_compiler(n_cells // CELLS_OF_OTHERS)
    return kernel_of("partitions", name) if is_compiled else getattr(partition_reference, name)


@with_reference
def _grow(
    codes: AnyArray,
    n_labels: IntArray,
    signs: IntArray,
    held_out_by: IntArray,
    groups: IntArray,
    chosen: IntArray,
    outputs: IntArray,
    derivatives: IntArray,
    weights: FloatArray,
    draws: FloatArray,
    ridge: float,
    *results: AnyArray,
) -> None:
    """Grow partitions of rows; see `naively._kernels.partition_reference.grow`."""
    rows = codes, n_labels, signs, held_out_by, groups, chosen, outputs, derivatives, weights
    grow = _kernel("grow", len(groups) * codes.size)
    grow(*rows, draws, ridge, LEAST_ROWS_OF_A_CELL, *results)


@with_reference
def _add_steps(scores: AnyArray, steps: AnyArray, cells: AnyArray, *rows_and_results: Any) -> None:
    """Add steps to scores and derive the loss; see `naively._kernels.partition_reference.add_steps`."""
    _kernel("add_steps", scores.size)(scores, steps, cells, *rows_and_results)
