"""A tree of columns: each label depends on the class and on one other column (TAN, tree-augmented naive Bayes)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any, ClassVar

import numpy as np

from naively._table.table import Kind, Table
from naively.errors import ForgetError, InputError
from naively.families._bins import names_of_bins
from naively.families._joint import READ_TOGETHER, Block, block_reader, read_together
from naively.families._joint_draws import Together, tree_draws
from naively.families._posteriors import Posteriors, dirichlets, log_marginal, prior_counts, refuse_prior_from_data
from naively.families._uncertainty import Uncertain
from naively.families.base import READS_LABELS, Count, Estimate, Family, LeftOut, Parameters
from naively.smoothing import Smoothing, shares, smoothed_frequencies
from naively.statistics._counts import merged_labels
from naively.statistics._independence import conditional_mutual_information, maximum_spanning_tree
from naively.statistics._information import counted
from naively.statistics._joint import JointSums
from naively.statistics.base import Summary
from naively.typing import AnyArray, FloatArray, IntArray, Label

LARGEST_TABLE_BYTES = 2 << 30
"""A pair of columns with more combinations than fit is refused."""


@dataclass(frozen=True, repr=False)
class TreeFamily(Family):
    """A `Tree` that knows its columns: the family of all of its members.

    Parameters
    ----------
    columns : tuple of str
        In the order of the model's columns.
    cuts : tuple
        For each the cut points that make bins of its numbers; None where it is read as labels.
    declared : tuple
        For each the declared values, or None.
    root : int
        The position of the column that has no parent but the class.
    """

    accepts: ClassVar[tuple[Kind, ...]] = READS_LABELS
    together: ClassVar[bool] = True
    numbers: ClassVar[tuple[str, ...]] = ()

    columns: tuple[str, ...]
    cuts: tuple[tuple[float, ...] | None, ...]
    declared: tuple[tuple[Label, ...] | None, ...]
    root: int = 0

    @classmethod
    def name(cls) -> str:
        return "tree"

    def __repr__(self) -> str:
        return f"the tree of {len(self.columns)} columns with the root {self.columns[self.root]!r}"

    @property
    def labels(self) -> tuple[str, ...]:
        """All columns: bins are labels, too."""
        return self.columns

    # -- Statistics -----------------------------------------------------------------------------------------------

    @cached_property
    def summaries(self) -> tuple[Summary, ...]:
        """The counts of every column, then those of every pair of columns."""
        singles = [self._summary(place) for place in range(len(self.columns))]
        pairs = [self._summary(*pair) for pair in combinations(range(len(self.columns)), 2)]
        return tuple(singles + pairs)

    def _summary(self, *places: int) -> Summary:
        members = sorted(places, key=lambda place: self.columns[place])
        cuts = tuple(self.cuts[place] for place in members)
        some = any(cut is not None for cut in cuts)
        return Summary("joint", labels=tuple(self.columns[place] for place in members), cuts=cuts if some else ())

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, *sums: JointSums, smoothing: Smoothing) -> TreeEstimate:
        """The tree, and the probability of each value given the class and the parent's value."""
        counted = PairTables(self, sums)
        information = counted.information()
        arcs = maximum_spanning_tree(np.where(counted.together(), information, -np.inf), self.root)
        tables = [counted.table(parent, child, smoothing) for parent, child in arcs]
        return TreeEstimate(self, counted.categories, information, arcs, tables)

    def unweighable(self) -> str:
        """Every column has a weight of its own, and these are one factor."""
        return READ_TOGETHER

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, *sums: JointSums, smoothing: Smoothing) -> LeftOut:
        """The counts without the row; the tree is not grown again, and all values stay known."""
        counted = PairTables(self, sums)
        estimate = self.estimate(*sums, smoothing=smoothing)
        return LeftOut("both", LearntTree(counted, estimate, smoothing).evidence, reader=estimate.reader)

    # -- Questions ------------------------------------------------------------------------------------------------

    def n_parameters(self, estimate: Any, n_classes: int, n_columns: int) -> Parameters:
        """The tables of each column given its parent, combinations that never occurred included."""
        stored = sum(table.size for table in estimate.tables)
        free = stored - sum(table[..., 0].size for table in estimate.tables)
        return Parameters(Count(stored, free), [len(labels) for labels in estimate.categories])

    def distribution(self, estimate: Any, tables: Any, class_weight: Any, length: Any) -> Together:
        """Each column given its parent."""
        return tree_draws(estimate)

    def uncertain(self, estimate: Any, tables: Any, smoothing: Smoothing, block: Block) -> Uncertain:
        """Under a Dirichlet posterior of each column given its parent."""
        from naively.families._joint_uncertainty import uncertain_tree

        return uncertain_tree(estimate, PairTables(self, tables), smoothing, block.codes)

    def posterior(self, tables: Any, smoothing: Smoothing) -> list[Posteriors]:
        """Dirichlet, for each column and each value of its parent, given the tree."""
        counted, estimate = PairTables(self, tables), self.estimate(*tables, smoothing=smoothing)
        found: dict[int, Posteriors] = {}
        for parent, child in estimate.arcs:
            rows = counted.rows(parent, child)
            alpha = rows + prior_counts(smoothing, rows, range(rows.shape[-1]))
            if parent is None:
                found[child] = {"probability": dirichlets(alpha)}
                continue
            of_parent = alpha.reshape(-1, len(counted.categories[parent]), rows.shape[-1])
            names = [f"probability given {value}" for value in estimate.axes(child)[0]]
            found[child] = {name: dirichlets(of_parent[:, place]) for place, name in enumerate(names)}
        return [found[place] for place in range(len(self.columns))]

    def values_of(self, estimate: Any, place: int) -> Any:
        return estimate.axes(place)[-1]

    def log_marginal_likelihood(self, tables: Any, smoothing: Smoothing) -> float:
        """Under the Dirichlet priors that the smoothing is, given the tree: the score of Bayesian networks (BDe)."""
        refuse_prior_from_data(smoothing)
        counted, total = PairTables(self, tables), 0.0
        for parent, child in self.estimate(*tables, smoothing=smoothing).arcs:
            rows = counted.rows(parent, child)
            total += log_marginal(rows, prior_counts(smoothing, rows, range(rows.shape[-1])))
        return total

    def cells(self, *tables: Any) -> list[FloatArray]:
        """None: columns that are read together have none of their own."""
        raise read_together(self)


class PairTables:
    """The counts of single columns and of pairs, under the same values everywhere."""

    def __init__(self, family: TreeFamily, sums: tuple[JointSums, ...]):
        self.family = family
        n = len(family.columns)
        self._singles, self._pairs = sums[:n], dict(zip(combinations(range(n), 2), sums[n:], strict=True))
        self.categories = tuple(
            merged_labels(table.categories[0], declared or ())
            for table, declared in zip(self._singles, family.declared, strict=True)
        )

    def single(self, place: int) -> FloatArray:
        """The counts (classes, values) of a column."""
        return self._dense(self._singles[place], (place,))

    def pair(self, parent: int, child: int) -> FloatArray:
        """The counts (classes, values of the parent, values of the child) of two columns."""
        low, high = sorted((parent, child))
        members = tuple(sorted((low, high), key=lambda place: self.family.columns[place]))
        counts = self._dense(self._pairs[low, high], members)
        return counts if members == (parent, child) else counts.transpose(0, 2, 1)

    def table(self, parent: int | None, child: int, smoothing: Smoothing) -> FloatArray:
        """The probability (classes, values of the parent, values) of a column given its parent, if it has one."""
        if parent is None:
            return root_table(self.single(child), smoothing)
        return child_table(self.pair(parent, child), smoothing)

    def posterior(self, parent: int | None, child: int, smoothing: Smoothing) -> FloatArray:
        """The counts behind `table`, pseudo-counts included."""
        rows = self.rows(parent, child)
        n_given = 1 if parent is None else len(self.categories[parent])
        return (rows + smoothing.pseudo_counts(rows, range(rows.shape[-1]))).reshape(-1, n_given, rows.shape[-1])

    def rows(self, parent: int | None, child: int) -> FloatArray:
        """The counts of a column's values, a row for each class and value of its parent, if it has one."""
        return self.single(child) if parent is None else _flat(self.pair(parent, child))

    def together(self) -> AnyArray:
        """Which columns (columns, columns) are known together in any row."""
        result = np.zeros((len(self.family.columns),) * 2, dtype=bool)
        for (first, second), table in self._pairs.items():
            result[first, second] = result[second, first] = bool(table.weight.high.any())
        return result

    def _dense(self, sums: JointSums, members: tuple[int, ...]) -> FloatArray:
        """A table over all values of its members."""
        need = 8 * sums.n_classes * prod(len(self.categories[place]) for place in members)
        if need > LARGEST_TABLE_BYTES:
            names = " and ".join(repr(self.family.columns[place]) for place in members)
            raise InputError(
                f"The columns {names} have so many values that their table would take {need / 2**30:.0f} GiB. Drop one "
                "of them, or group its rare values."
            )
        wide = sums.with_categories(tuple(self.categories[place] for place in members))
        table = np.zeros((sums.n_classes, *wide.sizes))
        table[(slice(None), *wide.cells.T)] = wide.weight.high
        return table

    def information(self) -> FloatArray:
        """The conditional mutual information of every pair given the class, in nats (columns, columns)."""
        result = np.zeros((len(self.family.columns),) * 2)
        for first, second in self._pairs:
            value = conditional_mutual_information(self.pair(first, second))
            result[first, second] = result[second, first] = value
        return result


def root_table(counts: FloatArray, smoothing: Smoothing) -> FloatArray:
    """The probability (classes, 1, values) of a column that depends on the class only."""
    return smoothed_frequencies(counts, smoothing, range(counts.shape[-1]))[:, None]


def child_table(counts: FloatArray, smoothing: Smoothing) -> FloatArray:
    """The probability (classes, values of the parent, values) of a column given the class and its parent.

    Pseudo-counts see the table of the child as a whole, a row for every class and parent's value: ``(n_abj + alpha) /
    (n_bj + sum of alpha)``. A row without counts or pseudo-counts is uniform; a class without any borrows from all.
    """
    flat = _flat(counts)
    with_pseudo_counts = (flat + smoothing.pseudo_counts(flat, range(flat.shape[-1]))).reshape(counts.shape)
    uniform = np.full(counts.shape[-1], 1.0 / max(counts.shape[-1], 1))
    own = shares(with_pseudo_counts, uniform)
    empty = with_pseudo_counts.sum(axis=(1, 2), keepdims=True) == 0
    return np.where(empty, shares(with_pseudo_counts.sum(axis=0), uniform), own)


def _flat(counts: FloatArray) -> FloatArray:
    """A child's table with a row for every class and parent's value."""
    return counts.reshape(counts.shape[0] * counts.shape[1], counts.shape[2])


# -- Evidence -----------------------------------------------------------------------------------------------------


class TreeEstimate(Estimate):
    """The tables of a tree (or several), each behind its parent.

    Parameters
    ----------
    family : TreeFamily
    categories : tuple of tuples of labels
    information : ndarray (columns, columns)
    arcs : list of (parent or None, child)
    tables : list of ndarray (classes, values of the parent, values)
        That of the child of each arc.
    """

    reads: ClassVar[str] = "both"

    def __init__(
        self,
        family: TreeFamily,
        categories: tuple[tuple[Label, ...], ...],
        information: FloatArray,
        arcs: list[tuple[int | None, int]],
        tables: list[FloatArray],
    ):
        self.family, self.categories, self.information = family, categories, information
        self.arcs, self.tables = arcs, tables
        self.n_classes = tables[0].shape[0]
        self.order = [child for _, child in arcs]
        self.parent = {child: parent for parent, child in arcs}
        with np.errstate(divide="ignore"):
            self.logs = {column: np.log(table) for column, table in zip(self.order, tables, strict=True)}

    def reader(self, table: Table, positions: IntArray | None) -> Callable[[slice], Block]:
        """A function that gives the block of a slice of rows."""
        return block_reader(self.family, self.categories, table, positions, self.family.cuts)

    def evidence(self, block: Block) -> FloatArray:
        """What each column adds given its parent, (rows, columns, classes).

        Where a parent is missing, what the column adds given those before it that are known: 0 for missing cells.
        """
        codes = block.codes
        result = np.zeros((*codes.shape, self.n_classes))
        complete = (codes >= 0).all(axis=1)
        for column in self.order:
            result[complete, column] = self._given_parent(column, codes[complete])
        rows = np.flatnonzero(~complete)
        if not len(rows):
            return result
        seen = np.full((len(rows), codes.shape[1]), -1, dtype=np.int64)
        before = np.zeros((len(rows), self.n_classes))
        for column in self.order:
            seen[:, column] = np.maximum(codes[rows, column], -1)
            after = self._log_likelihood(seen)
            with np.errstate(invalid="ignore"):
                step = np.where(np.isneginf(before), 0.0, after - before)
            result[rows, column], before = np.where((codes[rows, column] >= 0)[:, None], step, 0.0), after
        return result

    def add_to(self, scores: FloatArray, block: Block) -> None:
        """Add the log-likelihood of every row."""
        codes = block.codes
        complete = (codes >= 0).all(axis=1)
        for column in self.order:
            scores[complete] += self._given_parent(column, codes[complete])
        if not complete.all():
            scores[~complete] += self._log_likelihood(codes[~complete])

    def _given_parent(self, column: int, codes: IntArray) -> FloatArray:
        """The log-probability (rows, classes) of a column's cells given their parents', all known."""
        parent = self.parent[column]
        given = np.zeros(len(codes), dtype=np.int64) if parent is None else codes[:, parent]
        return np.asarray(self.logs[column][:, given, codes[:, column]].T)

    def _log_likelihood(self, codes: IntArray) -> FloatArray:
        """The log-likelihood (rows, classes) of rows with missing cells: messages from the leaves to the roots."""
        messages: dict[int, FloatArray] = {}
        result = np.zeros((len(codes), self.n_classes))
        for column in reversed(self.order):
            parent = self.parent[column]
            below = messages.pop(column, None)
            message = self._message(column, codes[:, column], below)
            if parent is None:
                result += message[:, :, 0]
            else:
                messages[parent] = messages[parent] + message if parent in messages else message
        return result

    def _message(self, column: int, cells: IntArray, below: FloatArray | None) -> FloatArray:
        """The log-likelihood (rows, classes, values of the parent) of a column and all below it, per parent's value."""
        logs = self.logs[column]
        result = np.zeros((len(cells), *logs.shape[:2]))
        known = np.flatnonzero(cells >= 0)
        result[known] = np.moveaxis(logs[:, :, cells[known]], 2, 0)
        if below is None:
            return result
        result[known] += below[known, :, cells[known]][:, :, None]
        hidden = np.flatnonzero(cells < 0)
        if len(hidden):
            result[hidden] = np.logaddexp.reduce(logs[None] + below[hidden][:, :, None, :], axis=3)
        return result

    # -- Questions ------------------------------------------------------------------------------------------------

    def log_likelihood(self, *sums: JointSums) -> FloatArray:
        """The log-likelihood of all rows without a missing cell, by column."""
        tables = PairTables(self.family, sums)
        result = np.zeros(len(self.family.columns))
        for parent, child in self.arcs:
            counts = tables.single(child)[:, None] if parent is None else tables.pair(parent, child)
            result[child] = counted(counts, self.logs[child])
        return result

    # -- Description ----------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Each column's parent, and its probabilities (classes, values of the parent, values)."""
        n = len(self.family.columns)
        table_of = dict(zip(self.order, self.tables, strict=True))
        parents = [self.parent[place] for place in range(n)]
        return {
            "parent": [None if parent is None else self.family.columns[parent] for parent in parents],
            "values": list(self.categories),
            "given": [None if parent is None else self.categories[parent] for parent in parents],
            "probability": [
                table_of[place][:, 0] if parent is None else table_of[place] for place, parent in enumerate(parents)
            ],
        }

    def axes(self, place: int) -> list[list[str]]:
        """The values of the parent, if there is one, and those of the column."""
        parent = self.parent[place]
        own = self._names_of_values(place)
        if parent is None:
            return [own]
        return [[f"{self.family.columns[parent]}: {name}" for name in self._names_of_values(parent)], own]

    def _names_of_values(self, place: int) -> list[str]:
        """The labels of a column, or its bins."""
        cuts = self.family.cuts[place]
        bins = None if cuts is None else names_of_bins(cuts)
        return [str(value) if bins is None else bins[int(value)] for value in self.categories[place]]


class LearntTree:
    """A tree that rows can be taken out of, one at a time."""

    def __init__(self, counted: PairTables, estimate: TreeEstimate, smoothing: Smoothing):
        self.estimate, self.smoothing = estimate, smoothing
        self.counts = {
            child: counted.single(child)[:, None] if parent is None else counted.pair(parent, child)
            for parent, child in estimate.arcs
        }

    def evidence(self, block: Block, codes: IntArray, weights: FloatArray) -> FloatArray:
        """What each column says (rows, columns, classes) by the tables without the row."""
        result = self.estimate.evidence(block)
        complete = (block.codes >= 0).all(axis=1) & (weights > 0)
        self._refuse_unknown(block, weights)
        for row in np.flatnonzero((block.codes < 0).any(axis=1) & (weights > 0)).tolist():
            result[row] = self._refitted(block.take([row]), int(codes[row]), float(weights[row]))
        rows = np.flatnonzero(complete)
        for column in self.estimate.order:
            own = self._own(column, block.codes[rows], codes[rows], weights[rows])
            result[rows, column, codes[rows]] = own
        return result

    def _refuse_unknown(self, block: Block, weights: FloatArray) -> None:
        unknown = (block.codes == -2).any(axis=1) & (weights > 0)
        if unknown.any():
            raise ForgetError(
                f"Row {int(np.flatnonzero(unknown)[0])} has a value that was never learnt. Only rows that the model "
                "has learnt can be left out."
            )

    def _cells(self, column: int, codes: IntArray) -> tuple[IntArray, IntArray]:
        parent = self.estimate.parent[column]
        return (np.zeros(len(codes), dtype=np.int64) if parent is None else codes[:, parent]), codes[:, column]

    def _own(self, column: int, cells: IntArray, codes: IntArray, weights: FloatArray) -> FloatArray:
        """The log-probability (rows,) of a column's cells by the rows' own classes without them."""
        counts = self.counts[column]
        given, value = self._cells(column, cells)
        flat = _flat(counts)
        alpha = np.broadcast_to(self.smoothing.pseudo_counts(flat, range(flat.shape[-1])), (flat.shape[-1],))
        left = counts[codes, given, value] - weights
        if (left < -1e-9 * weights).any():
            raise ForgetError(
                "These rows have values that the model has learnt less often: they were never all learnt."
            )
        left, total = np.maximum(left, 0.0), np.maximum(counts[codes, given].sum(axis=1) - weights, 0.0)
        marginal, everything = flat.sum(axis=0)[value] - weights, flat.sum() - weights
        alpha_left = self.smoothing.pseudo_counts_without(alpha[value], marginal, everything, flat.shape[-1])
        whole = total + alpha.sum()
        share = np.where(whole > 0, (left + alpha_left) / np.where(whole > 0, whole, 1.0), 1.0 / flat.shape[-1])
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(share))

    def _refitted(self, block: Block, code: int, weight: float) -> FloatArray:
        """What each column says (columns, classes) of one row with missing cells, by tables without it."""
        tables = []
        for column, table in zip(self.estimate.order, self.estimate.tables, strict=True):
            given, value = (int(cells[0]) for cells in self._cells(column, block.codes))
            if given < 0 or value < 0:
                tables.append(table)
                continue
            counts = self.counts[column].copy()
            counts[code, given, value] = max(counts[code, given, value] - weight, 0.0)
            root = self.estimate.parent[column] is None
            tables.append(root_table(counts[:, 0], self.smoothing) if root else child_table(counts, self.smoothing))
        family, arcs = self.estimate.family, self.estimate.arcs
        without = TreeEstimate(family, self.estimate.categories, self.estimate.information, arcs, tables)
        return np.asarray(without.evidence(block)[0])
