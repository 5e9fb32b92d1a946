"""How much columns tell of the class: what every family answers unless it knows better."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from naively.errors import GapError
from naively.smoothing import NoSmoothing
from naively.statistics._independence import independence_test
from naively.statistics._information import (
    density_information,
    density_moments,
    information_by_chance,
    mutual_information,
    standardised_gap,
    table_freedom,
)
from naively.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from naively.families.base import Family


def information(family: Family, tables: Sequence[Any]) -> FloatArray:
    """The bits that each column has on the class: of counted cells, or of densities by integration."""
    cells = family.cells(*tables)
    if cells is not None:
        return np.array([mutual_information(counts) for counts in cells])
    estimate = family.estimate(*tables, smoothing=NoSmoothing())
    weight = known_weight(tables)
    shares = weight / np.where(weight.sum(axis=0) > 0, weight.sum(axis=0), 1.0)
    edges = estimate.edges()
    varies = edges[0] < edges[-1]
    return np.where(varies, density_information(estimate.evidence, edges, shares), 0.0)


def by_chance(family: Family, tables: Sequence[Any]) -> FloatArray:
    """The bits that `information` shows on average of columns that tell nothing of the class.

    A density that does not say how many parameters it has is taken to have one for each class.
    """
    cells = family.cells(*tables)
    if cells is not None:
        return np.array([information_by_chance(counts) for counts in cells])
    weight = known_weight(tables)
    rows = weight.sum(axis=0)
    try:
        _, freedom = family.likelihood_ratio(*tables)
    except GapError:
        freedom = np.maximum((weight > 0).sum(axis=0) - 1, 0)
    return np.asarray(np.where(rows > 0, freedom / (2 * np.log(2) * np.where(rows > 0, rows, 1.0)), 0.0))


def likelihood_ratio(family: Family, tables: Sequence[Any]) -> tuple[FloatArray, IntArray]:
    """Twice the gain of log-likelihood over the same parameters for all classes, and its degrees of freedom."""
    cells = family.cells(*tables)
    if cells is not None:
        gain = np.array([2 * np.log(2) * counts.sum() * mutual_information(counts) for counts in cells])
        return gain, np.array([table_freedom(counts) for counts in cells])
    weight = known_weight(tables)
    n_classes, n_columns = weight.shape
    own = family.estimate(*tables, smoothing=NoSmoothing())
    of_all = over_classes(tables, n_classes)
    shared = family.estimate(*of_all, smoothing=NoSmoothing())
    gain = 2 * (own.log_likelihood(*tables) - shared.log_likelihood(*of_all))
    of_class = family.n_parameters(shared, 1, n_columns).numbers.free / max(n_columns, 1)
    freedom = np.maximum((weight > 0).sum(axis=0) - 1, 0) * round(of_class)
    return np.maximum(gain, 0.0), freedom


def effect(family: Family, tables: Sequence[Any]) -> FloatArray:
    """How far the extreme class means are apart, in standard deviations within the classes."""
    cells = family.cells(*tables)
    if cells is not None:
        return np.array([largest_effect(counts) for counts in cells])
    weight = known_weight(tables)
    estimate = family.estimate(*tables, smoothing=NoSmoothing())
    mean, variance = density_moments(estimate.evidence, estimate.edges(), len(weight))
    return standardised_gap(weight, mean, weight * variance)


def known_weight(tables: Sequence[Any]) -> FloatArray:
    """The weight of the known cells of each column in each class, (classes, columns)."""
    for table in tables:
        if getattr(table, "observed", None) is not None:
            return np.asarray(table.observed.high)
        if hasattr(table, "histograms"):
            counts = [histogram.counts.sum(axis=1) for histogram in table.histograms]
            return np.stack(counts, axis=1) if counts else np.zeros((table.n_classes, 0))
    raise GapError("The statistics do not tell how many cells are known.", "does not count the known cells")


def over_classes(tables: Sequence[Any], n_classes: int) -> list[Any]:
    """The statistics of all classes together, as those of a single class."""
    classes = np.arange(n_classes)
    return [reduce(add, (table.for_classes(np.where(classes == one, 0, -1), 1) for one in classes)) for table in tables]


def largest_effect(counts: FloatArray) -> float:
    """The largest effect of a value, as a number that is 1 for it and 0 for the others."""
    weight = np.broadcast_to(counts.sum(axis=1, keepdims=True), counts.shape)
    share = counts / np.where(weight > 0, weight, 1.0)
    return float(standardised_gap(weight, share, weight * share * (1 - share)).max(initial=0.0))


def p_values(family: Family, tables: Sequence[Any], gain: FloatArray, freedom: IntArray) -> FloatArray:
    """The chance of at least such a gain where the classes do not differ; of counted cells by Pearson's test."""
    cells = family.cells(*tables)
    if cells is not None:
        return np.array([independence_test(np.asarray(counts)[None]).p_value for counts in cells])
    return np.where(freedom > 0, special.chdtrc(np.maximum(freedom, 1), gain), 1.0)
