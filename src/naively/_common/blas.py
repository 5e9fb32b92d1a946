"""NumPy's matrix products in one thread, where many small ones would only wait for each other.

How many threads BLAS uses is a setting of the whole process. So the first who asks changes it and the last who is done
puts it back, in whatever order several threads come and go.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


class _Users:
    """Who wants one thread now, and how to put back what was before."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.limit: Any = None

    def enter(self) -> None:
        with self.lock:
            if self.count == 0:
                self.limit = _controller().limit(limits=1)
            self.count += 1

    def leave(self) -> None:
        with self.lock:
            self.count -= 1
            if self.count == 0:
                self.limit.restore_original_limits()


_users = _Users()


def _after_fork() -> None:
    """A forked child has none of its parent's threads; it keeps one BLAS thread if some of them wanted that."""
    global _users
    _users = _Users()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@cache
def _controller() -> Any:
    """The controller of NumPy's BLAS; it takes milliseconds to find."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which NumPy's matrix products run in the thread that asks for them."""
    users = _users
    users.enter()
    try:
        yield
    finally:
        users.leave()
