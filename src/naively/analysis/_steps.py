"""Bayes' rule for one row, step by step: the prior, times what each cell says, normalised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from naively._table.results import Columns, Result
from naively.typing import AnyArray, FloatArray


class Steps(Result):
    """The probabilities of the classes, as one cell after the other is looked at.

    Parameters
    ----------
    classes : ndarray
    names : sequence of str
        The prior, and the columns (and other terms) in their order.
    values : sequence
        What the row holds there.
    factors : ndarray of shape (n_steps, n_classes)
        What each step multiplies by: the prior, and the likelihood of the cell, or its weighed evidence.
    posteriors : ndarray of shape (n_steps, n_classes)
        The probabilities after each step.

    Notes
    -----
    Its `frame` has a row for each step and class, with the columns ``step``, ``value``, ``class``, ``factor`` and
    ``probability``.
    """

    def __init__(
        self,
        classes: AnyArray,
        names: Sequence[str],
        values: Sequence[Any],
        factors: FloatArray,
        posteriors: FloatArray,
    ):
        self.classes, self.names, self.values = classes, names, values
        self.factors, self.posteriors = factors, posteriors

    def _columns(self) -> Columns:
        n_classes = len(self.classes)
        return {
            "step": ("O", [name for name in self.names for _ in range(n_classes)]),
            "value": ("O", ["" if value is None else str(value) for value in self.values for _ in range(n_classes)]),
            "class": ("O", [str(label) for label in self.classes.tolist()] * len(self.names)),
            "factor": ("f", self.factors.ravel().tolist()),
            "probability": ("f", self.posteriors.ravel().tolist()),
        }

    def _shown_places(self, n_rows: int) -> Sequence[int]:
        return range(n_rows)


def steps(
    classes: AnyArray, log_prior: FloatArray, names: Sequence[str], values: Sequence[Any], evidence: FloatArray
) -> Steps:
    """The steps from the prior (classes,) over the evidence (terms, classes) of one row."""
    terms = np.vstack([log_prior, evidence])
    scores = np.cumsum(terms, axis=0)
    with np.errstate(invalid="ignore"):
        posteriors = np.exp(scores - scores.max(axis=1, keepdims=True))
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        return Steps(classes, ["prior", *names], [None, *values], np.exp(terms), posteriors)
