"""What a model has learnt, as one value that never changes: it is taken whole, and replaced whole.

An answer takes the state once and computes from that alone, so it is the answer of one state even while other threads
learn. Whoever learns makes a new state and puts it in the place of the old one by a single assignment, under a lock
that belongs to the model.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property, wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from naively.schema import Schema
from naively.statistics.statistics import Statistics, merged_classes
from naively.typing import AnyArray


@dataclass(frozen=True, eq=False)
class State:
    """The fitted state of a model.

    Parameters
    ----------
    schema : Schema
    statistics : Statistics
        Among all classes, those that were only declared included.
    declared : ndarray
        The classes that `partial_fit` was told of.
    estimates : list
        One element: None, or the parameters that were in force and what was estimated under them, a pair that is
        replaced whole. Two threads that find none at once both estimate, and the same.
    """

    schema: Schema
    statistics: Statistics
    declared: AnyArray
    estimates: list[tuple[Any, Any] | None] = field(default_factory=lambda: [None], repr=False)

    @classmethod
    def of(cls, schema: Schema, statistics: Statistics, declared: AnyArray) -> State:
        """The state of these statistics, none of whose arrays can be written to any more."""
        statistics = statistics.with_classes(merged_classes(statistics.classes, declared))
        for part in (schema, statistics, declared):
            make_read_only(part)
        return cls(schema, statistics, declared)

    @cached_property
    def feature_names(self) -> AnyArray:
        """The names of the columns."""
        names = np.array(self.schema.names, dtype=object)
        names.flags.writeable = False
        return names

    def __copy__(self) -> State:
        """The same with estimates of its own: two models may have other parameters."""
        return State(self.schema, self.statistics, self.declared)

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self.__copy__()  # nothing in it can change

    def __reduce__(self) -> tuple[Any, ...]:
        return State.of, (self.schema, self.statistics, self.declared)


# -- what cannot be written to ----------------------------------------------------------------------------------------


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


def make_read_only(value: Any) -> None:
    """Let no array within a dataclass, a dict or a sequence, and no dict of a dataclass, be written to any more."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, (tuple, list)):
        if value and not isinstance(value[0], (str, float, int)):  # of labels there may be many, and they cannot change
            for element in value:
                make_read_only(element)
    elif isinstance(value, Mapping):
        for element in value.values():
            make_read_only(element)
    elif names := _fields_of(value):
        for name in names:
            part = getattr(value, name)
            if type(part) is dict:
                object.__setattr__(value, name, part := ReadOnlyDict(part))
            make_read_only(part)


def _fields_of(value: Any) -> tuple[str, ...]:
    """The names of a dataclass's fields; none of any other value."""
    kind: Any = type(value)
    return _field_names(kind)


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind)) if is_dataclass(kind) else ()


# -- parameters as they were ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Was:
    """What a parameter that can change in place held."""

    kind: type
    parts: Any

    def still_is(self, value: Any) -> bool:
        if type(value) is not self.kind:
            return False
        if isinstance(value, np.ndarray):
            return bool(
                value.dtype == self.parts.dtype and value.shape == self.parts.shape and _same_cells(value, self.parts)
            )
        parts = _parts(value)
        return parts is not None and unchanged(self.parts, parts)


def _same_cells(first: AnyArray, second: AnyArray) -> bool:
    if first.dtype.hasobject:
        return all(one is other for one, other in zip(first.ravel(), second.ravel(), strict=True))
    return first.tobytes() == second.tobytes()


def as_it_is(parameters: tuple[Any, ...]) -> tuple[Any, ...]:
    """The parameters with what they hold now: those that can change in place are copied, all others are kept."""
    return tuple(map(_as_it_is, parameters))


def unchanged(before: tuple[Any, ...], parameters: tuple[Any, ...]) -> bool:
    """Whether the parameters hold what they held when `as_it_is` was asked.

    A value that cannot change is compared by identity: a model that is given an equal one estimates once more, and the
    same. Such values are their own snapshots, and others never are, so identity says it all for both.
    """
    if len(before) != len(parameters):
        return False
    for was, now in zip(before, parameters, strict=True):
        if was is not now and not (type(was) is _Was and was.still_is(now)):
            return False
    return True


def _as_it_is(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, np.generic)):
        return value
    if isinstance(value, np.ndarray):
        return _Was(type(value), value.copy())
    parts = _parts(value)
    if parts is None:  # unknown to us: a tokenizer, say
        return value
    kept = as_it_is(parts)
    if not _can_change(value) and all(one is other for one, other in zip(kept, parts, strict=True)):
        return value
    return _Was(type(value), kept)


def _can_change(value: Any) -> bool:
    return not isinstance(value, tuple) and not _fields_of(value)


def _parts(value: Any) -> tuple[Any, ...] | None:
    """What a value consists of; None if that cannot be seen."""
    if isinstance(value, Mapping):
        return (*value.keys(), *value.values())
    if isinstance(value, (list, tuple)):
        return tuple(value)
    if isinstance(value, (set, frozenset)):
        return tuple(sorted(value, key=repr))
    if hasattr(type(value), "__array__"):
        return (np.asarray(value),)
    names = _fields_of(value)
    return tuple(getattr(value, name) for name in names) if names else None


# -- locks ------------------------------------------------------------------------------------------------------------

_guard = threading.Lock()
_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()


def learning_lock(model: Any) -> Any:
    """The lock of a model, to be held from reading its state until the next one is in place.

    It is kept beside the model and not in it, so that models are copied and pickled without.
    """
    with _guard:
        return _locks.setdefault(model, threading.RLock())


def _forget_locks() -> None:
    global _guard, _locks
    _guard, _locks = threading.Lock(), WeakKeyDictionary()


if hasattr(os, "register_at_fork"):  # what another thread of the parent had locked would stay locked in the child
    os.register_at_fork(after_in_child=_forget_locks)


# -- answers of one state ---------------------------------------------------------------------------------------------

Model = TypeVar("Model", bound=Any)
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def of_one_state(method: Callable[Concatenate[Model, Given], Answer]) -> Callable[Concatenate[Model, Given], Answer]:
    """A method that answers from the model as it is when the call begins, whatever other threads do until it ends.

    Every public method and property that reads what was learnt has this.
    """

    @wraps(method)
    def answer(self: Model, *args: Given.args, **options: Given.kwargs) -> Answer:
        return method(self._taken(), *args, **options)

    return cast("Callable[Concatenate[Model, Given], Answer]", answer)
