"""Histograms of numeric columns, per class: the statistics of the families that need the shape of a density."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from naively.errors import ForgetError
from naively.families.base import LeftOut
from naively.statistics.histogram import Histogram
from naively.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Histograms:
    """One `Histogram` per column.

    Parameters
    ----------
    columns : tuple of str
    histograms : tuple of Histogram
        In the same order, all with the same classes.
    n_classes : int
    """

    columns: tuple[str, ...]
    histograms: tuple[Histogram, ...]
    n_classes: int

    @classmethod
    def empty(cls, columns: tuple[str, ...], n_classes: int) -> Histograms:
        """No rows at all."""
        return cls(columns, tuple(Histogram.empty(n_classes) for _ in columns), n_classes)

    def __add__(self, other: Histograms) -> Histograms:
        """Merge two of the same columns and classes."""
        pairs = zip(self.histograms, other.histograms, strict=True)
        return Histograms(self.columns, tuple(mine + theirs for mine, theirs in pairs), self.n_classes)

    def less(self, other: Histograms, peak: FloatArray) -> Histograms:
        """Forget; the caller has aligned the two. `peak` (classes,) is the largest weight that each class has had."""
        left = []
        for name, mine, theirs in zip(self.columns, self.histograms, other.histograms, strict=True):
            try:
                left.append(mine.less(theirs, peak))
            except ForgetError as error:
                raise ForgetError(f"Column {name!r}: {error}") from None
        return Histograms(self.columns, tuple(left), self.n_classes)

    def scaled(self, factor: float) -> Histograms:
        """Every row's weight times a factor."""
        return Histograms(self.columns, tuple(one.scaled(factor) for one in self.histograms), self.n_classes)

    def for_classes(self, positions: IntArray, n_classes: int) -> Histograms:
        """The same counts under another numbering of the classes; negative positions are dropped."""
        kept = positions >= 0

        def renumbered(one: Histogram) -> Histogram:
            counts = np.zeros((n_classes, len(one.keys)))
            counts[positions[kept]] = one.counts[kept]
            return Histogram(one.level, one.keys, counts, one.cap)

        return Histograms(self.columns, tuple(renumbered(one) for one in self.histograms), n_classes)

    def for_columns(self, columns: Sequence[str]) -> Histograms:
        """The histograms of these columns in this order, empty for one that is not here."""
        columns = tuple(columns)
        if columns == self.columns:
            return self
        mine = dict(zip(self.columns, self.histograms, strict=True))
        chosen = tuple(mine.get(name) or Histogram.empty(self.n_classes) for name in columns)
        return Histograms(columns, chosen, self.n_classes)

    def aligned_with(self, other: Histograms) -> tuple[Histograms, Histograms]:
        """Both under the same columns."""
        if self.columns == other.columns:
            return self, other
        columns = tuple(dict.fromkeys(self.columns + other.columns))
        return self.for_columns(columns), other.for_columns(columns)

    def tidy(self) -> Histograms:
        """Empty cells are never kept."""
        return self


# -- Leave-one-out ------------------------------------------------------------------------------------------------

LeftOutColumn = Callable[[IntArray, IntArray, FloatArray], FloatArray]
"""From the cells, class codes and weights of rows to their log-likelihoods (classes, rows) without them."""


def left_out(histograms: Histograms, columns: Sequence[LeftOutColumn | None]) -> LeftOut:
    """Leave-one-out of a family that reads its histograms' cells; None for a column that says nothing."""

    def evidence(block: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
        result = np.zeros((*block.shape, histograms.n_classes))
        for place, (name, histogram) in enumerate(zip(histograms.columns, histograms.histograms, strict=True)):
            cells = histogram.cell_of(block[:, place])
            unknown = (cells < 0) & ~np.isnan(block[:, place]) & (weights > 0)
            if unknown.any():
                raise ForgetError(
                    f"Column {name!r}: the value {block[unknown, place][0]!r} was never learnt. Only rows that the "
                    "model has learnt can be left out."
                )
            column, known = columns[place], np.flatnonzero(cells >= 0)
            if column is not None:
                result[known, place] = column(cells[known], codes[known], weights[known]).T
        return result

    return LeftOut("numbers", evidence)
