"""Counts of the values of a lazy frame, by GROUP BY in the engine that holds it.

Columns of one type are counted by one plan, a union of one GROUP BY for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from naively._table.labels import encode_objects
from naively._table.read import encode_decimals
from naively.engines._counts import LARGEST_TABLE_BYTES
from naively.engines._lazy_rows import CLASS, WEIGHT, LazyRows, collected
from naively.errors import InputError
from naively.statistics._counts import Counts
from naively.statistics._sums import Sum
from naively.typing import IntArray, Label

COLUMNS_AT_ONCE = 100
"""So many columns are counted by one plan: SQLite joins at most 500 queries."""


def count_values(rows: LazyRows, names: tuple[str, ...], places: Sequence[int], class_of: dict[Any, int]) -> Counts:
    """How often each value of each column occurs in each class.

    Parameters
    ----------
    rows : LazyRows
    names : tuple of str
        What the columns are called.
    places : sequence of int
        Which of the columns of the rows they are; -1: absent.
    class_of : dict
        From what the engine calls a class to its number.
    """
    n_classes = max(class_of.values(), default=-1) + 1
    labels: list[list[Label]] = [[] for _ in names]
    tables = [Sum.zeros((n_classes, 0)) for _ in names]
    for dtype, members in _by_type(rows, places).items():
        for start in range(0, len(members), COLUMNS_AT_ONCE):
            some = members[start : start + COLUMNS_AT_ONCE]
            plan = _counts_plan(rows, [places[member] for member in some], dtype)
            answer = collected(plan, f"counts of the values of {len(some)} columns")
            column = np.array(answer["column"], dtype=np.int64)
            codes = np.array([class_of[key] for key in answer[CLASS]], dtype=np.int64)
            weights = np.array(answer["weight"], dtype=np.float64)
            for j, member in enumerate(some):
                own = column == j
                values = [answer["value"][row] for row in np.flatnonzero(own).tolist()]
                labels[member], tables[member] = _table(names[member], values, codes[own], weights[own], n_classes)
    return Counts.of_tables(names, labels, tables)


def _by_type(rows: LazyRows, places: Sequence[int]) -> dict[Any, list[int]]:
    """The columns whose values can stand in one column of an answer."""
    found: dict[Any, list[int]] = {}
    for member, place in enumerate(places):
        if place >= 0:
            found.setdefault(_common_type(rows.types[place]), []).append(member)
    return found


def _common_type(dtype: Any) -> Any:
    """A type that holds all values of a type, and of its narrower siblings."""
    import narwhals as nw

    if dtype in (nw.Categorical, nw.Enum):
        return nw.String()
    if dtype.is_integer() and dtype not in (nw.UInt64, nw.Int128, nw.UInt128):
        return nw.Int64()
    return nw.Float64() if dtype.is_float() else dtype


def _counts_plan(rows: LazyRows, places: Sequence[int], dtype: Any) -> Any:
    """The plan with a row for each class and each value of each column."""
    import narwhals as nw

    narrow = nw.Int64() if dtype == nw.Int64 else nw.Float64() if dtype == nw.Float64 else None
    frame = rows.frame.filter(nw.col(WEIGHT) > 0) if rows.weighed else rows.frame
    weight = nw.col(WEIGHT).sum() if rows.weighed else nw.len()
    parts = []
    for j, place in enumerate(places):
        value = nw.col(f"c{place}") if narrow is None else nw.col(f"c{place}").cast(narrow)
        own = frame.select(CLASS, *([WEIGHT] if rows.weighed else []), value.alias("value"))
        counted = own.group_by(CLASS, "value").agg(weight.alias("weight"))
        parts.append(counted.select(nw.lit(j).alias("column"), CLASS, "value", "weight"))
    return nw.concat(parts, how="vertical") if len(parts) > 1 else parts[0]


def _table(name: str, values: Sequence[Any], codes: IntArray, weights: Any, n_classes: int) -> tuple[list[Label], Sum]:
    """The labels of one column and their table (classes, labels); missing values are left out."""
    where = f"Column {name!r}"
    decimal = any(type(value).__name__ == "Decimal" for value in values)
    places, labels = encode_decimals(values, where) if decimal else encode_objects(values, where)
    need = 8 * n_classes * (len(labels) + 1)
    if need > LARGEST_TABLE_BYTES:
        raise InputError(
            f"Column {name!r} has {len(labels):,} values and there are {n_classes:,} classes: their table would take "
            f"{need / 2**30:.0f} GiB. Drop the column, group its rare values, or read it as another family."
        )
    cells = np.zeros((n_classes, len(labels)))
    known = places >= 0
    np.add.at(cells, (codes[known], places[known]), weights[known])
    return labels, Sum(cells)
