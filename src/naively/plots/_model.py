"""A whole model: all columns at once, which of them tell most, and the words of its texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from naively._common.checks import require_whole
from naively.classifier import NaiveBayes
from naively.errors import ParameterError
from naively.plots._axes import COLOURS, axes_or_new, colour_of, styled, wrapped
from naively.plots._columns import plot_densities

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS = 3
"""So many pictures side by side."""


def plot_model(model: NaiveBayes, most: int = 12, axes: Any = None) -> Any:
    """How the columns are distributed in each class, one picture each, the most informative first.

    Parameters
    ----------
    model : NaiveBayes
        Fitted.
    most : int, default=12
        How many columns are shown.
    axes : array of Axes, optional
        At least one for each column.

    Returns
    -------
    ndarray of Axes
        One for each column that is shown. Columns of prose and those that are read together with others have no picture
        of their own, and are left out.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from naively.demo import penguins
    >>> len(plot_model(NaiveBayes().fit(*penguins())))
    6
    """
    require_whole("most", most)
    model = model._taken()
    columns = [name for name in _by_information(model) if _has_picture(model, name)][:most]
    if not columns:
        raise ParameterError("No column of the model has a distribution of its own to draw.")
    across = min(ACROSS, len(columns))
    down = -(-len(columns) // across)
    axes = np.ravel(axes_or_new(axes, down, across, (3.2 * across, 2.5 * down)))
    if len(axes) < len(columns):
        raise ParameterError(f"plot_model needs {len(columns)} Axes, got {len(axes)}.")
    for place, (name, ax) in enumerate(zip(columns, axes, strict=False)):
        plot_densities(model, name, ax).locator_params(axis="y", nbins=4)
        if place:
            ax.get_legend().remove()
    for ax in axes[len(columns) :]:
        ax.set_axis_off()
    return axes[: len(columns)]


def _by_information(model: NaiveBayes) -> list[str]:
    """The columns, the most informative first; as they stand where some have no information alone."""
    try:
        return [str(name) for name in model.rank_features()["column"]]
    except ParameterError:
        return list(model.schema_.names)


def _has_picture(model: NaiveBayes, name: str) -> bool:
    family = model.families_[name]
    return family is not None and not family.together and not model.schema_.is_text(model.schema_.names.index(name))


def plot_importance(model: NaiveBayes, by: str = "information", most: int = 20, ax: Axes | None = None) -> Axes:
    """Which columns tell most of the class, by what was learnt of each alone.

    Parameters
    ----------
    model : NaiveBayes
        Fitted.
    by : "information", "likelihood_ratio", "effect" or "weight", default="information"
        As in `NaiveBayes.rank_features`.
    most : int, default=20
        How many columns are shown.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from naively.demo import penguins
    >>> ax = plot_importance(NaiveBayes().fit(*penguins()))
    >>> ax.get_yticklabels()[0].get_text(), ax.get_xlabel()
    ('flipper_length_mm', 'information on the class (bits)')
    """
    require_whole("most", most)
    ranked = model.rank_features(by)
    names, scores = list(ranked["column"])[:most], np.asarray(list(ranked["score"]), dtype=float)[:most]
    axes: Axes = axes_or_new(ax, size=(4.8, 0.8 + 0.28 * len(names)))
    places = np.arange(len(names))
    axes.barh(places, np.maximum(scores, 0.0), 0.7, color=COLOURS[0])
    axes.set_yticks(places, wrapped(names, 28))
    axes.invert_yaxis()
    units = {"information": "information on the class (bits)", "likelihood_ratio": "likelihood ratio G"}
    axes.set_xlabel(units.get(by, by))
    for place, score in zip(places, scores, strict=True):
        beside: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(f"{score:.3g}", (max(score, 0.0), place), fontsize="x-small", **beside)
    axes.margins(x=0.12, y=0.02)
    axes.set_xlim(left=0)
    return styled(axes, "x")  # type: ignore[no-any-return]


def plot_words(model: NaiveBayes, column: Any = None, most: int = 10, axes: Any = None) -> Any:
    """The words of a column of prose that say most for each class, in bits.

    Parameters
    ----------
    model : NaiveBayes
        Fitted on a column of prose whose words can be told apart.
    column : str or int, optional
        Its name or position; by default the first column of prose.
    most : int, default=10
        How many words are shown for each class.
    axes : sequence of Axes, one per class, optional

    Returns
    -------
    ndarray of Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> texts = ["win a free prize now", "free cash now", "are you home for lunch", "call me after lunch"]
    >>> model = NaiveBayes("textbook", families="text").fit({"text": texts}, ["spam", "spam", "ham", "ham"])
    >>> [ax.get_title() for ax in plot_words(model, most=3)]
    ['ham', 'spam']
    """
    require_whole("most", most)
    top = model.top_words(column, most)
    n_classes = len(top.classes)
    across = min(ACROSS, n_classes)
    down = -(-n_classes // across)
    axes = np.ravel(axes_or_new(axes, down, across, (2.6 * across, (0.6 + 0.22 * most) * down)))
    for code, (label, ax) in enumerate(zip(top.classes.tolist(), axes, strict=False)):
        words = top.of(label)
        ax.barh(np.arange(len(words)), top.bits_of(label), 0.7, color=colour_of(code))
        ax.set_yticks(np.arange(len(words)), words)
        ax.set_ylim(most - 0.4, -0.6)
        ax.set_title(str(label), fontsize="medium")
        ax.set_xlabel("bits against the rest")
        styled(ax, "x")
    for ax in axes[n_classes:]:
        ax.set_axis_off()
    return axes[:n_classes]
