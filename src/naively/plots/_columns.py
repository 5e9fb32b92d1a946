"""Columns: how they are distributed in each class, and what they say of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._common.checks import position_of
from naively._report.grid import bins, counted
from naively._report.sources import Sources
from naively._table.table import ArrayTable
from naively.classifier import NaiveBayes
from naively.errors import ParameterError
from naively.plots._axes import FAINT, RESOLUTION, SOFT, axes_or_new, colour_of, styled, wrapped
from naively.recipes import as_recipe
from naively.typing import FloatArray, Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW_BARS, SHORT = 6, 12
"""So many values, with labels of so many characters, stand side by side; others lie one below the other."""

MOST_BARS = 20


def plot_densities(model: NaiveBayes, column: Any = 0, ax: Axes | None = None) -> Axes:
    """How a column is distributed in each class: curves of numbers, over the rows behind them; bars of labels.

    Parameters
    ----------
    model : NaiveBayes
        Fitted. Of columns whose family is no density, such as counts that share a total, the evidence is drawn, in
        nats.
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
    sources, member = _one_column(model, column)
    axes: Axes = axes_or_new(ax)
    labels = _labels_of(sources, member)
    name = sources.model.schema_.names[member]
    if labels is not None and len(labels[0]) > MOST_BARS:
        axes.set_ylabel(_draw_lines(sources, *labels, axes))
    elif labels is not None:
        return _draw_bars(sources, *labels, name, axes)
    else:
        axes.set_ylabel(_draw_curves(sources, member, axes))
    axes.set_xlabel(name)
    return styled(axes, legend=True)  # type: ignore[no-any-return]


def _one_column(model: NaiveBayes, column: Any) -> tuple[Sources, int]:
    """A column that has a picture of its own."""
    model = model._taken()
    model._require_fitted()
    names = model.schema_.names
    member = position_of(column, {name: place for place, name in enumerate(names)}, "column")
    name = names[member]
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
            f"Column {name!r} holds prose, which has no curve to draw. plot_words(model, {name!r}) shows the words "
            "that say most; plot_evidence(model.explain(X)) shows which of a text spoke."
        )
    return Sources(model), member


def _labels_of(sources: Sources, member: int) -> tuple[Sequence[Label], FloatArray] | None:
    """The values and their probabilities (classes, values), if the column is one of labels or of counts."""
    if member not in sources.expecting:
        return None
    factor, place, distribution = sources.expecting[member]
    labels: tuple[Sequence[Label], FloatArray] | None = distribution.labels_of(place)
    if labels is not None:
        return labels
    if not distribution.counts:
        return None
    most = float(distribution.mean[:, place].max())
    counts = np.arange(int(most + 4 * np.sqrt(most)) + 2)
    logs = factor.estimate.tabulated(place, counts.tolist(), len(factor.members))[: len(counts)]
    return counts.tolist(), np.exp(logs).T


def _draw_bars(sources: Sources, values: Sequence[Label], probabilities: FloatArray, name: str, ax: Axes) -> Axes:
    """Bars of each class beside each other, standing where labels are short, else lying."""
    texts = wrapped(values)
    stands = (len(values) <= FEW_BARS and max(map(len, texts), default=0) <= SHORT) or not isinstance(values[0], str)
    n_classes = len(sources.model.classes_)
    width = 0.8 / n_classes
    for code, label in enumerate(sources.model.classes_.tolist()):
        shift = (code - (n_classes - 1) / 2) * width
        draw = ax.bar if stands else ax.barh
        draw(np.arange(len(values)) + shift, probabilities[code], width, color=colour_of(code), label=str(label))
    if stands:
        ax.set_xticks(np.arange(len(values)), texts)
        ax.set(xlabel=name, ylabel="probability")
    else:
        ax.set_yticks(np.arange(len(values)), texts)
        ax.invert_yaxis()
        ax.set(ylabel=name, xlabel="probability")
    return styled(ax, "y" if stands else "x", legend=True)  # type: ignore[no-any-return]


def _draw_lines(sources: Sources, values: Sequence[Label], probabilities: FloatArray, ax: Axes) -> str:
    """Very many values: one line for each class."""
    for code, label in enumerate(sources.model.classes_.tolist()):
        ax.plot(np.arange(len(values)), probabilities[code], color=colour_of(code), label=str(label))
    places = np.linspace(0, len(values) - 1, 6).astype(int)
    ax.set_xticks(places, wrapped([values[place] for place in places], 10))
    return "probability"


def _draw_curves(sources: Sources, member: int, ax: Axes) -> str:
    x = _axis(sources, member)
    factor = _density_of(sources, member)
    if factor is None:
        shown = _evidence_of(sources.model, member, x)
    else:
        of, place = factor
        shown = np.exp(of.estimate.tabulated(place, x.tolist(), len(of.members))[: len(x)])
    known = sources.numbers_of(member)
    for code, label in enumerate(sources.model.classes_.tolist()):
        if factor is not None and known is not None:
            _draw_data(known, code, ax)
        ax.plot(x, shown[:, code], color=colour_of(code), linewidth=1.6, label=str(label))
        if factor is not None and known is None:
            ax.fill_between(x, shown[:, code], color=colour_of(code), alpha=0.12, linewidth=0)
    if factor is None:
        return "evidence (nats)"
    if known is not None:  # a density may rise without end where the data has many equal values
        ax.set_ylim(0, min(1.06 * shown.max(), 2.5 * _tallest(known)))
    else:
        ax.set_ylim(bottom=0)
    return "density"


def _draw_data(known: tuple[FloatArray, FloatArray], code: int, ax: Axes) -> None:
    """The rows of a class beneath its curve, as a histogram of the same area."""
    edges = bins(known[0])
    counts = np.asarray(counted(edges, *known)[code])
    if counts.sum() > 0:
        heights = counts / counts.sum() / np.diff(edges)
        ax.stairs(heights, edges, fill=True, color=colour_of(code), alpha=0.16, linewidth=0)


def _tallest(known: tuple[FloatArray, FloatArray]) -> float:
    edges = bins(known[0])
    counts = np.asarray(counted(edges, *known))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    return float((shares / np.diff(edges)).max())


def _axis(sources: Sources, member: int) -> FloatArray:
    """The range of a column's numbers."""
    model = sources.model
    tables = [model.statistics_.table(summary) for summary in model.schema_.summaries[member]]
    low, high = max(tables, key=lambda one: one.detail).value_range(model.schema_.names[member], model.class_count_)
    factor, place = sources.owner[member] if member in sources.owner else sources.expecting[member][:2]
    if factor.estimate.positive:  # its density may have no end at 0
        points = factor.estimate.points(place, RESOLUTION)
        low, high = points[0], points[-1]
    elif factor.estimate.nonnegative:
        low = max(low, 0.0)
    return np.linspace(low, high, 2 * RESOLUTION)


def _density_of(sources: Sources, member: int) -> tuple[Any, int] | None:
    """The estimate whose evidence is the logarithm of a density of the column's cells, and the column's place there."""
    if member not in sources.expecting:
        return None
    factor, place, _ = sources.expecting[member]
    return (factor, place) if factor.family.is_distribution and not factor.family.shares_weight else None


def _evidence_of(model: NaiveBayes, member: int, cells: FloatArray) -> FloatArray:
    """The evidence (cells, classes) of values of one column."""
    positions = np.full(len(model.schema_.names), -1, dtype=np.int64)
    positions[member] = 0
    scorer = model._estimated()[0]
    return np.asarray(scorer.evidence(ArrayTable(cells[:, None]), positions)[:, member])


# -- what a column says ----------------------------------------------------------------------------------------------


def plot_effect(model: NaiveBayes, column: Any = 0, target: Label | None = None, ax: Axes | None = None) -> Axes:
    """What the values of a column say for a class against the rest, in bits, over the number of rows that stand behind.

    Parameters
    ----------
    model : NaiveBayes
        Fitted, of a recipe whose columns speak for themselves: all but "strong".
    column : str or int, default=0
        Its name or position.
    target : label, optional
        The class; by default each of them, or the second of two.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> model = NaiveBayes().fit({"size": [1.0, 2.0, 2.5, 7.0, 8.0, 9.0] * 5}, [0, 0, 0, 1, 1, 1] * 5)
    >>> plot_effect(model, "size").get_ylabel()
    'bits for 1'
    """
    sources, member = _one_column(model, column)
    model, name = sources.model, sources.model.schema_.names[member]
    model._contrast(None, None, "plot_effect")  # refuses what is no sum over columns
    if member not in sources.owner:
        raise ParameterError(f"Nothing is known of column {name!r}: it says nothing.")
    codes = [model._class_code(target)] if target is not None else _spoken_for(len(model.classes_))
    axes: Axes = axes_or_new(ax)
    factor, place = sources.owner[member]
    numbers = factor.estimate.kind in ("point", "from")
    x = _axis(sources, member) if numbers else factor.estimate.points(place, RESOLUTION)
    said = factor.estimate.tabulated(place, list(x), len(factor.members))[: len(x)]
    bits = np.stack([_against_rest(said, model.class_prior_, code) for code in codes])
    axes.axhline(0, color=FAINT, linewidth=0.8) if numbers else axes.axvline(0, color=FAINT, linewidth=0.8)
    if numbers:
        for code, line in zip(codes, bits, strict=True):
            axes.plot(x, line, color=colour_of(code), linewidth=1.6, label=str(model.classes_[code]))
        _draw_rows(sources, member, axes)
        axes.set_xlabel(name)
    else:
        _draw_effects(wrapped(list(x)), bits, codes, model.classes_.tolist(), axes)
        axes.set_ylabel(name)
    what = f"bits for {model.classes_[codes[0]]}" if len(codes) == 1 else "bits, against the rest"
    axes.set_ylabel(what) if numbers else axes.set_xlabel(what)
    return styled(axes, "y" if numbers else "x", legend=len(codes) > 1)  # type: ignore[no-any-return]


def _spoken_for(n_classes: int) -> list[int]:
    return [1] if n_classes == 2 else list(range(n_classes))


def _against_rest(said: FloatArray, prior: FloatArray, code: int) -> FloatArray:
    """The bits (values,) of evidence for a class against the others, these weighed by their prior."""
    others = np.delete(np.arange(said.shape[1]), code)
    weights = prior[others] / max(prior[others].sum(), 1e-300)
    rest = said[:, others] @ weights if len(others) else 0.0
    return np.asarray((said[:, code] - rest) / math.log(2))


def _draw_rows(sources: Sources, member: int, ax: Axes) -> None:
    """How many rows there are of each value, along the lower edge."""
    known = sources.numbers_of(member)
    if known is None:
        return
    edges = bins(known[0])
    counts = np.asarray(counted(edges, *known)).sum(axis=0)
    heights = counts / np.diff(edges)
    strip = ax.inset_axes((0, 0, 1, 0.16), sharex=ax, zorder=0)
    strip.stairs(heights, edges, fill=True, color=FAINT, alpha=0.55, linewidth=0)
    strip.set_axis_off()
    strip.text(
        1, 1.0, f"{counts.sum():,.0f} rows", transform=strip.transAxes, ha="right", fontsize="x-small", color=SOFT
    )
    low, high = ax.get_ylim()
    ax.set_ylim(low - 0.25 * (high - low), high)
    ax.set_xlim(edges[0], edges[-1])


def _draw_effects(texts: Sequence[str], bits: FloatArray, codes: Sequence[int], classes: list[Any], ax: Axes) -> None:
    """Lying bars, to the right for the class and to the left against it."""
    order = np.argsort(-bits[0], kind="stable")[:MOST_BARS]
    width = 0.8 / len(codes)
    for place, (code, line) in enumerate(zip(codes, bits, strict=True)):
        shift = (place - (len(codes) - 1) / 2) * width
        ax.barh(np.arange(len(order)) + shift, line[order], width, color=colour_of(code), label=str(classes[code]))
    ax.set_yticks(np.arange(len(order)), [texts[value] for value in order])
    ax.invert_yaxis()


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

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> model = NaiveBayes("textbook", families="gaussian").fit([[0.0, 1.0], [1.0, 0.0]] * 3, ["a", "b"] * 3)
    >>> [ax.get_title() for ax in plot_images(model, (1, 2))]
    ['a', 'b']
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
