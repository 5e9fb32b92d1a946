"""Weights of single words beside the additive model: naive Bayes corrected by regression (Wang and Manning, 2012).

``score = additive score + x W``, where x holds, for each word of a text, ``log(1 + count)`` times how much the word
tells the classes apart, scaled to unit length. W minimises the log-loss of the kept rows plus a ridge, from W = 0, the
additive scores being left-out ones: what the additive model says already needs no weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from naively._weighing.additive import AdditiveModel, Reweighted
from naively._weighing.descent import Search
from naively._weighing.experts import FittedExpert, LearntRows
from naively._weighing.softmax import log_softmax
from naively._weighing.solver import Parts, SoftmaxProblem
from naively._weighing.terms import Column, TextTerm
from naively._weighing.text import SHARE, TextEvidence, TokenScores
from naively.typing import FloatArray, IntArray

RIDGE = 0.1
ITERATIONS = 30
LEAST_TEXTS = 2
"""Words that fewer texts have get no weight."""

LEAST_ROWS = 50
"""With fewer kept rows no weights are fitted."""

LARGEST_WEIGHTS = 40_000_000
"""No more weights than this are fitted: beyond, the words with the least strength stay out."""


@dataclass(frozen=True)
class WordFeatures:
    """The words of a text column that can have a weight.

    Parameters
    ----------
    column : int
        The text column, among the additive model's.
    scores : TokenScores
        The view whose words they are.
    strength : ndarray (words of the vocabulary,)
        How much each tells the classes apart; 0 for those without a weight.
    """

    column: int
    scores: TokenScores
    strength: FloatArray

    def read(self, columns: Sequence[Column]) -> Any:
        """The features of rows, a CSR array of unit rows; a missing text has none."""
        rows = self.scores.read(columns[self.column][1].tolist())
        values = rows.tallies * self.strength[rows.places]
        norms = np.sqrt(np.bincount(rows.rows, weights=values**2, minlength=len(rows.bounds) - 1))
        table = rows.matrix(len(self.strength), values / np.maximum(norms, 1e-12)[rows.rows])
        table.eliminate_zeros()
        return table


@dataclass(frozen=True)
class WordExpert:
    """The additive model with a weight for each word and class."""

    additive: Reweighted
    features: tuple[WordFeatures, ...]
    weights: FloatArray
    name: str = "words"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        corrected = self.additive.log_proba(columns) + _read(self.features, columns) @ self.weights
        return log_softmax(corrected, axis=1)


def fit_words(learnt: LearntRows) -> FittedExpert | None:
    """Word weights on all kept rows, and their cross-fitted log-probabilities of these rows.

    None without a text column, or with too few rows.
    """
    if learnt.weights.sum() < LEAST_ROWS or all(kind != "text" for kind, _ in learnt.columns):
        return None
    features = _features(learnt.additive)
    if not features:
        return None
    target, weights, start = learnt.target, learnt.weights, learnt.additive_log_proba
    table = _read(features, learnt.columns)
    crossed = np.empty_like(start)
    for fold in np.unique(learnt.folds):
        rows = learnt.folds != fold
        fitted = _fit(table[rows], target[rows], weights[rows], start[rows])
        crossed[~rows] = start[~rows] + table[~rows] @ fitted
    expert = WordExpert(learnt.additive.scores, features, _fit(table, target, weights, start))
    return FittedExpert(expert, np.asarray(log_softmax(crossed, axis=1)))


def _features(additive: AdditiveModel) -> tuple[WordFeatures, ...]:
    found = []
    for term in additive.terms:
        if isinstance(term, TextTerm) and isinstance(term.estimate, TextEvidence):
            scores = term.estimate.scorers[0]
            if scores.view.unit == "words":
                prior = np.exp(additive.log_prior)
                found.append(WordFeatures(term.column, scores, _strengths(scores, prior / prior.sum())))
    return tuple(found)


def _strengths(scores: TokenScores, prior: FloatArray) -> FloatArray:
    """The standard deviation over the classes of what each word says; 0 for those that are too rare or too many."""
    said = scores.ratio_of_cells(SHARE)
    tokens, share = scores.table.tokens, prior[scores.table.codes]
    n_tokens = len(scores.table.vocabulary)
    mean = np.bincount(tokens, weights=share * said, minlength=n_tokens)
    square = np.bincount(tokens, weights=share * said**2, minlength=n_tokens)
    strength = np.sqrt(np.maximum(square - mean**2, 0.0))
    strength[scores.table.document_frequency < LEAST_TEXTS] = 0.0
    most = LARGEST_WEIGHTS // max(len(prior), 1)
    if np.count_nonzero(strength) > most:
        strength[np.argsort(-strength, kind="stable")[most:]] = 0.0
    return np.asarray(strength)


def _read(features: Sequence[WordFeatures], columns: Sequence[Column]) -> Any:
    return sparse.hstack([one.read(columns) for one in features], format="csr")


def _fit(features: Any, target: IntArray, weights: FloatArray, start: FloatArray) -> FloatArray:
    """The weights (words, classes)."""
    n_columns, used = features.shape[1], np.unique(features.indices)
    if len(used) == 0:  # no word to weigh
        return np.zeros((n_columns, start.shape[1]))
    features = features[:, used]
    problem = _WordProblem(features, target, weights, start)
    result = np.zeros((n_columns, start.shape[1]))
    result[used] = problem.split(problem.solved(np.zeros(problem.size)))[0]
    return result


class _WordProblem(SoftmaxProblem):
    """The log-loss of scores that start somewhere and are corrected by words, by the weights (words, classes)."""

    search: ClassVar[Search] = Search(steps=ITERATIONS, remembered=5)

    def __init__(self, features: Any, target: IntArray, weights: FloatArray, start: FloatArray) -> None:
        super().__init__(target, weights, [(features.shape[1], start.shape[1])])
        self.features, self.back, self.start = features, features.T.tocsr(), start

    def scores(self, parts: Parts) -> FloatArray:
        """The corrected scores (rows, classes)."""
        return np.asarray(self.start + self.features @ parts[0])

    def slopes(self, parts: Parts, residual: FloatArray) -> Parts:
        """The gradient of the log-loss."""
        return [self.back @ residual]

    def penalty(self, parts: Parts) -> tuple[float, Parts]:
        """A ridge."""
        return 0.5 * RIDGE * float((parts[0] ** 2).sum()), [RIDGE * parts[0]]
