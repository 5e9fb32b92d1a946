"""Answers: how far probabilities can be believed, and why a row got its class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._scoring.calibration import Calibration, calibration
from naively._scoring.explanation import FIELDS, PRIOR
from naively.classifier import NaiveBayes
from naively.errors import ParameterError
from naively.plots._axes import FAINT, INK, SOFT, axes_or_new, colour_of, styled, wrapped
from naively.plots._judged import judged
from naively.typing import FloatArray, TableLike, TargetLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SURE = 1.96
"""Standard deviations to either side of an interval of 95%."""


def plot_reliability(
    calibrations: Any,
    X: TableLike | None = None,
    y: TargetLike | None = None,
    ax: Axes | None = None,
    *,
    left_out: bool = False,
) -> Axes:
    """How often the model is right where it says that it is right with some probability.

    On the diagonal, 80% means 8 times in 10. Bands are 95% intervals (Wilson), and the bars along the lower edge count
    the rows.

    Parameters
    ----------
    calibrations : model, Calibration, or dict of these by name
        Without X, models must have `calibration_`, which all recipes but "textbook" have.
    X, y : optional
        Rows to judge the models on, as in `NaiveBayes.fit`; best rows that they have not learnt.
    ax : Axes, optional
    left_out : bool, default=False
        Whether the rows of X were learnt, and each is to be judged by the model without it, as `NaiveBayes.loo` does.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from naively.demo import penguins
    >>> rows, species = penguins()
    >>> model = NaiveBayes("textbook").fit(rows, species)
    >>> plot_reliability(model, rows, species, left_out=True).get_ylabel()
    'share that is right'
    """
    given = calibrations if isinstance(calibrations, Mapping) else {"": calibrations}
    measured = {name: _measured(one, X, y, left_out) for name, one in given.items()}
    axes: Axes = axes_or_new(ax)
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle=(0, (4, 3)))
    least = 1.0
    for code, (name, one) in enumerate(measured.items()):
        weight, confidence, accuracy = one.reliability[one.reliability[:, 0] > 0].T
        low, high = _wilson(accuracy, weight)
        label = f"{name}: calibration error {one.ece:.3f}" if name else f"calibration error {one.ece:.3f}"
        axes.fill_between(confidence, low, high, color=colour_of(code), alpha=0.13, linewidth=0)
        axes.plot(confidence, accuracy, color=colour_of(code), linewidth=1.4, label=label)
        axes.scatter(confidence, accuracy, 8 + 50 * weight / weight.max(), color=colour_of(code), zorder=3)
        least = min(least, float(confidence.min()), float(accuracy.min()))
    start = max(0.0, math.floor(10 * least - 0.5) / 10)
    axes.set(xlabel="probability of the predicted class", ylabel="share that is right")
    axes.set(xlim=(start, 1.02), ylim=(start - 0.16 * (1 - start), 1.03))
    _draw_counts(measured, axes)
    axes.legend(fontsize="small", frameon=False, loc="upper left")
    return styled(axes, "both")  # type: ignore[no-any-return]


def _measured(one: Any, X: Any, y: Any, left_out: bool) -> Calibration:
    if isinstance(one, Calibration):
        return one
    if not isinstance(one, NaiveBayes):
        raise ParameterError(f"plot_reliability needs models or their calibration_, got {type(one).__name__}.")
    if X is None:
        return one.calibration_
    rows = judged(one, X, y, left_out)
    return calibration(rows.log_proba, rows.codes, rows.weights)


def _wilson(share: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The interval of a share that was seen among so many rows."""
    middle = (share + SURE**2 / (2 * weight)) / (1 + SURE**2 / weight)
    spread = share * (1 - share) / weight + SURE**2 / (4 * weight**2)
    half = SURE * np.sqrt(np.maximum(spread, 0.0)) / (1 + SURE**2 / weight)
    return middle - half, middle + half


def _draw_counts(measured: Mapping[str, Calibration], ax: Axes) -> None:
    """How many rows there are in each bin, along the lower edge."""
    strip = ax.inset_axes((0, 0, 1, 0.12), sharex=ax, zorder=0)
    for code, one in enumerate(measured.values()):
        edges = np.linspace(0, 1, len(one.reliability) + 1)
        strip.stairs(one.reliability[:, 0], edges, fill=True, color=colour_of(code), alpha=0.45, linewidth=0)
    strip.set_axis_off()
    rows = max(one.reliability[:, 0].sum() for one in measured.values())
    strip.text(0.01, 0.55, f"{rows:,.0f} rows", transform=strip.transAxes, fontsize="x-small", color=SOFT)


# -- why -------------------------------------------------------------------------------------------------------------


def plot_evidence(explanation: Any, row: int | None = None, ax: Axes | None = None, most: int = 12) -> Axes:
    """Why a row got its class, as a waterfall: each column's bits, one after the other, from the prior to the log-odds.

    Parameters
    ----------
    explanation : data frame or dict
        What `NaiveBayes.explain` returned.
    row : int, optional
        Which of its rows; by default the first.
    ax : Axes, optional
    most : int, default=12
        How many columns are shown; the weakest are put together.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> model = NaiveBayes("textbook").fit({"coat": ["fur", "fur", "down"]}, ["cat", "cat", "owl"])
    >>> plot_evidence(model.explain({"coat": ["down"]})).get_title()
    'owl: 57.1%'
    """
    columns = explanation if isinstance(explanation, Mapping) else {name: list(explanation[name]) for name in FIELDS}
    wanted = columns["row"][0] if row is None else row
    terms = [term for term in zip(*(columns[name] for name in FIELDS), strict=True) if term[0] == wanted]
    if not terms:
        raise ParameterError(f"plot_evidence(row) must be one of the explained rows, got {row!r}.")
    bars = _bars(terms, most)
    if not np.isfinite([bits for _, bits in bars]).all():
        raise ParameterError("A column rules a class out for certain: such evidence has no length. Use some smoothing.")
    axes: Axes = axes_or_new(ax, size=(6.0, 1.1 + 0.3 * len(bars)))
    total = _draw_waterfall(bars, axes)
    probability = 100 / (1 + 2.0 ** -np.clip(total, -1000, 1000))
    label = terms[0][3]
    axes.set_title(f"{label}: {_percent(probability)}%", fontsize="medium")
    axes.set_xlabel(f"\u2190 against \u00b7 bits for {label} \u2192")
    styled(axes, "x")
    axes.tick_params(axis="y", length=0)
    return axes


def _draw_waterfall(bars: list[tuple[str, float]], ax: Axes) -> float:
    """Draw the bars from the top down, with their numbers; where they end."""
    ends = np.cumsum([bits for _, bits in bars])
    starts = np.concatenate([[0.0], ends[:-1]])
    places = np.arange(len(bars))[::-1]
    colours = [colour_of(0) if end >= start else colour_of(1) for start, end in zip(starts, ends, strict=True)]
    ax.barh(places, ends - starts, 0.66, left=starts, color=colours, zorder=2)
    for place, start, end in zip(places, starts, ends, strict=True):
        right = end >= start
        text = f"{end - start:+.2f}".replace("-", "\u2212")
        offset, side = ((4, 0), "left") if right else ((-4, 0), "right")
        ax.annotate(
            text, (end, place), offset, textcoords="offset points", ha=side, va="center", fontsize="x-small", color=INK
        )
        if place:
            ax.plot([end, end], [place - 0.67, place + 0.33], color=FAINT, linewidth=0.8, zorder=1)
    ax.axvline(0, color=SOFT, linewidth=0.8, zorder=1)
    ax.set_yticks(places, wrapped([name for name, _ in bars], 34))
    ax.set_ylim(-0.7, len(bars) - 0.3)
    low, high = min(0.0, ends.min()), max(0.0, ends.max())
    room = 0.14 * ((high - low) or 1.0)
    ax.set_xlim(low - room, high + room)
    return float(ends[-1])


def _percent(percent: float) -> str:
    """Never 0 or 100 of what is neither."""
    shown = f"{percent:.1f}"
    if shown in ("0.0", "100.0") and 0 < percent < 100:
        return "<0.1" if percent < 50 else ">99.9"
    return shown


def _bars(terms: Sequence[Any], most: int) -> list[tuple[str, float]]:
    """The prior, then the columns from the strongest to the weakest, the last ones together."""
    named = [place for place, (_, name, *_) in enumerate(terms) if name == PRIOR]
    place = named[0] if named else None  # a column may be called so, too, and comes later
    prior = [] if place is None else [(PRIOR, float(terms[place][-1]))]
    others = [
        (name if value is None or value != value else f"{name} = {value}", float(bits))
        for number, (_, name, value, _, bits) in enumerate(terms)
        if number != place
    ]
    others.sort(key=lambda bar: -abs(bar[1]))
    if len(others) > most:
        rest = float(np.sum([bits for _, bits in others[most - 1 :]]))
        others = [*others[: most - 1], (f"{len(others) - most + 1} others", rest)]
    return prior + others
