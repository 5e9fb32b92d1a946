"""Changes between two sets of statistics: one record per column and class, with p-values for all of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from naively.errors import GapError, ParameterError, listed, warn
from naively.families import Family
from naively.statistics._divergence import Change, compare_cells
from naively.statistics._statistics import Statistics, added
from naively.statistics.base import Statistic, Summary
from naively.typing import FloatArray, Label

PRIOR = "prior"
"""What the class frequencies are called among the columns."""


def prior_record(before: Statistics, after: Statistics) -> dict[str, Any]:
    """The change of the class frequencies, over all classes of both."""
    weights = [dict(zip(one.classes.tolist(), one.class_weight.high.tolist(), strict=True)) for one in (before, after)]
    labels = list(dict.fromkeys([*weights[0], *weights[1]]))
    cells = np.array([[weight.get(label, 0.0) for label in labels] for weight in weights])
    return _record(PRIOR, None, compare_cells(cells), cells.sum(axis=1), ())


def column_records(before: Statistics, after: Statistics, families: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The change of every column that both have, in every class; both have the same classes."""
    rows = np.stack([before.class_weight.high, after.class_weight.high])
    before, after = _apart(before), _apart(after)
    known = _best_summaries(before), _best_summaries(after)
    groups: dict[tuple[Summary, Summary, Family], list[str]] = {}
    for name, summary in known[0].items():
        same = known[1].get(name)
        if same is not None and with_squares(same) == with_squares(summary):
            groups.setdefault((summary, same, families[name]), []).append(name)
    untested: list[str] = []
    for (summary, same, family), names in groups.items():
        then, now = before.table(summary).for_columns(names), after.table(same).for_columns(names)
        change, weights = _compared(family, then, now, summary, rows)
        untested += names if np.isnan(change.p_value).any() else []
        for place, name in enumerate(names):
            for code, label in enumerate(before.classes.tolist()):
                if weights[:, code, place].all():
                    yield _record(name, label, change, weights[:, code, place], (code, place))
    if untested:
        warn(
            f"The columns {listed(untested)} are compared, but not tested (their p-values are NaN): sums of counts do "
            "not tell how many of them come at once. Compare with rows in the place of a model, or learn with "
            "squares: families=Multinomial(squares=True)."
        )


def with_squares(summary: Summary) -> Summary:
    """What is counted of rows that are to be compared: of counts also the squares, which tell a change from chance."""
    counts = summary.kind == "moments" and not summary.observed
    return replace(summary, squares=True) if counts else summary


def _compared(
    family: Family, before: Statistic, after: Statistic, summary: Summary, rows: FloatArray
) -> tuple[Change, FloatArray]:
    try:
        return family.compare(before, after, summary, rows)
    except GapError as gap:
        raise ParameterError(
            f"Column {before.columns[0]!r} cannot be compared: {family!r} {gap.reason}. Ask for squares in its "
            "summaries, or define its method compare."
        ) from None


def _apart(statistics: Statistics) -> Statistics:
    """Statistics in which the members of joint tables stand by themselves, each once."""
    tables: dict[Summary, Statistic] = {}
    jointly: list[Mapping[Summary, Statistic]] = []
    for summary, table in statistics.tables.items():
        if margins := table.margins():
            jointly.append(margins)
        else:
            tables[summary] = table
    seen: set[str] = set()
    for margins in sorted(jointly, key=lambda one: sum(len(margin.columns) for margin in one.values())):
        for summary, margin in margins.items():
            if new := [name for name in margin.columns if name not in seen]:
                chosen = margin.for_columns(new)
                tables[summary] = added(tables[summary], chosen) if summary in tables else chosen
                seen.update(new)
    return Statistics(statistics.classes, statistics.class_weight, tables)


def _best_summaries(statistics: Statistics) -> dict[str, Summary]:
    """The statistic of each column that tells most, such as its histogram rather than its moments."""
    found: dict[str, Summary] = {}
    for summary, table in statistics.tables.items():
        for name in table.columns:
            if name not in found or table.detail > statistics.tables[found[name]].detail:
                found[name] = summary
    return found


def _record(column: str, label: Label | None, change: Change, weights: FloatArray, place: Any) -> dict[str, Any]:
    numbers = {field: float(values[place]) for field, values in zip(Change._fields, change, strict=True)}
    rows = {"rows_before": float(weights[0]), "rows_after": float(weights[1])}
    return {"column": column, "class": label, **numbers, **rows}


def ranked(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The surest first, with p-values for all at once."""

    def key(record: Mapping[str, Any]) -> tuple[bool, float, float]:
        untested = bool(np.isnan(record["p_value"]))
        return untested, 1.0 if untested else record["p_value"], -record["bits"] / (record["expected"] or np.inf)

    n_tested = sum(not np.isnan(record["p_value"]) for record in records)
    highest, found = 0.0, []
    for place, record in enumerate(sorted(records, key=key)):
        tested = place < n_tested
        highest = max(highest, min(1.0, (n_tested - place) * record["p_value"])) if tested else np.nan
        rows = {name: record.pop(name) for name in ("rows_before", "rows_after")}
        found.append({**record, "p_adjusted": highest, **rows})
    return found
