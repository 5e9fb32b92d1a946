"""From evidence to probabilities and labels: the only place where the class prior and the loss come in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from naively._common.by_label import by_label, is_frame, is_series, ordered_columns, ordered_square, refuse_unknown
from naively._common.checks import require_number
from naively._table.labels import label_array, object_array, unmasked
from naively.errors import InputError, ParameterError, brief, listed, warn
from naively.families._linear import logs_and_zeros
from naively.smoothing import Smoothing, per_value, smoothed_frequencies
from naively.typing import AnyArray, FloatArray, IntArray

FEW_CLASSES = 32
MANY_TERMS = 8
"""Of fewer terms NumPy's sum is that of a loop, whatever their layout."""

REJECTED = -1
"""Stands for a class where a row is better left undecided."""

# -- prior ----------------------------------------------------------------------------------------------------------


def class_prior(prior: Any, smoothing: Smoothing, classes: AnyArray, class_weight: FloatArray) -> FloatArray:
    """The probability of each class before any evidence, (n_classes,) or, given per row, (n_rows, n_classes).

    Parameters
    ----------
    prior : None, "estimated", "uniform", mapping or Series by class, array, or data frame with a column per class
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
    given = _in_order(prior, classes.tolist())
    if given.shape[-1:] != (n_classes,) or given.ndim > 2:
        raise ParameterError(
            f"prior must have one probability per class ({n_classes}: {classes.tolist()[:10]}), or one row of them per "
            f"row of X; its shape is {given.shape}. Number of priors must match number of classes."
        )
    return np.asarray(given / given.sum(axis=-1, keepdims=True))


def _in_order(prior: Any, labels: list[Any]) -> FloatArray:
    """The numbers of a prior in the order of the classes."""
    prior = by_label(prior, "prior")
    if isinstance(prior, Mapping):
        refuse_unknown("prior", prior, labels)
        return per_value("prior", prior, labels)
    return ordered_columns(prior, labels, "prior") if is_frame(prior) else _as_floats(prior)


def check_prior(prior: Any) -> None:
    """Refuse a prior that is wrong whatever the classes turn out to be."""
    if prior is None or (isinstance(prior, str) and prior in ("estimated", "uniform")):
        return
    if isinstance(prior, str):
        raise ParameterError(f"prior must be 'estimated', 'uniform' or probabilities, got {brief(prior)}.")
    given = _as_floats(list(prior.values()) if isinstance(prior, Mapping) else prior)
    if given.ndim == 0 or not np.isfinite(given).all() or (given < 0).any():
        raise ParameterError("prior must hold probabilities of zero or more (Priors must be non-negative).")
    sums = given.sum(axis=-1)
    if not np.allclose(sums, 1.0, rtol=0, atol=1e-6):
        raise ParameterError(f"The sum of the priors should be 1, got {np.ravel(sums)[0]:g}.")


def _as_floats(prior: Any) -> FloatArray:
    try:
        return unmasked(prior)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"prior must hold one number per class, got {brief(prior)}.") from error


def log_prior(probability: FloatArray) -> FloatArray:
    """The logarithm of the prior, minus infinity for what is excluded."""
    logs, zeros = logs_and_zeros(probability)
    return logs if zeros is None else np.where(zeros, -np.inf, logs)


# -- loss -----------------------------------------------------------------------------------------------------------


def loss_matrix(loss: Any, classes: AnyArray) -> FloatArray | None:
    """What each mistake costs, (true class, predicted class), in the order of the classes; None for the 0-1 loss.

    Parameters
    ----------
    loss : None, array of shape (n_classes, n_classes), data frame, or mapping
        ``loss[true][predicted]`` or ``loss[true, predicted]`` by label; there the right answer costs 0 if not given.
        The index of a data frame is the true class, its columns are the predicted ones.
    classes : ndarray

    Examples
    --------
    >>> loss_matrix({("ham", "spam"): 10, ("spam", "ham"): 1}, np.array(["ham", "spam"]))
    array([[ 0., 10.],
           [ 1.,  0.]])
    """
    if loss is None:
        return None
    labels = classes.tolist()
    loss = by_label(loss, "loss")
    if isinstance(loss, Mapping):
        given = _loss_by_label(loss, labels)
    else:
        given = ordered_square(loss, labels, "loss") if is_frame(loss) else _loss_array(loss)
    if given.shape != (len(labels), len(labels)):
        raise ParameterError(
            f"loss must have one row per true class and one column per predicted class, ({len(labels)}, {len(labels)}) "
            f"in the order {listed(labels, 10)}; its shape is {given.shape}."
        )
    if not np.isfinite(given).all() or (given < 0).any():
        raise ParameterError(
            "loss must hold finite costs of zero or more. Only differences matter between the answers to one true "
            "class: add to a row that has a gain."
        )
    return given


def _loss_array(loss: Any) -> FloatArray:
    try:
        return unmasked(loss)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"loss must be a square matrix of costs, or a mapping by label; got {brief(loss)}."
        ) from error


def _loss_by_label(loss: Mapping[Any, Any], labels: list[Any]) -> FloatArray:
    """The matrix of a mapping of mappings, or of a mapping by (true, predicted)."""
    loss = {true: _costs_by_label(costs) for true, costs in loss.items()}
    nested = all(isinstance(costs, Mapping) for costs in loss.values())
    cells = {(true, answer): cost for true in loss for answer, cost in loss[true].items()} if nested else dict(loss)
    for key in cells:
        if not (isinstance(key, tuple) and len(key) == 2 and key[0] in labels and key[1] in labels):
            raise ParameterError(
                f"loss has an entry for {key!r}; expected (true class, predicted class), both among "
                f"{listed(labels, 10)}."
            )
        require_number(f"loss[{key[0]!r}, {key[1]!r}]", cells[key], at_least=0, at_most=np.inf)
    absent = [(true, answer) for true in labels for answer in labels if true != answer and (true, answer) not in cells]
    if absent:
        raise ParameterError(
            f"loss does not say what it costs to answer {absent[0][1]!r} where {absent[0][0]!r} is true. Give a cost "
            "for every mistake."
        )
    return np.array([[float(cells.get((true, answer), 0.0)) for answer in labels] for true in labels])


def _costs_by_label(costs: Any) -> Any:
    """The costs of one true class, if they are given as a Series; they must have labels."""
    given = by_label(costs, "loss")
    if is_series(costs) and not isinstance(given, Mapping):
        raise ParameterError("loss holds a Series without labels. Give it the predicted classes as index, or a dict.")
    return given


def expected_loss(probability: FloatArray, loss: FloatArray | None = None) -> FloatArray:
    """What each answer costs on average: ``sum over true classes of probability * loss[true, answer]``.

    Parameters
    ----------
    probability : ndarray of shape (n_rows, n_classes)
    loss : ndarray of shape (n_classes, n_classes), optional
        ``loss[true, predicted]``; by default 0 for the right answer and 1 for any other.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)

    Examples
    --------
    >>> expected_loss(np.array([[0.2, 0.8]]))
    array([[0.8, 0.2]])
    >>> expected_loss(np.array([[0.2, 0.8]]), np.array([[0.0, 10.0], [1.0, 0.0]]))
    array([[0.8, 2. ]])
    """
    # The 0-1 loss as a sum over the other classes, not as 1 - p: small risks keep their digits.
    return probability @ (1.0 - np.eye(probability.shape[1]) if loss is None else loss)


def check_reject(reject: Any, reject_label: Any, classes: AnyArray) -> float | None:
    """The cost of leaving a row undecided, and that what then stands for an answer is no answer."""
    if reject is None:
        if reject_label is not None:
            raise ParameterError("reject_label says what rejected rows get, but reject, the cost, is not given.")
        return None
    require_number("reject", reject, at_least=0, at_most=np.inf)
    if reject_label in classes.tolist():
        raise ParameterError(f"reject_label must differ from the classes, but {brief(reject_label)} is one of them.")
    return float(reject)


def labelled(codes: IntArray, classes: AnyArray, undecided: bool, reject_label: Any) -> AnyArray:
    """The labels of codes; of the same type as the classes if no row can be undecided or its label is of that type."""
    if not undecided:
        return np.asarray(classes[codes])
    labels = [*classes.tolist(), reject_label]
    if classes.dtype.kind != "O" and isinstance(reject_label, type(labels[0])):
        answers = label_array(labels, np.result_type(classes, np.asarray([reject_label])))
    else:
        answers = object_array(labels)
    return np.asarray(answers[codes])  # the last one is at REJECTED


def accuracy(labels: AnyArray, answers: AnyArray, weights: FloatArray | None) -> float:
    """The share of the rows, by weight, whose answer is their label."""
    return share(*right_weight(labels, answers, weights))


def right_weight(labels: AnyArray, answers: AnyArray, weights: FloatArray | None) -> tuple[float, float]:
    """The weight of the rows whose answer is their label, and that of all rows."""
    right = np.array([label == answer for label, answer in zip(labels.tolist(), answers.tolist(), strict=True)])
    if weights is None:
        return float(right.sum()), float(len(right))
    return float((right * weights).sum()), float(weights.sum())


def share(part: float, whole: float) -> float:
    """A part of a weight; of no weight at all there is none."""
    if whole == 0:
        raise InputError("sample_weight must not be zero for every row: there would be nothing to score.")
    return part / whole


# -- the decision ---------------------------------------------------------------------------------------------------


def _by_class(scores: FloatArray) -> FloatArray:
    """The scores as (classes, rows): few classes are laid out anew, as NumPy is slow along short rows."""
    return np.ascontiguousarray(scores.T) if scores.shape[1] <= FEW_CLASSES else scores.T


class Decider:
    """Adds the prior to scores, and normalises; remembers rows in which every class turned out impossible.

    Parameters
    ----------
    logs : ndarray of shape (n_classes,) or (n_rows, n_classes)
        The log-prior.
    loss : ndarray of shape (n_classes, n_classes), optional
        ``loss[true, predicted]``; by default 0 for the right answer and 1 for any other.
    reject : float, optional
        What it costs to leave a row undecided; by default no row is.
    """

    def __init__(self, logs: FloatArray, loss: FloatArray | None = None, reject: float | None = None):
        self.log_prior = logs
        self.loss = loss
        self.reject = reject
        self.n_impossible = 0

    def add_prior(self, scores: FloatArray, rows: slice) -> FloatArray:
        """Turn scores into joint log-probabilities, in place; where all are impossible, into the log-prior.

        Returns the best of each row.
        """
        by_class = _by_class(scores)
        best = self._add_prior(by_class, rows)
        if by_class.base is not scores:
            scores[:] = by_class.T
        return best

    def _add_prior(self, by_class: FloatArray, rows: slice) -> FloatArray:
        """The same, of scores as (classes, rows)."""
        prior = self.log_prior[:, None] if self.log_prior.ndim == 1 else self.log_prior[rows].T
        by_class += prior
        best = by_class.max(axis=0)
        if not np.isfinite(best).all():
            impossible = ~np.isfinite(best)
            self.n_impossible += int(impossible.sum())
            by_class[:, impossible] = np.broadcast_to(prior, by_class.shape)[:, impossible]
            best = by_class.max(axis=0)
        return np.asarray(best)

    def choose(self, scores: FloatArray, rows: slice) -> IntArray:
        """The position of the class of least expected loss of each row, the first of several, or `REJECTED`."""
        if self.loss is None and self.reject is None:
            return self._most_probable(scores, rows)
        self.probabilities(scores, rows)
        return self.least_risk(scores)

    def least_risk(self, probabilities: FloatArray) -> IntArray:
        """The position of the class of least expected loss of each row, or `REJECTED`."""
        risk = expected_loss(probabilities, self.loss)
        chosen = np.asarray(risk.argmin(axis=1))
        if self.reject is not None:
            chosen[risk.min(axis=1) > self.reject] = REJECTED
        return chosen

    def _most_probable(self, scores: FloatArray, rows: slice) -> IntArray:
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
        if len(scores) == 1 and scores.size < MANY_TERMS and self._one_row_of_probabilities(scores[0]):
            return
        by_class = _by_class(scores)
        by_class -= self._add_prior(by_class, rows)
        np.exp(by_class, out=by_class)
        by_class /= by_class.sum(axis=0)
        if by_class.base is not scores:
            scores[:] = by_class.T

    def _one_row_of_probabilities(self, scores: FloatArray) -> bool:
        """Normalise the scores of one row, to the same bits in less time; False, and nothing done, if impossible."""
        if self.log_prior.ndim == 2:
            return False
        joint = scores + self.log_prior
        best = np.maximum.reduce(joint)
        if not math.isfinite(best):
            return False
        joint -= best
        np.exp(joint, out=joint)
        np.divide(joint, np.add.reduce(joint), out=scores)
        return True

    def _two_probabilities(self, scores: FloatArray, rows: slice) -> bool:
        """Normalise the scores of two classes by their difference; False, and nothing done, where one is impossible."""
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
            warn(
                f"In {self.n_impossible} row(s) every class had probability zero, so the answer is the class prior. "
                "Use some smoothing, for example smoothing='laplace'.",
            )
