"""Rows in the memory of the host for a GPU: piece by piece, the next one copied while the one before is counted."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from naively._table.device import C_TYPES
from naively.engines._read_ahead import WAITING, read_ahead
from naively.engines._threads import in_order, thread_count
from naively.errors import InputError, InputTypeError, ParameterError
from naively.typing import AnyArray

__all__ = ["chunks"]

CHUNK_BYTES = 1 << 28
"""Large enough that a copy runs at full speed, small enough that the first one is soon there."""

SHARE = 0.4
"""The part of the free memory of a GPU that pieces may take."""


def chunks(
    X: AnyArray, y: Any = None, sample_weight: Any = None, *, rows: int | None = None, device: int = 0
) -> Iterator[Any]:
    """Rows of an array on the host, as arrays on a GPU, for data that are larger than its memory.

    A thread copies the next rows into page-locked memory, and from there to the GPU, while those before are in use.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        It may be mapped from a file (`numpy.memmap`), and so be larger than the memory of the host, too.
    y : array-like of shape (n_rows,), optional
        The classes.
    sample_weight : array-like of shape (n_rows,), optional
    rows : int, optional
        How many rows a piece has; by default as many as suit the memory of the GPU.
    device : int, default=0
        The number of the GPU.

    Returns
    -------
    iterator
        Of arrays of CuPy; with `y` of pairs (X, y), with weights of triples, as `NaiveBayes.fit` takes them.

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

    with cupy.cuda.Device(device):
        n = _suitable_rows(X) if rows is None else rows
        stream = cupy.cuda.Stream(non_blocking=True)
        for start, there in read_ahead(_copied(X, n, device, stream)):
            stop = start + len(there)
            yield (there, *(one[start:stop] for one in beside)) if beside else there
            cupy.cuda.get_current_stream().synchronize()  # before the piece's memory takes another one
            del there


def _suitable_rows(X: AnyArray) -> int:
    """Rows of a piece: several must be on the GPU at a time, with room for what is computed of them."""
    import cupy

    free = int(cupy.cuda.runtime.memGetInfo()[0])
    row_bytes = max(1, X.shape[1] * X.itemsize)
    n_bytes: int = min(CHUNK_BYTES, int(SHARE * free / (WAITING + 3)))
    return max(1, n_bytes // int(row_bytes))


def _copied(X: AnyArray, n: int, device: int, stream: Any) -> Generator[tuple[int, Any], None, None]:
    """Where each piece starts, and its rows on the GPU. While one is on its way the next is made ready to go."""
    import cupy
    import cupyx

    with cupy.cuda.Device(device), stream:
        room = [cupyx.empty_pinned((min(n, len(X)), X.shape[1]), dtype=X.dtype) for _ in range(2)]
        before: tuple[int, Any, Any] | None = None
        for number, start in enumerate(range(0, len(X), n)):
            part = X[start : start + n]
            ready = room[number % 2][: len(part)]
            _copy(part, ready)
            there = cupy.empty(part.shape, dtype=X.dtype)
            there.set(ready, stream=stream)
            arrived = stream.record()
            if before is not None:
                before[2].synchronize()
                yield before[0], before[1]
            before = start, there, arrived
        if before is not None:
            before[2].synchronize()
            yield before[0], before[1]


def _copy(part: AnyArray, to: AnyArray) -> None:
    """Copy rows with several threads: one alone is slower than the way to the GPU."""
    n_threads = min(thread_count(None), 8)
    bounds = np.linspace(0, len(part), n_threads + 1).astype(int)
    pieces = [slice(low, high) for low, high in pairwise(bounds)]

    def copy(piece: slice) -> None:
        np.copyto(to[piece], part[piece])

    list(in_order(copy, pieces, n_threads))
