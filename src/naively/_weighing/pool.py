"""Join experts: a temperature for each, a weighted sum of their log-probabilities, a floor.

The temperature makes an over-confident expert honest; the log-pool lets experts that agree confirm
each other; the floor bounds the loss of one confident error by about the log of the rows seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_softmax

from naively._weighing.descent import Search
from naively._weighing.softmax import best_temperature
from naively._weighing.solver import Parts, SoftmaxProblem
from naively.typing import FloatArray, IntArray

POOL_PENALTY = 5.0


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
        return self.of_heard(list(zip(self.expert_weights.tolist(), experts, strict=True)), len(experts[0]))

    def of_heard(self, heard: Sequence[tuple[float, FloatArray]], n_rows: int) -> FloatArray:
        """The same of some experts' weights and log-probabilities: those without weight need not be asked."""
        scores = np.tile(self.bias, (n_rows, 1))
        for weight, log_proba in heard:
            scores += weight * log_proba
        return np.asarray(log_softmax(scores, axis=1))


def tempered(scores: FloatArray, log_prior: FloatArray, temperature: float) -> FloatArray:
    """Log-probabilities of scores at a temperature, beside a log-prior at none."""
    log_proba: FloatArray = log_softmax(log_prior + temperature * scores, axis=1)
    return log_proba


def temper(
    scores: FloatArray, log_prior: FloatArray, target: IntArray, weights: FloatArray
) -> tuple[float, FloatArray]:
    """The temperature of left-out scores beside a log-prior, and the log-probabilities at it."""
    temperature = best_temperature(scores, target, weights, offset=log_prior)
    return temperature, tempered(scores, log_prior, temperature)


def fit_log_pool(
    experts: Sequence[FloatArray], target: IntArray, weights: FloatArray, log_prior: FloatArray
) -> LogPool:
    """Pool weights from cross-fitted or left-out log-probabilities (rows, classes) of each expert.

    Weights are >= 0 and shrunk to the plain average. What is weighed is what experts say beyond the prior, so that a
    row of which they know nothing has the prior, whatever the weights add up to; what is added to that is shrunk to 0.
    """
    problem = _PoolProblem(np.stack(experts) - log_prior, target, weights, log_prior)
    expert_weights, bias = problem.split(problem.solved(problem.centre))
    return LogPool(expert_weights, bias + (1.0 - expert_weights.sum()) * log_prior)


class _PoolProblem(SoftmaxProblem):
    """The loss of what experts say beyond the prior (experts, rows, classes), by weights of experts and biases."""

    search: ClassVar[Search] = Search(gain=1e-10, steps=200)

    def __init__(self, experts: FloatArray, target: IntArray, weights: FloatArray, log_prior: FloatArray) -> None:
        n_experts, _, n_classes = experts.shape
        super().__init__(target, weights, [(n_experts,), (n_classes,)], positive=0)
        self.experts, self.log_prior, self.centre = (
            experts,
            log_prior,
            np.concatenate([np.full(n_experts, 1 / n_experts), np.zeros(n_classes)]),
        )

    def scores(self, parts: Parts) -> FloatArray:
        """The pooled scores (rows, classes)."""
        return np.asarray(np.tensordot(parts[0], self.experts, axes=1) + parts[1] + self.log_prior)

    def slopes(self, parts: Parts, residual: FloatArray) -> Parts:
        """The gradient of the log-loss."""
        return [np.tensordot(self.experts, residual, axes=2), residual.sum(axis=0)]

    def penalty(self, parts: Parts) -> tuple[float, Parts]:
        """The pull to the plain average."""
        away = [part - centre for part, centre in zip(parts, self.split(self.centre), strict=True)]
        return 0.5 * POOL_PENALTY * sum(float(one @ one) for one in away), [POOL_PENALTY * one for one in away]


def floor_log_proba(log_proba: FloatArray, prior: FloatArray, share: float) -> FloatArray:
    """Mix a share of the class prior into the probabilities: ``(1 - share) p + share prior``."""
    floored: FloatArray = np.logaddexp(np.log1p(-share) + log_proba, np.log(share * prior))
    return floored


def drawn_to_prior(log_proba: FloatArray, log_prior: FloatArray, share: float) -> FloatArray:
    """Log-probabilities between the prior, at share 0, and those given, at share 1."""
    if share == 1.0:
        return log_proba
    drawn: FloatArray = log_softmax(log_prior + share * (log_proba - log_prior), axis=1)
    return drawn


def floor_share(n_rows: float) -> float:
    """The chance of a surprise after ``n_rows`` rows that were fitted without one."""
    return 1.0 / (n_rows + 2.0)
