"""The smoothing of each column, as the parameter `smoothing` has it; one that no column reads is refused."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from naively._common.checks import position_of
from naively.errors import ParameterError, brief
from naively.families._joined import JoinedColumns, one_rule
from naively.families.base import Family
from naively.smoothing import Lidstone, NoSmoothing, Smoothing, as_smoothing


def smoothing_of_columns(
    smoothing: Any, usual: Smoothing, names: Sequence[str], factors: Sequence[JoinedColumns]
) -> list[Smoothing]:
    """The smoothing of each column.

    Parameters
    ----------
    smoothing
        As it was given: one for all, by column, or None.
    usual : Smoothing
        That of columns which are given none.
    names : sequence of str
        The columns.
    factors : sequence of JoinedColumns
        Which of them have one rule together.
    """
    if smoothing is None:
        return [usual] * len(names)
    if not isinstance(smoothing, Mapping):
        return one_rule(factors, names, [as_smoothing(smoothing)] * len(names), set())
    given = _places(smoothing, names)
    rules = [usual] * len(names)
    for place, key in given.items():
        rules[place] = as_smoothing(smoothing[key], f"smoothing[{key!r}]")
    return one_rule(factors, names, rules, set(given))


def refuse_unread(
    smoothing: Any,
    usual: Smoothing,
    names: Sequence[str],
    families: Sequence[Family | None],
    ignored: Container[int],
    weighed: bool,
) -> None:
    """Refuse a smoothing of columns that have no pseudo-counts: one that names such a column, or that no column reads.

    Parameters
    ----------
    smoothing, usual, names
        As in `smoothing_of_columns`. What is usual is not refused, nor is none at all.
    families : sequence of Family or None
        Those that read the columns. A column of which nothing is known yet may read a smoothing some day.
    ignored : container of int
        The positions of the columns that are left out.
    weighed : bool
        Whether the recipe weighs evidence.
    """
    where = " in a recipe that weighs evidence" if weighed else ""
    read = {place: family for place, family in enumerate(families) if place not in ignored}
    without = {place: family for place, family in read.items() if family and not family.takes_smoothing(weighed)}
    if isinstance(smoothing, Mapping):
        for place in sorted(without.keys() & _places(smoothing, names)):
            raise ParameterError(
                f"smoothing names the column {names[place]!r}, which {without[place]!r} reads: this family has no "
                f"pseudo-counts{where}. Leave the column out of smoothing, or choose another family."
            )
    elif without and len(without) == len(read) and as_smoothing(smoothing) not in (usual, NoSmoothing(), Lidstone(0)):
        place = min(without)
        raise ParameterError(
            f"smoothing={brief(smoothing)} would change nothing: no column here has pseudo-counts{where}. Column "
            f"{names[place]!r}, for one, is read by {without[place]!r}. Leave smoothing out, or choose other families; "
            "that of the class prior is prior_smoothing."
        )


def _places(smoothing: Mapping[Any, Any], names: Sequence[str]) -> dict[int, Any]:
    """The keys of a smoothing by column, by the positions that they name."""
    index = {name: place for place, name in enumerate(names)}
    return {position_of(key, index, "smoothing"): key for key in smoothing}
