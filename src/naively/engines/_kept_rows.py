"""Keeping a sample of the rows: hash all of them, and read the cells of the few that stay."""

from __future__ import annotations

import numpy as np

from naively._model.schema import Schema
from naively.engines._rows import CHUNK_ROWS, Rows
from naively.engines._threads import in_order
from naively.statistics._kept_rows import (
    KeptRows,
    add_label_hashes,
    add_number_hashes,
    add_text_hashes,
    label_hashes,
    mixed,
    places_of_class,
    text_hash,
)
from naively.typing import AnyArray, IntArray


def sample_rows(
    rows: Rows, schema: Schema, positions: IntArray | None, capacity: int, hashes: AnyArray | None = None
) -> KeptRows:
    """The kept rows of a table.

    Parameters
    ----------
    rows : Rows
    schema : Schema
    positions : ndarray or None
        Where the schema's columns stand in the table (-1: absent); None if in the same order.
    capacity : int
        How many rows are kept.
    hashes : ndarray of uint64, optional
        The hashes of rows all of whose columns are numbers, where they are known.
    """
    there = np.arange(len(schema.names)) if positions is None else positions
    numeric = [place for place in range(len(there)) if there[place] >= 0 and schema.is_numeric(place)]
    prose = [place for place in range(len(there)) if there[place] >= 0 and schema.is_text(place)]
    labelled = [
        place
        for place in range(len(there))
        if there[place] >= 0
        and schema.summaries[place]  # nothing is kept of a column that is ignored
        and not schema.is_numeric(place)
        and not schema.is_text(place)
    ]
    with np.errstate(over="ignore"):
        salts = mixed(np.array([text_hash(name) for name in schema.names], dtype=np.uint64))
    known = hashes is not None
    hashes = np.zeros(rows.table.n_rows, dtype=np.uint64) if hashes is None else hashes
    if numeric and not known:
        chosen = rows.all_or(there[numeric])

        def add(chunk: slice) -> None:
            for piece in rows.blocks(chunk, len(numeric)):
                add_number_hashes(hashes[piece], rows.table.numbers(chosen, piece), salts[numeric])

        list(in_order(add, rows.chunks(CHUNK_ROWS), rows.n_threads))
    encoded = {place: rows.table.labels(int(there[place])) for place in labelled if _holds(rows, there[place])}
    for place, (codes, labels) in encoded.items():
        add_label_hashes(hashes, codes, label_hashes(labels), salts[place])
    texts = {place: _texts(rows, int(there[place])) for place in prose}
    for place, cells in texts.items():
        add_text_hashes(hashes, cells, salts[place])
    candidates = _smallest(hashes, rows.codes, capacity)
    columns: dict[str, AnyArray] = {}
    for place in numeric:
        columns[schema.names[place]] = _numbers(rows, int(there[place]), candidates)
    for place, (codes, labels) in encoded.items():
        objects = np.array([*labels, None], dtype=object)
        columns[schema.names[place]] = objects[codes[candidates]]
    for place, cells in texts.items():
        columns[schema.names[place]] = np.array([*(cells[row] for row in candidates), None], dtype=object)[:-1]
    weights = np.ones(len(candidates)) if rows.weights is None else rows.weights[candidates]
    once = np.ones(len(candidates), dtype=np.int64)
    return KeptRows.of_rows(capacity, hashes[candidates], rows.codes[candidates], weights, once, columns)


def _texts(rows: Rows, position: int) -> list[str | None]:
    return rows.table.texts(position) if _holds(rows, position) else [None] * rows.table.n_rows


def _holds(rows: Rows, position: int) -> bool:
    return rows.table.kind(int(position)) != "empty"


def _smallest(hashes: AnyArray, codes: IntArray, capacity: int) -> IntArray:
    """The rows that may be kept and, where not all can be, one more distinct row, which lowers the threshold."""
    known = np.flatnonzero(codes >= 0)
    if len(known) <= capacity + 1:
        return known
    # Distinct hashes among the smallest few: widen until there are enough of them (equal rows share a hash).
    n_tried = capacity
    while True:
        n_tried = min(2 * n_tried, len(known))
        limit = np.partition(hashes[known], n_tried - 1)[n_tried - 1]
        below = hashes[known] <= limit
        if n_tried == len(known) or len(np.unique(hashes[known[below]])) > capacity:
            chosen, rest = known[below], known[~below]
            return np.concatenate([chosen, _of_rare_classes(hashes, codes, chosen, rest, capacity)])


def _of_rare_classes(hashes: AnyArray, codes: IntArray, chosen: IntArray, rest: IntArray, capacity: int) -> IntArray:
    """The rows of the rest that fill the places of their classes and, where not all fit, one more distinct row."""
    n_classes = int(codes.max(initial=-1)) + 1
    n_present = int(np.count_nonzero(np.bincount(codes[codes >= 0], minlength=n_classes)))
    wanted = places_of_class(capacity, n_present) + 1
    n_chosen = np.bincount(codes[chosen][_distinct(hashes[chosen], codes[chosen])], minlength=n_classes)
    rest = rest[n_chosen[codes[rest]] < wanted]
    rest = rest[np.lexsort((hashes[rest], codes[rest]))]
    new = np.ones(len(rest), dtype=bool)
    new[1:] = (np.diff(hashes[rest]) != 0) | (np.diff(codes[rest]) != 0)
    n_new = np.cumsum(new)
    first = np.searchsorted(codes[rest], codes[rest])  # of the row's class
    rank = n_new - n_new[first] + 1 + n_chosen[codes[rest]]
    return np.asarray(rest[rank <= wanted])


def _distinct(hashes: AnyArray, codes: IntArray) -> IntArray:
    """One row of each hash and class."""
    order = np.lexsort((codes, hashes))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(hashes[order]) != 0) | (np.diff(codes[order]) != 0)
    return np.asarray(order[new])


def _numbers(rows: Rows, position: int, chosen: IntArray) -> AnyArray:
    """The numbers of a few rows of one column."""
    values = rows.table.column(position)
    return np.asarray(values[chosen], dtype=np.float64)
