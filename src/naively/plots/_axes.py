"""What all pictures share: where they are drawn, and in which colours."""

from __future__ import annotations

from typing import Any

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b", "#bcbd22", "#332288")
"""Told apart by people with any colour vision (Okabe and Ito), and a few more."""

RESOLUTION = 80
"""How many steps an axis is computed at."""


def axes_or_new(axes: Any, n_rows: int = 1, n_columns: int = 1, size: tuple[float, float] = (4.8, 3.6)) -> Any:
    """The Axes that were given, or new ones."""
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'naively[plots]'.") from error
    return pyplot.subplots(n_rows, n_columns, figsize=size, layout="constrained")[1]


def colour_of(code: int) -> str:
    """The colour of a class, everywhere the same."""
    return COLOURS[code % len(COLOURS)]
