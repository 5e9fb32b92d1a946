"""Partitions of a cluster: each is counted by the local engine, where it lies, and the sums are merged by ``+``.

What crosses the wire is what one job sends to itself: statistics, pickled, a few kilobytes for each partition. Pickles
run code, so none is read that others wrote: between those who do not trust each other, `NaiveBayes.save` and
`naively.load` carry the same sums as JSON, which runs none.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from naively._model.schema import Schema
from naively._table.table import Table
from naively._table.target import read_rows, set_aside
from naively.engines._arrow import needed_columns, require_target
from naively.engines._lazy_head import first_rows, head_table
from naively.engines._local import LocalEngine
from naively.engines.base import Plan, Target
from naively.errors import NaivelyError
from naively.statistics._statistics import Statistics
from naively.typing import IntArray

ROWS_AT_ONCE = 1 << 17
"""So many rows of a partition are counted together: clusters cut them smaller than a kernel likes."""

FAN_IN = 32
"""So many sums are merged by one task of a tree."""

MOST_SMALL = 1024
"""So many small sums are merged where the job began."""

LARGE = frozenset({"histogram", "joint", "tokens"})
"""The kinds of statistics that are large for each partition, so that a tree of tasks merges them."""


@dataclass(frozen=True)
class PartitionCounter:
    """Counts the rows of a partition, on whatever machine holds it.

    Parameters
    ----------
    schema : Schema
    y, weight : str
        The columns that hold the classes and the weights.
    kept_rows : int
        The number of rows to keep as a sample.
    """

    schema: Schema
    y: str
    weight: str | None
    kept_rows: int

    def __call__(self, frames: Iterable[Any]) -> Statistics:
        """The statistics of data frames, which may have no rows."""
        return merged(self._counted(frame) for frame in frames if len(frame))

    def _counted(self, frame: Any) -> Statistics:
        table, classes, codes, weights = read_rows(frame, self.y, self.weight)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd about the columns was said once, where the job began
            table, positions = self.schema.matched(table)
        target = Target(classes, codes, weights)
        return LocalEngine().count(table, self.schema, positions, target, 1, self.kept_rows)

    @property
    def is_large(self) -> bool:
        """Whether the sums of a partition are so large that a tree should merge them."""
        return bool(self.kept_rows) or any(summary.kind in LARGE for summary in self.schema.by_summary)


class Head(NamedTuple):
    """Some first rows of a lazy frame, without classes and weights, and where the columns of a schema stand in them."""

    table: Table
    positions: IntArray | None


def counter_for(frame: Any, plan: Plan) -> tuple[PartitionCounter, Head]:
    """What counts the partitions of a lazy frame, from the types of its columns and some first rows; and these.

    Parameters
    ----------
    frame : narwhals.LazyFrame
    plan : Plan
    """
    names = frame.collect_schema().names()
    require_target(plan.y, names)
    needed_columns(names, plan.y, plan.sample_weight, None)
    table = head_table(frame, first_rows(frame))
    for name, where in ((plan.sample_weight, "sample_weight"), (plan.y, "y")):
        table = table if name is None else set_aside(table, name, where)[0]
    schema, positions = plan.schema_of(table)
    return PartitionCounter(schema, plan.y, plan.sample_weight, plan.kept_rows), Head(table, positions)


def merged(parts: Iterable[Statistics]) -> Statistics:
    """The sum of statistics, those of no rows left out."""
    return reduce(add, (part for part in parts if len(part.classes)), Statistics.empty())


def gathered(batches: Iterable[Any], names: Sequence[str]) -> Iterator[Any]:
    """Record batches of Arrow put together to tables of some `ROWS_AT_ONCE` rows, their columns called by names."""
    waiting: list[Any] = []
    for batch in batches:
        waiting += [batch] if batch.num_rows else []
        if sum(one.num_rows for one in waiting) >= ROWS_AT_ONCE:
            yield _together(waiting, names)
            waiting = []
    if waiting:
        yield _together(waiting, names)


def _together(batches: list[Any], names: Sequence[str]) -> Any:
    import pyarrow

    return pyarrow.Table.from_batches(batches).rename_columns(list(names))


# -- what crosses the wire --------------------------------------------------------------------------------------------


def packed(count: PartitionCounter, frames: Iterable[Any]) -> bytes:
    """The statistics of a partition as bytes; or what is wrong with its rows, to be raised where the job began."""
    try:
        return pickle.dumps(count(frames), protocol=5)
    except NaivelyError as error:
        return pickle.dumps(error, protocol=5)


def unpacked(parts: Iterable[bytes]) -> Statistics:
    """The sum of what `packed` has written in this job."""
    return merged(map(_statistics, parts))


def _statistics(part: bytes) -> Statistics:
    found = pickle.loads(part)
    if isinstance(found, NaivelyError):
        raise type(found)(f"In a partition: {found}")
    assert isinstance(found, Statistics)
    return found


def repacked(parts: Iterable[bytes]) -> bytes:
    """The sum of what `packed` has written in this job, as bytes again; of several errors the first."""
    try:
        return pickle.dumps(unpacked(parts), protocol=5)
    except NaivelyError as error:
        return pickle.dumps(type(error)(str(error).removeprefix("In a partition: ")), protocol=5)
