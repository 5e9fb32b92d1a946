"""How much to trust each column's evidence: temperature, weights and value effects, averaged into one additive model.

Naive Bayes counts dependent evidence more than once. Here the leave-one-out evidence of a sample of rows is weighed by
five convex candidates, from one temperature to class-wise weights and value effects; each is cross-fitted, and the
logarithms of their posteriors are averaged. An average of additive scores is one additive score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, minimize

from naively._weighing.softmax import best_temperature, loss_and_residual
from naively.families._stacking import PSEUDO_COUNT
from naively.typing import AnyArray, FloatArray, IntArray

MAX_ITERATIONS = 150
# Stop when an iteration gains less than this share of the loss: 1e-8 in its place changed the held-out log-loss of 13
# sets by less than 1e-4 at twice the evaluations.
RELATIVE_GAIN = 1e-5
SURPRISES = 2.0
"""The number of rows of any class that the temperature of all evidence reckons with beside those that were seen."""
MOST_LOGIT = 14.0
"""The logarithm of the largest ratio of two candidates' shares."""


class Candidate(NamedTuple):
    """A way to weigh evidence: which effects beside the weights of the columns, and how strongly they shrink.

    Parameters
    ----------
    effect_penalty : float or None
        Penalty of value effects; None leaves them out.
    deviation_penalty : float or None
        Penalty of the differences between a column's weights in the classes; None for one weight in all classes.
    weighted : bool
        False for one temperature in place of weights.
    """

    effect_penalty: float | None = None
    deviation_penalty: float | None = None
    weighted: bool = True


CANDIDATES = {
    "T": Candidate(weighted=False),
    "W": Candidate(),
    "V3": Candidate(effect_penalty=3.0),
    "V.3": Candidate(effect_penalty=0.3),
    "CV": Candidate(effect_penalty=10.0, deviation_penalty=5.0),
}


@dataclass(frozen=True)
class Design:
    """The rows that candidates are fitted on.

    Parameters
    ----------
    evidence : float64 array (classes, rows, terms)
        Leave-one-out evidence, centred over the classes.
    log_prior : float64 array (classes, rows)
        Leave-one-out log prior.
    codes : int64 array (rows,)
    weights : float64 array (rows,)
    effects : float64 array (rows, effects)
        Columns of the value effects.
    counted : float64 array (terms,)
        1 for a term that is evidence in its own right, 0 for one that must earn its weight.
    penalty : float64 array (terms,)
        Strength of the pull of each weight to its target.
    temperature : float
        The temperature of the counted terms.
    """

    evidence: FloatArray
    log_prior: FloatArray
    codes: IntArray
    weights: FloatArray
    effects: FloatArray
    counted: FloatArray
    penalty: FloatArray
    temperature: float = 1.0

    @property
    def target(self) -> FloatArray:
        """The weight (terms,) that each term has unless the rows say otherwise."""
        return self.counted * min(1.0, self.temperature)

    def rows(self, chosen: AnyArray) -> Design:
        """Return the design of the chosen rows."""
        return replace(
            self,
            evidence=np.ascontiguousarray(self.evidence[:, chosen]),
            log_prior=self.log_prior[:, chosen],
            codes=self.codes[chosen],
            weights=self.weights[chosen],
            effects=self.effects[chosen],
        )


@dataclass(frozen=True)
class Coefficients:
    """A fitted candidate: ``score = prior_scale * log_prior + bias + sum_i weights_i * evidence_i + effects``.

    Parameters
    ----------
    prior_scale : float
    bias : float64 array (classes,)
    weights : float64 array (classes, terms)
    effects : float64 array (classes, effects)
    """

    prior_scale: float
    bias: FloatArray
    weights: FloatArray
    effects: FloatArray


def log_softmax(scores: FloatArray) -> FloatArray:
    """Normalise scores (classes, rows) to log-probabilities over the classes."""
    shifted = scores - scores.max(axis=0)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=0)))


def scores(design: Design, fitted: Coefficients) -> FloatArray:
    """Return the unnormalised log-posteriors (classes, rows) of a fitted candidate."""
    evidence = np.matmul(design.evidence, fitted.weights[:, :, None])[:, :, 0]
    bias = fitted.prior_scale * design.log_prior + fitted.bias[:, None]
    return np.asarray(bias + evidence + fitted.effects @ design.effects.T)


def fit_temperature(design: Design) -> float:
    """Return the temperature of prior and counted evidence with the lowest log-loss; 1 if there is no evidence."""
    evidence = design.evidence @ design.counted
    if not evidence.any():
        return 1.0
    return best_temperature((design.log_prior + evidence).T, design.codes, design.weights, SURPRISES)


def fit_candidate(design: Design, candidate: Candidate, start: Coefficients | None = None) -> Coefficients:
    """Fit one candidate to the rows of a design.

    Parameters
    ----------
    design : Design
    candidate : Candidate
    start : Coefficients, optional
        Where to start; the problem is convex, so this changes the time only.
    """
    classes, n_effects = len(design.evidence), design.effects.shape[1]
    if not candidate.weighted:
        temperature = fit_temperature(design)
        weights = np.tile(temperature * design.counted, (classes, 1))
        return Coefficients(temperature, np.zeros(classes), weights, np.zeros((classes, n_effects)))
    problem = _Problem(design, candidate)
    result = minimize(
        problem.loss_and_gradient,
        problem.pack(start),
        jac=True,
        method="L-BFGS-B",
        bounds=problem.bounds,
        options={"maxiter": MAX_ITERATIONS, "ftol": RELATIVE_GAIN, "gtol": 1e-4, "maxcor": 10},
    )
    return problem.unpack(result.x)


class _Problem:
    """The penalised log-loss of one candidate as a function of one vector: bias, weights and effects.

    No weight is negative: a column's evidence speaks for its own reading or not at all. The left-out evidence of labels
    that mean nothing is lower for a row's own class, so a negative weight would read the class off it.
    """

    def __init__(self, design: Design, candidate: Candidate) -> None:
        self.design = design
        classes, _, terms = design.evidence.shape
        self.effects = design.effects[:, : None if candidate.effect_penalty is not None else 0]
        self.effect_penalty, self.deviation_penalty = candidate.effect_penalty or 0.0, candidate.deviation_penalty
        rows_of_weights = 1 if candidate.deviation_penalty is None else classes
        self.shapes = ((classes,), (rows_of_weights, terms), (classes, self.effects.shape[1]))
        self.splits = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        low = np.full(self.splits[1] + classes * self.effects.shape[1], -np.inf)
        low[self.splits[0] : self.splits[1]] = 0.0
        self.bounds = Bounds(low, np.inf)

    def split(self, vector: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Cut a vector into bias, weights (1 or classes, terms) and effects (classes, effects or 0)."""
        bias, weights, effects = (
            part.reshape(shape) for part, shape in zip(np.split(vector, self.splits), self.shapes, strict=True)
        )
        return bias, weights, effects

    def pack(self, start: Coefficients | None) -> FloatArray:
        """Return the vector to start from."""
        vector = np.zeros(len(self.bounds.lb))
        bias, weights, effects = self.split(vector)  # views of `vector`
        weights[:] = self.design.target
        if start is not None:
            bias[:] = start.bias
            weights[:] = start.weights if len(weights) > 1 else start.weights.mean(axis=0)
            if effects.size:
                effects[:] = start.effects
        return vector

    def unpack(self, vector: FloatArray) -> Coefficients:
        """Return the coefficients in a vector."""
        bias, weights, effects = self.split(vector)
        classes = len(bias)
        if not effects.size:
            effects = np.zeros((classes, self.design.effects.shape[1]))
        return Coefficients(1.0, bias.copy(), np.repeat(weights, classes // len(weights), axis=0), effects.copy())

    def scores(self, vector: FloatArray) -> FloatArray:
        """Return the unnormalised log-posteriors (classes, rows)."""
        bias, weights, effects = self.split(vector)
        if len(weights) > 1:
            evidence = np.matmul(self.design.evidence, weights[:, :, None])[:, :, 0]
        else:
            evidence = self.design.evidence @ weights[0]
        evidence += self.design.log_prior
        evidence += bias[:, None]
        if effects.size:
            evidence += _effect_scores(self.effects, effects)
        return np.asarray(evidence)

    def loss_and_gradient(self, vector: FloatArray) -> tuple[float, FloatArray]:
        """Return the penalised log-loss and its gradient."""
        bias, weights, effects = self.split(vector)
        loss, by_row = loss_and_residual(self.scores(vector).T, self.design.codes, self.design.weights)
        residual = by_row.T
        of_weights = np.matmul(residual[:, None, :], self.design.evidence)[:, 0, :]
        if len(weights) == 1:
            of_weights = of_weights.sum(axis=0, keepdims=True)
        penalty, pull = self.pull(weights)
        parts = [(residual.sum(axis=1) + bias), (of_weights + pull).ravel()]
        if effects.size:
            parts.append((_effect_gradient(self.effects, residual) + self.effect_penalty * effects).ravel())
            penalty += 0.5 * self.effect_penalty * float((effects**2).sum())
        return loss + penalty + 0.5 * float(bias @ bias), np.concatenate(parts)

    def pull(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """The penalty of weights, and its gradient: to the target, class-wise ones through a shared one between.

        The shared weight w of ``penalty (w - target)^2 + deviation_penalty sum_j (weights_j - w)^2`` is the best one.
        """
        strength, target = self.design.penalty, self.design.target
        if self.deviation_penalty is None:
            away = weights - target
            return 0.5 * float((strength * away**2).sum()), strength * away
        total = self.deviation_penalty * weights.sum(axis=0)
        shared = (strength * target + total) / (strength + self.deviation_penalty * len(weights))
        away, apart = shared - target, weights - shared
        loss = 0.5 * float((strength * away**2).sum() + self.deviation_penalty * (apart**2).sum())
        return loss, self.deviation_penalty * apart


# With few classes a matrix product is slower than one matrix-vector product per class. With two, the scores matter
# only by their difference and the residuals are opposite, so one does for both.
FEW_CLASSES = 3


def _effect_scores(columns: FloatArray, effects: FloatArray) -> FloatArray:
    """Return ``effects @ columns.T`` (classes, rows), for two classes up to a constant per row."""
    if len(effects) == 2:
        half = columns @ (0.5 * (effects[0] - effects[1]))
        return np.stack([half, -half])
    if len(effects) <= FEW_CLASSES:
        return np.stack([columns @ effect for effect in effects])
    return np.asarray((columns @ effects.T).T)


def _effect_gradient(columns: FloatArray, residual: FloatArray) -> FloatArray:
    """Return ``residual @ columns`` (classes, effects) for residuals that sum to zero over the classes."""
    if len(residual) == 2:
        first = residual[0] @ columns
        return np.stack([first, -first])
    if len(residual) <= FEW_CLASSES:
        return np.stack([one @ columns for one in residual])
    return np.asarray(residual @ columns)


def fit_candidates(
    design: Design, candidates: dict[str, Candidate] = CANDIDATES, starts: dict[str, Coefficients] | None = None
) -> dict[str, Coefficients]:
    """Fit candidates to all rows of a design, each from its own start or from where the one before ended."""
    fitted: dict[str, Coefficients] = {}
    previous = None
    for name, candidate in candidates.items():
        fitted[name] = fit_candidate(design, candidate, starts[name] if starts else previous)
        previous = fitted[name] if candidate.weighted else None
    return fitted


def cross_fit(
    design: Design, folds: IntArray, candidates: dict[str, Candidate] = CANDIDATES
) -> tuple[FloatArray, dict[str, Coefficients]]:
    """Fit candidates without each fold in turn, then to all rows.

    Returns
    -------
    log_posterior : float64 array (candidates, classes, rows)
        Each row under candidates fitted without its fold.
    fitted : dict of Coefficients
        The candidates fitted to all rows, started from the mean over the folds (never the other way round, which would
        show the held-out rows to a fit that stops early); with no rows at all, from their targets.
    """
    classes, rows, _ = design.evidence.shape
    log_posterior = np.empty((len(candidates), classes, rows))
    by_fold = []
    for fold in np.unique(folds):
        held_out = folds == fold
        test = design.rows(held_out)
        by_fold.append(fit_candidates(design.rows(~held_out), candidates))
        for index, fitted in enumerate(by_fold[-1].values()):
            log_posterior[index][:, held_out] = log_softmax(scores(test, fitted))
    if not by_fold:
        return log_posterior, fit_candidates(design, candidates)
    equal = np.full(len(by_fold), 1 / len(by_fold))
    starts = {name: average([fitted[name] for fitted in by_fold], equal, np.zeros(classes)) for name in candidates}
    return log_posterior, fit_candidates(design, candidates, starts)


def average(fitted: list[Coefficients], shares: FloatArray, log_prior: FloatArray) -> Coefficients:
    """Average candidates into one additive model with prior scale 1.

    A candidate that scales the prior does so around the prior of the training rows: the difference is a class bias, so
    that another prior can still replace it at prediction.
    """
    bias = sum(q * (one.bias + (one.prior_scale - 1) * log_prior) for q, one in zip(shares, fitted, strict=True))
    weights = np.tensordot(shares, np.stack([one.weights for one in fitted]), axes=1)
    effects = np.tensordot(shares, np.stack([one.effects for one in fitted]), axes=1)
    return Coefficients(1.0, np.asarray(bias), weights, effects)


def candidate_shares(cross_fitted: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
    """Return the share of each candidate in the average of cross-fitted log-posteriors (candidates, classes, rows).

    They minimise the log-loss of that average, with a pseudo-count for each: it is convex on the simplex.
    """
    n_candidates = len(cross_fitted)
    equal = np.full(n_candidates, 1 / n_candidates)
    if n_candidates == 1 or not len(codes):
        return equal

    def loss(logits: FloatArray) -> tuple[float, FloatArray]:
        shares = _simplex(logits)
        missed, residual = loss_and_residual(np.tensordot(shares, cross_fitted, axes=1).T, codes, weights)
        slopes = np.tensordot(cross_fitted, residual.T, axes=2) - PSEUDO_COUNT / shares
        return missed - PSEUDO_COUNT * float(np.log(shares).sum()), shares * (slopes - shares @ slopes)

    options = {"ftol": 1e-9, "maxiter": 200}
    return _simplex(minimize(loss, np.zeros(n_candidates), jac=True, method="L-BFGS-B", options=options).x)


def _simplex(logits: FloatArray) -> FloatArray:
    """Shares that add up to one, each above the least that a logarithm can tell from nothing."""
    shares = np.exp(np.clip(logits - logits.max(), -MOST_LOGIT, 0.0))
    return np.asarray(shares / shares.sum())
