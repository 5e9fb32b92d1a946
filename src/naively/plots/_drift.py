"""What has changed between two models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from naively._common.checks import require_whole
from naively.analysis._changes import PRIOR
from naively.analysis.drift import Changes, compare
from naively.classifier import NaiveBayes
from naively.errors import ParameterError
from naively.plots._axes import FAINT, INK, axes_or_new, colour_of, styled, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SURE = 0.05
"""Changes with an adjusted p-value below are drawn in colour."""


def plot_drift(before: Any, after: NaiveBayes | None = None, most: int = 15, ax: Axes | None = None) -> Axes:
    """Which columns have changed between two models, by how much, and which changes are more than chance.

    Parameters
    ----------
    before : NaiveBayes or Changes
        The earlier model, or what `naively.drift.compare` returned.
    after : NaiveBayes, optional
        The later model, of other rows.
    most : int, default=15
        How many columns are shown, those with the largest change first.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> X, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 2
    >>> before = NaiveBayes("textbook").fit(X[:100], y[:100])
    >>> plot_drift(before, NaiveBayes("textbook").fit(X[100:] + [0, 2], y[100:])).get_yticklabels()[0].get_text()
    'x1'
    """
    require_whole("most", most)
    changes = compare(before, after) if isinstance(before, NaiveBayes) and after is not None else before
    if not isinstance(changes, Changes):
        raise ParameterError("plot_drift needs two models, or what drift.compare returned.")
    classes = list(dict.fromkeys(change["class"] for change in changes if change["column"] != PRIOR))
    largest: dict[str, float] = {}
    for change in changes:
        largest[change["column"]] = max(largest.get(change["column"], 0.0), change["bits"])
    names = sorted(largest, key=lambda name: -largest[name])[:most]
    axes: Axes = axes_or_new(ax, size=(5.6, 1.0 + 0.34 * len(names)))
    codes = {label: code for code, label in enumerate(sorted(classes, key=str))}
    for change in changes:
        if change["column"] in names:
            _draw_change(change, names.index(change["column"]), codes, axes)
    for label, code in codes.items():
        axes.plot([], [], "o", color=colour_of(code), label=str(label))
    axes.plot([], [], "o", color="white", markeredgecolor=FAINT, label="may be chance")
    axes.set_yticks(np.arange(len(names)), wrapped(names, 28))
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set(xlabel="change (bits, Jensen\u2013Shannon)")
    axes.set_xlim(left=-0.005)
    return styled(axes, "both", legend=True)  # type: ignore[no-any-return]


def _draw_change(change: dict[str, Any], place: int, codes: dict[Any, int], ax: Axes) -> None:
    """A dot for the change of a column in a class, and where chance alone would put it."""
    sure = change["p_adjusted"] < SURE
    code = codes.get(change["class"])
    shift = 0.0 if code is None or len(codes) < 2 else 0.4 * (code / (len(codes) - 1) - 0.5)
    colour = INK if code is None else colour_of(code)
    ax.plot([change["expected"], change["bits"]], [place + shift] * 2, color=colour if sure else FAINT, linewidth=1.2)
    fill, edge = (colour, colour) if sure else ("white", FAINT)
    ax.plot(change["bits"], place + shift, "o", color=fill, markeredgecolor=edge, markersize=6, zorder=3)
