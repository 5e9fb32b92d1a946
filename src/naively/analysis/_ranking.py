"""Which columns tell most of the class: scores of each column alone, from the statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from naively._model.schema import Schema
from naively._scoring.model import Factor, grouped, statistics_of
from naively._table.frames import tidy_frame
from naively.analysis._discriminant import largest_weights, linear_factors
from naively.errors import GapError, ParameterError
from naively.families import Family
from naively.families._information import by_chance, p_values
from naively.smoothing import Smoothing
from naively.statistics._statistics import Statistics
from naively.statistics.base import Statistic
from naively.typing import AnyArray


class Group(NamedTuple):
    """Columns of one family, and what is known of them."""

    family: Family
    members: list[int]
    tables: list[Statistic]


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
        for field, values in _scored(by, group, schema).items():
            unread = np.full(len(schema.names), 1 if field == "p_value" else 0, dtype=np.asarray(values).dtype)
            result.setdefault(field, unread)[members] = values
    return result


def _scored(by: str, group: Group, schema: Schema) -> dict[str, Any]:
    try:
        return SCORES[by](group)
    except GapError as gap:
        raise ParameterError(
            f"rank_features: column {schema.names[group.members[0]]!r} has no {by}, as {group.family!r} {gap.reason}."
        ) from None


def scores_by_weight(factors: Sequence[Factor], names: Sequence[str]) -> dict[str, AnyArray]:
    """The largest absolute weight of every column in a linear discriminant."""
    return {"score": largest_weights(linear_factors(factors, names, 0), len(names))}


def ranked(names: Sequence[str], fields: dict[str, AnyArray], like: Any = None) -> Any:
    """Scores as a tidy frame, the largest first."""
    order = np.argsort(-fields["score"], kind="stable")
    data: dict[str, list[Any]] = {"column": [names[place] for place in order]}
    data |= {field: values[order].tolist() for field, values in fields.items()}
    return tidy_frame(data, {"column": "U", **{field: values.dtype.kind for field, values in fields.items()}}, like)


# -- what columns are ranked by -------------------------------------------------------------------------------------


def _information(group: Group) -> dict[str, Any]:
    chance = by_chance(group.family, group.tables)
    return {"score": group.family.information(*group.tables) - chance, "by_chance": chance}


def _likelihood_ratio(group: Group) -> dict[str, Any]:
    gain, freedom = group.family.likelihood_ratio(*group.tables)
    return {"score": gain, "freedom": freedom, "p_value": p_values(group.family, group.tables, gain, freedom)}


def _effect(group: Group) -> dict[str, Any]:
    return {"score": group.family.effect(*group.tables)}


SCORES: dict[str, Callable[[Group], dict[str, Any]]] = {
    "information": _information,
    "likelihood_ratio": _likelihood_ratio,
    "effect": _effect,
}
"""What columns are ranked by, from statistics alone."""
