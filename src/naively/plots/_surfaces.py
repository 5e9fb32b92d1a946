"""Decision surfaces: which class the model gives to which values of two columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from naively._common.checks import position_of
from naively._scoring.decision import Decider
from naively._table.read import read_table
from naively._table.table import ArrayTable
from naively._table.target import read_target
from naively.classifier import NaiveBayes
from naively.errors import ParameterError
from naively.families import Gaussian
from naively.plots._axes import RESOLUTION, SOFT, axes_or_new, colour_of, styled
from naively.typing import FloatArray, IntArray, TableLike, TargetLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SURE_LEADS = ((0.0, 0.13), (2.2, 0.13))
"""Nats by which a class leads the next one, even odds and 9 to 1, and how much colour each step adds."""

SHAPES: dict[Literal["none", "feature", "class", "all"], str] = {
    "none": "curved",
    "feature": "straight",
    "class": "curved",
    "all": "straight",
}
"""The boundaries that tied variances give."""


def plot_decision_surface(
    model: NaiveBayes,
    X: TableLike,
    y: TargetLike | None = None,
    columns: Sequence[Any] = (0, 1),
    ax: Axes | None = None,
) -> Axes:
    """Which class the model gives to which values of two columns, all other columns not being known.

    Parameters
    ----------
    model : NaiveBayes
        Fitted.
    X : table
        The rows whose range is shown, and which are drawn as points.
    y : array, optional
        Their classes, for the points' colours; without it no points are drawn.
    columns : two names or positions, default=(0, 1)
        Columns of numbers.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_decision_surface(NaiveBayes("textbook").fit(X, y), X, y, columns=(2, 3))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x2', 'x3')
    """
    model = model._taken()
    model._require_fitted()
    members = two_numeric(model, columns)
    points = numbers_of(model, members, X)
    codes = None if y is None else _codes(model, y, len(points))
    axes: Axes = axes_or_new(ax)
    _draw_surface(model, members, points, axes)
    if codes is not None:
        _draw_points(model, points, codes, axes)
    axes.set(xlabel=model.schema_.names[members[0]], ylabel=model.schema_.names[members[1]])
    return styled(axes, None)  # type: ignore[no-any-return]


def two_numeric(model: NaiveBayes, columns: Sequence[Any]) -> list[int]:
    """The positions of two columns of numbers."""
    index = {name: place for place, name in enumerate(model.schema_.names)}
    if isinstance(columns, str) or not isinstance(columns, Sequence) or len(columns) != 2:
        raise ParameterError(f"columns must be two names or positions, got {columns!r}.")
    members = [position_of(column, index, "columns") for column in columns]
    for member in members:
        if not (model.schema_.is_numeric(member) or model.schema_.is_cut(member)):
            raise ParameterError(f"Column {model.schema_.names[member]!r} holds no numbers: it has no axis to draw.")
    return members


def numbers_of(model: NaiveBayes, members: Sequence[int], X: TableLike) -> FloatArray:
    """The numbers of some columns of a table, (rows, columns), each of which must have a range."""
    table, positions = model.schema_.matched(read_table(X))
    there = np.array(members) if positions is None else positions[members]
    numbers = table.numbers(there, slice(0, table.n_rows))
    for member, values in zip(members, numbers.T, strict=True):
        if np.isnan(values).all():
            raise ParameterError(
                f"X has no number in the column {model.schema_.names[member]!r}, whose range is to be shown."
            )
    return numbers


def _codes(model: NaiveBayes, y: Any, n_rows: int) -> IntArray:
    classes, codes = read_target(y, n_rows)
    return np.array([model._class_code(label, "y") for label in classes.tolist()], dtype=np.int64)[codes]


def _draw_surface(model: NaiveBayes, members: Sequence[int], points: FloatArray, ax: Axes) -> None:
    x, y = (axis_of(model, member, values) for member, values in zip(members, points.T, strict=True))
    cells = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    logs = _log_proba_of(model, members, cells)
    for code in range(len(model.classes_)):
        others = np.delete(logs, code, axis=1).max(axis=1, initial=-np.inf)
        lead = np.clip(logs[:, code] - others, -50, 50).reshape(RESOLUTION, RESOLUTION)
        if lead.max() < 0:
            continue
        for least, strength in SURE_LEADS:
            ax.contourf(x, y, lead, levels=[least, 1e9], colors=[colour_of(code)], alpha=strength)
        if lead.min() < 0 and code < len(model.classes_) - 1:  # the last one's boundaries are those of the others
            ax.contour(x, y, lead, levels=[0], colors=SOFT, linewidths=0.8)
    ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))


def axis_of(model: NaiveBayes, member: int, values: FloatArray) -> FloatArray:
    """The range of the values with some room around it, but not below zero where counts belong."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.08 * (high - low or 1.0)
    counts = any(summary.nonnegative for summary in model.schema_.summaries[member])
    return np.linspace(max(low - room, 0.0) if counts else low - room, high + room, RESOLUTION)


def _log_proba_of(model: NaiveBayes, members: Sequence[int], cells: FloatArray) -> FloatArray:
    """The log-probability of each class where only these columns are known."""
    scorer, logs = model._estimated()
    positions = np.full(len(model.schema_.names), -1, dtype=np.int64)
    positions[list(members)] = np.arange(len(members))
    result = np.empty((len(cells), len(model.classes_)))
    decider = Decider(logs)

    def finish(scores: FloatArray, rows: slice) -> None:
        decider.normalise(scores, rows)
        result[rows] = scores

    scorer.run(ArrayTable(cells), positions, finish, 1)
    return result


def _draw_points(model: NaiveBayes, points: FloatArray, codes: IntArray, ax: Axes) -> None:
    for code, label in enumerate(model.classes_.tolist()):
        own = points[codes == code]
        ax.plot(own[:, 0], own[:, 1], ".", color=colour_of(code), markersize=4, label=str(label))
    ax.legend(fontsize="small", frameon=True, framealpha=0.85, edgecolor="none")


def plot_ties(X: TableLike, y: TargetLike, columns: Sequence[Any] = (0, 1), axes: Any = None) -> Any:
    """The decision surfaces of the four ways to tie Gaussian variances.

    The boundary between two classes is straight if and only if the variances do not depend on the class ("feature" and
    "all"); otherwise it is a conic section, and with one variance per class ("class") a circle in equal units.

    Parameters
    ----------
    X, y
        Rows and their classes.
    columns : two names or positions, default=(0, 1)
    axes : 2 x 2 array of Axes, optional

    Returns
    -------
    ndarray of Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> plot_ties(X, y)[0, 1].get_title()
    'ties="feature": straight'
    """
    axes = axes_or_new(axes, 2, 2, (6.4, 5.2))
    for (ties, shape), ax in zip(SHAPES.items(), np.ravel(axes), strict=True):
        model = NaiveBayes("textbook", families=Gaussian(ties=ties)).fit(X, y)
        plot_decision_surface(model, X, y, columns, ax).locator_params(nbins=5)
        ax.set_title(f'ties="{ties}": {shape}', fontsize="medium")
    return axes
