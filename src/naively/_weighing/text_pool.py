"""How the scores of a text are joined: their weights, and a power of the length, fitted on left-out texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from naively._weighing.softmax import loss_and_residual
from naively.typing import FloatArray, IntArray

STIFFNESS = 2.0
"""How strongly the logarithms of the scores' weights are held to their start: it matters below some 100 rows."""

SOLVER = {"maxiter": 300, "ftol": 1e-14, "gtol": 1e-9}
"""One iteration more or less then moves no weight by more than some 1e-7: a last bit that is another on another machine
may cause as much, and stopping at a gain of 1e-7 made 1e-4 of it."""

FEW_TEXTS = 20
"""Below so many kept rows the weights stay at their start."""


@dataclass(frozen=True)
class TextPool:
    """How the scores of a text are joined.

    Parameters
    ----------
    weights : ndarray (scores,)
    power : float
        Of the length.
    typical : float
        The typical length.
    """

    weights: FloatArray
    power: float
    typical: float

    def stretch(self, lengths: FloatArray) -> FloatArray:
        """What the evidence of texts of such lengths is multiplied by."""
        return np.asarray(((lengths + 1) / self.typical) ** -self.power)

    def joined(self, scores: Sequence[FloatArray], lengths: FloatArray) -> FloatArray:
        """The evidence (rows, classes), centred over the classes."""
        mixed = np.tensordot(self.weights, np.stack(scores), 1)
        return np.asarray((mixed - mixed.mean(axis=1, keepdims=True)) * self.stretch(lengths)[:, None])


def fit_pool(
    scores: Sequence[FloatArray], lengths: FloatArray, codes: IntArray, weights: FloatArray, log_prior: FloatArray
) -> TextPool:
    """The pool that makes the classes of left-out texts most probable.

    Parameters
    ----------
    scores : sequence of ndarray (rows, classes)
        Of texts that were left out, one by one.
    lengths, codes, weights : ndarray (rows,)
    log_prior : ndarray (classes,)
    """
    centred = np.stack([one - one.mean(axis=1, keepdims=True) for one in scores])
    spread = np.sqrt((centred**2).mean(axis=(1, 2))) if len(lengths) else np.zeros(len(scores))
    spread = np.where(spread > 1e-9, spread, 1.0)  # left-out texts in which no token is known tell nothing of the scale
    typical = float(np.exp(np.log(lengths + 1).mean())) if len(lengths) else 1.0
    n_scores, start = len(scores), np.log(2 / len(scores))
    if weights.sum() < FEW_TEXTS:
        return TextPool(np.exp(start) / spread, 0.5, typical)
    problem = _PoolProblem(centred / spread[:, None, None], np.log((lengths + 1) / typical), codes, weights, log_prior)
    first = np.concatenate([np.full(n_scores, start), [0.5], np.zeros(len(log_prior))])
    found = minimize(problem.loss_and_gradient, first, jac=True, method="L-BFGS-B", options=SOLVER).x
    return TextPool(np.exp(found[:n_scores]) / spread, float(found[n_scores]), typical)


class _PoolProblem:
    """The penalised log-loss as a function of log-weights, power and class biases."""

    def __init__(
        self, centred: FloatArray, stretch: FloatArray, codes: IntArray, weights: FloatArray, log_prior: FloatArray
    ):
        self.centred, self.stretch, self.codes, self.weights = centred, stretch, codes, weights
        self.log_prior, self.start = log_prior, np.log(2 / len(centred))

    def loss_and_gradient(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """The loss and its gradient."""
        n_scores = len(self.centred)
        log_weights, power, bias = parameters[:n_scores], parameters[n_scores], parameters[n_scores + 1 :]
        weights, scale = np.exp(np.clip(log_weights, -12, 8)), np.exp(np.clip(-power * self.stretch, -50, 50))[:, None]
        evidence = np.tensordot(weights, self.centred, 1) * scale
        loss, residual = loss_and_residual(evidence + (self.log_prior + bias), self.codes, self.weights)
        slopes = np.tensordot(self.centred, residual * scale, axes=([1, 2], [0, 1]))
        away = log_weights - self.start
        loss += 0.5 * STIFFNESS * float(away @ away) + power**2 + 0.5 * float(bias @ bias)
        gradient = np.concatenate(
            [
                weights * slopes + STIFFNESS * away,
                [2 * power - float((residual * evidence).sum(axis=1) @ self.stretch)],
                residual.sum(axis=0) + bias,
            ]
        )
        return loss, gradient
