"""What all pictures share: where they are drawn, in which colours, and how plain they are."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b", "#bcbd22", "#332288")
"""Told apart by people with any colour vision (Okabe and Ito), and a few more."""

INK, SOFT, FAINT, LINE = "#1a1e23", "#565e68", "#a9afb7", "#e4e6e9"
"""Text; text beside it; what is drawn beside the matter; rules."""

LETTERS_PER_INCH, SAMPLE = 16.0, 5
"""How many small letters are as long as an inch, and as a legend's sample of a colour with the space about it."""

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


def styled(ax: Any, rules: str | None = "y", legend: bool = False) -> Any:
    """The Axes in the one style of all pictures: no frame, soft ticks, light rules ("x", "y", "both" or None)."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(FAINT)
    ax.tick_params(colors=SOFT, labelsize="small", length=3, color=FAINT)
    ax.xaxis.label.set_color(SOFT)
    ax.yaxis.label.set_color(SOFT)
    ax.title.set_color(INK)
    if rules is not None:
        ax.grid(axis=rules, color=LINE, linewidth=0.8)
        ax.set_axisbelow(True)
    if legend:  # above the picture, where it hides nothing, in as many columns as there is room for
        room = (1 - ax.get_position().x0) * ax.figure.get_figwidth() * LETTERS_PER_INCH  # to the figure's edge
        columns = _columns_within(room, ax.get_legend_handles_labels()[1])
        place = {"loc": "lower left", "bbox_to_anchor": (-0.02, 1.0), "ncols": columns, "borderaxespad": 0.2}
        ax.legend(fontsize="small", frameon=False, labelcolor=INK, handlelength=1.4, columnspacing=1.2, **place)
    return ax


def _columns_within(room: float, labels: Sequence[str]) -> int:
    """The columns of a legend, at most four, that are not longer together than so many letters.

    Examples
    --------
    >>> _columns_within(40, ["Adelie", "Chinstrap", "Gentoo"]), _columns_within(40, ["Adelie", "Chinstrap" * 3])
    (3, 1)
    """
    for columns in range(min(len(labels), 4), 1, -1):
        parts = np.array_split([len(label) + SAMPLE for label in labels], columns)
        if sum(int(part.max()) for part in parts) <= room:
            return columns
    return 1


def wrapped(labels: Sequence[Any], width: int = 22) -> list[str]:
    r"""Labels as text, the long ones in several lines, none longer than three.

    Examples
    --------
    >>> wrapped(["radio or television", 3.0], 10)
    ['radio or\ntelevision', '3']
    """
    texts = [f"{label:g}" if isinstance(label, float) else str(label) for label in labels]
    return ["\n".join(textwrap.wrap(text, width, max_lines=3, placeholder="\u2026")) or text for text in texts]
