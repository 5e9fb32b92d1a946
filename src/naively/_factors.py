"""The joint factors of a model: which columns they join, checked against the columns there are."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from naively._schema import position_of
from naively.errors import GapError, ParameterError, listed
from naively.families import Family, Joint, JointFamily
from naively.families.base import Member
from naively.smoothing import Smoothing


def joined(
    joints: Sequence[Joint],
    names: Sequence[str],
    families: Sequence[Family | None],
    ignored: Container[int] = (),
) -> list[Family | None]:
    """The family of each column, that of a joint factor for its members.

    Parameters
    ----------
    joints : sequence of Joint
    names : sequence of str
        The model's columns.
    families : sequence
        How each would be read alone; None where nothing is known of it yet. A factor waits for all of its members.
    ignored : container of int
        The positions of the columns that are to be left out, which no factor may join.
    """
    result = list(families)
    for joint, places in zip(joints, member_places(joints, names), strict=True):
        if used := [names[place] for place in places if place in ignored]:
            raise ParameterError(f"factors join the columns {listed(used)}, which are to be ignored.")
        of_members = [families[place] for place in places]
        family = None if None in of_members else _bound(joint, [names[place] for place in places], of_members, names)
        if family is not None and len(places) > 1 and family.term in names:
            raise ParameterError(
                f"A column is called {family.term!r}, and so is the evidence of {joint!r}. Rename the column, so that "
                "the two can be told apart."
            )
        for place in places:
            result[place] = family
    return result


def member_places(joints: Sequence[Joint], names: Sequence[str]) -> list[list[int]]:
    """The positions of the members of each factor; no column may be in two."""
    index = {name: position for position, name in enumerate(names)}
    places = [[position_of(column, index, repr(joint)) for column in joint.columns] for joint in joints]
    everything = [place for members in places for place in members]
    twice = [names[place] for place in dict.fromkeys(everything) if everything.count(place) > 1]
    if twice:
        raise ParameterError(
            f"factors must have each column once, but {listed(twice)} stands more than once in {list(joints)!r}. Put "
            "all columns that depend on one another into one Joint."
        )
    return places


def _bound(joint: Joint, given: Sequence[str], families: Sequence[Any], names: Sequence[str]) -> JointFamily:
    """A factor with its columns, read as they would be alone."""
    members = {name: _member(joint, name, family) for name, family in zip(given, families, strict=True)}
    labels = {name: member.declared for name, member in members.items() if member.reads == "labels"}
    return JointFamily(
        joint,
        given=tuple(given),
        columns=tuple(name for name in names if name in given),
        labels=tuple(sorted(labels)),
        numbers=tuple(sorted(set(given) - set(labels))),
        declared=tuple(labels[name] for name in sorted(labels)),
    )


def _member(joint: Joint, name: str, family: Family) -> Member:
    try:
        member: Member = family.as_member()
    except GapError as gap:
        raise ParameterError(
            f"{joint!r} joins labels and numbers, but the family of its column {name!r} is {family!r}, which "
            f"{gap.reason}. Use Categorical() or Gaussian() for its members; options of the normal density belong to "
            "Joint(ties=, ddof=, floor=)."
        ) from None
    return member


def one_rule(joints: Sequence[Joint], names: Sequence[str], rules: list[Smoothing], given: set[int]) -> list[Smoothing]:
    """The smoothing of each column, where a rule given for one member of a factor is that of all.

    Parameters
    ----------
    joints, names
        As in `joined`.
    rules : list of Smoothing
        That of each column.
    given : set of int
        The positions of the columns whose rule was given by name.
    """
    result = list(rules)
    for joint, places in zip(joints, member_places(joints, names), strict=True):
        own = [rules[place] for place in places if place in given]
        if any(rule != own[0] for rule in own):
            raise ParameterError(
                f"smoothing gives the columns of {joint!r} different rules, but their table is one. Give it one rule."
            )
        for place in places:
            result[place] = own[0] if own else rules[places[0]]
    return result
