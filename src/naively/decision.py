"""From evidence to probabilities and labels: the only place where the class prior comes in."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from naively.errors import NaivelyWarning, ParameterError
from naively.families.linear import logs_and_zeros
from naively.smoothing import Smoothing, per_value, smoothed_frequencies
from naively.typing import AnyArray, FloatArray, IntArray

FEW_CLASSES = 32


def class_prior(prior: Any, smoothing: Smoothing, classes: AnyArray, class_weight: FloatArray) -> FloatArray:
    """The probability of each class before any evidence, (n_classes,) or, given per row, (n_rows, n_classes).

    Parameters
    ----------
    prior : None, "estimated", "uniform", mapping by class, or array
    smoothing : Smoothing
        Of the estimated prior.
    classes : ndarray
    class_weight : ndarray of shape (n_classes,)
    """
    n_classes = len(classes)
    if prior is None or (isinstance(prior, str) and prior == "estimated"):
        return np.asarray(smoothed_frequencies(class_weight[None, :], smoothing, classes.tolist())[0])
    if isinstance(prior, str) and prior == "uniform":
        return np.full(n_classes, 1.0 / n_classes)
    check_prior(prior)
    given = per_value("prior", prior, classes.tolist()) if isinstance(prior, Mapping) else _as_floats(prior)
    if given.shape[-1:] != (n_classes,) or given.ndim > 2:
        raise ParameterError(
            f"prior must have one probability per class ({n_classes}: {classes.tolist()[:10]}), or one row of them per "
            f"row of X; its shape is {given.shape}. Number of priors must match number of classes."
        )
    return np.asarray(given / given.sum(axis=-1, keepdims=True))


def check_prior(prior: Any) -> None:
    """Refuse a prior that is wrong whatever the classes turn out to be."""
    if prior is None or (isinstance(prior, str) and prior in ("estimated", "uniform")):
        return
    if isinstance(prior, str):
        raise ParameterError(f"prior must be 'estimated', 'uniform' or probabilities, got {prior!r}.")
    given = _as_floats(list(prior.values()) if isinstance(prior, Mapping) else prior)
    if given.ndim == 0 or not np.isfinite(given).all() or (given < 0).any():
        raise ParameterError("prior must hold probabilities of zero or more (Priors must be non-negative).")
    sums = given.sum(axis=-1)
    if not np.allclose(sums, 1.0, rtol=0, atol=1e-6):
        raise ParameterError(f"The sum of the priors should be 1, got {np.ravel(sums)[0]:g}.")


def _as_floats(prior: Any) -> FloatArray:
    try:
        return np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"prior must hold one number per class, got {prior!r}.") from error


def log_prior(probability: FloatArray) -> FloatArray:
    """The logarithm of the prior, minus infinity for what is excluded."""
    logs, zeros = logs_and_zeros(probability)
    return logs if zeros is None else np.where(zeros, -np.inf, logs)


def _by_class(scores: FloatArray) -> FloatArray:
    """The scores as (classes, rows): few classes are laid out anew, as NumPy is slow along short rows."""
    return np.ascontiguousarray(scores.T) if scores.shape[1] <= FEW_CLASSES else scores.T


class Decider:
    """Adds the prior to scores, and normalises; remembers rows in which every class turned out impossible.

    Parameters
    ----------
    logs : ndarray of shape (n_classes,) or (n_rows, n_classes)
        The log-prior.
    """

    def __init__(self, logs: FloatArray):
        self.log_prior = logs
        self.n_impossible = 0

    def add_prior(self, scores: FloatArray, rows: slice) -> FloatArray:
        """Turn scores into joint log-probabilities, in place; where all are impossible, into the log-prior.

        Returns the best of each row.
        """
        prior = self.log_prior if self.log_prior.ndim == 1 else self.log_prior[rows]
        scores += prior
        best = _by_class(scores).max(axis=0)
        if not np.isfinite(best).all():
            impossible = ~np.isfinite(best)
            self.n_impossible += int(impossible.sum())
            scores[impossible] = np.broadcast_to(prior, scores.shape)[impossible]
            best = scores.max(axis=1)
        return np.asarray(best)

    def choose(self, scores: FloatArray, rows: slice) -> IntArray:
        """The position of the most probable class of each row, the first of several."""
        best = self.add_prior(scores, rows)
        if scores.shape[1] > FEW_CLASSES:
            return np.asarray(scores.argmax(axis=1))
        chosen = np.zeros(len(scores), dtype=np.int64)
        for code in range(scores.shape[1] - 1, 0, -1):
            chosen[scores[:, code] == best] = code
        chosen[scores[:, 0] == best] = 0
        return chosen

    def normalise(self, scores: FloatArray, rows: slice) -> None:
        """Turn scores into log-probabilities, in place."""
        scores -= self.add_prior(scores, rows)[:, None]
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))

    def probabilities(self, scores: FloatArray, rows: slice) -> None:
        """Turn scores into probabilities, in place."""
        if scores.shape[1] == 2 and self._two_probabilities(scores, rows):
            return
        best = self.add_prior(scores, rows)
        by_class = _by_class(scores)
        by_class -= best
        np.exp(by_class, out=by_class)
        by_class /= by_class.sum(axis=0)
        if by_class.base is not scores:
            scores[:] = by_class.T

    def _two_probabilities(self, scores: FloatArray, rows: slice) -> bool:
        """The same for two classes, from their difference; False, and nothing done, where one is impossible."""
        prior = self.log_prior if self.log_prior.ndim == 1 else self.log_prior[rows]
        with np.errstate(invalid="ignore"):
            difference = (scores[:, 1] + prior.T[1]) - (scores[:, 0] + prior.T[0])
        if not np.isfinite(difference).all():
            return False
        less = np.exp(-np.abs(difference))
        more = 1.0 / (1.0 + less)
        less *= more
        second = difference > 0
        scores[:, 0] = np.where(second, less, more)
        scores[:, 1] = np.where(second, more, less)
        return True

    def warn(self) -> None:
        """Say how many rows no class could have produced."""
        if self.n_impossible:
            warnings.warn(
                f"In {self.n_impossible} row(s) every class had probability zero, so the answer is the class prior. "
                "Use some smoothing, for example smoothing='laplace'.",
                NaivelyWarning,
                stacklevel=4,
            )
