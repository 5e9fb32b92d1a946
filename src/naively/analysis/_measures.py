"""How good answers are: one number from the probabilities given to rows whose class is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._common.estimators import BaseEstimator, ClassifierMixin
from naively.errors import InputError, ParameterError, brief
from naively.typing import AnyArray, FloatArray, IntArray

LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
"""The log-loss takes no probability for smaller than this, so that one impossible row does not decide alone."""


@dataclass(frozen=True)
class Measure:
    """A number that says how good probabilities are.

    Parameters
    ----------
    of : callable
        From log-probabilities (rows, classes), class codes (rows,) and weights (rows,) to the number.
    more_is_better : bool
    """

    of: Callable[[FloatArray, IntArray, FloatArray], float]
    more_is_better: bool = True


def accuracy(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """The share of the rows whose most probable class is the right one."""
    right = log_proba.argmax(axis=1) == codes
    return float(weights[right].sum() / weights.sum()) if not right.all() else 1.0  # sums may round apart


def balanced_accuracy(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """The mean over the classes that occur of the share of their rows that are right."""
    table = confusion(log_proba, codes, weights)
    rows = table.sum(axis=1)
    return float((np.diag(table)[rows > 0] / rows[rows > 0]).mean())


def kappa(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """Cohen's kappa: the agreement with the truth beyond what chance would give, as a share of what is possible.

    NaN where the truth and the answers are all of one class: chance alone would agree.

    Examples
    --------
    >>> kappa(np.log([[0.8, 0.2], [0.7, 0.3], [0.6, 0.4], [0.1, 0.9]]), np.array([0, 0, 1, 1]), np.ones(4))
    0.5
    """
    table = confusion(log_proba, codes, weights)
    share = table / table.sum()
    agreed, by_chance = np.trace(share), share.sum(axis=0) @ share.sum(axis=1)
    if by_chance >= 1:
        return float("nan")
    return float((agreed - by_chance) / (1 - by_chance))


def log_loss(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """The mean of minus the logarithm of the right class's probability, in nats."""
    right = log_proba[np.arange(len(codes)), codes]
    return float(-(weights @ np.maximum(right, np.log(LEAST_PROBABILITY))) / weights.sum())


def brier(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """The mean squared distance of the probabilities from the truth, summed over the classes."""
    error = np.exp(log_proba)
    error[np.arange(len(codes)), codes] -= 1
    return float(weights @ (error**2).sum(axis=1) / weights.sum())


def confusion(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
    """The weight of the rows of each class (first axis) that were given each class (second axis)."""
    n_classes = log_proba.shape[1]
    cells = np.bincount(codes * n_classes + log_proba.argmax(axis=1), weights, n_classes * n_classes)
    return np.asarray(cells.reshape(n_classes, n_classes))


MEASURES = {
    "accuracy": Measure(accuracy),
    "balanced_accuracy": Measure(balanced_accuracy),
    "kappa": Measure(kappa),
    "log_loss": Measure(log_loss, more_is_better=False),
    "brier": Measure(brier, more_is_better=False),
}


# -- scikit-learn's scorers -------------------------------------------------------------------------------------------


class _Answered(ClassifierMixin, BaseEstimator):
    """A classifier whose answers are known: what scorers of scikit-learn ask.

    Parameters
    ----------
    classes : ndarray
    log_proba : ndarray of shape (n_rows, n_classes)
    """

    def __init__(self, classes: AnyArray, log_proba: FloatArray):
        self.classes, self.log_proba = classes, log_proba
        self.classes_ = classes

    def predict(self, X: Any) -> AnyArray:
        return np.asarray(self.classes[self.log_proba.argmax(axis=1)])

    def predict_proba(self, X: Any) -> FloatArray:
        return np.exp(self.log_proba)

    def predict_log_proba(self, X: Any) -> FloatArray:
        return self.log_proba

    def decision_function(self, X: Any) -> FloatArray:
        proba = np.exp(self.log_proba)
        return proba[:, 1] if proba.shape[1] == 2 else proba  # in the order of the log-odds, and finite


def is_scorer(scoring: Any) -> bool:
    """Whether something is a scorer of scikit-learn, as `make_scorer` makes it."""
    return hasattr(scoring, "_score_func")


def measure_of_scorer(scoring: Any, classes: AnyArray) -> Measure:
    """The measure that a scorer of scikit-learn is, given as an object or by name.

    Parameters
    ----------
    scoring : str or scorer
        One for classifiers: "roc_auc", "f1_macro", "neg_log_loss", ...
    classes : ndarray
        The labels of the classes.
    """
    if scoring == "neg_log_loss":  # scikit-learn's needs all classes in every fold
        return Measure(lambda *answer: -log_loss(*answer))
    from sklearn.metrics import get_scorer

    try:
        scorer = get_scorer(scoring)
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"scoring must be one of {', '.join(map(repr, MEASURES))}, the name of a scorer of scikit-learn such as "
            f"'roc_auc' or 'f1_macro', or a function; got {brief(scoring)}."
        ) from error

    def score(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> float:
        answered = _Answered(classes, log_proba)
        try:
            return float(scorer(answered, np.empty((len(codes), 0)), classes[codes], sample_weight=weights))
        except (ValueError, TypeError) as error:
            raise InputError(f"scoring={brief(scoring)} has no answer for one of the folds: {error}") from error

    return Measure(score)
