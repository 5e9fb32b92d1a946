"""Rows that come once: Arrow streams, and iterators of data frames."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from naively._common.by_label import is_series
from naively.engines._arrow import BATCH_ROWS, Read, arrow, as_pieces, needed_columns, require_target, without_index
from naively.engines._pieces import annotated_pieces
from naively.engines._write import require_writable, write_tables
from naively.engines.base import Piece, Source
from naively.errors import InputTypeError


class ArrowSource(Source):
    """Anything that gives record batches: a reader, a dataset or a scanner of Arrow, the result of a query."""

    name: ClassVar[str] = "arrow stream"
    sources: ClassVar[str] = "Arrow streams: record batch readers, Arrow datasets, results of queries"

    @classmethod
    def reads(cls, X: Any) -> bool:
        if isinstance(X, (list, tuple, Mapping, str)):
            return False
        if hasattr(X, "__arrow_c_stream__"):
            return not _is_in_memory(X)
        datasets = sys.modules.get("pyarrow.dataset")
        return datasets is not None and isinstance(X, (datasets.Dataset, datasets.Scanner))

    def pieces(self, y: Any, sample_weight: Any, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        reader = self._reader()
        names = without_index(reader.schema).names
        if columns is None:  # whoever names the columns may do without classes
            require_target(y, names)
        wanted = needed_columns(names, y, sample_weight, columns)
        return as_pieces(_reads(reader, wanted), y, sample_weight)

    def annotate(self, model: Any, to: Any, evidence: bool) -> Any:
        """Tables with answers, one by one; or, with `to`, one file of them."""
        path = None if to is None else require_writable(to)
        reader = self._reader()
        reads = (Piece(batch, None, None, place) for batch, place, _ in _reads(reader, reader.schema.names))
        tables = annotated_pieces(model, reads, evidence)
        if path is None:
            return tables
        write_tables(tables, path, plain=False)
        return path

    def _reader(self) -> Any:
        """The stream as a record batch reader."""
        pyarrow, given = arrow(), self.given
        if isinstance(given, pyarrow.RecordBatchReader):
            return given
        if hasattr(given, "__arrow_c_stream__"):
            return pyarrow.RecordBatchReader.from_stream(given)
        scanner = given.scanner(batch_size=BATCH_ROWS) if hasattr(given, "scanner") else given
        return scanner.to_reader()


def _reads(reader: Any, wanted: list[str]) -> Iterator[Read]:
    n_rows = 0
    for batch in reader:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            part = batch.select(wanted).slice(start, BATCH_ROWS)
            yield Read(part, f"The stream, counting rows from row {n_rows}")
            n_rows += part.num_rows


def _is_in_memory(X: Any) -> bool:
    """Whether an object is a data frame or a column in memory, which also give Arrow streams."""
    pandas = sys.modules.get("pandas")
    if is_series(X) or (pandas is not None and isinstance(X, pandas.DataFrame)):
        return True
    import narwhals as nw

    try:
        known = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:  # a data frame, which the reader of tables refuses in its own words
        return True
    return known is not X or (type(X).__module__.startswith("pyarrow") and hasattr(X, "to_pylist"))


class IteratorSource(Source):
    """An iterator of tables, or of pairs (X, y) or triples (X, y, sample_weight)."""

    name: ClassVar[str] = "iterator"
    sources: ClassVar[str] = "iterators of data frames, or of pairs (X, y)"

    @classmethod
    def reads(cls, X: Any) -> bool:
        return hasattr(X, "__next__")

    def pieces(self, y: Any, sample_weight: Any, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        for number, item in enumerate(self.given):
            yield _piece(item, y, sample_weight, f"Piece {number} of the iterator")

    def annotate(self, model: Any, to: Any, evidence: bool) -> Any:
        """Frames with answers, one by one; or, with `to`, one file of them."""
        path = None if to is None else require_writable(to)
        frames = annotated_pieces(model, self.pieces(None, None), evidence)
        if path is None:
            return frames
        write_tables((arrow().table(frame) for frame in frames), path, plain=False)
        return path


def _piece(item: Any, y: Any, sample_weight: Any, place: str) -> Piece:
    """One item of an iterator: a table, or a tuple that has its classes, and perhaps its weights, in it."""
    if not isinstance(item, tuple):
        if y is not None and not isinstance(y, str):
            raise InputTypeError(
                "y must be the name of the column that holds the classes, where X is an iterator of tables; or let it "
                f"give pairs (X, y). Got {type(y).__name__}."
            )
        return Piece(item, y, sample_weight, place)
    if len(item) not in (2, 3):
        raise InputTypeError(f"{place} must be a table, (X, y) or (X, y, sample_weight), got {len(item)} elements.")
    if y is not None or (len(item) == 3 and sample_weight is not None):
        raise InputTypeError(f"{place} has its classes with it: give no y, or let the iterator give tables alone.")
    return Piece(item[0], item[1], item[2] if len(item) == 3 else sample_weight, place)
