"""How a hot loop is compiled: once per machine where its code can be kept on disk, else once per process.

Keeping the code is a convenience and never a reason to fail. Where there is no place for it (a read-only file system),
where it is damaged or the disk is full, the loop is compiled for this process alone, and a warning says so once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

from naively._kernels import warn_once


def kernel(loop: Callable[..., Any]) -> Any:
    """Compile a loop when it is first called; other threads may run meanwhile."""
    return _kept_on_disk(njit(nogil=True)(loop))


def inlined(loop: Callable[..., Any]) -> Any:
    """Compile a few lines that become part of the loops that call them."""
    return _kept_on_disk(njit(nogil=True, inline="always")(loop))


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


def _warn_that_nothing_is_kept(problem: Exception) -> None:
    warn_once(
        f"Compiled code cannot be kept on disk ({_told(problem)}), so every process compiles it again, which takes "
        "seconds. The answers are not affected. Set NUMBA_CACHE_DIR to a directory that can be written to, or "
        "NAIVELY_KERNELS=reference to do without the compiler."
    )


def _told(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"
