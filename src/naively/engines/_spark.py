"""Spark: partitions are counted and scored by the local kernels, in the Python workers of the executors.

Spark gives each partition's result once, whatever becomes of the tasks that computed it: a task that is retried or
speculated upon replaces its twin, and no row counts twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import Any, ClassVar

from naively._model.schema import Schema
from naively.engines._arrow import Read, as_pieces, needed_columns
from naively.engines._lazy_annotate import added_columns
from naively.engines._lazy_rows import LOGGER
from naively.engines._lazy_source import is_lazy
from naively.engines._partitions import (
    FAN_IN,
    MOST_SMALL,
    PartitionCounter,
    counter_for,
    gathered,
    packed,
    repacked,
    unpacked,
)
from naively.engines._spark_sums import group_by_sums
from naively.engines.base import Piece, Plan, Source
from naively.errors import ParameterError
from naively.statistics._registry import STATISTICS
from naively.statistics._statistics import Statistics

SUMS = "statistics binary"
ROWS = "rows binary"


class SparkSource(Source):
    """A data frame of PySpark."""

    name: ClassVar[str] = "spark"
    sources: ClassVar[str] = "PySpark data frames"
    counts_there: ClassVar[frozenset[str]] = frozenset(STATISTICS)
    keeps_rows_there: ClassVar[bool] = True

    @classmethod
    def reads(cls, X: Any) -> bool:
        return is_lazy(X, frozenset({"pyspark"}))

    @property
    def _safe(self) -> Any:
        """The frame under names that Spark does not take for syntax, as it does dots and backticks."""
        return self.given.toDF(*(f"c{place}" for place in range(len(self.given.columns))))

    def count(self, plan: Plan) -> tuple[Schema, Statistics]:
        import narwhals as nw

        counter, head = counter_for(nw.from_native(self.given), plan)
        if not plan.kept_rows and plan.sample_weight is None:
            sums = group_by_sums(self._safe, self.given.columns, plan.y, counter.schema, head.positions, head.table)
            if sums is not None:
                return counter.schema, sums
        return counter.schema, unpacked(self._sums(counter))

    def _sums(self, counter: PartitionCounter) -> Iterator[bytes]:
        """The sums of the partitions; large or many ones are merged in a tree of tasks, others where the job began."""
        n_sums = self.given.rdd.getNumPartitions()
        sums = self._safe.mapInArrow(_CountPartition(counter, self.given.columns), SUMS)
        LOGGER.info("pyspark: statistics of %d partitions", n_sums)
        while n_sums > (FAN_IN if counter.is_large else MOST_SMALL):
            n_sums = ceil(n_sums / FAN_IN)
            LOGGER.info("pyspark: merged to %d", n_sums)
            sums = sums.repartition(n_sums).mapInArrow(_add_sums, SUMS)
        return (bytes(row[0]) for row in sums.collect())

    def pieces(self, y: Any, sample_weight: Any, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        names = self.given.columns
        wanted = needed_columns(names, y, sample_weight, columns)
        chosen = self._safe.select(*(f"c{place}" for place, name in enumerate(names) if name in wanted))
        rows = chosen.mapInArrow(_Write(wanted), ROWS).toLocalIterator(prefetchPartitions=True)
        return as_pieces((Read(_read(row[0]), "") for row in rows), y, sample_weight)

    def annotate(self, model: Any, to: Any, evidence: bool) -> Any:
        """A data frame of PySpark; the model is sent to each executor once."""
        import pyarrow
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import StructField, StructType

        if to is not None:
            raise ParameterError(
                "annotate(to) is for files and streams. A lazy frame stays lazy: write what annotate returns, by "
                "frame.write.parquet(path)."
            )
        names = self.given.columns
        added = added_columns(model, evidence, names, pyarrow)
        fields = [StructField(name, from_arrow_type(dtype)) for name, dtype in added.items()]
        shared = self.given.sparkSession.sparkContext.broadcast(model)
        schema = StructType([*self.given.schema.fields, *fields])
        return self._safe.mapInArrow(_Annotate(shared, names, evidence), schema)


class _CountPartition:
    """From the record batches of a partition to one that holds its statistics."""

    def __init__(self, counter: PartitionCounter, names: Sequence[str]):
        self.counter, self.names = counter, names

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        yield _one_cell("statistics", packed(self.counter, gathered(batches, self.names)))


def _add_sums(batches: Iterable[Any]) -> Iterator[Any]:
    parts = (cell.as_py() for batch in batches for cell in batch.column(0))
    yield _one_cell("statistics", repacked(parts))


class _Annotate:
    """From the record batches of a partition to the same with the answers of a model beside them."""

    def __init__(self, shared: Any, names: Sequence[str], evidence: bool):
        self.shared, self.names, self.evidence = shared, names, evidence

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for table in gathered(batches, self.names):
            yield from self.shared.value.annotate(table, evidence=self.evidence).to_batches()


class _Write:
    """From rows to Arrow's own bytes, which the process where the job began fetches partition by partition."""

    def __init__(self, names: Sequence[str]):
        self.names = names

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow

        for table in gathered(batches, self.names):
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            yield _one_cell("rows", sink.getvalue().to_pybytes())


def _read(cell: Any) -> Any:
    import pyarrow

    return pyarrow.ipc.open_stream(bytes(cell)).read_all()


def _one_cell(name: str, cell: bytes) -> Any:
    import pyarrow

    return pyarrow.RecordBatch.from_pydict({name: [cell]})
