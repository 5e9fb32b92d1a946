"""Answers: how far probabilities can be believed, and why a row got its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._scoring.calibration import Calibration
from naively._scoring.explanation import FIELDS, PRIOR
from naively.classifier import NaiveBayes
from naively.errors import ParameterError
from naively.plots._axes import axes_or_new, colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_reliability(calibrations: Any, ax: Axes | None = None) -> Axes:
    """How often the model is right where it says that it is right with some probability.

    Parameters
    ----------
    calibrations : model, Calibration, or dict of these by name
        Models must have `calibration_`, which all recipes but "textbook" have.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    given = calibrations if isinstance(calibrations, Mapping) else {"": calibrations}
    axes: Axes = axes_or_new(ax)
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
    for code, (name, one) in enumerate(given.items()):
        measured = one.calibration_ if isinstance(one, NaiveBayes) else one
        if not isinstance(measured, Calibration):
            raise ParameterError(f"plot_reliability needs models or their calibration_, got {type(one).__name__}.")
        known = measured.reliability[:, 0] > 0
        weight, confidence, accuracy = measured.reliability[known].T
        label = f"{name}: calibration error {measured.ece:.3f}" if name else f"calibration error {measured.ece:.3f}"
        axes.plot(confidence, accuracy, color=colour_of(code), linewidth=1, label=label)
        axes.scatter(confidence, accuracy, 4 + 60 * weight / weight.max(), color=colour_of(code))
    axes.set(xlabel="probability of the predicted class", ylabel="share that is right", xlim=(0, 1.03), ylim=(0, 1.03))
    axes.legend(fontsize="small")
    return axes


def plot_evidence(explanation: Any, row: int | None = None, ax: Axes | None = None, most: int = 12) -> Axes:
    """Why a row got its class: each column's bits, one after the other, from the prior to the log-odds.

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
    'owl: 0.57'
    """
    columns = explanation if isinstance(explanation, Mapping) else {name: list(explanation[name]) for name in FIELDS}
    wanted = columns["row"][0] if row is None else row
    terms = [term for term in zip(*(columns[name] for name in FIELDS), strict=True) if term[0] == wanted]
    if not terms:
        raise ParameterError(f"plot_evidence(row) must be one of the explained rows, got {row!r}.")
    bars = _bars(terms, most)
    if not np.isfinite([bits for _, bits in bars]).all():
        raise ParameterError("A column rules a class out for certain: such evidence has no length. Use some smoothing.")
    ends = np.cumsum([bits for _, bits in bars])
    starts = np.concatenate([[0.0], ends[:-1]])
    axes: Axes = axes_or_new(ax, size=(5.2, 1.0 + 0.28 * len(bars)))
    colours = [colour_of(0) if end >= start else colour_of(1) for start, end in zip(starts, ends, strict=True)]
    places = np.arange(len(bars))[::-1]
    axes.barh(places, ends - starts, left=starts, color=colours)
    axes.axvline(0, color="#444444", linewidth=0.8)
    axes.plot([ends[-1]] * 2, [-0.6, len(bars) - 0.4], color="#444444", linewidth=0.8, linestyle=":")
    axes.set_yticks(places, [name for name, _ in bars])
    probability = 1 / (1 + 2.0 ** -np.clip(ends[-1], -1000, 1000))
    axes.set(xlabel="bits", title=f"{terms[0][3]}: {probability:.2f}", ylim=(-0.6, len(bars) - 0.4))
    return axes


def _bars(terms: Sequence[Any], most: int) -> list[tuple[str, float]]:
    """The prior, then the columns from the strongest to the weakest, the last ones together."""
    prior = [(PRIOR, float(bits)) for _, name, _, _, bits in terms if name == PRIOR]
    others = [
        (name if value is None or value != value else f"{name} = {value}", float(bits))
        for _, name, value, _, bits in terms
        if name != PRIOR
    ]
    others.sort(key=lambda bar: -abs(bar[1]))
    if len(others) > most:
        rest = float(np.sum([bits for _, bits in others[most - 1 :]]))
        others = [*others[: most - 1], (f"{len(others) - most + 1} others", rest)]
    return prior + others
