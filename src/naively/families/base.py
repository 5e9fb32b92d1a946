"""What a family is: which statistics it needs, and how it turns them into evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

from naively.statistics.base import Summary
from naively.table.table import Kind
from naively.typing import FloatArray, IntArray, Label


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

    shares_weight: ClassVar[bool] = False
    """Whether its columns share one distribution, so that a recipe that weighs evidence gives them one weight."""

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
