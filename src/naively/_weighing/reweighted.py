"""What the experts need of the additive model: its best candidate as a softmax regression, and its scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from naively._weighing.additive import AdditiveModel, LeaveOneOut, Reweighted, weight_penalty
from naively._weighing.softmax import Penalty, ScoreDesign, SoftmaxWeights
from naively._weighing.terms import Column
from naively._weighing.weights import CANDIDATES
from naively.typing import AnyArray, FloatArray, IntArray

BIAS_PENALTY = 1.0
# A temperature is hardly shrunk: it is one number.
TEMPERATURE_PENALTY = 1e-3


def candidate_design(kept: LeaveOneOut) -> tuple[ScoreDesign, Penalty]:
    """The best candidate on the kept rows, and its penalties."""
    by_class = np.ascontiguousarray(kept.evidence.transpose(0, 2, 1))
    n_rows = len(kept.codes)
    if kept.best == "T":
        total = kept.log_prior + by_class @ kept.counted
        design = ScoreDesign(np.zeros_like(total), total[:, :, None], np.empty((n_rows, 0)))
        return design, Penalty(np.array([kept.temperature]), np.array([TEMPERATURE_PENALTY]), np.empty(0))
    row_columns, strengths = [np.ones((n_rows, 1))], [np.array([BIAS_PENALTY])]
    effect_penalty, deviation_penalty, _ = CANDIDATES[kept.best]
    if effect_penalty is not None:
        row_columns.append(kept.effects)
        strengths.append(np.full(kept.effects.shape[1], effect_penalty))
    design = ScoreDesign(
        kept.log_prior,
        by_class,
        np.concatenate(row_columns, axis=1),
        None if deviation_penalty is None else by_class,
    )
    centre = min(1.0, kept.temperature) * kept.counted
    pull = np.full(len(centre), weight_penalty(len(centre)))
    penalty = Penalty(centre, pull, np.concatenate(strengths), deviation_penalty or 0.0)
    return design, penalty


def candidate_scorer(model: AdditiveModel, fitted: SoftmaxWeights) -> Reweighted:
    """The additive scores of new rows under refitted weights of the best candidate."""
    kept = model.loo
    n_terms, n_classes = len(kept.counted), len(model.log_prior)
    effects = np.zeros((n_classes, kept.effects.shape[1]))
    if kept.best == "T":
        temperature = float(fitted.shared[0])
        weights = np.repeat(temperature * kept.counted[None], n_classes, axis=0)
        return model.reweighted(temperature, np.zeros(n_classes), weights, effects)
    weights = np.repeat(fitted.shared[None, :n_terms], n_classes, axis=0)
    if fitted.deviation is not None:
        weights = weights + fitted.deviation.T
    if len(fitted.value) > 1:
        effects = fitted.value[1:].T
    return model.reweighted(1.0, fitted.value[0], weights, effects)


def other_columns_scorer(model: AdditiveModel) -> tuple[FloatArray, Reweighted]:
    """Evidence of all terms but the numeric values, tempered: of the kept rows (R, J), and for new rows."""
    kept = model.loo
    n_classes = len(model.log_prior)
    weight = min(1.0, kept.temperature) * kept.counted * ~model.numeric_weights
    scores: FloatArray = np.einsum("nij,i->nj", kept.evidence, weight)
    no_effects = np.zeros((n_classes, kept.effects.shape[1]))
    scorer = model.reweighted(0.0, np.zeros(n_classes), np.repeat(weight[None], n_classes, axis=0), no_effects)
    return scores, scorer


def take_rows(columns: Sequence[Column], rows: IntArray | slice) -> list[Column]:
    """Some rows of all columns."""
    return [(kind, _rows_of(values, rows)) for kind, values in columns]


def _rows_of(values: AnyArray, rows: IntArray | slice) -> AnyArray:
    return np.asarray(values[rows])
