"""Leave-one-out of a joint factor: what it says of a row that it has learnt, as if it had not."""

from __future__ import annotations

import numpy as np

from naively._table.labels import positions_in
from naively.errors import ForgetError
from naively.families._joint import Block, JointEstimate, JointFamily, block_reader
from naively.families._joint_normal import Densities, Known, Pooled, Spread, known_of, spread_of
from naively.families._joint_table import LARGEST_PRODUCT, frequencies
from naively.families.base import LeftOut
from naively.smoothing import Smoothing
from naively.statistics._joint import NEVER_LEARNT, JointSums
from naively.statistics._sums import Sum
from naively.typing import AnyArray, FloatArray, IntArray


def left_out(family: JointFamily, sums: JointSums, smoothing: Smoothing) -> LeftOut:
    """The evidence of rows by the sums without them."""
    learnt = LearntFactor(family, sums, smoothing)
    categories = learnt.sums.categories
    return LeftOut(
        "both", learnt.evidence, reader=lambda table, places: block_reader(family, categories, table, places)
    )


class LearntFactor:
    """A factor that rows can be taken out of, one at a time."""

    def __init__(self, family: JointFamily, sums: JointSums, smoothing: Smoothing):
        self.family, self.smoothing = family, smoothing
        self.learnt, self.sums = sums, family.with_known(sums)
        self.estimate: JointEstimate = family.estimate(sums, smoothing=smoothing)
        self.table = self.estimate.table
        self.known: Known | None = known_of(self.sums) if family.numbers and len(sums.cells) else None

    def evidence(self, block: Block, codes: IntArray, weights: FloatArray) -> FloatArray:
        """The log-likelihood (rows, 1, classes) of rows by the factor without them."""
        result = self.estimate.evidence(block)
        complete = (block.codes != -1).all(axis=1) & ~np.isnan(block.numbers).any(axis=1) & (weights > 0)
        rows = np.flatnonzero(complete)  # any other row was never counted
        if not len(rows):
            return result
        block, codes, weights = block.take(rows), codes[rows], weights[rows]
        cells = self._cells(block, codes, weights)
        vanishing = self._vanishing(block, weights)
        logs = self._log_probability(block, cells, vanishing, codes, weights)
        if self.family.numbers:
            some = np.asarray(vanishing.any(axis=1), dtype=bool)
            stays = np.flatnonzero(~some)
            logs[stays] += self._log_density(block.take(stays), cells[stays], codes[stays], weights[stays])
            for row in np.flatnonzero(some).tolist():
                logs[row] = self._refitted(block.take([row]), int(codes[row]), float(weights[row]))
        result[rows, 0] = logs
        return result

    def _cells(self, block: Block, codes: IntArray, weights: FloatArray) -> IntArray:
        """The cell of each row, which must have been learnt."""
        learnt = np.asarray((block.codes >= 0).all(axis=1), dtype=bool)
        cells = np.where(learnt, self.sums.combinations.find(np.where(learnt[:, None], block.codes, 0)), -1)
        if (cells < 0).any() or (self._left(self.sums.weight[codes, cells], weights) < 0).any():
            raise ForgetError(
                f"The factor {self.family.term!r} has not learnt all of these rows, so they cannot be left out. "
                f"{NEVER_LEARNT}"
            )
        return np.asarray(cells)

    @staticmethod
    def _left(count: Sum, weights: FloatArray) -> FloatArray:
        return count.less(Sum(weights), count.high).high

    def _vanishing(self, block: Block, weights: FloatArray) -> AnyArray:
        """Which labels (rows, labels) nobody has but the row: without it they are unknown, unless declared."""
        result = np.zeros(block.codes.shape, dtype=bool)
        of_cell = self.sums.weight.total(0)
        for place, (labels, declared) in enumerate(zip(self.sums.categories, self.family.declared, strict=True)):
            weight = np.bincount(self.sums.cells[:, place], weights=of_cell.high, minlength=len(labels))
            stays = np.array([label in (declared or ()) for label in labels], dtype=bool)
            left = weight[block.codes[:, place]] - weights
            gone = left <= 1e-12 * weight[block.codes[:, place]]
            result[:, place] = gone & ~stays[block.codes[:, place]]
        return result

    def _log_probability(
        self, block: Block, cells: IntArray, vanishing: AnyArray, codes: IntArray, weights: FloatArray
    ) -> FloatArray:
        """The log-probability (rows, classes) of the rows' labels; those that vanish are marginalised."""
        n_classes = self.sums.n_classes
        if not self.family.labels:
            return np.zeros((len(codes), n_classes))
        rows = np.arange(len(codes))
        counted = self.sums.weight.high[:, cells]
        counted[codes, rows] = self._left(self.sums.weight[codes, cells], weights)
        some = np.flatnonzero(vanishing.any(axis=1))
        for row in some.tolist():
            marginal = self.table.marginal(~vanishing[row])
            counted[:, row] = marginal.counts[:, marginal.group_of[cells[row]]]
            counted[codes[row], row] = max(counted[codes[row], row] - weights[row], 0.0)
        of_class = self.sums.weight.total(1)
        total = np.repeat(of_class.high[:, None], len(codes), axis=1)
        total[codes, rows] = self._left(of_class[codes], weights)
        sizes = np.asarray(self.sums.sizes, dtype=np.float64) - vanishing
        with np.errstate(over="ignore"):
            n_values, n_part = sizes.prod(axis=1), np.where(vanishing, sizes, 1.0).prod(axis=1)
        n_values, n_part = np.minimum(n_values, LARGEST_PRODUCT), np.minimum(n_part, LARGEST_PRODUCT)
        informative = (n_values > 0) & ~vanishing.all(axis=1)
        with np.errstate(divide="ignore"):
            logs = np.log(frequencies(self.smoothing, counted, total, n_part, np.where(n_values > 0, n_values, 1.0)))
        return np.where(informative, logs, 0.0).T

    def _log_density(self, block: Block, cells: IntArray, codes: IntArray, weights: FloatArray) -> FloatArray:
        """The log-density (rows, classes) of the rows' numbers."""
        if not len(cells):
            return np.zeros((0, self.sums.n_classes))
        known = self._known_without(block, cells, codes, weights)
        normals = self.family.rule.normals(known)
        everything = np.ones(len(self.family.numbers), dtype=bool)
        return Densities.of(normals, everything, self.family.joint.floor).each(block.numbers)

    def _known_without(self, block: Block, cells: IntArray, codes: IntArray, weights: FloatArray) -> Known:
        """What is known without each row, (rows, classes)."""
        assert self.known is not None
        row = row_sums(block.numbers, weights)
        parts = (self.sums.weight, self.sums.total, self.sums.cross)
        own = spread_of(*(_less(part[codes, cells], of_row) for part, of_row in zip(parts, row, strict=True)))
        whole = spread_of(*(_less(part.total(1)[codes], of_row) for part, of_row in zip(parts, row, strict=True)))
        overall = spread_of(
            *(_less_all(part.total(1).total(0), of_row) for part, of_row in zip(parts, row, strict=True))
        )
        before = Spread(*(part[cells, codes] for part in self.known.cell))
        cell = Spread(*(_beside(part[cells], of_row, codes) for part, of_row in zip(self.known.cell, own, strict=True)))
        change = _pooled_change(before, own)
        within = Pooled(*(_added(part, more, codes) for part, more in zip(self.known.within, change, strict=True)))
        all_within = Pooled(*(part.sum(axis=1) for part in within))
        of_class = (_placed(part, of_row, codes) for part, of_row in zip(self.known.whole, whole, strict=True))
        return Known(cell, within, Spread(*of_class), all_within, overall)

    def _refitted(self, block: Block, code: int, weight: float) -> FloatArray:
        """The evidence (classes,) for one row by a factor that has forgotten it: where a label goes with the row."""
        n_classes, row = self.learnt.n_classes, row_sums(block.numbers, np.array([weight]))
        weight_, total, cross = (part.spread((n_classes, 1, *part.shape[1:]), ([code], [0])) for part in row)
        labels = tuple((values[place],) for values, place in zip(self.sums.categories, block.codes[0], strict=True))
        cells = np.zeros((1, len(labels)), dtype=np.int64)
        forgotten = JointSums(self.learnt.labels, self.learnt.numbers, labels, cells, weight_, total, cross)
        learnt, other = self.learnt.aligned_with(forgotten)
        left = learnt.less(other, learnt.weight.high.sum(axis=1)).tidy()
        estimate = self.family.estimate(left, smoothing=self.smoothing)
        known = zip(estimate.sums.categories, labels, strict=True)
        places = np.array([[positions_in(values, label)[0] for values, label in known]], dtype=np.int64)
        return np.asarray(estimate.evidence(Block(places, block.numbers))[0, 0])


def row_sums(numbers: FloatArray, weights: FloatArray) -> tuple[Sum, Sum, Sum]:
    """What each row adds: its weight (rows,), its numbers and their products (rows, ...)."""
    first, second = np.triu_indices(numbers.shape[1])
    total = Sum(weights[:, None]) * Sum(numbers)
    return Sum(weights), total, total[:, first] * Sum(numbers[:, second])


def _less(of_all: Sum, of_row: Sum) -> Sum:
    return (of_all - of_row).without_noise(np.abs(of_all.high) + np.abs(of_row.high))


def _less_all(of_all: Sum, of_row: Sum) -> Sum:
    return _less(of_all.reshaped((1, *of_all.shape)), of_row)


def _beside(of_all: FloatArray, of_row: FloatArray, codes: IntArray) -> FloatArray:
    """What holds for every class of each row, (rows, classes, ...), with the own class replaced."""
    result = of_all.copy()
    result[np.arange(len(codes)), codes] = of_row
    return result


def _placed(of_all: FloatArray, of_row: FloatArray, codes: IntArray) -> FloatArray:
    """What holds for every class, (classes, ...), once per row, with the own class replaced."""
    return _beside(np.broadcast_to(of_all, (len(codes), *of_all.shape)), of_row, codes)


def _added(of_all: FloatArray, more: FloatArray, codes: IntArray) -> FloatArray:
    return _placed(of_all, of_all[codes] + more, codes)


def _pooled_change(before: Spread, after: Spread) -> Pooled:
    """How the scatter within combinations changes when one of them does."""

    def freedom(weight: FloatArray) -> FloatArray:
        return np.maximum(weight - 1.0, 0.0)

    return Pooled(
        freedom(after.weight) - freedom(before.weight),
        after.weight - before.weight,
        after.scatter - before.scatter,
    )
