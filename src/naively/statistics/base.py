"""What an engine has to add up for a column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from naively.errors import listed
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

    @property
    def members(self) -> tuple[str, ...]:
        """The columns that are counted jointly."""
        return self.labels + self.numbers

    def concerns(self, column: str) -> bool:
        """Whether the statistics are about a column: joint ones are about their members only."""
        return self.kind != "joint" or column in self.members

    @property
    def words(self) -> str:
        """What is kept of a column, and for which families, in the words of a message."""
        if self.kind == "counts":
            return "counts of its values, for Categorical()"
        if self.kind == "histogram":
            fine = "" if self.most_cells is None else f" of up to {self.most_cells} cells"
            return f"a histogram{fine}, for Stacked(), Kernel() or Binned()"
        if self.kind == "joint":
            bins = " in bins" if self.cuts else ""
            parts = {"labels": self.labels, "numbers": self.numbers}
            joined = " and ".join(f"the {what} {listed(names)}" for what, names in parts.items() if names)
            return f"{joined} together{bins}, for factors such as Joint()"
        if self.view is not None:
            return f"tokens of prose ({self.view.words}), for Text()"
        return self._words_of_moments()

    def _words_of_moments(self) -> str:
        if self.above is not None:
            return f"how often it is above {self.above:g}, for Bernoulli({self.above:g})"
        if self.squares:
            return "sums and squares, for Gaussian() or StudentT()"
        if self.observed:
            return "sums of counts or shares, for Poisson() or Bernoulli(None)"
        return "sums of counts that share a total, for Multinomial() or Complement()"


def in_words(summaries: Iterable[Summary]) -> str:
    """What is kept of a column, in the words of a message.

    Examples
    --------
    >>> in_words([Summary("counts"), Summary("moments", squares=True)])
    'counts of its values, for Categorical(); and sums and squares, for Gaussian() or StudentT()'
    """
    return "; and ".join(summary.words for summary in summaries) or "nothing"
