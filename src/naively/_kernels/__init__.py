"""The hot loops: compiled by Numba, each beside a plain NumPy reference that gives the same numbers.

A reference is always there. The compiled version is imported only when the work repays the compiler: a small table, a
demo, a notebook never waits for it. Without Numba the references do all the work. `NAIVELY_KERNELS` forces one of the
two (``compiled`` or ``reference``).
"""

from __future__ import annotations

import importlib
import os

import numpy as np

from naively.errors import ParameterError, warn
from naively.typing import AnyArray

CELLS_THAT_REPAY = 3_000_000
"""Cells after which the reference has lost more time than importing Numba and its cached kernels takes (some 0.5 s)."""

CELLS_PER_CALL = 5_000
"""What a call of a reference costs before its first cell, in cells: a stream of small batches repays, too."""

_cells_so_far = 0
_compiler_works: bool | None = None
_warned = False


def repays_compiler(n_cells: int) -> bool:
    """Whether work on this many cells, after all that came before in this process, is worth the compiled kernels."""
    global _cells_so_far
    forced = os.environ.get("NAIVELY_KERNELS", "auto")
    if forced == "auto":
        _cells_so_far += n_cells + CELLS_PER_CALL
        return _cells_so_far >= CELLS_THAT_REPAY and _has_compiler()
    if forced in ("compiled", "reference"):
        return forced == "compiled" and _has_compiler()
    raise ParameterError(f"NAIVELY_KERNELS must be 'auto', 'compiled' or 'reference', got {forced!r}.")


def _has_compiler() -> bool:
    """Whether Numba can be imported; if it cannot, the references do all the work."""
    global _compiler_works
    if _compiler_works is None:
        try:
            importlib.import_module("numba")
            _compiler_works = True
        except Exception as problem:  # a broken installation may raise anything; the references need none of it
            _compiler_works = False
            warn_once(
                f"Numba cannot be imported ({type(problem).__name__}: {problem}), so large tables take longer. The "
                "answers are not affected. Install Numba again, or set NAIVELY_KERNELS=reference to do without it."
            )
    return _compiler_works


def warn_once(message: str) -> None:
    """Say that something is wrong with the compiler: once per process, however many kernels are concerned."""
    global _warned
    if not _warned:
        _warned = True
        warn(message)


def frozen(array: AnyArray) -> AnyArray:
    """A read-only view: a kernel is compiled once, whether or not the user's array can be written to."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
