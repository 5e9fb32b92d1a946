"""How a hot loop is compiled: once per machine where its code can be kept on disk, else once per process.

A kernel that is called with arguments for which it has no code does not compile it there and then, unless the work is
worth that: it has it compiled by another process and raises `NotCompiledError`, upon which a reference does the work.
Keeping the code is a convenience and never a reason to fail. Where there is no place for it (a read-only file system),
where it is damaged or the disk is full, the loop is compiled for this process alone, and a warning says so once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock

from naively._kernels import NotCompiledError, may_compile, warn_once
from naively._kernels.background import compile_later

LOOK_SECONDS = 0.5
"""So often, at most, the cache is searched for code that was not there."""


def kernel(loop: Callable[..., Any]) -> Any:
    """A loop to be compiled; other threads may run while it does."""
    return _without_waiting(_kept_on_disk(njit(nogil=True)(loop)))


def inlined(loop: Callable[..., Any]) -> Any:
    """Compile a few lines that become part of the loops that call them."""
    return _kept_on_disk(njit(nogil=True, inline="always")(loop))


def called(loop: Callable[..., Any]) -> Any:
    """A part of the loops that call it, compiled once for all of them: less work for the compiler than `inlined`."""
    return _kept_on_disk(njit(nogil=True)(loop))


def prepare() -> None:
    """Let Numba set up what the first kernel needs, be it read from the cache or compiled."""
    from numba.core.registry import cpu_target

    # Before the compiler is locked: up to Python 3.11 each has a lock of its own, under which it locks the compiler.
    typing, target = cpu_target.typing_context, cpu_target.target_context
    with global_compiler_lock:
        typing.refresh()
        target.refresh()


class ForgivingCache(FunctionCache):  # type: ignore[misc]
    """Compiled code on disk; what cannot be read is compiled again, what cannot be written is not kept."""

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled code, or None if there is none that can be read."""
        try:
            return super().load_overload(signature, target_context)
        except Exception as problem:  # damaged files are unpickled: there is no telling what that raises
            self._start_again(problem)
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep compiled code, if the disk allows it."""
        try:
            super().save_overload(signature, code)
        except Exception as problem:  # a full disk, a directory that went away, code that cannot be pickled
            self._give_up(problem)

    def _start_again(self, problem: Exception) -> None:
        """Empty the index, so that the code is written anew."""
        try:
            self.flush()
        except OSError:
            self._give_up(problem)
        else:
            warn_once(
                f"The compiled code in {self.cache_path} could not be read ({_told(problem)}) and is written anew. "
                "The answers are not affected. If this warning returns, delete that directory."
            )

    def _give_up(self, problem: Exception) -> None:
        self.disable()
        _warn_that_nothing_is_kept(problem)


def _kept_on_disk(dispatcher: Any) -> Any:
    """The dispatcher, with its compiled code kept on disk where there is a place for it."""
    if not hasattr(dispatcher, "enable_caching"):  # the JIT is switched off: this is the plain function
        return dispatcher
    try:
        dispatcher._cache = ForgivingCache(dispatcher.py_func)
    except (RuntimeError, OSError) as problem:  # Numba found no directory that it may write to
        _warn_that_nothing_is_kept(problem)
    return dispatcher


def _without_waiting(dispatcher: Any) -> Any:
    """The dispatcher, which compiles in this process only where that may be.

    Numba calls `_compile_for_args` when it has no code in memory for the types of the arguments.
    """
    if not hasattr(dispatcher, "enable_caching"):
        return dispatcher
    load_or_compile = dispatcher._compile_for_args
    looked: dict[Any, float] = {}

    def load_or_wait(*args: Any, **options: Any) -> Any:
        if may_compile():
            return load_or_compile(*args, **options)
        types = tuple(dispatcher.typeof_pyval(argument) for argument in args)
        now = time.monotonic()
        if now - looked.get(types, -LOOK_SECONDS) < LOOK_SECONDS:
            raise NotCompiledError
        with _no_other_at_the_compiler():
            code = _loaded(dispatcher, types)
        if code is not None:
            return code
        looked[types] = now
        if dispatcher._cache.cache_path is not None:  # else there is no place for what another process compiles
            compile_later(dispatcher.py_func.__module__, dispatcher.py_func.__name__, types)
        raise NotCompiledError

    dispatcher._compile_for_args = load_or_wait
    return dispatcher


@contextmanager
def _no_other_at_the_compiler() -> Iterator[None]:
    """Keep other threads from the compiler's tables, which one at a time may change; do not wait for one that does."""
    lock = global_compiler_lock._lock
    if not lock.acquire(blocking=False):
        raise NotCompiledError
    try:
        yield
    finally:
        lock.release()


def _loaded(dispatcher: Any, types: Any) -> Any:
    """The code for arguments of these types, if memory or the cache has it, as `Dispatcher.compile` loads it."""
    code = dispatcher.overloads.get(types)
    if code is None:
        code = dispatcher._cache.load_overload(types, dispatcher.targetctx)
        if code is None:
            return None
        dispatcher.targetctx.insert_user_function(code.entry_point, code.fndesc, [code.library])
        dispatcher.add_overload(code)
    return code.entry_point


def _warn_that_nothing_is_kept(problem: Exception) -> None:
    warn_once(
        f"Compiled code cannot be kept on disk ({_told(problem)}), so every process compiles it again, which takes "
        "seconds. The answers are not affected. Set NUMBA_CACHE_DIR to a directory that can be written to, or "
        "NAIVELY_KERNELS=reference to do without the compiler."
    )


def _told(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"
