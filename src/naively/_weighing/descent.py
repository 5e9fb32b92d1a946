"""The least of a smooth function some of whose variables may not be negative: projected L-BFGS.

SciPy's L-BFGS-B takes its bounds one variable at a time in Python, which costs more than the search itself where there
are thousands. Here a step is a few dozen products of vectors.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from naively.typing import FloatArray

Function = Callable[[FloatArray], tuple[float, FloatArray]]
"""Gives the value and the gradient, at a vector."""

LEAST_DECREASE = 1e-4
"""The share of the decrease that the slope promises which a step must bring."""

LEAST_CURVATURE = 1e-12


class Search(NamedTuple):
    """When a search ends.

    Parameters
    ----------
    gain : float
        After a whole step that gains less than this share of the value (or of 1, where the value is smaller).
    slope : float
        Where no slope along which the function can fall is steeper.
    steps : int
        After so many steps.
    remembered : int
        The number of the last steps whose change of the gradient tells the curvature.
    """

    gain: float = 2.2e-9
    slope: float = 1e-5
    steps: int = 15_000
    remembered: int = 10


def least(function: Function, start: FloatArray, positive: slice, search: Search) -> FloatArray:
    """The vector at which a convex function is least; of other functions one that no small step improves.

    Variables at 0 that would fall below it stay there for a step, and all others follow the quasi-Newton direction, cut
    off at 0 (Bertsekas, 1982).

    Parameters
    ----------
    function : callable
        Maps a vector to the value there and the gradient.
    start : ndarray (variables,)
    positive : slice
        The variables that may not be negative.
    search : Search

    Examples
    --------
    >>> def bowl(x):
    ...     away = x - np.array([1.0, -2.0, 3.0])
    ...     return float(away @ away), 2 * away
    >>> least(bowl, np.zeros(3), slice(0, 2), Search()).round(4).tolist()
    [1.0, 0.0, 3.0]
    """
    x = _cut_off(start.astype(np.float64), positive)
    value, gradient = function(x)
    curvature = _Curvature(search.remembered)
    for _ in range(search.steps):
        free = gradient.copy()
        free[positive][(x[positive] <= 0.0) & (gradient[positive] > 0.0)] = 0.0
        if _steepest(x, free, positive) <= search.slope:
            break
        direction = -curvature.divided(free)
        direction[positive][(x[positive] <= 0.0) & (gradient[positive] > 0.0)] = 0.0
        enough = search.gain * max(abs(value), 1.0)
        length, moved, at_moved, slope = _line_search(function, x, value, gradient, direction, positive, enough)
        if not at_moved < value:  # no more than `enough` can be gained, and rounding hides it
            break
        curvature.remember(moved - x, slope - gradient)
        gain = (value - at_moved) / max(abs(value), abs(at_moved), 1.0)
        x, value, gradient = moved, at_moved, slope
        if length == 1.0 and gain <= search.gain:
            break
    return x


def _line_search(
    function: Function,
    x: FloatArray,
    value: float,
    gradient: FloatArray,
    direction: FloatArray,
    positive: slice,
    enough: float,
) -> tuple[float, FloatArray, float, FloatArray]:
    """A step that brings its share of what the slope promises: its length, where it leads, the value and slope there.

    One of which the slope promises no more than `enough`, or nothing that is a number, may bring anything.
    """
    length = 1.0
    while True:
        moved = _cut_off(x + length * direction, positive)
        at_moved, slope = function(moved)
        promised = float(gradient @ (moved - x))
        if at_moved <= value + LEAST_DECREASE * promised or not -promised > enough:
            return length, moved, at_moved, slope
        # The parabola through the value, the slope and the new value is least there.
        length *= min(max(-promised / (2.0 * (at_moved - value - promised)), 0.1), 0.5)


def _cut_off(x: FloatArray, positive: slice) -> FloatArray:
    """The vector (overwritten) with 0 in place of negative variables that may not be."""
    np.maximum(x[positive], 0.0, out=x[positive])
    return x


def _steepest(x: FloatArray, free: FloatArray, positive: slice) -> float:
    """The largest distance that a variable goes along its slope, which ends at 0 if it may not be negative."""
    goes = np.abs(free)
    goes[positive] = np.abs(x[positive] - np.maximum(x[positive] - free[positive], 0.0))
    return float(goes.max(initial=0.0))


class _Curvature:
    """The inverse of the second derivatives, as the last steps tell it."""

    def __init__(self, remembered: int) -> None:
        self.steps: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=remembered)

    def remember(self, step: FloatArray, change: FloatArray) -> None:
        """Keep a step and the change of the gradient along it, unless it was bent the wrong way."""
        along = float(step @ change)
        if along > LEAST_CURVATURE * float(np.sqrt((step @ step) * (change @ change))):
            self.steps.append((step, change, along))

    def divided(self, gradient: FloatArray) -> FloatArray:
        """The gradient divided by the second derivatives; at first a vector of length one."""
        if not self.steps:
            return gradient / np.linalg.norm(gradient)
        result, shares = gradient, []
        for step, change, along in reversed(self.steps):
            shares.append(float(step @ result) / along)
            result = result - shares[-1] * change
        _, change, along = self.steps[-1]
        result *= along / float(change @ change)
        for (step, change, along), share in zip(self.steps, reversed(shares), strict=True):
            result += (share - float(change @ result) / along) * step
        return result
