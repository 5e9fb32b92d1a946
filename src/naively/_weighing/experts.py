"""The experts: each is fitted on all kept rows, tempered on their left-out scores, and scores new columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from naively._weighing.additive import AdditiveModel, Reweighted
from naively._weighing.design import Design
from naively._weighing.joint_gaussian import (
    JointGaussian,
    Rescaling,
    asked_rows,
    choose_joint_gaussian,
    count_moments,
    normal_scores,
    rescale,
)
from naively._weighing.kept import FittedRows
from naively._weighing.pool import temper, tempered
from naively._weighing.softmax import log_softmax
from naively._weighing.terms import Column, take_rows
from naively._weighing.weights import scores
from naively.families._curves import Curve, Curves
from naively.typing import AnyArray, FloatArray, IntArray

MOST_GAUSSIAN_COLUMNS = 256

MOST_MATRIX_CELLS = 1 << 21
"""Cells that the matrices of all classes may have in the joint Gaussian (16 MB, of which a fit holds several)."""

MOST_ANSWERS = 1 << 21
"""Left-out answers (rows x classes) that an expert may give (16 MB). Where all learnt rows would take more, only those
are asked on which the additive weights were fitted, and nothing is boosted, since every partition asks all rows."""


class Expert(Protocol):
    """A source of log-probabilities."""

    @property
    def name(self) -> str:
        """What to call it in a report."""

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""


class FittedExpert(NamedTuple):
    """An expert, and what was said of the rows that it learnt by what did not learn them.

    Parameters
    ----------
    expert : Expert
    left_out : ndarray (rows, classes)
        Log-probabilities.
    noise : ndarray (rows, classes), optional
        Errors that these have and the expert has not, who is the mean of more: not the very ones, but as large.
    """

    expert: Expert
    left_out: FloatArray
    noise: FloatArray | None = None


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
        return log_softmax(scores, axis=1)

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
        All kept rows; one that occurred several times may be in several parts.
    rows : FittedRows
        Their classes, weights, parts and folds.
    removed : ndarray (rows,)
        What one occurrence of each row gives to sums of their weights.
    """

    additive: AdditiveModel
    columns: list[Column]
    rows: FittedRows
    removed: FloatArray

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
    def all_asked(self) -> bool:
        """Whether experts answer for every row."""
        return len(self.target) * len(self.additive.log_prior) <= MOST_ANSWERS

    @cached_property
    def is_asked(self) -> AnyArray:
        """Which of the rows experts answer for (rows,)."""
        return np.isin(self.rows.rows, self.additive.loo.rows) | self.all_asked

    @cached_property
    def asked(self) -> LearntRows:
        """The rows that experts answer for, each by what did not learn it: the pool is fitted on these.

        Rare classes have more than their share of these rows: they count as much, together, as among all.
        """
        chosen = np.flatnonzero(self.is_asked)
        if len(chosen) == len(self.target):
            return self
        rows = self.rows.taken(chosen)
        of_all, of_asked = (
            np.bincount(part.codes, part.weights, len(self.additive.log_prior)) for part in (self.rows, rows)
        )
        worth = np.divide(of_all, of_asked, out=np.zeros(len(of_all)), where=of_asked > 0)
        rows = replace(rows, weights=rows.weights * worth[rows.codes] * (of_asked.sum() / of_all.sum()))
        return LearntRows(self.additive, take_rows(self.columns, chosen), rows, self.removed[chosen])

    @property
    def of_additive(self) -> IntArray:
        """Those on which the weights of the additive model were fitted, in its order."""
        return np.searchsorted(self.rows.rows, self.additive.loo.rows)

    @property
    def additive_expert(self) -> AdditiveExpert:
        """The additive model."""
        return AdditiveExpert(self.additive.scores)

    def normal_scores(self, place: int) -> Rescaling | None:
        """How the numbers of a column become normal scores, None if they are constant: one for all experts."""
        if place not in self._normal_scores:
            self._normal_scores[place] = normal_scores(self.columns[place][1], self.weights)
        return self._normal_scores[place]

    @cached_property
    def _normal_scores(self) -> dict[int, Rescaling | None]:
        return {}

    @cached_property
    def log_prior(self) -> FloatArray:
        """The log-prior (rows, classes) without each row."""
        return self.additive.prior.without(self.rows.codes, self.rows.removed).T

    @cached_property
    def design(self) -> Design:
        """The left-out evidence of the additive model's terms."""
        return self.additive.left_out(self.columns, self.rows)

    @cached_property
    def additive_log_proba(self) -> FloatArray:
        """Log-probabilities (rows, classes) of the additive model, each by estimates and weights without the row.

        The weights of the model were fitted on some of the rows: these are answered by weights of the other folds.
        """
        loo = self.additive.loo
        first, n_parts = np.unique(loo.rows, return_index=True, return_counts=True)[1:]
        of_row = np.add.reduceat(loo.log_posterior, first, axis=0) / n_parts[:, None]
        place = np.searchsorted(loo.rows[first], self.rows.rows)
        known = loo.rows[first][np.minimum(place, len(first) - 1)] == self.rows.rows
        if known.all():
            return log_softmax(of_row[place], axis=1)
        log_proba = log_softmax(scores(self.design, self.additive.fitted).T, axis=1)
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
        The same, dealt to parts.
    weights : ndarray
        What the kept rows count.
    """
    return LearntRows(additive, take_rows(columns, rows.rows), rows, weights[rows.rows] / rows.occurrences)


@dataclass(frozen=True)
class GaussianExpert:
    """A joint Gaussian of the numeric columns that may bend, beside the tempered evidence of the others."""

    chosen: IntArray
    rescalings: tuple[Rescaling, ...]
    model: JointGaussian
    other_scores: Reweighted
    log_prior: FloatArray
    temperature: float
    name: str = "joint Gaussian"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        rescaled = np.concatenate(asked_rows(columns).rescaled(self.rescalings, self.chosen.tolist()), axis=1)
        return tempered(self.model.scores(rescaled) + self.other_scores(columns), self.log_prior, self.temperature)


def fit_gaussian(learnt: LearntRows) -> FittedExpert | None:
    """A joint Gaussian of the numeric columns that vary and may bend; None without any, or with too many.

    It learns all rows, and answers for those that are asked.
    """
    changes = {
        index: change
        for index, (kind, _) in enumerate(learnt.columns)
        if kind == "numeric"
        and index not in learnt.additive.monotone
        and (change := learnt.normal_scores(index)) is not None
    }
    n_classes, asked = len(learnt.additive.log_prior), learnt.asked
    if not 0 < len(changes) <= MOST_GAUSSIAN_COLUMNS or n_classes * len(changes) ** 2 > MOST_MATRIX_CELLS:
        return None
    chosen, rescalings = np.array(list(changes), dtype=np.int64), tuple(changes.values())
    rescaled = rescale(rescalings, [learnt.columns[index][1] for index in chosen])
    moments = count_moments(rescaled, learnt.target, n_classes, learnt.weights)
    rescaled, (other_scores, scorer) = rescaled[learnt.is_asked], _other_columns(asked)
    some = asked.of_additive
    some = some[:: 1 + len(some) * n_classes // MOST_ANSWERS]
    model = choose_joint_gaussian(
        moments,
        rescaled[some],
        asked.target[some],
        asked.weights[some],
        asked.removed[some],
        other_scores[some],
        asked.log_prior[some],
    )
    left_out = model.loo_scores(rescaled, asked.target, asked.removed) + other_scores
    temperature, log_proba = temper(left_out, asked.log_prior, asked.target, asked.weights)
    expert = GaussianExpert(chosen, rescalings, model, scorer, learnt.additive.log_prior, temperature)
    return FittedExpert(expert, log_proba)


def _other_columns(asked: LearntRows) -> tuple[FloatArray, Reweighted]:
    """The tempered evidence of all terms but the free numbers: of the rows asked, and a scorer of new ones."""
    model, n_classes = asked.additive, len(asked.additive.log_prior)
    weight = min(1.0, model.loo.temperature) * model.counted * ~model.free_numeric_weights
    scorer = model.reweighted(
        np.zeros(n_classes),
        np.repeat(weight[None], n_classes, axis=0),
        np.zeros((n_classes, model.fitted.effects.shape[1])),
    )
    if not weight.any():
        return np.zeros((len(asked.target), n_classes)), scorer
    evidence = asked.design.evidence
    return (evidence @ weight.astype(evidence.dtype)).T, scorer
