"""The columns that add to each other: one after the other, by the leave-one-out log-likelihood of the classes.

A model is a sum over columns, and so is leave-one-out: the state is the sum, (rows, classes), of the columns chosen so
far, and trying one more is adding its slab. Nothing is fitted again.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from naively._common.checks import require_whole
from naively._scoring.decision import Decider
from naively._scoring.leave_one_out import left_out_evidence
from naively._table.results import Columns, Result, Shown
from naively.classifier import NaiveBayes
from naively.engines._threads import thread_count
from naively.errors import InputError, ParameterError
from naively.recipes import as_recipe
from naively.typing import FloatArray, IntArray, TableLike, TargetLike, WeightsLike

LARGEST_EVIDENCE = 1 << 28
"""The most numbers (rows x columns x classes) that are held at once: 2 GiB."""


@dataclass(frozen=True, repr=False)
class ForwardSelection(Result):
    """What was chosen, in which order, and what each gained.

    Parameters
    ----------
    columns : list of str
        The chosen ones, the first first.
    gains : list of float
        What each added to the leave-one-out log-likelihood, in nats.
    log_likelihood : list of float
        Of the classes, leave-one-out: of the prior alone, and after each choice.
    rejected : dict
        What each of the other columns would have gained next.
    reason : "no gain", "max_features" or "all chosen"
        Why it ended there.
    """

    columns: list[str]
    gains: list[float]
    log_likelihood: list[float]
    rejected: dict[str, float]
    reason: str

    def _columns(self) -> Columns:
        numbers = {"gain": self.gains, "log_likelihood": self.log_likelihood[1:]}
        return {"column": ("U", self.columns), **{name: ("f", cells) for name, cells in numbers.items()}}

    def _shown(self) -> Shown:
        lines = [["", "log-likelihood", "gain"], ["prior", f"{self.log_likelihood[0]:.2f}", ""]]
        for name, gain, value in zip(self.columns, self.gains, self.log_likelihood[1:], strict=True):
            lines.append([name, f"{value:.2f}", f"{gain:+.2f}"])
        return Shown(lines, (1, 2), note=f"ended: {self.reason}; {len(self.rejected)} columns left out")


def forward_selection(
    model: NaiveBayes,
    X: TableLike,
    y: TargetLike,
    sample_weight: WeightsLike | None = None,
    *,
    max_features: int | None = None,
    min_gain: float | None = None,
) -> ForwardSelection:
    """Choose columns one after the other, each the one that makes the classes of left-out rows most probable.

    Parameters
    ----------
    model : NaiveBayes
        Of the recipe "textbook", fitted or not: its parameters are used, and it stays as it is.
    X, y, sample_weight
        As in `NaiveBayes.fit`.
    max_features : int, optional
        End after so many.
    min_gain : float, optional
        End where the best of the others gains no more than this, in nats; by default 2 and the logarithm of the number
        of columns, which the best of so many columns that tell nothing seldom gains.

    Returns
    -------
    ForwardSelection

    Notes
    -----
    Each column is estimated once, in the model of all columns. For columns that share parameters (`Multinomial` groups,
    variances tied over columns) that differs a little from a model of the chosen ones alone. What is gained is that of
    the best of many tries, so it flatters: judge the result on other rows. A row that is the only one of its class
    counts for nothing, as no model without it can tell its class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forward_selection(NaiveBayes("textbook"), X, y)
                       log-likelihood     gain
    prior                     -166.82
    petal width (cm)           -18.78  +148.04
    petal length (cm)          -11.79    +6.99
    ended: no gain; 2 columns left out
    """
    most = _checked(model, max_features, min_gain)
    least = None if min_gain is None else float(min_gain)
    fitted = clone(model).fit(X, y, sample_weight)
    rows, decider = fitted._learnt_rows(X, y, sample_weight)
    names, n_classes = fitted.schema_.names, len(fitted.classes_)
    if len(rows.codes) * len(names) * n_classes > LARGEST_EVIDENCE:
        raise InputError(
            f"{len(rows.codes)} rows of {len(names)} columns and {n_classes} classes are too many to be tried in "
            "memory. Give a sample of the rows, or choose among the columns first: SelectByEvidence(k=...)."
        )
    recipe = as_recipe(fitted.recipe)
    families, smoothings = fitted._checked_families(recipe), fitted._smoothings(names, recipe)
    n_threads = thread_count(fitted.n_threads)
    evidence = left_out_evidence(fitted.schema_, families, smoothings, fitted.statistics_, rows, n_threads)
    chosen, path, gains, reason = _climb(
        evidence, decider, rows.codes, rows.weights, most, 2 + math.log(len(names)) if least is None else least
    )
    return ForwardSelection(
        [names[place] for place in chosen],
        [after - before for before, after in pairwise(path)],
        path,
        {names[place]: gain for place, gain in gains.items()},
        reason,
    )._of(X)


def _checked(model: Any, max_features: Any, min_gain: Any) -> float:
    if not isinstance(model, NaiveBayes):
        raise ParameterError(f"forward_selection(model) must be a NaiveBayes, got {type(model).__name__}.")
    if as_recipe(model.recipe).tempering is not None:
        raise ParameterError(
            f"Recipe {model.recipe!r} weighs all columns together, so they cannot be added one by one. Use "
            "NaiveBayes('textbook', families=...), for example with families=Stacked(), and give the chosen columns to "
            "the other recipe."
        )
    is_number = isinstance(min_gain, numbers.Real) and not isinstance(min_gain, bool)
    if min_gain is not None and not (is_number and np.isfinite(float(min_gain))):
        raise ParameterError(f"min_gain must be a finite number, got {min_gain!r}.")
    if max_features is None:
        return np.inf
    return float(require_whole("max_features", max_features))


def _climb(
    evidence: FloatArray, decider: Decider, codes: IntArray, weights: FloatArray, most: float, min_gain: float
) -> tuple[list[int], list[float], dict[int, float], str]:
    """The chosen columns, the log-likelihood along the way, what the others would gain next, and why it ended."""
    every_row = np.arange(len(codes))
    counts = (weights > 0) & np.isfinite(decider.log_prior[every_row, codes])

    def log_likelihood(scores: FloatArray) -> float:
        decider.normalise(scores, slice(0, len(scores)))
        return float((weights * np.where(counts, scores[every_row, codes], 0.0)).sum())

    state = np.zeros((len(codes), evidence.shape[2]))
    chosen: list[int] = []
    path, waiting = [log_likelihood(state.copy())], list(range(evidence.shape[1]))
    while True:
        gains = {place: log_likelihood(state + evidence[:, place]) - path[-1] for place in waiting}
        better = [place for place in waiting if gains[place] > min_gain]
        if not waiting or not better or len(chosen) >= most:
            reason = "all chosen" if not waiting else "no gain" if not better else "max_features"
            return chosen, path, gains, reason
        best = max(better, key=lambda place: gains[place])  # the first of equals
        state += evidence[:, best]
        path.append(path[-1] + gains[best])
        chosen.append(best)
        waiting.remove(best)
