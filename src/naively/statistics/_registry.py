"""The kinds of statistics that there are, by name."""

from __future__ import annotations

from naively.errors import SchemaError, listed
from naively.statistics._calendar import Calendar
from naively.statistics._counts import Counts
from naively.statistics._histogram import Histograms
from naively.statistics._joint import JointSums
from naively.statistics._moments import Moments
from naively.statistics._tokens import Tokens
from naively.statistics.base import Statistic, Summary

STATISTICS: dict[str, type[Statistic]] = {
    one.kind: one for one in (Moments, Counts, Histograms, Calendar, JointSums, Tokens)
}
"""The class of each kind of statistics: what `Summary.kind` may be."""


def empty_table(summary: Summary, columns: tuple[str, ...], n_classes: int) -> Statistic:
    """The statistics of no rows, of the kind that a summary asks for."""
    if summary.kind not in STATISTICS:
        raise SchemaError(
            f"There is no statistic of the kind {summary.kind!r}, only {listed(STATISTICS, len(STATISTICS))}. Add its "
            "class to naively.statistics._registry.STATISTICS."
        )
    return STATISTICS[summary.kind].empty(summary, columns, n_classes)
