"""Every class against a base class: from scores to log-odds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from naively._model.schema import Schema
from naively._scoring.decision import Decider
from naively._scoring.model import Scorer
from naively._table.read import read_table
from naively._table.table import require_rows
from naively.families._numbers import against
from naively.typing import AnyArray, FloatArray, TableLike


@dataclass(frozen=True)
class Contrast:
    """The scores of a model, to be read against a base class.

    Parameters
    ----------
    scorer : Scorer
    schema : Schema
    log_prior : ndarray of shape (classes,)
    classes : ndarray
    base : int
        The position of the base class.
    n_threads : int
    """

    scorer: Scorer
    schema: Schema
    log_prior: FloatArray
    classes: AnyArray
    base: int
    n_threads: int = 1

    @property
    def label(self) -> Any:
        """The base class."""
        return self.classes.tolist()[self.base]

    @property
    def others(self) -> list[tuple[int, Any]]:
        """The positions and labels of the other classes."""
        return [(code, label) for code, label in enumerate(self.classes.tolist()) if code != self.base]

    @property
    def intercept(self) -> FloatArray:
        """The log-odds before any cell is read, (classes,): of the prior, and the class bias of weighing."""
        bias = 0.0 if self.scorer.bias is None else self.scorer.bias
        return against(self.log_prior + bias, self.base)

    def log_odds(self, X: TableLike) -> FloatArray:
        """The posterior log-odds of each row, (rows, classes)."""
        table = read_table(X)
        require_rows(table)
        decider, result = Decider(self.log_prior), np.empty((table.n_rows, len(self.classes)))

        def finish(scores: FloatArray, rows: slice) -> None:
            decider.add_prior(scores, rows)
            result[rows] = against(scores, self.base)

        self.scorer.run(*self.schema.matched(table), finish, self.n_threads)
        decider.warn()
        return result

    def terms(self, X: TableLike) -> FloatArray:
        """What each cell adds to the log-odds, (rows, columns, classes)."""
        table = read_table(X)
        require_rows(table)
        evidence = self.scorer.evidence(*self.schema.matched(table))
        return against(evidence[:, : self.scorer.n_columns], self.base)


@dataclass(frozen=True, eq=False, repr=False)
class Contrasted:
    """What reads every class against a base class."""

    contrast: Contrast

    @property
    def base(self) -> Any:
        """The class that the others are compared with."""
        return self.contrast.label

    @property
    def classes(self) -> AnyArray:
        """All classes."""
        return self.contrast.classes

    @cached_property
    def intercept(self) -> FloatArray:
        """The log-odds of the prior, (n_classes,)."""
        return self.contrast.intercept
