"""Every error and warning that the package raises on purpose.

::

    NaivelyError
    ├── InputError (ValueError)          the values of X, y or sample_weight cannot be learnt from
    │   ├── InputTypeError (TypeError)   a value or column of a type that no family reads
    │   └── SchemaError                  columns that do not fit the model, or two models that do not fit each other
    ├── ParameterError (ValueError)      a parameter of the model that makes no sense
    │   └── GapError                     a question that a family of columns has no answer to
    ├── ForgetError (ValueError)         rows to forget that were never learnt
    ├── RecipeError (AttributeError)     an attribute that only models of another recipe or other families have
    ├── FrozenError (AttributeError)     a model that only answers was to learn, or to tell what it has learnt
    └── ModelFileError (ValueError)      a model file that is damaged, edited, too large or of another version

    NaivelyWarning (UserWarning)         the answer stands, but look at this

A message says what was expected, what came, in which column or row, and what to do.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, NoReturn


class NaivelyError(Exception):
    """Base of all errors of this package."""


class InputError(NaivelyError, ValueError):
    """The values of X, y or sample_weight cannot be learnt from."""


class InputTypeError(InputError, TypeError):
    """A value or a column is of a type that no family reads."""


class SchemaError(InputError):
    """Columns do not fit the model, or two models do not fit each other."""


class ParameterError(NaivelyError, ValueError):
    """A parameter of the model makes no sense."""


class GapError(ParameterError):
    """A family of columns has no answer to a question.

    Attributes
    ----------
    reason : str
        Why: the end of a sentence that begins with "it ...".
    places : sequence of int
        The columns, among those of the family, that the reason is about; empty: all.
    """

    def __init__(self, message: str, reason: str = "", places: Sequence[int] = ()):
        super().__init__(message)
        self.reason, self.places = reason or message, tuple(places)


class Gap:
    """A question that a family, an estimate or a statistic has no answer to, and why: asking it raises `GapError`.

    It stands in the class in the place of the method that would answer, so that all gaps can be listed.

    Parameters
    ----------
    reason : str
        Why there is no answer: the end of a sentence that begins with "it ...".

    Examples
    --------
    >>> class Tells:
    ...     quantile = Gap("tells classes apart and is no density of the value")
    >>> Tells().quantile(0.5)
    Traceback (most recent call last):
    ...
    naively.errors.GapError: Tells.quantile: it tells classes apart and is no density of the value
    """

    def __init__(self, reason: str):
        self.reason = reason

    def __set_name__(self, owner: type, name: str) -> None:
        self.question = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else self._bound(owner.__name__)

    def _bound(self, owner: str) -> Callable[..., NoReturn]:
        def refuse(*_: Any, **__: Any) -> NoReturn:
            raise GapError(f"{owner}.{self.question}: it {self.reason}", self.reason)

        return refuse


class ForgetError(NaivelyError, ValueError):
    """Rows were to be forgotten that had never been learnt."""


class RecipeError(NaivelyError, AttributeError):
    """Only models of another recipe, or with other families, have this attribute."""


class FrozenError(NaivelyError, AttributeError):
    """A model that only answers was to learn, or was asked for what it needs to learn."""


class ModelFileError(NaivelyError, ValueError):
    """A model file is damaged, edited, too large or of another version, or cannot be written."""


class NaivelyWarning(UserWarning):
    """The answer stands, but something about the input deserves a look."""


INSIDE = frozenset({"naively", "sklearn", "joblib", "contextlib", "functools"})
"""The packages that stand between a user's line and what warns: this one, and those that call it for the user."""


_told: ContextVar[set[tuple[str, type[Warning]]] | None] = ContextVar("told", default=None)


@contextmanager
def told_once() -> Iterator[None]:
    """Where the same rows are read several times for one question, what is odd about them is told once.

    Examples
    --------
    >>> @told_once()
    ... def ask():
    ...     warn("odd")
    ...     warn("odd")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     ask()
    >>> len(caught)
    1
    """
    token = _told.set(set())
    try:
        yield
    finally:
        _told.reset(token)


def warn(message: str, category: type[Warning] = NaivelyWarning) -> None:
    """Warn, and point at the user's line, however deep below it the warning comes from.

    Parameters
    ----------
    message : str
    category : type of Warning, default=NaivelyWarning
    """
    told = _told.get()
    if told is not None:
        if (message, category) in told:
            return
        told.add((message, category))
    frame = _users_frame(sys._getframe(1))
    module = frame.f_globals.get("__name__") or "<unknown>"
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, module, registry)


def _users_frame(frame: FrameType) -> FrameType:
    """The first frame above that is not inside; the outermost one if all are."""
    while str(frame.f_globals.get("__name__")).partition(".")[0] in INSIDE and frame.f_back is not None:
        frame = frame.f_back
    return frame


def listed(names: Iterable[object], most: int = 5) -> str:
    """Write out the first few of many names: ``'a', 'b' and 3 more``."""
    everything = list(names)
    shown = ", ".join(repr(name) for name in everything[:most])
    return shown if len(everything) <= most else f"{shown} and {len(everything) - most} more"


def brief(value: object, most: int = 200) -> str:
    """A value that a user gave, as it may stand in a message: large ones by their type and size.

    Examples
    --------
    >>> brief("laplas"), brief([0.5, 0.6])
    ("'laplas'", '[0.5, 0.6]')
    >>> brief(list(range(10_000)))
    'a list of length 10000'
    """
    shape = getattr(value, "shape", None)
    if shape == () and hasattr(value, "item"):
        return brief(value.item(), most)  # a single number, whatever NumPy calls it
    kind = f"{'an' if type(value).__name__[0].lower() in 'aeiou' else 'a'} {type(value).__name__}"
    if shape:
        return f"{kind} of shape {shape}"
    size = len(value) if isinstance(value, Sized) else 0
    text = repr(value) if size <= most else None
    if text is not None and len(text) <= most:
        return text
    return f"{kind} of length {size}" if size or text is None else f"{text[:most]}..."
