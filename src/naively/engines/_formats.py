"""Formats of files: how the columns of a file are found, and its rows read batch by batch."""

from __future__ import annotations

import csv
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, NamedTuple

from naively.engines._arrow import BATCH_ROWS, Read, arrow, is_text
from naively.engines.base import ReadAgainError
from naively.errors import InputError, ParameterError, listed

BATCH_BYTES = 1 << 26
"""No more than about so many bytes are read at a time, however few rows that are."""

BLOCK_BYTES = 1 << 24
"""Of text files, so many bytes are parsed at a time."""

LOOK_BYTES = 1 << 22
"""The types of a CSV file are guessed from so many bytes at its start."""

CONVERSION_ERROR = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (\w+).*?: invalid value '(.*)'", re.DOTALL
)
PARSE_ERROR = re.compile(r"CSV parse error: Row #(\d+): (.*)", re.DOTALL)

LONGEST_CELL = 2**31 - 1
COUNTING = Lock()
"""Lines are counted by one thread at a time."""

COMPRESSED = (".gz", ".bz2", ".zst")


class File(NamedTuple):
    """A file, and how it is read.

    Parameters
    ----------
    path : Path
    format : Format
    types : dict
        The Arrow types of columns that were given, or learnt while reading; formats that know their types have none.
    """

    path: Path
    format: Format
    types: dict[str, Any]

    def schema(self) -> Any:
        """The Arrow schema of the file."""
        with naming(self.path):
            return self.format.schema(self)

    def reads(self, columns: Sequence[str] | None, encoded: bool) -> Iterator[Read]:
        """The rows of the file, these columns of them.

        Parameters
        ----------
        columns : sequence of str or None
            None: all.
        encoded : bool
            Whether text may come as dictionaries, where that is quicker.
        """
        return self.format.reads(self, columns, encoded)


class Format(ABC):
    """A format of files.

    Attributes
    ----------
    suffixes : tuple of str
        How names of such files end, before an ending of a compressed file.
    guesses : bool
        Whether the types of its columns are guessed from its rows.
    finds_columns : bool
        Whether rows may have columns that the rows before had not.
    """

    suffixes: ClassVar[tuple[str, ...]]
    guesses: ClassVar[bool] = False
    finds_columns: ClassVar[bool] = False

    @abstractmethod
    def schema(self, file: File) -> Any:
        """The Arrow schema of a file."""

    @abstractmethod
    def reads(self, file: File, columns: Sequence[str] | None, encoded: bool) -> Iterator[Read]:
        """The rows of a file."""


@contextmanager
def naming(place: object, done: str = "read") -> Iterator[None]:
    """Let errors of Arrow and of the system say where they arose, and what cannot be done there."""
    try:
        yield
    except (arrow().ArrowException, OSError) as error:
        raise InputError(f"{place}: the file cannot be {done}: {error}") from error


# -- formats that know their types ------------------------------------------------------------------------------------


class Parquet(Format):
    """Apache Parquet."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")

    def schema(self, file: File) -> Any:
        from pyarrow import parquet

        return parquet.read_schema(file.path)

    def reads(self, file: File, columns: Sequence[str] | None, encoded: bool) -> Iterator[Read]:
        from pyarrow import parquet

        schema = file.schema()
        chosen = schema.names if columns is None else list(columns)
        texts = [field.name for field in schema if encoded and field.name in chosen and is_text(field.type)]
        with naming(file.path):
            opened = parquet.ParquetFile(file.path, read_dictionary=texts, pre_buffer=False, buffer_size=1 << 20)
        with opened:
            n_rows, n_all = 0, max(opened.metadata.num_rows, 1)
            for groups, batch_rows in _row_groups(opened.metadata):
                name = f"row group {groups[0]}" if len(groups) == 1 else f"row groups {groups[0]} to {groups[-1]}"
                try:
                    with naming(f"{file.path}, {name}"):
                        batches = opened.iter_batches(batch_rows, row_groups=groups, columns=chosen)
                    for batch in _each(batches, f"{file.path}, {name}"):
                        place = f"{file.path}, {name}, counting rows from {n_rows}"
                        n_rows += batch.num_rows
                        yield Read(batch, place, n_rows / n_all)
                except InputError:
                    for group in groups:  # which of those that are read together it is
                        with naming(f"{file.path}, row group {group}"):
                            opened.read_row_group(group, chosen)
                    raise


def _row_groups(metadata: Any) -> Iterator[tuple[list[int], int]]:
    """Row groups to be read together, small ones side by side, and the number of rows of them to read at a time."""
    groups: list[int] = []
    n_rows = n_bytes = 0
    for place in range(metadata.num_row_groups):
        group = metadata.row_group(place)
        groups.append(place)
        n_rows, n_bytes = n_rows + group.num_rows, n_bytes + group.total_byte_size
        if n_rows >= BATCH_ROWS or n_bytes >= BATCH_BYTES or place == metadata.num_row_groups - 1:
            yield groups, rows_of_bytes(n_rows, n_bytes)
            groups, n_rows, n_bytes = [], 0, 0


def rows_of_bytes(n_rows: int, n_bytes: int) -> int:
    """The number of rows to read at a time, where some rows have so many bytes."""
    return max(1, min(BATCH_ROWS, BATCH_BYTES * n_rows // max(n_bytes, 1)))


def _each(batches: Iterator[Any], place: object) -> Iterator[Any]:
    """Batches, with errors that say where they arose."""
    batches = iter(batches)
    while True:
        with naming(place):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


class ArrowFile(Format):
    """Arrow's own format, as a file (Feather) or as a stream."""

    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc", ".arrows")

    def schema(self, file: File) -> Any:
        with self._opened(file.path) as (reader, _):
            return reader.schema

    def reads(self, file: File, columns: Sequence[str] | None, encoded: bool) -> Iterator[Read]:
        with self._opened(file.path) as (reader, n_batches):
            n_rows = 0
            for number, batch in enumerate(_each(_stored(reader, n_batches), file.path)):
                chosen = batch if columns is None else batch.select(list(columns))
                step = rows_of_bytes(chosen.num_rows, chosen.nbytes)
                for start in range(0, chosen.num_rows, step):
                    part = chosen.slice(start, step)
                    place = f"{file.path}, record batch {number}, counting rows from {n_rows}"
                    n_rows += part.num_rows
                    yield Read(part, place, (number + (start + part.num_rows) / chosen.num_rows) / max(n_batches, 1))

    @contextmanager
    def _opened(self, path: Path) -> Iterator[tuple[Any, int]]:
        """A reader of a file, and the number of its record batches; of a stream they are not known, and 0."""
        from pyarrow import ipc

        with naming(path), arrow().memory_map(str(path)) as mapped:
            try:
                reader = ipc.open_file(mapped)
                n_batches = reader.num_record_batches
            except arrow().ArrowInvalid:
                mapped.seek(0)
                reader, n_batches = ipc.open_stream(mapped), 0
            yield reader, n_batches


def _stored(reader: Any, n_batches: int) -> Iterator[Any]:
    if n_batches:
        for number in range(n_batches):
            yield reader.get_batch(number)
    elif not hasattr(reader, "num_record_batches"):
        yield from reader


# -- formats whose types are guessed ----------------------------------------------------------------------------------


class Csv(Format):
    """Comma-separated values with a header, compressed or not; empty cells, NA, NaN, null and the like are missing.

    A column has the type that its first cells have. A later cell that is of no such type makes whole numbers numbers,
    and anything else text, of the whole file: it is read again.

    Parameters
    ----------
    delimiter : str, optional
        By default a tab in files that end in .tsv, and else a comma.
    given : iterable of str
        Columns whose types were given: a cell of another type is refused.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".txt")
    guesses: ClassVar[bool] = True

    def __init__(self, delimiter: str | None = None, given: Iterable[str] = ()):
        self.delimiter, self.given = delimiter, frozenset(given)
        self._headers: dict[Path, list[str]] = {}

    def schema(self, file: File) -> Any:
        """What the first cells of a file say, which stands until a later one says otherwise."""
        if file.path not in self._headers:
            try:
                with self._opened(File(file.path, self, {}), None, LOOK_BYTES, False) as (reader, _):
                    first = reader.schema
            except arrow().ArrowInvalid as error:
                self._refuse_line(file.path, error)
                raise
            _refuse_binary(file.path, first)
            self._headers[file.path] = first.names
            guessed = {field.name: field.type for field in first}
            file.types.update({name: file.types.get(name, guess) for name, guess in guessed.items()})
        return arrow().schema([(name, file.types[name]) for name in self._headers[file.path]])

    def reads(self, file: File, columns: Sequence[str] | None, encoded: bool) -> Iterator[Read]:
        size, n_rows = max(file.path.stat().st_size, 1), 0
        try:
            with self._opened(file, columns, BLOCK_BYTES) as (reader, raw):
                for batch in reader:
                    yield Read(batch, _CsvRows(self, file.path, n_rows + 2), raw.tell() / size)
                    n_rows += batch.num_rows
        except arrow().ArrowInvalid as error:
            self._look_closely(file, columns)
            raise InputError(f"{file.path}: the file cannot be read: {error}") from error

    def _look_closely(self, file: File, columns: Sequence[str] | None) -> None:
        """Find the row that cannot be read, slowly: learn what it tells of its column, or refuse it by its line."""
        try:
            with self._opened(file, columns, BLOCK_BYTES, use_threads=False) as (reader, _):
                for _ in reader:
                    pass
        except arrow().ArrowInvalid as error:
            self._refuse_line(file.path, error)
            if found := CONVERSION_ERROR.search(str(error)):
                name = self._headers[file.path][int(found[1])]
                self._widen(file, name, found[3], self.line_of(file.path, int(found[2])), found[4])

    def _refuse_line(self, path: Path, error: Any) -> None:
        """Refuse a row that is none, by its line, if that is what an error of Arrow is about."""
        if found := PARSE_ERROR.search(str(error)):
            line = self.line_of(path, int(found[1]))
            raise InputError(f"{path}, line {line}: the file cannot be read: {found[2]}") from error

    def line_of(self, path: Path, row: int) -> int:
        """The line on which a row begins, both counted from 1, the header included.

        Blank lines are no rows, and a row whose cells have line breaks in them takes several lines.
        """
        with _lines(path) as lines, _cells_of_any_length():
            counted = csv.reader(lines, delimiter=self._delimiter(path))
            first = 1
            for cells in counted:
                row -= bool(cells)
                if not row:
                    break
                first = counted.line_num + 1
        return first

    def _delimiter(self, path: Path) -> str:
        return self.delimiter or ("\t" if ".tsv" in path.suffixes else ",")

    def _widen(self, file: File, name: str, known: str, line: int, value: str) -> None:
        """Learn the type of a column from a cell that is of no such type as the cells before."""
        pyarrow = arrow()
        if name in self.given:
            raise InputError(
                f"{file.path}, line {line}: column {name!r} is to be read as {known}, which {value!r:.60} is not."
            )
        if known == "int64" and _is_number(value):
            file.types[name] = pyarrow.float64()
            raise ReadAgainError
        if known == "null":
            file.types[name] = _type_of(value)
            raise ReadAgainError
        file.types[name] = pyarrow.string()
        raise ReadAgainError(
            f"{file.path}: column {name!r} seemed to be of type {known}, but line {line} has {value!r:.60}, so all of "
            f'it is read as text. If that is wrong, naively.files(..., types={{"{name}": "number"}}) refuses it.'
        )

    @contextmanager
    def _opened(
        self, file: File, columns: Sequence[str] | None, n_bytes: int, use_threads: bool = True
    ) -> Iterator[tuple[Any, Any]]:
        """A reader of a file, and the file itself, which tells how much of it was read."""
        from pyarrow import csv as arrow_csv

        parsing = arrow_csv.ParseOptions(delimiter=self._delimiter(file.path), newlines_in_values=True)
        reading = arrow_csv.ReadOptions(block_size=n_bytes, use_threads=use_threads)
        types = dict(file.types)
        while True:
            wanted = None if columns is None else list(columns)
            converting = arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=True, include_columns=wanted)
            with arrow().OSFile(str(file.path)) as raw:
                reader = arrow_csv.open_csv(_decompressed(raw, file.path), reading, parsing, converting)
                dates = {
                    field.name: arrow().string() for field in reader.schema if arrow().types.is_temporal(field.type)
                }
                if not dates:
                    yield reader, raw
                    return
                types |= dates  # texts, as in all text files: a date would have to be declared


class _CsvRows(NamedTuple):
    """The place of some rows of a CSV file, as text once an error needs it: only then are lines counted."""

    format: Csv
    path: Path
    first: int

    def __str__(self) -> str:
        return f"{self.path}, counting rows from line {self.format.line_of(self.path, self.first)}"


def _decompressed(raw: Any, path: Path) -> Any:
    """The content of a file whose name may say that it is compressed."""
    compression = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(path.suffix.lower())
    return raw if compression is None else arrow().CompressedInputStream(raw, compression)


@contextmanager
def _lines(path: Path) -> Iterator[Iterator[str]]:
    """The lines of a text file that may be compressed, as the module csv takes them."""
    with arrow().OSFile(str(path)) as raw, io.TextIOWrapper(_decompressed(raw, path), "utf-8", "replace", "") as text:
        yield text


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    """Let the module csv read cells beyond its limit, which is one for the whole process."""
    with COUNTING:
        before = csv.field_size_limit(LONGEST_CELL)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _refuse_binary(path: Path, schema: Any) -> None:
    """Refuse cells that are no text: Arrow takes what is not UTF-8 for bytes."""
    binary = [field.name for field in schema if arrow().types.is_binary(field.type)]
    if binary:
        raise InputError(
            f"{path}: column {binary[0]!r} has cells that are no text in UTF-8. Convert the file, for example by "
            "iconv -f latin1 -t utf8."
        )


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return "_" not in value


def _type_of(value: str) -> Any:
    """The Arrow type of a first known cell of a CSV file."""
    pyarrow = arrow()
    if re.fullmatch(r"[+-]?\d{1,18}", value.strip()):
        return pyarrow.int64()
    if _is_number(value):
        return pyarrow.float64()
    return pyarrow.bool_() if value in ("true", "false", "True", "False", "TRUE", "FALSE") else pyarrow.string()


class JsonLines(Format):
    """One JSON object on each line, compressed or not; a key that a line lacks is a missing cell."""

    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", ".json")
    guesses: ClassVar[bool] = True
    finds_columns: ClassVar[bool] = True

    def schema(self, file: File) -> Any:
        first = next(self._blocks(file), None)
        return arrow().schema([]) if first is None else first[0].schema

    def whole_schema(self, file: File) -> Any:
        """The columns of all lines, with types that hold all cells: what a first block does not tell."""
        pyarrow = arrow()
        whole = pyarrow.schema([])
        for table, line, _ in self._blocks(file):
            try:
                whole = pyarrow.unify_schemas([whole, table.schema], promote_options="permissive")
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
                raise InputError(f"{file.path}, the lines from {line} on are unlike those before: {error}") from error
        return whole

    def reads(self, file: File, columns: Sequence[str] | None, encoded: bool) -> Iterator[Read]:
        pyarrow = arrow()
        for table, line, done in self._blocks(file):
            for name in columns or ():
                if name not in table.column_names:
                    table = table.append_column(name, pyarrow.nulls(table.num_rows))
            chosen = table if columns is None else table.select(list(columns))
            yield Read(chosen, f"{file.path}, counting rows from line {line}", done)

    def _blocks(self, file: File) -> Iterator[tuple[Any, int, float]]:
        """The rows of each block of lines, the number of its first line, and the share that has been read."""
        size, line = max(file.path.stat().st_size, 1), 1
        with naming(file.path), arrow().OSFile(str(file.path)) as raw:
            content, rest = _decompressed(raw, file.path), b""
            while True:
                block = content.read(BLOCK_BYTES)
                text, cut, tail = (rest + block).rpartition(b"\n") if block else (rest, b"", b"")
                rest = tail
                if text.strip():
                    yield self._parsed(file, text + cut, line), line, raw.tell() / size
                line += (text + cut).count(b"\n")
                if not block:
                    return

    def _parsed(self, file: File, lines: bytes, first: int) -> Any:
        """Some lines as a table; dates are texts, as in all text files."""
        from pyarrow import json

        pyarrow = arrow()
        types = dict(file.types)
        while True:
            options = json.ParseOptions(explicit_schema=pyarrow.schema(list(types.items())) if types else None)
            whole = json.ReadOptions(block_size=max(len(lines), 1) + 1)
            try:
                table = json.read_json(pyarrow.BufferReader(lines), whole, options)
            except pyarrow.ArrowInvalid as error:
                row = re.search(r"in row (\d+)", str(error))
                where = f"line {first + _line_of(lines, int(row[1]))}" if row else f"the lines from {first} on"
                raise InputError(f"{file.path}, {where}: {error}") from error
            dates = {field.name: pyarrow.string() for field in table.schema if pyarrow.types.is_temporal(field.type)}
            if not dates:
                return table
            types |= dates


def _line_of(lines: bytes, row: int) -> int:
    """The line that holds a row, both counted from 0: blank lines hold none."""
    rows = (number for number, line in enumerate(lines.split(b"\n")) if line.strip())
    return next(islice(rows, row, None))


FORMATS: dict[str, type[Format]] = {"parquet": Parquet, "csv": Csv, "json": JsonLines, "arrow": ArrowFile}
"""By the name that `naively.files` takes."""

SUFFIXES = {suffix: name for name, kind in FORMATS.items() for suffix in kind.suffixes}
MAGIC = {b"PAR1": "parquet", b"ARRO": "arrow", b"\xff\xff\xff\xff": "arrow"}


def suffix_of(path: Any) -> str:
    """The ending of a path that tells its format: that before the one of a compressed file."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def format_of(path: Path, given: str | None, delimiter: str | None, types: Iterable[str]) -> Format:
    """The format of a file: as given, by the ending of its name, or by its first bytes."""
    if given is not None and given not in FORMATS:
        raise ParameterError(f"files(format) must be one of {listed(FORMATS)}, got {given!r}.")
    name = given or SUFFIXES.get(suffix_of(path))
    if name is None:
        with naming(path), path.open("rb") as file:
            name = MAGIC.get(file.read(4))
    if name is None:
        raise InputError(
            f"{path}: the format of the file is not known by its name. Files that end in {listed(SUFFIXES, 20)} are "
            f"read; or say naively.files(path, format=...), one of {listed(FORMATS)}."
        )
    return Csv(delimiter, types) if name == "csv" else FORMATS[name]()


def given_types(types: Mapping[str, str]) -> dict[str, Any]:
    """The Arrow types of columns whose kinds were given."""
    pyarrow = arrow()
    known = {"number": pyarrow.float64(), "text": pyarrow.string(), "truth": pyarrow.bool_()}
    wrong = [kind for kind in types.values() if kind not in known]
    if wrong:
        raise ParameterError(f"files(types) must give columns one of {listed(known)}, got {wrong[0]!r}.")
    return {name: known[kind] for name, kind in types.items()}
