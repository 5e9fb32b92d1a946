"""Reading in a thread of its own, while what was read before is counted."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing
from queue import Empty, Full, Queue
from typing import TypeVar

Item = TypeVar("Item")

WAITING = 2
"""So many items, at most, have been read and wait: each may be large."""

PATIENCE = 0.1
"""Seconds after which a thread that waits looks whether it is still wanted."""


def read_ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """The items of an iterator, each taken in another thread while those before are in use.

    Parameters
    ----------
    items : generator
        What it raises is raised here, in its turn. When this iterator is closed, by an error or an interrupt, the
        thread stops before the next item.
    """
    ready: Queue[tuple[Item | None, BaseException | None]] = Queue(WAITING)
    stopped = threading.Event()

    def put(item: Item | None, error: BaseException | None) -> None:
        while not stopped.is_set():
            try:
                ready.put((item, error), timeout=PATIENCE)
            except Full:
                continue
            return

    def read() -> None:
        try:
            with closing(items):
                for item in items:
                    put(item, None)
                    if stopped.is_set():
                        return
            put(None, None)
        except BaseException as error:  # it is raised in the thread that asked
            put(None, error)

    thread = threading.Thread(target=read, name="naively-reader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is None:
                return
            yield item
    finally:
        stopped.set()
        _drain(ready)
        thread.join()


def _drain(ready: Queue[tuple[Item | None, BaseException | None]]) -> None:
    """Let go of what has been read."""
    while True:
        try:
            ready.get_nowait()
        except Empty:
            return
