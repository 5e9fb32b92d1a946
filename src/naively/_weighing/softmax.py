"""A penalised softmax regression over scores: the one convex problem that weights, pairs and pools share.

The score of class j for row n is::

    s[n, j] = offset[n, j] + sum_q shared[n, j, q] * theta[q]
            + sum_d row_columns[n, d] * value[d, j] + sum_i evidence[n, j, i] * deviation[i, j]

with ``theta >= 0`` where asked, and a quadratic penalty of each parameter around its centre.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from naively.typing import FloatArray, IntArray

MAX_ITERATIONS = 150
# An iteration that gains less than this share of the loss moves no probability that anyone could measure.
RELATIVE_GAIN = 1e-6
TINY = 1e-12
MIN_LOG_TEMPERATURE, MAX_LOG_TEMPERATURE = -10.0, 1.0


@dataclass(frozen=True)
class ScoreDesign:
    """The inputs of the regression for some rows.

    Attributes
    ----------
    offset
        Fixed scores (rows, classes).
    shared
        Columns whose weight all classes share (rows, classes, columns).
    row_columns
        Columns of the row alone (rows, columns), with one weight per class.
    evidence
        Columns of row and class (rows, classes, columns) with one weight per class, or ``None``.
    """

    offset: FloatArray
    shared: FloatArray
    row_columns: FloatArray
    evidence: FloatArray | None = None

    def rows(self, index: IntArray) -> ScoreDesign:
        """The same design for some of its rows."""
        evidence = None if self.evidence is None else self.evidence[index]
        return ScoreDesign(self.offset[index], self.shared[index], self.row_columns[index], evidence)

    def with_shared(self, columns: FloatArray) -> ScoreDesign:
        """Add shared columns (rows, classes, columns) behind the present ones."""
        return replace(self, shared=np.concatenate([self.shared, columns], axis=2))


@dataclass(frozen=True)
class Penalty:
    """Centres and strengths of the quadratic penalties; ``shared`` weights are kept ``>= 0``."""

    shared_centre: FloatArray
    shared_strength: FloatArray
    row_strength: FloatArray
    evidence_strength: float = 1.0

    def with_shared(self, n_columns: int, strength: float) -> Penalty:
        """The penalty of ``n_columns`` more shared columns, shrunk to 0."""
        return replace(
            self,
            shared_centre=np.concatenate([self.shared_centre, np.zeros(n_columns)]),
            shared_strength=np.concatenate([self.shared_strength, np.full(n_columns, strength)]),
        )


@dataclass(frozen=True)
class SoftmaxWeights:
    """Fitted parameters: ``shared`` (columns,), ``value`` (columns, classes), ``deviation`` or ``None``."""

    shared: FloatArray
    value: FloatArray
    deviation: FloatArray | None = None

    def with_shared(self, n_columns: int) -> SoftmaxWeights:
        """Room for ``n_columns`` more shared columns, at weight 0: the same scores as before."""
        return replace(self, shared=np.concatenate([self.shared, np.zeros(n_columns)]))

    def scores(self, design: ScoreDesign) -> FloatArray:
        """Scores (rows, classes) of a design."""
        scores: FloatArray = design.offset + design.shared @ self.shared + design.row_columns @ self.value
        if self.deviation is not None and design.evidence is not None:
            scores = scores + np.einsum("nji,ij->nj", design.evidence, self.deviation)
        return scores

    def log_proba(self, design: ScoreDesign) -> FloatArray:
        """Normalised log-probabilities (rows, classes)."""
        log_proba: FloatArray = log_softmax(self.scores(design), axis=1)
        return log_proba


def loss_and_residual(scores: FloatArray, target: IntArray, row_weights: FloatArray) -> tuple[float, FloatArray]:
    """The weighted log-loss of ``softmax(scores)``, and its gradient with respect to the scores, which it overwrites.

    Parameters
    ----------
    scores : ndarray (rows, classes)
        Overwritten.
    target, row_weights : ndarray (rows,)
        Class index and weight of each row.
    """
    rows = np.arange(len(target))
    scores -= scores.max(axis=1, keepdims=True)
    of_truth = scores[rows, target]
    residual = np.exp(scores, out=scores)
    total = residual.sum(axis=1)
    residual *= (row_weights / total)[:, None]
    residual[rows, target] -= row_weights
    return float(row_weights @ (np.log(total) - of_truth)), residual


def fit_softmax(
    design: ScoreDesign,
    target: IntArray,
    row_weights: FloatArray,
    penalty: Penalty,
    start: SoftmaxWeights | None = None,
    max_iterations: int = MAX_ITERATIONS,
) -> SoftmaxWeights:
    """Minimise the penalised log-loss by L-BFGS-B.

    Parameters
    ----------
    design, target, row_weights
        Inputs, class index and weight of each row.
    penalty
        Penalties; the sum of weighted losses is not divided by the number of rows.
    start
        Where to begin, a neighbouring solution say; the centres of the penalty if not given.
    """
    n_rows, n_classes, n_shared = design.shared.shape
    n_values = design.row_columns.shape[1]
    n_evidence = 0 if design.evidence is None else design.evidence.shape[2]
    # One matrix product per pass over the shared columns instead of a product per row.
    stacked = np.ascontiguousarray(design.shared.reshape(n_rows * n_classes, n_shared))
    row_columns = np.ascontiguousarray(design.row_columns)
    by_class = None if design.evidence is None else np.ascontiguousarray(design.evidence.transpose(1, 0, 2))
    ends = np.cumsum([n_shared, n_values * n_classes, n_evidence * n_classes])

    def unpack(parameters: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return (
            parameters[: ends[0]],
            parameters[ends[0] : ends[1]].reshape(n_values, n_classes),
            parameters[ends[1] :].reshape(n_evidence, n_classes),
        )

    def objective(parameters: FloatArray) -> tuple[float, FloatArray]:
        shared, value, deviation = unpack(parameters)
        scores = design.offset + (stacked @ shared).reshape(n_rows, n_classes) + row_columns @ value
        if by_class is not None:
            scores += np.matmul(by_class, deviation.T[:, :, None])[:, :, 0].T
        loss, residual = loss_and_residual(scores, target, row_weights)
        shift = shared - penalty.shared_centre
        loss += 0.5 * float(penalty.shared_strength @ shift**2 + penalty.row_strength @ (value**2).sum(axis=1))
        gradient = np.empty_like(parameters)
        gradient[: ends[0]] = residual.ravel() @ stacked + penalty.shared_strength * shift
        gradient[ends[0] : ends[1]] = (row_columns.T @ residual + penalty.row_strength[:, None] * value).ravel()
        if by_class is not None:
            loss += 0.5 * penalty.evidence_strength * float((deviation**2).sum())
            pull = np.matmul(residual.T[:, None, :], by_class)[:, 0, :].T
            gradient[ends[1] :] = (pull + penalty.evidence_strength * deviation).ravel()
        return loss, gradient

    if start is None:
        start = SoftmaxWeights(penalty.shared_centre, np.zeros((n_values, n_classes)))
    deviation_start = np.zeros((n_evidence, n_classes)) if start.deviation is None else start.deviation
    first = np.concatenate([start.shared, start.value.ravel(), deviation_start.ravel()])
    strengths = np.concatenate(
        [
            penalty.shared_strength,
            np.repeat(penalty.row_strength, n_classes),
            np.full(n_evidence * n_classes, penalty.evidence_strength),
        ]
    )
    scale = np.sqrt(_curvature(start.log_proba(design), design, row_weights) + strengths + TINY)

    def scaled_objective(scaled: FloatArray) -> tuple[float, FloatArray]:
        loss, gradient = objective(scaled / scale)
        return loss, gradient / scale

    solution = minimize(
        scaled_objective,
        first * scale,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * n_shared + [(None, None)] * (len(first) - n_shared),
        options={"maxiter": max_iterations, "ftol": RELATIVE_GAIN},
    )
    shared, value, deviation = unpack(np.asarray(solution.x, dtype=np.float64) / scale)
    return SoftmaxWeights(shared, value, None if by_class is None else deviation)


def _curvature(log_proba: FloatArray, design: ScoreDesign, row_weights: FloatArray) -> FloatArray:
    """Diagonal of the Hessian of the loss: in steps of its root L-BFGS needs half of the iterations."""
    proba = np.exp(log_proba)
    spread = proba * (1.0 - proba) * row_weights[:, None]
    parts = [np.einsum("nj,njq->q", spread, design.shared**2), ((design.row_columns**2).T @ spread).ravel()]
    if design.evidence is not None:
        parts.append(np.einsum("nj,nji->ij", spread, design.evidence**2).ravel())
    return np.concatenate(parts)


def log_loss(log_proba: FloatArray, target: IntArray, row_weights: FloatArray) -> float:
    """Sum of weighted losses in nats."""
    return -float(row_weights @ log_proba[np.arange(len(target)), target])


def best_temperature(scores: FloatArray, target: IntArray, row_weights: FloatArray, surprises: float = 0.0) -> float:
    """The factor T in [e^-10, e] with the lowest log-loss of ``softmax(T * scores)``; 1 where it makes no difference.

    The loss is convex in T, so a safeguarded Newton search in one variable is exact.

    Parameters
    ----------
    scores : ndarray (rows, classes)
    target, row_weights : ndarray (rows,)
        Class index and weight of each row.
    surprises : float, default=0
        Beside the rows the loss counts so many more (Platt, 1999), which have their scores but the classes as often as
        all rows have them: a few rows without an error are no proof that there will never be one.
    """
    if not (scores != scores[:, :1]).any():
        return 1.0
    centred = scores - scores.max(axis=1, keepdims=True)
    frequency = np.bincount(target, row_weights, scores.shape[1]) + 1.0
    surprise = surprises / (float(row_weights.sum()) + surprises)
    own = (1 - surprise) * centred[np.arange(len(target)), target] + surprise * centred @ (frequency / frequency.sum())
    low, high = float(np.exp(MIN_LOG_TEMPERATURE)), float(np.exp(MAX_LOG_TEMPERATURE))
    temperature = 1.0
    for _ in range(60):
        weight = np.exp(temperature * centred)
        total = weight.sum(axis=1)
        mean = (weight * centred).sum(axis=1) / total
        slope = float(row_weights @ (mean - own))
        curvature = float(row_weights @ ((weight * centred**2).sum(axis=1) / total - mean**2))
        # The minimum lies on the downhill side, so each evaluation shortens the bracket.
        low, high = (low, temperature) if slope > 0 else (temperature, high)
        proposal = temperature - slope / curvature if curvature > 0 else (low + high) / 2
        proposal = proposal if low < proposal < high else (low + high) / 2
        if abs(proposal - temperature) <= 1e-9 * temperature:
            break
        temperature = proposal
    return float(temperature)
