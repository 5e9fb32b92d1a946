"""Lazy frames, counted where they are: Polars, DuckDB, and through Ibis any database that it speaks to.

Where a model needs sums and counts only, as "textbook" does, the engine adds them up by GROUP BY and no row leaves it.
Where it needs more (histograms, kept rows, prose), rows come in pieces and are counted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from naively._common.checks import LARGEST_WEIGHT
from naively._model.schema import Schema
from naively._table.labels import encode_objects, is_missing
from naively._table.read import encode_decimals
from naively._table.table import Table
from naively._table.target import sorted_classes
from naively.engines._lazy_counts import count_values
from naively.engines._lazy_moments import INFINITE, Wanted, moments_of, power_sums, short_anchor
from naively.engines._lazy_rows import CLASS, WEIGHT, LazyRows, collected
from naively.errors import InputError
from naively.statistics._moments import Moments
from naively.statistics._registry import empty_table
from naively.statistics._statistics import Statistics
from naively.statistics._sums import Sum
from naively.statistics.base import Statistic, Summary
from naively.typing import AnyArray, IntArray

PUSHED = frozenset({"moments", "counts"})
"""The kinds of statistics that an engine adds up by GROUP BY."""


def lazy_statistics(rows: LazyRows, schema: Schema, positions: IntArray | None, head: Table) -> Statistics:
    """The statistics of the rows of a lazy frame, added up by its engine.

    Parameters
    ----------
    rows : LazyRows
    schema : Schema
        Whose summaries are all sums and counts, see `PUSHED`.
    positions : ndarray or None
        Where its columns stand in the rows (-1: absent); None if in the same order.
    head : Table
        Some first rows, which tell about where the numbers of each column lie.
    """
    classes, class_weight, class_of = lazy_classes(rows)
    where = np.arange(len(schema.names)) if positions is None else positions
    moments = _moments(rows, schema, where, head, class_of)
    tables: dict[Summary, Statistic] = {}
    for summary, members in schema.by_summary.items():
        names = tuple(schema.names[member] for member in members.tolist())
        if summary.kind == "counts":
            tables[summary] = count_values(rows, names, where[members].tolist(), class_of)
        elif summary in moments:
            tables[summary] = moments[summary].for_columns(names)
        else:  # of columns that are not there
            tables[summary] = empty_table(summary, names, len(classes))
    return Statistics(classes, class_weight, tables).without_empty_classes()


def _moments(
    rows: LazyRows, schema: Schema, where: IntArray, head: Table, class_of: dict[Any, int]
) -> dict[Summary, Moments]:
    """The sums of the columns that are there, all by one plan."""
    members = {
        summary: [member for member in members.tolist() if where[member] >= 0]
        for summary, members in schema.by_summary.items()
        if summary.kind == "moments"
    }
    wanted = [
        Wanted(int(where[member]), summary, anchored(head, int(where[member]), summary))
        for summary, those in members.items()
        for member in those
    ]
    sums = iter(power_sums(rows, wanted, class_of))
    return {
        summary: moments_of(tuple(schema.names[member] for member in those), list(islice(sums, len(those))), summary)
        for summary, those in members.items()
        if those
    }


def anchored(head: Table, place: int, summary: Summary) -> float:
    """About where the numbers of a column lie, if their squares are wanted."""
    if not summary.squares or head.kind(place) != "number":
        return 0.0
    return short_anchor(head.column(place))


def lazy_classes(rows: LazyRows) -> tuple[AnyArray, Sum, dict[Any, int]]:
    """The sorted classes, the weight of each, and from what the engine calls a class to its number.

    A row without a class is refused, as in a table; so is a weight that is missing, negative or infinite.
    """
    import narwhals as nw

    weight = nw.col(WEIGHT)
    if rows.weighed:
        good = (weight >= 0) & (weight <= INFINITE)
        frame = rows.frame.with_columns(nw.when(good).then(weight).alias("good"))
        sums = [nw.col("good").sum().alias("weight"), nw.col("good").count().alias("good")]
        answer = collected(frame.group_by(CLASS).agg(nw.len().alias("rows"), *sums), "classes and their weights")
        _refuse_weights(answer)
    else:
        answer = collected(rows.frame.group_by(CLASS).agg(nw.len().alias("rows")), "classes")
    missing = sum(n for key, n in zip(answer[CLASS], answer["rows"], strict=True) if is_missing(key))
    if missing:
        raise InputError(
            f"Input y contains NaN or None: {missing} rows have no class. Leave them out, for example by a filter on "
            "the column of classes, or label them."
        )
    return classes_of(answer, "weight" if rows.weighed else "rows")


def classes_of(answer: dict[str, list[Any]], weight: str) -> tuple[AnyArray, Sum, dict[Any, int]]:
    """The same, from what an engine has answered: the keys of its groups, and under the name `weight` their weights."""
    keys = answer[CLASS]
    codes, labels = _encoded(keys)
    classes, places = sorted_classes(labels)
    if not len(classes):
        raise InputError("Found array with 0 sample(s) while a minimum of 1 is required: the lazy frame has no rows.")
    numbers = places[codes]
    weights = np.zeros(len(classes))
    np.add.at(weights, numbers, np.array(answer[weight], dtype=np.float64))
    if not weights.any():
        raise InputError("sample_weight must not be zero for every row: there would be nothing to learn.")
    return classes, Sum(weights), dict(zip(keys, numbers.tolist(), strict=True))


def _encoded(keys: Sequence[Any]) -> tuple[IntArray, list[Any]]:
    decimal = any(type(key).__name__ == "Decimal" for key in keys)
    return encode_decimals(keys, "y") if decimal else encode_objects(keys, "y")


def _refuse_weights(answer: dict[str, list[Any]]) -> None:
    bad = sum(answer["rows"]) - sum(answer["good"])
    if bad:
        raise InputError(
            f"sample_weight must hold finite numbers of zero or more, but {bad} rows have none such. To take rows out "
            "of a model again use forget, not negative weights."
        )
    if sum(answer["weight"]) > LARGEST_WEIGHT:
        raise InputError(
            f"sample_weight must not add up to more than {LARGEST_WEIGHT:g}. Divide all weights by their largest: a "
            "common factor changes no maximum-likelihood estimate."
        )
