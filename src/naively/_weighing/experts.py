"""The experts: each is fitted on all kept rows, tempered on their left-out scores, and scores new columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import log_softmax

from naively._weighing.additive import AdditiveModel, Reweighted
from naively._weighing.design import Design
from naively._weighing.joint_gaussian import (
    JointGaussian,
    Rescaling,
    choose_joint_gaussian,
    count_moments,
    normal_scores,
    rescale,
)
from naively._weighing.kept import FittedRows
from naively._weighing.pool import temper, tempered
from naively._weighing.terms import Column, take_rows
from naively._weighing.weights import scores
from naively.families._curves import Curve, Curves
from naively.typing import FloatArray, IntArray

MOST_GAUSSIAN_COLUMNS = 256


class Expert(Protocol):
    """A source of log-probabilities."""

    @property
    def name(self) -> str:
        """What to call it in a report."""

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""


FittedExpert = tuple[Expert, FloatArray]
"""An expert and its log-probabilities of the learnt rows, each by what did not learn it."""


@dataclass(frozen=True)
class AdditiveExpert:
    """The additive model as it is: its scores, and nothing of what they were fitted on."""

    scores: Reweighted
    name: str = "additive"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        places, curves, others = self._parts
        scores = others(columns)
        if places:
            scores = np.ascontiguousarray(scores)
            curves.add_to(scores, np.stack([columns[place][1] for place in places]).T)
        return np.asarray(log_softmax(scores, axis=1))

    @cached_property
    def _parts(self) -> tuple[list[int], Curves, Reweighted]:
        """The columns whose terms are curves, these curves, and the start with all other terms."""
        curved = [term for term in self.scores.terms if term.kind == "numeric"]
        silence = np.zeros(len(self.scores.start))
        curves = Curves(tuple(Curve(term.knots, term.table, silence) for term in curved))
        others = [term for term in self.scores.terms if term.kind != "numeric"]
        return [term.column for term in curved], curves, Reweighted(self.scores.start, others)


@dataclass(frozen=True)
class LearntRows:
    """What experts are fitted on.

    Parameters
    ----------
    additive : AdditiveModel
    columns : list of Column
        All kept rows; one that occurred several times may be in several folds.
    rows : FittedRows
        Their classes, weights and folds.
    removed : ndarray (rows,)
        What one occurrence of each row gives to sums of their weights.
    of_additive : ndarray
        Those on which the weights of the additive model were fitted, in its order.
    """

    additive: AdditiveModel
    columns: list[Column]
    rows: FittedRows
    removed: FloatArray
    of_additive: IntArray

    @property
    def target(self) -> IntArray:
        """The class of each row."""
        return self.rows.codes

    @property
    def weights(self) -> FloatArray:
        """The weight of each row."""
        return self.rows.weights

    @property
    def folds(self) -> IntArray:
        """The fold of each row."""
        return self.rows.folds

    @property
    def additive_expert(self) -> AdditiveExpert:
        """The additive model."""
        return AdditiveExpert(self.additive.scores)

    @cached_property
    def design(self) -> Design:
        """The left-out evidence of the additive model's terms."""
        return self.additive.left_out(self.columns, self.rows)

    @cached_property
    def additive_log_proba(self) -> FloatArray:
        """Log-probabilities (rows, classes) of the additive model, each by estimates and weights without the row.

        The weights of the model were fitted on some of the rows: these are answered by weights of the other folds.
        """
        log_proba = np.asarray(log_softmax(scores(self.design, self.additive.fitted).T, axis=1))
        loo = self.additive.loo
        first, n_parts = np.unique(loo.rows, return_index=True, return_counts=True)[1:]
        of_row = np.add.reduceat(loo.log_posterior, first, axis=0) / n_parts[:, None]
        place = np.searchsorted(loo.rows[first], self.rows.rows)
        known = loo.rows[first][np.minimum(place, len(first) - 1)] == self.rows.rows
        log_proba[known] = log_softmax(of_row[place[known]], axis=1)
        return log_proba


def learnt_rows(
    additive: AdditiveModel, columns: Sequence[Column], rows: FittedRows, weights: FloatArray
) -> LearntRows:
    """The kept rows as experts learn them.

    Parameters
    ----------
    additive : AdditiveModel
    columns : sequence of Column
        All kept rows.
    rows : FittedRows
        The same, dealt to folds.
    weights : ndarray
        What the kept rows count.
    """
    return LearntRows(
        additive,
        take_rows(columns, rows.rows),
        rows,
        weights[rows.rows] / rows.occurrences,
        np.searchsorted(rows.rows, additive.loo.rows),
    )


@dataclass(frozen=True)
class GaussianExpert:
    """A joint Gaussian of the numeric columns that may bend, beside the tempered evidence of the others."""

    chosen: IntArray
    rescalings: tuple[Rescaling, ...]
    model: JointGaussian
    other_scores: Reweighted
    temperature: float
    name: str = "joint Gaussian"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        rescaled = rescale(self.rescalings, [columns[index][1] for index in self.chosen])
        return tempered(self.model.scores(rescaled) + self.other_scores(columns), self.temperature)


def fit_gaussian(learnt: LearntRows) -> FittedExpert | None:
    """A joint Gaussian of the numeric columns that vary and may bend; None without any, or with too many."""
    changes = {
        index: change
        for index, (kind, values) in enumerate(learnt.columns)
        if kind == "numeric"
        and index not in learnt.additive.monotone
        and (change := normal_scores(values, learnt.weights)) is not None
    }
    if not 0 < len(changes) <= MOST_GAUSSIAN_COLUMNS:
        return None
    chosen, rescalings = np.array(list(changes), dtype=np.int64), tuple(changes.values())
    rescaled = rescale(rescalings, [learnt.columns[index][1] for index in chosen])
    other_scores, scorer = _other_columns(learnt)
    n_classes = len(learnt.additive.log_prior)
    moments = count_moments(rescaled, learnt.target, n_classes, learnt.weights)
    some = learnt.of_additive
    model = choose_joint_gaussian(
        moments, rescaled[some], learnt.target[some], learnt.weights[some], learnt.removed[some], other_scores[some]
    )
    left_out = model.loo_scores(rescaled, learnt.target, learnt.removed) + other_scores
    temperature, log_proba = temper(left_out, learnt.target, learnt.weights)
    return GaussianExpert(chosen, rescalings, model, scorer, temperature), log_proba


def _other_columns(learnt: LearntRows) -> tuple[FloatArray, Reweighted]:
    """The tempered evidence of all terms but the free numbers: of the learnt rows, and a scorer of new ones."""
    model, design = learnt.additive, learnt.design
    n_classes = len(model.log_prior)
    weight = min(1.0, model.loo.temperature) * design.counted * ~model.free_numeric_weights
    scorer = model.reweighted(
        np.zeros(n_classes),
        np.repeat(weight[None], n_classes, axis=0),
        np.zeros((n_classes, design.effects.shape[1])),
    )
    return (design.evidence @ weight.astype(design.evidence.dtype)).T, scorer
