"""Sums of the numbers of a Spark data frame, by one GROUP BY of Spark itself: no row is handed to Python.

Handing rows to the Python workers costs more than all that is done with them there. So where a model needs nothing but
sums of plain numbers, Spark adds them up, about an anchor close to them, in one pass over the rows. Where that leaves a
doubt (a row without a class, an infinity, a class so far from the others that digits would be lost), there is no
answer, and the partitions are counted by the local kernels, which tell what is wrong or add up exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from naively._model.schema import Schema
from naively._table.labels import is_missing
from naively._table.table import Table
from naively.engines._lazy import anchored, classes_of
from naively.engines._lazy_moments import PowerSums, Wanted, is_far, moments_of, sums_of
from naively.engines._lazy_rows import CLASS, LOGGER
from naively.statistics._statistics import Statistics
from naively.typing import IntArray

CLASS_TYPES = frozenset({"string", "boolean", "tinyint", "smallint", "int", "bigint"})
"""Types of which equal values are one group, and one class, in Spark as here: texts under a collation are not."""

EXACT_TYPES = frozenset({"tinyint", "smallint", "int", "bigint"})
NUMBER_TYPES = EXACT_TYPES | {"float", "double"}

MOST_COLUMNS = 32
"""Of more columns Spark's plan takes longer than the kernels: with 20 of 500,000 rows it took 0.6 of the processor time
of the kernels, with 30 0.7, with 40 all of it, and Java's compiler took seconds more at the first time."""


def group_by_sums(
    frame: Any, names: Sequence[str], y: str, schema: Schema, positions: IntArray | None, head: Table
) -> Statistics | None:
    """The statistics of the rows of a data frame, added up by Spark; None where the kernels must count.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Whose columns are called "c0", "c1", ...
    names : sequence of str
        What the user calls them.
    y : str
        The column that holds the classes.
    schema : Schema
        What to add up for which column.
    positions : ndarray or None
        Where its columns stand among those of `head` (-1: absent); None if in the same order.
    head : Table
        Some first rows, which tell about where the numbers of each column lie.
    """
    place_of = {name: place for place, name in enumerate(names)}
    where = np.arange(len(schema.names)) if positions is None else positions
    places = [place_of[head.names[position]] for position in where.tolist() if position >= 0]
    types = [dtype for _, dtype in frame.dtypes]
    if len(places) < len(where) or not _are_plain(schema, [types[place] for place in places], types[place_of[y]]):
        return None
    wanted = [
        Wanted(places[member], summary, anchored(head, int(where[member]), summary))
        for summary, members in schema.by_summary.items()
        for member in members.tolist()
    ]
    answer = _answer(_plan(frame, f"c{place_of[y]}", wanted, types))
    if not answer[CLASS] or any(is_missing(key) for key in answer[CLASS]):
        return None
    classes, class_weight, class_of = classes_of(answer, "rows")
    sums = sums_of(answer, wanted, class_of, [one.anchor for one in wanted])
    if any(_is_doubtful(one.summary, found) for one, found in zip(wanted, sums, strict=True)):
        return None
    tables, start = {}, 0
    for summary, members in schema.by_summary.items():
        own = tuple(schema.names[member] for member in members.tolist())
        tables[summary] = moments_of(own, sums[start : start + len(own)], summary)
        start += len(own)
    return Statistics(classes, class_weight, tables)


def _are_plain(schema: Schema, types: Sequence[str], class_type: str) -> bool:
    """Whether sums of plain numbers are all that is wanted."""
    plain = all(
        summary.kind == "moments" and summary.above is None and summary.unlike is None and not summary.logs
        for summary in schema.by_summary
    )
    return plain and class_type in CLASS_TYPES and 0 < len(types) <= MOST_COLUMNS and NUMBER_TYPES.issuperset(types)


def _plan(frame: Any, y: str, wanted: Sequence[Wanted], types: Sequence[str]) -> Any:
    """The plan: for each class its rows, and for each column the known cells, their sum and that of their squares.

    All of them are one structure: each expression is a journey to the Java side, and sixty take longer than one.
    """
    from pyspark.sql.functions import expr

    numbers = [f"{y} as {CLASS}"]
    sums = ["count(1) as rows"]
    for j, one in enumerate(wanted):
        number = f"cast(c{one.place} as double)"
        if types[one.place] not in EXACT_TYPES:
            number = f"nanvl({number}, null)"
        numbers.append(f"{number} - ({one.anchor!r}D) as d{j}")
        sums += [f"count(d{j}) as k{j}", f"sum(d{j}) as s{j}"]
        sums += [f"sum(d{j} * d{j}) as q{j}"] if one.summary.squares else []
        if one.summary.nonnegative:
            numbers.append(f"{number} as x{j}")
            sums.append(f"min(x{j}) as m{j}")
    LOGGER.info("pyspark: sums of %d columns", len(wanted))
    LOGGER.debug("select %s from (select %s) group by %s", ", ".join(sums), ", ".join(numbers), CLASS)
    return frame.selectExpr(*numbers).groupBy(CLASS).agg(expr(f"struct({', '.join(sums)})"))


def _answer(plan: Any) -> dict[str, list[Any]]:
    """What Spark answers, column by column."""
    found = [{CLASS: key, **sums.asDict()} for key, sums in plan.collect()]
    return {name: [one[name] for one in found] for name in (found[0] if found else (CLASS,))}


def _is_doubtful(summary: Any, sums: PowerSums) -> bool:
    """Whether sums have lost digits, or are of numbers that must be refused."""
    finite = np.isfinite(sums.total).all() and np.isfinite(sums.square).all()
    negative = summary.nonnegative and bool((sums.least < 0).any())
    return not finite or negative or (summary.squares and is_far(sums))
