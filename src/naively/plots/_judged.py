"""A model on rows whose class is known: confusion, ROC, precision and recall, and what the prior does to these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from naively._table.target import read_rows
from naively.classifier import NaiveBayes
from naively.errors import ParameterError
from naively.plots._axes import COLOURS, FAINT, INK, SOFT, axes_or_new, colour_of, styled, wrapped
from naively.typing import FloatArray, IntArray, Label, TableLike, TargetLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Judged(NamedTuple):
    """The log-probabilities (rows, classes) of rows, their class codes and weights."""

    log_proba: FloatArray
    codes: IntArray
    weights: FloatArray


def judged(model: NaiveBayes, X: TableLike, y: TargetLike, left_out: bool = False) -> Judged:
    """The answers of a model for rows whose class is known; of the model without the row, if so wanted."""
    if y is None:
        raise ParameterError("X needs y: the classes of its rows, or the name of the column that holds them.")
    table, classes, codes, weights = read_rows(X, y, None)
    known = np.array([model._class_code(label, "y") for label in classes.tolist()], dtype=np.int64)[codes]
    log_proba = model.loo(X, y) if left_out else model.predict_log_proba(table)
    return Judged(log_proba, known, np.ones(len(known)) if weights is None else weights)


def plot_confusion(
    model: NaiveBayes, X: TableLike, y: TargetLike, ax: Axes | None = None, *, left_out: bool = False
) -> Axes:
    """How many rows of each class were taken for which; shades are shares of the true class.

    Parameters
    ----------
    model : NaiveBayes
    X, y
        Rows and their classes, as in `NaiveBayes.fit`; best rows that the model has not learnt.
    ax : Axes, optional
    left_out : bool, default=False
        Whether the rows were learnt, and each is to be judged by the model without it, as `NaiveBayes.loo` does.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from naively.demo import penguins
    >>> rows, species = penguins()
    >>> ax = plot_confusion(NaiveBayes("textbook").fit(rows, species), rows, species, left_out=True)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('predicted', 'true')
    """
    rows = judged(model, X, y, left_out)
    labels = wrapped(model.classes_.tolist(), 14)
    counts = np.zeros((len(labels), len(labels)))
    np.add.at(counts, (rows.codes, rows.log_proba.argmax(axis=1)), rows.weights)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    side = 1.4 + 0.62 * min(len(labels), 16)
    axes: Axes = axes_or_new(ax, size=(side + 0.5, side))
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1.15, aspect="equal")
    if len(labels) <= 16:
        for true, said in np.ndindex(counts.shape):
            colour = "white" if shares[true, said] > 0.6 else INK if counts[true, said] else FAINT
            axes.text(
                said, true, f"{counts[true, said]:,.0f}", ha="center", va="center", color=colour, fontsize="small"
            )
    places = np.arange(len(labels)) if len(labels) <= 30 else np.linspace(0, len(labels) - 1, 12).astype(int)
    upright = len(labels) > 8 and max(map(len, labels)) > 4
    axes.set_xticks(places, [labels[place] for place in places], rotation=90 if upright else 0)
    axes.set_yticks(places, [labels[place] for place in places])
    right = counts.trace() / counts.sum()
    axes.set(xlabel="predicted", ylabel="true", title=f"{100 * right:.1f}% of {counts.sum():,.0f} rows are right")
    axes.title.set_fontsize("medium")
    styled(axes, None)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    return axes


def plot_roc(
    model: Any,
    X: TableLike,
    y: TargetLike,
    target: Label | None = None,
    ax: Axes | None = None,
    *,
    left_out: bool = False,
) -> Axes:
    """The ROC curve: of the rows of a class, how many are found; of the others, how many are taken for it.

    Parameters
    ----------
    model : NaiveBayes, or dict of these by name
    X, y
        Rows and their classes; best rows that the models have not learnt.
    target : label, optional
        The class to be found; by default the last of two, and each of more against the rest.
    ax : Axes, optional
    left_out : bool, default=False
        Whether the rows were learnt, and each is to be judged by the model without it, as `NaiveBayes.loo` does.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1]
    >>> plot_roc(NaiveBayes("textbook").fit(X, y), X, y).get_legend().get_texts()[0].get_text()
    '1: area 0.750'
    """
    axes: Axes = axes_or_new(ax, size=(4.4, 4.0))
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle=(0, (4, 3)))
    for code, (name, wanted, scores, weights) in enumerate(_tasks(model, X, y, target, left_out)):
        taken, found = _steps(wanted, scores, weights)
        area = float(np.trapezoid(found, taken))
        axes.plot(taken, found, color=colour_of(code), linewidth=1.6, label=f"{name}: area {area:.3f}")
    axes.set(xlabel="share of the others that is taken for it", ylabel="share of the class that is found")
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    axes.legend(fontsize="small", frameon=False, loc="lower right")
    styled(axes, "both")
    return axes


def plot_precision_recall(
    model: Any,
    X: TableLike,
    y: TargetLike,
    target: Label | None = None,
    ax: Axes | None = None,
    *,
    left_out: bool = False,
) -> Axes:
    """Precision against recall: of what is taken for a class, how much is; of the class, how much is found.

    Parameters
    ----------
    model, X, y, target, ax, left_out
        As in `plot_roc`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1]
    >>> plot_precision_recall(NaiveBayes("textbook").fit(X, y), X, y).get_xlabel()
    'recall: share of the class that is found'
    """
    axes: Axes = axes_or_new(ax, size=(4.4, 4.0))
    for code, (name, wanted, scores, weights) in enumerate(_tasks(model, X, y, target, left_out)):
        taken, found = _steps(wanted, scores, weights)
        of_class, of_others = weights[wanted].sum(), weights[~wanted].sum()
        called = found * of_class + taken * of_others
        precision = np.where(called > 0, found * of_class / np.maximum(called, 1e-300), 1.0)
        mean = float(np.sum(np.diff(found) * precision[1:]))
        axes.step(found, precision, where="pre", color=colour_of(code), linewidth=1.6, label=f"{name}: mean {mean:.3f}")
        axes.axhline(of_class / (of_class + of_others), color=colour_of(code), linewidth=0.8, linestyle=":")
    axes.set(xlabel="recall: share of the class that is found", ylabel="precision: share that is right")
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.03))
    axes.legend(fontsize="small", frameon=False, loc="lower left")
    styled(axes, "both")
    return axes


def _tasks(models: Any, X: Any, y: Any, target: Any, left_out: bool) -> list[tuple[str, Any, FloatArray, FloatArray]]:
    """For each curve: its name, which rows are of the class, how much they seem so, and their weights."""
    named = models if isinstance(models, dict) else {"": models}
    found = []
    for name, model in named.items():
        rows = judged(model, X, y, left_out)
        n_classes = len(model.classes_)
        if n_classes < 2:
            raise ParameterError("A class is found among others, and the model has only one.")
        chosen = [model._class_code(target)] if target is not None else [1] if n_classes == 2 else range(n_classes)
        for code in chosen:
            label = " ".join(part for part in (name, str(model.classes_[code])) if part)
            if not 0 < (rows.codes == code).mean() < 1:
                raise ParameterError(f"y must have rows of the class {model.classes_[code]!r} and of others.")
            rest = np.logaddexp.reduce(np.delete(rows.log_proba, code, axis=1), axis=1)
            with np.errstate(invalid="ignore"):
                odds = np.nan_to_num(rows.log_proba[:, code] - rest, nan=0.0)
            found.append((label, rows.codes == code, odds, rows.weights))
    return found


def _steps(wanted: Any, scores: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The shares of the others and of the class that score at least each threshold, from (0, 0) to (1, 1)."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    shares = [np.cumsum(np.where(of, weights, 0.0)[order])[ends] for of in (~wanted, wanted)]
    taken, found = (np.concatenate([[0.0], share / share[-1]]) for share in shares)
    return taken, found


def plot_prior(
    model: NaiveBayes,
    X: TableLike,
    y: TargetLike,
    target: Label | None = None,
    ax: Axes | None = None,
    *,
    left_out: bool = False,
) -> Axes:
    """Precision and recall of a class as its prior moves: a prior is a threshold.

    Parameters
    ----------
    model : NaiveBayes
        Of two classes.
    X, y, left_out
        As in `plot_roc`.
    target : label, optional
        The class; by default the last.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1]
    >>> plot_prior(NaiveBayes("textbook").fit(X, y), X, y).get_xlabel()
    'prior probability of 1'
    """
    if len(model.classes_) != 2:
        raise ParameterError(f"plot_prior is for two classes, and the model has {len(model.classes_)}.")
    code = 1 if target is None else model._class_code(target)
    rows = judged(model, X, y, left_out)
    prior = np.log(np.maximum(model.class_prior_, 1e-300))
    evidence = rows.log_proba[:, code] - rows.log_proba[:, 1 - code] - (prior[code] - prior[1 - code])
    shares = np.linspace(0.01, 0.99, 99)
    taken = (evidence[None, :] + np.log(shares / (1 - shares))[:, None] > 0) * rows.weights
    own = rows.codes == code
    total = taken.sum(axis=1)
    precision = np.where(total > 0, taken[:, own].sum(axis=1) / np.maximum(total, 1e-300), np.nan)
    axes: Axes = axes_or_new(ax, size=(4.8, 3.2))
    axes.plot(shares, precision, color=COLOURS[0], linewidth=1.6, label="precision")
    axes.plot(
        shares, taken[:, own].sum(axis=1) / rows.weights[own].sum(), color=COLOURS[1], linewidth=1.6, label="recall"
    )
    axes.axvline(
        rows.weights[own].sum() / rows.weights.sum(), color=SOFT, linewidth=0.9, linestyle=":", label="class frequency"
    )
    axes.set(xlabel=f"prior probability of {model.classes_[code]}", ylabel="share")
    return styled(axes, legend=True)  # type: ignore[no-any-return]
