"""Showing that work is going on, to people only and only when it takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

PATIENCE = 1.0
"""For so many seconds nobody needs to be told."""

Item = TypeVar("Item")


def shown(items: Sequence[Item], what: str, wanted: bool | None = None) -> Iterator[Item]:
    """The items, one by one, with a progress bar on standard error once they take longer than a second.

    Parameters
    ----------
    items : sequence
    what : str
        What the bar is about.
    wanted : bool, optional
        By default there is a bar if standard error is a terminal.
    """
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield from items
        return
    started, bar, task = time.monotonic(), None, None
    try:
        for done, item in enumerate(items):
            if bar is None and time.monotonic() - started > PATIENCE:
                bar = _bar()
                task = bar.add_task(what, total=len(items))
            if bar is not None:
                bar.update(task, completed=done)
            yield item
    finally:
        if bar is not None:
            bar.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    bar = Progress(console=console, transient=console.is_terminal)
    bar.start()
    return bar
