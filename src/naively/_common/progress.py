"""Showing that work is going on, to people only and only when it takes long; and writing it to the log.

Whatever takes long writes to the logger "naively" when it is done, whether or not anybody sees a bar.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

PATIENCE = 1.0
"""For so many seconds nobody needs to be told."""

EVERY = 0.2
"""Seconds between two lines about the progress."""

log = logging.getLogger("naively")
log.addHandler(logging.NullHandler())

Item = TypeVar("Item")


def is_watched() -> bool:
    """Whether somebody sees a bar: on a terminal, or in a notebook."""
    return sys.stderr.isatty() or in_notebook()


def in_notebook() -> bool:
    """Whether the code runs in a Jupyter kernel."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and type(running).__name__ == "ZMQInteractiveShell"


def shown(items: Sequence[Item], what: str, wanted: bool | None = None) -> Iterator[Item]:
    """The items, one by one, with a progress bar on standard error once they take longer than a second.

    Parameters
    ----------
    items : sequence
    what : str
        What the bar is about.
    wanted : bool, optional
        By default there is a bar on terminals and in notebooks.
    """
    with counting(what, "", len(items), wanted) as count:
        for done, item in enumerate(items):
            count(done)
            yield item


@contextmanager
def counting(
    what: str, unit: str = "", total: int | None = None, wanted: bool | None = None
) -> Iterator[Callable[[int], None]]:
    """A function to be told how much is done, which shows a bar once the work takes longer than a second.

    Parameters
    ----------
    what : str
        What the bar is about.
    unit : str
        What is counted.
    total : int, optional
        How much there is to do, if that is known.
    wanted : bool, optional
        By default there is a bar on terminals and in notebooks.

    Examples
    --------
    >>> with counting("learning", "rows", wanted=False) as count:
    ...     count(1000)
    """
    visible = is_watched() if wanted is None else wanted
    started, bar, task = time.monotonic(), None, None

    def count(done: int) -> None:
        nonlocal bar, task
        if not visible:
            return
        if bar is None and time.monotonic() - started > PATIENCE:
            bar = _bar(unit)
            task = bar.add_task(what, total=total)
        if bar is not None:
            bar.update(task, completed=done)

    try:
        yield count
    finally:
        if bar is not None:
            bar.stop()
        seconds = time.monotonic() - started
        if seconds > PATIENCE:
            log.info("%s took %.1f s", what, seconds)


@contextmanager
def told(what: str, wanted: bool | None = None) -> Iterator[None]:
    """Say what is going on while one long step runs, once it takes longer than a second, and log how long it took.

    Parameters
    ----------
    what : str
    wanted : bool, optional
        By default it is said on terminals and in notebooks.

    Examples
    --------
    >>> with told("estimating", wanted=False):
    ...     pass
    """
    visible = is_watched() if wanted is None else wanted
    started = time.monotonic()
    log.debug("%s", what)
    timer = _Patient(what) if visible else None
    try:
        yield
    finally:
        if timer is not None:
            timer.stop()
        seconds = time.monotonic() - started
        log.log(logging.INFO if seconds > PATIENCE else logging.DEBUG, "%s took %.2f s", what, seconds)


class _Patient:
    """A bar without an end that appears after a second, unless it was stopped before."""

    def __init__(self, what: str):
        import threading

        self._what, self._lock, self._stopped = what, threading.Lock(), False
        self._bar: Any = None
        self._timer = threading.Timer(PATIENCE, self._start)
        self._timer.daemon = True
        self._timer.start()

    def _start(self) -> None:
        with self._lock:
            if not self._stopped:
                self._bar = _bar("")
                self._bar.add_task(self._what, total=None)

    def stop(self) -> None:
        """Take the bar away."""
        self._timer.cancel()
        with self._lock:
            self._stopped = True
            if self._bar is not None:
                self._bar.stop()


def _bar(unit: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    widgets = find_spec("ipywidgets") is not None  # without them rich warns in notebooks; a line of text will do
    console = Console(stderr=True, force_jupyter=None if widgets else False)
    amount = [TextColumn("{task.completed:,.0f} " + unit)] if unit else [BarColumn(), TimeRemainingColumn()]
    bar = Progress(
        TextColumn("{task.description}"),
        *amount,
        TimeElapsedColumn(),
        console=console,
        transient=console.is_terminal or console.is_jupyter,
    )
    bar.start()
    return bar


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
        self._what, self._wanted = what, is_watched() if wanted is None else wanted
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
