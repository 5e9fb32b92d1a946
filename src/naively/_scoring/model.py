"""Evidence: what every column says about every class, per column first and summed second.

A `Scorer` is the estimates of a model, ready to read tables. `predict` sums as it goes, block by block of rows that fit
in cache; only `evidence` keeps the column axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from naively._common.blas import one_blas_thread
from naively._model.schema import Schema
from naively._table.table import SparseTable, Table
from naively.engines._threads import in_order
from naively.engines.base import Finish as Finish
from naively.errors import InputError
from naively.families import Estimate, Family
from naively.families._linear import LinearEstimate
from naively.smoothing import Smoothing
from naively.statistics._statistics import Statistics
from naively.statistics.base import Statistic
from naively.typing import AnyArray, FloatArray, IntArray

CLASS_BIAS = "class bias"
"""What the term is called that weighing adds to every row, whatever its cells hold."""

BLOCK_CELLS = 1 << 16
SMALL_CELLS = 1 << 12
"""Of no more cells than these it takes longer to begin to look for the least and the largest than to look at each."""

TASK_CELLS = 1 << 20


@dataclass(frozen=True)
class Factor:
    """The estimate of one family for some columns.

    Parameters
    ----------
    family : Family
    members : ndarray
        The positions of its columns in the schema.
    estimate : Estimate
    """

    family: Family
    members: IntArray
    estimate: Estimate

    @property
    def joins(self) -> bool:
        """Whether several columns give their evidence as one term."""
        return self.family.one_term and len(self.members) > 1


def make_factors(
    schema: Schema,
    families: Sequence[Family | None],
    smoothings: Sequence[Smoothing],
    statistics: Statistics,
) -> list[Factor]:
    """Estimate every group of columns that has the same family and the same smoothing."""
    factors = []
    for family, smoothing, members in grouped(families, smoothings):
        estimate = family.estimate(*statistics_of(schema, family, members, statistics), smoothing=smoothing)
        factors.append(Factor(family, np.array(members, dtype=np.int64), estimate))
    return factors


def grouped(
    families: Sequence[Family | None], smoothings: Sequence[Smoothing]
) -> list[tuple[Family, Smoothing, list[int]]]:
    """The columns, by position, that have the same family and the same smoothing."""
    groups: list[tuple[Family, Smoothing, list[int]]] = []
    place_of: dict[tuple[int, int], list[int]] = {}
    for position, (family, smoothing) in enumerate(zip(families, smoothings, strict=True)):
        if family is None:
            continue
        known = place_of.get((id(family), id(smoothing)))
        if known is None:
            known = next((members for other, rule, members in groups if other == family and rule == smoothing), None)
            if known is None:
                known = []
                groups.append((family, smoothing, known))
            place_of[id(family), id(smoothing)] = known
        known.append(position)
    return groups


def statistics_of(schema: Schema, family: Family, members: Sequence[int], statistics: Statistics) -> list[Statistic]:
    """What a family needs to know of its columns."""
    names = schema.names if len(members) == len(schema.names) else tuple(schema.names[place] for place in members)
    return [statistics.table(summary).for_columns(names) for summary in family.summaries]


@dataclass(frozen=True, eq=False)
class LeftOutRows:
    """Rows that were learnt, as seen by models that did not learn from them.

    Parameters
    ----------
    log_posterior : ndarray (rows, classes)
    codes, weights : ndarray (rows,)
        Their classes, and what they count.
    log_prior : ndarray (classes,)
        The prior under which they are seen.
    """

    log_posterior: FloatArray
    codes: IntArray
    weights: FloatArray
    log_prior: FloatArray


class Scorer:
    """The factors of a model, ready to read tables.

    Parameters
    ----------
    factors : sequence of Factor
    names : sequence of str
        The columns.
    n_classes : int
    bias : ndarray (classes,), optional
        What is added to the evidence of every row: a term of its own, the last.

    Attributes
    ----------
    names : sequence of str
        The terms of the evidence: the columns, behind them each factor that joins several, and the class bias.
    silent : set of str
        The columns that speak through such a factor only.
    """

    left_out: LeftOutRows | None = None
    """The rows that evidence was weighed on, in the recipes that do."""

    weighed: Any = None
    """What the evidence was weighed by, in the process that did."""

    is_additive: ClassVar[bool] = True
    """Whether the scores are the sum of what the factors say and of the class bias, and nothing else."""

    def __init__(self, factors: Sequence[Factor], names: Sequence[str], n_classes: int, bias: FloatArray | None = None):
        self.factors, self.n_classes = factors, n_classes
        self.n_columns = len(names)
        self.bias = bias
        joined = [factor for factor in factors if factor.joins]
        more = [*(factor.family.term for factor in joined), *([] if bias is None else [CLASS_BIAS])]
        self.names = [*names, *more] if more else names
        self.terms = self._terms()
        self.silent = {names[member] for factor in joined for member in factor.members.tolist()}

    def __getstate__(self) -> dict[str, Any]:
        # Answers need nothing of what was weighed; places in memory are others after it was read again.
        return {name: value for name, value in self.__dict__.items() if name not in ("weighed", "terms")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.terms = self._terms()

    def _terms(self) -> dict[int, int]:
        """Where the evidence of each factor that joins several columns stands, by its place in memory."""
        joined = [factor for factor in self.factors if factor.joins]
        return {id(factor): self.n_columns + place for place, factor in enumerate(joined)}

    def run(self, table: Table, positions: IntArray | None, finish: Finish, n_threads: int) -> None:
        """Sum the evidence of the rows, block by block, and hand each block of scores to `finish`."""
        if not self._multiplies:
            self._run(table, positions, finish, n_threads)
            return
        with one_blas_thread():  # many small products of matrices: threads would only wait for each other
            self._run(table, positions, finish, n_threads)

    @cached_property
    def _multiplies(self) -> bool:
        return any(factor.estimate.multiplies for factor in self.factors)

    def _run(self, table: Table, positions: IntArray | None, finish: Finish, n_threads: int) -> None:
        readers = [self._reader(factor, table, positions) for factor in self.factors]
        row_cells, block_rows = self._cut(table)
        blocks_per_task = max(1, TASK_CELLS // (block_rows * row_cells))

        def score(task: slice) -> None:
            for start in range(task.start, task.stop, block_rows):
                rows = slice(start, min(start + block_rows, task.stop))
                scores = np.zeros((rows.stop - rows.start, self.n_classes))
                if self.bias is not None:
                    scores += self.bias
                for add in readers:
                    add(scores, rows)
                finish(scores, rows)

        if table.n_rows <= block_rows:
            score(slice(0, table.n_rows))
            return
        step = block_rows * blocks_per_task
        tasks = [slice(start, min(start + step, table.n_rows)) for start in range(0, table.n_rows, step)]
        with self._blas_limits():
            for _ in in_order(score, tasks, n_threads):
                pass

    def _cut(self, table: Table) -> tuple[int, int]:
        """How many cells of a row are read, and how many rows make a block."""
        if isinstance(table, SparseTable) and all(factor.estimate.reads_sparse for factor in self.factors):
            row_cells = max(int(table.matrix.nnz // table.n_rows), self.n_classes, 1)
            # read once, where they are, and SciPy takes its time to cut them
            return row_cells, max(4 * BLOCK_CELLS // row_cells, self._least_rows)
        only_codes = self._reads_only_codes  # read in less time each
        return self._row_cells, max((2 if only_codes else 1) * BLOCK_CELLS // self._row_cells, self._least_rows)

    @cached_property
    def _row_cells(self) -> int:
        """How many cells of a row that is not sparse are read."""
        more = sum(factor.estimate.cells_per_row for factor in self.factors)
        return max(self.n_columns + more, self.n_classes, 1)

    @cached_property
    def _least_rows(self) -> int:
        return max([factor.estimate.least_rows for factor in self.factors] + [128])

    @cached_property
    def _reads_only_codes(self) -> bool:
        return all(factor.estimate.reads != "numbers" for factor in self.factors)

    def _blas_limits(self) -> Any:
        """For estimates that are matrix products: these are small, and threads would only wait for each other."""
        linear = any(factor.estimate.reads_sparse for factor in self.factors)
        return one_blas_thread() if linear else nullcontext()

    def evidence(self, table: Table, positions: IntArray | None) -> FloatArray:
        """The log-likelihood of every cell, (rows, terms, classes); 0 for missing cells and unread columns."""
        result = np.zeros((table.n_rows, len(self.names), self.n_classes))
        for factor in self.factors:
            terms = [self.terms[id(factor)]] if factor.joins else factor.members
            result[:, terms] = factor.estimate.evidence(self._read(factor, table, positions)(_all(table)))
        if self.bias is not None:
            result[:, -1] = self.bias
        return result

    def token_evidence(self, factor: Factor, place: int, cell: Any) -> tuple[list[str], FloatArray]:
        """The tokens of a text, or the parts of a date, in one of a factor's columns, and what each says."""
        estimate: Any = factor.estimate
        tokens: tuple[list[str], FloatArray] = estimate.token_evidence(place, cell)
        return tokens

    def _reader(self, factor: Factor, table: Table, positions: IntArray | None) -> Callable[[FloatArray, slice], None]:
        estimate: Any = factor.estimate
        if isinstance(table, SparseTable) and estimate.reads_sparse:
            chosen = self._chosen(factor, positions)
            return lambda scores, rows: estimate.add_sparse(scores, checked_cells(table, chosen, rows, estimate))
        read = self._read(factor, table, positions)
        return lambda scores, rows: estimate.add_to(scores, read(rows))

    def _read(self, factor: Factor, table: Table, positions: IntArray | None) -> Callable[[slice], AnyArray]:
        return block_reader(factor.estimate, table, self._chosen(factor, positions))

    def _chosen(self, factor: Factor, positions: IntArray | None) -> IntArray | None:
        return chosen_columns(factor.members, positions, self.n_columns)


def chosen_columns(members: IntArray, positions: IntArray | None, n_columns: int) -> IntArray | None:
    """The table's positions of some of the model's columns; None for all in order."""
    if positions is not None:
        return np.asarray(positions[members])
    return None if len(members) == n_columns else members


def block_reader(estimate: Any, table: Table, chosen: IntArray | None) -> Callable[[slice], AnyArray]:
    """A function from a slice of rows to the block of the chosen columns that the estimate reads."""
    if estimate.reads == "numbers":
        nonnegative, positive = estimate.nonnegative, estimate.positive
        return lambda rows: checked_numbers(table, chosen, rows, nonnegative, positive)
    if estimate.reads == "texts":
        return text_reader(table, range(table.n_columns) if chosen is None else chosen.tolist())
    if estimate.reads == "both":
        whole_reader: Callable[[slice], AnyArray] = estimate.reader(table, chosen)
        return whole_reader
    everything = np.arange(table.n_columns, dtype=np.int64)
    reader: Callable[[slice], AnyArray] = estimate.codebook.reader(table, everything if chosen is None else chosen)
    return reader


def text_reader(table: Table, positions: Sequence[int]) -> Callable[[slice], Any]:
    """A function from a slice of rows to the texts of each of the columns."""
    nothing: list[str | None] = [None] * table.n_rows
    columns = [
        nothing if position < 0 or table.kind(position) == "empty" else table.texts(position) for position in positions
    ]
    return lambda rows: [texts[rows] for texts in columns]


def _all(table: Table) -> slice:
    return slice(0, table.n_rows)


def checked_numbers(
    table: Table, chosen: IntArray | None, rows: slice, nonnegative: bool, positive: bool = False
) -> FloatArray:
    """A block of numbers without infinities and, if these are not allowed, without negative ones or zeros."""
    block = table.numbers(chosen, rows)
    if not _is_small_and_known(block) and _has_infinity(block):
        _refuse(table, chosen, rows, np.isinf(block), "Input X contains infinity", "Use NaN for what is not known")
    if nonnegative and (block < 0).any():
        _refuse(table, chosen, rows, block < 0, "Negative values in data, where counts belong", "Check the column")
    if positive and (block <= 0).any():
        _refuse(table, chosen, rows, block <= 0, "Numbers must be above 0 for the family", "Check the column")
    return block


def _is_small_and_known(block: FloatArray) -> bool:
    """Whether all cells of a small block are known and finite, at a glance; False where one has to look closer."""
    return block.size <= SMALL_CELLS and bool(np.count_nonzero(np.isfinite(block)) == block.size)


def _has_infinity(block: FloatArray) -> bool:
    return not -np.inf < block.min(initial=0.0) <= block.max(initial=0.0) < np.inf and bool(np.isinf(block).any())


def checked_cells(table: SparseTable, chosen: IntArray | None, rows: slice, estimate: LinearEstimate) -> Any:
    """Sparse rows, checked in the same way."""
    part = table.rows(chosen, rows)
    least, largest = part.data.min(initial=0.0), part.data.max(initial=0.0)
    unlike = estimate.nonnegative and not least >= 0.0  # NaN, too, makes us look closer
    if unlike or not -np.inf < least <= largest < np.inf:
        checked_numbers(table, chosen, rows, estimate.nonnegative)
    return part


def _refuse(table: Table, chosen: IntArray | None, rows: slice, bad: AnyArray, what: str, advice: str) -> None:
    row, place = np.argwhere(bad)[0]
    name = table.names[int(place) if chosen is None else int(chosen[place])]
    raise InputError(f"{what}: column {name!r}, row {rows.start + int(row)}. {advice}.")
