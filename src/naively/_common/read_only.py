"""What cannot be written to: the arrays and dicts of what a model has learnt, which it hands out without copying."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from typing import Any, NoReturn, TypeVar

import numpy as np

Value = TypeVar("Value")

UNCHANGEABLE = (str, int, float, bool, type(None))


class ReadOnlyDict(dict[Any, Any]):
    """A dict that cannot be changed, but pickled and copied; ``dict(it)`` can be changed."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "This is part of what a model has learnt, which cannot be changed in place. Copy it: dict(...)."
        )

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return ReadOnlyDict, (dict(self),)


def read_only_property(compute: Callable[[Any], Value]) -> cached_property[Value]:
    """A `functools.cached_property` of a value that many share: its arrays cannot be written to."""

    def computed(self: Any) -> Value:
        value = compute(self)
        make_read_only(value)
        return value

    computed.__doc__ = compute.__doc__
    return cached_property(computed)


def make_read_only(value: Any) -> None:
    """Let no array within a dataclass, a dict or a sequence, and no dict of a dataclass, be written to any more."""
    names = fields_of(value)
    if names:
        _make_fields_read_only(value, names)
    elif isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, (tuple, list)):
        if value and type(value[0]) not in UNCHANGEABLE:  # of labels there may be many
            for element in value:
                make_read_only(element)
    elif isinstance(value, dict):
        for element in value.values():
            make_read_only(element)


def _make_fields_read_only(value: Any, names: tuple[str, ...]) -> None:
    for name in names:
        part = getattr(value, name)
        kind = type(part)
        if kind is np.ndarray:  # the commonest by far
            part.setflags(write=False)
        elif kind is dict:
            object.__setattr__(value, name, ReadOnlyDict(part))
            make_read_only(part)
        elif kind not in UNCHANGEABLE:
            make_read_only(part)
    held = getattr(value, "__dict__", {})
    if len(held) > len(names):  # what was computed once, and pickled beside the fields
        for name in held.keys() - set(names):
            make_read_only(held[name])


def in_c_order(value: Any) -> Any:
    """A value with every array in it laid out row by row, in place where it is a dataclass.

    What is added up over an array may round by its layout, which is lost when it is written and read again.
    """
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value) if value.ndim else value
    if isinstance(value, (tuple, list)) and value and type(value[0]) not in UNCHANGEABLE:
        parts = [in_c_order(element) for element in value]
        same = all(one is other for one, other in zip(parts, value, strict=True))
        return value if same or hasattr(value, "_fields") else type(value)(parts)
    for name in fields_of(value):
        before = getattr(value, name)
        if (after := in_c_order(before)) is not before:
            object.__setattr__(value, name, after)
    return value


def fields_of(value: Any) -> tuple[str, ...]:
    """The names of a dataclass's fields; none of any other value."""
    kind: Any = type(value)
    return _field_names(kind)


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind)) if is_dataclass(kind) else ()
