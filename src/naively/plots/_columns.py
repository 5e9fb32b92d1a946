"""Columns: how they are distributed in each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._schema import position_of
from naively._table.table import ArrayTable
from naively.analysis._sampling import distributions
from naively.classifier import NaiveBayes
from naively.errors import ParameterError
from naively.plots._axes import RESOLUTION, axes_or_new, colour_of
from naively.recipes import as_recipe
from naively.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_densities(model: NaiveBayes, column: Any = 0, ax: Axes | None = None) -> Axes:
    """How a column is distributed in each class: curves for numbers, bars for labels and counts.

    Parameters
    ----------
    model : NaiveBayes
        Fitted. For recipes and families whose evidence is no density, the evidence is drawn, in nats.
    column : str or int, default=0
        Its name or position.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> model = NaiveBayes("textbook").fit({"coat": ["fur", "fur", "down"]}, ["cat", "cat", "owl"])
    >>> plot_densities(model, "coat").get_ylabel()
    'probability'
    """
    model = model._taken()
    model._require_fitted()
    names = model.schema_.names
    member = position_of(column, {name: place for place, name in enumerate(names)}, "column")
    axes: Axes = axes_or_new(ax)
    labels = _labels_of(model, member)
    if labels is not None:
        _draw_bars(model, *labels, axes)
        axes.set_ylabel("probability")
    else:
        axes.set_ylabel(_draw_curves(model, member, axes))
    axes.set_xlabel(names[member])
    axes.legend(fontsize="small")
    return axes


def _labels_of(model: NaiveBayes, member: int) -> tuple[list[str], FloatArray] | None:
    """The values and their probabilities (classes, values), if the column is one of labels or of counts."""
    name = model.schema_.names[member]
    if not model.schema_.summaries[member]:
        raise ParameterError(f"Nothing is known of column {name!r}: it has no distribution.")
    family = model._checked_families(as_recipe(model.recipe))[member]
    if family is not None and family.together:
        raise ParameterError(
            f"Column {name!r} is read together with others, so it has no distribution of its own to draw. Draw it from "
            "a model without factors."
        )
    if model.schema_.is_text(member):
        raise ParameterError(
            f"Column {name!r} holds prose, which has no curve to draw. parameters()[{name!r}] has its tokens' "
            "probabilities in recipe='textbook'; plot_evidence(model.explain(X)) shows which tokens spoke."
        )
    (factor,) = model._expecting_factors(member)
    place = factor.members.tolist().index(member)
    try:
        (distribution,) = distributions([factor], model.schema_, model.statistics_)
    except ParameterError:
        return None
    if (labels := distribution.labels_of(place)) is not None:
        values, probabilities = labels
        return [f"{value:g}" if isinstance(value, float) else str(value) for value in values], probabilities
    if distribution.counts:
        most = float(distribution.mean[:, place].max())
        counts = np.arange(int(most + 4 * np.sqrt(most)) + 2)
        logs = factor.estimate.tabulated(place, counts.tolist(), len(factor.members))[: len(counts)]
        return [str(count) for count in counts.tolist()], np.exp(logs).T
    return None


def _draw_bars(model: NaiveBayes, values: Sequence[str], probabilities: FloatArray, ax: Axes) -> None:
    n_classes = len(model.classes_)
    width = 0.8 / n_classes
    for code, label in enumerate(model.classes_.tolist()):
        places = np.arange(len(values)) + (code - (n_classes - 1) / 2) * width
        ax.bar(places, probabilities[code], width, color=colour_of(code), label=str(label))
    ax.set_xticks(np.arange(len(values)), values)


def _draw_curves(model: NaiveBayes, member: int, ax: Axes) -> str:
    tables = [model.statistics_.table(summary) for summary in model.schema_.summaries[member]]
    low, high = max(tables, key=lambda one: one.detail).value_range(model.schema_.names[member])
    (factor,) = (factor for factor in model._estimated()[0].factors if member in factor.members)
    if factor.estimate.positive:  # its density may have no end at 0
        points = factor.estimate.points(factor.members.tolist().index(member), RESOLUTION)
        low, high = points[0], points[-1]
    elif factor.estimate.nonnegative:
        low = max(low, 0.0)
    x = np.linspace(low, high, 4 * RESOLUTION)
    logs = _evidence_of(model, member, x)
    density = _is_density(model, member)
    for code, label in enumerate(model.classes_.tolist()):
        shown = np.exp(logs[:, code]) if density else logs[:, code]
        ax.plot(x, shown, color=colour_of(code), label=str(label))
        if density:
            ax.fill_between(x, shown, color=colour_of(code), alpha=0.15, linewidth=0)
    return "density" if density else "evidence (nats)"


def _is_density(model: NaiveBayes, member: int) -> bool:
    if as_recipe(model.recipe).tempering is not None:
        return False
    factors = [factor for factor in model._estimated()[0].factors if member in factor.members]
    try:
        distributions(factors, model.schema_, model.statistics_)
    except ParameterError:
        return False
    return True


def _evidence_of(model: NaiveBayes, member: int, cells: FloatArray) -> FloatArray:
    """The evidence (cells, classes) of values of one column."""
    positions = np.full(len(model.schema_.names), -1, dtype=np.int64)
    positions[member] = 0
    scorer = model._estimated()[0]
    return np.asarray(scorer.evidence(ArrayTable(cells[:, None]), positions)[:, member])


def plot_images(model: NaiveBayes, shape: tuple[int, int], parameter: str = "mean", axes: Any = None) -> Any:
    """The parameters of every class as a picture, for models whose columns are pixels.

    Parameters
    ----------
    model : NaiveBayes
        Fitted on one column per pixel.
    shape : (height, width)
    parameter : str, default="mean"
        What to show: a parameter that every column has, such as "mean", "variance" or "probability".
    axes : sequence of Axes, one per class, optional

    Returns
    -------
    ndarray of Axes
    """
    parameters = model.parameters()
    absent = [
        name for name in model.schema_.names if not isinstance(parameters.get(name, {}).get(parameter), np.ndarray)
    ]
    if absent:
        raise ParameterError(f"Column {absent[0]!r} has no parameter {parameter!r} to show as a pixel.")
    if int(np.prod(shape)) != len(model.schema_.names):
        raise ParameterError(f"shape {shape!r} has {int(np.prod(shape))} pixels; there are {len(parameters)} columns.")
    pixels = np.stack([parameters[name][parameter] for name in model.schema_.names], axis=1)
    n_classes = len(model.classes_)
    low = min(float(pixels.min()), 0.0)
    axes = np.ravel(axes_or_new(axes, 1, n_classes, (0.9 * n_classes, 1.2)))
    for label, image, ax in zip(model.classes_.tolist(), pixels, axes, strict=True):
        ax.imshow(image.reshape(shape), cmap="gray_r", interpolation="none", vmin=low, vmax=pixels.max())
        ax.set_title(str(label), fontsize="small")
        ax.set_axis_off()
    return axes
