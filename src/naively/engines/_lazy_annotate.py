"""Lazy frames with the answers of a model beside their rows: they stay lazy, and rows are scored when they are read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from naively.errors import ParameterError, listed


def added_columns(model: Any, evidence: bool, names: Sequence[str], library: Any) -> dict[str, Any]:
    """What `annotate` adds to a frame: names of columns and their types, found with a row of which nothing is known.

    Parameters
    ----------
    model : NaiveBayes
    evidence : bool
        Whether it adds evidence, too.
    names : sequence of str
        The columns that the frame has, which must have other names.
    library : module
        polars or pyarrow, whose types they are.
    """
    known = model.schema_.names
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = model.annotate(_unknown_row(known, library), evidence=evidence)
    fields = list(zip(row.columns, row.dtypes, strict=True)) if library.__name__ == "polars" else _fields(row)
    added = dict(fields[len(known) :])
    there = [name for name in added if name in names]
    if there:
        raise ParameterError(
            f"annotate adds columns that are called {listed(there)}, and there are such columns already. Rename or "
            "drop them first."
        )
    return added


def _unknown_row(names: Sequence[str], library: Any) -> Any:
    if library.__name__ == "polars":
        return library.DataFrame({name: [None] for name in names})
    return library.table({name: library.nulls(1) for name in names})


def _fields(table: Any) -> list[tuple[str, Any]]:
    return [(field.name, field.type) for field in table.schema]


def annotated_polars(lazy: Any, model: Any, evidence: bool) -> Any:
    """A lazy frame of Polars with answers."""
    import polars

    schema = lazy.collect_schema()
    added = added_columns(model, evidence, schema.names(), polars)

    def answers(frame: Any) -> Any:
        if frame.height:
            return model.annotate(frame, evidence=evidence)
        return frame.with_columns(*(polars.lit(None, dtype=dtype).alias(name) for name, dtype in added.items()))

    return lazy.map_batches(answers, schema={**schema, **added}, streamable=True)


class AnnotatedStream:
    """Record batches with answers, through the Arrow C stream interface; each reader begins with the first row.

    Parameters
    ----------
    open_reader : callable
        Gives a reader of the rows.
    schema : pyarrow.Schema
        Of the rows.
    model : NaiveBayes
    evidence : bool
    """

    def __init__(self, open_reader: Any, schema: Any, model: Any, evidence: bool):
        import pyarrow

        self._open, self._model, self._evidence = open_reader, model, evidence
        added = added_columns(model, evidence, schema.names, pyarrow)
        self.schema = pyarrow.schema([*schema, *(pyarrow.field(name, dtype) for name, dtype in added.items())])

    def reader(self) -> Any:
        """The rows with answers, from the first on."""
        import pyarrow

        return pyarrow.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[Any]:
        import pyarrow

        for batch in self._open():
            if batch.num_rows:
                table = self._model.annotate(pyarrow.Table.from_batches([batch]), evidence=self._evidence)
                yield from table.cast(self.schema).to_batches()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.reader().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()
