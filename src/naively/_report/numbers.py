"""Numbers as the page holds them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

DECIMALS = 12
"""Of logarithms: a sum of a thousand of them is right to 1e-9."""


def logs(values: Any) -> Any:
    """Logarithms as nested lists; None stands for minus infinity.

    Examples
    --------
    >>> logs(np.log([[0.5], [1.0]]))
    [[-0.69314718056], [0.0]]
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim > 1:
        return [logs(line) for line in array]
    return [_one(value) for value in array.tolist()]


def _one(value: float) -> float | None:
    return round(value, DECIMALS) + 0.0 if math.isfinite(value) else None


def rounded(values: Any, digits: int = 4) -> Any:
    """Numbers to so many digits, for what is only drawn."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim > 1:
        return [rounded(line, digits) for line in array]
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in array.tolist()]
