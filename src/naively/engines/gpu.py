"""Rows in the memory of the host for a GPU: piece by piece, the next one copied while the one before is counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from naively._table.device import C_TYPES
from naively.engines._read_ahead import WAITING, read_ahead
from naively.engines._threads import in_order, thread_count
from naively.errors import InputError, InputTypeError, ParameterError
from naively.typing import AnyArray

__all__ = ["chunks"]

CHUNK_BYTES = 1 << 29
"""Large enough that what the host does for a piece is little beside its copy; small enough for several to be there."""

BLOCK_BYTES = 1 << 23
"""What a thread copies at once: so little that the GPU reads it from the cache of the host, not from its memory."""

COPYING = 12
"""Threads that copy, at most: one alone is slower than the way to the GPU."""

LEAVING = 2
"""Blocks that are on their way to the GPU while threads fill others."""

SHARE = 0.4
"""The part of the free memory of a GPU that pieces may take."""


def chunks(
    X: AnyArray, y: Any = None, sample_weight: Any = None, *, rows: int | None = None, device: int = 0
) -> Iterator[Any]:
    """Rows of an array on the host, as arrays on a GPU, for data that are larger than its memory.

    Threads copy the next rows into page-locked memory, and from there they go to the GPU, while those before are in
    use.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        It may be mapped from a file (`numpy.memmap`), and so be larger than the memory of the host, too.
    y : array-like of shape (n_rows,), optional
        The classes. An array of whole numbers or booleans comes to the GPU, too; any other y stays where it is.
    sample_weight : array-like of shape (n_rows,), optional
    rows : int, optional
        How many rows a piece has; by default as many as suit the memory of the GPU.
    device : int, default=0
        The number of the GPU.

    Returns
    -------
    iterator
        Of arrays of CuPy; with `y` of pairs (X, y), with weights of triples, as `NaiveBayes.fit` takes them. Weights
        stay on the host.

    Examples
    --------
    Nothing is copied before the first piece is asked for: `fit` asks for all of them, and so does a loop over
    ``model.predict_proba(piece)``.

    >>> import numpy as np
    >>> from naively.engines.gpu import chunks
    >>> pieces = chunks(np.zeros((1000, 3)), np.arange(1000) % 2, rows=100)
    >>> hasattr(pieces, "__next__")
    True
    """
    beside = [one if hasattr(one, "__getitem__") else list(one) for one in (y, sample_weight) if one is not None]
    _require_rows(X, beside, rows)
    if y is None and sample_weight is not None:
        raise ParameterError("sample_weight needs y: weights are those of rows that are learnt.")
    return _pieces(X, beside, rows, device)


def _require_rows(X: Any, beside: list[Any], rows: int | None) -> None:
    """Refuse what cannot be copied as it is."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.name not in C_TYPES:
        got = f"{X.dtype} of shape {X.shape}" if isinstance(X, np.ndarray) else type(X).__name__
        raise InputTypeError(
            f"X must be a two-dimensional NumPy array of numbers that a GPU reads ({', '.join(C_TYPES)}), got {got}."
        )
    if any(len(one) != len(X) for one in beside):
        raise InputError(f"X, y and sample_weight must have as many rows, got {[len(X), *map(len, beside)]}.")
    if rows is not None and rows < 1:
        raise ParameterError(f"rows must be a whole number of at least 1, got {rows}.")


def _pieces(X: AnyArray, beside: list[Any], rows: int | None, device: int) -> Iterator[Any]:
    import cupy

    given = [X, *beside]
    moved = {place: one for place, one in enumerate(given[:2]) if place == 0 or _holds_codes(one)}
    with cupy.cuda.Device(device):
        n = _suitable_rows(X) if rows is None else rows
        for start, there, arrived in read_ahead(_copied(moved, n, device)):
            cupy.cuda.get_current_stream().wait_event(arrived)
            stop = start + len(there[0])
            piece = tuple(there[place] if place in there else one[start:stop] for place, one in enumerate(given))
            yield piece if beside else piece[0]
            cupy.cuda.get_current_stream().synchronize()  # before the piece's memory takes another one
            del there, piece


def _holds_codes(y: Any) -> bool:
    """Whether classes are such that a GPU finds out which there are."""
    is_flat = isinstance(y, np.ndarray) and y.ndim == 1
    return is_flat and (y.dtype.kind in "bi" or (y.dtype.kind == "u" and y.dtype.itemsize < 8))


def _suitable_rows(X: AnyArray) -> int:
    """Rows of a piece: several must be on the GPU at a time, with room for what is computed of them."""
    import cupy

    free = int(cupy.cuda.runtime.memGetInfo()[0])
    row_bytes = max(1, X.shape[1] * X.itemsize)
    n_bytes: int = min(CHUNK_BYTES, int(SHARE * free / (WAITING + 3)))
    return max(1, n_bytes // int(row_bytes))


@cache
def _stream(device: int) -> Any:
    """The stream on which rows come to a GPU: always the same, so that the memory of earlier pieces is used again."""
    import cupy

    with cupy.cuda.Device(device):
        return cupy.cuda.Stream(non_blocking=True)


class _Block(NamedTuple):
    """Some rows of one of several arrays.

    Parameters
    ----------
    place : int
        Which array it is.
    start : int
        Where the piece begins.
    low, high : int
        The rows, as they are numbered in the piece.
    last : bool
        Whether the piece ends with it.
    """

    place: int
    start: int
    low: int
    high: int
    last: bool


def _blocks(arrays: dict[int, AnyArray], n: int) -> Iterator[_Block]:
    """The rows of arrays, in pieces of `n` rows, block by block."""
    n_rows = len(arrays[0])
    for start in range(0, n_rows, n):
        length = min(n, n_rows - start)
        for place, one in arrays.items():
            step = _rows_of_block(one)
            for low in range(0, length, step):
                high = min(low + step, length)
                yield _Block(place, start, low, high, high == length and place == max(arrays))


def _rows_of_block(array: AnyArray) -> int:
    return max(1, BLOCK_BYTES // max(1, array[:1].nbytes))


def _copied(arrays: dict[int, AnyArray], n: int, device: int) -> Generator[tuple[int, dict[int, Any], Any], None, None]:
    """Where each piece starts, its rows on the GPU, and the event that tells that they are there.

    Threads fill blocks of page-locked memory. There are so many of them that, when one is filled anew, what was in it
    has left: threads are at most `n_threads` blocks ahead of the one that goes.
    """
    import cupy
    import cupyx

    n_threads = min(thread_count(None), COPYING)
    blocks = list(_blocks(arrays, n))
    types = {place: one.dtype.newbyteorder("=") for place, one in arrays.items()}
    n_bytes = max((_rows_of_block(one) * one[:1].nbytes for one in arrays.values()), default=0)
    with cupy.cuda.Device(device), _stream(device) as stream:
        room = [cupyx.empty_pinned(n_bytes, np.uint8) for _ in range(min(n_threads + 1 + LEAVING, len(blocks)))]

        def filled(numbered: tuple[int, _Block]) -> AnyArray:
            number, block = numbered
            part = arrays[block.place][block.start + block.low : block.start + block.high]
            ready = np.ndarray(part.shape, types[block.place], room[number % len(room)])
            np.copyto(ready, part)
            return ready

        leaving: deque[Any] = deque()
        there: dict[int, Any] = {}
        try:
            for block, ready in zip(blocks, in_order(filled, enumerate(blocks), n_threads), strict=True):
                if block.low == 0:
                    length = min(n, len(arrays[0]) - block.start)
                    there[block.place] = cupy.empty((length, *ready.shape[1:]), dtype=ready.dtype)
                there[block.place][block.low : block.high].set(ready, stream=stream)
                leaving.append(stream.record())
                if len(leaving) > LEAVING:
                    leaving.popleft().synchronize()
                if block.last:
                    yield block.start, there, leaving[-1]
                    there = {}
        finally:
            stream.synchronize()  # before the memory that it reads and writes is let go
