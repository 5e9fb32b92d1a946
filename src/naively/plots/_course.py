"""Pictures of what naive Bayes does: copies of a column, smoothing, outliers, and the error that must remain."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._common.checks import require_whole
from naively._table.target import read_target
from naively.analysis._tuning import tune
from naively.classifier import NaiveBayes
from naively.errors import NaivelyWarning, ParameterError
from naively.plots._axes import COLOURS, SOFT, axes_or_new, colour_of, styled
from naively.plots._surfaces import axis_of, numbers_of, two_numeric
from naively.typing import TableLike, TargetLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_copies(
    x: Any,
    y: TargetLike,
    value: float | None = None,
    most: int = 8,
    recipes: Sequence[str] = ("textbook", "auto"),
    ax: Axes | None = None,
) -> Axes:
    """The probability of a class as one column is there once, twice, ...: the textbook becomes surer with every copy.

    Parameters
    ----------
    x : array-like of shape (rows,)
        The numbers of one column.
    y : array-like of shape (rows,)
        Two classes.
    value : float, optional
        The cell whose probability is shown; by default the mean of the column within the last class.
    most : int, default=8
        How many copies.
    recipes : sequence of str, default=("textbook", "auto")
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> x, y = np.arange(40.0) % 7, np.arange(40) % 7 > 3
    >>> plot_copies(x, y, most=2, recipes=["textbook"]).get_xlabel()
    'number of copies of the column'
    """
    require_whole("most", most)
    x = np.asarray(x, dtype=np.float64)
    classes, codes = read_target(y, len(x))
    if x.ndim != 1 or len(classes) != 2:
        raise ParameterError("plot_copies needs one column of numbers and two classes.")
    value = float(x[codes == 1].mean()) if value is None else value
    axes: Axes = axes_or_new(ax, size=(4.8, 3.2))
    numbers = np.arange(1, most + 1)
    for place, recipe in enumerate(recipes):
        models = [NaiveBayes(recipe).fit(np.column_stack([x] * n), y) for n in numbers.tolist()]
        shown = [model.predict_proba([[value] * n])[0, 1] for n, model in zip(numbers.tolist(), models, strict=True)]
        colour = COLOURS[1 - place] if place < 2 else colour_of(place)
        axes.plot(numbers, shown, "o-", color=colour, markersize=4, linewidth=1.4, label=recipe)
    axes.set(xlabel="number of copies of the column", ylabel=f"probability of {classes[1]}")
    axes.set_ylim(axes.get_ylim()[0], 1.01)
    return styled(axes, legend=True)  # type: ignore[no-any-return]


def plot_smoothing(
    model: NaiveBayes, X: TableLike, y: TargetLike, pseudo_counts: Sequence[float] | None = None, ax: Axes | None = None
) -> Axes:
    """The log-loss of left-out rows against the pseudo-count: too little smoothing, and too much.

    Parameters
    ----------
    model : NaiveBayes
        Of recipe "textbook"; it need not be fitted.
    X, y
        Rows and their classes.
    pseudo_counts : sequence of float, optional
        By default 25 from 0.01 to 100.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> rows, classes = [{"a": "x"}, {"a": "y"}, {"a": "x"}, {"a": "y"}], [0, 1, 0, 0]
    >>> plot_smoothing(NaiveBayes("textbook"), rows, classes, [0.5, 1.0]).get_xscale()
    'log'
    """
    taus = np.geomspace(0.01, 100, 25) if pseudo_counts is None else np.asarray(pseudo_counts, dtype=np.float64)
    result = tune(model, X, y, {"smoothing": taus.tolist()}, folds="loo", scoring="log_loss")
    losses = np.asarray(result.scores["log_loss"])[:, 0]
    axes: Axes = axes_or_new(ax, size=(4.8, 3.2))
    axes.semilogx(taus, losses, color=COLOURS[0], linewidth=1.6)
    best = int(losses.argmin())
    axes.plot(taus[best], losses[best], "o", color=COLOURS[0], markersize=5)
    axes.set(xlabel="pseudo-count tau", ylabel="log-loss of left-out rows (nats)")
    for tau, name in ((1.0, "Laplace"), (0.5, "Jeffreys")):
        axes.axvline(tau, color=SOFT, linewidth=0.8, linestyle=":")
        axes.annotate(name, (tau, axes.get_ylim()[1]), rotation=90, va="top", ha="right", fontsize="small", color=SOFT)
    return styled(axes)  # type: ignore[no-any-return]


def plot_outliers(
    model: NaiveBayes, X: TableLike, outliers: Any = None, columns: Sequence[Any] = (0, 1), ax: Axes | None = None
) -> Axes:
    """The log-density of rows by two columns: low for what is unlike all that was learnt.

    Parameters
    ----------
    model : NaiveBayes
        Fitted, of recipe "textbook", on columns of numbers.
    X : table
        Rows that are drawn as points, and whose range is shown.
    outliers : table, optional
        Rows to mark.
    columns : two names or positions, default=(0, 1)
        All other columns are taken as unknown.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> X = np.array([[1.0, 2.0], [2.0, 1.0], [8.0, 9.0], [9.0, 8.0]])
    >>> plot_outliers(NaiveBayes("textbook").fit(X, [0, 0, 1, 1]), X, [[1.0, 9.0]]).get_xlabel()
    'x0'
    """
    model = model._taken()
    model._require_fitted()
    members = two_numeric(model, columns)
    drawn = numbers_of(model, members, X)
    marked = None if outliers is None else numbers_of(model, members, outliers)
    points = drawn if marked is None else np.concatenate([drawn, marked])
    x, y = (axis_of(model, member, values) for member, values in zip(members, points.T, strict=True))
    cells = np.full((len(x) * len(y), len(model.schema_.names)), np.nan)
    cells[:, members] = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    grid = dict(zip(model.schema_.names, cells.T, strict=True)) if model.schema_.named else cells
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaivelyWarning)  # the cells of a grid are unlike rows, on purpose
        density = model.score_samples(grid)
    top = float(density.max())
    axes: Axes = axes_or_new(ax, size=(4.8, 3.2))
    steps = [top - below for below in (32.0, 22.0, 12.0, 7.0, 4.0, 1.0)]
    axes.contourf(
        x,
        y,
        np.maximum(density, steps[0]).reshape(len(y), len(x)),
        levels=[*steps, top + 1e-9],
        cmap="Blues",
        alpha=0.85,
    )
    axes.plot(*drawn.T, ".", color=SOFT, markersize=3, label="learnt")
    if marked is not None:
        axes.plot(*marked.T, "x", color=COLOURS[1], markeredgewidth=1.8, label="outliers")
    axes.set(xlabel=model.schema_.names[members[0]], ylabel=model.schema_.names[members[1]])
    styled(axes, None)
    axes.legend(fontsize="small", frameon=True, framealpha=0.9, edgecolor="none", loc="upper left")
    return axes


def plot_bayes_error(
    model: NaiveBayes,
    sizes: Sequence[int] = (10, 20, 50, 100, 200, 500, 1000, 5000),
    repeats: int = 10,
    seed: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """If the model were the truth: the error of models that learn from it, and the error that must remain.

    Parameters
    ----------
    model : NaiveBayes
        Fitted, of recipe "textbook": rows are drawn from it.
    sizes : sequence of int
        How many rows the models learn.
    repeats : int, default=10
        How many models of each size; their mean error is shown.
    seed : int, default=0
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> model = NaiveBayes("textbook").fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> plot_bayes_error(model, sizes=(10, 100), repeats=2).get_xlabel()
    'rows learnt'
    """
    require_whole("repeats", repeats)
    best = model.bayes_error(20_000, seed=seed)
    rows, _ = model.sample(10_000, seed=seed + 1)
    doubt = 1 - model.predict_proba(rows)
    labels = model.classes_.tolist()

    def error(n: int, draw: int) -> float:
        """The error of a model of n rows, by the true probabilities."""
        X, y = model.sample(n, y=[labels[place % len(labels)] for place in range(n)], seed=draw)
        said = NaiveBayes("textbook").fit(X, y).predict(rows)
        codes = np.array([labels.index(label) for label in said.tolist()])
        return float(doubt[np.arange(len(codes)), codes].mean())

    errors = [np.mean([error(int(n), draw) for draw in range(repeats)]) for n in sizes]
    axes: Axes = axes_or_new(ax, size=(4.8, 3.2))
    axes.axhline(best.error, color=SOFT, linewidth=0.9, linestyle=(0, (4, 3)), label="Bayes error")
    axes.semilogx(sizes, errors, "o-", color=COLOURS[0], markersize=4, linewidth=1.4, label="fitted model")
    axes.set(xlabel="rows learnt", ylabel="error")
    return styled(axes, legend=True)  # type: ignore[no-any-return]
