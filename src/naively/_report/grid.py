"""Where a number's evidence is looked up, and how its values are counted: at round numbers."""

from __future__ import annotations

import math

import numpy as np

from naively.typing import FloatArray

FEW_VALUES = 16
"""So many distinct numbers are stops of their own, and not points of a curve."""

BINS = 26


def grid(values: FloatArray, room: int) -> list[float]:
    """Points from the least to the largest of ascending values: all of them if they are few, else round numbers.

    Parameters
    ----------
    values : ndarray
        Ascending and distinct, at least one.
    room : int
        About how many points there may be.

    Examples
    --------
    >>> grid(np.array([1.0, 2.0, 4.0]), 100)
    [1.0, 2.0, 4.0]
    >>> grid(np.linspace(0.0, 1.0, 50), 10)
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    """
    low, high = float(values[0]), float(values[-1])
    if len(values) <= min(FEW_VALUES, room):
        return [_short(value) for value in values.tolist()]
    least = _round_up((high - low) / room)
    step = max(_common_step(values) or least, least)
    if not math.isfinite(step) or step <= 0 or low + step == low or high - step == high:
        return sorted({low, high})
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [_short(place * step) for place in range(first, last + 1)]


def bins(values: FloatArray, room: int = BINS) -> list[float]:
    """The edges of about `room` bins: halfway between values that are few, else at round numbers.

    Examples
    --------
    >>> bins(np.array([1.0, 2.0, 4.0]))
    [0.5, 1.5, 3.0, 4.5]
    >>> bins(np.linspace(0.0, 1.0, 50), 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if len(values) <= FEW_VALUES:
        margin = float(np.diff(values).min()) / 2 if len(values) > 1 else 0.5
        return [float(values[0]) - margin, *((values[1:] + values[:-1]) / 2).tolist(), float(values[-1]) + margin]
    step = max(_round_up(float(values[-1] - values[0]) / room), _common_step(values) or 0.0)
    first, last = math.floor(values[0] / step + 1e-9), math.ceil(values[-1] / step - 1e-9)
    last += last * step <= values[-1] and _common_step(values) == step  # the last value begins a bin of its own
    return [_short(place * step) for place in range(first, max(last, first + 1) + 1)]


def counted(edges: list[float], values: FloatArray, counts: FloatArray) -> list[list[float]]:
    """The counts (classes, values) summed into bins, (classes, bins)."""
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    return [np.bincount(place, line, len(edges) - 1).round(6).tolist() for line in counts]


def _common_step(values: FloatArray) -> float | None:
    """The largest round step of which all values are multiples."""
    for power in range(4, -5, -1):
        for lead in (5, 2.5, 2, 1):
            step = lead * 10.0**power
            if np.allclose(values / step, np.round(values / step), rtol=0, atol=1e-6):
                return step
    return None


def _round_up(step: float) -> float:
    """The next larger of ..., 1, 2, 5, 10, 20, ...

    Examples
    --------
    >>> [_round_up(step) for step in (0.3, 1.0, 2.1)]
    [0.5, 1.0, 5.0]
    """
    if not 0 < step < math.inf:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next((lead * power for lead in (1, 2, 5, 10) if lead * power >= step * (1 - 1e-9)), step)


def _short(value: float) -> float:
    """A number without the rounding of the last digits."""
    return float(f"{value:.12g}")
