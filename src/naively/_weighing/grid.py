"""The value of a grid that has the least loss, without a look at all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Least(NamedTuple):
    """A value of a grid, and the loss that it has."""

    value: float
    loss: float


def downhill(loss: Callable[[float], float], grid: Sequence[float]) -> Least:
    """The value at which a loss is least: from the middle of the grid on, it is followed as long as it falls.

    Parameters
    ----------
    loss : callable
        Expected to fall to the least one from both sides.
    grid : sequence of float
        In order.

    Examples
    --------
    >>> downhill(lambda value: (value - 2.0) ** 2, [0.1, 0.3, 1.0, 3.0, 10.0])
    Least(value=1.0, loss=1.0)
    """
    known: dict[int, float] = {}
    place, best = -1, len(grid) // 2
    while place != best:
        place = best
        around = range(max(place - 1, 0), min(place + 2, len(grid)))
        known |= {one: _comparable(loss(grid[one])) for one in around if one not in known}
        best = min(around, key=known.__getitem__)
    return Least(grid[best], known[best])


def _comparable(loss: float) -> float:
    """A loss that is no number is no reason to go there, and must not stop the search from ending."""
    return float("inf") if math.isnan(loss) else loss
