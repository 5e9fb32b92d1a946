"""Leave-one-out in closed form: what a model says of a row that it has learnt, as if it had not.

A model is a sum, so taking a row away is a subtraction: the row's class loses its weight, and each column what the row
gave to it. An estimate is a pure function of the sum, so the same function of the smaller sum is the answer. No model
is fitted again: every family does it for a block of rows at once (`leave_one_out` in its file), in some multiple of the
time of a prediction.

`Categorical`, `Codes`, `Bernoulli`, `Multinomial`, `Complement`, `Poisson`, `Gaussian`, `StudentT` and `Joint` are
exact: the answer is that of `forget`. What the others choose from the shape of the column is not chosen again for each
row: the cuts of `Binned`, the bandwidths, grid and normal scores of `Kernel`, and in `Stacked` all of these, the prior
of Student's t and the shares of the mixture. `TAN` does not grow its tree again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._model.schema import Schema
from naively._scoring.decision import class_prior, log_prior
from naively._scoring.model import block_reader, chosen_columns, grouped, statistics_of
from naively._table.table import SparseTable, Table
from naively.engines._threads import in_order
from naively.errors import ForgetError
from naively.families import Family, LeftOut
from naively.smoothing import Smoothing, smoothed_frequencies
from naively.statistics._statistics import Statistics
from naively.statistics._sums import Sum
from naively.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    pass

BLOCK_CELLS = 1 << 17
"""How many cells, times classes, are read at once."""


@dataclass(frozen=True)
class LearntRows:
    """Rows that a model has learnt.

    Parameters
    ----------
    table : Table
    positions : ndarray or None
        Where the model's columns stand in the table (-1: absent); None if in the same order.
    codes : ndarray
        Each row's position among the model's classes.
    given_weights : ndarray or None
        What the rows weighed when they were learnt, if not one each.
    """

    table: Table
    positions: IntArray | None
    codes: IntArray
    given_weights: FloatArray | None = None

    @cached_property
    def weights(self) -> FloatArray:
        """What the rows weighed."""
        return np.ones(len(self.codes)) if self.given_weights is None else self.given_weights


def left_out_scores(
    schema: Schema,
    families: Sequence[Family | None],
    smoothings: Sequence[Smoothing],
    statistics: Statistics,
    rows: LearntRows,
    n_threads: int = 1,
) -> FloatArray:
    """The log-likelihood (rows, classes) of rows that a model has learnt, by the model without that row.

    Parameters
    ----------
    schema, families, smoothings, statistics
        The model.
    rows : LearntRows
    n_threads : int
    """
    groups = _left_out_groups(schema, families, smoothings, statistics, rows)
    readers = [_reader(left_out, rows, chosen) for left_out, _, chosen in groups]
    scores = np.zeros((rows.table.n_rows, len(statistics.classes)))

    def score(block: slice) -> None:
        for read in readers:
            scores[block] += read(block)

    for _ in in_order(score, _blocks(scores, len(schema.names)), n_threads):
        pass
    return scores


def left_out_evidence(
    schema: Schema,
    families: Sequence[Family | None],
    smoothings: Sequence[Smoothing],
    statistics: Statistics,
    rows: LearntRows,
    n_threads: int = 1,
) -> FloatArray:
    """The leave-one-out evidence (rows, columns, classes), which `left_out_scores` sums over the columns."""
    groups = _left_out_groups(schema, families, smoothings, statistics, rows)
    readers = [(left_out, members, block_reader(left_out, rows.table, chosen)) for left_out, members, chosen in groups]
    result = np.zeros((rows.table.n_rows, len(schema.names), len(statistics.classes)))

    def weigh(block: slice) -> None:
        for left_out, members, read in readers:
            result[block, members] = left_out.evidence(read(block), rows.codes[block], rows.weights[block])

    for _ in in_order(weigh, _blocks(result, len(schema.names)), n_threads):
        pass
    return result


def _left_out_groups(
    schema: Schema,
    families: Sequence[Family | None],
    smoothings: Sequence[Smoothing],
    statistics: Statistics,
    rows: LearntRows,
) -> list[tuple[LeftOut, IntArray, IntArray | None]]:
    """Leave-one-out of each group of columns, their positions in the schema and those in the table."""
    groups = []
    for family, smoothing, members in grouped(families, smoothings):
        left_out = family.leave_one_out(*statistics_of(schema, family, members, statistics), smoothing=smoothing)
        places = np.array(members, dtype=np.int64)
        groups.append((left_out, places, chosen_columns(places, rows.positions, len(schema.names))))
    return groups


def _blocks(result: FloatArray, n_columns: int) -> list[slice]:
    """The rows of a result (rows, ..., classes) in blocks that fit in cache."""
    step = max(16, BLOCK_CELLS // max(n_columns * result.shape[-1], 1))
    return [slice(start, min(start + step, len(result))) for start in range(0, len(result), step)]


def _reader(left_out: LeftOut, rows: LearntRows, chosen: IntArray | None) -> Callable[[slice], FloatArray]:
    """A function from a slice of rows to their log-likelihood (rows, classes) by one family."""
    table, sparse = rows.table, left_out.sparse
    if isinstance(table, SparseTable) and sparse is not None:
        return lambda block: sparse(table.rows(chosen, block), rows.codes[block], rows.weights[block])
    read = block_reader(left_out, table, chosen)
    return lambda block: left_out.evidence(read(block), rows.codes[block], rows.weights[block]).sum(axis=1)


def left_out_log_prior(statistics: Statistics, rows: LearntRows, prior: Any, smoothing: Smoothing) -> FloatArray:
    """The log-prior (rows, classes) without the row itself; a prior that is given stays as it is."""
    weight, codes = statistics.class_weight, rows.codes
    left = weight[codes].less(Sum(rows.weights), weight.high[codes]).high
    if (left < 0).any():
        label = statistics.classes.tolist()[int(codes[np.argmin(left)])]
        raise ForgetError(
            f"A row of class {label!r} weighs more than all that was learnt of the class. Give only rows that the "
            "model has learnt, with the same weights."
        )
    if not (prior is None or (isinstance(prior, str) and prior == "estimated")):
        given = class_prior(prior, smoothing, statistics.classes, weight.high)
        return np.broadcast_to(log_prior(given), (len(codes), len(statistics.classes)))
    counts = np.repeat(weight.high[None, :], len(codes), axis=0)
    counts[np.arange(len(codes)), codes] = left
    return log_prior(smoothed_frequencies(counts[None], smoothing, statistics.classes.tolist())[0])


def codes_among(known: AnyArray, classes: AnyArray, codes: IntArray) -> IntArray:
    """The rows' classes as positions among those that the model knows."""
    place = {label: position for position, label in enumerate(known.tolist())}
    unknown = [label for label in classes.tolist() if label not in place]
    if unknown:
        raise ForgetError(f"The class {unknown[0]!r} was never learnt, so no row of it can be left out.")
    return np.array([place[label] for label in classes.tolist()], dtype=np.int64)[codes]
