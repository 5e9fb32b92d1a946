"""Which family reads which column, by what the column holds."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from naively.errors import ParameterError
from naively.families._categorical import Categorical
from naively.families._gaussian import Gaussian
from naively.families.base import Family
from naively.statistics.base import Summary
from naively.typing import AnyArray


@dataclass(frozen=True)
class ByKind:
    """Families for columns that are not named one by one, by what they hold when the model is first fitted.

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
        kept = [set(family.summaries) for family in (self.numbers, self.counts, self.binary) if family is not None]
        if any(own == other for place, own in enumerate(kept) for other in kept[:place]):
            raise ParameterError(
                "ByKind(numbers, counts, binary) must be families that keep different statistics, by which a fitted "
                "model tells which was chosen. Name the columns: families={column: family, ...}."
            )

    @classmethod
    def name(cls) -> str:
        """What it is called in model files."""
        return "by_kind"

    def options(self) -> dict[str, Any]:
        """The families by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def of_truths(self) -> Family:
        """The family of booleans."""
        return self.labels if self.binary is None else self.binary

    def of_numbers(self, values: AnyArray) -> Family:
        """The family of a column of numbers that is seen for the first time."""
        if self.binary is not None and are_binary(values):
            return self.binary
        if self.counts is not None and are_counts(values):
            return self.counts
        return self.numbers

    def of_kept(self, kept: tuple[Summary, ...]) -> Family:
        """The family that was chosen for a column of numbers, from the statistics that were kept of it."""
        candidates = (family for family in (self.binary, self.counts) if family is not None)
        return next((family for family in candidates if set(family.summaries) == set(kept)), self.numbers)


def are_binary(values: AnyArray) -> bool:
    """Whether all known numbers, and at least one is known, are 0 or 1."""
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool(((known == 0) | (known == 1)).all())


def are_counts(values: AnyArray) -> bool:
    """Whether all known numbers, and at least one is known, are whole and not negative."""
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool(((known >= 0) & (known == np.floor(known))).all())
