"""How much to trust each column's evidence: temperature, weights and value effects, averaged into one additive model.

Naive Bayes counts dependent evidence more than once. Here the leave-one-out evidence of a sample of rows is weighed by
five convex candidates, from one temperature to class-wise weights and value effects; each is cross-fitted, and the
logarithms of their posteriors are averaged. An average of additive scores is one additive score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from naively._weighing.descent import Search
from naively._weighing.design import Design, Scores, scores_of
from naively._weighing.softmax import best_temperature
from naively._weighing.solver import Parts, SoftmaxProblem
from naively.engines._threads import in_order
from naively.families._stacking import PSEUDO_COUNT
from naively.typing import AnyArray, FloatArray, IntArray

MAX_ITERATIONS = 150
# Stop when an iteration gains less than this share of the loss: 1e-8 in its place changed the held-out log-loss of 13
# sets by less than 1e-4 at twice the evaluations.
RELATIVE_GAIN = 1e-5
SURPRISES = 2.0
"""The number of rows of any class that the temperature of all evidence reckons with beside those that were seen."""
ALL_ROWS = slice(None)
ROWS_PER_TERM = 10
"""With fewer rows than this for each term, the weights of classes are drawn to their shared one the more: left-out
evidence of a row has seen the rows of its fold, and weights that each class may choose would read their classes."""
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


STARTS = {"V3": ("W",), "V.3": ("V3", "W"), "CV": ("V3", "W")}
"""From where each candidate sets out: the first of these that was fitted, else the target."""


@dataclass(frozen=True)
class Coefficients:
    """A fitted candidate: ``score = log_prior + bias + sum_i weights_i * evidence_i + effects``.

    Parameters
    ----------
    bias : float64 array (classes,)
    weights : float64 array (classes, terms)
    effects : float64 array (classes, effects)
    """

    bias: FloatArray
    weights: FloatArray
    effects: FloatArray

    def believed(self, share: float) -> Coefficients:
        """A share of all that is added to the prior."""
        return Coefficients(share * self.bias, share * self.weights, share * self.effects)


def log_softmax(scores: FloatArray) -> FloatArray:
    """Normalise scores (classes, rows) to log-probabilities over the classes."""
    shifted = np.asarray(scores - scores.max(axis=0))
    shifted -= np.log(np.exp(shifted).sum(axis=0))
    return shifted


def scores(design: Design, fitted: Coefficients, chosen: AnyArray | slice = ALL_ROWS) -> FloatArray:
    """Return the unnormalised log-posteriors (classes, rows) of a fitted candidate."""
    said = design.log_prior[:, chosen] + fitted.bias[:, None] + design.weighed(fitted.weights, chosen)
    return said + (design.effects[chosen] @ fitted.effects.T).T if fitted.effects.size else said


def fit_temperature(design: Design, chosen: AnyArray | slice = ALL_ROWS) -> float:
    """Return the temperature of counted evidence with the lowest log-loss; 1 if there is no evidence.

    The prior stays as it is: evidence that says nothing must leave it in force.
    """
    if not design.counted_evidence[:, chosen].any():
        return 1.0
    codes, weights = design.codes[chosen], design.weights[chosen]
    if not design.has_rivals:
        said, prior = design.counted_evidence[:, chosen].T, design.log_prior[:, chosen].T
        return best_temperature(said, codes, weights, SURPRISES, offset=prior)
    rivals, rows = design.rivals[:, chosen], np.arange(len(design.codes))[chosen]
    said, prior = design.counted_evidence[rivals, rows].T, design.log_prior[rivals, rows].T
    return best_temperature(said, np.zeros_like(codes), weights, stands_for=design.stands_for, offset=prior)


def _tempered(design: Design, temperature: float) -> Coefficients:
    """All counted evidence at one temperature."""
    classes = design.n_classes
    weights = np.tile(temperature * design.counted, (classes, 1))
    return Coefficients(np.zeros(classes), weights, np.zeros((classes, design.effects.shape[1])))


class CandidateProblem(SoftmaxProblem):
    """The penalised log-loss of one candidate as a function of one vector: bias, weights and effects.

    No weight is negative: a column's evidence speaks for its own reading or not at all. The left-out evidence of labels
    that mean nothing is lower for a row's own class, so a negative weight would read the class off it.

    Parameters
    ----------
    design : Design
    candidate : Candidate
    linear : Scores, optional
        The rows that it is fitted to; all of the design by default.
    """

    search: ClassVar[Search] = Search(gain=RELATIVE_GAIN, slope=1e-4, steps=MAX_ITERATIONS)

    def __init__(self, design: Design, candidate: Candidate, linear: Scores | None = None) -> None:
        self.design, self.linear = design, scores_of(design) if linear is None else linear
        classes, terms = design.n_classes, len(design.counted)
        n_effects = 0 if candidate.effect_penalty is None else design.effects.shape[1]
        self.effect_penalty, self.deviation_penalty = candidate.effect_penalty or 0.0, candidate.deviation_penalty
        if self.deviation_penalty is not None:
            self.deviation_penalty *= max(1.0, ROWS_PER_TERM * terms / max(float(design.weights.sum()), 1.0))
        rows_of_weights = 1 if candidate.deviation_penalty is None else classes
        shapes = ((classes,), (rows_of_weights, terms), (classes, n_effects))
        super().__init__(self.linear.codes, self.linear.weights, shapes, positive=1)

    def pack(self, start: Coefficients | None) -> FloatArray:
        """Return the vector to start from."""
        vector = np.zeros(self.size)
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
        return Coefficients(bias.copy(), np.repeat(weights, classes // len(weights), axis=0), effects.copy())

    def scores(self, parts: Parts) -> FloatArray:
        """The scores (rows, classes)."""
        return self.linear.of(*parts).T

    def slopes(self, parts: Parts, residual: FloatArray) -> Parts:
        """The gradient of the log-loss."""
        _, weights, effects = parts
        return self.linear.slopes(residual.T, len(weights) > 1, effects.shape[1] > 0)

    def penalty(self, parts: Parts) -> tuple[float, Parts]:
        """The pull of biases and effects to 0, and of weights to their target."""
        bias, weights, effects = parts
        loss, pull = self.pull(weights)
        loss += 0.5 * float(bias @ bias) + 0.5 * self.effect_penalty * float((effects**2).sum())
        return loss, [bias, pull, self.effect_penalty * effects]

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


def fit_candidates(
    design: Design, candidates: dict[str, Candidate] = CANDIDATES, chosen: AnyArray | slice = ALL_ROWS
) -> dict[str, Coefficients]:
    """Fit candidates to chosen rows of a design, each from where one that is much like it ended."""
    linear = _linear(design, candidates, chosen)
    fitted: dict[str, Coefficients] = {}
    for name, candidate in candidates.items():
        start = next((fitted[other] for other in STARTS.get(name, ()) if other in fitted), None)
        fitted[name] = _fitted(design, candidate, linear, start, chosen)
    return fitted


def _linear(design: Design, candidates: dict[str, Candidate], chosen: AnyArray | slice = ALL_ROWS) -> Scores | None:
    """The scores of chosen rows, if any candidate has weights."""
    return scores_of(design, chosen) if any(candidate.weighted for candidate in candidates.values()) else None


def _fitted(
    design: Design,
    candidate: Candidate,
    linear: Scores | None,
    start: Coefficients | None,
    chosen: AnyArray | slice = ALL_ROWS,
) -> Coefficients:
    """One candidate, fitted to chosen rows, whose scores are given."""
    if not candidate.weighted:
        return _tempered(design, fit_temperature(design, chosen))
    problem = CandidateProblem(design, candidate, linear)
    return problem.unpack(problem.solved(problem.pack(start)))


def cross_fit(
    design: Design, folds: IntArray, candidates: dict[str, Candidate] = CANDIDATES, n_threads: int = 1
) -> tuple[FloatArray, dict[str, Coefficients]]:
    """Fit candidates without each fold, several folds at a time, then to all rows, several candidates at a time.

    Returns
    -------
    log_posterior : float64 array (candidates, classes, rows)
        Each row under candidates fitted without its fold.
    fitted : dict of Coefficients
        The candidates fitted to all rows, started from the mean over the folds (never the other way round, which would
        show the held-out rows to a fit that stops early); with no rows at all, from their targets.
    """
    classes, rows, _ = design.evidence.shape
    log_posterior = np.empty((len(candidates), classes, rows), dtype=design.evidence.dtype)
    if design.has_rivals:
        n_threads = 1  # of very many classes one fold is much

    def without(fold: int) -> dict[str, Coefficients]:
        held_out = folds == fold
        test, rows = (design, held_out) if design.has_rivals else (design.rows(held_out), ALL_ROWS)
        found = fit_candidates(design, candidates, chosen=~held_out)
        for index, fitted in enumerate(found.values()):
            log_posterior[index][:, held_out] = log_softmax(scores(test, fitted, rows))
        return found

    by_fold = list(in_order(without, np.unique(folds), n_threads))
    if not by_fold:
        return log_posterior, fit_candidates(design, candidates)
    equal = np.full(len(by_fold), 1 / len(by_fold))
    linear = _linear(design, candidates)

    def with_all(name: str) -> Coefficients:
        start = average([fitted[name] for fitted in by_fold], equal)
        return _fitted(design, candidates[name], linear, start)

    return log_posterior, dict(zip(candidates, in_order(with_all, candidates, n_threads), strict=True))


def average(fitted: list[Coefficients], shares: FloatArray) -> Coefficients:
    """Average candidates into one additive model."""
    parts = ([one.bias for one in fitted], [one.weights for one in fitted], [one.effects for one in fitted])
    return Coefficients(*(np.tensordot(shares, np.stack(part), axes=1) for part in parts))


def candidate_shares(cross_fitted: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
    """Return the share of each candidate in the average of cross-fitted log-posteriors (candidates, classes, rows).

    They minimise the log-loss of that average, with a pseudo-count for each: it is convex on the simplex.
    """
    n_candidates = len(cross_fitted)
    if n_candidates == 1 or not len(codes):
        return np.full(n_candidates, 1 / n_candidates)
    return _simplex(_ShareProblem(cross_fitted, codes, weights).solved(np.zeros(n_candidates)))


class _ShareProblem(SoftmaxProblem):
    """The log-loss of an average of log-posteriors (candidates, classes, rows) by the logits of its shares."""

    search: ClassVar[Search] = Search(gain=1e-9, steps=200)

    def __init__(self, cross_fitted: FloatArray, codes: IntArray, weights: FloatArray) -> None:
        super().__init__(codes, weights, [(len(cross_fitted),)])
        self.cross_fitted = cross_fitted

    def scores(self, parts: Parts) -> FloatArray:
        """The average (rows, classes)."""
        return np.tensordot(_simplex(parts[0]).astype(self.cross_fitted.dtype), self.cross_fitted, axes=1).T

    def slopes(self, parts: Parts, residual: FloatArray) -> Parts:
        """The gradient of the log-loss."""
        by_share = np.tensordot(self.cross_fitted, residual.T.astype(self.cross_fitted.dtype, copy=False), axes=2)
        return [_by_logit(_simplex(parts[0]), by_share)]

    def penalty(self, parts: Parts) -> tuple[float, Parts]:
        """A pseudo-count for each candidate."""
        shares = _simplex(parts[0])
        return -PSEUDO_COUNT * float(np.log(shares).sum()), [_by_logit(shares, -PSEUDO_COUNT / shares)]


def _by_logit(shares: FloatArray, by_share: FloatArray) -> FloatArray:
    """The gradient by the logits of shares from that by the shares."""
    return np.asarray(shares * (by_share - shares @ by_share))


def _simplex(logits: FloatArray) -> FloatArray:
    """Shares that add up to one, each above the least that a logarithm can tell from nothing."""
    shares = np.exp(np.clip(logits - logits.max(), -MOST_LOGIT, 0.0))
    return np.asarray(shares / shares.sum())
