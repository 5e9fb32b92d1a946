"""The estimates of a model read as distributions: what can be drawn from them, and what is expected of a cell.

Each factor of a model becomes one of two things, by its family: `Numbers`, whose cells have a mean in each class, or
`Labels`, whose cells have a probability of each value in each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from naively._schema import Schema
from naively._scoring.model import Factor, statistics_of
from naively.errors import GapError, ParameterError
from naively.families._distributions import Distribution
from naively.families._ranking import known_weight
from naively.statistics._statistics import Statistics


def distributions(
    factors: Sequence[Factor], schema: Schema, statistics: Statistics, length: Any = None
) -> list[Distribution]:
    """The factors of a model as distributions.

    Parameters
    ----------
    factors, schema, statistics
        Of a model.
    length : float, mapping from group to float, or None
        The total of the counts of a row, for `Multinomial`; by default the mean of the row's class.
    """
    return [_distribution(factor, schema, statistics, length) for factor in factors]


def _distribution(factor: Factor, schema: Schema, statistics: Statistics, length: Any) -> Distribution:
    names = [schema.names[member] for member in factor.members.tolist()]
    if factor.family.together:
        shown = ", ".join(map(repr, names[:5]))
        raise ParameterError(f"The columns {shown} are read together, which this cannot do yet: leave factors out.")
    tables = statistics_of(schema, factor.family, factor.members.tolist(), statistics)
    try:
        found: Distribution = factor.family.distribution(factor.estimate, tables, statistics.class_weight.high, length)
    except GapError as gap:
        raise ParameterError(
            f"Column {names[0]!r}: {factor.family!r} {gap.reason}, which this needs. Use another family, for example "
            "Gaussian() or Kernel() for numbers, Categorical() for labels, or leave the column out."
        ) from None
    unknown = _unknown(tables)
    return replace(found.without(unknown) if unknown.any() else found, members=factor.members)


def _unknown(tables: Sequence[Any]) -> Any:
    """Which columns have not a single known cell, where the statistics tell."""
    try:
        return known_weight(tables).sum(axis=0) == 0
    except GapError:  # counts that share a total: a missing cell is a count of zero
        return np.zeros(1, dtype=bool)
