"""Counting texts: from the tokens of each to the statistics of a column.

The texts are cut into blocks of a fixed size, and the partial sums are added in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from naively._text.tally import tally_texts
from naively._text.tokenise import View
from naively.engines._rows import Rows
from naively.engines._threads import in_order
from naively.statistics._sums import Sum, sum_by_code
from naively.statistics._tokens import Tokens, TokenTable, masses
from naively.statistics._vocabulary import Vocabulary
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray

BLOCK_CHARACTERS = 1 << 23
"""Texts of about so many characters are read at a time where runs of words are counted: their many distinct tokens make
it dear to add blocks up. Else a quarter of it, to save memory."""


def count_tokens(rows: Rows, names: tuple[str, ...], positions: IntArray, summary: Summary) -> Tokens:
    """The token table of each text column."""
    assert summary.view is not None
    tables = [_column(rows, position, summary.view) for position in positions.tolist()]
    return Tokens(names, rows.n_classes, tuple(tables))


def _column(rows: Rows, position: int, view: View) -> TokenTable:
    table = TokenTable.empty(rows.n_classes)
    if position < 0:
        return table
    texts = rows.table.texts(position)

    def count(block: slice) -> TokenTable:
        weights = None if rows.weights is None else rows.weights[block]
        return token_table(texts[block], rows.codes[block], weights, rows.n_classes, view)

    for part in in_order(count, blocks_of(texts, view), rows.n_threads):
        table = table + part
        if view.most_tokens is not None:
            table = table.pruned(view.most_tokens)
    return table


def blocks_of(texts: Sequence[str | None], view: View) -> Iterator[slice]:
    """The texts in pieces of about equal size, at most `BLOCK_CHARACTERS` each unless one text is longer."""
    ends = np.cumsum([1 if text is None else len(text) + 1 for text in texts])
    most = BLOCK_CHARACTERS if view.unit == "words" and view.longest > 1 else max(BLOCK_CHARACTERS // 4, 1)
    n_blocks = -(-int(ends[-1]) // most) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(1, n_blocks) * (ends[-1] / max(n_blocks, 1)))
    edges = np.unique(np.concatenate([[0], cuts, [len(texts)]])).tolist()
    yield from (slice(start, stop) for start, stop in pairwise(edges))


def token_table(
    texts: Sequence[str | None], codes: IntArray, weights: FloatArray | None, n_classes: int, view: View
) -> TokenTable:
    """The statistics of some texts; those with a negative code are left out."""
    counted = tally_texts([text if code >= 0 else None for text, code in zip(texts, codes.tolist(), strict=True)], view)
    known = np.array([text is not None for text in texts], dtype=bool) & (codes >= 0)
    row = counted.rows
    cell = counted.tokens.astype(np.int64) * n_classes + codes[row]
    cells, place = _distinct(cell, len(counted.hashes) * n_classes)
    if weights is None:
        mass = Sum(masses(place, counted.tallies, len(cells)))
        documents = Sum(np.bincount(place, minlength=len(cells)).astype(np.float64))
        observed = Sum(np.bincount(codes[known], minlength=n_classes).astype(np.float64))
    else:
        mass = sum_by_code(place, counted.tallies * weights[row], len(cells))
        documents = sum_by_code(place, weights[row], len(cells))
        observed = sum_by_code(np.where(known, codes, -1), weights, n_classes)
    letters, lengths = counted.spell()
    order = np.argsort(counted.hashes)
    starts = np.cumsum(lengths) - lengths
    vocabulary = Vocabulary(counted.hashes[order], starts[order], lengths[order], letters)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    cells = rank[cells // n_classes] * n_classes + cells % n_classes if len(cells) else cells
    by_hash = np.argsort(cells)
    none = Sum.zeros(n_classes)
    return TokenTable(vocabulary, n_classes, cells[by_hash], mass[by_hash], documents[by_hash], observed, none)


def _distinct(cell: IntArray, n_cells: int) -> tuple[IntArray, IntArray]:
    """The distinct cells, sorted, and the place of each entry's cell among them."""
    if n_cells > 16 * len(cell) + 1024:
        return np.unique(cell, return_inverse=True)
    used = np.zeros(n_cells, dtype=bool)
    used[cell] = True
    place = np.cumsum(used) - 1
    return np.flatnonzero(used), place[cell]
