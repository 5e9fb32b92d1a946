"""Cells of a text file as columns: numbers where all are numbers, text otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from naively._table.columns import Column
from naively._table.labels import encode_array, encode_objects
from naively._table.read import PROSE_CELLS, is_prose
from naively.errors import InputTypeError
from naively.typing import FloatArray

MISSING = frozenset({"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None"})
"""Cells that stand for "not known"."""

CODE = re.compile(r"0\d+")
"""Digits that begin with a 0 are a code, such as a postcode: as a number they would lose it."""

Written = Literal["number", "text", "nothing"]


def written_as(cells: Sequence[str], decimal_comma: bool) -> Written:
    """What a column is read as: numbers if all known cells are numbers, and none a code.

    Examples
    --------
    >>> written_as(["1", "2.5", "NA"], False), written_as(["01", "12"], False), written_as(["1,5"], True)
    ('number', 'text', 'number')
    """
    known = [cell for cell in dict.fromkeys(cells) if cell not in MISSING]
    if not known:
        return "nothing"
    if any(CODE.fullmatch(cell.strip()) for cell in known):
        return "text"
    return "text" if np.isnan([as_number(cell, decimal_comma) for cell in known]).any() else "number"


def as_number(cell: str, decimal_comma: bool) -> float:
    """A cell as a number; NaN if it is none."""
    try:
        return float("nan") if "_" in cell else float(cell)
    except ValueError:
        if not decimal_comma or cell.count(",") != 1 or "." in cell:
            return float("nan")
    return as_number(cell.replace(",", "."), False)


def as_column(
    name: str, cells: Sequence[str], written: Written, decimal_comma: bool, line_of: Callable[[int], str]
) -> Column:
    """Cells as a column of a table.

    Parameters
    ----------
    name : str
    cells : sequence of str
    written : "number", "text" or "nothing"
    decimal_comma : bool
        Whether ``1,5`` is a number.
    line_of : callable
        From the place of a cell to the file and the line that it stands in.
    """
    if written == "text":
        return _text_column(name, cells)
    numbers = as_numbers(name, cells, decimal_comma, line_of)
    kind: Literal["number", "empty"] = "empty" if np.isnan(numbers).all() else "number"
    return Column(name, kind, lambda: numbers, lambda: encode_array(numbers, f"Column {name!r}"))


def _text_column(name: str, cells: Sequence[str]) -> Column:
    """Cells as a column of labels, or of prose."""
    known_as = {cell: None if cell in MISSING else cell for cell in dict.fromkeys(cells)}
    known: list[Any] = list(map(known_as.__getitem__, cells))
    kind: Literal["label", "text", "empty"] = "text" if is_prose(known[:PROSE_CELLS]) else "label"
    if not any(known_as.values()):
        kind = "empty"
    nothing = np.full(len(known), np.nan)
    return Column(name, kind, lambda: nothing, lambda: encode_objects(known, f"Column {name!r}"), None, lambda: known)


def as_numbers(name: str, cells: Sequence[str], decimal_comma: bool, line_of: Callable[[int], str]) -> FloatArray:
    """Cells as numbers, NaN where missing; the first that is neither is refused, with its line."""
    numbers = _plain_numbers(cells)
    if numbers is not None:
        return numbers
    known = {cell: as_number(cell, decimal_comma) for cell in dict.fromkeys(cells)}
    wrong = {cell for cell, number in known.items() if number != number and cell not in MISSING}
    if wrong:
        row = next(row for row, cell in enumerate(cells) if cell in wrong)
        raise InputTypeError(
            f"{line_of(row)}: {cells[row]!r:.60} in column {name!r} is no number, and the cells before were. "
            "Correct it, or leave it empty."
        )
    return np.fromiter(map(known.__getitem__, cells), np.float64, len(cells))


def _plain_numbers(cells: Sequence[str]) -> FloatArray | None:
    """Cells that all are numbers as Python writes them, as most columns are; else None."""
    try:
        numbers = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
    return None if np.isnan(numbers).any() or "_" in "".join(cells) else numbers
