"""Columns that are one factor of the model: which they are, and the family that reads them together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from naively._common.checks import position_of
from naively._table.table import Table
from naively.errors import GapError, ParameterError, brief, listed
from naively.families.base import Family, Member
from naively.smoothing import Smoothing
from naively.typing import FloatArray

Cuts = dict[str, tuple[float, ...]]
"""The cut points of columns of numbers, by name."""


class JoinedColumns(ABC):
    """What is given as one of `factors`: the columns that it joins, and how they are read together."""

    reads: ClassVar[str]
    """What it does with its columns, in words."""
    advice: ClassVar[str]
    """Which families its columns may have."""
    one_rule_for_all: ClassVar[bool] = False
    """Whether a smoothing by name must name all of its columns; else that of one is that of all."""

    columns: tuple[str | int, ...]
    """The members, by name or position; none: all columns that there are."""

    @classmethod
    @abstractmethod
    def name(cls) -> str:
        """What it is called in model files."""

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """The options by name."""

    @classmethod
    def from_options(cls, columns: Sequence[str | int], **options: Any) -> Self:
        """The inverse of `options`."""
        return cls(*columns, **options)

    @abstractmethod
    def family(self, members: Mapping[str, Member | None], columns: Sequence[str], cuts: Cuts) -> Family | None:
        """The family of all members; None while it must wait to know more of them.

        Parameters
        ----------
        members : dict
            How each member is read, in the order in which they were given; None where nothing is known of it yet.
        columns : sequence of str
            The members in the order of the model's columns.
        cuts : dict
            The cut points that numbers are counted with.
        """

    def cuts_in(self, table: Table, members: Mapping[str, Member | None], weights: FloatArray | None) -> Cuts:
        """The cut points that members of numbers are counted with from a first table on; none where they have none."""
        return {}

    def refuse_smoothing(self, rule: Smoothing) -> None:  # noqa: B027 (most refuse nothing)
        """Refuse a rule that means nothing to the factor."""

    def refuse_pieces(self, names: Sequence[str], cuts: Cuts) -> None:  # noqa: B027
        """Refuse rows that come in several pieces, where the first would decide what all others are read by."""

    def places(self, names: Sequence[str]) -> list[int]:
        """The positions of the members among the columns of a model."""
        index = {name: position for position, name in enumerate(names)}
        return [position_of(column, index, repr(self)) for column in self.columns] or list(range(len(names)))

    def members(self, names: Sequence[str], families: Sequence[Family | None]) -> dict[str, Member | None]:
        """How each member is read, given the family that would read it alone."""
        given = {names[place]: families[place] for place in self.places(names)}
        return {name: None if family is None else self._member(name, family) for name, family in given.items()}

    def _member(self, name: str, family: Family) -> Member:
        try:
            member: Member = family.as_member()
        except GapError as gap:
            raise ParameterError(
                f"{self!r} {self.reads}, but the family of its column {name!r} is {family!r}, which {gap.reason}. "
                f"{self.advice}"
            ) from None
        return member


def plain_columns(what: str, columns: Sequence[Any]) -> tuple[str | int, ...]:
    """Columns as they were given, by name or position; all else is refused."""
    if not all(isinstance(one, (str, int, np.integer)) and not isinstance(one, bool) for one in columns):
        raise ParameterError(
            f"{what}(...) takes the names or positions of its columns, as in {what}('a', 'b'); got {brief(columns)}."
        )
    return tuple(column if isinstance(column, str) else int(column) for column in columns)


def joined(
    factors: Sequence[JoinedColumns],
    names: Sequence[str],
    families: Sequence[Family | None],
    cuts: Cuts,
    ignored: Container[int] = (),
) -> list[Family | None]:
    """The family of each column, that of a factor for its members.

    Parameters
    ----------
    factors : sequence of JoinedColumns
    names : sequence of str
        The model's columns.
    families : sequence
        How each would be read alone; None where nothing is known of it yet.
    cuts : dict
        The cut points that numbers are counted with.
    ignored : container of int
        The positions of the columns that are to be left out, which no factor may join.
    """
    result = list(families)
    for factor, places in zip(factors, member_places(factors, names), strict=True):
        if used := [names[place] for place in places if place in ignored]:
            raise ParameterError(f"factors join the columns {listed(used)}, which are to be ignored.")
        columns = [names[place] for place in sorted(places)]
        family = factor.family(factor.members(names, families), columns, cuts)
        if family is not None and family.one_term and len(places) > 1 and family.term in names:
            raise ParameterError(
                f"A column is called {family.term!r}, and so is the evidence of {factor!r}. Rename the column, so that "
                "the two can be told apart."
            )
        for place in places:
            result[place] = family
    return result


def member_places(factors: Sequence[JoinedColumns], names: Sequence[str]) -> list[list[int]]:
    """The positions of the members of each factor; no column may be in two."""
    places = [factor.places(names) for factor in factors]
    times = Counter(place for members in places for place in members)
    twice = [names[place] for place, count in times.items() if count > 1]
    if twice:
        raise ParameterError(
            f"factors must have each column once, but {listed(twice)} stands more than once in {list(factors)!r}. Put "
            "all columns that depend on one another into one Joint."
        )
    return places


def one_rule(
    factors: Sequence[JoinedColumns], names: Sequence[str], rules: list[Smoothing], given: set[int]
) -> list[Smoothing]:
    """The smoothing of each column, where a rule given for one member of a factor is that of all.

    Parameters
    ----------
    factors, names
        As in `joined`.
    rules : list of Smoothing
        That of each column.
    given : set of int
        The positions of the columns whose rule was given by name.
    """
    result = list(rules)
    for factor, places in zip(factors, member_places(factors, names), strict=True):
        own = [rules[place] for place in places if place in given]
        if any(rule != own[0] for rule in own):
            raise ParameterError(
                f"smoothing gives the columns of {factor!r} different rules, but their table is one. Give it one rule."
            )
        if own and factor.one_rule_for_all and len(own) < len(places):
            named = listed([names[place] for place in places if place in given])
            raise ParameterError(
                f"{factor!r} has one smoothing for all of its columns, but it was given for {named} alone. Give one "
                "rule, or name all of them."
            )
        rule = own[0] if own else rules[places[0]]
        factor.refuse_smoothing(rule)
        for place in places:
            result[place] = rule
    return result
