"""The hot loops: compiled by Numba, each beside a plain NumPy reference that gives the same numbers.

A reference is always there. The compiled version is imported only when the work repays it, and used once its code lies
in Numba's cache: a small table, a demo, a notebook never waits for the compiler, which works in a process of its own
(`naively._kernels.background`). Without Numba the references do all the work. `NAIVELY_KERNELS` forces one of the two
(``compiled`` or ``reference``).
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from naively.errors import ParameterError, warn
from naively.typing import AnyArray

Given = ParamSpec("Given")
Result = TypeVar("Result")

CELLS_THAT_REPAY = 3_000_000
"""Cells after which the reference has lost more time than importing Numba and its cached kernels takes (some 0.5 s)."""

CELLS_THAT_REPAY_COMPILING = 50_000_000
"""Cells of one call with which the reference would lose more time than the compiler takes (some 5 s)."""

CELLS_PER_CALL = 5_000
"""What a call of a reference costs before its first cell, in cells: a stream of small batches repays, too."""

_cells_so_far = 0
_compiler_works: bool | None = None
_warned = False
_importing: threading.Thread | None = None
_hurry = threading.Event()  # somebody waits for the import

RESTS_PER_WORK = 3
"""How long the thread that imports Numba rests for a second of importing, so that the work beside it goes on."""


class NotCompiledError(Exception):
    """A kernel has no code for what it was called with, and the work is too small to wait for the compiler."""


class _OfThread(threading.local):
    """What the present thread works on: how many cells, and whether by references alone."""

    n_cells = 0
    references_only = False


_of_thread = _OfThread()
_guard, _n_compiling = threading.Lock(), 0


def repays_compiler(n_cells: int) -> bool:
    """Whether work on this many cells, after all that came before in this process, is worth the compiled kernels.

    Who asks must be `with_reference`, since the kernels may not be compiled yet.
    """
    global _cells_so_far
    forced = os.environ.get("NAIVELY_KERNELS", "auto")
    if forced == "auto":
        _of_thread.n_cells = n_cells
        _cells_so_far += n_cells + CELLS_PER_CALL
        if _of_thread.references_only or _cells_so_far < CELLS_THAT_REPAY:
            return False
        return (n_cells >= CELLS_THAT_REPAY_COMPILING or _is_imported()) and _has_compiler()
    if forced in ("compiled", "reference"):
        return forced == "compiled" and _has_compiler()
    raise ParameterError(f"NAIVELY_KERNELS must be 'auto', 'compiled' or 'reference', got {forced!r}.")


@cache
def kernel_of(module: str, name: str) -> Any:
    """A kernel of this package, whose module, and with it Numba, is imported when the kernel is first asked for.

    An import statement does as much, but takes longer than a small table when it is met again.
    """
    return getattr(importlib.import_module(f"naively._kernels.{module}"), name)


def with_reference(work: Callable[Given, Result]) -> Callable[Given, Result]:
    """Do work that asks `repays_compiler` once more, by references alone, if a kernel is not compiled yet.

    Kernels say so before they have changed anything. Work that is large enough waits for the compiler instead.
    """

    @wraps(work)
    def done(*args: Given.args, **options: Given.kwargs) -> Result:
        try:
            return work(*args, **options)
        except NotCompiledError:
            with _compiling() if _of_thread.n_cells >= CELLS_THAT_REPAY_COMPILING else _by_references():
                return work(*args, **options)

    return done


def may_compile() -> bool:
    """Whether a kernel may call the compiler here and now."""
    return _n_compiling > 0 or os.environ.get("NAIVELY_KERNELS", "auto") == "compiled"


@contextmanager
def _compiling() -> Iterator[None]:
    """Let kernels be compiled, in any thread: those of this work, and meanwhile those of others."""
    global _n_compiling
    with _guard:
        _n_compiling += 1
    try:
        yield
    finally:
        with _guard:
            _n_compiling -= 1


@contextmanager
def _by_references() -> Iterator[None]:
    before, _of_thread.references_only = _of_thread.references_only, True
    try:
        yield
    finally:
        _of_thread.references_only = before


def _is_imported() -> bool:
    """Whether the import of Numba is done: it takes a second, in a thread beside the work."""
    global _importing
    if _compiler_works is None and _importing is None:
        with _guard:
            if _importing is None:
                thread = threading.Thread(target=_import, name="naively: import of Numba", daemon=True)
                thread.start()
                _importing = thread  # not before: one that has not begun looks like one that is done
    return _importing is None or not _importing.is_alive()


def _import() -> None:
    with suppress(Exception), _rests_between_modules():  # whatever it is, who imports it next is told
        importlib.import_module("naively._kernels.compiling").prepare()


class _Rests:
    """An import hook that finds no module, but lets the thread that it was made in rest before it imports one.

    An import holds Python's lock nearly all the time: without rests, a small table beside it takes a second longer.
    """

    def __init__(self) -> None:
        self.thread, self.worked = threading.get_ident(), time.thread_time()

    def find_spec(self, *_: Any) -> None:
        """Rest for a multiple of the time that was worked since the last rest, or until somebody waits."""
        if threading.get_ident() == self.thread:
            _hurry.wait(RESTS_PER_WORK * (time.thread_time() - self.worked))
            self.worked = time.thread_time()


@contextmanager
def _rests_between_modules() -> Iterator[None]:
    rests = _Rests()
    sys.meta_path.insert(0, rests)
    try:
        yield
    finally:
        sys.meta_path.remove(rests)


def _wait_for_import() -> None:
    """Before a fork: in the child the thread would be gone, and what it was importing locked for ever."""
    if _importing is not None and _importing is not threading.current_thread():
        _hurry.set()
        _importing.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_import)


def _has_compiler() -> bool:
    """Whether Numba can be imported; if it cannot, the references do all the work."""
    global _compiler_works
    if _compiler_works is None:
        _hurry.set()
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
    view.setflags(write=False)
    return view
