"""Files as tables, some thousand rows at a time: CSV, JSON lines, Parquet, and what comes through a pipe."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from naively._table.columns import ColumnsTable
from naively._table.read import read_table
from naively._table.table import Table
from naively.cli._cells import Written, as_column, written_as
from naively.errors import InputError, SchemaError, listed

BATCH_ROWS = 50_000
DELIMITERS = "\t;|,"
SNIFFED_BYTES = 1 << 16
SNIFFED_LINES = 64
PARQUET = frozenset({".parquet", ".pq"})
JSON_LINES = frozenset({".jsonl", ".ndjson", ".json"})

LINE_END = re.compile(r"\r\n|\r|\n")

csv.field_size_limit(1 << 28)


@dataclass
class Source:
    """A file that is read as a table.

    Parameters
    ----------
    path : str
        ``-`` is standard input.
    delimiter, encoding : str or None
        Of a CSV file; None: found by looking at its beginning.
    written : dict
        What columns are read as, by name; those that are not named are found by looking at the first rows.
    """

    path: str
    delimiter: str | None = None
    encoding: str | None = None
    written: dict[str, Written] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """What the file is called in messages."""
        return "standard input" if self.path == "-" else self.path

    def batches(self, rows: int = BATCH_ROWS) -> Iterator[Table]:
        """The rows, so many at a time."""
        suffixes = [suffix.lower() for suffix in Path(self.path).suffixes]
        if self.path != "-" and suffixes and suffixes[-1] in PARQUET:
            yield from _parquet(self, rows)
            return
        with _opened(self.path) as stream:
            start = stream.peek(SNIFFED_BYTES)[:SNIFFED_BYTES]
            text = io.TextIOWrapper(stream, self.encoding or _encoding(start, self.shown), newline="")
            lines = bool({*suffixes} & JSON_LINES) or (self.path == "-" and start.lstrip()[:1] == b"{")
            try:
                yield from _json_lines(self, text, rows) if lines else _csv(self, text, rows)
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{self.shown}: byte {error.start} is no {text.encoding}. Name its encoding: --encoding cp1252, "
                    "for example."
                ) from None

    def table(self) -> Table:
        """All rows at once."""
        table = next(self.batches(rows=sys.maxsize), None)
        if table is None:
            raise InputError(f"{self.shown} holds no rows.")
        return table


def require_file(path: str) -> None:
    """Refuse a path at which there is no file, and say what it may have meant."""
    if path == "-" or Path(path).is_file():
        return
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder, not a file.")
    folder = Path(path).parent
    by_stem = {one.name.split(".")[0]: str(one) for one in folder.iterdir()} if folder.is_dir() else {}
    near = get_close_matches(Path(path).name.split(".")[0], by_stem, cutoff=0.75)  # most end alike, which says nothing
    raise InputError(f"There is no file {path}.{did_you_mean([by_stem[stem] for stem in near])}")


def require_column(name: str, columns: Sequence[str], source: str, option: str) -> None:
    """Refuse a column that is not there, and say which was meant."""
    if name not in columns:
        by_case = [column for column in columns if column.casefold() == name.casefold()]
        near = by_case or get_close_matches(name, columns)
        raise SchemaError(
            f"{option} {name}: {source} has no such column.{did_you_mean(near)} It has {listed(columns, 20)}."
        )


def did_you_mean(names: Sequence[str]) -> str:
    """The end of a message that proposes the nearest name; nothing if none is near."""
    return f" Did you mean {names[0]!r}?" if names else ""


def _opened(path: str) -> Any:
    if path == "-":
        return io.BufferedReader(sys.stdin.buffer) if not hasattr(sys.stdin.buffer, "peek") else sys.stdin.buffer
    require_file(path)
    if path.endswith(".gz"):
        return io.BufferedReader(gzip.open(path, "rb"), SNIFFED_BYTES)
    return Path(path).open("rb", buffering=SNIFFED_BYTES)


def _encoding(start: bytes, shown: str) -> str:
    """The encoding of a file that begins like this: by its mark, UTF-8, or what Windows writes."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in start:
        raise InputError(
            f"{shown} is no text, as CSV and JSON lines are. Parquet files are known by their names, which end in "
            ".parquet; UTF-16 without a mark must be named: --encoding utf-16-le."
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, final=False)  # the last character may be cut
    except UnicodeDecodeError:
        print(f"naively: {shown} is not UTF-8; it is read as Windows-1252 (--encoding names another).", file=sys.stderr)
        return "cp1252"
    return "utf-8-sig"


# -- CSV --------------------------------------------------------------------------------------------------------------


def _csv(source: Source, text: IO[str], rows: int) -> Iterator[Table]:
    head = list(islice(text, SNIFFED_LINES))
    if source.delimiter is None:
        source.delimiter = sniffed_delimiter(head)
    lines = csv.reader(chain(head, text), delimiter=source.delimiter)
    try:
        names = _header(source, lines)
        before = lines.line_num
        while batch := list(islice(lines, rows)):
            kept, line_of = _checked(source, batch, before, names)
            before = lines.line_num
            if kept:
                yield _as_table(source, names, kept, line_of)
    except csv.Error as error:
        raise InputError(f"{source.shown}, line {lines.line_num}: {error}.") from None


def sniffed_delimiter(head: Sequence[str]) -> str:
    r"""The delimiter that cuts the first lines into equally many cells, the most of them; a comma if none does.

    Examples
    --------
    >>> sniffed_delimiter(["a;b;c\n", "1,5;2;3\n"])
    ';'
    >>> sniffed_delimiter(["text\n", "hello, world\n"])
    ','
    """
    found: dict[str, float] = {}
    for delimiter in DELIMITERS:
        lines = [line for line in csv.reader(head[:-1] or head, delimiter=delimiter) if line]
        widths = {len(line) for line in lines}
        found[delimiter] = widths.pop() if len(widths) == 1 else 0
        if not found[delimiter] and lines:
            found[delimiter] = len(lines[0]) / 1000  # of no equal widths, the first line decides
    best = max(DELIMITERS, key=lambda delimiter: found[delimiter])
    return best if found[best] > 1 or found[best] % 1 else ","


def _header(source: Source, lines: Iterator[list[str]]) -> list[str]:
    names = next((line for line in lines if line), None)
    if names is None:
        raise InputError(f"{source.shown} is empty: its first line must name the columns.")
    names = [name.strip() for name in names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"{source.shown}, line 1: the columns {listed(twice)} are named more than once.")
    return names


def _checked(
    source: Source, batch: list[list[str]], before: int, names: Sequence[str]
) -> tuple[list[list[str]], Callable[[int], int]]:
    """The rows of some lines, each of as many cells as there are columns, and from a row to its line.

    Empty lines are left out.
    """
    if set(map(len, batch)) == {len(names)}:
        return batch, lambda row: next(islice(_line_numbers(batch, before), row, None))
    kept, lines = [], []
    for line, cells in zip(_line_numbers(batch, before), batch, strict=True):
        if not cells or (cells == [""] and len(names) > 1):
            continue
        if len(cells) != len(names):
            found = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            raise InputError(
                f"{source.shown}, line {line}: {found}, where the first line names {len(names)} "
                f"columns. The delimiter is {source.delimiter!r} (--delimiter names another); cells that hold it must "
                "be quoted."
            )
        kept.append(cells)
        lines.append(line)
    return kept, lines.__getitem__


def _line_numbers(batch: Iterable[list[str]], before: int) -> Iterator[int]:
    """The number of the last line of each row; a row has more lines than one if its cells do."""
    line = before
    for cells in batch:
        line += 1 + sum(len(LINE_END.findall(cell)) for cell in cells)
        yield line


def _as_table(
    source: Source, names: Sequence[str], batch: Sequence[list[str]], line_of_row: Callable[[int], int]
) -> Table:
    comma = source.delimiter != ","
    columns = []

    def line_of(row: int) -> str:
        return f"{source.shown}, line {line_of_row(row)}"

    for name, cells in zip(names, zip(*batch, strict=True), strict=True):
        known = source.written.get(name, "nothing")
        if known == "nothing":
            known = source.written[name] = written_as(cells, comma)
        columns.append(as_column(name, cells, known, comma, line_of))
    return ColumnsTable(columns, len(batch))


# -- JSON lines -------------------------------------------------------------------------------------------------------


def _json_lines(source: Source, text: IO[str], rows: int) -> Iterator[Table]:
    lines = ((number, line) for number, line in enumerate(text, 1) if line.strip())
    while batch := list(islice(lines, rows)):
        yield read_table([_record(source, number, line) for number, line in batch])


def _record(source: Source, number: int, line: str) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InputError(f"{source.shown}, line {number}: no JSON ({error}). Each line must hold one object.") from None
    if not isinstance(record, dict):
        raise InputError(
            f"{source.shown}, line {number}: a JSON object is expected on each line, not {type(record).__name__}."
        )
    return record


# -- Parquet ----------------------------------------------------------------------------------------------------------


def _parquet(source: Source, rows: int) -> Iterator[Table]:
    require_file(source.path)
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"{source.shown}: reading Parquet needs PyArrow: pip install 'naively[files]'.") from None
    try:
        with pyarrow.parquet.ParquetFile(source.path) as file:
            if rows == sys.maxsize:
                yield read_table(file.read())
                return
            for batch in file.iter_batches(rows):
                yield read_table(pyarrow.Table.from_batches([batch]))
    except pyarrow.ArrowInvalid as error:
        raise InputError(f"{source.shown} is no Parquet file: {error}.") from None
