"""Join experts: a temperature for each, a weighted sum of their log-probabilities, a floor.

The temperature makes an over-confident expert honest; the log-pool lets experts that agree confirm
each other; the floor bounds the loss of one confident error by about the log of the rows seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from naively._weighing.softmax import Penalty, ScoreDesign, SoftmaxWeights, best_temperature, fit_softmax
from naively.typing import FloatArray, IntArray

POOL_PENALTY = 5.0


@dataclass(frozen=True)
class LogPool:
    """``s_j = bias_j + sum_e weight_e log p_e(j)``.

    Attributes
    ----------
    weights
        Fitted weights of the experts and biases of the classes.
    """

    weights: SoftmaxWeights

    @property
    def expert_weights(self) -> FloatArray:
        """Weight of each expert (experts,)."""
        return self.weights.shared

    def log_proba(self, experts: Sequence[FloatArray]) -> FloatArray:
        """Pooled log-probabilities (rows, classes)."""
        return self.weights.log_proba(_pool_design(experts))


def tempered(scores: FloatArray, temperature: float) -> FloatArray:
    """Log-probabilities of scores at a temperature."""
    log_proba: FloatArray = log_softmax(temperature * scores, axis=1)
    return log_proba


def temper(scores: FloatArray, target: IntArray, weights: FloatArray) -> tuple[float, FloatArray]:
    """The temperature of left-out scores, and the log-probabilities at it."""
    temperature = best_temperature(scores, target, weights)
    return temperature, tempered(scores, temperature)


def fit_log_pool(experts: Sequence[FloatArray], target: IntArray, weights: FloatArray) -> LogPool:
    """Pool weights from cross-fitted or left-out log-probabilities (rows, classes) of each expert.

    Weights are >= 0 and shrunk to the plain average, biases to 0.
    """
    n_experts = len(experts)
    penalty = Penalty(np.full(n_experts, 1 / n_experts), np.full(n_experts, POOL_PENALTY), np.array([POOL_PENALTY]))
    return LogPool(fit_softmax(_pool_design(experts), target, weights, penalty))


def _pool_design(experts: Sequence[FloatArray]) -> ScoreDesign:
    n_rows, n_classes = experts[0].shape
    return ScoreDesign(np.zeros((n_rows, n_classes)), np.stack(experts, axis=2), np.ones((n_rows, 1)))


def floor_log_proba(log_proba: FloatArray, prior: FloatArray, share: float) -> FloatArray:
    """Mix a share of the class prior into the probabilities: ``(1 - share) p + share prior``."""
    floored: FloatArray = np.logaddexp(np.log1p(-share) + log_proba, np.log(share * prior))
    return floored


def floor_share(n_rows: float) -> float:
    """The chance of a surprise after ``n_rows`` rows that were fitted without one."""
    return 1.0 / (n_rows + 2.0)
