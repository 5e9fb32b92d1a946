"""Showing that work is going on, to people only and only when it takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

PATIENCE = 1.0
"""For so many seconds nobody needs to be told."""

EVERY = 0.2
"""Seconds between two lines about the progress."""

Item = TypeVar("Item")


def shown(items: Sequence[Item], what: str, wanted: bool | None = None) -> Iterator[Item]:
    """The items, one by one, with a progress bar on standard error once they take longer than a second.

    Parameters
    ----------
    items : sequence
    what : str
        What the bar is about.
    wanted : bool, optional
        By default there is a bar if somebody watches.
    """
    if not (somebody_watches() if wanted is None else wanted):
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


def somebody_watches() -> bool:
    """Whether standard error is a terminal, or that of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return sys.stderr.isatty() or type(shell).__name__ == "ZMQInteractiveShell"


class RowsShown:
    """A line on standard error about rows that are being read, once that takes longer than a second.

    Parameters
    ----------
    what : str
        What is counted.
    wanted : bool, optional
        By default there is a line if somebody watches.

    Examples
    --------
    >>> RowsShown("rows").line(3_000_000, 0.25, 2.0)
    '3,000,000 rows, 1,500,000 rows/s, 25 %, 6 s left'
    """

    def __init__(self, what: str, wanted: bool | None = None):
        self._what, self._wanted = what, somebody_watches() if wanted is None else wanted
        self._started = self._last = time.monotonic()
        self._n_rows, self._width = 0, 0

    def update(self, n_rows: int, share: float) -> None:
        """Say that some more rows were read, and how much of all that is, from 0 to 1; 0 if nobody knows."""
        self._n_rows += n_rows
        now = time.monotonic()
        if self._wanted and now - self._started > PATIENCE and (now - self._last > EVERY or not self._width):
            self._last = now
            self._write(self.line(self._n_rows, share, now - self._started))

    def line(self, n_rows: int, share: float, seconds: float) -> str:
        """What is said after so many rows and seconds."""
        said = f"{n_rows:,} {self._what}, {n_rows / seconds:,.0f} {self._what}/s"
        return f"{said}, {share:.0%}, {_duration(seconds * (1 / share - 1))} left".replace("%", " %") if share else said

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def __enter__(self) -> RowsShown:
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:  # what was written is taken away again
            self._write("")
            sys.stderr.write("\r")
            sys.stderr.flush()


def _duration(seconds: float) -> str:
    """A time that people can read.

    Examples
    --------
    >>> _duration(12.3), _duration(200), _duration(7300)
    ('12 s', '3 min 20 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    bar = Progress(console=console, transient=console.is_terminal)
    bar.start()
    return bar
