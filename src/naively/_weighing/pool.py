"""Join experts: a temperature for each, a weighted sum of their log-probabilities, a floor.

The temperature makes an over-confident expert honest; the log-pool lets experts that agree confirm
each other; the floor bounds the loss of one confident error by about the log of the rows seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from naively._weighing.softmax import best_temperature, loss_and_residual
from naively.typing import FloatArray, IntArray

POOL_PENALTY = 5.0
SOLVER = {"maxiter": 200, "ftol": 1e-10}


@dataclass(frozen=True)
class LogPool:
    """``s_j = bias_j + sum_e weight_e log p_e(j)``.

    Parameters
    ----------
    expert_weights : ndarray (experts,)
    bias : ndarray (classes,)
    """

    expert_weights: FloatArray
    bias: FloatArray

    def log_proba(self, experts: Sequence[FloatArray]) -> FloatArray:
        """Pooled log-probabilities (rows, classes)."""
        scores = np.tensordot(self.expert_weights, np.stack(experts), axes=1) + self.bias
        return np.asarray(log_softmax(scores, axis=1))


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
    stacked = np.stack(experts)
    n_experts, _, n_classes = stacked.shape
    centre = np.concatenate([np.full(n_experts, 1 / n_experts), np.zeros(n_classes)])

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        scores = np.tensordot(parameters[:n_experts], stacked, axes=1) + parameters[n_experts:]
        missed, residual = loss_and_residual(scores, target, weights)
        slopes = np.concatenate([np.tensordot(stacked, residual, axes=2), residual.sum(axis=0)])
        away = parameters - centre
        return missed + 0.5 * POOL_PENALTY * float(away @ away), slopes + POOL_PENALTY * away

    bounds = [(0.0, None)] * n_experts + [(None, None)] * n_classes
    found = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds, options=SOLVER).x
    return LogPool(found[:n_experts], found[n_experts:])


def floor_log_proba(log_proba: FloatArray, prior: FloatArray, share: float) -> FloatArray:
    """Mix a share of the class prior into the probabilities: ``(1 - share) p + share prior``."""
    floored: FloatArray = np.logaddexp(np.log1p(-share) + log_proba, np.log(share * prior))
    return floored


def floor_share(n_rows: float) -> float:
    """The chance of a surprise after ``n_rows`` rows that were fitted without one."""
    return 1.0 / (n_rows + 2.0)
