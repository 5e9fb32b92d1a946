"""Checks of parameters that many modules share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from naively.errors import ParameterError, brief, listed

LARGEST_PARAMETER = 1e100
"""Pseudo-counts, variances and the like beyond this would overflow where they are multiplied."""

LARGEST_WEIGHT = 1e100
"""All rows of a model together weigh at most this, so that their sums and squares stay finite."""


def require_number(where: str, value: Any, at_least: float, at_most: float = LARGEST_PARAMETER) -> None:
    """Refuse what is not a finite number of at least, and at most, so much."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(float(value)) or float(value) < at_least:
        raise ParameterError(f"{where} must be a finite number of at least {at_least:g}, got {brief(value)}.")
    if float(value) > at_most:
        raise ParameterError(f"{where} must be at most {at_most:g}, got {brief(value)}: more could not be multiplied.")


def require_bool(value: Any, where: str) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{where} must be True or False, got {brief(value)}.")


def require_one_of(where: str, value: Any, known: Sequence[str | int]) -> None:
    """Refuse what is none of the known names and numbers, even what cannot be compared with them.

    Examples
    --------
    >>> require_one_of("ties", "feature", ("none", "feature"))
    >>> require_one_of("ties", ["none"], ("none", "feature", "all"))
    Traceback (most recent call last):
    naively.errors.ParameterError: ties must be 'none', 'feature' or 'all', got ['none'].
    """
    if not isinstance(value, (str, Real)) or value not in known:
        names = [repr(name) for name in known]
        raise ParameterError(f"{where} must be {', '.join(names[:-1])} or {names[-1]}, got {brief(value)}.")


def some_of(where: str, given: Any, known: Sequence[str]) -> tuple[str, ...]:
    """Those of the known names that were given, one or several, each once and in the order of the known.

    Examples
    --------
    >>> some_of("parts", ["hour", "month"], ("month", "weekday", "hour"))
    ('month', 'hour')
    >>> some_of("parts", None, ("month", "hour"))
    Traceback (most recent call last):
    naively.errors.ParameterError: parts must be some of 'month', 'hour', got None.
    """
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else ()
    if not names or not all(isinstance(name, str) and name in known for name in names):
        raise ParameterError(f"{where} must be some of {listed(known, 20)}, got {brief(given)}.")
    return tuple(name for name in known if name in names)


def require_whole(where: str, value: Any, at_least: int = 1, at_most: int | None = None) -> int:
    """The value as an int; what is not a whole number of at least, and at most, so much is refused.

    Examples
    --------
    >>> require_whole("bins", 5)
    5
    >>> require_whole("bins", 2.5)
    Traceback (most recent call last):
    naively.errors.ParameterError: bins must be a whole number of at least 1, got 2.5.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        raise ParameterError(f"{where} must be a whole number of at least {at_least}, got {brief(value)}.")
    if at_most is not None and int(value) > at_most:
        raise ParameterError(f"{where} must be a whole number of at most {at_most:,}, got {brief(value)}.")
    return int(value)


def position_of(key: Any, index: Mapping[str, int], where: str) -> int:
    """The position of a column given by name, which may be a whole number, or by position."""
    if isinstance(key, str) and key in index:
        return index[key]
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and str(key) in index:
        return index[str(key)]
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and -len(index) <= key < len(index):
        return int(key) % len(index)
    raise ParameterError(f"{where} names the column {key!r}, which is not among {listed(index, 20)}.")
