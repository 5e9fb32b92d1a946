"""The sum: the weight of each class, and each column's statistics. A model is this and nothing else.

`empty` is the identity, ``+`` merges, ``-`` forgets, `scaled` decays. Classes, columns and values are aligned by label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from naively.checks import LARGEST_WEIGHT
from naively.errors import ForgetError, InputError, SchemaError
from naively.families import Summary
from naively.families.counts import Counts
from naively.families.histograms import Histograms
from naively.families.joint_sums import JointSums
from naively.families.moments import Moments
from naively.families.tokens import Tokens
from naively.reservoir import Reservoir
from naively.sums import Sum
from naively.typing import AnyArray, FloatArray, IntArray

ColumnStatistics = Moments | Counts | Histograms | JointSums | Tokens

ROUNDING = 1e-9
"""Sums that differ by no more than this share are the same, but for rounding."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """What has been learnt.

    Parameters
    ----------
    classes : ndarray
        The class labels, sorted.
    class_weight : Sum of shape (n_classes,)
        The weight of the rows of each class.
    tables : mapping from Summary to Moments, Counts, Histograms, JointSums or Tokens
        The statistics of the columns, those with equal summaries together.
    kept : Reservoir or None
        A sample of the rows, for the recipes that need one.
    """

    classes: AnyArray
    class_weight: Sum
    tables: Mapping[Summary, ColumnStatistics]
    kept: Reservoir | None = None

    @classmethod
    def empty(cls) -> Statistics:
        """What is known before the first row."""
        return cls(np.array([], dtype=object), Sum.zeros(0), {})

    def __eq__(self, other: object) -> bool:
        """Bitwise equality, whatever the order of the columns."""
        if not isinstance(other, Statistics):
            return NotImplemented
        return (
            self.classes.tolist() == other.classes.tolist()
            and self.class_weight == other.class_weight
            and self.tables.keys() == other.tables.keys()
            and all(_same(table, other.tables[summary]) for summary, table in self.tables.items())
            and self.kept == other.kept
        )

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Statistics) -> Statistics:
        left, right = self._aligned_with(other)
        with np.errstate(over="ignore", invalid="ignore"):
            tables = {
                summary: _bounded(summary, _added(left.tables[summary], right.tables[summary]))
                for summary in left.tables
            }
        for table in tables.values():
            _refuse_overflow(table)
        return Statistics(left.classes, left.class_weight + right.class_weight, tables, left._kept_with(right))

    def __sub__(self, other: Statistics) -> Statistics:
        unknown = [label for label in other.classes.tolist() if label not in self.classes.tolist()]
        if unknown:
            raise ForgetError(f"The class {unknown[0]!r} was never learnt, so no row of it can be forgotten.")
        left, right = self._aligned_with(other)
        weight = (left.class_weight - right.class_weight).without_noise(left.class_weight.high)
        if (weight.high < 0).any():
            label = left.classes.tolist()[int(np.argmin(weight.high))]
            raise ForgetError(f"More rows of class {label!r} would be forgotten than were learnt.")
        tables = {summary: _subtracted(left.tables[summary], right.tables[summary]) for summary in left.tables}
        for summary, table in tables.items():
            refuse_impossible(summary, table, weight.high)
        kept = None if left.kept is None else left.kept - (right.kept or Reservoir.empty(left.kept.capacity))
        return Statistics(left.classes, weight, tables, kept).without_empty_classes()

    def scaled(self, factor: float) -> Statistics:
        """Every row's weight times a factor."""
        refuse_heavy(self.class_weight.high, factor)
        with np.errstate(over="ignore", invalid="ignore"):  # sums that overflow are refused below
            tables = {summary: table.scaled(factor) for summary, table in self.tables.items()}
        for table in tables.values():
            _refuse_overflow(table)
        kept = None if self.kept is None else self.kept.scaled(factor)
        return Statistics(self.classes, self.class_weight * factor, tables, kept)

    def table(self, summary: Summary) -> ColumnStatistics:
        """The statistics of that kind; empty ones if no column has them."""
        return self.tables.get(summary) or empty_table(summary, (), len(self.classes))

    def _kept_with(self, other: Statistics) -> Reservoir | None:
        """The sample of both; none if one of them has rows but kept none."""
        if not self.class_weight.high.any() or not other.class_weight.high.any():
            return self.kept if self.class_weight.high.any() else other.kept
        return None if self.kept is None or other.kept is None else self.kept + other.kept

    def with_classes(self, classes: AnyArray) -> Statistics:
        """The same among these classes, which must include all that have weight."""
        if classes is self.classes or np.array_equal(classes, self.classes):
            return self
        place = {label: position for position, label in enumerate(classes.tolist())}
        positions = np.array([place.get(label, -1) for label in self.classes.tolist()], dtype=np.int64)
        return self._renumbered(positions, classes)

    def without_empty_classes(self) -> Statistics:
        """The same without the classes that no row has (any more)."""
        present = self.class_weight.high > 0
        if present.all():
            return self
        positions = np.where(present, np.cumsum(present) - 1, -1)
        return self._renumbered(positions, self.classes[present])

    def _renumbered(self, positions: IntArray, classes: AnyArray) -> Statistics:
        stays = positions >= 0
        weight = self.class_weight[stays].spread((len(classes),), positions[stays])
        tables = {summary: table.for_classes(positions, len(classes)) for summary, table in self.tables.items()}
        kept = None if self.kept is None else self.kept.for_classes(positions)
        return Statistics(classes, weight, tables, kept)

    def _aligned_with(self, other: Statistics) -> tuple[Statistics, Statistics]:
        """Both under the union of their classes, with the same summaries."""
        left, right = self, other
        if not np.array_equal(self.classes, other.classes):
            classes = merged_classes(self.classes, other.classes)
            left, right = self.with_classes(classes), other.with_classes(classes)
        if left.tables.keys() == right.tables.keys():
            return left, right
        return left._with_tables_of(right), right._with_tables_of(left)

    def _with_tables_of(self, other: Statistics) -> Statistics:
        """The same, with empty tables for the summaries that only the other has."""
        tables = dict(self.tables)
        for summary, table in other.tables.items():
            if summary not in tables:
                tables[summary] = empty_table(summary, (), len(self.classes))
            _refuse_clash(tables, summary, table)
        return Statistics(self.classes, self.class_weight, tables, self.kept)


def _refuse_clash(tables: Mapping[Summary, ColumnStatistics], summary: Summary, table: ColumnStatistics) -> None:
    for other_summary, other in tables.items():
        kinds = {other_summary.kind, summary.kind}
        beside = kinds in ({"moments", "histogram"}, {"joint"}, {"tokens"})  # both are kept of some columns
        if other_summary != summary and not beside and (shared := set(other.columns) & set(table.columns)):
            raise SchemaError(
                f"Column {sorted(shared)[0]!r} was counted in two ways, {other_summary} and {summary}. "
                "Use the same families and factors in both models."
            )


def empty_table(summary: Summary, columns: tuple[str, ...], n_classes: int) -> ColumnStatistics:
    """The statistics of no rows."""
    if summary.kind == "counts":
        return Counts.empty(columns, n_classes)
    if summary.kind == "histogram":
        return Histograms.empty(columns, n_classes)
    if summary.kind == "tokens":
        return Tokens.empty(columns, n_classes)
    if summary.kind == "joint":
        return JointSums.empty(summary.labels, summary.numbers, n_classes)
    return Moments.empty(columns, n_classes, summary.observed, summary.squares)


def merged_classes(first: AnyArray, second: AnyArray) -> AnyArray:
    """The sorted union of two arrays of class labels."""
    if len(first) == 0 or len(second) == 0:
        return second if len(first) == 0 else first
    if first is second or np.array_equal(first, second):
        return first
    if _is_text(first) != _is_text(second):
        raise SchemaError(
            f"Classes must be of one type, but {first.tolist()[0]!r} and {second.tolist()[0]!r} meet. "
            "Convert them to strings."
        )
    union = np.array(sorted({**dict.fromkeys(first.tolist()), **dict.fromkeys(second.tolist())}))
    return union.astype(object) if first.dtype.kind == "O" else union.astype(np.result_type(first, second))


def _is_text(classes: AnyArray) -> bool:
    return isinstance(classes.tolist()[0], str)


def _bounded(summary: Summary, table: ColumnStatistics) -> ColumnStatistics:
    """The same within the size that the user has set."""
    if summary.view is None or summary.view.most_tokens is None or not isinstance(table, Tokens):
        return table
    return table.pruned(summary.view.most_tokens)


def _added(left: ColumnStatistics, right: ColumnStatistics) -> ColumnStatistics:
    left, right = left.aligned_with(right)  # type: ignore[arg-type]
    return left + right  # type: ignore[operator]


def _subtracted(left: ColumnStatistics, right: ColumnStatistics) -> ColumnStatistics:
    left, right = left.aligned_with(right)  # type: ignore[arg-type]
    return (left - right).tidy()  # type: ignore[operator]


def _same(first: ColumnStatistics, second: ColumnStatistics) -> bool:
    return sorted(first.columns) == sorted(second.columns) and first == second.for_columns(first.columns)


def refuse_impossible(summary: Summary, table: ColumnStatistics, class_weight: FloatArray) -> None:
    """Refuse what no rows can leave: more known cells than rows, more "yes" than cells, events without a row."""
    if isinstance(table, Histograms):
        return
    most = class_weight[:, None] * (1 + ROUNDING)
    if isinstance(table, JointSums):
        table.refuse_impossible(most[:, 0], ROUNDING)
        return
    if isinstance(table, Tokens):
        observed = [one.observed.high for one in table.tables]
        bad = np.stack(observed, axis=1) > most if observed else np.zeros((len(most), 0), dtype=bool)
    elif isinstance(table, Counts):
        known = np.add.reduceat(np.column_stack([table.cells.high, class_weight * 0]), table.offsets[:-1], axis=1)
        known = np.where(np.diff(table.offsets) > 0, known, 0.0)
        bad = known > most
    elif table.observed is None:
        bad = (class_weight[:, None] == 0) & (table.total.high != 0)
    else:
        bad = table.observed.high > most
        if summary.above is not None:
            bad |= table.total.high > table.observed.high * (1 + ROUNDING)
        if table.square is not None:
            some = np.where(table.observed.high > 0, table.observed.high, 1.0)
            bad |= table.total.high**2 / some > table.square.high * (1 + ROUNDING)
    if bad.any():
        column = table.columns[int(np.argwhere(bad)[0][1])]
        raise ForgetError(
            f"Column {column!r}: no rows could leave what would be left, so these rows were never all learnt by this "
            "model (or with other weights or classes). Forget only rows that were learnt."
        )


def refuse_heavy(class_weight: FloatArray, factor: float = 1.0) -> None:
    """Refuse rows that together weigh more than can be squared and summed."""
    if class_weight.sum() > LARGEST_WEIGHT / factor:
        raise InputError(
            f"The rows of a model must not weigh more than {LARGEST_WEIGHT:g} together, but these would weigh about "
            f"{float(class_weight.sum()):.3g} times {factor:g}. Use smaller weights: a common factor changes no "
            "maximum-likelihood estimate."
        )


def _refuse_overflow(table: ColumnStatistics) -> None:
    """Refuse sums that have become too large for a float64."""
    if isinstance(table, JointSums):
        table.refuse_overflow()
    elif isinstance(table, Moments):
        for part in (table.total, table.square):
            if part is not None and not part.is_finite():
                place = int(np.argwhere(~np.isfinite(part.high + part.low_or_zero))[0][1])
                raise InputError(
                    f"The sums of column {table.columns[place]!r} become too large for a float64. Rescale the column "
                    "to within 1e150."
                )
