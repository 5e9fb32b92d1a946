"""Leave-one-out in closed form: what a model says of a row that it has learnt, as if it had not.

A model is a sum, so taking a row away is a subtraction: the row's class loses its weight, and each column what the row
gave to it. An estimate is a pure function of the sum, so the same function of the smaller sum is the answer. No model is
fitted again: every family does it for a block of rows at once (`leave_one_out` in its file), in the time of a
prediction. What a family chooses without the class (cuts, bandwidths, the shares of a mixture) it does not choose again
for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from naively.decision import class_prior, log_prior
from naively.engines.threads import in_order
from naively.errors import ForgetError, ParameterError
from naively.evidence import block_reader, chosen_columns, grouped, statistics_of
from naively.families import Family
from naively.families.counts import Counts
from naively.schema import Schema
from naively.smoothing import Smoothing, as_smoothing, smoothed_frequencies
from naively.statistics import Statistics
from naively.sums import Sum
from naively.table import Table
from naively.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

BLOCK_CELLS = 1 << 16
"""How many cells, times classes, are read at once."""


def joint_log_probabilities(
    schema: Schema,
    families: Sequence[Family | None],
    smoothings: Sequence[Smoothing],
    statistics: Statistics,
    table: Table,
    positions: IntArray | None,
    codes: IntArray,
    weights: FloatArray | None,
    prior: Any = "estimated",
    prior_smoothing: Smoothing | None = None,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """The log-likelihood of learnt rows and their log-prior, (rows, classes) each, by the model without that row.

    Parameters
    ----------
    schema, families, smoothings, statistics
        The model.
    table, positions
        The rows, and where the schema's columns stand in them.
    codes, weights
        The classes of the rows, and what they weighed when they were learnt.
    prior, prior_smoothing
        As in `decision.class_prior`.
    n_threads : int
    """
    weighing = np.ones(table.n_rows) if weights is None else weights
    before = left_out_prior(statistics, codes, weighing, prior, prior_smoothing)
    readers = []
    for family, smoothing, members in grouped(families, smoothings):
        if not hasattr(family, "leave_one_out"):
            raise ParameterError(f"The family {family.name()!r} has no leave-one-out in closed form.")
        left_out = family.leave_one_out(*statistics_of(schema, family, members, statistics), smoothing=smoothing)
        chosen = chosen_columns(np.array(members, dtype=np.int64), positions, len(schema.names))
        readers.append((left_out, block_reader(left_out, table, chosen)))
    scores = np.zeros((table.n_rows, len(statistics.classes)))

    def score(rows: slice) -> None:
        for left_out, read in readers:
            scores[rows] += left_out.evidence(read(rows), codes[rows], weighing[rows]).sum(axis=1)

    step = max(16, BLOCK_CELLS // max(len(schema.names) * len(statistics.classes), 1))
    for _ in in_order(score, [slice(at, min(at + step, table.n_rows)) for at in range(0, table.n_rows, step)], n_threads):
        pass
    return scores, before


def left_out_prior(
    statistics: Statistics, codes: IntArray, weights: FloatArray, prior: Any, smoothing: Smoothing | None
) -> FloatArray:
    """The log-prior (rows, classes) without the row itself; a prior that is given stays as it is."""
    weight = statistics.class_weight
    left = (weight[codes] - Sum(weights)).without_noise(weight.high[codes]).high
    if (left < 0).any():
        label = statistics.classes[codes[int(np.argmin(left))]]
        raise ForgetError(
            f"A row of class {label!r} weighs more than all that was learnt of the class. Give only rows that the model "
            "has learnt, with the same weights."
        )
    rule = as_smoothing("none") if smoothing is None else smoothing
    if not (prior is None or (isinstance(prior, str) and prior == "estimated")):
        given = class_prior(prior, rule, statistics.classes, weight.high)
        return np.broadcast_to(log_prior(given), (len(codes), len(statistics.classes)))
    counts = np.repeat(weight.high[None, :], len(codes), axis=0)
    counts[np.arange(len(codes)), codes] = left
    return log_prior(smoothed_frequencies(counts[None], rule, statistics.classes.tolist())[0])


def codes_among(known: AnyArray, classes: AnyArray, codes: IntArray) -> IntArray:
    """The rows' classes as positions among those that the model knows."""
    place = {label: position for position, label in enumerate(known.tolist())}
    unknown = [label for label in classes.tolist() if label not in place]
    if unknown:
        raise ForgetError(f"The class {unknown[0]!r} was never learnt, so no row of it can be left out.")
    return np.array([place[label] for label in classes.tolist()], dtype=np.int64)[codes]


# -- From counts alone --------------------------------------------------------------------------------------------


def leave_one_out_log_likelihood(counts: FloatArray, pseudo_counts: FloatArray | float) -> float:
    """The log-likelihood of counted values, each under the frequencies without it.

    ``sum of c log((c - 1 + a) / (n - 1 + A))``: leave-one-out needs no rows where a column is a table of counts.

    Parameters
    ----------
    counts : ndarray of shape (..., n_values)
        How often each value occurred, usually (n_classes, n_values).
    pseudo_counts : ndarray or float
        What smoothing adds to each count.

    Returns
    -------
    float
        Minus infinity if a value that occurred once has no pseudo-count.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[3.0, 1.0], [0.0, 4.0]])
    >>> [round(leave_one_out_log_likelihood(counts, tau), 3) for tau in (0.1, 1.0, 10.0)]
    [-3.832, -3.72, -4.941]
    """
    counts = np.asarray(counts, dtype=np.float64)
    alpha = np.broadcast_to(np.asarray(pseudo_counts, dtype=np.float64), counts.shape)
    left = np.maximum(counts - 1, 0.0) + alpha
    total = np.maximum(counts.sum(axis=-1, keepdims=True) - 1, 0.0) + alpha.sum(axis=-1, keepdims=True)
    seen = counts > 0
    impossible = seen & (left == 0)
    if impossible.any():
        return -np.inf
    logs = np.log(np.where(seen, left, 1.0)) - np.log(np.where(seen, total, 1.0))
    return float((counts * logs).sum())


def choose_smoothing(model: NaiveBayes, candidates: Iterable[Any]) -> Any:
    """The candidate that makes the left-out values of the categorical columns most probable; it needs no rows.

    Parameters
    ----------
    model : NaiveBayes
        Fitted, with at least one categorical column.
    candidates : iterable
        Whatever the parameter `smoothing` takes: numbers, names, objects.

    Returns
    -------
    One of the candidates, the first of equals; ``model.set_params(smoothing=...)`` puts it in force.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> colours, y = ["red", "red", "red", "blue", "blue", "blue"], ["a", "a", "a", "b", "b", "b"]
    >>> model = NaiveBayes("textbook").fit({"colour": colours}, y)
    >>> choose_smoothing(model, [0.01, 1.0, 10.0])
    0.01
    """
    model._require_fitted()
    tables = [table for table in model.statistics_.tables.values() if isinstance(table, Counts) and table.columns]
    options = list(candidates)
    if not tables or not options:
        raise ParameterError("choose_smoothing needs a model with a categorical column, and at least one candidate.")

    def gain(rule: Smoothing) -> float:
        return sum(
            leave_one_out_log_likelihood(counts, rule.pseudo_counts(counts, labels))
            for table in tables
            for place, labels in enumerate(table.categories)
            if (counts := table.table(place).high).size
        )

    gains = [gain(as_smoothing(option, "candidates")) for option in options]
    return options[int(np.argmax(gains))]
