"""The nomogram on paper: a scale of bits for every column, and one from their sum to the probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from naively._common.checks import require_whole
from naively._report.grid import grid
from naively._report.sources import Sources
from naively.classifier import NaiveBayes
from naively.errors import ParameterError, told_once
from naively.plots._axes import COLOURS, FAINT, INK, SOFT, axes_or_new, styled
from naively.typing import FloatArray, Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS = 8
"""About so many numbers are named along a scale."""

LONGEST = 24
"""Letters of a name."""

FARTHEST = 16.0
"""Bits: scales end there."""


@told_once()
def plot_nomogram(
    model: NaiveBayes,
    target: Label | None = None,
    base: Label | None = None,
    row: Any = None,
    most: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """A nomogram: what every value of every column adds, in bits; the sum gives the probability.

    Parameters
    ----------
    model : NaiveBayes
        Fitted, of a recipe whose columns speak for themselves: all but "strong".
    target, base : labels, optional
        The class that is spoken for, by default the last one, and the one that it is set against, by default the first
        of the others. With more than two classes the probability is that among these two.
    row : table of one row, optional
        A row to mark on the scales, for example a dict.
    most : int, default=10
        How many columns are shown, those with the longest scales; a row's evidence of the others is added all the same.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> model = NaiveBayes("textbook").fit({"coat": ["fur", "fur", "down"]}, ["cat", "cat", "owl"])
    >>> plot_nomogram(model, "owl", row={"coat": "down"}).get_title()
    'owl against cat: 57.1%'
    """
    require_whole("most", most)
    model = model._taken()
    model._require_classes()
    if len(model.classes_) < 2:
        raise ParameterError("A nomogram sets one class against another, and the model has only one.")
    last = len(model.classes_) - 1 if target is None else model._class_code(target)
    first = (0 if last else 1) if base is None else model._class_code(base, "base")
    if first == last:
        raise ParameterError(f"base must be another class than target, got {base!r} twice.")
    form = model.log_odds(base=model.classes_[first].item())
    sources = Sources(model, row=row)
    scales = {
        name: scale for member, name in enumerate(form.columns) if (scale := _scale(sources, form, member, name, last))
    }
    names = sorted(scales, key=lambda name: -float(np.ptp([bits for _, bits in scales[name]])))[:most]
    if not names:
        raise ParameterError("No column of the model has a table of values for a scale. plot_words shows words.")
    axes: Axes = axes_or_new(ax, size=(7.6, 1.3 + 0.55 * len(names)))
    for place, name in enumerate(names):
        _draw_scale(scales[name], -place, _width_of_a_letter(scales, names), axes)
    axes.set_yticks(-np.arange(len(names)), names)
    total = _draw_row(sources, form, names, last, axes) if row is not None else None
    label, rival = model.classes_[last], model.classes_[first]
    proba = "" if total is None else f": {100 / (1 + 2.0 ** -np.clip(total, -1000, 1000)):.1f}%"
    axes.set(xlabel=f"bits for {label}", ylim=(-len(names) + 0.45, 0.6), title=f"{label} against {rival}{proba}")
    axes.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
    axes.tick_params(axis="y", length=0)
    styled(axes, "x").spines["left"].set_visible(False)
    return axes


def _scale(sources: Sources, form: Any, member: int, name: str, code: int) -> list[tuple[str, float]]:
    """Values, as text, and their bits for a class; empty where there are none."""
    column = form.columns[name]
    if column.kind in ("point", "from"):
        known = sources.numbers_of(member)
        points = list(column.table) if known is None else known[0].tolist()
        inner = [point for point in points if np.isfinite(point)]
        marks = grid(np.array(inner), MARKS) if len(inner) > 1 else inner
        marks = [mark for mark in marks if inner[0] <= mark <= inner[-1]] or inner[:1]
        values = [(f"{mark:g}", ratios) for mark, ratios in zip(marks, column(marks), strict=True)] if marks else []
        values += [("", ratios) for ratios in column(inner)] if inner else []  # how far the scale goes
    else:
        values = [(str(value), ratios) for value, ratios in column.table.items()]
    found = [(text, float(ratios[code]) / np.log(2)) for text, ratios in values]
    return [(text, bits) for text, bits in found if abs(bits) <= FARTHEST]


def _width_of_a_letter(scales: dict[str, list[tuple[str, float]]], names: list[str]) -> float:
    """About so many bits, on the axis of all scales."""
    ends = [bits for name in names for _, bits in scales[name]] + [0.0]
    return float(np.ptp(ends)) / 105 or 0.01


def _draw_scale(scale: list[tuple[str, float]], y: float, letter: float, ax: Axes) -> None:
    """A line with a mark for every value; names above it and, where there is no room, below it or none."""
    bits = [at for _, at in scale]
    ax.plot([min(bits), max(bits)], [y, y], color=SOFT, linewidth=1.2, zorder=1)
    taken: dict[int, list[tuple[float, float]]] = {1: [], -1: []}
    for text, at in sorted((one for one in scale if one[0]), key=lambda one: -abs(one[1])):
        ax.plot([at], [y], "|", color=SOFT, markersize=6, zorder=1)
        text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "\u2026"
        half = letter * (len(text) + 2) / 2
        side = next((one for one in (1, -1) if all(abs(at - x) > half + other for x, other in taken[one])), None)
        if side is not None:
            taken[side].append((at, half))
            ax.annotate(
                text, (at, y), (0, 6 * side), textcoords="offset points", ha="center", fontsize="x-small", color=INK,
                va="bottom" if side > 0 else "top",
            )  # fmt: skip


def _draw_row(sources: Sources, form: Any, names: list[str], code: int, ax: Axes) -> float:
    """Mark the row on the scales; its log-odds in bits."""
    assert sources.told is not None
    model, table = sources.model, sources.told[0]
    terms: FloatArray = form.terms(table)[0, :, code] / np.log(2)
    at = [float(terms[model.schema_.names.index(name)]) for name in names]
    ax.plot(np.clip(at, -FARTHEST, FARTHEST), -np.arange(len(names)), "o", color=COLOURS[0], markersize=7, zorder=3)
    return float(form(table)[0, code] / np.log(2))
