"""The intervals of all columns in a few lists, which lambdas search.

That is for Spark SQL, where a join for each column becomes generated code that is too long for Java to compile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from naively._export.sql_dialects import Dialect
from naively._export.sql_tables import Intervals, ListTable, said_in
from naively.typing import FloatArray, IntArray

BUCKETS_PER_KNOT = 8
LISTS = ("firsts", "crowds", "lows", "held")


@dataclass(frozen=True)
class EqualBuckets:
    """The range of a column's bounds in cells of one width, numbered from 0 on; the outer ones have no end.

    Parameters
    ----------
    start : float
    scale : float
        How many of them there are in a unit of the column.
    last : int
        The number of the last.
    """

    start: float
    scale: float
    last: int

    @classmethod
    def of(cls, lows: FloatArray) -> EqualBuckets:
        """Buckets of which most hold no bound or one."""
        start, end = float(lows[1:].min(initial=lows[-1])), float(lows[-1])
        n_buckets = BUCKETS_PER_KNOT * len(lows)
        scale = n_buckets / (end - start) if end > start else 0.0
        return cls(start, scale if np.isfinite(scale) else 0.0, n_buckets - 1)

    def number(self, x: FloatArray) -> IntArray:
        """The buckets of numbers, computed as the database computes them, operation by operation."""
        with np.errstate(over="ignore"):
            return np.clip((x - self.start) * self.scale, 0.0, float(self.last)).astype(np.int64)


@dataclass(frozen=True)
class Search:
    """How the intervals of numbers are found: by a list of the first interval of each bucket, and a few steps on.

    Parameters
    ----------
    columns : dict from names of cells to Intervals
    codes : sequence of int
        The classes whose evidence is looked up.
    """

    columns: dict[str, Intervals]
    codes: Sequence[int]

    @cached_property
    def _buckets(self) -> list[EqualBuckets]:
        return [EqualBuckets.of(one.lows) for one in self.columns.values()]

    @cached_property
    def _crowds(self) -> list[IntArray]:
        """For each column and bucket, how many bounds lie in it."""
        return [
            np.bincount(buckets.number(one.lows), minlength=buckets.last + 1)
            for buckets, one in zip(self._buckets, self.columns.values(), strict=True)
        ]

    def table(self, name: tuple[str, ...]) -> ListTable:
        """The lists, column behind column.

        The bounds of a column end in infinities, so that no number steps on into the next one.
        """
        firsts, crowds, held, begin = [], [], [], 0
        for one, crowd in zip(self.columns.values(), self._crowds, strict=True):
            steps = _bit_lengths(crowd)
            beyond = 2 ** int(steps.max()) - 1
            firsts.append(begin + np.maximum(np.cumsum(crowd) - crowd - 1, 0))
            crowds.append(steps)
            held.append(_padded(said_in(_sloped(one), self.codes), beyond))
            begin += len(one.lows) + beyond
        joined = {part: np.concatenate([one[part] for one in held]) for part in held[0]}
        lists = (np.concatenate(firsts), np.concatenate(crowds), joined["low"], joined)
        return ListTable(name, dict(zip(LISTS, lists, strict=True)))

    def buckets(self, dialect: Dialect) -> str:
        """The buckets of all columns, as SQL: a list. That of a missing cell is the first, for want of any."""
        begins = np.cumsum([0, *(one.last + 1 for one in self._buckets[:-1])])
        starts, scales, lasts = (
            _list(dialect.number(float(getattr(one, part))) for one in self._buckets)
            for part in ("start", "scale", "last")
        )
        inside = f"LEAST(GREATEST((x - {starts}[i]) * {scales}[i], {dialect.number(0.0)}), {lasts}[i])"
        return f"TRANSFORM({_list(self.columns)}, (x, i) -> {_list(map(str, begins))}[i] + CAST({inside} AS INT))"

    def places(self) -> str:
        """The places of all intervals in the lists, as SQL, from the buckets ``b``."""
        most = max(int(_bit_lengths(crowd).max()) for crowd in self._crowds)
        steps = _list(_list(str(2**power) for power in reversed(range(length))) for length in range(most + 1))
        step = "p + CASE WHEN x >= lows[p + step] THEN step ELSE 0 END"
        search = f"AGGREGATE({steps}[crowds[b[i]]], firsts[b[i]], (p, step) -> {step})"
        return f"TRANSFORM({_list(self.columns)}, (x, i) -> {search})"


def _list(parts: Iterable[str]) -> str:
    return f"ARRAY({', '.join(parts)})"


def _bit_lengths(numbers: IntArray) -> IntArray:
    """So many steps, of falling powers of two, reach as far as each number."""
    return np.frexp(numbers.astype(np.float64))[1].astype(np.int64)


def _sloped(intervals: Intervals) -> Intervals:
    """Intervals that have slopes, as those of other columns may have."""
    slopes = np.zeros(intervals.evidence.shape) if intervals.slopes is None else intervals.slopes
    return Intervals(intervals.lows, intervals.evidence, slopes)


def _padded(said: dict[str, FloatArray], beyond: int) -> dict[str, FloatArray]:
    """Lists with so many intervals behind them that no number is in."""
    return {part: np.append(values, np.full(beyond, np.inf if part == "low" else 0.0)) for part, values in said.items()}
