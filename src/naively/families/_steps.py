"""Numeric columns whose evidence is a staircase: what bins give to the scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from naively._kernels import frozen, reference, repays_compiler, with_reference
from naively.families._bins import names_of_bins
from naively.families.base import Estimate
from naively.typing import FloatArray


@dataclass(frozen=True)
class Steps(Estimate):
    """The bins of a group of columns.

    Parameters
    ----------
    cuts : sequence of ndarray (bins - 1,)
        The values at which each column's bins after the first begin, ascending.
    probabilities : sequence of ndarray (classes, bins)
    """

    reads: ClassVar[str] = "numbers"
    constant_in_cells: ClassVar[bool] = True  # cuts lie between cells

    cuts: Sequence[FloatArray]
    probabilities: Sequence[FloatArray]

    @cached_property
    def _tables(self) -> list[FloatArray]:
        """The log-probabilities (bins + 1, classes), and zeros for a missing cell."""
        return [_with_silence(probability) for probability in self.probabilities]

    def evidence(self, block: FloatArray) -> FloatArray:
        """The log-probability of every cell's bin."""
        columns = zip(block.T, self.cuts, self._tables, strict=True)
        return np.stack([table[reference.steps(*column)] for *column, table in columns], axis=1)

    @with_reference
    def add_to(self, scores: FloatArray, block: FloatArray) -> None:
        """Add the log-probability of every row's bins."""
        if repays_compiler(block.size):
            from naively._kernels.steps import add_steps

            for column, cuts, table in zip(block.T, self.cuts, self._tables, strict=True):
                add_steps(frozen(column), frozen(cuts), frozen(table), scores)
        else:
            for column, cuts, table in zip(block.T, self.cuts, self._tables, strict=True):
                scores += table[reference.steps(column, cuts)]

    def describe(self) -> dict[str, Any]:
        """The cuts, and the probability of each bin."""
        return {"cuts": list(self.cuts), "probability": list(self.probabilities)}

    def axes(self, place: int) -> list[list[str]]:
        """The bins."""
        return [names_of_bins(self.cuts[place].tolist())]

    # -- Questions ------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        return "from"

    def points(self, place: int, n_points: int) -> list[Any]:
        """Where each bin begins, the first at minus infinity."""
        return [-np.inf, *self.cuts[place].tolist()]

    def as_table(self) -> list[dict[str, Any]]:
        """The log-probability of every bin."""
        columns = zip(self.cuts, self._tables, strict=True)
        return [{"kind": "steps", "cuts": cuts, "evidence": table[:-1].T} for cuts, table in columns]


def _with_silence(probability: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        logs = np.log(probability)
    return np.ascontiguousarray(np.column_stack([logs, np.zeros(len(logs))]).T)
