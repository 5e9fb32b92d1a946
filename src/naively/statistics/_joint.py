"""What several columns do together: the statistics of a joint factor.

Per class and per combination of the labels: the weight, the sums of the numbers, and the sums of their products. A row
enters if all members are known in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from naively._table.labels import label_order, positions_in
from naively.errors import ForgetError, InputError
from naively.statistics._combinations import Combinations
from naively.statistics._counts import Counts, merged_labels
from naively.statistics._moments import VALUE_TOLERANCE, Moments, has_impossible_spread, most_weight
from naively.statistics._plain import categories_from, peak_from, peak_to_dict, require, sum_from, sum_to_dict
from naively.statistics._sums import Sum, sum_by_code
from naively.statistics.base import Statistic, Summary
from naively.typing import AnyArray, FloatArray, IntArray, Label

NEVER_LEARNT = "Forget only rows that this model has learnt, with the same weights and classes."


@dataclass(frozen=True, eq=False)
class JointSums(Statistic):
    """Weight, sums and sums of products of every combination of labels in every class.

    Parameters
    ----------
    labels, numbers : tuples of str
        The members of both kinds.
    categories : tuple of tuples of labels
        The values of each of `labels`, sorted.
    cells : ndarray of shape (cells, labels)
        The combinations that occurred, as positions among the categories, sorted. Without `labels` the only cell is
        the empty combination.
    weight : Sum of shape (classes, cells)
    total : Sum of shape (classes, cells, numbers)
    cross : Sum of shape (classes, cells, pairs)
        Sums of products, of the pairs i <= k of `numbers` in the order of `numpy.triu_indices`.
    peak : ndarray of shape (classes, numbers) or None
        The largest sum of squares that a number has had in a class, over all cells; None: it is the present one,
        since nothing was ever forgotten. Rounding is judged by it.
    """

    kind: ClassVar[str] = "joint"

    labels: tuple[str, ...]
    numbers: tuple[str, ...]
    categories: tuple[tuple[Label, ...], ...]
    cells: IntArray
    weight: Sum
    total: Sum
    cross: Sum
    peak: FloatArray | None = None

    @classmethod
    def empty(cls, summary: Summary, columns: tuple[str, ...], n_classes: int) -> JointSums:
        """The sums of no rows; the columns are the members of the summary."""
        labels, numbers = summary.labels, summary.numbers
        n, shape = len(numbers), (n_classes, 0)
        cells = np.zeros((0, len(labels)), dtype=np.int64)
        sums = (Sum.zeros(shape), Sum.zeros((*shape, n)), Sum.zeros((*shape, n * (n + 1) // 2)))
        return cls(labels, numbers, ((),) * len(labels), cells, *sums)

    @property
    def columns(self) -> tuple[str, ...]:
        """All members."""
        return self.labels + self.numbers

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.weight.shape[0]

    @cached_property
    def sizes(self) -> list[int]:
        """How many values each of `labels` has."""
        return [len(values) for values in self.categories]

    @cached_property
    def combinations(self) -> Combinations:
        """The numbering of the cells."""
        return Combinations(self.cells, self.sizes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JointSums):
            return NotImplemented
        return (
            self.columns == other.columns
            and self.categories == other.categories
            and np.array_equal(self.cells, other.cells)
            and self.weight == other.weight
            and self.total == other.total
            and self.cross == other.cross
        )

    __hash__ = None  # type: ignore[assignment]

    def _map(self, change: Callable[[Sum], Sum]) -> JointSums:
        return replace(self, weight=change(self.weight), total=change(self.total), cross=change(self.cross))

    @property
    def largest(self) -> FloatArray:
        """The largest sum of squares that each number has had in each class, (classes, numbers)."""
        now = np.asarray(self.squares().high.sum(axis=1))
        return now if self.peak is None else np.maximum(now, self.peak)

    def __add__(self, other: JointSums) -> JointSums:
        merged = replace(
            self,
            weight=self.weight + other.weight,
            total=self.total + other.total,
            cross=self.cross + other.cross,
            peak=None,
        )
        if self.peak is None and other.peak is None:
            return merged
        return replace(merged, peak=np.maximum(np.maximum(self.largest, other.largest), merged.largest))

    def less(self, other: JointSums, peak: FloatArray) -> JointSums:
        weight = self.weight.less(other.weight, peak[:, None])
        if (weight.high < 0).any():
            what = self.describe_cell(int(np.argwhere(weight.high < 0)[0][1]))
            raise ForgetError(f"{what} would be forgotten more often than it was learnt. {NEVER_LEARNT}")
        squares = self.largest[:, None, :]
        first, second = np.triu_indices(len(self.numbers))
        scales = np.sqrt(peak[:, None, None] * squares), np.sqrt(squares[:, :, first] * squares[:, :, second])
        pairs = ((self.total, other.total), (self.cross, other.cross))
        gone = (weight.high == 0)[:, :, None]
        parts = []
        for (one, another), scale in zip(pairs, scales, strict=True):
            left = (one - another).without_noise(scale)
            if (gone & (np.abs(left.high) > VALUE_TOLERANCE * scale)).any():
                names = ", ".join(map(repr, self.numbers))
                raise ForgetError(f"Columns {names}: sums would stay where no weight is left. {NEVER_LEARNT}")
            parts.append(left.zeroed(gone))
        return replace(self, weight=weight, total=parts[0], cross=parts[1], peak=self.largest)

    def describe_cell(self, cell: int) -> str:
        """A combination in words."""
        values = zip(self.labels, self.categories, self.cells[cell].tolist(), strict=True)
        shown = " and ".join(f"{name!r} being {labels[code]!r}" for name, labels, code in values)
        return f"The combination of {shown}" if shown else f"A row of {', '.join(map(repr, self.numbers))}"

    def scaled(self, factor: float) -> JointSums:
        peak = None if self.peak is None else self.peak * factor
        return replace(self._map(lambda part: part * factor), peak=peak)

    def for_classes(self, positions: IntArray, n_classes: int) -> JointSums:
        kept = positions >= 0
        peak = (
            None
            if self.peak is None
            else Sum(self.peak[kept]).spread((n_classes, len(self.numbers)), positions[kept]).high
        )
        spread = self._map(lambda part: part[kept].spread((n_classes, *part.shape[1:]), positions[kept]))
        return replace(spread, peak=peak)

    def for_columns(self, columns: Sequence[str]) -> JointSums:
        """The statistic as it is: a factor is whole or it is not there."""
        return self

    def with_categories(self, categories: tuple[tuple[Label, ...], ...]) -> JointSums:
        """The sums among more values of the labels."""
        if categories == self.categories:
            return self
        places = [positions_in(wider, own) for wider, own in zip(categories, self.categories, strict=True)]
        cells = np.empty_like(self.cells)
        for column, place in enumerate(places):
            cells[:, column] = place[self.cells[:, column]]
        return replace(self, categories=categories, cells=cells)

    def aligned_with(self, other: JointSums) -> tuple[JointSums, JointSums]:
        """Both under the same values and cells."""
        same = self.categories == other.categories
        if same and np.array_equal(self.cells, other.cells):
            return self, other
        categories = tuple(
            merged_labels(one, another) for one, another in zip(self.categories, other.categories, strict=True)
        )
        left, right = self.with_categories(categories), other.with_categories(categories)
        union = Combinations(np.concatenate([left.cells, right.cells]), left.sizes)
        cells = np.zeros((union.n, len(self.labels)), dtype=np.int64)
        cells[union.places] = np.concatenate([left.cells, right.cells])
        places = union.places[: len(left.cells)], union.places[len(left.cells) :]
        return left._among(cells, places[0]), right._among(cells, places[1])

    def _among(self, cells: IntArray, places: IntArray) -> JointSums:
        """The sums among more combinations."""

        def spread(part: Sum) -> Sum:
            return part.spread((part.shape[0], len(cells), *part.shape[2:]), (slice(None), places))

        return replace(self._map(spread), cells=cells)

    def tidy(self) -> JointSums:
        """The sums without the cells and values that no row has (any more), in sorted order."""
        used = self.weight.high.any(axis=0)
        keep: list[list[int]] = []
        cells = self.cells[used].copy()
        for column, labels in enumerate(self.categories):
            occurring = np.unique(cells[:, column]).tolist()
            keep.append(sorted(occurring, key=lambda place, labels=labels: label_order(labels[place])))  # type: ignore[misc]
            renumbered = np.zeros(len(labels), dtype=np.int64)
            renumbered[keep[-1]] = np.arange(len(keep[-1]))
            cells[:, column] = renumbered[cells[:, column]]
        categories = tuple(tuple(self.categories[i][place] for place in kept) for i, kept in enumerate(keep))
        if used.all() and categories == self.categories and np.array_equal(cells, self.cells):
            return self
        order = np.lexsort(cells.T[::-1]) if len(self.labels) else np.arange(len(cells))
        chosen = np.flatnonzero(used)[order]
        return replace(self._map(lambda part: part[:, chosen]), categories=categories, cells=cells[order])

    def check(self, summary: Summary, class_weight: FloatArray, peak: FloatArray) -> None:
        """Refuse what no rows can leave: more weight than the class has, squares smaller than their mean allows."""
        bad = bool((self.weight.high.sum(axis=1) > most_weight(class_weight, peak)).any())
        squares, largest = self.squares().high, self.largest[:, None, :]
        bad |= bool((squares < -VALUE_TOLERANCE * largest).any())
        weight, scale = self.weight.high[:, :, None], peak[:, None, None] * largest
        bad |= bool(has_impossible_spread(weight, self.total.high, squares, scale).any())
        if bad:
            raise ForgetError(
                f"Columns {', '.join(map(repr, self.columns))}: no rows could leave what would be left. {NEVER_LEARNT}"
            )

    def refuse_overflow(self) -> None:
        if not (self.total.is_finite() and self.cross.is_finite()):
            raise InputError(
                f"The sums of the columns {', '.join(map(repr, self.numbers))} become too large for a float64. Rescale "
                "them to within 1e150."
            )

    def to_dict(self) -> dict[str, Any]:
        return {
            "categories": [list(labels) for labels in self.categories],
            "cells": self.cells.tolist(),
            **{name: sum_to_dict(getattr(self, name)) for name in ("weight", "total", "cross")},
            **peak_to_dict(self.peak),
        }

    @classmethod
    def from_dict(
        cls, entry: Mapping[str, Any], summary: Summary, columns: tuple[str, ...], n_classes: int
    ) -> JointSums:
        require(columns == summary.members, "a joint table must have its members as columns")
        categories = categories_from(entry["categories"], len(summary.labels))
        cells, n = _cells_from(entry["cells"], categories), len(summary.numbers)
        shape = (n_classes, len(cells))
        return cls(
            summary.labels,
            summary.numbers,
            categories,
            cells,
            sum_from(entry["weight"], shape, nonnegative=True),
            sum_from(entry["total"], (*shape, n), nonnegative=False),
            sum_from(entry["cross"], (*shape, n * (n + 1) // 2), nonnegative=False),
            peak_from(entry, (n_classes, n)),
        )

    def margins(self) -> Mapping[Summary, Statistic]:
        """The counts of each of `labels` and the power sums of `numbers`, each by itself."""
        margins: dict[Summary, Statistic] = {}
        if self.labels:
            margins[Summary("counts")] = self._label_margins()
        if self.numbers:
            weight = self.weight.total(1).reshaped((self.n_classes, 1))
            observed = Sum.concatenated([weight] * len(self.numbers), axis=1)
            moments = Moments(self.numbers, self.total.total(1), observed, self.squares().total(1))
            margins[Summary("moments", squares=True)] = moments
        return margins

    def _label_margins(self) -> Counts:
        tables = []
        for column, labels in enumerate(self.categories):
            shape = (self.n_classes, len(labels))
            codes = (np.arange(self.n_classes)[:, None] * len(labels) + self.cells[:, column]).ravel()
            parts = [self.weight.high] if self.weight.low is None else [self.weight.high, self.weight.low]
            sums = [sum_by_code(codes, part.ravel(), shape[0] * shape[1]).reshaped(shape) for part in parts]
            tables.append(sums[0] if len(sums) == 1 else sums[0] + sums[1])
        return Counts.of_tables(self.labels, self.categories, tables)

    def squares(self) -> Sum:
        """The sums of squares, (classes, cells, numbers)."""
        first, second = np.triu_indices(len(self.numbers))
        return self.cross[:, :, np.flatnonzero(first == second)]


def _cells_from(cells: Any, categories: tuple[tuple[Any, ...], ...]) -> IntArray:
    """The combinations of a file: sorted, distinct, and of values that there are."""
    require(cells == sorted(cells) and len(set(map(tuple, cells))) == len(cells), "cells must be sorted and distinct")
    for cell in cells:
        inside = len(cell) == len(categories) and all(
            type(code) is int and 0 <= code < len(labels) for code, labels in zip(cell, categories, strict=True)
        )
        require(inside, "a cell does not fit the categories")
    return np.array(cells, dtype=np.int64).reshape(len(cells), len(categories))


def cell_key(known: AnyArray) -> bytes:
    """A name for a set of members, for look-up."""
    return np.packbits(known).tobytes()
