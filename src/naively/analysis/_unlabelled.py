"""How unlabelled rows are set beside what a model has learnt: all classes as one, and the mean of the answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from naively._model.schema import Schema
from naively._scoring.decision import Decider
from naively._table.read import read_table
from naively._table.table import Table, require_rows
from naively.analysis._changes import with_squares
from naively.engines._registry import engine_of
from naively.engines._threads import thread_count
from naively.engines.base import Target
from naively.statistics._divergence import LEAST_EXPECTED, compare_cells
from naively.statistics._statistics import Statistics, added
from naively.statistics.base import Statistic, Summary
from naively.typing import FloatArray, IntArray

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


@dataclass(frozen=True)
class Answers:
    """Predicted probabilities of some rows: how many, their mean, and the products of what deviates from it."""

    n_rows: float
    mean: FloatArray
    scatter: FloatArray

    @classmethod
    def of(cls, probabilities: FloatArray, weights: FloatArray | None = None) -> Answers:
        """Of rows, or of rows with weights: as many as tell as much (Kish)."""
        weights = np.ones(len(probabilities)) if weights is None else weights
        share, n_rows = weights / weights.sum(), float(weights.sum() ** 2 / np.square(weights).sum())
        mean = share @ probabilities
        deviations = probabilities - mean
        return cls(n_rows, mean, n_rows * (deviations.T * share) @ deviations)

    def __add__(self, other: Answers) -> Answers:
        n_rows, gap = self.n_rows + other.n_rows, other.mean - self.mean
        between = np.outer(gap, gap) * (self.n_rows * other.n_rows / n_rows)
        return Answers(n_rows, self.mean + gap * (other.n_rows / n_rows), self.scatter + other.scatter + between)


@dataclass(frozen=True)
class Unlabelled:
    """What rows without labels tell; of several pieces, their sum by ``+``.

    Parameters
    ----------
    statistics : Statistics
        What the model would have learnt of rows that are all of one class.
    outside : dict of str to array
        By column, how many numbers lie out of the range of what was learnt, and how many are known.
    answers : Answers
    """

    statistics: Statistics
    outside: dict[str, IntArray]
    answers: Answers

    @classmethod
    def of(cls, model: NaiveBayes, before: Statistics, X: Any) -> Unlabelled:
        """What rows tell beside what a model has learnt, over all classes."""
        table = read_table(X)
        require_rows(table, to_learn=False)
        table, positions = model.schema_.matched(table)
        scorer, logs = model._estimated()
        return cls(
            _counted(model, table, positions),
            _numbers_outside(model.schema_, table, positions, before),
            Answers.of(model._posterior(table, positions, scorer, Decider(logs))),
        )

    def __add__(self, other: Unlabelled) -> Unlabelled:
        outside = {name: counts + other.outside[name] for name, counts in self.outside.items()}
        return Unlabelled(self.statistics + other.statistics, outside, self.answers + other.answers)


def _counted(model: NaiveBayes, table: Table, positions: IntArray | None) -> Statistics:
    """What a model would have learnt of rows that are all of one class."""
    schema = replace(model.schema_, summaries=tuple(tuple(map(with_squares, of)) for of in model.schema_.summaries))
    there = np.arange(len(schema.names)) if positions is None else positions
    numeric = [position for place, position in enumerate(there) if position >= 0 and schema.is_numeric(place)]
    held = table.held_within(np.array(numeric, dtype=np.int64), FARTHEST)
    target = Target(EVERYONE, np.zeros(table.n_rows, dtype=np.int64), None)
    return engine_of(held).count(held, schema, positions, target, thread_count(model.n_threads), 0)


def _numbers_outside(
    schema: Schema, table: Table, positions: IntArray | None, before: Statistics
) -> dict[str, IntArray]:
    """By column, how many numbers lie out of the range of what was learnt, and how many are known."""
    found = {}
    for learnt in before.tables.values():
        bounds = learnt.bounds()
        for name, (low, high) in () if bounds is None else zip(learnt.columns, bounds, strict=True):
            column = schema.names.index(name)
            position = np.array([column if positions is None else int(positions[column])])
            numbers = table.numbers(position, slice(0, table.n_rows))[:, 0]
            known = numbers[~np.isnan(numbers)]
            found[name] = np.array([np.count_nonzero((known < low) | (known > high)), len(known)])
    return found


def shares(model: NaiveBayes, before: Statistics, now: Unlabelled) -> dict[str, dict[str, float]]:
    """The shares of missing cells, of labels never learnt and of numbers out of range, by column."""
    nothing = {"missing_before": np.nan, "missing_now": np.nan, "unseen": np.nan, "outside": np.nan}
    found = {name: dict(nothing) for name in model.schema_.names}
    for one, when in ((before, "missing_before"), (now.statistics, "missing_now")):
        for statistic in one.tables.values():
            for place, name in enumerate(statistic.columns):
                observed = statistic.observed_weight(place)
                if observed is not None:
                    found[name][when] = max(0.0, 1.0 - float(observed[0]) / float(one.class_weight.high[0]))
    for summary, learnt in before.tables.items():
        statistic = now.statistics.table(with_squares(summary))
        for name in statistic.columns:
            found[name]["unseen"] = _unseen(learnt, statistic, name, found[name]["unseen"])
    for name, (n_outside, n_known) in now.outside.items():
        found[name]["outside"] = float(n_outside / n_known) if n_known else 0.0
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


# -- the mixture of classes -------------------------------------------------------------------------------------------


def mixture_record(model: NaiveBayes, before: Statistics, now: Answers) -> dict[str, Any]:
    """Whether the mean answer is that of the rows that were learnt, seen by models that had not learnt them.

    A model that keeps no rows does not know how it answers such rows. It is set beside its prior, which is the mean
    answer of a model that is calibrated, and not tested: most are not.
    """
    then = _answers_of_kept_rows(model)
    expected = model.class_prior_ if then is None else then.mean
    rows = float(before.class_weight.high[0]) if then is None else then.n_rows
    change = compare_cells(np.stack([expected * rows, now.mean * now.n_rows]))
    nothing = {"missing_before": np.nan, "missing_now": np.nan, "unseen": np.nan, "outside": np.nan}
    return {
        "column": MIXTURE,
        "bits": float(change.bits),
        "expected": float(change.expected),
        "p_value": np.nan if then is None else equal_means(then, now),
        **nothing,
    }


def _answers_of_kept_rows(model: NaiveBayes) -> Answers | None:
    """The answers for the rows that were kept, each left out, under the model's prior; None if there are not two."""
    known, log_prior = model._left_out_rows(), model._estimated()[1]
    if known is None or len(known.codes) < 2:
        return None
    scores = known.log_posterior + (log_prior - known.log_prior)
    return Answers.of(special.softmax(scores, axis=1), known.weights)


def equal_means(first: Answers, second: Answers) -> float:
    """The chance that the means of two samples differ as much, if they are samples of the same: Hotelling's test.

    Classes that have too small a share for the normal distribution to hold are taken together, or with the largest.
    """
    fewest, n_rows = min(first.n_rows, second.n_rows), first.n_rows + second.n_rows
    share = (first.mean * first.n_rows + second.mean * second.n_rows) / n_rows
    rare = share * fewest < LEAST_EXPECTED
    if share[rare].sum() * fewest < LEAST_EXPECTED:
        rare[share.argmax()] = True
    together = np.eye(len(share))[~rare]  # the rest follows, as shares sum to one
    if not len(together) or len(together) == len(share):
        together = together[1:]
    freedom, size = n_rows - 2, len(together)
    if size == 0 or freedom < size:
        return 1.0
    gap = together @ (second.mean - first.mean)
    spread = together @ (first.scatter + second.scatter) @ together.T / freedom
    inverse = np.linalg.pinv(spread, rcond=1e-9, hermitian=True)
    distance = float(gap @ inverse @ gap) / (1 / first.n_rows + 1 / second.n_rows)
    return float(special.fdtrc(size, freedom - size + 1, distance * (freedom - size + 1) / (freedom * size)))
