"""Which rows are kept, chosen on a GPU by their hashes (`_kernels/gpu/rows.cu`)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from naively._model.schema import Schema
from naively._table.device import on_host
from naively.engines._gpu_rows import DeviceRows, row_major
from naively.engines._kept_rows import sample_rows
from naively.engines._rows import Rows
from naively.statistics._kept_rows import LARGEST_HASH, KeptRows, mixed, places_of_class, text_hash
from naively.statistics._sums import Sum
from naively.typing import AnyArray, IntArray


def keep_rows(rows: DeviceRows, schema: Schema, positions: IntArray | None, capacity: int) -> Callable[[], KeptRows]:
    """What gives the kept rows: those that may be among them by their hash go to the host, and a thread there chooses.

    So the GPU can count something else at the same time.
    """
    there = np.arange(len(schema.names)) if positions is None else positions
    hashes = _hashes(rows, schema, there)
    candidates = _candidates(rows, hashes, capacity)
    table = rows.table.host_rows(candidates)
    codes = on_host(rows.codes[candidates]).astype(np.int64)
    weights = None if rows.weights is None else on_host(rows.weights[candidates])
    chosen = Rows(table, codes, weights, Sum.zeros(rows.n_classes), 1)
    numeric = all(schema.is_numeric(place) for place in np.flatnonzero(there >= 0).tolist())
    known = on_host(hashes[candidates]) if numeric else None
    thread = ThreadPoolExecutor(1)
    kept = thread.submit(sample_rows, chosen, schema, positions, capacity, known)
    thread.shutdown(wait=False)
    return kept.result


def _hashes(rows: DeviceRows, schema: Schema, there: IntArray) -> Any:
    import cupy

    hashes = cupy.zeros(rows.n_rows, dtype=cupy.uint64)
    known = np.flatnonzero(there >= 0)
    with np.errstate(over="ignore"):
        salts = mixed(np.array([text_hash(schema.names[place]) for place in known], dtype=np.uint64))
    values, stride = row_major(rows.table.values)
    add = rows.kernel("rows", "row_hashes")
    add(
        (rows.n_blocks,), (256,),
        (values, stride, rows.columns(there[known]), np.int32(len(known)), cupy.asarray(salts), np.int64(rows.n_rows),
         hashes),
    )  # fmt: skip
    return hashes


def _candidates(rows: DeviceRows, hashes: Any, capacity: int) -> Any:
    """Rows whose hashes are so small that the kept ones are among them, and enough more to set the thresholds."""
    n_of_class = rows.n_of_class
    n_known = int(n_of_class.sum())
    wanted = places_of_class(capacity, int(np.count_nonzero(n_of_class))) + 1
    factor = 1.0
    while True:
        limit = _hash_limit(factor * (capacity + 1) / max(n_known, 1))
        of_class = [max(limit, _hash_limit(factor * wanted / max(int(n), 1))) for n in n_of_class.tolist()]
        limits = np.array(of_class, dtype=np.uint64)
        found = _below(rows, hashes, limits)
        if _are_enough(rows, hashes, found, limit, limits, capacity, wanted):
            return found
        factor *= 4


def _hash_limit(share: float) -> int:
    """The hash below which such a share of the rows is expected, with room for chance."""
    return LARGEST_HASH if share >= 0.5 else int(share * 1.15 * 2.0**64)


def _below(rows: DeviceRows, hashes: Any, limits: AnyArray) -> Any:
    """The rows whose hash is no larger than the limit of their class, ascending."""
    import cupy

    most = 1 << 20
    while True:
        n_found, found = cupy.zeros(1, dtype=cupy.int32), cupy.empty(most, dtype=cupy.int64)
        select = rows.kernel("rows", "below_limits")
        arguments = (hashes, rows.codes, cupy.asarray(limits), np.int64(rows.n_rows), np.int32(most))
        select((rows.n_blocks,), (256,), (*arguments, n_found, found))
        n = int(n_found[0])
        if n <= most:
            return cupy.sort(found[:n])
        most = 1 << int(np.ceil(np.log2(n)))


def _are_enough(
    rows: DeviceRows, hashes: Any, found: Any, limit: int, limits: AnyArray, capacity: int, wanted: int
) -> bool:
    """Whether there are more distinct rows below the limits than places, or all rows are below."""
    chosen, codes = on_host(hashes[found]), on_host(rows.codes[found])
    order = np.lexsort((codes, chosen))
    chosen, codes = chosen[order], codes[order]
    new = np.ones(len(chosen), dtype=bool)
    new[1:] = chosen[1:] != chosen[:-1]
    if limit < LARGEST_HASH and np.count_nonzero(new & (chosen <= np.uint64(limit))) <= capacity:
        return False
    new[1:] |= codes[1:] != codes[:-1]
    n_distinct = np.bincount(codes[new], minlength=rows.n_classes)
    return bool(((n_distinct >= wanted) | (limits == np.uint64(LARGEST_HASH))).all())
