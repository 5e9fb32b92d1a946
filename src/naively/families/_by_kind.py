"""Which family reads which column, by what the column holds."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from naively._table.table import Kind
from naively.errors import ParameterError
from naively.families._categorical import Categorical
from naively.families._gaussian import Gaussian
from naively.families.base import Family
from naively.statistics._statistics import Statistics
from naively.statistics.base import Summary


@dataclass(frozen=True)
class ByKind:
    """Families for columns that are not named one by one, by what they hold.

    All rows that were learnt decide, in whatever batches they came: until the first number that is no count, a column
    is one of counts.

    Parameters
    ----------
    numbers, labels : Family
        For columns of numbers, and for text, categories and booleans.
    counts : Family, optional
        For columns of whole numbers without negative ones, of whatever type: pandas turns integers into floats where a
        cell is missing.
    binary : Family, optional
        For columns of numbers that are all 0 or 1, and for booleans.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> from naively.families import ByKind, Gaussian, Poisson
    >>> families = ByKind(numbers=Gaussian(ddof=1), counts=Poisson())
    >>> model = NaiveBayes("textbook", families=families)
    >>> model = model.fit([{"size": 0.5, "eggs": 2}, {"size": 1.5, "eggs": 0}, {"size": 2.0, "eggs": 1}], [0, 0, 1])
    >>> [column["family"].name() for column in model.parameters().values()]
    ['gaussian', 'poisson']
    """

    numbers: Family = field(default_factory=Gaussian)
    labels: Family = field(default_factory=Categorical)
    counts: Family | None = None
    binary: Family | None = None

    def __post_init__(self) -> None:
        for name in ("numbers", "labels", "counts", "binary"):
            given = getattr(self, name)
            if not isinstance(given, Family) and (given is not None or name in ("numbers", "labels")):
                raise ParameterError(f"ByKind({name}) must be a family such as Gaussian(), got {given!r}.")

    @classmethod
    def name(cls) -> str:
        """What it is called in model files."""
        return "by_kind"

    def options(self) -> dict[str, Any]:
        """The families by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def undecided(self) -> Undecided | None:
        """What is kept of a column of numbers until it is known which family reads it; None if there is no choice."""
        if self.counts is None and self.binary is None:
            return None
        return Undecided(tuple(family for family in (self.numbers, self.counts, self.binary) if family is not None))

    def of_truths(self) -> Family:
        """The family of booleans."""
        return self.labels if self.binary is None else self.undecided or self.binary

    def of_numbers(self, name: str, statistics: Statistics) -> Family:
        """The family of a column of numbers, by all that has been learnt of it."""
        if self.binary is not None and _all_like("binary", name, statistics):
            return self.binary
        if self.counts is not None and _all_like("counts", name, statistics):
            return self.counts
        return self.numbers


@dataclass(frozen=True)
class Undecided(Family):
    """Stands for the family of a column of numbers while rows are counted: what any of several families needs is kept.

    Parameters
    ----------
    families : tuple of Family
    """

    accepts: ClassVar[tuple[Kind, ...]] = ("number", "truth", "empty")

    families: tuple[Family, ...] = ()

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """The summaries of its families, which refuse no number yet, and whether cells are counts, or 0 and 1."""
        needed = [summary.lenient for family in self.families for summary in family.summaries]
        return tuple(dict.fromkeys((*needed, *PROBES.values())))

    def takes_smoothing(self, weighed: bool) -> bool:
        """Whether any of the families may have pseudo-counts."""
        return any(family.takes_smoothing(weighed) for family in self.families)

    def estimate(self, *statistics: Any, smoothing: Any) -> Any:
        """There is none: a fitted model knows the family."""
        raise NotImplementedError  # pragma: no cover


PROBES = {kind: Summary("moments", unlike=kind) for kind in ("counts", "binary")}
"""How often a column is unlike each kind of number."""


def _all_like(kind: str, name: str, statistics: Statistics) -> bool:
    """Whether all known numbers of a column, and at least one is known, are of a kind."""
    unlike: Any = statistics.table(PROBES[kind])
    if name not in unlike.columns:
        return False
    place = unlike.columns.index(name)
    return bool(unlike.observed.high[:, place].any() and not unlike.total.high[:, place].any())
