"""Counting in this process: row blocks over a few threads, one partial sum per chunk of rows, merged by ``+``.

The rows are cut into chunks of a fixed size and the partial sums are added in the order of the rows: the result is the
same to the last bit for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from naively._kernels import frozen, repays_compiler, with_reference
from naively._model.schema import Schema
from naively._table.table import Table
from naively.engines._calendar import count_calendars
from naively.engines._counts import count_categories
from naively.engines._histogram import count_histograms
from naively.engines._joint import Members, sum_jointly
from naively.engines._kept_rows import sample_rows
from naively.engines._moments import sum_powers
from naively.engines._rows import Rows
from naively.engines._tokens import count_tokens
from naively.engines.base import Engine, Finish, RowScorer, Target
from naively.errors import SchemaError, listed
from naively.statistics._statistics import Statistics
from naively.statistics._sums import Sum, sum_by_code
from naively.statistics.base import Statistic, Summary
from naively.typing import IntArray

MANY_ROWS = 1 << 16
"""Of fewer rows NumPy counts the classes in less time than it takes to ask for a kernel."""

Counter = Callable[[Rows, tuple[str, ...], IntArray, Summary], Statistic]
"""Counts the columns of these names, at these positions of the table (-1: absent), as a summary asks."""

COUNTERS: dict[str, Counter] = {
    "moments": sum_powers,
    "counts": count_categories,
    "histogram": count_histograms,
    "calendar": count_calendars,
    "tokens": count_tokens,
}
"""How each kind of statistics is counted here; joint ones, which share encoded columns, by `sum_jointly`."""


class LocalEngine(Engine):
    """Rows in the memory of this process, counted and scored by a few threads."""

    name: ClassVar[str] = "local"
    sources: ClassVar[str] = "tables in memory: arrays, data frames, sparse matrices, records"
    kinds: ClassVar[frozenset[str]] = frozenset([*COUNTERS, "joint"])
    keeps_rows: ClassVar[bool] = True

    def reads(self, source: Any) -> bool:
        return isinstance(source, Table)

    def count(
        self,
        source: Table,
        schema: Schema,
        positions: IntArray | None,
        target: Target,
        n_threads: int,
        kept_rows: int = 0,
    ) -> Statistics:
        classes, codes, weights = target
        if weights is None:
            class_weight = Sum(_rows_of_classes(codes, len(classes)).astype(np.float64))
        else:
            codes = np.where(weights > 0, codes, -1)
            class_weight = sum_by_code(codes, weights, len(classes))
        rows = Rows(source, codes, weights, class_weight, n_threads)
        tables: dict[Summary, Statistic] = {}
        jointly = Members(rows, schema.names, positions)
        for summary, members in schema.by_summary.items():
            if summary.kind == "joint":
                tables[summary] = sum_jointly(jointly, summary)
                continue
            everything = len(members) == len(schema.names)
            names = schema.names if everything else tuple(schema.names[place] for place in members.tolist())
            chosen = members if positions is None else positions[members]
            tables[summary] = _counter(summary.kind)(rows, names, chosen, summary)
        sample = sample_rows(rows, schema, positions, kept_rows) if kept_rows else None
        return Statistics(classes, class_weight, tables, sample).without_empty_classes()

    def score(
        self, source: Table, positions: IntArray | None, scorer: RowScorer, finish: Finish, n_threads: int
    ) -> None:
        scorer.run(source, positions, finish, n_threads)


@with_reference
def _rows_of_classes(codes: IntArray, n_classes: int) -> IntArray:
    """How many rows each class has."""
    if len(codes) < MANY_ROWS or not repays_compiler(len(codes)):
        return np.bincount(codes, minlength=n_classes)
    from naively._kernels.counts import TURNS, count_codes

    counts = np.zeros((TURNS, n_classes), dtype=np.int64)
    count_codes(frozen(codes), counts)
    return np.asarray(counts.sum(axis=0))


def _counter(kind: str) -> Counter:
    """What counts a kind of statistics."""
    if kind not in COUNTERS:
        known = listed([*COUNTERS, "joint"], len(COUNTERS) + 1)
        raise SchemaError(f"This engine cannot count statistics of the kind {kind!r}, only {known}.")
    return COUNTERS[kind]
