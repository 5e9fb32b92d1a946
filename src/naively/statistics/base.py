"""What an engine has to add up for a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from naively.text.tokenise import View


@dataclass(frozen=True)
class Summary:
    """What an engine has to add up for a column. Columns with equal summaries are counted together.

    Parameters
    ----------
    kind : "moments", "counts", "histogram", "joint" or "tokens"
        Power sums of numbers, counts of values, the nested-key histogram, what several columns do together, or counts
        of the tokens of texts.
    observed, squares : bool
        Whether the weight of known cells and the squares are wanted.
    logs : bool
        Whether the sums of logarithms are wanted; numbers that are not above 0 are then refused.
    above : float, optional
        Sum not x but whether x is above this.
    nonnegative : bool
        Refuse negative numbers.
    labels, numbers : tuples of str
        The columns that are counted jointly, sorted: those whose combinations of values are counted, and those whose
        sums and products are taken within each combination.
    cuts : tuple
        For each of `labels` the cut points that turn its numbers into bins, or None where its values are labels as they
        are; empty if no column is cut.
    view : View, optional
        Which tokens of a text are counted.
    most_cells : int, optional
        How many cells a histogram may have, if not the usual number.
    """

    kind: Literal["moments", "counts", "histogram", "joint", "tokens"]
    observed: bool = True
    squares: bool = False
    above: float | None = None
    nonnegative: bool = False
    labels: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    cuts: tuple[tuple[float, ...] | None, ...] = ()
    view: View | None = None
    most_cells: int | None = None
    logs: bool = False

    @property
    def members(self) -> tuple[str, ...]:
        """The columns that are counted jointly."""
        return self.labels + self.numbers

    def concerns(self, column: str) -> bool:
        """Whether the statistics are about a column: joint ones are about their members only."""
        return self.kind != "joint" or column in self.members
