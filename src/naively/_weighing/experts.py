"""The experts: each is fitted on all kept rows, tempered on their left-out scores, and scores new columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import log_softmax

from naively._weighing.additive import AdditiveModel, Reweighted, dealt_folds, dealt_rows, left_out_design
from naively._weighing.joint_gaussian import (
    JointGaussian,
    Rescaling,
    choose_joint_gaussian,
    count_moments,
    normal_scores,
    rescale,
)
from naively._weighing.pool import temper, tempered
from naively._weighing.softmax import one_repetition
from naively._weighing.terms import Column, take_rows
from naively._weighing.weights import Design, scores
from naively.typing import FloatArray, IntArray

FOLDS = 4
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
    """The additive model as it is."""

    model: AdditiveModel
    name: str = "additive"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        return self.model.log_proba(columns)


@dataclass(frozen=True)
class LearntRows:
    """What experts are fitted on.

    Parameters
    ----------
    additive : AdditiveModel
    columns : list of Column
        All kept rows; one that was learnt several times appears several times, with a share of its weight.
    target, weights, removed, folds : ndarray (rows,)
        Class, weight, how much of the weight is left out with the row, and fold of each.
    of_additive : ndarray
        Those on which the weights of the additive model were fitted, in its order.
    """

    additive: AdditiveModel
    columns: list[Column]
    target: IntArray
    weights: FloatArray
    removed: FloatArray
    folds: IntArray
    of_additive: IntArray

    @property
    def additive_expert(self) -> AdditiveExpert:
        """The additive model."""
        return AdditiveExpert(self.additive)

    @cached_property
    def design(self) -> Design:
        """The left-out evidence of the additive model's terms."""
        model = self.additive
        return left_out_design(
            model.sources, model.indicators, model.bases, model.prior, self.columns, self.target, self.weights
        )

    @cached_property
    def additive_log_proba(self) -> FloatArray:
        """Log-probabilities (rows, classes) of the additive model, each by estimates and weights without the row.

        The weights of the model were fitted on some of the rows: these are answered by weights of the other folds.
        """
        log_proba = np.asarray(log_softmax(scores(self.design, self.additive.fitted).T, axis=1))
        log_proba[self.of_additive] = self.additive.loo.log_posterior
        return log_proba


def learnt_rows(
    additive: AdditiveModel, columns: Sequence[Column], target: IntArray, weights: FloatArray
) -> LearntRows:
    """The kept rows as experts learn them."""
    rows, dealt_weights = dealt_rows(weights)
    first = np.searchsorted(rows, additive.loo.rows)
    copy = np.arange(len(first)) - np.searchsorted(additive.loo.rows, additive.loo.rows)
    return LearntRows(
        additive,
        take_rows(columns, rows),
        target[rows],
        dealt_weights,
        one_repetition(dealt_weights),
        dealt_folds(target[rows], FOLDS),
        first + copy,
    )


@dataclass(frozen=True)
class GaussianExpert:
    """A joint Gaussian of the numeric columns beside the tempered evidence of the others."""

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
    """A joint Gaussian of the numeric columns that vary; None without any, or with too many."""
    changes = {
        index: change
        for index, (kind, values) in enumerate(learnt.columns)
        if kind == "numeric" and (change := normal_scores(values, learnt.weights)) is not None
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
    """The tempered evidence of all terms but the numeric values: of the learnt rows, and a scorer of new ones."""
    model, design = learnt.additive, learnt.design
    n_classes = len(model.log_prior)
    weight = min(1.0, model.loo.temperature) * design.counted * ~model.numeric_weights
    scorer = model.reweighted(
        0.0,
        np.zeros(n_classes),
        np.repeat(weight[None], n_classes, axis=0),
        np.zeros((n_classes, design.effects.shape[1])),
    )
    return (design.evidence @ weight).T, scorer
