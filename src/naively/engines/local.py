"""Counting in this process: row blocks over a few threads, one partial sum per chunk of rows, merged by ``+``.

The rows are cut into chunks of a fixed size and the partial sums are added in the order of the rows: the result is the
same to the last bit for any number of threads.
"""

from __future__ import annotations

import numpy as np

from naively.engines.counts import count_categories
from naively.engines.histogram import count_histograms
from naively.engines.joint import Members, sum_jointly
from naively.engines.kept_rows import sample_rows
from naively.engines.moments import sum_powers
from naively.engines.rows import Rows
from naively.engines.tokens import count_tokens
from naively.schema import Schema
from naively.statistics.base import Summary
from naively.statistics.statistics import ColumnStatistics, Statistics
from naively.statistics.sums import Sum, sum_by_code
from naively.table.table import Table
from naively.typing import AnyArray, FloatArray, IntArray


def count(
    table: Table,
    schema: Schema,
    positions: IntArray | None,
    classes: AnyArray,
    codes: IntArray,
    weights: FloatArray | None,
    n_threads: int,
    kept_rows: int = 0,
) -> Statistics:
    """The statistics of a table.

    Parameters
    ----------
    table : Table
    schema : Schema
        What to add up for which column.
    positions : ndarray or None
        Where the schema's columns stand in the table (-1: absent); None if in the same order.
    classes, codes : ndarray
        The class labels, and each row's position among them.
    weights : ndarray or None
        The rows' weights; rows of weight 0 count as absent.
    n_threads : int
    kept_rows : int
        How many rows to keep as a sample.
    """
    if weights is None:
        class_weight = Sum(np.bincount(codes, minlength=len(classes)).astype(np.float64))
    else:
        codes = np.where(weights > 0, codes, -1)
        class_weight = sum_by_code(codes, weights, len(classes))
    rows = Rows(table, codes, weights, class_weight, n_threads)
    tables: dict[Summary, ColumnStatistics] = {}
    jointly = Members(rows, schema.names, positions)
    for summary, members in schema.by_summary.items():
        everything = len(members) == len(schema.names)
        names = schema.names if everything else tuple(schema.names[place] for place in members.tolist())
        chosen = members if positions is None else positions[members]
        if summary.kind == "counts":
            tables[summary] = count_categories(rows, names, chosen)
        elif summary.kind == "histogram":
            tables[summary] = count_histograms(rows, names, chosen, summary.most_cells)
        elif summary.view is not None:
            tables[summary] = count_tokens(rows, names, chosen, summary.view)
        elif summary.kind == "joint":
            tables[summary] = sum_jointly(jointly, summary)
        else:
            tables[summary] = sum_powers(rows, names, rows.all_or(chosen), summary)
    sample = sample_rows(rows, schema, positions, kept_rows) if kept_rows else None
    return Statistics(classes, class_weight, tables, sample).without_empty_classes()
