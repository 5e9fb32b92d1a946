"""Answers as files: CSV, JSON lines, Parquet, or standard output."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from naively._table.table import Table
from naively.cli._reading import JSON_LINES, PARQUET
from naively.errors import InputError

Write = Callable[[Mapping[str, list[Any]]], None]
"""Writes some rows, given as columns."""


def rows_of(table: Table) -> dict[str, list[Any]]:
    """The columns of a table as they can be written; missing cells are None."""
    return {name: _cells(table, position) for position, name in enumerate(table.names)}


def _cells(table: Table, position: int) -> list[Any]:
    kind = table.kind(position)
    if kind == "empty":
        return [None] * table.n_rows
    if kind in ("number", "truth"):
        numbers = np.asarray(table.column(position))
        if numbers.dtype.kind in "biu":
            return list(numbers.tolist())
        return [_number(number) for number in numbers.astype(np.float64).tolist()]
    codes, labels = table.labels(position)
    return list(np.array([*labels, None], dtype=object)[codes].tolist())


def _number(value: float) -> float | int | None:
    if value != value:
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


@contextmanager
def writer(path: str, as_json: bool) -> Iterator[Write]:
    """Something that writes rows to a file, whose kind its name tells."""
    suffix = Path(path).suffix.lower()
    if path != "-" and not Path(path).parent.is_dir():
        raise InputError(f"--output {path}: there is no folder {Path(path).parent}.")
    if suffix in PARQUET:
        with _parquet(path) as write:
            yield write
        return
    to_stdout = nullcontext(sys.stdout)
    with to_stdout if path == "-" else Path(path).open("w", encoding="utf-8", newline="") as stream:
        yield _json_lines(stream) if as_json or suffix in JSON_LINES else _csv(stream)


def _json_lines(stream: Any) -> Write:
    def write(columns: Mapping[str, list[Any]]) -> None:
        for row in zip(*columns.values(), strict=True):
            stream.write(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n")

    return write


def _csv(stream: Any) -> Write:
    rows = csv.writer(stream, lineterminator="\n")
    begun = False

    def write(columns: Mapping[str, list[Any]]) -> None:
        nonlocal begun
        if not begun:
            rows.writerow(columns)
            begun = True
        rows.writerows(zip(*columns.values(), strict=True))

    return write


@contextmanager
def _parquet(path: str) -> Iterator[Write]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"{path}: writing Parquet needs PyArrow: pip install 'naively[files]'.") from None
    file: Any = None

    def write(columns: Mapping[str, list[Any]]) -> None:
        nonlocal file
        batch = pyarrow.table(dict(columns))
        if file is None:
            file = pyarrow.parquet.ParquetWriter(path, batch.schema)
        file.write_table(batch.cast(file.schema))

    try:
        yield write
    finally:
        if file is not None:
            file.close()
