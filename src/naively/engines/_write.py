"""Writing tables to a file, piece by piece; the file is there when all of it is, or not at all."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from naively.engines._arrow import arrow, is_text
from naively.engines._formats import SUFFIXES, naming, suffix_of
from naively.errors import ParameterError, brief

ROWS_AT_ONCE = 10_000
"""So many rows are written as text at a time."""


class _Writer(Protocol):
    def write_table(self, table: Any) -> None: ...

    def close(self) -> None: ...


def require_writable(to: Any) -> Path:
    """The path of a file that is to be written, in a format that can be."""
    if not isinstance(to, (str, os.PathLike)) or SUFFIXES.get(suffix_of(to)) not in ("parquet", "csv", "json"):
        raise ParameterError(
            "annotate(to) must be the path of a file that ends in .parquet, .csv (.csv.gz, .tsv) or .jsonl "
            f"(.jsonl.gz, .ndjson), got {brief(to)}."
        )
    path = Path(to)
    if not path.parent.is_dir():
        raise ParameterError(f"annotate(to): there is no folder {str(path.parent)!r}.")
    return path


def may_encode(to: Path, schemas: Iterable[Any]) -> bool:
    """Whether text may be written from dictionaries, and still be plain text: to Parquet, of types that it knows."""
    return SUFFIXES[suffix_of(to)] == "parquet" and all(map(_is_plain, schemas))


def _is_plain(schema: Any) -> bool:
    """Whether Parquet's own types say all that there is to say about the columns."""
    types = arrow().types
    known = (types.is_integer, types.is_floating, types.is_boolean, types.is_null, is_text)
    return all(any(is_known(field.type) for is_known in known) for field in schema)


def write_tables(tables: Iterable[Any], to: Path, plain: bool) -> None:
    """Write tables of one schema to one file, under another name until all are written.

    Parameters
    ----------
    tables : iterable of pyarrow.Table
    to : Path
        What is there is replaced.
    plain : bool
        Whether dictionaries are to become plain text in Parquet, see `may_encode`.
    """
    unfinished = to.with_name(f".{to.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("wb") as raw, _compressed(raw, to) as sink:
            _write(tables, to, sink, plain)
        unfinished.replace(to)
    finally:
        unfinished.unlink(missing_ok=True)


def _write(tables: Iterable[Any], to: Path, sink: Any, plain: bool) -> None:
    """Write each table in a thread of its own, while the next one is made."""
    writer: _Writer | None = None
    schema = None
    writing: Future[None] | None = None
    with ThreadPoolExecutor(1, "naively-writer") as thread:
        for table in tables:
            with naming(to, "written"):
                if writing is not None:
                    writing.result()
                if writer is None:
                    writer, schema = _writer(sink, to, table.schema, plain)
                writing = thread.submit(writer.write_table, table if table.schema == schema else table.cast(schema))
        with naming(to, "written"):
            if writing is not None:
                writing.result()
            if writer is not None:
                writer.close()


@contextmanager
def _compressed(raw: Any, to: Path) -> Iterator[Any]:
    """What the bytes of a file are written to, compressed if its name says so."""
    compression = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(to.suffix.lower())
    if compression is None:
        yield raw
        return
    with arrow().CompressedOutputStream(arrow().PythonFile(raw, "w"), compression) as sink:
        yield sink


def _writer(sink: Any, to: Path, schema: Any, plain: bool) -> tuple[_Writer, Any]:
    """A writer of tables, and the schema that they are to have."""
    types = arrow().types
    if SUFFIXES[suffix_of(to)] == "json":
        return _JsonLinesWriter(sink), schema
    if SUFFIXES[suffix_of(to)] == "csv":
        from pyarrow import csv

        schema = arrow().schema(
            [field.with_type(field.type.value_type) if types.is_dictionary(field.type) else field for field in schema]
        )
        options = csv.WriteOptions(delimiter="\t" if ".tsv" in to.suffixes else ",")
        return csv.CSVWriter(sink, schema, write_options=options), schema
    from pyarrow import parquet

    labels = [field.name for field in schema if is_text(field.type) or types.is_dictionary(field.type)]
    return parquet.ParquetWriter(sink, schema, use_dictionary=labels, store_schema=not plain), schema


class _JsonLinesWriter:
    """Writes a JSON object on each line; cells that are missing, NaN among them, are null."""

    def __init__(self, sink: Any):
        self.sink = sink

    def write_table(self, table: Any) -> None:
        for batch in table.to_batches(ROWS_AT_ONCE):
            lines = [json.dumps(_plain(row), ensure_ascii=False, default=_as_text) for row in batch.to_pylist()]
            self.sink.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Leave the sink to whoever opened it."""


def _plain(value: Any) -> Any:
    """A value as JSON knows it: numbers that are none are null, also inside of lists and objects."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _plain(cell) for name, cell in value.items()}
    return [_plain(cell) for cell in value] if isinstance(value, list) else value


def _as_text(value: Any) -> Any:
    """What JSON has no type for: decimals as numbers, dates and times as ISO has them, all else as Python writes it."""
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
