"""How sure a model can be of its probabilities, given how many rows it has seen: closed-form credible intervals.

The parameters have a posterior distribution given the counts: Dirichlet for the probabilities of labels, bins, classes
and shares; gamma for rates; normal-inverse-gamma for means and variances. Under it the evidence of a cell has a mean
and a variance in closed form: for a probability ``theta_a`` with ``c`` of ``n`` rows,

    ``E log theta = psi(c + a) - psi(n + A)``,    ``Var log theta = psi'(c + a) - psi'(n + A)``,

with the pseudo-counts a and their sum A as prior; for a normal cell at z standard deviations about ``z^2 / n`` for the
mean and ``(z^2 - 1)^2 / (2 n)`` for the variance. Classes have parameters of their own, so the log-odds of a class
against the rest, ``s_j - log sum_k exp(s_k)``, have the variance ``v_j + sum_k w_k^2 v_k``, w being the shares of the
other classes among themselves: the delta method, exact for two classes. A variance that classes or columns share enters
once, with the sum of what depends on it. The interval is normal for the log-odds, and the logistic function of its ends
for the probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from naively._model.schema import Schema
from naively._scoring.model import block_reader, chosen_columns, grouped, statistics_of
from naively._table.table import Table
from naively.errors import GapError, ParameterError
from naively.families import Family
from naively.families._uncertainty import Uncertain, log_gamma_moments
from naively.smoothing import Smoothing
from naively.statistics._statistics import Statistics
from naively.typing import FloatArray, IntArray


def credible_bounds(
    schema: Schema,
    families: Sequence[Family | None],
    smoothings: Sequence[Smoothing],
    statistics: Statistics,
    table: Table,
    positions: IntArray | None,
    prior: Uncertain,
    deviations: float,
) -> FloatArray:
    """The bounds (rows, classes, 2) of the probability of each class.

    Parameters
    ----------
    schema, families, smoothings, statistics
        The model.
    table, positions
        The rows.
    prior : Uncertain
        The log-prior, one row.
    deviations : float
        How many standard deviations the bounds are away from the mean.
    """
    parts = [prior]
    for family, smoothing, members in grouped(families, smoothings):
        chosen = chosen_columns(np.array(members, dtype=np.int64), positions, len(schema.names))
        tables = statistics_of(schema, family, members, statistics)
        parts.append(_uncertain(family, tables, smoothing, table, chosen))
    means = np.broadcast_to(sum(part.mean for part in parts), (table.n_rows, len(statistics.classes)))
    result = np.empty((*means.shape, 2))
    for code in range(means.shape[1]):
        log_odds, counts_for = against_the_rest(means, code)
        spread = deviations * np.sqrt(np.asarray(sum(part.variance(counts_for) for part in parts)))
        result[:, code, 0], result[:, code, 1] = logistic(log_odds - spread), logistic(log_odds + spread)
    return result


def against_the_rest(scores: FloatArray, code: int) -> tuple[FloatArray, FloatArray]:
    """The log-odds (rows,) of a class against the rest, and their derivatives by the scores (rows, classes)."""
    rivals = np.arange(scores.shape[1]) != code
    others, own = scores[:, rivals], scores[:, code]
    best = others.max(axis=1, initial=-np.inf)
    some = np.isfinite(best)  # otherwise no other class is possible
    shares = np.exp(others - np.where(some, best, 0.0)[:, None]) * some[:, None]
    total = shares.sum(axis=1)
    rest = np.where(some, best, 0.0) + np.log(np.where(some, total, 1.0))
    alone = np.where(np.isfinite(own), np.inf, 0.0)
    counts_for = np.empty_like(scores)
    counts_for[:, code] = 1.0
    counts_for[:, rivals] = -shares / np.where(some, total, 1.0)[:, None]
    return np.where(some, own - rest, alone), counts_for


def logistic(x: FloatArray) -> FloatArray:
    """From log-odds to probabilities."""
    from scipy.special import expit

    return np.asarray(expit(x))


def uncertain_prior(counts: FloatArray) -> Uncertain:
    """The log-prior of a Dirichlet posterior with these counts, pseudo-counts included; up to a constant."""
    logs, variance = log_gamma_moments(counts)
    return Uncertain(logs[None, :], lambda counts_for: counts_for**2 @ variance)


def certain(logs: FloatArray) -> Uncertain:
    """A log-prior that was given."""
    return Uncertain(np.atleast_2d(logs), lambda counts_for: np.zeros(len(counts_for)))


def _uncertain(family: Family, tables: Sequence[Any], smoothing: Smoothing, table: Table, chosen: Any) -> Uncertain:
    estimate = family.estimate(*tables, smoothing=smoothing)
    block = block_reader(estimate, table, chosen)(slice(0, table.n_rows))
    try:
        evidence: Uncertain = family.uncertain(estimate, tables, smoothing, block)
    except GapError as gap:
        raise ParameterError(
            f"credible_interval: {family!r} {gap.reason}. Use Gaussian(), StudentT() or Binned() for numbers, and "
            "Bernoulli() with a threshold for yes and no."
        ) from None
    return evidence
