"""How much to trust each column's evidence: temperature, weights and value effects, added up to one additive model.

Naive Bayes counts dependent evidence more than once. Here the leave-one-out evidence of a sample of rows is weighed by
five convex candidates, from one temperature to class-wise weights and value effects; each is cross-fitted, and shares
of what they say beyond the prior are added up. A sum of additive scores is one additive score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from naively._weighing.descent import Search, least_of_each
from naively._weighing.design import Design, Scores, Slopes, scores_of
from naively._weighing.softmax import best_temperature, log_softmax, losses_and_residuals
from naively._weighing.solver import Parts, SoftmaxProblem
from naively.engines._threads import in_order
from naively.families._stacking import PSEUDO_COUNT
from naively.typing import AnyArray, FloatArray, IntArray

MAX_ITERATIONS = 150
# Stop when an iteration gains less than this share of the loss: 1e-5 in its place changed the held-out log-loss of 40
# sets by 2e-5 with an eighth more processor time, and 1e-4 costs 1.5e-4.
RELATIVE_GAIN = 3e-5
REMEMBERED = 20
"""Effects and weights of one column tell much the same, which more steps than usual are needed to see."""
SURPRISES = 2.0
"""The number of rows of any class that the temperature of all evidence reckons with beside those that were seen."""
ALL_ROWS = slice(None)
ROWS_PER_TERM = 10
"""With fewer rows than this for each term, the weights of classes are drawn to their shared one the more: left-out
evidence of a row has seen the rows of its fold, and weights that each class may choose would read their classes."""
MOST_LOGIT = 14.0
"""The logarithm of the largest share of a candidate, and that of the least with its sign changed."""

MOST_TOGETHER = 1.25
"""What shares may add up to. Where classes follow from the columns, complete rows would bear out up to twice as much,
and rows with a missing cell would pay for it: on tic-tac-toe (log-loss of complete rows, and of those with 30 % of the
cells missing) .126 and 1.6 with shares that add up to one, .106 and 2.0 with this, .099 and 3.3 without a bound."""

CELLS_AT_ONCE = 1 << 17
"""Folds are fitted side by side as long as they have no more scores (rows, classes) than this: what a step costs beside
its arithmetic is shared, and more would not stay in cache."""

PARAMETERS_AT_ONCE = 1 << 18
"""And no more parameters, of each of which the search remembers its last steps."""


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
        return best_temperature(said, codes, weights, SURPRISES, offset=prior, start=design.temperature)
    rivals, rows = design.rivals[:, chosen], np.arange(len(design.codes))[chosen]
    said, prior = design.counted_evidence[rivals, rows].T, design.log_prior[rivals, rows].T
    return best_temperature(
        said, np.zeros_like(codes), weights, stands_for=design.stands_for, offset=prior, start=design.temperature
    )


def _tempered(design: Design, temperature: float) -> Coefficients:
    """All counted evidence at one temperature."""
    classes = design.n_classes
    weights = np.tile(temperature * design.counted, (classes, 1))
    return Coefficients(np.zeros(classes), weights, np.zeros((classes, design.effects.shape[1])))


class CandidateProblem:
    """The penalised log-losses of fits of one candidate as functions of vectors: bias, weights and effects.

    No weight is negative: a column's evidence speaks for its own reading or not at all. The left-out evidence of labels
    that mean nothing is lower for a row's own class, so a negative weight would read the class off it.

    Parameters
    ----------
    design : Design
    candidate : Candidate
    linear : Scores, optional
        The rows that it is fitted to; all of the design by default.
    weights : ndarray (fits, rows), optional
        What these count in each fit; by default in the only one what they weigh.
    """

    search: ClassVar[Search] = Search(gain=RELATIVE_GAIN, slope=1e-4, steps=MAX_ITERATIONS, remembered=REMEMBERED)

    def __init__(
        self,
        design: Design,
        candidate: Candidate,
        linear: Scores | None = None,
        weights: FloatArray | None = None,
    ) -> None:
        self.design, self.linear = design, scores_of(design) if linear is None else linear
        self.weights = design.weights[None] if weights is None else weights
        classes, terms = design.n_classes, len(design.counted)
        n_effects = 0 if candidate.effect_penalty is None else design.effects.shape[1]
        self.effect_penalty, self.deviation_penalty = candidate.effect_penalty or 0.0, candidate.deviation_penalty
        if self.deviation_penalty is not None:
            self.deviation_penalty *= max(1.0, ROWS_PER_TERM * terms / max(float(design.weights.sum()), 1.0))
        rows_of_weights = 1 if candidate.deviation_penalty is None else classes
        self.shapes = ((classes,), (rows_of_weights, terms), (classes, n_effects))
        self.ends: list[int] = np.cumsum([int(np.prod(shape)) for shape in self.shapes]).tolist()
        self.size = self.ends[-1]

    def split(self, vectors: FloatArray) -> list[FloatArray]:
        """Bias (fits, classes), weights (fits, 1 or classes, terms) and effects (fits, classes, effects), as views."""
        pieces = [vectors[:, start:end] for start, end in zip((0, *self.ends), self.ends, strict=False)]
        return [piece.reshape(len(vectors), *shape) for piece, shape in zip(pieces, self.shapes, strict=True)]

    def pack(self, starts: Sequence[Coefficients | None]) -> FloatArray:
        """The vectors (fits, variables) to start from."""
        vectors = np.zeros((len(starts), self.size))
        for vector, start in zip(vectors, starts, strict=True):
            bias, weights, effects = (part[0] for part in self.split(vector[None]))  # views of `vector`
            weights[:] = self.design.target
            if start is not None:
                bias[:] = start.bias
                weights[:] = start.weights if len(weights) > 1 else start.weights.mean(axis=0)
                if effects.size:
                    effects[:] = start.effects
        return vectors

    def unpack(self, vectors: FloatArray) -> list[Coefficients]:
        """The coefficients in vectors."""
        bias, weights, effects = self.split(vectors)
        classes = bias.shape[1]
        if not effects.size:
            effects = np.zeros((*bias.shape, self.design.effects.shape[1]))
        weights = np.repeat(weights, classes // weights.shape[1], axis=1)
        return [Coefficients(*(part.copy() for part in parts)) for parts in zip(bias, weights, effects, strict=True)]

    def losses_and_gradients(self, vectors: FloatArray, fits: IntArray) -> tuple[FloatArray, FloatArray]:
        """The penalised log-losses (some,) of some of the fits, and their gradients (some, variables)."""
        parts = self.split(vectors)
        weights = self.weights if len(fits) == len(self.weights) else self.weights[fits]
        losses, residual = losses_and_residuals(self.linear.of(*parts), self.linear.codes, weights)
        costs, pulls = self.penalty(*parts)
        slopes = self.linear.slopes(residual, self.shapes[1][0] > 1, parts[2].shape[2] > 0)
        by_kind = [(slope + pull).reshape(len(vectors), -1) for slope, pull in zip(slopes, pulls, strict=True)]
        return losses + costs, np.concatenate(by_kind, axis=1)

    def penalty(self, bias: FloatArray, weights: FloatArray, effects: FloatArray) -> tuple[FloatArray, Slopes]:
        """The pull of biases and effects to 0, and of weights to their target."""
        losses, pull = self.pull(weights)
        flat = effects.reshape(len(effects), -1)
        losses = losses + 0.5 * np.vecdot(bias, bias) + 0.5 * self.effect_penalty * np.vecdot(flat, flat)
        return losses, (bias, pull, self.effect_penalty * effects)

    def pull(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The penalties of weights, and their gradient: to the target, class-wise ones through a shared one between.

        The shared weight w of ``penalty (w - target)^2 + deviation_penalty sum_j (weights_j - w)^2`` is the best one.
        """
        strength, target = self.design.penalty, self.design.target
        if self.deviation_penalty is None:
            away = weights - target
            return 0.5 * (strength * away**2).sum(axis=(1, 2)), strength * away
        total = self.deviation_penalty * weights.sum(axis=1, keepdims=True)
        shared = (strength * target + total) / (strength + self.deviation_penalty * weights.shape[1])
        away, apart = shared - target, weights - shared
        losses = (strength * away**2).sum(axis=(1, 2)) + self.deviation_penalty * (apart**2).sum(axis=(1, 2))
        return 0.5 * losses, self.deviation_penalty * apart

    def solved(self, starts: FloatArray) -> FloatArray:
        """The vectors with the least losses."""
        positive = slice(self.ends[0], self.ends[1])
        return least_of_each(self.losses_and_gradients, starts, positive, self.search)


def fit_candidates(
    design: Design, candidates: dict[str, Candidate] = CANDIDATES, weights: FloatArray | None = None
) -> dict[str, list[Coefficients]]:
    """Fit candidates to a design, each from where one that is much like it ended.

    Parameters
    ----------
    design : Design
    candidates : dict of Candidate
    weights : ndarray (fits, rows), optional
        What the rows count in each of several fits: what they weigh, or nothing. By default there is one fit, to all.
    """
    weights = design.weights[None] if weights is None else weights
    used = np.flatnonzero((weights > 0).any(axis=0))
    chosen: AnyArray | slice = ALL_ROWS if len(used) == weights.shape[1] else used
    linear = _linear(design, candidates, chosen)
    fitted: dict[str, list[Coefficients]] = {}
    for name, candidate in candidates.items():
        other = next((other for other in STARTS.get(name, ()) if other in fitted), None)
        starts: Sequence[Coefficients | None] = [None] * len(weights) if other is None else fitted[other]
        fitted[name] = _fitted(design, candidate, linear, starts, weights, chosen)
    return fitted


def _linear(design: Design, candidates: dict[str, Candidate], chosen: AnyArray | slice = ALL_ROWS) -> Scores | None:
    """The scores of chosen rows, if any candidate has weights."""
    return scores_of(design, chosen) if any(candidate.weighted for candidate in candidates.values()) else None


def _fitted(
    design: Design,
    candidate: Candidate,
    linear: Scores | None,
    starts: Sequence[Coefficients | None],
    weights: FloatArray,
    chosen: AnyArray | slice = ALL_ROWS,
) -> list[Coefficients]:
    """One candidate, fitted several times to chosen rows, whose scores are given."""
    if not candidate.weighted:
        return [_tempered(design, fit_temperature(design, of_fit > 0)) for of_fit in weights]
    problem = CandidateProblem(design, candidate, linear, weights[:, chosen])
    return problem.unpack(problem.solved(problem.pack(starts)))


def cross_fit(
    design: Design, folds: IntArray, candidates: dict[str, Candidate] = CANDIDATES, n_threads: int = 1
) -> tuple[FloatArray, dict[str, Coefficients]]:
    """Fit candidates without each fold, folds side by side, then to all rows, several candidates at a time.

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
    names = np.unique(folds)
    if not len(names):
        return log_posterior, {name: fits[0] for name, fits in fit_candidates(design, candidates).items()}
    n_parameters = classes * (1 + design.evidence.shape[2] + design.effects.shape[1])
    at_once = max(1, min(CELLS_AT_ONCE // (classes * rows), PARAMETERS_AT_ONCE // n_parameters))
    if design.has_rivals:
        n_threads = 1  # of very many classes one fold is much

    def without(some: IntArray) -> list[dict[str, Coefficients]]:
        """The candidates without each of some folds, which are told by them."""
        found = fit_candidates(design, candidates, np.where(folds == some[:, None], 0.0, design.weights))
        by_fold = [dict(zip(found, fits, strict=True)) for fits in zip(*found.values(), strict=True)]
        for fold, fitted in zip(some, by_fold, strict=True):
            held_out = folds == fold
            for index, one in enumerate(fitted.values()):
                log_posterior[index][:, held_out] = log_softmax(scores(design, one, held_out))
        return by_fold

    groups = np.split(names, range(at_once, len(names), at_once))
    by_fold = [fitted for of_group in in_order(without, groups, n_threads) for fitted in of_group]
    equal = np.full(len(names), 1 / len(names))
    linear = _linear(design, candidates)

    def with_all(name: str) -> Coefficients:
        start = mixed([fitted[name] for fitted in by_fold], equal)
        return _fitted(design, candidates[name], linear, [start], design.weights[None])[0]

    return log_posterior, dict(zip(candidates, in_order(with_all, candidates, n_threads), strict=True))


def mixed(fitted: list[Coefficients], shares: FloatArray) -> Coefficients:
    """Add up shares of candidates, or of fits of one, to one additive model."""
    parts = ([one.bias for one in fitted], [one.weights for one in fitted], [one.effects for one in fitted])
    return Coefficients(*(np.tensordot(shares, np.stack(part), axes=1) for part in parts))


def candidate_shares(
    cross_fitted: FloatArray, codes: IntArray, weights: FloatArray, log_prior: FloatArray
) -> FloatArray:
    """Return the share of each candidate in the sum of what cross-fitted ones say beyond the prior.

    They minimise the log-loss of that sum, with a pseudo-count for each, which pulls them to equal shares that add up
    to one. They may add up to somewhat more, where rows bear out all that is said, or to less: each fit has learnt some
    chance.

    Parameters
    ----------
    cross_fitted : ndarray (candidates, classes, rows)
        Log-posteriors.
    codes, weights : ndarray (rows,)
    log_prior : ndarray (classes, rows)
    """
    n_candidates = len(cross_fitted)
    equal = np.full(n_candidates, 1 / n_candidates)
    if n_candidates == 1 or not len(codes):
        return equal
    shares = _shares(_ShareProblem(cross_fitted, codes, weights, log_prior).solved(np.log(equal)))
    return shares * min(1.0, MOST_TOGETHER / float(shares.sum()))


def summed(log_posteriors: FloatArray, shares: FloatArray, log_prior: FloatArray) -> FloatArray:
    """Shares of what log-posteriors (candidates, classes, rows) say beyond the log-prior, as scores beside it."""
    dtype = log_posteriors.dtype
    said = np.tensordot(shares.astype(dtype), log_posteriors, axes=1)
    return np.asarray(said + dtype.type(1.0 - shares.sum()) * log_prior)


class _ShareProblem(SoftmaxProblem):
    """The log-loss of a sum of shares of log-posteriors (candidates, classes, rows) by the logarithms of the shares."""

    search: ClassVar[Search] = Search(gain=1e-9, steps=200)

    def __init__(self, cross_fitted: FloatArray, codes: IntArray, weights: FloatArray, log_prior: FloatArray) -> None:
        super().__init__(codes, weights, [(len(cross_fitted),)])
        self.cross_fitted, self.log_prior = cross_fitted, log_prior

    def scores(self, parts: Parts) -> FloatArray:
        """The sum (rows, classes)."""
        return summed(self.cross_fitted, _shares(parts[0]), self.log_prior).T

    def slopes(self, parts: Parts, residual: FloatArray) -> Parts:
        """The gradient of the log-loss."""
        single = residual.T.astype(self.cross_fitted.dtype, copy=False)
        by_share = np.tensordot(self.cross_fitted, single, axes=2) - np.vdot(self.log_prior, single)
        return [_shares(parts[0]) * by_share]

    def penalty(self, parts: Parts) -> tuple[float, Parts]:
        """A pseudo-count for each candidate: the pull of each share to one divided by their number."""
        away = len(parts[0]) * _shares(parts[0])
        return PSEUDO_COUNT * float((away - parts[0]).sum()), [PSEUDO_COUNT * (away - 1.0)]


def _shares(logs: FloatArray) -> FloatArray:
    """Shares from their logarithms, none too small or too large to be told from nothing or from all."""
    return np.exp(np.clip(logs, -MOST_LOGIT, MOST_LOGIT))
