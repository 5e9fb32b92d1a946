"""Checks of parameters that many modules share."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from naively.errors import ParameterError, brief


def require_number(where: str, value: Any, at_least: float) -> None:
    """Refuse what is not a finite number of at least so much."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(float(value)) or float(value) < at_least:
        raise ParameterError(f"{where} must be a finite number of at least {at_least:g}, got {brief(value)}.")


def require_whole(where: str, value: Any, at_least: int = 1) -> int:
    """The value as an int; what is not a whole number of at least so much is refused.

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
    return int(value)
