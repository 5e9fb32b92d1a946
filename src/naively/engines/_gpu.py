"""Counting and scoring on a GPU, where the rows are."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from naively._model.schema import Schema
from naively._table.device import DeviceSparseTable, DeviceTable, on_host
from naively._table.table import Table
from naively.engines._local import COUNTERS, LocalEngine
from naively.engines._rows import Rows
from naively.engines.base import Engine, Finish, RowScorer, Target
from naively.errors import GapError
from naively.statistics._statistics import Statistics
from naively.statistics.base import Statistic, Summary
from naively.typing import IntArray


class GpuEngine(Engine):
    """Rows on a GPU: sums, counts, histograms and the choice of kept rows are made there, and so are answers.

    Factors of several columns are counted, and the recipe "strong" is scored, on the host: the rows are copied there
    block by block.
    """

    name: ClassVar[str] = "gpu"
    sources: ClassVar[str] = "arrays on a GPU: CuPy, PyTorch, cuDF, whatever has the CUDA array interface"
    kinds: ClassVar[frozenset[str]] = LocalEngine.kinds
    keeps_rows: ClassVar[bool] = True

    def __init__(self) -> None:
        self._scorers: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def reads(self, source: Any) -> bool:
        return isinstance(source, (DeviceTable, DeviceSparseTable))

    def count(
        self,
        source: Any,
        schema: Schema,
        positions: IntArray | None,
        target: Target,
        n_threads: int,
        kept_rows: int = 0,
    ) -> Statistics:
        import cupy

        from naively.engines._gpu_kept_rows import keep_rows
        from naively.engines._gpu_rows import DeviceRows

        with cupy.cuda.Device(source.device):
            codes, weights = cupy.asarray(target.codes), target.weights
            if weights is not None:
                weights = cupy.asarray(weights)
                codes = cupy.where(weights > 0, codes, -1)
            codes = codes.astype(cupy.int32, copy=False)
            rows = DeviceRows(source, codes, weights, len(target.classes), exact=kept_rows > 0)
            sample = None
            if kept_rows and isinstance(source, DeviceTable):
                sample = keep_rows(rows, schema, positions, kept_rows)
            elif kept_rows:
                from naively.engines._kept_rows import sample_rows

                sample = partial(sample_rows, _host_rows(rows, n_threads), schema, positions, kept_rows)
            tables = {
                summary: _counted(rows, schema, positions, summary, members, n_threads)
                for summary, members in schema.by_summary.items()
            }
            kept = None if sample is None else sample()
            return Statistics(target.classes, rows.class_weight, tables, kept).without_empty_classes()

    def score(self, source: Any, positions: IntArray | None, scorer: RowScorer, finish: Finish, n_threads: int) -> None:
        scorer.run(source, positions, finish, n_threads)

    def scores(
        self, source: Any, positions: IntArray | None, scorer: Any, decider: Any, step: str, n_threads: int
    ) -> Any:
        import cupy

        from naively.engines._gpu_scoring import MOST_CLASSES, is_short_float

        with cupy.cuda.Device(source.device):
            device = self._on_device(scorer, source, whole=step == "add_prior")
            if device is None:
                found = cupy.asarray(super().scores(source, positions, scorer, decider, step, n_threads))
            elif step == "probabilities" and decider.log_prior.ndim == 1 and scorer.n_classes <= MOST_CLASSES:
                found, n_none = device.scores(source, positions, decider.log_prior, finish=True)
                decider.n_impossible += n_none
            else:
                found = _finished(self._raw(device, source, positions, decider), step)
            short = isinstance(source, DeviceTable) and is_short_float(source)
            return source.answer(found.astype(cupy.float32, copy=False) if short else found)

    def choose(self, source: Any, positions: IntArray | None, scorer: Any, decider: Any, n_threads: int) -> Any:
        import cupy

        with cupy.cuda.Device(source.device):
            device = self._on_device(scorer, source)
            if device is None:
                return super().choose(source, positions, scorer, decider, n_threads)
            scores = self._raw(device, source, positions, decider)
            if decider.loss is None and decider.reject is None:
                return scores.argmax(axis=1)
            chosen: Any = decider.least_risk(_finished(scores, "probabilities").get())
            return chosen

    def evidence(self, source: Any, positions: IntArray | None, scorer: Any) -> Any:
        import cupy

        with cupy.cuda.Device(source.device):
            device = self._on_device(scorer, source, whole=True)
            if device is None:
                return source.answer(cupy.asarray(scorer.evidence(source, positions)))
            return source.answer(device.evidence(source, positions, len(scorer.names)))

    @staticmethod
    def _raw(device: Any, source: Any, positions: IntArray | None, decider: Any) -> Any:
        """Scores with the prior."""
        import cupy

        from naively.engines._gpu_scoring import decided

        prior = decider.log_prior
        flat = prior if prior.ndim == 1 else np.zeros(prior.shape[1])
        scores, _ = device.scores(source, positions, flat, finish=False)
        if prior.ndim == 2:
            prior = cupy.asarray(prior)
            scores += prior
        scores, n_none = decided(scores, prior)
        decider.n_impossible += n_none
        return scores

    def _on_device(self, scorer: Any, source: Any, whole: bool = False) -> Any:
        """The tables of a model on the GPU of the rows; None where they are to be scored on the host.

        Where the `whole` evidence is wanted, what all classes share must not be left out of the tables.
        """
        from naively.engines._gpu_scoring import DeviceScorer, device_model

        if not isinstance(source, DeviceTable) or not scorer.is_additive:
            return None
        known = self._scorers.setdefault(scorer, {})
        if source.device not in known:
            try:
                model = device_model(scorer.factors, scorer.n_columns, scorer.n_classes)
            except GapError:  # no tables of these estimates: the host computes what they say
                known[source.device] = None
            else:
                known[source.device] = DeviceScorer(model, scorer.bias, source.device)
        found = known[source.device]
        return None if found is None or (whole and not found.model.is_whole) else found


def _counted(
    rows: Any, schema: Schema, positions: IntArray | None, summary: Summary, members: IntArray, n_threads: int
) -> Statistic:
    """The statistics of some columns; on the host where the GPU has no kernel for them, or must say what is wrong."""
    from naively.engines._gpu_counts import count_categories
    from naively.engines._gpu_histogram import count_histograms
    from naively.engines._gpu_moments import sum_powers
    from naively.engines._joint import Members, sum_jointly

    names = tuple(schema.names[place] for place in members.tolist())
    chosen = members if positions is None else positions[members]
    found: Statistic | None = None
    if summary.kind == "moments":
        found = sum_powers(rows, names, chosen, summary)
    elif isinstance(rows.table, DeviceTable) and summary.kind == "counts":
        found = count_categories(rows, names, chosen, summary)
    elif isinstance(rows.table, DeviceTable) and summary.kind == "histogram":
        found = count_histograms(rows, names, chosen, summary)
    if found is not None:
        return found
    host = _host_rows(rows, n_threads)
    if summary.kind == "joint":
        return sum_jointly(Members(host, schema.names, positions), summary)
    return COUNTERS[summary.kind](host, names, chosen, summary)


def _host_rows(rows: Any, n_threads: int) -> Rows:
    """The rows for the counters of the local engine, which read the table block by block."""
    table: Table = rows.table
    weights = None if rows.weights is None else on_host(rows.weights)
    return Rows(table, on_host(rows.codes).astype(np.int64), weights, rows.class_weight, n_threads)


def _finished(scores: Any, step: str) -> Any:
    """Scores as probabilities, log-probabilities, or as they are."""
    import cupy

    if step == "add_prior":
        return scores
    scores -= scores.max(axis=1, keepdims=True)
    if step == "normalise":
        scores -= cupy.log(cupy.exp(scores).sum(axis=1, keepdims=True))
        return scores
    cupy.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores
