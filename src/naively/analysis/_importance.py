"""How much the model uses each column: the mean absolute evidence that it gives, as it is weighed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._scoring.explanation import attribute
from naively._scoring.model import CLASS_BIAS
from naively._table.read import read_table
from naively._table.table import Table
from naively.errors import ParameterError, RecipeError, brief, listed
from naively.typing import FloatArray

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

BLOCK_NUMBERS = 1 << 22
"""So many numbers of evidence are held at once."""


def evidence_used(model: NaiveBayes, X: Any, classes: Any, asked: str) -> tuple[list[str], FloatArray]:
    """The terms of the evidence but for the class bias, and the mean absolute bits of each.

    Parameters
    ----------
    model : NaiveBayes
    X : table or None
        The rows to take the mean over; None: the kept rows.
    classes : label, pair of labels, or None
        The class against the rest, or one against another; None: the mean over all pairs.
    asked : str
        What the user asked for, to be named in errors.
    """
    table, weights = _kept_table(model, asked) if X is None else (read_table(X), None)
    table, positions = model.schema_.matched(table)
    scorer, log_prior = model._estimated()
    wanted = _codes(model, classes)
    weights = np.ones(table.n_rows) if weights is None else weights
    total = np.zeros(len(scorer.names))
    step = max(1, BLOCK_NUMBERS // (len(scorer.names) * len(model.classes_)))
    for start in range(0, table.n_rows, step):
        rows = np.arange(start, min(start + step, table.n_rows))
        evidence = scorer.evidence(table.only_rows(rows), positions)
        total += weights[rows] @ _bits(evidence, wanted, log_prior)
    heard = [place for place, name in enumerate(scorer.names) if name != CLASS_BIAS and name not in scorer.silent]
    return [scorer.names[place] for place in heard], total[heard] / weights.sum()


def _bits(evidence: FloatArray, wanted: Sequence[int], log_prior: FloatArray) -> FloatArray:
    """The absolute evidence (rows, terms) of each term, in bits."""
    known = np.where(np.isfinite(evidence), evidence, 0.0)
    if len(wanted) == 2:
        return np.asarray(np.abs(known[:, :, wanted[0]] - known[:, :, wanted[1]]) / np.log(2))
    if len(wanted) == 1:
        bits = attribute(log_prior, known, np.full(len(known), wanted[0]))[:, 1:]
        return np.asarray(np.abs(bits))
    return np.asarray(mean_gap(known) / np.log(2))


def mean_gap(values: FloatArray) -> FloatArray:
    """The mean absolute difference over all pairs along the last axis.

    Examples
    --------
    >>> mean_gap(np.array([[1.0, 4.0], [3.0, 3.0]])).tolist()
    [3.0, 0.0]
    """
    n = values.shape[-1]
    if n < 2:
        return np.zeros(values.shape[:-1])
    ranks = 2 * np.arange(n) - n + 1  # a value is subtracted once for each that is larger, and added for the others
    return np.asarray(np.sort(values, axis=-1) @ ranks / (n * (n - 1) / 2))


def _codes(model: NaiveBayes, classes: Any) -> list[int]:
    if classes is None:
        return []
    given = list(classes) if isinstance(classes, (tuple, list)) else [classes]
    if len(given) not in (1, 2) or (len(given) == 2 and given[0] == given[1]):
        raise ParameterError(f"classes must be one class, or a pair of two, got {brief(classes)}.")
    return [model._class_code(label, "classes") for label in given]


def _kept_table(model: NaiveBayes, asked: str) -> tuple[Table, FloatArray]:
    """The kept rows, and weights with which they stand for all rows."""
    kept = model.statistics_.kept
    if kept is None or not len(kept) or not kept.columns:
        raise RecipeError(
            f"{asked} is measured on rows, and this model has kept none. Give some: "
            "rank_features(by='evidence', X=X); or fit with recipe='auto', 'fast' or 'strong'."
        )
    of_class = np.bincount(kept.codes, kept.weights, len(model.classes_))
    share = model.statistics_.class_weight.high / np.where(of_class > 0, of_class, 1.0)
    return model.schema_.kept_table(kept), kept.weights * share[kept.codes]


def importances(model: NaiveBayes) -> FloatArray:
    """The share of each column in all the evidence that the columns give, on the kept rows."""
    names, bits = evidence_used(model, None, None, "feature_importances_")
    known = dict(zip(names, bits.tolist(), strict=True))
    own = np.array([known.get(name, 0.0) for name in model.schema_.names])
    return own / own.sum() if own.sum() > 0 else own


def require_rows_only_for_evidence(by: str, X: Any, classes: Any) -> None:
    """Refuse rows and classes where columns are ranked by what needs neither."""
    given = [name for name, value in (("X", X), ("classes", classes)) if value is not None]
    if by != "evidence" and given:
        raise ParameterError(f"rank_features(by={by!r}) takes no {listed(given)}: that is for by='evidence'.")
