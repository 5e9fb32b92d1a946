"""Checks of parameters that many modules share."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from naively.errors import ParameterError


def require_number(where: str, value: Any, at_least: float) -> None:
    """Refuse what is not a finite number of at least so much."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(float(value)) or float(value) < at_least:
        raise ParameterError(f"{where} must be a finite number of at least {at_least:g}, got {value!r}.")
