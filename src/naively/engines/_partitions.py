"""Partitions of a cluster: each is counted by the local engine, where it lies, and the sums are merged by ``+``.

What crosses the wire is what one job sends to itself: statistics, pickled, a few kilobytes for each partition. Pickles
run code, so read none that others wrote: between those who do not trust each other, `NaiveBayes.save` and
`naively.load` carry the same sums as JSON, which runs none.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from naively._schema import Schema
from naively._table.target import read_rows
from naively.engines._local import LocalEngine
from naively.engines.base import Target
from naively.statistics._statistics import Statistics

ROWS_AT_ONCE = 1 << 17
"""So many rows of a partition are counted together: clusters cut them smaller than a kernel likes."""


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
        table, positions = self.schema.matched(table)
        target = Target(classes, codes, weights)
        return LocalEngine().count(table, self.schema, positions, target, 1, self.kept_rows)


def merged(parts: Iterable[Statistics]) -> Statistics:
    """The sum of statistics, those of no rows left out."""
    return reduce(add, (part for part in parts if len(part.classes)), Statistics.empty())


def gathered(batches: Iterable[Any], n_rows: int = ROWS_AT_ONCE) -> Iterator[Any]:
    """Record batches of Arrow put together to tables of about so many rows."""
    import pyarrow

    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= n_rows:
            yield pyarrow.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pyarrow.Table.from_batches(waiting)


def packed(statistics: Statistics) -> bytes:
    """Statistics as bytes, for other processes of the same job."""
    return pickle.dumps(statistics, protocol=5)


def unpacked(parts: Iterable[bytes]) -> Statistics:
    """The sum of what `packed` has written in this job."""
    return merged(pickle.loads(part) for part in parts)
