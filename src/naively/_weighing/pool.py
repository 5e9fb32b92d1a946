"""Join experts: a temperature for each, a weighted sum of their log-probabilities, a floor.

The temperature makes an over-confident expert honest; the log-pool lets experts that agree confirm
each other; the floor bounds the loss of one confident error by about the log of the rows seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from naively._weighing.descent import Search
from naively._weighing.softmax import best_temperature, log_softmax
from naively._weighing.solver import Parts, SoftmaxProblem
from naively.typing import FloatArray, IntArray

POOL_PENALTY = 2.0


@dataclass(frozen=True)
class LogPool:
    """``s_j = log prior_j + known bias_j + sum_e weight_e (log p_e(j) - log prior_j)``.

    `known` is the share of a row's cells that are: where nothing is known, and each expert says the prior, so does the
    pool.

    Parameters
    ----------
    expert_weights : ndarray (experts,)
    bias, log_prior : ndarray (classes,)
    """

    expert_weights: FloatArray
    bias: FloatArray
    log_prior: FloatArray

    def log_proba(self, experts: Sequence[FloatArray], known: FloatArray) -> FloatArray:
        """Pooled log-probabilities (rows, classes)."""
        return self.of_heard(list(zip(self.expert_weights.tolist(), experts, strict=True)), known)

    def of_heard(self, heard: Sequence[tuple[float, FloatArray]], known: FloatArray) -> FloatArray:
        """Pooled log-probabilities by the weights and answers of some experts: those without weight need no asking."""
        scores = np.outer(known, self.bias) + (1.0 - self.expert_weights.sum()) * self.log_prior
        for weight, log_proba in heard:
            scores += weight * log_proba
        return log_softmax(scores, axis=1)


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
    experts: Sequence[FloatArray], target: IntArray, weights: FloatArray, known: FloatArray, log_prior: FloatArray
) -> LogPool:
    """Pool weights from cross-fitted or left-out log-probabilities (rows, classes) of each expert.

    Weights are >= 0 and shrunk to the plain average. What is weighed is what experts say beyond the prior, so that a
    row of which they know nothing has the prior, whatever the weights add up to; what is added to that is shrunk to 0.

    Parameters
    ----------
    experts : sequence of ndarray (rows, classes)
    target, weights, known : ndarray (rows,)
        The class, the weight, and the share of the cells that are known.
    log_prior : ndarray (classes,)
    """
    problem = _PoolProblem(np.stack(experts) - log_prior, target, weights, known, log_prior)
    return problem.pool(problem.solved(problem.centre))


def without_noise(
    pool: LogPool,
    experts: Sequence[FloatArray],
    noises: Sequence[FloatArray | None],
    target: IntArray,
    weights: FloatArray,
    known: FloatArray,
    log_prior: FloatArray,
) -> LogPool:
    """A pool of left-out answers as it would be without their noise: by simulation and extrapolation (SIMEX).

    A left-out answer comes from a few trees, that of a new row from all of them: it errs less, and is to be believed
    more. How much more is told by how much less is believed when there is as much noise once more, the one way and the
    other (Cook and Stefanski, 1994): the weights go as far to the other side.

    Parameters
    ----------
    pool : LogPool
        Fitted to the left-out answers.
    experts, target, weights, known, log_prior
        See `fit_log_pool`.
    noises : sequence
        For each expert the noise that its answers need not have (rows, classes), None if it has none.
    """
    if all(noise is None for noise in noises):
        return pool
    problem = _NoisyPoolProblem(np.stack(experts) - log_prior, target, weights, known, log_prior)
    here = np.concatenate([pool.expert_weights, pool.bias])
    answers, moved = problem.experts.copy(), np.zeros(problem.size)
    for sign in (1.0, -1.0):
        for expert, noise in enumerate(noises):
            if noise is not None:
                problem.experts[expert] = answers[expert] + sign * noise
        moved += here - problem.solved(here)
    return problem.pool(here + 0.5 * moved)


class _PoolProblem(SoftmaxProblem):
    """The loss of what experts say beyond the prior (experts, rows, classes), by weights of experts and biases."""

    search: ClassVar[Search] = Search(gain=1e-10, steps=200)

    def __init__(
        self, experts: FloatArray, target: IntArray, weights: FloatArray, known: FloatArray, log_prior: FloatArray
    ) -> None:
        n_experts, _, n_classes = experts.shape
        super().__init__(target, weights, [(n_experts,), (n_classes,)], positive=0)
        self.experts, self.known, self.log_prior = experts, known, log_prior
        self.centre = np.concatenate([np.full(n_experts, 1 / n_experts), np.zeros(n_classes)])

    def pool(self, vector: FloatArray) -> LogPool:
        """The pool with the weights and biases in a vector; weights below 0 become 0."""
        expert_weights, bias = self.split(vector)
        return LogPool(np.maximum(expert_weights, 0.0), bias, self.log_prior)

    def scores(self, parts: Parts) -> FloatArray:
        """The pooled scores (rows, classes)."""
        weighted = np.tensordot(parts[0], self.experts, axes=1)
        return np.asarray(weighted + np.outer(self.known, parts[1]) + self.log_prior)

    def slopes(self, parts: Parts, residual: FloatArray) -> Parts:
        """The gradient of the log-loss."""
        return [np.tensordot(self.experts, residual, axes=2), self.known @ residual]

    def penalty(self, parts: Parts) -> tuple[float, Parts]:
        """The pull of weights to the plain average, and of biases to 0."""
        away = [part - centre for part, centre in zip(parts, self.split(self.centre), strict=True)]
        return 0.5 * POOL_PENALTY * sum(float(one @ one) for one in away), [POOL_PENALTY * one for one in away]


class _NoisyPoolProblem(_PoolProblem):
    """The loss with noise added, from weights on that are near: the difference is told well by fewer steps."""

    search: ClassVar[Search] = Search(gain=1e-7, steps=200)


def floor_log_proba(log_proba: FloatArray, prior: FloatArray, share: float) -> FloatArray:
    """Mix a share of the class prior into the probabilities: ``(1 - share) p + share prior``."""
    floored: FloatArray = np.logaddexp(np.log1p(-share) + log_proba, np.log(share * prior))
    return floored


def drawn_to_prior(log_proba: FloatArray, log_prior: FloatArray, share: FloatArray | float) -> FloatArray:
    """Log-probabilities between the prior, at share 0, and those given, at share 1: one share, or one for each row.

    Rows that are believed in full stay as they are, to the last bit, whatever rows stand beside them.
    """
    shares = np.broadcast_to(share, len(log_proba))
    less = shares < 1.0
    if not less.any():
        return log_proba
    prior, drawn = np.broadcast_to(log_prior, log_proba.shape)[less], log_proba.copy()
    drawn[less] = log_softmax(prior + shares[less, None] * (log_proba[less] - prior), axis=1)
    return drawn


def floor_share(n_rows: float) -> float:
    """The chance of a surprise after ``n_rows`` rows that were fitted without one."""
    return 1.0 / (n_rows + 2.0)
