"""How unlabelled rows are set beside what a model has learnt: all classes as one, and the mean of the answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._scoring.decision import Decider
from naively._table.table import Table
from naively.analysis._changes import with_squares
from naively.engines._registry import engine_of
from naively.engines._threads import thread_count
from naively.engines.base import Target
from naively.statistics._divergence import compare_cells
from naively.statistics._statistics import Statistics, added
from naively.statistics.base import Statistic, Summary
from naively.typing import FloatArray

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

MIXTURE = "mixture of classes"
"""What the classes that a model answers with are called among the columns."""

EVERYONE = np.array(["all rows"], dtype=object)

FARTHEST = 1e140
"""Numbers are held within so much, so that their squares can be added: they are far outside in any case."""


def over_classes(statistics: Statistics) -> Statistics:
    """Statistics of all rows as one class."""
    total: dict[Summary, Statistic] = {}
    n_classes = len(statistics.classes)
    for code in range(n_classes):
        positions = np.where(np.arange(n_classes) == code, 0, -1)
        for summary, table in statistics.tables.items():
            one = table.for_classes(positions, 1)
            total[summary] = added(total[summary], one).bounded(summary) if summary in total else one
    return Statistics(EVERYONE, statistics.class_weight.total(0).reshaped((1,)), total)


def counted_unlabelled(model: NaiveBayes, table: Table) -> Statistics:
    """What a model would have learnt of rows that are all of one class."""
    table, positions = model.schema_.matched(table)
    schema = replace(model.schema_, summaries=tuple(tuple(map(with_squares, of)) for of in model.schema_.summaries))
    there = np.arange(len(schema.names)) if positions is None else positions
    numeric = [position for place, position in enumerate(there) if position >= 0 and schema.is_numeric(place)]
    held = table.held_within(np.array(numeric, dtype=np.int64), FARTHEST)
    target = Target(EVERYONE, np.zeros(table.n_rows, dtype=np.int64), None)
    return engine_of(held).count(held, schema, positions, target, thread_count(model.n_threads), 0)


def shares(model: NaiveBayes, table: Table, before: Statistics, after: Statistics) -> dict[str, dict[str, float]]:
    """The shares of missing cells, of labels never learnt and of numbers out of range, by column."""
    nothing = {"missing_before": np.nan, "missing_now": np.nan, "unseen": np.nan, "outside": np.nan}
    found = {name: dict(nothing) for name in model.schema_.names}
    table, positions = model.schema_.matched(table)
    for one, when in ((before, "missing_before"), (after, "missing_now")):
        for statistic in one.tables.values():
            for place, name in enumerate(statistic.columns):
                observed = statistic.observed_weight(place)
                if observed is not None:
                    found[name][when] = max(0.0, 1.0 - float(observed[0]) / float(one.class_weight.high[0]))
    for summary, learnt in before.tables.items():
        bounds, statistic = learnt.bounds(), after.table(with_squares(summary))
        for place, name in enumerate(statistic.columns):
            found[name]["unseen"] = _unseen(learnt, statistic, name, found[name]["unseen"])
            if bounds is not None:
                column = model.schema_.names.index(name)
                position = np.array([column if positions is None else int(positions[column])])
                numbers = table.numbers(position, slice(0, table.n_rows))[:, 0]
                found[name]["outside"] = _outside(numbers, *bounds[place])
    return found


def _unseen(before: Statistic, after: Statistic, name: str, otherwise: float) -> float:
    """The share of the known cells of a column of labels whose label was never learnt."""
    known, now = before.values_of(name), after.values_of(name)
    if known is None or now is None:
        return otherwise
    weights = np.asarray(now[1]).sum(axis=0)
    learnt = {value for value, weight in zip(known[0], np.asarray(known[1]).sum(axis=0), strict=True) if weight > 0}
    new = np.array([value not in learnt for value in now[0]], dtype=bool)
    return float(weights[new].sum() / weights.sum()) if weights.sum() else 0.0


def _outside(numbers: FloatArray, low: float, high: float) -> float:
    known = numbers[~np.isnan(numbers)]
    return float(np.mean((known < low) | (known > high))) if len(known) and low == low else 0.0


def mixture_record(model: NaiveBayes, table: Table, before: Statistics) -> dict[str, Any]:
    """Whether the mean answer is the prior: Hotelling's test, as its chi-square."""
    from scipy.stats import chi2

    scorer, logs = model._estimated()
    table, positions = model.schema_.matched(table)
    answers, prior = model._posterior(table, positions, scorer, Decider(logs)), model.class_prior_
    mean, n_rows = answers.mean(axis=0), len(answers)
    change = compare_cells(np.stack([prior * before.class_weight.high[0], mean * n_rows]))
    gap, spread = (mean - prior)[1:], np.atleast_2d(np.cov(answers[:, 1:], rowvar=False))
    spread = spread * (1 / n_rows + 1 / before.class_weight.high[0])  # the prior and the answers are of a sample, too
    statistic = float(gap @ np.linalg.pinv(spread, rcond=1e-9, hermitian=True) @ gap) if len(gap) else 0.0
    nothing = {"missing_before": np.nan, "missing_now": np.nan, "unseen": np.nan, "outside": np.nan}
    p_value = float(chi2.sf(statistic, len(gap))) if len(gap) else 1.0
    return {
        "column": MIXTURE,
        "bits": float(change.bits),
        "expected": float(change.expected),
        "p_value": p_value,
        **nothing,
    }
