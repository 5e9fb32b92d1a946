"""Options of families, smoothings and recipes by name, as grids give them: ``families__ties``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from naively.errors import ParameterError, brief
from naively.families import FAMILIES, as_family
from naively.smoothing import NAMES, as_smoothing


def with_options(value: Any, options: Mapping[str, Any], where: str) -> Any:
    """A copy of an object with other options.

    Parameters
    ----------
    value : family, smoothing, recipe, ByKind, name of one, or dict of these
    options : mapping
        By name; behind two underscores those of an option that is an object itself.
    where : str
        What the value is called in errors.

    Examples
    --------
    >>> from naively.families import Gaussian
    >>> with_options({"age": Gaussian()}, {"age__ddof": 1}, "families")["age"].ddof
    1
    """
    value = _as_object(value)
    known = list(value) if isinstance(value, Mapping) else _option_names(value)
    changed: dict[Any, Any] = {}
    for name, given in options.items():
        option, _, inner = name.partition("__")
        if option not in known:
            raise ParameterError(
                f"{where}__{name} is no option of {brief(value)}, which has "
                f"{', '.join(map(str, known)) if known else 'none'}."
            )
        before = changed.get(option, value[option] if isinstance(value, Mapping) else getattr(value, option))
        changed[option] = with_options(before, {inner: given}, f"{where}__{option}") if inner else given
    return {**value, **changed} if isinstance(value, Mapping) else replace(value, **changed)


def _as_object(value: Any) -> Any:
    """The object that a name stands for."""
    if isinstance(value, str) and value in FAMILIES:
        return as_family(value)
    return as_smoothing(value) if isinstance(value, str) and value in NAMES else value


def _option_names(value: Any) -> list[str]:
    return [field.name for field in fields(value) if field.init] if is_dataclass(value) else []
