"""The families: how a column's values are distributed in a class.

Each is a small value object with the same sections: Statistics (what must be added up), Estimate (parameters from
merged statistics), Leave-one-out (the same without one row), Evidence (log-likelihood of cells), Description.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from naively.errors import ModelFileError, ParameterError, brief
from naively.families._bernoulli import Bernoulli
from naively.families._binned import Binned
from naively.families._by_kind import ByKind
from naively.families._categorical import Categorical
from naively.families._codes import Codes
from naively.families._complement import Complement
from naively.families._date import Date
from naively.families._exponential import Exponential
from naively.families._factors import Joint, Tree
from naively.families._gamma import Gamma
from naively.families._gaussian import Gaussian
from naively.families._joined import JoinedColumns
from naively.families._joint import JointFamily
from naively.families._kernel import Kernel
from naively.families._multinomial import Multinomial
from naively.families._poisson import Poisson
from naively.families._stacked import Stacked
from naively.families._studentt import StudentT
from naively.families._text import Text
from naively.families._thresholded import Thresholded
from naively.families.base import Estimate, Family, Gap, LeftOut

__all__ = [
    "Bernoulli",
    "Binned",
    "ByKind",
    "Categorical",
    "Codes",
    "Complement",
    "Date",
    "Estimate",
    "Exponential",
    "Family",
    "Gamma",
    "Gap",
    "Gaussian",
    "Joint",
    "JointFamily",
    "Kernel",
    "LeftOut",
    "Multinomial",
    "Poisson",
    "Stacked",
    "StudentT",
    "Text",
    "Thresholded",
    "Tree",
    "gaps",
]

FAMILIES: dict[str, type[Family]] = {
    family.name(): family
    for family in (
        *(Bernoulli, Binned, Categorical, Codes, Complement, Date, Exponential, Gamma, Gaussian, Kernel),
        *(Multinomial, Poisson, Stacked, StudentT, Text, Thresholded),
    )
}


FACTORS: dict[str, type[JoinedColumns]] = {factor.name(): factor for factor in (Joint, Tree)}
"""What `factors` may be, by the names that model files have for them."""

QUESTIONS = (
    *("n_parameters", "distribution", "uncertain", "log_likelihood", "quantile", "line", "as_table"),
    *("leave_one_out", "posterior", "log_marginal_likelihood", "rows_of", "as_member"),
)
"""What can be asked of a family, or of its estimates, and may be a gap."""


def gaps() -> dict[str, dict[str, str]]:
    """The questions that families have no answer to, and why.

    Returns
    -------
    dict
        For each name in `FAMILIES` a dict from question to reason.

    Examples
    --------
    >>> gaps()["kernel"]["uncertain"]
    'has no posterior distribution in closed form'
    >>> sorted(gaps()["exponential"])
    ['as_member', 'log_marginal_likelihood']
    """
    return {name: _gaps_of(family) for name, family in FAMILIES.items()}


def _gaps_of(family: type[Family]) -> dict[str, str]:
    returned = get_type_hints(family.estimate)["return"]
    estimates = get_args(returned) if get_origin(returned) in (Union, UnionType) else (returned,)
    found = {}
    for question in QUESTIONS:
        for owner in (family, estimates[0]):
            answer = getattr(owner, question, None)
            if isinstance(answer, Gap):
                found[question] = answer.reason
    return found


def to_compare(families: Any) -> Any:
    """What the user gave as families, for rows that are to be compared: with what tells a change from chance.

    Examples
    --------
    >>> to_compare({"word": "multinomial", "size": "gaussian"})
    {'word': Multinomial(group='', squares=True), 'size': 'gaussian'}
    """
    if isinstance(families, Mapping):
        return {name: to_compare(family) for name, family in families.items()}
    is_name = isinstance(families, str) and families.lower() in FAMILIES
    family = as_family(families) if is_name else families
    more = family.to_compare() if isinstance(family, Family) else family
    return families if more is family else more


def as_family(value: Any, where: str = "families") -> Family:
    """Read a family from an object or a name.

    Examples
    --------
    >>> as_family("bernoulli")
    Bernoulli(threshold=0.0)
    """
    if isinstance(value, Family):
        return value
    if isinstance(value, str) and value.lower() in FAMILIES:
        return FAMILIES[value.lower()]()
    if isinstance(value, JoinedColumns):
        raise ParameterError(
            f"{where} names the families of single columns: give {brief(value)} as factors=[...] instead."
        )
    raise ParameterError(
        f"{where} must be a family such as Gaussian() or one of the names {', '.join(map(repr, FAMILIES))}; "
        f"got {brief(value)}."
    )


def as_factors(factors: Any) -> tuple[JoinedColumns, ...]:
    """Read the parameter `factors`.

    Examples
    --------
    >>> as_factors([Joint("a", "b"), Tree("c", "d", "e")])
    (Joint('a', 'b'), Tree('c', 'd', 'e'))
    """
    if factors is None:
        return ()
    given = [factors] if isinstance(factors, JoinedColumns) else factors
    if not isinstance(given, (list, tuple)) or not all(isinstance(one, JoinedColumns) for one in given):
        raise ParameterError(
            f"factors must be a list of Joint(...) or Tree(...), as in [Joint('a', 'b')]; got {brief(factors)}."
        )
    return tuple(given)


def to_written(value: Any) -> tuple[str, dict[str, Any]] | None:
    """The name and the options by which a model file holds a family, a `ByKind` or a factor; None for all else.

    Examples
    --------
    >>> to_written(Poisson())
    ('poisson', {'pseudo': 'rows'})
    """
    if not isinstance(value, (Family, ByKind, JoinedColumns)):
        return None
    if isinstance(value, Family) and FAMILIES.get(value.name()) is not type(value):
        raise ModelFileError(
            f"A model file names its families, but {value.name()!r} is no name of {type(value).__name__}. Register it, "
            f"here and where the file is loaded: naively.families.FAMILIES[{value.name()!r}] = {type(value).__name__}."
        )
    return value.name(), value.options()


def from_written(name: str, options: dict[str, Any]) -> Any:
    """The inverse of `to_written`; None if nothing has this name."""
    if name in FACTORS:
        return FACTORS[name].from_options(**options)
    factory = ByKind if name == ByKind.name() else FAMILIES.get(name)
    return None if factory is None else factory(**options)
