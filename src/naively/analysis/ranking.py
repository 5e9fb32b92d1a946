"""Which columns tell most of the class: scores of each column alone, from the statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from naively.analysis.discriminant import largest_weights, linear_factors
from naively.analysis.information import density_information, mutual_information, standardised_gap, table_freedom
from naively.errors import ParameterError
from naively.families import Binned, Family, Gaussian, StudentT
from naively.families.bins import equal_frequency, first_cells
from naively.schema import Schema
from naively.scoring.model import Factor, grouped, statistics_of
from naively.smoothing import NoSmoothing, Smoothing
from naively.statistics.counts import Counts
from naively.statistics.histogram import Histogram, Histograms
from naively.statistics.joint import JointSums
from naively.statistics.moments import Moments, centred
from naively.statistics.statistics import ColumnStatistics, Statistics
from naively.statistics.tokens import Tokens
from naively.table.frames import tidy_frame
from naively.typing import AnyArray, FloatArray

BINS = 10
"""Numbers with a histogram are cut into at most so many bins of equal weight."""

LARGEST_RATE = 1e4
"""Poisson distributions of larger rates are taken for normal ones."""

LEAST_VARIANCE = 1e-9
"""Of a class, as a share of the column's: a class of equal values is no proof of anything."""


class Group(NamedTuple):
    """Columns of one family, and what is known of them."""

    family: Family
    members: list[int]
    tables: list[ColumnStatistics]


def scores_of_columns(
    by: str,
    schema: Schema,
    families: Sequence[Family | None],
    smoothings: Sequence[Smoothing],
    statistics: Statistics,
) -> dict[str, AnyArray]:
    """The score of every column, and what comes with it, in the order of the schema; 0 where nothing is known."""
    result: dict[str, AnyArray] = {}
    for family, _, members in grouped(families, smoothings):
        group = Group(family, members, statistics_of(schema, family, members, statistics))
        for field, values in SCORES[by](group).items():
            unread = np.full(len(schema.names), 1 if field == "p_value" else 0, dtype=np.asarray(values).dtype)
            result.setdefault(field, unread)[members] = values
    return result


def scores_by_weight(factors: Sequence[Factor], names: Sequence[str]) -> dict[str, AnyArray]:
    """The largest absolute weight of every column in a linear discriminant."""
    return {"score": largest_weights(linear_factors(factors, names, 0), len(names))}


def ranked(names: Sequence[str], fields: dict[str, AnyArray], like: Any = None) -> Any:
    """Scores as a tidy frame, the largest first."""
    order = np.argsort(-fields["score"], kind="stable")
    data: dict[str, list[Any]] = {"column": [names[place] for place in order]}
    data |= {field: values[order].tolist() for field, values in fields.items()}
    return tidy_frame(data, {"column": "U", **{field: values.dtype.kind for field, values in fields.items()}}, like)


# -- what is known of a column --------------------------------------------------------------------------------------


def cell_tables(group: Group) -> list[FloatArray] | None:
    """The counts (classes, cells) of each column that is, or can be cut into, a few cells; None for plain numbers."""
    found = next((table for table in group.tables if isinstance(table, (Counts, Histograms))), group.tables[0])
    if isinstance(found, Tokens):
        return [table.dense(table.mass.high).T for table in found.tables]  # one token drawn from the text
    if isinstance(found, JointSums):
        raise ParameterError(
            f"rank_features ranks columns that stand alone, but {group.family.name()!r} reads several together. Rank "
            "them in a model without factors."
        )
    if isinstance(found, Counts):
        return [found.table(place).high for place in range(len(found.columns))]
    if isinstance(found, Histograms):
        return [_binned(group.family, histogram) for histogram in found.histograms]
    if found.square is not None or (found.observed is not None and group.family.summaries[0].above is None):
        return None
    yes = found.total.high
    every = yes.sum(axis=1, keepdims=True) if found.observed is None else found.observed.high
    return list(np.stack([np.maximum(every - yes, 0.0), yes], axis=-1).swapaxes(0, 1))


def _binned(family: Family, histogram: Histogram) -> FloatArray:
    """The counts of bins: the family's own, or a few of about equal weight."""
    if isinstance(family, Binned):
        return family.bins_of(histogram)[1]
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


def _information(group: Group) -> dict[str, Any]:
    cells = cell_tables(group)
    if cells is not None:
        return {"score": [mutual_information(counts) for counts in cells]}
    moments = _moments_of(group.tables)
    return {"score": _poisson_information(*_rates(moments)) if moments.square is None else _densities(group)}


def _densities(group: Group) -> FloatArray:
    """The information of estimated densities, by integration."""
    estimate = group.family.estimate(*group.tables, smoothing=NoSmoothing())
    described = estimate.describe()
    if "variance" in described:
        location, scale = described["mean"], np.sqrt(described["variance"])
        away = np.linspace(-9, 9, 73)
    else:
        location, scale = described["location"], described["scale"]
        away = np.sinh(np.linspace(-9, 9, 145))
    away = away[:: 1 + len(location) // 32]  # with many classes there are many edges anyway
    edges = (location[:, None, :] + scale[:, None, :] * away[:, None]).reshape(-1, location.shape[1])
    weight = centred(_moments_of(group.tables))[0]
    shares = weight / np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
    speaks = (scale > 0).all(axis=0)
    bits = density_information(estimate.evidence, np.sort(edges, axis=0), shares)
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


def _likelihood_ratio(group: Group) -> dict[str, Any]:
    cells = cell_tables(group)
    if cells is not None:
        gain = np.array([2 * np.log(2) * counts.sum() * mutual_information(counts) for counts in cells])
        freedom = np.array([table_freedom(counts) for counts in cells])
    elif _moments_of(group.tables).square is None:
        gain, freedom = _poisson_ratio(_moments_of(group.tables))
    else:
        gain, freedom = _normal_ratio(group.family, _moments_of(group.tables))
    p_value = np.where(freedom > 0, special.chdtrc(np.maximum(freedom, 1), gain), 1.0)
    return {"score": gain, "freedom": freedom, "p_value": p_value}


def _poisson_ratio(moments: Moments) -> tuple[FloatArray, Any]:
    weight, rate = _rates(moments)
    total = moments.total.high
    every = weight.sum(axis=0)
    overall = total.sum(axis=0) / np.where(every > 0, every, 1.0)
    gain = 2 * (special.xlogy(total, rate).sum(axis=0) - special.xlogy(total.sum(axis=0), overall))
    return np.maximum(gain, 0.0), np.where(overall > 0, np.maximum((weight > 0).sum(axis=0) - 1, 0), 0)


def _normal_ratio(family: Family, moments: Moments) -> tuple[FloatArray, Any]:
    """Of normal distributions: equal means, and equal variances unless the family shares them anyway.

    A class with its own variance must weigh more than a single row to have one; others are left out.
    """
    weight, mean, scatter = centred(moments)
    shared = _shares_variance(family)
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


def _shares_variance(family: Family) -> bool:
    tied = isinstance(family, Gaussian) and family.ties in ("feature", "all")
    return tied or (isinstance(family, StudentT) and family.pooled)


# -- effect ---------------------------------------------------------------------------------------------------------


def _effect(group: Group) -> dict[str, Any]:
    moments = next((table for table in group.tables if isinstance(table, Moments)), None)
    histograms = next((table for table in group.tables if isinstance(table, Histograms)), None)
    if moments is not None and moments.square is not None:
        return {"score": standardised_gap(*centred(moments))}
    if histograms is not None:
        return {"score": [_histogram_effect(one) for one in histograms.histograms]}
    cells = cell_tables(group)
    if cells is not None:
        return {"score": [_largest_effect(counts) for counts in cells]}
    weight, rate = _rates(_moments_of(group.tables))
    return {"score": standardised_gap(weight, rate, weight * rate)}


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


SCORES: dict[str, Callable[[Group], dict[str, Any]]] = {
    "information": _information,
    "likelihood_ratio": _likelihood_ratio,
    "effect": _effect,
}
"""What columns are ranked by, from statistics alone."""
