"""The nomogram on paper: a scale of bits for every column, and one from their sum to the probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from naively._checks import require_whole
from naively._report.sources import Sources
from naively.classifier import NaiveBayes
from naively.errors import ParameterError
from naively.plots._axes import COLOURS, FAINT, INK, SOFT, axes_or_new, styled
from naively.typing import FloatArray, Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS = 7
"""So many values are named along a scale."""

FARTHEST = 16.0
"""Bits: scales end there."""


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
    scales = {name: scale for name, column in form.columns.items() if (scale := _scale(column, last))}
    names = sorted(scales, key=lambda name: -float(np.ptp([bits for _, bits in scales[name]])))[:most]
    if not names:
        raise ParameterError("No column of the model has a table of values for a scale. plot_words shows words.")
    axes: Axes = axes_or_new(ax, size=(7.2, 1.3 + 0.52 * len(names)))
    for place, name in enumerate(names):
        _draw_scale(scales[name], -place, form.columns[name].kind in ("label", "truth"), axes)
    axes.set_yticks(-np.arange(len(names)), names)
    total = _draw_row(model, form, names, last, row, axes) if row is not None else None
    label, rival = model.classes_[last], model.classes_[first]
    proba = "" if total is None else f": {100 / (1 + 2.0 ** -np.clip(total, -1000, 1000)):.1f}%"
    axes.set(xlabel=f"bits for {label}", ylim=(-len(names) + 0.45, 0.6), title=f"{label} against {rival}{proba}")
    axes.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
    axes.tick_params(axis="y", length=0)
    styled(axes, "x").spines["left"].set_visible(False)
    return axes


def _scale(column: Any, code: int) -> list[tuple[Any, float]]:
    """Values and their bits for a class; empty where there are none."""
    found = [(value, float(ratios[code]) / np.log(2)) for value, ratios in column.table.items()]
    return [(value, bits) for value, bits in found if abs(bits) <= FARTHEST]


def _draw_scale(scale: list[tuple[Any, float]], y: float, labels: bool, ax: Axes) -> None:
    bits = np.array([at for _, at in scale])
    ax.plot([bits.min(), bits.max()], [y, y], color=SOFT, linewidth=1.2, zorder=1)
    shown = list(range(len(scale))) if labels else np.unique(np.linspace(0, len(scale) - 1, MARKS).astype(int)).tolist()
    taken: list[float] = []
    room = 0.055 * max(np.ptp(bits), 4.0)
    for place in sorted(shown, key=lambda one: -abs(bits[one])):
        value, at = scale[place]
        ax.plot([at], [y], "|", color=SOFT, markersize=6, zorder=1)
        if all(abs(at - other) > room for other in taken):
            taken.append(at)
            text = f"{value:.4g}" if isinstance(value, float) else str(value)
            ax.annotate(text, (at, y), (0, 5), textcoords="offset points", ha="center", fontsize="x-small", color=INK)


def _draw_row(model: NaiveBayes, form: Any, names: list[str], code: int, row: Any, ax: Axes) -> float:
    """Mark the row on the scales; its log-odds in bits."""
    sources = Sources(model, row=row)
    assert sources.told is not None
    table = sources.told[0]
    terms: FloatArray = form.terms(table)[0, :, code] / np.log(2)
    at = [float(terms[model.schema_.names.index(name)]) for name in names]
    ax.plot(np.clip(at, -FARTHEST, FARTHEST), -np.arange(len(names)), "o", color=COLOURS[0], markersize=7, zorder=3)
    return float(form(table)[0, code] / np.log(2))
