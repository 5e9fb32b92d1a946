"""How the scores of a text are joined: their weights, and a power of the length, fitted on left-out texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from naively._weighing.descent import Search
from naively._weighing.solver import Parts, SoftmaxProblem
from naively.typing import FloatArray, IntArray

STIFFNESS = 2.0
"""How strongly the logarithms of the scores' weights are held to their start: it matters below some 100 rows."""

SEARCH = Search(gain=1e-14, slope=1e-9, steps=300)
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
    if weights.sum() < FEW_TEXTS:
        return TextPool(2 / len(scores) / spread, 0.5, typical)
    problem = _PoolProblem(centred / spread[:, None, None], np.log((lengths + 1) / typical), codes, weights, log_prior)
    log_weights, power, _ = problem.split(problem.solved(problem.start))
    return TextPool(np.exp(log_weights) / spread, float(power[0]), typical)


class _PoolProblem(SoftmaxProblem):
    """The penalised log-loss as a function of log-weights, power and class biases."""

    search: ClassVar[Search] = SEARCH

    def __init__(
        self, centred: FloatArray, stretch: FloatArray, codes: IntArray, weights: FloatArray, log_prior: FloatArray
    ):
        n_scores, n_classes = len(centred), len(log_prior)
        super().__init__(codes, weights, [(n_scores,), (1,), (n_classes,)])
        self.centred, self.stretch, self.log_prior = centred, stretch, log_prior
        self.start = np.concatenate([np.full(n_scores, np.log(2 / n_scores)), [0.5], np.zeros(n_classes)])

    def _scale(self, power: FloatArray) -> FloatArray:
        return np.exp(np.clip(-power * self.stretch, -50, 50))[:, None]

    def _evidence(self, parts: Parts) -> FloatArray:
        return np.asarray(np.tensordot(_bounded(parts[0]), self.centred, 1) * self._scale(parts[1]))

    def scores(self, parts: Parts) -> FloatArray:
        """The scores (rows, classes)."""
        return self._evidence(parts) + (self.log_prior + parts[2])

    def slopes(self, parts: Parts, residual: FloatArray) -> Parts:
        """The gradient of the log-loss."""
        by_weight = np.tensordot(self.centred, residual * self._scale(parts[1]), axes=([1, 2], [0, 1]))
        by_power = -float((residual * self._evidence(parts)).sum(axis=1) @ self.stretch)
        return [_bounded(parts[0]) * by_weight, np.array([by_power]), residual.sum(axis=0)]

    def penalty(self, parts: Parts) -> tuple[float, Parts]:
        """The pull of log-weights to those of equal weights, of the power and the biases to 0."""
        log_weights, power, bias = parts
        away = log_weights - self.start[: len(log_weights)]
        loss = 0.5 * STIFFNESS * float(away @ away) + float(power @ power) + 0.5 * float(bias @ bias)
        return loss, [STIFFNESS * away, 2 * power, bias]


def _bounded(log_weights: FloatArray) -> FloatArray:
    """The weights, within what sums can hold."""
    return np.asarray(np.exp(np.clip(log_weights, -12, 8)))
