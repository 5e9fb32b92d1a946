"""Which columns tell most of the class: scores of each column alone, from the statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special

from naively.additive.bins import equal_frequency, first_cells
from naively.discriminant import largest_weights, linear_factors
from naively.errors import ParameterError
from naively.evidence import Factor, statistics_of
from naively.families import Binned, Gaussian, StudentT
from naively.families.counts import Counts
from naively.families.gaussian import centred
from naively.families.histograms import Histograms
from naively.families.moments import Moments
from naively.frames import tidy_frame
from naively.histogram import Histogram
from naively.information import density_information, mutual_information, standardised_gap, table_freedom
from naively.schema import Schema
from naively.statistics import ColumnStatistics, Statistics
from naively.typing import FloatArray

BINS = 10
"""Numbers with a histogram are cut into at most so many bins of equal weight."""

LARGEST_RATE = 1e4
"""Poisson distributions of larger rates are taken for normal ones."""

LEAST_VARIANCE = 1e-9
"""Of a class, as a share of the column's: a class of equal values is no proof of anything."""


def ranked(by: str, schema: Schema, factors: Sequence[Factor], statistics: Statistics, like: Any = None) -> Any:
    """The columns with their scores, as a tidy frame, the largest first."""
    score = _SCORES.get(by) if isinstance(by, str) else None
    if score is None:
        raise ParameterError(f"by must be one of {', '.join(map(repr, _SCORES))}, got {by!r}.")
    fields = score(schema, factors, statistics)
    order = np.argsort(-fields["score"], kind="stable")
    data: dict[str, list[Any]] = {"column": [schema.names[place] for place in order]}
    data |= {name: values[order].tolist() for name, values in fields.items()}
    return tidy_frame(data, {"column": "U", **{name: values.dtype.kind for name, values in fields.items()}}, like)


# -- what is known of a column --------------------------------------------------------------------------------------


def _tables_of(schema: Schema, factor: Factor, statistics: Statistics) -> list[ColumnStatistics]:
    return statistics_of(schema, factor.family, factor.members.tolist(), statistics)


def cell_tables(factor: Factor, tables: Sequence[ColumnStatistics]) -> list[FloatArray] | None:
    """The counts (classes, cells) of each column that is, or can be cut into, a few cells; None for plain numbers."""
    found = next((table for table in tables if isinstance(table, (Counts, Histograms))), tables[0])
    if isinstance(found, Counts):
        return [found.table(place).high for place in range(len(found.columns))]
    if isinstance(found, Histograms):
        return [_binned(factor, histogram) for histogram in found.histograms]
    summary = factor.family.summaries[0]
    if found.square is not None or (found.observed is not None and summary.above is None):
        return None
    yes = found.total.high
    every = yes.sum(axis=1, keepdims=True) if found.observed is None else found.observed.high
    return list(np.stack([np.maximum(every - yes, 0.0), yes], axis=-1).swapaxes(0, 1))


def _binned(factor: Factor, histogram: Histogram) -> FloatArray:
    """The counts of bins: the family's own, or a few of about equal weight."""
    if isinstance(factor.family, Binned):
        return factor.family.bins_of(histogram)[1]
    if not len(histogram.keys):
        return np.zeros((histogram.n_classes, 1))
    bins = equal_frequency(histogram.counts, BINS)
    return np.asarray(np.add.reduceat(histogram.counts, first_cells(bins), axis=1))


def _moments_of(tables: Sequence[ColumnStatistics]) -> Moments:
    return next(table for table in tables if isinstance(table, Moments))


def _rates(moments: Moments) -> tuple[FloatArray, FloatArray]:
    """Weights and rates (classes, columns) of numbers of events."""
    assert moments.observed is not None
    weight = moments.observed.high
    return weight, moments.total.high / np.where(weight > 0, weight, 1.0)


# -- information ----------------------------------------------------------------------------------------------------


def _information(schema: Schema, factors: Sequence[Factor], statistics: Statistics) -> dict[str, FloatArray]:
    bits = np.zeros(len(schema.names))
    for factor in factors:
        tables = _tables_of(schema, factor, statistics)
        cells = cell_tables(factor, tables)
        if cells is not None:
            bits[factor.members] = [mutual_information(counts) for counts in cells]
        elif _moments_of(tables).square is None:
            bits[factor.members] = _poisson_information(*_rates(_moments_of(tables)))
        else:
            bits[factor.members] = _information_of_densities(factor, _moments_of(tables))
    return {"score": bits}


def _information_of_densities(factor: Factor, moments: Moments) -> FloatArray:
    """By integration of the estimated densities."""
    described = factor.estimate.describe()
    if "variance" in described:
        location, scale = described["mean"], np.sqrt(described["variance"])
        away = np.linspace(-9, 9, 73)
    else:
        location, scale = described["location"], described["scale"]
        away = np.sinh(np.linspace(-9, 9, 145))
    away = away[:: 1 + len(location) // 32]  # with many classes there are many edges anyway
    edges = (location[:, None, :] + scale[:, None, :] * away[:, None]).reshape(-1, location.shape[1])
    weight = centred(moments)[0]
    shares = weight / np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
    speaks = (scale > 0).all(axis=0)
    bits = density_information(factor.estimate.evidence, np.sort(edges, axis=0), shares)
    return np.where(speaks, bits, 0.0)


def _poisson_information(weight: FloatArray, rate: FloatArray) -> list[float]:
    return [_poisson_bits(weight[:, place], rate[:, place]) for place in range(rate.shape[1])]


def _poisson_bits(weight: FloatArray, rate: FloatArray) -> float:
    """Summed over the counts; from rates where that is many, over cells of normal distributions."""
    most = float(rate.max(initial=0.0))
    if most > LARGEST_RATE:
        deviation = np.sqrt(np.maximum(rate, 1.0))
        edges = np.unique(rate[:, None] + deviation[:, None] * np.linspace(-9, 9, 361))
        below = special.ndtr((edges - rate[:, None]) / deviation[:, None])
        return mutual_information(weight[:, None] * np.diff(below, axis=1))
    counts = np.arange(int(most + 10 * np.sqrt(most) + 20))
    logs = special.xlogy(counts, rate[:, None]) - rate[:, None] - special.gammaln(counts + 1.0)
    return mutual_information(weight[:, None] * np.exp(logs))


# -- likelihood ratio -----------------------------------------------------------------------------------------------


def _likelihood_ratio(schema: Schema, factors: Sequence[Factor], statistics: Statistics) -> dict[str, FloatArray]:
    gain, freedom = np.zeros(len(schema.names)), np.zeros(len(schema.names), dtype=np.int64)
    for factor in factors:
        tables = _tables_of(schema, factor, statistics)
        cells = cell_tables(factor, tables)
        if cells is not None:
            gain[factor.members] = [2 * np.log(2) * counts.sum() * mutual_information(counts) for counts in cells]
            freedom[factor.members] = [table_freedom(counts) for counts in cells]
        elif _moments_of(tables).square is None:
            gain[factor.members], freedom[factor.members] = _poisson_ratio(_moments_of(tables))
        else:
            gain[factor.members], freedom[factor.members] = _normal_ratio(factor, _moments_of(tables))
    p_value = np.where(freedom > 0, special.chdtrc(np.maximum(freedom, 1), gain), 1.0)
    return {"score": gain, "freedom": freedom, "p_value": p_value}


def _poisson_ratio(moments: Moments) -> tuple[FloatArray, Any]:
    weight, rate = _rates(moments)
    total = moments.total.high
    every = weight.sum(axis=0)
    overall = total.sum(axis=0) / np.where(every > 0, every, 1.0)
    gain = 2 * (special.xlogy(total, rate).sum(axis=0) - special.xlogy(total.sum(axis=0), overall))
    return np.maximum(gain, 0.0), np.where(overall > 0, np.maximum((weight > 0).sum(axis=0) - 1, 0), 0)


def _normal_ratio(factor: Factor, moments: Moments) -> tuple[FloatArray, Any]:
    """Of normal distributions: equal means, and equal variances unless the family shares them anyway.

    A class with its own variance must weigh more than a single row to have one; others are left out.
    """
    weight, mean, scatter = centred(moments)
    shared = _shares_variance(factor.family)
    weight = np.where(weight > (0 if shared else 1), weight, 0.0)
    scatter = np.where(weight > 0, scatter, 0.0)
    total = weight.sum(axis=0)
    some = np.where(total > 0, total, 1.0)
    centre = (weight * mean).sum(axis=0) / some
    overall = (scatter + weight * np.square(mean - centre)).sum(axis=0) / some
    own = scatter.sum(axis=0) / some if shared else scatter / np.where(weight > 0, weight, 1.0)
    own = np.maximum(own, LEAST_VARIANCE * overall)
    varies = (overall > 0) & (weight > 0)
    gain = (weight * np.log(np.where(varies, overall, 1.0) / np.where(varies, own, 1.0))).sum(axis=0)
    freedom = np.maximum((weight > 0).sum(axis=0) - 1, 0) * (1 if shared else 2)
    return np.maximum(gain, 0.0), np.where(overall > 0, freedom, 0)


def _shares_variance(family: Any) -> bool:
    tied = isinstance(family, Gaussian) and family.ties in ("feature", "all")
    return tied or (isinstance(family, StudentT) and family.pooled)


# -- effect and weight ----------------------------------------------------------------------------------------------


def _effect(schema: Schema, factors: Sequence[Factor], statistics: Statistics) -> dict[str, FloatArray]:
    effect = np.zeros(len(schema.names))
    for factor in factors:
        tables = _tables_of(schema, factor, statistics)
        moments = next((table for table in tables if isinstance(table, Moments)), None)
        histograms = next((table for table in tables if isinstance(table, Histograms)), None)
        if moments is not None and moments.square is not None:
            effect[factor.members] = standardised_gap(*centred(moments))
        elif histograms is not None:
            effect[factor.members] = [_histogram_effect(one) for one in histograms.histograms]
        elif (cells := cell_tables(factor, tables)) is not None:
            effect[factor.members] = [_largest_effect(counts) for counts in cells]
        else:
            weight, rate = _rates(_moments_of(tables))
            effect[factor.members] = standardised_gap(weight, rate, weight * rate)
    return {"score": effect}


def _histogram_effect(histogram: Histogram) -> float:
    counts, values = histogram.counts, histogram.values()
    weight = counts.sum(axis=1)
    mean = (counts @ values) / np.where(weight > 0, weight, 1.0)
    scatter = (counts * np.square(values - mean[:, None])).sum(axis=1)
    return float(standardised_gap(weight, mean, scatter))


def _largest_effect(counts: FloatArray) -> float:
    """The largest effect of a value, as a number that is 1 for it and 0 for the others."""
    weight = np.broadcast_to(counts.sum(axis=1, keepdims=True), counts.shape)
    share = counts / np.where(weight > 0, weight, 1.0)
    return float(standardised_gap(weight, share, weight * share * (1 - share)).max(initial=0.0))


def _weight(schema: Schema, factors: Sequence[Factor], statistics: Statistics) -> dict[str, FloatArray]:  # noqa: ARG001
    return {"score": largest_weights(linear_factors(factors, schema.names, 0), len(schema.names))}


_SCORES: dict[str, Callable[[Schema, Sequence[Factor], Statistics], dict[str, Any]]] = {
    "information": _information,
    "likelihood_ratio": _likelihood_ratio,
    "effect": _effect,
    "weight": _weight,
}
