"""Rows in files, read piece by piece."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from naively.engines._arrow import BATCH_ROWS, Read, arrow, as_pieces, needed_columns, require_target
from naively.engines.base import Piece, Source
from naively.errors import InputError

SUFFIXES = (".parquet",)


class FilesSource(Source):
    """Files by path, pattern, folder, or a list of these."""

    name: ClassVar[str] = "files"
    sources: ClassVar[str] = "files: Parquet"

    @classmethod
    def reads(cls, X: Any) -> bool:
        if isinstance(X, (list, tuple)):
            return len(X) > 0 and all(isinstance(path, (str, os.PathLike)) and _is_path(path) for path in X)
        return isinstance(X, (str, os.PathLike))

    def pieces(self, y: Any, sample_weight: Any, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        paths = found(self.given)
        return as_pieces(_reads(paths, y, sample_weight, columns), y, sample_weight)


def _is_path(path: Any) -> bool:
    return isinstance(path, os.PathLike) or path.lower().endswith(SUFFIXES)


def found(given: Any) -> list[Path]:
    """The files that paths and patterns name, in order."""
    files: list[Path] = []
    for path in [given] if isinstance(given, (str, os.PathLike)) else given:
        matched = sorted(glob.glob(os.fspath(path), recursive=True))  # noqa: PTH207 (a whole path may be a pattern)
        if not matched:
            raise InputError(f"There is no file {os.fspath(path)!r}.")
        files += map(Path, matched)
    return files


def _reads(paths: list[Path], y: Any, sample_weight: Any, columns: Sequence[str] | None) -> Iterator[Read]:
    from pyarrow import parquet

    types = arrow().types
    for path in paths:
        schema = parquet.read_schema(path)
        require_target(y, schema.names)
        wanted = needed_columns(schema.names, y, sample_weight, columns)
        texts = [field.name for field in schema if types.is_string(field.type)]
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(BATCH_ROWS, row_groups=[group], columns=wanted):
                    yield Read(batch, f"{path}, row group {group}")
