"""What a family is: which statistics it needs, and how it turns them into evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Protocol

from naively.errors import listed
from naively.table import Kind
from naively.tokenising import View
from naively.typing import FloatArray, IntArray, Label


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


class Estimate(Protocol):
    """The parameters of one family for a group of columns, and the evidence they give."""

    @property
    def reads(self) -> str:
        """Whether the blocks it is given hold "numbers", "codes", "both" or "texts"."""

    def evidence(self, block: Any) -> FloatArray:
        """The log-likelihood of every cell, (rows, columns, classes); 0 where the cell is missing."""

    def add_to(self, scores: FloatArray, block: Any) -> None:
        """Add the evidence, summed over the columns, to the scores (rows, classes)."""

    def describe(self) -> dict[str, Any]:
        """The parameters, named: arrays of shape (classes, columns) or lists of them per column."""


@dataclass(frozen=True)
class LeftOut:
    """The evidence that rows get from a model without them.

    Parameters
    ----------
    reads : str
        Whether the blocks it is given hold "numbers", "codes" or "both".
    evidence : callable
        From a block of rows that were learnt, their class codes and their weights to the log-likelihood of every cell,
        (rows, columns, classes), under the statistics without that row; 0 where the cell is missing.
    codebook : optional
        How labels become codes.
    reader : callable, optional
        From a table and the positions of the columns to a function from a slice of rows to the block, for families that
        read labels and numbers together.
    sparse : callable, optional
        The same from CSR rows, summed over the columns: (rows, classes).
    """

    reads: str
    evidence: Callable[[Any, IntArray, FloatArray], FloatArray]
    codebook: Any = None
    reader: Callable[..., Callable[[slice], Any]] | None = None
    sparse: Callable[[Any, IntArray, FloatArray], FloatArray] | None = None


@dataclass(frozen=True)
class Family:
    """Base of the families. A family is a value: its options, and nothing learnt."""

    is_distribution: ClassVar[bool] = True
    """Whether its evidence is the logarithm of a probability or density, and not only a score."""

    accepts: ClassVar[tuple[Kind, ...]] = ("number", "truth", "empty")
    """The kinds of columns that the family reads."""

    together: ClassVar[bool] = False
    """Whether its columns are read together: a column then keeps those of the summaries that concern it."""

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """The statistics that the family needs, in the order in which `estimate` takes them."""
        raise NotImplementedError  # pragma: no cover

    @classmethod
    def name(cls) -> str:
        """What the family is called in ``families=`` and in model files."""
        return cls.__name__.lower()

    def options(self) -> dict[str, Any]:
        """The options by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def reads_declared(self) -> bool:
        """Whether the family wants to know the values that a column's type declares."""
        return False

    def with_declared(self, labels: tuple[Label, ...] | None) -> Family:
        """The family of a column whose type declares these values (None: it declares none)."""
        return self

    estimate: ClassVar[Callable[..., Estimate]]
    """The parameters, from the merged statistics (one argument per summary) and the keyword `smoothing`: pure."""

    leave_one_out: ClassVar[Callable[..., LeftOut]]
    """The same arguments to the evidence of rows that the statistics hold, each without itself."""


READS_LABELS: tuple[Kind, ...] = ("number", "truth", "label", "text", "mixed", "empty")
"""The kinds of columns that can be read as labels: all."""
