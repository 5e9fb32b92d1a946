"""Record batches of Arrow as pieces: what files and streams have in common.

Text comes as dictionaries where that is quicker, yet is read as the text it is: its dictionary declares no categories,
and whether it is prose is decided once, by the first rows of the whole source, as it is of a table in memory.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Any, NamedTuple

from naively._table.columns import ColumnsTable
from naively._table.read import PROSE_CELLS, is_prose, read_table
from naively._table.table import Table
from naively.engines._pieces import naming
from naively.engines.base import Piece
from naively.errors import InputTypeError, SchemaError, listed

BATCH_ROWS = 1 << 18
"""The number of rows that are counted at a time."""


class Read(NamedTuple):
    """Rows as they were read.

    Parameters
    ----------
    batch : pyarrow.RecordBatch or pyarrow.Table
    place : object
        Where they come from, for messages: a text, or what can be made one.
    share : float, default=0.0
        How much of the file, or of all files, has been read with them, from 0 to 1.
    """

    batch: Any
    place: object
    share: float = 0.0


def arrow() -> Any:
    """The module pyarrow, or an error that says how to get it."""
    try:
        import pyarrow
    except ImportError as error:
        raise InputTypeError("Files and Arrow streams need pyarrow: pip install 'naively[files]'.") from error
    return pyarrow


def needed_columns(names: Sequence[str], y: Any, sample_weight: Any, columns: Sequence[str] | None) -> list[str]:
    """The columns that are to be read, in the order of the source; classes and weights must be named and there.

    Parameters
    ----------
    names : sequence of str
        The columns that there are.
    y, sample_weight : Any
        None, or the name of a column.
    columns : sequence of str or None
        Those that are wanted beside them; None: all.
    """
    for given, where, what in ((y, "y", "classes"), (sample_weight, "sample_weight", "weights")):
        if given is not None and not isinstance(given, str):
            raise InputTypeError(
                f"{where} must be the name of the column that holds the {what}, where rows come from files or a "
                f"stream; got {type(given).__name__}. The columns are {listed(names, 20)}."
            )
        if given is not None and given not in names:
            raise SchemaError(f"{where}={given!r} names no column.{meant(given, names)} There are {listed(names, 20)}.")
    wanted = None if columns is None else {*columns, y, sample_weight}
    return [name for name in names if wanted is None or name in wanted]


def without_index(schema: Any) -> Any:
    """A schema without the index of pandas, where that has no name: pandas stores it beside the columns.

    It numbers the rows, and a frame whose rows were chosen or put together has one in its file where others have none.
    """
    stored = (schema.pandas_metadata or {}).get("index_columns", [])
    for name in stored:
        if isinstance(name, str) and re.fullmatch(r"__index_level_\d+__", name) and name in schema.names:
            schema = schema.remove(schema.get_field_index(name))
    return schema


def require_target(y: Any, names: Sequence[str]) -> None:
    """Refuse to learn from rows whose classes were not named."""
    if y is None:
        raise InputTypeError(
            f"y must be the name of the column that holds the classes: fit(source, 'name'). The columns are "
            f"{listed(names, 20)}."
        )


def meant(name: str, names: Sequence[str]) -> str:
    """A question for a name that may be mistyped.

    Examples
    --------
    >>> meant("churnd", ["age", "churned"])
    " Did you mean 'churned'?"
    """
    close = get_close_matches(name, names, 1) or [known for known in names if known.lower() == name.lower()]
    return f" Did you mean {close[0]!r}?" if close else ""


def as_pieces(reads: Iterable[Read], y: Any, sample_weight: Any, encoded: Collection[str] = ()) -> Iterator[Piece]:
    """Pieces of what was read; columns of text keep the kind that their first rows have.

    Parameters
    ----------
    reads : iterable of Read
    y, sample_weight : Any
        For the pieces.
    encoded : collection of str
        Columns of plain text, which come as dictionaries.
    """
    first, rest = _first_rows(iter(reads))
    prose = {name: is_prose(cells) for name, cells in _texts(first, encoded).items()}
    for read in chain(first, rest):
        piece = Piece(read.batch, y, sample_weight, read.place)
        with naming(piece):
            piece = piece._replace(X=table_of(read.batch, prose))
        yield piece


def _first_rows(reads: Iterator[Read]) -> tuple[list[Read], Iterator[Read]]:
    """What must be read to know the first cells of each column, and the rest."""
    first: list[Read] = []
    while sum(read.batch.num_rows for read in first) < PROSE_CELLS:
        read = next(reads, None)
        if read is None:
            break
        first.append(read)
    return first, reads


def _texts(first: Sequence[Read], encoded: Collection[str]) -> dict[str, list[Any]]:
    """The first cells of the columns of plain text."""
    cells: dict[str, list[Any]] = {}
    for read in first:
        for field, column in zip(read.batch.schema, read.batch.columns, strict=True):
            if is_text(field.type) or field.name in encoded:
                known = cells.setdefault(field.name, [])
                known += column.slice(0, PROSE_CELLS - len(known)).to_pylist()
    return cells


def is_text(arrow_type: Any) -> bool:
    """Whether an Arrow type is that of plain text."""
    types = arrow().types
    return bool(types.is_string(arrow_type) or types.is_large_string(arrow_type) or _is_view(arrow_type))


def _is_view(arrow_type: Any) -> bool:
    """Whether an Arrow type is that of views of text, of which Arrow finds no distinct values."""
    is_view = getattr(arrow().types, "is_string_view", None)
    return is_view is not None and bool(is_view(arrow_type))


def table_of(batch: Any, prose: dict[str, bool]) -> Table:
    """The table of a record batch, its columns of text read as such whatever their dictionary lists."""
    pyarrow = arrow()
    frame = batch if isinstance(batch, pyarrow.Table) else pyarrow.Table.from_batches([batch])
    table = read_table(_without_views(frame, pyarrow))
    assert isinstance(table, ColumnsTable)  # as all frames of Arrow are
    for column in table.columns:
        if column.name in prose and column.kind in ("label", "text"):
            column.kind = "text" if prose[column.name] else "label"
            column.declared = None
    return table


def _without_views(frame: Any, pyarrow: Any) -> Any:
    """A frame whose texts are not views."""
    fields = [
        pyarrow.field(field.name, pyarrow.large_string()) if _is_view(field.type) else field for field in frame.schema
    ]
    return frame.cast(pyarrow.schema(fields)) if fields != list(frame.schema) else frame
