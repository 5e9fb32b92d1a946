"""What a model has learnt, as one value that never changes: it is taken whole, and replaced whole.

An answer takes the state once and computes from that alone, so it is the answer of one state even while other threads
learn. Whoever learns makes a new state and puts it in the place of the old one by a single assignment, under a lock
that belongs to the model.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import wraps
from operator import is_
from typing import Any, Concatenate, ParamSpec, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from naively._common.by_label import labels_held
from naively._common.read_only import ReadOnlyDict, fields_of, make_read_only, read_only_property
from naively._model.schema import Schema
from naively.statistics._statistics import Statistics, merged_classes
from naively.typing import AnyArray, FloatArray


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
    class_rows : ndarray (classes,), optional
        Of a frozen model without statistics: the number of rows of each class, which the prior is estimated from.
    frozen : bool, default=False
        Whether the model only answers.
    learnt : str, optional
        When the last rows were learnt, in UTC.
    estimates : list
        The scorer, the log-prior, and the kept rows as models without their folds see them. Of each: None, or the
        parameters that were in force and what was estimated under them, a pair that is replaced whole. Of the threads
        that find none at once, one estimates and the others wait.
    """

    schema: Schema
    statistics: Statistics
    declared: AnyArray
    class_rows: FloatArray | None = None
    frozen: bool = False
    learnt: str | None = None
    estimates: list[tuple[Any, Any] | None] = field(default_factory=lambda: [None, None, None], repr=False)

    @classmethod
    def of(cls, schema: Schema, statistics: Statistics, declared: AnyArray) -> State:
        """The state of these statistics, none of whose arrays can be written to any more."""
        statistics = statistics.with_classes(merged_classes(statistics.classes, declared))
        if type(schema.declared) is dict:  # all else in a schema cannot change as it is
            object.__setattr__(schema, "declared", ReadOnlyDict(schema.declared))
        for part in (statistics, declared):
            make_read_only(part)
        return cls(schema, statistics, declared, learnt=datetime.now(UTC).isoformat(timespec="seconds"))

    @read_only_property
    def feature_names(self) -> AnyArray:
        """The names of the columns."""
        return np.array(self.schema.names, dtype=object)

    def estimated(self, place: int, basis: tuple[Any, ...], estimate: Callable[[], Any]) -> Any:
        """What was estimated under these parameters, once for all who ask.

        Parameters
        ----------
        place : int
            Among `estimates`.
        basis : tuple
            The parameters.
        estimate : callable
            Computes it, where nothing is known or the parameters have changed.
        """
        known = self.estimates[place]
        if known is None or not unchanged(known[0], basis):
            with learning_lock(self):  # threads that ask at once wait for one of them
                known = self.estimates[place]
                if known is None or not unchanged(known[0], basis):
                    basis = as_it_is(basis)  # before the work: what changes meanwhile is seen at the next answer
                    known = self.estimates[place] = basis, estimate()
        return known[1]

    def answering(self, class_rows: FloatArray | None) -> State:
        """The state of a model that only answers: no kept rows and, where estimates do without, no statistics.

        Parameters
        ----------
        class_rows : ndarray (classes,), optional
            What the prior is estimated from, where the estimates need no statistics.
        """
        kept, lean = self.statistics, class_rows is not None
        statistics = Statistics(kept.classes, kept.class_weight, {} if lean else kept.tables)
        estimates = [one and (one[0], copy(one[1])) for one in self.estimates]  # without what they were fitted on
        return State(self.schema, statistics, self.declared, class_rows, True, self.learnt, estimates)

    def __copy__(self) -> State:
        """The state with a list of its own: two models may have other parameters, and estimate under them."""
        return replace(self, estimates=list(self.estimates))

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        # Nothing in it can change but parameters, which must be those of the copied model.
        return replace(self, estimates=[one and (deepcopy(one[0], memo), one[1]) for one in self.estimates])

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, tuple(getattr(self, one.name) for one in fields(self))


def _restored(schema: Schema, statistics: Statistics, declared: AnyArray, *others: Any) -> State:
    """A state that was pickled."""
    state = State.of(schema, statistics, declared)
    return State(state.schema, state.statistics, state.declared, *others)


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
            return bool(self.parts == _content(value))
        parts = _parts(value)
        return parts is not None and unchanged(self.parts, parts)


def _content(array: AnyArray) -> tuple[Any, ...]:
    """All that an array holds, so that equal contents compare equal, NaN and all."""
    cells = tuple(array.ravel().tolist()) if array.dtype.hasobject else array.tobytes()
    return array.dtype, array.shape, cells


def as_it_is(parameters: tuple[Any, ...]) -> tuple[Any, ...]:
    """The parameters with what they hold now: those that can change in place are copied, all others are kept."""
    return tuple(map(_as_it_is, parameters))


def unchanged(before: tuple[Any, ...], parameters: tuple[Any, ...]) -> bool:
    """Whether the parameters hold what they held when `as_it_is` was asked.

    A value that cannot change is compared by identity: a model that is given an equal one estimates once more, and the
    same. Such values are their own snapshots, and others never are, so identity says it all for both. Numbers and texts
    are compared by value: a pickle does not remember which of them were one object.
    """
    if len(before) != len(parameters):
        return False
    if all(map(is_, before, parameters)):
        return True
    for was, now in zip(before, parameters, strict=True):
        if was is now or (type(was) is _Was and was.still_is(now)):
            continue
        if not (type(was) is type(now) and isinstance(was, (str, int, float)) and was == now):
            return False
    return True


def _as_it_is(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, np.generic)):
        return value
    if isinstance(value, np.ndarray):
        return _Was(type(value), _content(value))
    parts = _parts(value)
    if parts is None:  # unknown to us: a tokenizer, say
        return value
    kept = as_it_is(parts)
    if not _can_change(value) and all(one is other for one, other in zip(kept, parts, strict=True)):
        return value
    return _Was(type(value), kept)


def _can_change(value: Any) -> bool:
    return not isinstance(value, tuple) and not fields_of(value)


def _parts(value: Any) -> tuple[Any, ...] | None:
    """What a value consists of; None if that cannot be seen."""
    if isinstance(value, Mapping):
        return (*value.keys(), *value.values())
    if isinstance(value, (list, tuple)):
        return tuple(value)
    if isinstance(value, (set, frozenset)):
        return tuple(sorted(value, key=repr))
    if hasattr(type(value), "__array__"):
        return (np.asarray(value), *labels_held(value))
    names = fields_of(value)
    return tuple(getattr(value, name) for name in names) if names else None


# -- locks ------------------------------------------------------------------------------------------------------------

_guard = threading.Lock()
_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()


def learning_lock(owner: Any) -> Any:
    """The lock of a model, to be held from reading its state until the next one is in place; or of what it estimates.

    It is kept beside its owner, a model or a state, and not in it, so that models are copied and pickled without.
    """
    with _guard:
        return _locks.setdefault(owner, threading.RLock())


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
