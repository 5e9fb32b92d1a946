"""What the columns of a lazy frame hold, found as the table reader does: from their types and some first rows."""

from __future__ import annotations

from typing import Any

from naively._table.columns import Column, ColumnsTable
from naively._table.dates import clock_of_type
from naively._table.read import PROSE_CELLS, read_table
from naively._table.table import Kind, Table, require_rows
from naively.engines._lazy_rows import CLASS, answer, collected, lazy_rows
from naively.errors import InputError, InputTypeError


def first_rows(frame: Any) -> Any:
    """Some first rows of a lazy frame, as an eager frame of whatever library its engine answers with."""
    return answer(frame.head(PROSE_CELLS), "some first rows").to_native()


def head_table(frame: Any, rows: Any) -> Table:
    """A table of first rows, whose kinds are those of the whole lazy frame.

    A column of which no first cell is known is looked at as a whole: if all are missing it holds nothing, as in a
    table; else its type says what it holds.

    Parameters
    ----------
    frame : narwhals.LazyFrame
    rows : frame
        Its `first_rows`.
    """
    table = read_table(rows)
    require_rows(table)
    empty = [place for place, kind in enumerate(table.kinds) if kind == "empty"]
    if not empty:
        return table
    names = [table.names[place] for place in empty]
    schema = frame.collect_schema()
    kinds = {name: kind_of_type(name, schema[name]) for name, n in _known_cells(frame, names).items() if n}
    read = [_column(table, place, kinds) for place in range(table.n_columns)]
    return ColumnsTable(read, table.n_rows, table.named, table.integer_names)


def _column(table: Table, place: int, kinds: dict[str, Kind]) -> Column:
    """A column of the table, under the kind that it has in the whole frame."""
    name = table.names[place]
    if isinstance(table, ColumnsTable):
        column = table.columns[place].renamed(name)
    else:
        column = Column(name, table.kind(place), lambda: table.column(place), lambda: table.labels(place))
    column.kind = kinds.get(name, column.kind)
    return column


def _known_cells(frame: Any, names: list[str]) -> dict[str, int]:
    """The number of known cells of columns; NaN is not known."""
    import narwhals as nw

    rows = lazy_rows(frame, names, names[0])
    cells = []
    for place, dtype in enumerate(rows.types):
        cell = nw.col(f"c{place}")
        cells.append(
            nw.when(~cell.is_nan()).then(cell).alias(f"c{place}") if dtype.is_float() and rows.has_nan else cell
        )
    counts = [nw.col(f"c{place}").count().alias(f"c{place}") for place in range(len(names))]
    found = collected(rows.frame.drop(CLASS).select(*cells).select(*counts), "which columns hold anything")
    return {name: int(found[f"c{place}"][0]) for place, name in enumerate(names)}


def kind_of_type(name: str, dtype: Any) -> Kind:
    """What a column of a type holds, whatever its cells: the rule of the table reader.

    Examples
    --------
    >>> import narwhals as nw
    >>> kind_of_type("price", nw.Decimal()), kind_of_type("paid", nw.Boolean()), kind_of_type("city", nw.String())
    ('number', 'truth', 'label')
    """
    import narwhals as nw

    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "truth"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "label"
    if dtype in (nw.Object, nw.Unknown):
        raise InputError(
            f"Column {name!r} has a type that says nothing of its cells ({dtype}), and the first of them are missing. "
            "Cast the column to a number, a boolean or text."
        )
    if (clock := clock_of_type(dtype)) is not None:
        return "number" if clock == "duration" else clock
    raise InputTypeError(
        f"Column {name!r} has the type {dtype}, which no family reads: numbers, booleans, text, categories, dates, "
        "times and durations are read. Convert or drop the column."
    )
