"""How often each value of each column occurs in each class: the statistics of categorical columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from naively._common.read_only import read_only_property
from naively._table.labels import label_order, positions_in
from naively.errors import ForgetError
from naively.smoothing import Smoothing, share
from naively.statistics._moments import most_weight
from naively.statistics._plain import categories_from, sum_from, sum_to_dict
from naively.statistics._sums import Sum
from naively.statistics.base import Statistic, Summary, Values
from naively.typing import AnyArray, FloatArray, IntArray, Label

if TYPE_CHECKING:
    from naively.statistics._divergence import Change


@dataclass(frozen=True)
class Counts(Statistic):
    """The weight of every value of every column in every class.

    Parameters
    ----------
    columns : tuple of str
    categories : tuple of tuples of labels
        The values that occurred in each column, sorted.
    cells : Sum of shape (classes, total number of values)
        The columns' tables side by side.
    """

    kind: ClassVar[str] = "counts"

    columns: tuple[str, ...]
    categories: tuple[tuple[Label, ...], ...]
    cells: Sum

    @classmethod
    def empty(cls, summary: Summary, columns: tuple[str, ...], n_classes: int) -> Counts:
        return cls(columns, ((),) * len(columns), Sum.zeros((n_classes, 0)))

    @classmethod
    def of_tables(cls, columns: tuple[str, ...], labels: Sequence[Sequence[Label]], tables: Sequence[Sum]) -> Counts:
        """From one table (classes, values) per column, its values in any order; values without weight are left out."""
        categories, ordered = [], []
        for column_labels, table in zip(labels, tables, strict=True):
            used = np.flatnonzero(table.high.any(axis=0))
            kept = sorted(used.tolist(), key=lambda position: label_order(column_labels[position]))
            categories.append(tuple(column_labels[position] for position in kept))
            ordered.append(table[:, kept])
        cells = Sum.concatenated(ordered, axis=1) if ordered else Sum.zeros((0, 0))
        return cls(columns, tuple(categories), cells)

    @read_only_property
    def offsets(self) -> IntArray:
        """Where each column's values start in `cells`, and where the last one's end."""
        sizes = [len(labels) for labels in self.categories]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)

    def table(self, position: int) -> Sum:
        """One column's table, (classes, values)."""
        return self.cells[:, self.offsets[position] : self.offsets[position + 1]]

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.columns, self.categories, self.cells + other.cells)

    def less(self, other: Counts, peak: FloatArray) -> Counts:
        left = self.cells.less(other.cells, peak[:, None])
        if (left.high < 0).any():
            cell = int(np.argwhere(left.high < 0)[0][1])
            position = int(np.searchsorted(self.offsets, cell, side="right")) - 1
            label = self.categories[position][cell - int(self.offsets[position])]
            raise ForgetError(
                f"Column {self.columns[position]!r}: the value {label!r} would be forgotten more often than it was "
                "learnt. Forget only rows that this model has learnt, with the same weights and classes."
            )
        return Counts(self.columns, self.categories, left)

    def scaled(self, factor: float) -> Counts:
        return Counts(self.columns, self.categories, self.cells * factor)

    def for_classes(self, positions: IntArray, n_classes: int) -> Counts:
        kept = positions >= 0
        shape = (n_classes, self.cells.shape[1])
        return Counts(self.columns, self.categories, self.cells[kept].spread(shape, positions[kept]))

    def for_columns(self, columns: Sequence[str]) -> Counts:
        columns = tuple(columns)
        if columns == self.columns:
            return self
        index = {name: position for position, name in enumerate(self.columns)}
        places = [index.get(name) for name in columns]
        categories = tuple(() if place is None else self.categories[place] for place in places)
        parts = [self.table(place) for place in places if place is not None]
        cells = Sum.concatenated(parts, axis=1) if parts else Sum.zeros((self.cells.shape[0], 0))
        return Counts(columns, categories, cells)

    def with_categories(self, categories: tuple[tuple[Label, ...], ...]) -> Counts:
        """The counts among more values."""
        if categories == self.categories:
            return self
        target = Counts(self.columns, categories, self.cells)
        places = [
            positions_in(wider, own) + start
            for wider, own, start in zip(categories, self.categories, target.offsets[:-1], strict=True)
        ]
        index = np.concatenate(places) if places else np.zeros(0, dtype=np.int64)
        shape = (self.cells.shape[0], int(target.offsets[-1]))
        return Counts(self.columns, categories, self.cells.spread(shape, (slice(None), index)))

    def aligned_with(self, other: Counts) -> tuple[Counts, Counts]:
        """Both under the same columns and values."""
        if self.columns == other.columns and self.categories == other.categories:
            return self, other
        columns = tuple(dict.fromkeys(self.columns + other.columns))
        left, right = self.for_columns(columns), other.for_columns(columns)
        categories = tuple(
            merged_labels(one, another) for one, another in zip(left.categories, right.categories, strict=True)
        )
        return left.with_categories(categories), right.with_categories(categories)

    def tidy(self) -> Counts:
        if self.cells.high.any(axis=0).all():
            return self
        tables = [self.table(position) for position in range(len(self.columns))]
        return Counts.of_tables(self.columns, self.categories, tables)

    def check(self, summary: Summary, class_weight: FloatArray, peak: FloatArray) -> None:
        """Refuse more known cells than rows."""
        known = np.add.reduceat(np.column_stack([self.cells.high, class_weight * 0]), self.offsets[:-1], axis=1)
        known = np.where(np.diff(self.offsets) > 0, known, 0.0)
        self._refuse_impossible(known > most_weight(class_weight, peak)[:, None])

    def values_of(self, column: str) -> Values:
        place = self.columns.index(column)
        return Values(self.categories[place], self.table(place).high, exact=True)

    def observed_weight(self, place: int) -> FloatArray:
        return np.asarray(self.table(place).high.sum(axis=1))

    def knows(self, column: str, cells: AnyArray) -> bool:
        known = {None, *self.categories[self.columns.index(column)]}
        return all(cell in known for cell in cells.tolist())

    def to_dict(self) -> dict[str, Any]:
        return {"categories": [list(labels) for labels in self.categories], "cells": sum_to_dict(self.cells)}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any], summary: Summary, columns: tuple[str, ...], n_classes: int) -> Counts:
        categories = categories_from(entry["categories"], len(columns))
        shape = (n_classes, sum(map(len, categories)))
        return cls(columns, categories, sum_from(entry["cells"], shape, nonnegative=True))

    def compare(self, other: Counts, summary: Summary, rows: FloatArray) -> tuple[Change, FloatArray]:
        """How often each value, and none, occurs."""
        from naively.statistics._divergence import compare_tables, with_missing

        both = self.aligned_with(other)
        tables = [np.stack([one.table(place).high for one in both]) for place in range(len(self.columns))]
        return compare_tables([with_missing(cells, rows) for cells in tables])


def merged_labels(first: Sequence[Label], second: Sequence[Label]) -> tuple[Label, ...]:
    """The sorted union of two sorted sequences of labels."""
    if first == second or not second:
        return tuple(first)
    return tuple(sorted({**dict.fromkeys(first), **dict.fromkeys(second)}, key=label_order))


# -- Leave-one-out ------------------------------------------------------------------------------------------------


def frequencies_without(
    counts: Sum,
    smoothing: Smoothing,
    labels: Sequence[Any],
    places: IntArray,
    codes: IntArray,
    weights: FloatArray,
    in_all: FloatArray | None = None,
) -> FloatArray:
    """What `smoothed_frequencies` gives for one value, in every class, once a row with that value is taken away.

    Parameters
    ----------
    counts : Sum of shape (n_classes, n_values)
    smoothing, labels
        As in `smoothed_frequencies`.
    places, codes, weights : ndarray (n_rows,)
        The value, the class and the weight of each row.
    in_all : ndarray (n_rows,), optional
        What the row counts over all values, if it has others, too.

    Returns
    -------
    ndarray of shape (n_classes, n_rows)
    """
    rows, n_values = np.arange(len(places)), max(counts.shape[1], 1)
    of_class = counts.total(1)
    count, total = counts.high[:, places], np.repeat(of_class.high[:, None], len(places), axis=1)
    count[codes, rows] = what_is_left(counts[codes, places], weights)
    total[codes, rows] = what_is_left(of_class[codes], weights if in_all is None else in_all)
    marginal, everything = count.sum(axis=0), total.sum(axis=0)
    before = np.broadcast_to(smoothing.pseudo_counts(counts.high, labels), counts.shape)
    pseudo_counts = smoothing.pseudo_counts_without(before[:, places], count, total, n_values)
    borrowed = share(marginal, everything, 1.0 / n_values)
    return share(count + pseudo_counts, total + before.sum(axis=1, keepdims=True), borrowed)


def what_is_left(count: Sum, weights: FloatArray) -> FloatArray:
    """Counts once rows of these weights are taken away; refused where so much was never learnt."""
    left = count.less(Sum(weights), count.high).high
    if (left < 0).any():
        raise ForgetError("These rows have values that the model has learnt less often: they were never all learnt.")
    return left
