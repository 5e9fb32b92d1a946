"""The least of smooth functions some of whose variables may not be negative: projected L-BFGS.

SciPy's L-BFGS-B takes its bounds one variable at a time in Python, which costs more than the search itself where there
are thousands. Here a step is a few dozen products of vectors, and several functions that are much alike are searched
side by side: they share what a step costs beside its arithmetic.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from naively.typing import AnyArray, FloatArray, IntArray

Function = Callable[[FloatArray], tuple[float, FloatArray]]
"""Gives the value and the gradient, at a vector."""

Functions = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray]]
"""Gives the values (some,) and the gradients (some, variables) of some functions, at a vector of each."""

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

    def alone(x: FloatArray, _: IntArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = function(x[0])
        return np.array([value]), np.array(gradient, dtype=np.float64)[None]

    return np.asarray(least_of_each(alone, start[None], positive, search)[0])


def least_of_each(functions: Functions, starts: FloatArray, positive: slice, search: Search) -> FloatArray:
    """The vectors (functions, variables) at which convex functions of the same variables are least.

    Variables at 0 that would fall below it stay there for a step, and all others follow the quasi-Newton direction, cut
    off at 0 (Bertsekas, 1982).

    Parameters
    ----------
    functions : callable
        Maps vectors, and which functions they are for, to the values there and the gradients.
    starts : ndarray (functions, variables)
    positive : slice
        The variables that may not be negative.
    search : Search
    """
    x = _cut_off(starts.astype(np.float64), positive)
    going = np.arange(len(x))
    found, at = x.copy(), _Places(x, *functions(x, going))
    curvature = _Curvature(len(x), search.remembered)
    for _ in range(search.steps):
        steep = _steepest(at, positive) > search.slope
        if not steep.all():
            at, going = at.some(steep), going[steep]
            curvature.keep(steep)
        if not len(going):
            break
        enough = search.gain * np.maximum(np.abs(at.value), 1.0)
        direction = _downhill(at, curvature, positive)
        length, moved = _line_search(_of_some(functions, going), at, direction, positive, enough)
        better = moved.value < at.value  # else no more than `enough` can be gained, and rounding hides it
        found[going[better]] = moved.x[better]
        gain = (at.value - moved.value) / np.maximum(np.maximum(np.abs(at.value), np.abs(moved.value)), 1.0)
        on = better & ((length < 1.0) | (gain > search.gain))
        curvature.remember(moved.x - at.x, moved.gradient - at.gradient)
        at = moved
        if not on.all():
            at, going = at.some(on), going[on]
            curvature.keep(on)
    return found


class _Places(NamedTuple):
    """A vector for each function, and the value and the gradient there."""

    x: FloatArray
    value: FloatArray
    gradient: FloatArray

    def some(self, chosen: AnyArray) -> _Places:
        """Those of some of the functions."""
        return _Places(self.x[chosen], self.value[chosen], self.gradient[chosen])

    def held(self, positive: slice) -> AnyArray:
        """Which of the variables that may not be negative would fall below 0."""
        return (self.x[:, positive] <= 0.0) & (self.gradient[:, positive] > 0.0)


def _of_some(functions: Functions, going: IntArray) -> Functions:
    """The functions that are still searched."""
    return lambda x, some: functions(x, going[some])


def _downhill(at: _Places, curvature: _Curvature, positive: slice) -> FloatArray:
    """The direction to go: variables that would fall below 0 stay, and do not move others."""
    held, free = at.held(positive), at.gradient.copy()
    free[:, positive][held] = 0.0
    direction = -curvature.divided(free)
    direction[:, positive][held] = 0.0
    return direction


def _line_search(
    functions: Functions, at: _Places, direction: FloatArray, positive: slice, enough: FloatArray
) -> tuple[FloatArray, _Places]:
    """Steps that bring their share of what the slopes promise: their lengths, and where they lead.

    One of which the slope promises no more than `enough`, or nothing that is a number, may bring anything.
    """
    length, every = np.ones(len(at.x)), np.arange(len(at.x))
    x = _cut_off(at.x + direction, positive)
    moved = _Places(x, *functions(x, every))
    while True:
        promised = np.vecdot(at.gradient, moved.x - at.x)
        short = ~(moved.value <= at.value + LEAST_DECREASE * promised) & (-promised > enough)
        if not short.any():
            return length, moved
        again, promised = every[short], promised[short]
        # The parabola through the value, the slope and the new value is least there.
        length[again] *= np.clip(-promised / (2.0 * (moved.value[again] - at.value[again] - promised)), 0.1, 0.5)
        moved.x[again] = _cut_off(at.x[again] + length[again, None] * direction[again], positive)
        moved.value[again], moved.gradient[again] = functions(moved.x[again], again)


def _cut_off(x: FloatArray, positive: slice) -> FloatArray:
    """The vectors (overwritten) with 0 in place of negative variables that may not be."""
    np.maximum(x[:, positive], 0.0, out=x[:, positive])
    return x


def _steepest(at: _Places, positive: slice) -> FloatArray:
    """The largest distance that a variable goes along its slope, which ends at 0 if it may not be negative."""
    goes = np.abs(at.gradient)
    bounded = at.x[:, positive]
    goes[:, positive] = np.abs(bounded - np.maximum(bounded - at.gradient[:, positive], 0.0))
    return np.asarray(goes.max(axis=1, initial=0.0))


class _Curvature:
    """The inverses of the second derivatives of functions, as the last steps tell them."""

    def __init__(self, n_functions: int, remembered: int) -> None:
        self.steps: deque[tuple[FloatArray, FloatArray, FloatArray]] = deque(maxlen=remembered)
        self.scale = np.zeros(n_functions)

    def remember(self, step: FloatArray, change: FloatArray) -> None:
        """Keep steps and the changes of the gradients along them; one that is bent the wrong way tells nothing."""
        along, squared = np.vecdot(step, change), np.vecdot(change, change)
        told = along > LEAST_CURVATURE * np.sqrt(np.vecdot(step, step) * squared)
        inverse = np.divide(1.0, along, out=np.zeros_like(along), where=told)
        self.scale = np.where(told, along / np.where(told, squared, 1.0), self.scale)
        self.steps.append((step, change, inverse))

    def keep(self, chosen: AnyArray) -> None:
        """Go on with some of the functions."""
        self.scale = self.scale[chosen]
        self.steps = deque(((a[chosen], b[chosen], c[chosen]) for a, b, c in self.steps), self.steps.maxlen)

    def divided(self, gradient: FloatArray) -> FloatArray:
        """The gradients divided by the second derivatives; vectors of length one where nothing is known of these."""
        result, shares = gradient, []
        for step, change, inverse in reversed(self.steps):
            shares.append(np.vecdot(step, result) * inverse)
            result = result - shares[-1][:, None] * change
        scale = np.where(self.scale > 0.0, self.scale, 1.0 / np.linalg.norm(gradient, axis=1))
        result = result * scale[:, None]
        for (step, change, inverse), share in zip(self.steps, reversed(shares), strict=True):
            result += (share - np.vecdot(change, result) * inverse)[:, None] * step
        return result
