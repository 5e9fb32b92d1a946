"""The sum: the weight of each class, and each column's statistics. A model is this and nothing else.

`empty` is the identity, ``+`` merges, ``-`` forgets, `scaled` decays. Classes, columns and values are aligned by label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeVar

import numpy as np

from naively._common.checks import LARGEST_WEIGHT
from naively._table.labels import label_array, object_array
from naively._table.results import Columns, Result, Shown
from naively.errors import ForgetError, InputError, SchemaError
from naively.statistics._kept_rows import KeptRows
from naively.statistics._registry import empty_table
from naively.statistics._sums import Sum
from naively.statistics.base import Statistic, Summary
from naively.typing import AnyArray, FloatArray, IntArray

S = TypeVar("S", bound=Statistic)

ColumnStatistics = Statistic


@dataclass(frozen=True, eq=False, repr=False)
class Statistics(Result):
    """What has been learnt.

    Parameters
    ----------
    classes : ndarray
        The class labels, sorted.
    class_weight : Sum of shape (n_classes,)
        The weight of the rows of each class.
    tables : mapping from Summary to Statistic
        The statistics of the columns, those with equal summaries together.
    kept : KeptRows or None
        A sample of the rows, for the recipes that need one.
    peak : ndarray of shape (n_classes,) or None
        The largest weight that each class has had; None: it is the present one, since nothing was ever forgotten.
        Rounding is judged by it. It is no part of what was learnt, and equal statistics may differ in it.
    """

    classes: AnyArray
    class_weight: Sum
    tables: Mapping[Summary, Statistic]
    kept: KeptRows | None = None
    peak: FloatArray | None = None

    @classmethod
    def empty(cls) -> Statistics:
        """What is known before the first row."""
        return cls(np.array([], dtype=object), Sum.zeros(0), {})

    def _columns(self) -> Columns:
        """The weight of each class."""
        return {"class": ("U", self.classes.tolist()), "weight": ("f", self.class_weight.high.tolist())}

    def _shown(self) -> Shown:
        """The classes, and below them what is kept of how many columns."""
        kept = [f"of {len(table.columns)} columns: {summary.words}" for summary, table in self.tables.items()]
        rows = [] if self.kept is None else [f"kept rows: {len(self.kept.weights)}"]
        shown = super()._shown()
        return shown._replace(note="\n".join(part for part in (shown.note, *kept, *rows) if part))

    def __eq__(self, other: object) -> bool:
        """Bitwise equality, whatever the order of the columns."""
        if not isinstance(other, Statistics):
            return NotImplemented
        return (
            self.classes.tolist() == other.classes.tolist()
            and self.class_weight == other.class_weight
            and self.tables.keys() == other.tables.keys()
            and all(same(table, other.tables[summary]) for summary, table in self.tables.items())
            and self.kept == other.kept
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def largest_weight(self) -> FloatArray:
        """The largest weight that each class has had, (n_classes,)."""
        now = self.class_weight.high
        return now if self.peak is None else np.maximum(now, self.peak)

    def __add__(self, other: Statistics) -> Statistics:
        left, right = self._aligned_with(other)
        with np.errstate(over="ignore", invalid="ignore"):
            tables = {
                summary: added(left.tables[summary], right.tables[summary]).bounded(summary) for summary in left.tables
            }
        for table in tables.values():
            table.refuse_overflow()
        weight, peak = left.class_weight + right.class_weight, None
        if left.peak is not None or right.peak is not None:
            peak = np.maximum(np.maximum(left.largest_weight, right.largest_weight), weight.high)
        return Statistics(left.classes, weight, tables, left._kept_with(right), peak)

    def __sub__(self, other: Statistics) -> Statistics:
        unknown = [label for label in other.classes.tolist() if label not in self.classes.tolist()]
        if unknown:
            raise ForgetError(f"The class {unknown[0]!r} was never learnt, so no row of it can be forgotten.")
        left, right = self._aligned_with(other)
        peak = left.largest_weight
        weight = left.class_weight.less(right.class_weight, peak)
        if (weight.high < 0).any():
            label = left.classes.tolist()[int(np.argmin(weight.high))]
            raise ForgetError(f"More rows of class {label!r} would be forgotten than were learnt.")
        tables = {summary: subtracted(left.tables[summary], right.tables[summary], peak) for summary in left.tables}
        for summary, table in tables.items():
            table.check(summary, weight.high, peak)
        kept = None if left.kept is None else left.kept.less(right.kept, peak)
        return Statistics(left.classes, weight, tables, kept, peak).without_empty_classes()

    def only(self, kind: type[S]) -> S:
        """The one statistic of a model whose columns all have one, and of this class."""
        (table,) = self.tables.values()
        if not isinstance(table, kind):
            raise SchemaError(f"Expected {kind.__name__}, but the model has learnt {type(table).__name__}.")
        return table

    def scaled(self, factor: float) -> Statistics:
        """Every row's weight times a factor."""
        refuse_heavy(self.class_weight.high, factor)
        with np.errstate(over="ignore", invalid="ignore"):  # sums that overflow are refused below
            tables = {summary: table.scaled(factor) for summary, table in self.tables.items()}
        for table in tables.values():
            table.refuse_overflow()
        kept = None if self.kept is None else self.kept.scaled(factor)
        peak = None if self.peak is None else self.peak * factor
        return Statistics(self.classes, self.class_weight * factor, tables, kept, peak)

    def table(self, summary: Summary) -> Statistic:
        """The statistics of that kind; empty ones if no column has them.

        Sums of counts may have been kept without refusing other numbers, see `naively.families.ByKind`.
        """
        found = self.tables.get(summary) or self.tables.get(summary.lenient)
        return found or empty_table(summary, (), len(self.classes))

    def _kept_with(self, other: Statistics) -> KeptRows | None:
        """The sample of both; none if one of them has rows but kept none."""
        if self.kept is None and other.kept is None:
            return None
        if not self.class_weight.high.any() or not other.class_weight.high.any():
            return self.kept if self.class_weight.high.any() else other.kept
        return None if self.kept is None or other.kept is None else self.kept + other.kept

    def with_classes(self, classes: AnyArray) -> Statistics:
        """The statistics among these classes, which must include all that have weight."""
        if same_classes(classes, self.classes):
            return self
        place = {label: position for position, label in enumerate(classes.tolist())}
        positions = np.array([place.get(label, -1) for label in self.classes.tolist()], dtype=np.int64)
        return self._renumbered(positions, classes)

    def without_empty_classes(self) -> Statistics:
        """The statistics without the classes that no row has (any more)."""
        present = self.class_weight.high > 0
        if np.count_nonzero(present) == len(present):
            return self
        positions = np.where(present, np.cumsum(present) - 1, -1)
        return self._renumbered(positions, self.classes[present])

    def _renumbered(self, positions: IntArray, classes: AnyArray) -> Statistics:
        stays = positions >= 0
        weight = self.class_weight[stays].spread((len(classes),), positions[stays])
        tables = {summary: table.for_classes(positions, len(classes)) for summary, table in self.tables.items()}
        kept = None if self.kept is None else self.kept.for_classes(positions)
        peak = None if self.peak is None else Sum(self.peak[stays]).spread((len(classes),), positions[stays]).high
        return Statistics(classes, weight, tables, kept, peak)

    def _aligned_with(self, other: Statistics) -> tuple[Statistics, Statistics]:
        """Both under the union of their classes, with the same summaries."""
        left, right = self, other
        if not same_classes(self.classes, other.classes):
            classes = merged_classes(self.classes, other.classes)
            left, right = self.with_classes(classes), other.with_classes(classes)
        if left.tables.keys() == right.tables.keys():
            return left, right
        return left._with_tables_of(right), right._with_tables_of(left)

    def _with_tables_of(self, other: Statistics) -> Statistics:
        """The statistics with empty tables for the summaries that only the other has."""
        tables = dict(self.tables)
        for summary in other.tables:
            if summary not in tables:
                tables[summary] = empty_table(summary, (), len(self.classes))
        _refuse_clash(self.tables, other.tables)
        return replace(self, tables=tables)


def _refuse_clash(first: Mapping[Summary, Statistic], second: Mapping[Summary, Statistic]) -> None:
    """Refuse a column of which each side keeps what the other does not."""
    columns = [{summary: set(table.columns) for summary, table in tables.items()} for tables in (first, second)]
    for (one, of_one), (other, of_other) in product(columns[0].items(), columns[1].items()):
        beside = {one.kind, other.kind} in ({"moments", "histogram"}, {"joint"}, {"tokens"})  # kept of some columns
        shared = (of_one & of_other) - columns[0].get(other, set()) - columns[1].get(one, set())
        if one != other and not beside and shared:
            raise SchemaError(
                f"Column {sorted(shared)[0]!r} was counted in two ways: one model has {one.words}; the other has "
                f"{other.words}. Use the same families and factors in both models."
            )


def merged_classes(first: AnyArray, second: AnyArray) -> AnyArray:
    """The sorted union of two arrays of class labels."""
    if len(first) == 0 or len(second) == 0:
        return second if len(first) == 0 else first
    if same_classes(first, second):
        return first
    if _is_text(first) != _is_text(second):
        raise SchemaError(
            f"Classes must be of one type, but {first.tolist()[0]!r} and {second.tolist()[0]!r} meet. "
            "Convert them to strings."
        )
    union = sorted({**dict.fromkeys(first.tolist()), **dict.fromkeys(second.tolist())})
    if _is_text(first):
        return object_array(union) if "O" in (first.dtype.kind, second.dtype.kind) else label_array(union)
    return label_array(union, _number_type(first, second))


def same_classes(first: AnyArray, second: AnyArray) -> bool:
    """Whether two arrays hold the same labels; as Python's, which are compared without rounding, whatever their types.

    Of a few classes that takes no longer than to ask for their types.
    """
    return first is second or bool(first.tolist() == second.tolist())


def _number_type(first: AnyArray, second: AnyArray) -> Any:
    """The type for the numbers of both: NumPy's, but whole numbers stay whole, and objects need not stay objects."""
    common = np.result_type(first, second)
    whole = first.dtype.kind in "biu" and second.dtype.kind in "biu"
    return np.int64 if common.kind == "O" or (whole and common.kind == "f") else common


def _is_text(classes: AnyArray) -> bool:
    return isinstance(classes.tolist()[0], str)


def added(left: Statistic, right: Statistic) -> Statistic:
    """The statistic of the rows of both, whatever their columns and values."""
    left, right = left.aligned_with(right)
    return left + right


def subtracted(left: Statistic, right: Statistic, peak: FloatArray) -> Statistic:
    """The first statistic without the rows of the second; `peak` as in `Statistic.less`."""
    left, right = left.aligned_with(right)
    return left.less(right, peak).tidy()


def same(first: Statistic, second: Statistic) -> bool:
    """Whether two statistics are equal to the last bit, whatever the order of their columns."""
    return sorted(first.columns) == sorted(second.columns) and first == second.for_columns(first.columns)


def refuse_heavy(class_weight: FloatArray, factor: float = 1.0) -> None:
    """Refuse rows that together weigh more than can be squared and summed."""
    if class_weight.sum() > LARGEST_WEIGHT / factor:
        raise InputError(
            f"The rows of a model must not weigh more than {LARGEST_WEIGHT:g} together, but these would weigh about "
            f"{float(class_weight.sum()):.3g} times {factor:g}. Use smaller weights: a common factor changes no "
            "maximum-likelihood estimate."
        )
