"""The log-loss of scores under a softmax: its gradient, its value, and the temperature that makes it least.

The weights of columns, of words, of the scores of a text and of the experts of a pool all minimise this loss.
"""

from __future__ import annotations

import numpy as np

from naively.typing import FloatArray, IntArray

FEW_ROWS = 200
"""With more rows, cross-fitting sees what was fitted to chance."""

CERTAIN_GAIN = 8.0
"""Nats over the prior, of all left-out rows together, from which on answers are believed in full."""

MIN_LOG_TEMPERATURE, MAX_LOG_TEMPERATURE = -10.0, 1.0


def log_softmax(scores: FloatArray, axis: int = 0) -> FloatArray:
    """Normalise scores to log-probabilities over the classes, which are along an axis.

    SciPy's function does the same for any array and asks, each time, what kind of array it is given: for a single row
    that takes longer than an expert's answer.
    """
    shifted = np.asarray(scores - scores.max(axis=axis, keepdims=True))
    shifted -= np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return shifted


def loss_and_residual(scores: FloatArray, target: IntArray, row_weights: FloatArray) -> tuple[float, FloatArray]:
    """The weighted log-loss of ``softmax(scores)``, and its gradient with respect to the scores, which it overwrites.

    Parameters
    ----------
    scores : ndarray (rows, classes)
        Overwritten.
    target, row_weights : ndarray (rows,)
        Class index and weight of each row.
    """
    losses, residuals = losses_and_residuals(scores.T[None], target, row_weights[None])
    return float(losses[0]), residuals[0].T


def losses_and_residuals(
    scores: FloatArray, target: IntArray, row_weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The weighed log-losses (fits,) of several fits to the same rows, and their gradients by the scores.

    Parameters
    ----------
    scores : ndarray (fits, classes, rows)
        Overwritten by the gradients.
    target : ndarray (rows,)
    row_weights : ndarray (fits, rows)
    """
    rows = np.arange(len(target))
    scores -= scores.max(axis=1, keepdims=True)
    of_truth = scores[:, target, rows]
    residual = np.exp(scores, out=scores)
    total = residual.sum(axis=1)
    residual *= (row_weights / total)[:, None]
    residual[:, target, rows] -= row_weights
    return np.vecdot(row_weights, np.log(total) - of_truth), residual


def log_loss(log_proba: FloatArray, target: IntArray, row_weights: FloatArray) -> float:
    """Sum of weighted losses in nats."""
    return -float(row_weights @ log_proba[np.arange(len(target)), target])


def believed(
    log_proba: FloatArray, log_prior: FloatArray, target: IntArray, row_weights: FloatArray, n_fitted: int = 0
) -> float:
    """How far left-out answers (rows, classes) are to be believed beside the prior, from 0 to 1.

    What is chosen on no more than `FEW_ROWS` rows may fit chance, and cross-fitting does not see all of it: answers
    that gain fewer than `CERTAIN_GAIN` nats over the prior, on all rows together, count in proportion to what they
    gain. Each of `n_fitted` parameters that were fitted to these very answers has gained a nat by that.
    """
    if row_weights.sum() > FEW_ROWS:
        return 1.0
    gain = log_loss(log_prior, target, row_weights) - log_loss(log_proba, target, row_weights) - n_fitted
    return float(np.clip(gain / CERTAIN_GAIN, 0.0, 1.0))


def best_temperature(
    scores: FloatArray,
    target: IntArray,
    row_weights: FloatArray,
    surprises: float = 0.0,
    stands_for: FloatArray | float = 1.0,
    offset: FloatArray | float = 0.0,
    start: float = 1.0,
) -> float:
    """The factor T in [e^-10, e] with the least log-loss of ``softmax(offset + T * scores)``; 1 if it matters nothing.

    The loss is convex in T, so a safeguarded Newton search in one variable is exact.

    Parameters
    ----------
    scores : ndarray (rows, classes)
    target, row_weights : ndarray (rows,)
        Class index and weight of each row.
    surprises : float, default=0
        Beside the rows the loss counts so many more (Platt, 1999), which have their scores but the classes as often as
        all rows have them: a few rows without an error are no proof that there will never be one.
    stands_for : ndarray (classes,) or float, default=1
        How many classes with the same score each column stands for.
    offset : ndarray (rows, classes) or float, default=0
        What is added to the scores whatever the factor.
    start : float, default=1
        A factor that is thought to be near.
    """
    if not (scores != scores[:, :1]).any():
        return 1.0
    centred = scores - scores.max(axis=1, keepdims=True)
    frequency = np.bincount(target, row_weights, scores.shape[1]) + 1.0
    surprise = surprises / (float(row_weights.sum()) + surprises)
    own = (1 - surprise) * centred[np.arange(len(target)), target] + surprise * centred @ (frequency / frequency.sum())
    low, high = float(np.exp(MIN_LOG_TEMPERATURE)), float(np.exp(MAX_LOG_TEMPERATURE))
    temperature = start
    for _ in range(60):
        logits = temperature * centred + offset
        weight = np.exp(logits - logits.max(axis=1, keepdims=True)) * stands_for
        total = weight.sum(axis=1)
        mean = np.einsum("nj,nj->n", weight, centred) / total
        slope = float(row_weights @ (mean - own))
        curvature = float(row_weights @ (np.einsum("nj,nj,nj->n", weight, centred, centred) / total - mean**2))
        # The minimum lies on the downhill side, so each evaluation shortens the bracket.
        low, high = (low, temperature) if slope > 0 else (temperature, high)
        proposal = temperature - slope / curvature if curvature > 0 else (low + high) / 2
        proposal = proposal if low < proposal < high else (low + high) / 2
        if abs(proposal - temperature) <= 1e-9 * temperature:
            break
        temperature = proposal
    return float(temperature)
