"""Lazy frames as sources of a model: Polars, DuckDB relations, Ibis tables."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from naively._model.schema import Schema
from naively._table.dates import clock_of_type
from naively._table.target import set_aside
from naively.engines._arrow import Read, as_pieces, needed_columns, require_target
from naively.engines._lazy import PUSHED, lazy_statistics
from naively.engines._lazy_annotate import AnnotatedStream, annotated_polars
from naively.engines._lazy_head import first_rows, head_table
from naively.engines._lazy_rows import LOGGER, asking, lazy_rows, plan_text
from naively.engines.base import Piece, Plan, Source
from naively.errors import ParameterError, SchemaError
from naively.statistics._statistics import Statistics

PIECE_ROWS = 1 << 17
"""So many rows come at a time where rows have to come."""

LIBRARIES = frozenset({"polars", "duckdb", "_duckdb", "ibis", "narwhals"})


def is_lazy(X: Any, libraries: frozenset[str]) -> bool:
    """Whether an object is a lazy frame of some libraries; none of them is imported to find out."""
    if not libraries.intersection(one.__module__.partition(".")[0] for one in type(X).__mro__):
        return False
    import narwhals as nw

    try:
        return isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)
    except nw.exceptions.DuplicateError:  # an eager frame with two columns of a name: whoever reads it says so
        return False


class LazySource(Source):
    """A lazy frame of Polars, DuckDB or Ibis: sums and counts are added up there, all else here, piece by piece."""

    name: ClassVar[str] = "lazy"
    sources: ClassVar[str] = "lazy frames: Polars LazyFrame, DuckDB relation, Ibis table (PostgreSQL, SQLite, ...)"
    counts_there: ClassVar[frozenset[str]] = PUSHED
    keeps_rows_there: ClassVar[bool] = False

    @classmethod
    def reads(cls, X: Any) -> bool:
        return is_lazy(X, LIBRARIES)

    @property
    def frame(self) -> Any:
        """The lazy frame of narwhals."""
        import narwhals as nw

        frame = nw.from_native(self.given, pass_through=True)
        if _folds_case(frame):
            _refuse_same_names(frame.collect_schema().names())
        return frame

    def count(self, plan: Plan) -> tuple[Schema, Statistics] | None:
        frame = self.frame
        names = frame.collect_schema().names()
        require_target(plan.y, names)
        needed_columns(names, plan.y, plan.sample_weight, None)
        table = head_table(frame, first_rows(frame))
        for name, where in ((plan.sample_weight, "sample_weight"), (plan.y, "y")):
            table = table if name is None else set_aside(table, name, where)[0]
        schema, positions = plan.schema_of(table)
        there = {summary.kind for summary in schema.by_summary} <= self.counts_there
        if plan.kept_rows or not there or not _same_kinds(schema, table, positions) or _has_clock(frame, table.names):
            return None
        rows = lazy_rows(frame, table.names, plan.y, plan.sample_weight)
        return schema, lazy_statistics(rows, schema, positions, table)

    def pieces(self, y: Any, sample_weight: Any, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        import narwhals as nw

        frame = self.frame
        names = frame.collect_schema().names()
        wanted = needed_columns(names, y, sample_weight, columns)
        if len(wanted) < len(names):
            frame = frame.select(*(nw.col(name) for name in wanted))
        if frame.implementation.is_polars():
            return (Piece(part, y, sample_weight) for part in batches(frame))
        return as_pieces((Read(batch, "") for batch in batches(frame)), y, sample_weight)

    def annotate(self, model: Any, to: Any, evidence: bool) -> Any:
        """A lazy frame of Polars, a relation of DuckDB, or of other databases a reader of record batches."""
        frame = self.frame
        native, engine = frame.to_native(), frame.implementation
        if to is not None:
            raise ParameterError(
                "annotate(to) is for files and streams. A lazy frame stays lazy: write what annotate returns, for "
                "example by sink_parquet of Polars or write_parquet of DuckDB."
            )
        if engine.is_polars():
            return annotated_polars(native, model, evidence)
        schema = arrow_schema(native, engine.is_duckdb())
        stream = AnnotatedStream(lambda: batches(frame), schema, model, evidence)
        if not engine.is_duckdb():
            return stream.reader()
        import duckdb

        # A connection answers one query at a time, and this one is read while its own rows are being asked for.
        return duckdb.connect().from_arrow(stream)


def _folds_case(frame: Any) -> bool:
    """Whether an engine takes names that differ in case alone for one: asked for the second column it gives the first.

    It is DuckDB that has such columns in its answers; other databases that fold case have none.
    """
    engine = frame.implementation
    return bool(engine.is_duckdb() or (engine.is_ibis() and frame.to_native().get_backend().name == "duckdb"))


def _refuse_same_names(names: Sequence[str]) -> None:
    first: dict[str, str] = {}
    for name in names:
        if (before := first.setdefault(name.lower(), name)) is not name:
            raise SchemaError(
                f"Columns {before!r} and {name!r} differ in case alone, and are one to DuckDB. Rename one of them."
            )


def _same_kinds(schema: Schema, table: Any, positions: Any) -> bool:
    """Whether no column is text now that was numbers when first seen: such a column is parsed here."""
    where = range(len(schema.names)) if positions is None else positions.tolist()
    return not any(
        kind == "number" and place >= 0 and table.kind(place) in ("label", "text")
        for kind, place in zip(schema.kinds, where, strict=True)
    )


def _has_clock(frame: Any, names: Sequence[str]) -> bool:
    """Whether a column holds dates, times or durations, which become numbers here."""
    schema = frame.collect_schema()
    return any(clock_of_type(schema[name]) is not None for name in names)


def batches(frame: Any) -> Iterator[Any]:
    """The rows of a lazy frame of narwhals: eager frames of Polars, or record batches."""
    native, engine = frame.to_native(), frame.implementation
    purpose = f"rows, {PIECE_ROWS:,} at a time"
    LOGGER.info("%s: %s", engine.value, purpose)
    if LOGGER.isEnabledFor(logging.DEBUG):
        LOGGER.debug("%s", plan_text(frame))
    with asking(engine.value, purpose):
        yield from polars_pieces(native) if engine.is_polars() else arrow_reader(native, engine.is_duckdb())


def polars_pieces(native: Any) -> Iterator[Any]:
    """The rows of a lazy frame of Polars as eager ones."""
    if hasattr(native, "collect_batches"):
        yield from native.collect_batches(chunk_size=PIECE_ROWS)
    else:  # Polars before 1.35
        yield from native.collect(engine="streaming").iter_slices(PIECE_ROWS)


def arrow_reader(native: Any, is_duckdb: bool) -> Any:
    """The batches of a DuckDB relation or an Ibis table."""
    if not is_duckdb:
        backend = native.get_backend()
        if backend.name != "duckdb":
            return native.to_pyarrow_batches(chunk_size=PIECE_ROWS)
        native = backend.con.sql(backend.compile(native))  # Ibis 12 calls what DuckDB 2.0 no longer has
    read = getattr(native, "to_arrow_reader", None) or native.fetch_record_batch
    return read(PIECE_ROWS)


def arrow_schema(native: Any, is_duckdb: bool) -> Any:
    """The Arrow schema of a DuckDB relation or an Ibis table."""
    if not is_duckdb:
        return native.schema().to_pyarrow()
    nothing = native.limit(0)
    return (getattr(nothing, "to_arrow_table", None) or nothing.arrow)().schema
