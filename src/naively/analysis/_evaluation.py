"""How good a model is on rows whose class is known, and how several models compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._scoring.calibration import Calibration, calibration
from naively._table.results import Columns, Result, Shown, aligned, as_cell
from naively._table.target import read_rows
from naively.analysis._measures import LEAST_PROBABILITY, confusion
from naively.errors import InputError
from naively.typing import AnyArray, FloatArray, IntArray, TableLike, TargetLike, WeightsLike

MEASURES = ("accuracy", "log_loss", "brier", "ece", "auc")
RESAMPLES = 200
"""Intervals are taken from so many resamples of the rows, of which no more than `RESAMPLED_ROWS` are drawn."""
RESAMPLED_ROWS = 20_000
LEVEL = 0.95
SHOWN_CLASSES = 12


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """How good a model's answers are, with intervals that hold the true value in 95 of 100 cases.

    Parameters
    ----------
    n_rows : int
    classes : ndarray
    measures : dict
        ``accuracy``, ``log_loss`` (in nats), ``brier`` (summed over the classes), ``ece`` (the mean gap between
        confidence and accuracy) and ``auc`` (the mean over the classes that occur, each against the rest; NaN if there
        is only one), each a tuple of the value and the two ends of its interval: Wilson's for the accuracy, percentiles
        over resamples of the rows for the others, which have no width where every row is answered without a fault.
    baseline : dict
        What answering with the shares of the classes among these rows would give.
    confusion : ndarray of shape (n_classes, n_classes)
        The weight of the rows of each class (first axis) that were given each class.
    calibration : Calibration
        The reliability of the probabilities.
    """

    n_rows: int
    classes: AnyArray
    measures: Mapping[str, tuple[float, float, float]]
    baseline: Mapping[str, float]
    confusion: FloatArray
    calibration: Calibration

    def __getitem__(self, measure: str) -> float:
        """The value of a measure."""
        return self.measures[measure][0]

    def _columns(self) -> Columns:
        value, low, high = zip(*self.measures.values(), strict=True)
        return {
            "measure": ("U", list(self.measures)),
            "value": ("f", value),
            "low": ("f", low),
            "high": ("f", high),
            "baseline": ("f", [self.baseline[name] for name in self.measures]),
        }

    def _shown(self) -> Shown:
        shown = super()._shown()
        return shown._replace(title=self.title, note=self._confusion_text())

    @property
    def title(self) -> str:
        """How many rows were judged, and what they count together, if it is another number."""
        weight = float(self.confusion.sum())
        counted = "" if round(weight) == self.n_rows else f", which count as {weight:,.6g}"
        return f"{self.n_rows:,} rows{counted}"

    def _confusion_text(self) -> str:
        labels = [str(label) for label in self.classes.tolist()]
        if len(labels) > SHOWN_CLASSES:
            return f"The confusion of {len(labels)} classes is in .confusion."
        lines = [["is, and was taken for:", *labels]]
        lines += [
            [label, *map(as_cell, row)]
            for label, row in zip(labels, self.confusion.astype(float).tolist(), strict=True)
        ]
        return aligned(lines, right=range(1, len(lines[0])))


def evaluate(
    model: Any, X: TableLike | None = None, y: TargetLike | None = None, sample_weight: WeightsLike | None = None
) -> Evaluation:
    """How good a model's answers are: accuracy, log-loss, Brier score, calibration error, AUC, confusion matrix.

    Parameters
    ----------
    model : fitted classifier
        A `NaiveBayes`, or any classifier of scikit-learn that gives probabilities.
    X, y, sample_weight
        Rows whose class is known, as in `NaiveBayes.fit`, held out from those that were learnt. Without X, the rows
        that the model has kept, each judged by what the others say (`NaiveBayes.loo`): there, "textbook" has none. Rows
        that are alike are kept as one, which weighs as much as all of them.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np
    >>> from naively import NaiveBayes, evaluate
    >>> X, y = np.repeat([[1.0], [2.0], [7.0], [8.0]], 5, axis=0), ["a"] * 10 + ["b"] * 10
    >>> evaluation = evaluate(NaiveBayes("textbook").fit(X, y), X, y)
    >>> round(evaluation["accuracy"], 12), evaluation.confusion.tolist()
    (1.0, [[10.0, 0.0], [0.0, 10.0]])
    """
    if X is None:
        log_proba, codes, weights = model.kept_answers()
        return evaluated(log_proba, codes, weights, np.asarray(model.classes_))
    if y is None:
        raise InputError("evaluate(model, X, y) needs the classes of the rows: y, or the name of a column of X.")
    table, classes, codes, weights = read_rows(X, y, sample_weight)
    asked = table if hasattr(model, "statistics_") else _as_given(X, y)
    log_proba, known = log_proba_of(model, asked), np.asarray(model.classes_)
    new = [label for label in classes.tolist() if label not in set(known.tolist())]
    if new:  # rows of a class that was never learnt are wrong, whatever the answer
        log_proba = np.column_stack([log_proba, np.full((len(codes), len(new)), -np.inf)])
        known = np.array([*known.tolist(), *new], dtype=object)
    place = {label: position for position, label in enumerate(known.tolist())}
    places = np.array([place[label] for label in classes.tolist()], dtype=np.int64)
    return evaluated(log_proba, places[codes], weights, known)._of(X)


def _as_given(X: Any, y: Any) -> Any:
    """X without the column that holds the classes, as a classifier of scikit-learn wants it."""
    return X.drop(columns=[y]) if isinstance(y, str) and hasattr(X, "drop") else X


def log_proba_of(model: Any, X: Any) -> FloatArray:
    """The log-probabilities that a classifier gives rows."""
    with np.errstate(divide="ignore"):
        return np.asarray(model.predict_log_proba(X), dtype=np.float64)


def evaluated(log_proba: FloatArray, codes: IntArray, weights: FloatArray | None, classes: AnyArray) -> Evaluation:
    """Measure log-probabilities (rows, classes) against the rows' classes."""
    if not len(codes):
        raise InputError("There are no rows to evaluate.")
    weights = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    log_proba = np.maximum(log_proba, np.log(LEAST_PROBABILITY))
    share = np.bincount(codes, weights, log_proba.shape[1]) / weights.sum()
    prior = np.log(np.maximum(np.broadcast_to(share, log_proba.shape), LEAST_PROBABILITY))
    values = _measured(log_proba, codes, weights)
    ends = _intervals(log_proba, codes, weights)
    return Evaluation(
        n_rows=len(codes),
        classes=classes,
        measures={name: (values[name], *ends[name]) for name in MEASURES},
        baseline=_measured(prior, codes, weights),
        confusion=confusion(log_proba, codes, weights),
        calibration=calibration(log_proba, codes, weights),
    )


def _measured(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> dict[str, float]:
    found = calibration(log_proba, codes, weights)
    measures = {name: float(getattr(found, name)) for name in MEASURES if name != "auc"}
    return {**measures, "auc": area_under_curve(log_proba, codes, weights)}


def area_under_curve(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> float:
    """The area under the curve of true and false positives, the mean over the classes; with two, that of either.

    Examples
    --------
    >>> area_under_curve(np.log([[0.9, 0.1], [0.4, 0.6], [0.6, 0.4], [0.1, 0.9]]), np.array([0, 0, 1, 1]), np.ones(4))
    0.75
    """
    present = np.flatnonzero(np.bincount(codes, weights, log_proba.shape[1]) > 0)
    if len(present) < 2:
        return float("nan")
    chosen = present[:1] if len(present) == 2 else present
    others = log_proba[:, present]
    areas = []
    for code in chosen.tolist():
        score = log_proba[:, code] - (others[:, 1] if len(present) == 2 else 0.0)
        areas.append(_area(score, codes == code, weights))
    return float(np.mean(areas))


def _area(score: FloatArray, positive: AnyArray, weights: FloatArray) -> float:
    """The chance that a row of the class scores higher than one of another; ties count half."""
    _, place = np.unique(score, return_inverse=True)
    right = np.bincount(place, weights * positive)
    wrong = np.bincount(place, weights * ~positive)
    below = np.cumsum(wrong) - wrong
    return float((right * (below + wrong / 2)).sum() / (right.sum() * wrong.sum()))


def _intervals(log_proba: FloatArray, codes: IntArray, weights: FloatArray) -> dict[str, tuple[float, float]]:
    """Between which bounds each measure lies: percentiles over resamples of the rows; of the accuracy Wilson's."""
    random = np.random.default_rng(0)
    n_rows = len(codes)
    n_drawn = min(n_rows, RESAMPLED_ROWS)
    draws = [random.integers(0, n_rows, n_drawn) for _ in range(RESAMPLES)]
    found = [_measured(log_proba[rows], codes[rows], weights[rows]) for rows in draws if weights[rows].any()]
    shrink = float(np.sqrt(n_drawn / n_rows))  # fewer rows than there are vary more
    values = _measured(log_proba, codes, weights)
    ends = {"accuracy": _of_share(values["accuracy"], float(weights.sum() ** 2 / (weights**2).sum()))}
    for name in MEASURES[1:]:
        resampled = np.array([one[name] for one in found])
        known = resampled[~np.isnan(resampled)]
        if not len(known) or np.isnan(values[name]):
            ends[name] = (float("nan"), float("nan"))
            continue
        low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        middle = values[name] if shrink < 1 else 0.0
        scale = shrink if shrink < 1 else 1.0
        ends[name] = (float(middle + scale * (low - middle)), float(middle + scale * (high - middle)))
    return ends


def _of_share(share: float, n_rows: float) -> tuple[float, float]:
    """Wilson's interval of a share of so many rows: rows that are all right may have been so by chance.

    Examples
    --------
    >>> [round(end, 4) for end in _of_share(1.0, 100)]
    [0.963, 1.0]
    """
    from scipy.special import ndtri

    square = float(ndtri((1 + LEVEL) / 2)) ** 2 / n_rows
    middle, room = share + square / 2, np.sqrt(square * share * (1 - share) + square**2 / 4)
    return float((middle - room) / (1 + square)), float(min((middle + room) / (1 + square), 1.0))
