"""What the experts need of the additive recipe, and its best candidate as a softmax regression.

The protocols name the few things that ``strong`` asks of ``auto``; nothing here knows how its evidence
was estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from naively.dependence.discretise import Column, FloatArray, IntArray
from naively.dependence.softmax_regression import Penalty, ScoreDesign, SoftmaxWeights

BIAS_PENALTY = 1.0
# Penalty of value effects and of class deviations, by candidate; None leaves them out.
EFFECT_PENALTY = {"W": None, "V3": 3.0, "CV": 10.0}
DEVIATION_PENALTY = {"W": None, "V3": None, "CV": 5.0}
# A temperature is hardly shrunk: it is one number.
TEMPERATURE_PENALTY = 1e-3


class KeptRows(Protocol):
    """The kept rows, scored by an additive model that did not learn from them (R rows, J classes)."""

    @property
    def rows(self) -> IntArray:
        """Indices into the training rows (R,)."""

    @property
    def folds(self) -> IntArray:
        """Cross-fitting fold of each row (R,)."""

    @property
    def codes(self) -> IntArray:
        """Class of each row (R,)."""

    @property
    def weights(self) -> FloatArray:
        """Weight of each row (R,)."""

    @property
    def evidence(self) -> FloatArray:
        """Leave-one-out evidence (R, terms, J)."""

    @property
    def effects(self) -> FloatArray:
        """Columns of the value effects (R, effects)."""

    @property
    def counted(self) -> FloatArray:
        """1 for a term that is evidence in its own right, 0 for one that must earn its weight (terms,)."""

    @property
    def log_prior(self) -> FloatArray:
        """Leave-one-out log prior (R, J)."""

    @property
    def temperature(self) -> float:
        """Temperature of all evidence."""

    @property
    def best(self) -> str:
        """The candidate with the lowest cross-fitted log-loss: T, W, V3 or CV."""

    @property
    def log_posterior(self) -> FloatArray:
        """Cross-fitted log-posteriors of the additive model (R, J)."""


class Scorer(Protocol):
    """Anything that scores columns: (rows, J), normalised or not."""

    def __call__(self, columns: Sequence[Column]) -> FloatArray:
        """Scores (rows, J)."""


class AdditiveModel(Protocol):
    """A fitted additive recipe."""

    @property
    def log_prior(self) -> FloatArray:
        """Log prior (J,)."""

    @property
    def loo(self) -> KeptRows:
        """The kept rows."""

    @property
    def numeric_terms(self) -> NDArray[np.bool_]:
        """Which terms read the value of a numeric column (terms,)."""

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, J)."""

    def reweighted(self, prior_scale: float, bias: FloatArray, weights: FloatArray, effects: FloatArray) -> Scorer:
        """Scores with other coefficients: bias (J,), weights (J, terms), effects (J, effects)."""


def candidate_design(kept: KeptRows) -> tuple[ScoreDesign, Penalty]:
    """The best candidate on the kept rows, and its penalties."""
    by_class = np.ascontiguousarray(kept.evidence.transpose(0, 2, 1))
    n_rows = len(kept.codes)
    if kept.best == "T":
        total = kept.log_prior + by_class @ kept.counted
        design = ScoreDesign(np.zeros_like(total), total[:, :, None], np.empty((n_rows, 0)))
        return design, Penalty(np.array([kept.temperature]), np.array([TEMPERATURE_PENALTY]), np.empty(0))
    row_columns, strengths = [np.ones((n_rows, 1))], [np.array([BIAS_PENALTY])]
    effect_penalty, deviation_penalty = EFFECT_PENALTY[kept.best], DEVIATION_PENALTY[kept.best]
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
    penalty = Penalty(centre, np.ones(len(centre)), np.concatenate(strengths), deviation_penalty or 0.0)
    return design, penalty


def candidate_scorer(model: AdditiveModel, fitted: SoftmaxWeights) -> Scorer:
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


def other_columns_scorer(model: AdditiveModel) -> tuple[FloatArray, Scorer]:
    """Evidence of all terms but the numeric values, tempered: of the kept rows (R, J), and for new rows."""
    kept = model.loo
    n_classes = len(model.log_prior)
    weight = min(1.0, kept.temperature) * kept.counted * ~model.numeric_terms
    scores: FloatArray = np.einsum("nij,i->nj", kept.evidence, weight)
    no_effects = np.zeros((n_classes, kept.effects.shape[1]))
    scorer = model.reweighted(0.0, np.zeros(n_classes), np.repeat(weight[None], n_classes, axis=0), no_effects)
    return scores, scorer


def take_rows(columns: Sequence[Column], rows: IntArray | slice) -> list[Column]:
    """Some rows of all columns."""
    return [(kind, _rows_of(values, rows)) for kind, values in columns]


def _rows_of(values: NDArray[Any], rows: IntArray | slice) -> NDArray[Any]:
    part: NDArray[Any] = values[rows]
    return part
