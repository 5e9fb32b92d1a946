"""What a careful colleague would say of data: findings, how they print, and how they are told as one warning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from naively._table.results import SHOWN_ROWS, Columns, Result, Shown, more
from naively.errors import listed, warn


class Finding(NamedTuple):
    """Something odd about the data.

    Parameters
    ----------
    finding : str
        What it is: a key of `SENTENCES`.
    column : str
        The column; for classes, the class.
    share : float
        The share of the rows that it is about.
    detail : str
        What was seen.
    """

    finding: str
    column: str
    share: float
    detail: str


def _it(columns: Sequence[str]) -> str:
    return "it" if len(columns) == 1 else "them"


def _ignore(columns: Sequence[str]) -> str:
    return f"Leave {_it(columns)} out: ignore=[{listed(columns)}]."


def _nothing(columns: Sequence[str]) -> str:
    return f"Nothing can be learnt from {_it(columns)}."


def _categorical(columns: Sequence[str]) -> str:
    return f"If the numbers are names, say {_families(columns, 'categorical')}."


def _families(columns: Sequence[str], family: str) -> str:
    written = ", ".join(f'"{name}": "{family}"' for name in columns[:3])
    return f"families={{{written}{', ...' if len(columns) > 3 else ''}}}"


SENTENCES: dict[str, tuple[str, str, Callable[[Sequence[str]], str]]] = {
    "id": ("looks like an identifier", "look like identifiers", _ignore),
    "gives the target away": (
        "gives the target away",
        "give the target away",
        lambda columns: f"What is known only after the class must be left out: ignore=[{listed(columns)}].",
    ),
    "empty": ("holds nothing", "hold nothing", _nothing),
    "constant": ("holds one value only", "hold one value only", _nothing),
    "duplicate": ("says what another column says", "say what other columns say", _ignore),
    "date as text": (
        "holds dates as text",
        "hold dates as text",
        lambda columns: (
            "Each date is a category of its own: turn them into dates or, if they are written as 2024-02-29, say "
            f"{_families(columns, 'date')}."
        ),
    ),
    "code": ("holds numbers that look like codes", "hold numbers that look like codes", _categorical),
    "stand-in": (
        "holds a number that may stand for unknown",
        "hold numbers that may stand for unknown",
        lambda _: "If so, leave those cells empty.",
    ),
    "mixed": ("mixes text and numbers", "mix text and numbers", _categorical),
    "few rows": (
        "is a class of few rows",
        "are classes of few rows",
        lambda columns: f"Little can be learnt of {_it(columns)}.",
    ),
    "unseen labels": (
        "holds labels that were never learnt",
        "hold labels that were never learnt",
        lambda _: "Did the coding change?",
    ),
    "missing cells": (
        "has many more missing cells than what was learnt",
        "have many more missing cells than what was learnt",
        lambda _: "Did the name or the source of the column change?",
    ),
    "outside the range": (
        "holds numbers outside the range that was learnt",
        "hold numbers outside the range that was learnt",
        lambda _: "Did the unit change?",
    ),
}
"""What is said of one column, of several, and what to do about them."""


@dataclass(frozen=True, repr=False)
class Check(Result):
    """What deserves a look in some data, one finding for each column and class that does.

    It is true if there is anything, has a length, and can be looped over.

    Parameters
    ----------
    findings : tuple of Finding
        Each with `finding`, `column`, `share` and `detail`.
    n_rows : int
        How many rows there are.
    looked_at : int
        How many of them were looked at.
    """

    findings: tuple[Finding, ...]
    n_rows: int
    looked_at: int = field(default=0)

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def _columns(self) -> Columns:
        finding, column, share, detail = zip(*self.findings, strict=True) if self.findings else ((), (), (), ())
        return {"finding": ("U", finding), "column": ("U", column), "share": ("f", share), "detail": ("U", detail)}

    def _shown(self) -> Shown:
        if not self.findings:
            return Shown([["Nothing to remark."]])
        lines = [["column", "finding", "detail"]]
        lines += [[one.column, one.finding, one.detail] for one in self.findings[:SHOWN_ROWS]]
        return Shown(lines, note=more(len(self.findings) - SHOWN_ROWS, "findings"))

    def advice(self) -> list[str]:
        """What to do, a sentence or two for each kind of finding.

        Examples
        --------
        >>> found = Check((Finding("id", "client", 1.0, "all distinct"), Finding("empty", "note", 1.0, "")), 9)
        >>> found.advice()[0]
        "'client' looks like an identifier (all distinct). Leave it out: ignore=['client']."
        """
        return [_sentence(kind, [one for one in self.findings if one.finding == kind]) for kind in self._kinds()]

    def _kinds(self) -> Iterable[str]:
        found = {one.finding for one in self.findings}
        return [kind for kind in SENTENCES if kind in found]


def _sentence(kind: str, findings: Sequence[Finding]) -> str:
    one, several, what_to_do = SENTENCES[kind]
    columns = [finding.column for finding in findings]
    said = one if len(columns) == 1 else several
    example = findings[0].detail and f" ({'' if len(columns) == 1 else f'{columns[0]!r}: '}{findings[0].detail})"
    return f"{listed(columns)} {said}{example}. {what_to_do(columns)}"


def tell(check: Check, question: str) -> None:
    """Warn of all that was found, in one warning."""
    if check.findings:
        warn(f"The data deserve a look. {' '.join(check.advice())} {question}")
