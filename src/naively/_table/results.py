"""Results of questions to a model: each prints as a table, has a form in HTML, and is a frame if asked."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Container, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple, Self

from naively._table.frames import no_rows, tidy_frame

SHOWN_ROWS = 20
"""How many rows of a result are printed; its frame has all."""

Columns = Mapping[str, tuple[str, Sequence[Any]]]
"""What a column holds, in NumPy's letters ("i", "u", "b", "f"; anything else is text), and its cells, by its name."""


class Shown(NamedTuple):
    """A result as people read it.

    Parameters
    ----------
    lines : sequence of sequences of str
        The cells, row by row; the first row is the head.
    right : container of int
        The places of the columns that are aligned to the right: numbers.
    title, note : str
        What stands above and below the table.
    """

    lines: Sequence[Sequence[str]]
    right: Container[int] = ()
    title: str = ""
    note: str = ""


class Result:
    """Base of what a question to a model gives.

    A result prints as a table, is shown as one in notebooks, and `frame` gives all of it as a tidy data frame. A
    subclass writes `_columns`, and `_shown` where the frame is not what people would read.
    """

    __slots__ = ()

    _library: Any = None
    """A frame without rows, of the library that `frame` is to use."""

    def _of(self, data: Any) -> Self:
        """Take note of the library of the data that the result was computed from."""
        object.__setattr__(self, "_library", no_rows(data))
        return self

    @abstractmethod
    def _columns(self) -> Columns:
        """The columns of the frame."""

    def frame(self, like: Any = None) -> Any:
        """The result as a tidy data frame.

        Parameters
        ----------
        like : data frame, optional
            A frame of the library that is wanted. By default it is that of the data that the result was computed from,
            or pandas where that was no data frame.

        Returns
        -------
        data frame
            A dict of lists where pandas is wanted and not installed.
        """
        columns = self._columns()
        data = {name: list(cells) for name, (_, cells) in columns.items()}
        kinds = {name: kind for name, (kind, _) in columns.items()}
        return tidy_frame(data, kinds, self._library if like is None else like)

    def _shown(self) -> Shown:
        columns = self._columns()
        rows = list(zip(*(cells for _, cells in columns.values()), strict=True))
        places = self._shown_places(len(rows))
        lines = [list(columns), *([as_cell(cell) for cell in rows[place]] for place in places)]
        right = [place for place, (kind, _) in enumerate(columns.values()) if kind in "iuf"]
        return Shown(lines, right, note=more(len(rows) - len(places), "rows"))

    def _shown_places(self, n_rows: int) -> Sequence[int]:
        """Which of the rows of the frame are printed."""
        return range(min(n_rows, SHOWN_ROWS))

    def __repr__(self) -> str:
        shown = self._shown()
        return "\n".join(part for part in (shown.title, aligned(shown.lines, shown.right), shown.note) if part)

    def _repr_html_(self) -> str:
        """The table that notebooks show."""
        return as_html(self._shown())


def one_row(numbers: Mapping[str, float]) -> Columns:
    """Numbers by name, as the columns of a frame of one row."""
    return {name: ("i" if isinstance(number, int) else "f", [number]) for name, number in numbers.items()}


def more(hidden: int, what: str) -> str:
    """What is said of that which is not shown; nothing if all is."""
    return f"... and {hidden} more {what}" if hidden > 0 else ""


def as_cell(value: Any) -> str:
    """A value as it stands in a printed table."""
    if value is None or value != value:
        return ""
    if not isinstance(value, float):
        return str(value)
    if math.isinf(value) or (value.is_integer() and abs(value) < 1e15):
        return f"{value + 0.0:.0f}"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e6 else f"{value:.3g}"


def aligned(lines: Sequence[Sequence[str]], right: Container[int] = ()) -> str:
    """Cells as text, in columns.

    Examples
    --------
    >>> print(aligned([["", "bits"], ["coat", "1.17"], ["legs", "-0.42"]], right=[1]))
           bits
    coat   1.17
    legs  -0.42
    """
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def as_html(shown: Shown) -> str:
    """A table in HTML; whatever comes from the data is text in it, and no markup.

    Examples
    --------
    >>> as_html(Shown([["coat"], ["<b>"]]))
    '<table><thead><tr><th>coat</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head, *body = [_html_row(line, shown.right, "td" if number else "th") for number, line in enumerate(shown.lines)]
    lines = ' style="white-space: pre; text-align: left"'  # a title may have several lines
    caption = f"<caption{lines}>{escape(shown.title)}</caption>" if shown.title else ""
    note = f"<p>{escape(shown.note)}</p>" if shown.note else ""
    return f"<table>{caption}<thead>{head}</thead><tbody>{''.join(body)}</tbody></table>{note}"


def _html_row(line: Sequence[str], right: Container[int], tag: str) -> str:
    styles = [' style="text-align: right"' if place in right else "" for place in range(len(line))]
    cells = [f"<{tag}{style}>{escape(cell)}</{tag}>" for style, cell in zip(styles, line, strict=True)]
    return f"<tr>{''.join(cells)}</tr>"
