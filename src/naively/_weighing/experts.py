"""The experts: each fits on all rows, is tempered on the kept rows, and scores new columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy.special import log_softmax

from naively._weighing.additive import AdditiveModel, Reweighted
from naively._weighing.ande import OneParentModel, estimate_one_parent
from naively._weighing.discretise import BinPlan, columns_within_budget, encode, plan_bins
from naively._weighing.joint_gaussian import (
    JointGaussian,
    Rescaling,
    choose_joint_gaussian,
    count_moments,
    normal_scores,
    rescale,
    standardised,
)
from naively._weighing.pair_counts import count_pairs, count_triples
from naively._weighing.pairs import PairCorrections, PairFit, PairTerm, estimate_corrections, fit_pairs, pair_terms
from naively._weighing.pool import temper, tempered
from naively._weighing.reweighted import candidate_design, candidate_scorer, other_columns_scorer, take_rows
from naively._weighing.softmax import log_loss
from naively._weighing.terms import Column
from naively._weighing.two_parents import TwoParentModel, estimate_two_parents, is_affordable
from naively.typing import FloatArray, IntArray

ONE_PARENT_BINS = 10
TWO_PARENT_BINS = 5
# Numbers in the table of pairs; beyond, the columns with most categories stay out.
MAX_PAIR_TABLE = 5e6
MAX_GAUSSIAN_COLUMNS = 256
MIN_PAIR_GAIN = 2.0

GaussianKind = Literal["normal scores", "standardised"]
RESCALINGS = {"normal scores": normal_scores, "standardised": standardised}


class Expert(Protocol):
    """A source of log-probabilities."""

    @property
    def name(self) -> str:
        """What to call it in a report."""

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""


FittedExpert = tuple[Expert, FloatArray]
"""An expert and its log-probabilities of the kept rows, left out or cross-fitted."""


@dataclass(frozen=True)
class AdditiveExpert:
    """The additive recipe as it is."""

    model: AdditiveModel
    name: str = "additive"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        return self.model.log_proba(columns)


@dataclass(frozen=True)
class PairExpert:
    """The best additive candidate, refitted with pair corrections."""

    chosen: IntArray
    corrections: PairCorrections
    fit: PairFit
    additive_scores: Reweighted
    name: str = "additive with pairs"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        cells = self.corrections.model.plan.cells([columns[index] for index in self.chosen])
        values = self.corrections.values(cells, self.fit.first, self.fit.second)
        weights = self.fit.weights.shared[len(self.fit.weights.shared) - len(self.fit.first) :]
        log_proba: FloatArray = log_softmax(self.additive_scores(columns) + values @ weights, axis=1)
        return log_proba

    def terms(self) -> list[PairTerm]:
        """The corrections by name, for an explanation."""
        return pair_terms(self.corrections, self.fit, self.chosen.tolist())


@dataclass(frozen=True)
class OneParentExpert:
    """A1DE at its temperature."""

    chosen: IntArray
    model: OneParentModel
    temperature: float
    name: str = "one parent"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        cells = self.model.plan.cells([columns[index] for index in self.chosen])
        return tempered(self.model.scores(cells), self.temperature)


@dataclass(frozen=True)
class TwoParentExpert:
    """A2DE at its temperature."""

    model: TwoParentModel
    temperature: float
    name: str = "two parents"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        return tempered(self.model.scores(encode(columns, self.model.one.plan)), self.temperature)


@dataclass(frozen=True)
class GaussianExpert:
    """A joint Gaussian of the numeric columns beside the tempered evidence of the others."""

    chosen: IntArray
    rescalings: tuple[Rescaling, ...]
    model: JointGaussian
    other_scores: Reweighted
    temperature: float
    name: str

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        rescaled = rescale(self.rescalings, [columns[index][1] for index in self.chosen])
        return tempered(self.model.scores(rescaled) + self.other_scores(columns), self.temperature)


def fit_additive_expert(
    additive: AdditiveModel, columns: Sequence[Column], weights: FloatArray, one_parent: OneParentExpert | None
) -> FittedExpert:
    """The additive recipe, with pair corrections if they pass the gate on the kept rows."""
    kept = additive.loo
    plain = AdditiveExpert(additive), kept.log_posterior
    if one_parent is None or len(one_parent.chosen) < 2:
        return plain
    chosen = one_parent.chosen
    corrections = estimate_corrections(one_parent.model)
    cells = one_parent.model.plan.cells(take_rows([columns[index] for index in chosen], kept.rows))
    removed = kept.one_occurrence(weights)
    fit = fit_pairs(corrections, cells, kept.codes, kept.weights, removed, kept.folds, *candidate_design(kept))
    if fit is None:
        return plain
    gain = log_loss(kept.log_posterior, kept.codes, kept.weights) - log_loss(
        fit.log_posterior, kept.codes, kept.weights
    )
    if gain <= MIN_PAIR_GAIN:
        return plain
    return PairExpert(chosen, corrections, fit, candidate_scorer(additive, fit.weights)), fit.log_posterior


def fit_one_parent(
    additive: AdditiveModel, columns: Sequence[Column], target: IntArray, n_classes: int, weights: FloatArray
) -> tuple[OneParentExpert, FloatArray] | None:
    """A1DE on the columns that fit its table; ``None`` without any."""
    kept = additive.loo
    sizes = plan_bins(columns, ONE_PARENT_BINS, weights)
    chosen = columns_within_budget(sizes.sizes, n_classes, power=2, budget=MAX_PAIR_TABLE)
    if len(chosen) == 0:
        return None
    plan = BinPlan(tuple(sizes.cuts[index] for index in chosen), tuple(sizes.sizes[index] for index in chosen))
    cells = plan.cells([columns[index] for index in chosen])
    model = estimate_one_parent(count_pairs(cells, target, plan.n_cells, n_classes, weights), plan)
    scores = model.loo_scores(cells[kept.rows], kept.codes, kept.one_occurrence(weights))
    temperature, log_proba = temper(scores, kept.codes, kept.weights)
    return OneParentExpert(chosen, model, temperature), log_proba


def fit_two_parents(
    additive: AdditiveModel, columns: Sequence[Column], target: IntArray, n_classes: int, weights: FloatArray
) -> FittedExpert | None:
    """A2DE, where its table is affordable."""
    kept = additive.loo
    plan = plan_bins(columns, TWO_PARENT_BINS, weights)
    if not is_affordable(plan, n_classes):
        return None
    codes = encode(columns, plan)
    model = estimate_two_parents(count_triples(codes, target, plan, n_classes, weights), plan)
    scores = model.loo_scores(codes[kept.rows], kept.codes, kept.one_occurrence(weights))
    temperature, log_proba = temper(scores, kept.codes, kept.weights)
    return TwoParentExpert(model, temperature), log_proba


def fit_gaussian(
    additive: AdditiveModel,
    columns: Sequence[Column],
    target: IntArray,
    n_classes: int,
    weights: FloatArray,
    kind: GaussianKind,
) -> FittedExpert | None:
    """A joint Gaussian of the numeric columns that vary; ``None`` without any, or with too many."""
    kept = additive.loo
    found = {
        index: change
        for index, (column_kind, values) in enumerate(columns)
        if column_kind == "numeric" and (change := RESCALINGS[kind](values, weights)) is not None
    }
    if not 0 < len(found) <= MAX_GAUSSIAN_COLUMNS:
        return None
    chosen, rescalings = np.array(list(found), dtype=np.int64), tuple(found.values())
    rescaled = rescale(rescalings, [columns[index][1] for index in chosen])
    other_scores, scorer = other_columns_scorer(additive)
    moments = count_moments(rescaled, target, n_classes, weights)
    removed = kept.one_occurrence(weights)
    model, scores = choose_joint_gaussian(moments, rescaled[kept.rows], kept.codes, kept.weights, removed, other_scores)
    temperature, log_proba = temper(scores, kept.codes, kept.weights)
    return GaussianExpert(chosen, rescalings, model, scorer, temperature, f"joint Gaussian, {kind}"), log_proba
