"""What is known of a column, and the additive term that comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from naively.families.stacking import StackedColumn, interpolate
from naively.statistics.histogram import Histogram
from naively.typing import AnyArray, FloatArray, IntArray
from naively.weighing import categories

Column = tuple[str, AnyArray]
"""("numeric", float64 with NaN) or ("categorical", codes with -1 where missing and anything past the end unknown)."""


@dataclass(frozen=True)
class NumericColumn:
    """What is known of a numeric column: its histogram, and n, mean and scatter of each class."""

    histogram: Histogram
    moments: tuple[FloatArray, FloatArray, FloatArray]

    @property
    def observed(self) -> FloatArray:
        """The weight of the known cells of each class."""
        return self.moments[0]


@dataclass(frozen=True)
class LabelColumn:
    """What is known of a categorical column: its counts (classes, values)."""

    counts: FloatArray

    @property
    def observed(self) -> FloatArray:
        """The weight of the known cells of each class."""
        return np.asarray(self.counts.sum(axis=1))


class TextEstimate(Protocol):
    """The evidence of a text column."""

    def evidence(self, texts: Any) -> FloatArray:
        """The evidence (classes, rows) of texts, centred; 0 where missing."""

    def leave_one_out(self, texts: Any, codes: IntArray, weights: FloatArray) -> FloatArray:
        """The same without the text itself."""


class TextStatistics(Protocol):
    """What is known of a text column; its estimate needs the kept rows."""

    @property
    def observed(self) -> FloatArray:
        """The weight of the known cells of each class."""

    def fitted(self, texts: Any, codes: IntArray, weights: FloatArray, log_prior: FloatArray) -> TextEstimate:
        """The evidence of the column, pooled on kept rows."""


ColumnStatistics = NumericColumn | LabelColumn | TextStatistics
Estimated = StackedColumn | categories.CategoryTable | TextEstimate


@dataclass(frozen=True)
class Term:
    """One additive term of the score.

    Parameters
    ----------
    kind : "numeric", "categorical", "missing" or "text"
        A curve (`table` at `knots`), a table of values whose last entry is for an unknown one, or a table of
        (known, missing).
    column : int
        The column that it reads.
    knots : ndarray
        Empty unless numeric.
    table : ndarray (classes, ...)
    """

    kind: str
    column: int
    knots: FloatArray
    table: FloatArray

    def evidence(self, values: AnyArray) -> FloatArray:
        """The evidence (classes, rows) of the cells of its column."""
        if self.kind == "numeric":
            return interpolate(self.knots, self.table, values)
        if self.kind == "missing":
            return np.asarray(self.table[:, is_missing(values).astype(np.int64)])
        return categories.look_up(self.table, values)


@dataclass(frozen=True)
class TextTerm(Term):
    """The term of a text column: the estimate's evidence times a weight per class, and `table` for every known text."""

    estimate: TextEstimate
    weights: FloatArray

    def evidence(self, values: AnyArray) -> FloatArray:
        """The evidence (classes, rows) of texts."""
        said = self.weights[:, None] * self.estimate.evidence(values)
        return np.asarray(said + np.where(is_missing(values), 0.0, self.table))


def is_missing(values: AnyArray) -> AnyArray:
    """Which cells are missing: NaN among floats, negative codes among integers, None among texts."""
    if values.dtype.kind == "O":
        return np.array([value is None for value in values.tolist()], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.asarray(values < 0)
