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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively.errors import ParameterError
from naively.families import Bernoulli, Binned, Categorical, Family, Gaussian, Multinomial, Poisson, StudentT
from naively.families.categorical import Codebook
from naively.families.poisson import pseudo_rows_of
from naively.kernels import reference
from naively.schema import Schema
from naively.scoring.model import block_reader, chosen_columns, grouped, statistics_of
from naively.smoothing import Smoothing
from naively.statistics.counts import Counts
from naively.statistics.histogram import Histograms
from naively.statistics.moments import Moments, centred
from naively.statistics.statistics import Statistics
from naively.table.table import Table
from naively.typing import FloatArray, IntArray

LARGEST_DISTANCE = 1e60
"""Cells are held within so many standard deviations, so that fourth powers stay finite."""

Variance = Callable[[FloatArray], FloatArray]
"""From what each class's evidence counts for, (rows, classes), to the variance (rows,) of the sum."""


@dataclass(frozen=True)
class Uncertain:
    """Evidence that is not known for certain.

    Parameters
    ----------
    mean : ndarray of shape (rows, classes)
    variance : Variance
        Of a weighted sum over the classes.
    """

    mean: FloatArray
    variance: Variance


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
        log_odds, counts_for = _against_the_rest(means, code)
        spread = deviations * np.sqrt(np.asarray(sum(part.variance(counts_for) for part in parts)))
        result[:, code, 0], result[:, code, 1] = _logistic(log_odds - spread), _logistic(log_odds + spread)
    return result


def _against_the_rest(scores: FloatArray, code: int) -> tuple[FloatArray, FloatArray]:
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


def _logistic(x: FloatArray) -> FloatArray:
    from scipy.special import expit

    return np.asarray(expit(x))


def uncertain_prior(counts: FloatArray) -> Uncertain:
    """The log-prior of a Dirichlet posterior with these counts, pseudo-counts included; up to a constant."""
    logs, variance = _log_gamma_moments(counts)
    return Uncertain(logs[None, :], lambda counts_for: counts_for**2 @ variance)


def certain(logs: FloatArray) -> Uncertain:
    """A log-prior that was given."""
    return Uncertain(np.atleast_2d(logs), lambda counts_for: np.zeros(len(counts_for)))


# -- Families -----------------------------------------------------------------------------------------------------


def _uncertain(family: Family, tables: Sequence[Any], smoothing: Smoothing, table: Table, chosen: Any) -> Uncertain:
    estimate = family.estimate(*tables, smoothing=smoothing)
    block = block_reader(estimate, table, chosen)(slice(0, table.n_rows))
    if isinstance(family, (Gaussian, StudentT)):
        return _normal(family, estimate, tables[0], block)
    if isinstance(family, Poisson):
        return _independent(*_rate(tables[0], pseudo_rows_of(smoothing), block))
    if isinstance(family, Multinomial):
        return _independent(*_shares(tables[0], smoothing, block))
    if isinstance(family, Bernoulli) and family.threshold is not None:
        return _independent(*_yes(family, tables[0], smoothing, block))
    if isinstance(family, Categorical):
        return _independent(*_values(family, tables[0], smoothing, estimate.codebook, block))  # type: ignore[attr-defined]
    if isinstance(family, Binned):
        return _independent(*_bins(family, tables[0], smoothing, block))
    raise ParameterError(
        f"credible_interval: {family!r} has no posterior distribution in closed form. Use Gaussian(), StudentT() or "
        "Binned() for numbers, and Bernoulli() with a threshold for yes and no."
    )


def _independent(mean: FloatArray, variance: FloatArray) -> Uncertain:
    """Evidence (rows, classes) whose classes have nothing in common."""
    return Uncertain(mean, lambda counts_for: (counts_for**2 * variance).sum(axis=1))


def _log_gamma_moments(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the logarithm of a gamma variable; what never occurs is impossible, for certain."""
    from scipy.special import digamma, polygamma

    never = counts <= 0
    safe = np.where(never, 1.0, counts)
    return np.where(never, -np.inf, digamma(safe)), np.where(never, 0.0, polygamma(1, safe))


def _dirichlet(counts: FloatArray, smoothing: Smoothing, labels: Sequence[Any]) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the log-probability of every value, (classes, values)."""
    posterior = counts + smoothing.pseudo_counts(counts, labels)
    logs, variance = _log_gamma_moments(posterior)
    of_all, variance_of_all = _log_gamma_moments(posterior.sum(axis=-1, keepdims=True))
    unknown = np.isneginf(of_all)  # a class without rows or pseudo-counts says nothing
    return np.where(unknown, 0.0, logs - np.where(unknown, 0.0, of_all)), np.where(
        unknown, 0.0, np.maximum(variance - variance_of_all, 0.0)
    )


def _looked_up(
    counts: Sequence[FloatArray], labels: Sequence[Sequence[Any]], smoothing: Smoothing, places: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance (rows, classes) of the evidence of cells that are places of values; negative: silent."""
    n_classes = len(counts[0])
    mean, variance = np.zeros((len(places), n_classes)), np.zeros((len(places), n_classes))
    for column, table in enumerate(counts):
        known = np.flatnonzero(places[:, column] >= 0)
        if not len(known):
            continue
        logs, spread = _dirichlet(table, smoothing, labels[column])
        mean[known] += logs[:, places[known, column]].T
        variance[known] += spread[:, places[known, column]].T
    return mean, variance


def _values(
    family: Categorical, counts: Counts, smoothing: Smoothing, book: Codebook, block: IntArray
) -> tuple[FloatArray, FloatArray]:
    counts = family.with_known(counts)
    places = book.places[reference.looked_up_cells(block, book.low, book.size, book.offset)]
    tables = [counts.table(place).high for place in range(len(counts.columns))]
    return _looked_up(tables, counts.categories, smoothing, places)


def _bins(
    family: Binned, histograms: Histograms, smoothing: Smoothing, block: FloatArray
) -> tuple[FloatArray, FloatArray]:
    columns = [family.bins_of(histogram) for histogram in histograms.histograms]
    places = [
        np.where(np.isnan(cells), -1, np.searchsorted(cuts, cells, side="right"))
        for cells, (_, _, cuts) in zip(block.T, columns, strict=True)
    ]
    counts = [counted for _, counted, _ in columns]
    return _looked_up(counts, [range(table.shape[1]) for table in counts], smoothing, np.stack(places, axis=1))


def _yes(family: Bernoulli, moments: Moments, smoothing: Smoothing, block: FloatArray) -> tuple[FloatArray, FloatArray]:
    assert moments.observed is not None
    no, yes = (moments.observed - moments.total).high, moments.total.high
    counts = [np.stack([no[:, place], yes[:, place]], axis=1) for place in range(no.shape[1])]
    assert family.threshold is not None
    places = np.where(np.isnan(block), -1, block > family.threshold).astype(np.int64)
    return _looked_up(counts, [[False, True]] * len(counts), smoothing, places)


def _rate(moments: Moments, pseudo_rows: float, block: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``x log rate - rate`` under a gamma posterior; what all classes share is left out."""
    assert moments.observed is not None
    weight, total = moments.observed.high, moments.total.high
    everything = weight.sum(axis=0)
    overall = total.sum(axis=0) / np.where(everything > 0, everything, 1.0)
    shape, rows = total + pseudo_rows * overall, weight + pseudo_rows
    known = (~np.isnan(block))[:, None, :] & ((rows > 0) & (overall > 0))[None]
    x, rows = np.where(np.isnan(block), 0.0, block)[:, None, :], np.where(rows > 0, rows, 1.0)
    logs, spread = _log_gamma_moments(shape)
    with np.errstate(invalid="ignore"):
        mean = np.where(x > 0, x * (logs - np.log(rows)), 0.0) - shape / rows
    variance = x**2 * spread + shape / rows**2 - 2 * x / rows * (shape > 0)
    return np.where(known, mean, 0.0).sum(axis=2), np.where(known, np.maximum(variance, 0.0), 0.0).sum(axis=2)


def _shares(moments: Moments, smoothing: Smoothing, block: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``sum of x log share``: the shares of a class have one total in common."""
    counts = moments.total.high
    posterior = counts + smoothing.pseudo_counts(counts, moments.columns)
    x = np.where(np.isnan(block), 0.0, block)
    logs, spread = _log_gamma_moments(posterior)
    of_all, spread_of_all = _log_gamma_moments(posterior.sum(axis=1))
    length = x.sum(axis=1, keepdims=True)
    impossible = (x > 0).astype(np.float64) @ np.isneginf(logs).T.astype(np.float64) > 0
    mean = x @ np.where(np.isneginf(logs), 0.0, logs).T - length * np.where(np.isneginf(of_all), 0.0, of_all)
    variance = x**2 @ spread.T - length**2 * spread_of_all
    silent = np.isneginf(of_all)[None, :]
    mean = np.where(silent, 0.0, np.where(impossible, -np.inf, mean))
    return mean, np.where(silent | impossible, 0.0, np.maximum(variance, 0.0))


# -- Normal columns -----------------------------------------------------------------------------------------------


def _normal(family: Gaussian | StudentT, estimate: Any, moments: Moments, block: FloatArray) -> Uncertain:
    """Log-densities under a normal-inverse-gamma posterior of means and (shared) variances.

    With precision t (gamma, `freedom` / 2) and mean m (normal, variance 1 / (t rows)) the log-density of a cell at the
    distance d from the estimated mean is ``log(t) / 2 - t d^2 / 2`` and what the uncertain mean adds to it. The first
    part is summed over all cells that share t before its variance is taken.
    """
    from scipy.special import digamma, polygamma

    mean, variance, rows, freedom, axes = _normal_posterior(family, estimate, moments)
    speaks = (variance > 0).all(axis=0)
    safe = np.where(speaks, variance, 1.0)
    known = (~np.isnan(block) & speaks)[:, None, :]
    distance = np.where(known, np.where(np.isnan(block), 0.0, block)[:, None, :] - mean, 0.0)
    squared = np.square(np.clip(distance / np.sqrt(safe), -LARGEST_DISTANCE, LARGEST_DISTANCE))
    log_precision = digamma(freedom / 2) - np.log(freedom / 2)  # above that of the estimate
    centre = 0.5 * (log_precision - np.log(safe)) - 0.5 * (squared + 1.0 / rows)
    of_mean = np.where(known, squared / rows + 0.5 / rows**2, 0.0).sum(axis=2)
    of_log, of_both, of_precision = 0.25 * polygamma(1, freedom / 2), 1.0 / freedom, 0.5 / freedom

    def shared_variance(counts_for: FloatArray) -> FloatArray:
        weights = counts_for[:, :, None]
        a, b = (weights * known).sum(axis=axes, keepdims=True), (weights * squared).sum(axis=axes, keepdims=True)
        parts = a**2 * _first(of_log, axes) - a * b * _first(of_both, axes) + b**2 * _first(of_precision, axes)
        return np.asarray(np.maximum(parts, 0.0).sum(axis=(1, 2)) + (counts_for**2 * of_mean).sum(axis=1))

    return Uncertain(np.where(known, centre, 0.0).sum(axis=2), shared_variance)


def _first(values: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    """What cells that share a variance have in common, once: along these axes of (rows, classes, columns)."""
    for axis in axes:
        values = np.take(values, [0], axis=axis - 1)
    return values[None]


def _normal_posterior(
    family: Gaussian | StudentT, estimate: Any, moments: Moments
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, tuple[int, ...]]:
    """Mean, variance, rows behind the mean, degrees of freedom (each classes, columns) and the axes that are shared."""
    weight, _, _ = centred(moments)
    if isinstance(family, StudentT):
        rows = weight + family.prior_rows
        return (
            estimate.location,
            estimate.variance * rows / (rows + 1),
            rows,
            np.asarray(estimate.freedom),
            (1,) if family.pooled else (),
        )
    shared: dict[str, tuple[int, ...]] = {"none": (), "feature": (1,), "class": (2,), "all": (1, 2)}
    axes = shared[family.ties]
    freedom = np.maximum(weight - 1, 0.0)
    if axes:
        along = tuple(axis - 1 for axis in axes)
        freedom = np.broadcast_to(freedom.sum(axis=along, keepdims=True), weight.shape)
    return estimate.mean, estimate.variance, np.maximum(weight, 1.0), np.maximum(freedom, 1.0), axes
