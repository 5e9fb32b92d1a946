"""Dask: partitions are counted and scored by the local kernels, on the workers, and the sums merged in a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from naively._model.schema import Schema
from naively.engines._arrow import needed_columns
from naively.engines._lazy_rows import LOGGER
from naively.engines._lazy_source import is_lazy
from naively.engines._partitions import FAN_IN, counter_for, packed, repacked, unpacked
from naively.engines.base import Piece, Plan, Source
from naively.errors import ParameterError
from naively.statistics._registry import STATISTICS
from naively.statistics._statistics import Statistics


class DaskSource(Source):
    """A data frame of Dask."""

    name: ClassVar[str] = "dask"
    sources: ClassVar[str] = "Dask data frames"
    counts_there: ClassVar[frozenset[str]] = frozenset(STATISTICS)
    keeps_rows_there: ClassVar[bool] = True

    @classmethod
    def reads(cls, X: Any) -> bool:
        return is_lazy(X, frozenset({"dask", "dask_expr"}))

    def count(self, plan: Plan) -> tuple[Schema, Statistics]:
        import dask
        import narwhals as nw

        counter, _ = counter_for(nw.from_native(self.given), plan)
        sums = [dask.delayed(_counted)(counter, part) for part in self.given.to_delayed()]
        LOGGER.info("dask: statistics of %d partitions", len(sums))
        while len(sums) > FAN_IN:
            sums = [dask.delayed(repacked)(sums[start : start + FAN_IN]) for start in range(0, len(sums), FAN_IN)]
        return counter.schema, unpacked(dask.compute(*sums))

    def pieces(self, y: Any, sample_weight: Any, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        frame = self.given[needed_columns(list(self.given.columns), y, sample_weight, columns)]
        return (Piece(part.compute(), y, sample_weight) for part in frame.to_delayed())

    def annotate(self, model: Any, to: Any, evidence: bool) -> Any:
        """A data frame of Dask."""
        if to is not None:
            raise ParameterError(
                "annotate(to) is for files and streams. A lazy frame stays lazy: write what annotate returns, by "
                "frame.to_parquet(path)."
            )
        meta = model.annotate(self.given._meta_nonempty, evidence=evidence).iloc[:0]
        return self.given.map_partitions(_annotated, model, evidence, meta, meta=meta)


def _counted(counter: Any, part: Any) -> bytes:
    return packed(counter, [part])


def _annotated(part: Any, model: Any, evidence: bool, meta: Any) -> Any:
    """A partition with the answers of a model beside it."""
    return model.annotate(part, evidence=evidence) if len(part) else meta
