"""One small pool of threads. The work is cut the same way however many there are, so the answer never depends on it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from naively.errors import ParameterError

Task = TypeVar("Task")
Result = TypeVar("Result")

MOST_THREADS = 1024


def thread_count(n_threads: int | None, n_rows: int | None = None) -> int:
    """How many threads to use: the parameter, else the variable NAIVELY_NUM_THREADS, else the machine's cores.

    One row is no work to share: without a parameter nobody is asked.
    """
    if n_threads is None and n_rows == 1:
        return 1
    chosen: Any = n_threads
    if chosen is None:
        chosen = os.environ.get("NAIVELY_NUM_THREADS") or _cores()
    try:
        count = int(chosen)
    except (TypeError, ValueError, OverflowError):
        count = 0
    if not 1 <= count <= MOST_THREADS or isinstance(n_threads, bool):
        limit = f"at most {MOST_THREADS}" if count > MOST_THREADS else "at least 1"
        raise ParameterError(
            f"n_threads (or NAIVELY_NUM_THREADS) must be a whole number of {limit}, got {chosen!r:.40}."
        )
    return count


@cache
def _cores() -> int:
    return min(os.cpu_count() or 1, MOST_THREADS)


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="naively")


if hasattr(os, "register_at_fork"):  # a forked child has none of its parent's threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


def in_order(work: Callable[[Task], Result], tasks: Iterable[Task], n_threads: int) -> Iterator[Result]:
    """Do the tasks on the pool and give the results in the tasks' order, few of them waiting at any time."""
    tasks = list(tasks)
    if n_threads == 1 or len(tasks) <= 1:
        yield from map(work, tasks)
        return
    pool = _pool(n_threads)
    waiting: deque[Future[Result]] = deque()
    for task in tasks:
        waiting.append(pool.submit(work, task))
        if len(waiting) > n_threads:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
