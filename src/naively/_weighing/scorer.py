"""The recipe "strong" as a scorer: additive evidence and experts, pooled by their logarithms and corrected.

What is pooled is counted on the kept rows: all rows while they fit, else the sample, so that it merges and forgets with
the rest of the statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from naively._common.blas import one_blas_thread
from naively._common.read_only import in_c_order
from naively._model.schema import Schema
from naively._scoring.model import Factor, Finish, LeftOutRows, checked_numbers, text_reader
from naively._table.labels import positions_in, recoded
from naively._table.table import Table
from naively._weighing.auto import Weighed
from naively._weighing.strong import StrongModel, fit_strong
from naively._weighing.terms import Column, Term
from naively.engines._threads import in_order
from naively.typing import AnyArray, FloatArray, IntArray, Label

BLOCK_ROWS = 2048


@dataclass(frozen=True, eq=False)
class PooledScorer:
    """A pool of experts that reads tables.

    Parameters
    ----------
    columns : tuple of str
        The columns of the table.
    factors : list of Factor
        The additive model as estimates.
    readable : tuple of int
        The columns that are read, by position.
    kinds : tuple of str
        What each of these is: "numeric", "categorical" or "text".
    labels : tuple
        The values of each categorical one, None for the others.
    terms : list of Term
        The additive model as terms of the columns that are read.
    log_prior : ndarray (classes,)
    model : StrongModel
    left_out : LeftOutRows
        Rows that were learnt, as seen without themselves.
    weighed : Weighed, optional
        What it was fitted on, in the process that did.
    """

    columns: tuple[str, ...]
    factors: list[Factor]
    readable: tuple[int, ...]
    kinds: tuple[str, ...]
    labels: tuple[tuple[Label, ...] | None, ...]
    terms: list[Term]
    log_prior: FloatArray
    model: StrongModel
    left_out: LeftOutRows
    weighed: Any = field(default=None, repr=False)

    silent = frozenset[str]()
    is_additive: ClassVar[bool] = False

    @classmethod
    def fitted(cls, weighed: Weighed, schema: Schema, n_threads: int) -> PooledScorer:
        """Fit the experts on the kept rows."""
        with one_blas_thread():  # many small products: threads would only wait for each other
            model = fit_strong(
                weighed.kept,
                [schema.names[place] for place in weighed.readable],
                [len(labels or ()) for labels in weighed.labels],
                weighed.rows,
                weighed.weights,
                weighed.model,
                n_threads,
            )
        scorer = cls(
            columns=schema.names,
            factors=weighed.factors,
            readable=tuple(weighed.readable),
            kinds=tuple(kind for kind, _ in weighed.kept),
            labels=tuple(weighed.labels),
            terms=weighed.model.terms,
            log_prior=weighed.model.log_prior,
            model=model,
            left_out=replace(weighed.left_out, log_posterior=model.left_out),
        )
        in_c_order(scorer)
        object.__setattr__(scorer, "weighed", weighed)
        return scorer

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "weighed": None}  # answers need nothing of what was fitted on

    @property
    def n_columns(self) -> int:
        """The number of columns of the table."""
        return len(self.columns)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.log_prior)

    @cached_property
    def names(self) -> list[str]:
        """The terms of the evidence."""
        return [*self.columns, *self._extra_names()]

    @cached_property
    def _estimates(self) -> dict[int, Any]:
        return {member: one.estimate for one in self.factors for member in one.members.tolist()}

    def run(self, table: Table, positions: IntArray | None, finish: Finish, n_threads: int) -> None:
        """Score the rows, block by block, and hand each block of scores to `finish`."""
        read = self._reader(table, positions)

        def score(rows: slice) -> None:
            finish(self._scores(read(rows)), rows)

        blocks = [slice(start, min(start + BLOCK_ROWS, table.n_rows)) for start in range(0, table.n_rows, BLOCK_ROWS)]
        with one_blas_thread() if table.n_rows > 1 else nullcontext():  # many small products, as above
            for _ in in_order(score, blocks, n_threads):
                pass

    def _scores(self, columns: Sequence[Column]) -> FloatArray:
        """Pooled log-probabilities less the log-prior, which the decision adds again, or another."""
        return self.model.log_proba(columns) - self.log_prior

    def evidence(self, table: Table, positions: IntArray | None) -> FloatArray:
        """What columns, experts and the pool add, (rows, terms, classes); it sums exactly."""
        columns = self._reader(table, positions)(slice(0, table.n_rows))
        terms = np.zeros((table.n_rows, len(self.names), self.n_classes))
        weights = self.model.pool.expert_weights
        for term in self.terms:
            for column, evidence in term.by_column(columns):
                terms[:, self.readable[column]] += weights[0] * evidence.T
        extras = [
            weight * (expert.log_proba(columns) - self.log_prior)
            for weight, expert in zip(weights[1:], self.model.experts[1:], strict=True)
        ]
        for place, extra in enumerate(extras, start=self.n_columns):
            terms[:, place] = extra
        terms -= terms.mean(axis=2, keepdims=True)
        terms[:, -1] = self._scores(columns) - terms.sum(axis=1)
        return terms

    def token_evidence(self, factor: Factor, place: int, cell: Any) -> tuple[list[str], FloatArray]:
        """The tokens of a text, or the parts of a date, in one of a factor's columns, and what each says."""
        estimate: Any = factor.estimate
        names, said = estimate.token_evidence(place, cell)
        return names, said * self.model.pool.expert_weights[0]

    def _extra_names(self) -> list[str]:
        """What the terms after the columns are called."""
        experts = [f"expert: {expert.name}" for expert in self.model.experts[1:]]
        return [*experts, "pool and floor"]

    def _reader(self, table: Table, positions: IntArray | None) -> Callable[[slice], list[Column]]:
        """A function from some rows to the table's cells as the experts read them."""
        at = np.array(self.readable) if positions is None else positions[list(self.readable)]
        whole: dict[int, Column] = {}
        for place, (kind, labels) in enumerate(zip(self.kinds, self.labels, strict=True)):
            if kind == "text":
                texts = text_reader(table, [int(at[place])])(slice(0, table.n_rows))[0]
                whole[place] = "text", np.array([*texts, None], dtype=object)[:-1]
            elif labels is not None:
                whole[place] = "categorical", _codes(table, int(at[place]), labels)

        def read(rows: slice) -> list[Column]:
            cells = {place: (kind, values[rows]) for place, (kind, values) in whole.items()}
            for (nonnegative, positive), places in self._numbers.items():
                block = checked_numbers(table, at[places], rows, nonnegative, positive)
                by_column = np.ascontiguousarray(block.T, dtype=np.float64)
                cells.update((place, ("numeric", column)) for place, column in zip(places, by_column, strict=True))
            return [cells[place] for place in range(len(self.readable))]

        return read

    @cached_property
    def _numbers(self) -> dict[tuple[bool, bool], list[int]]:
        """The columns of numbers among those that are read, by their limits: not below 0, and above 0."""
        found: dict[tuple[bool, bool], list[int]] = {}
        for place, kind in enumerate(self.kinds):
            if kind == "numeric":
                estimate = self._estimates.get(self.readable[place])
                limits = (False, False) if estimate is None else (estimate.nonnegative, estimate.positive)
                found.setdefault(limits, []).append(place)
        return found


def _codes(table: Table, position: int, known: Sequence[Label]) -> AnyArray:
    """Codes among the known labels; one past the end for an unknown one, -1 for a missing cell."""
    if position < 0 or table.kind(position) == "empty":
        return np.full(table.n_rows, -1)
    codes, labels = table.labels(position)
    places = positions_in(known, labels)
    return recoded(codes, np.where(places < 0, len(known), places))
