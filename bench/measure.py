"""Measuring: the best of several runs, taken in turns; the speed of memory; whole processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

Work = Callable[[], Any]


@dataclass(frozen=True)
class Scale:
    """How large the tables are, and how often each work is repeated.

    Parameters
    ----------
    share : float
        Of the rows of the full size.
    repeats : int
    patience : float
        Work that takes longer than so many seconds is done twice and no more.
    judged : bool
        Whether the tables are large enough for the targets to mean anything.
    """

    share: float
    repeats: int
    patience: float
    judged: bool

    def rows(self, full: int) -> int:
        return max(1, int(full * self.share))

    def choose(self, full: int, quick: int) -> int:
        """A number that is not cut by the share: of columns, classes, words or the rows of a file."""
        return full if self.judged else quick

    @property
    def kernels(self) -> dict[str, str]:
        """The variables of a process that is measured: its kernels are loaded in its warm-up, before it is measured.

        Where nothing is judged, nothing waits for the compiler.
        """
        return {"NAIVELY_KERNELS": "compiled"} if self.judged else {}


FULL = Scale(share=1.0, repeats=7, patience=10.0, judged=True)
QUICK = Scale(share=0.01, repeats=1, patience=1.0, judged=False)


def seconds(work: Work) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


class Times(NamedTuple):
    """The best seconds by the clock, and the fewest seconds of all processors together."""

    wall: float
    processor: float


def side_by_side(scale: Scale, **works: Work) -> dict[str, float]:
    """The best time of each work. They take turns, so that a busy moment of the machine hits all of them."""
    return {name: times.wall for name, times in times_side_by_side(scale, **works).items()}


def times_side_by_side(scale: Scale, **works: Work) -> dict[str, Times]:
    """The same, with processor time."""
    best = dict.fromkeys(works, Times(float("inf"), float("inf")))
    for turn in range(1 + scale.repeats):  # the first is the warm-up, in which something may still be compiled
        for name, work in works.items():
            if turn < 2 or best[name].wall <= scale.patience:
                start = process_time()
                wall = seconds(work)
                best[name] = Times(min(best[name].wall, wall), min(best[name].processor, process_time() - start))
    return best


def per_call(work: Work, n_calls: int) -> Work:
    """The work done so many times, for what is too short to be timed alone."""

    def repeated() -> None:
        for _ in range(n_calls):
            work()

    return repeated


def estimation(fit: Work, scale: Scale, row: Any) -> float:
    """The seconds that the first answer after `fit` takes longer than the second: the estimates are made then."""
    extra = []
    for _ in range(scale.repeats):
        model = fit()
        first = seconds(lambda model=model: model.predict_proba(row))
        extra.append(first - seconds(lambda model=model: model.predict_proba(row)))
    return max(0.0, min(extra))


def memory_bandwidth(scale: Scale) -> float:
    """Bytes per second: the fastest that NumPy reads a large array, with all cores at it."""
    n_cores = os.cpu_count() or 1
    parts = np.array_split(np.ones(max(scale.rows(50_000_000), 4_000_000)), n_cores)
    with ThreadPoolExecutor(n_cores) as pool:
        times = side_by_side(
            FULL, sum=lambda: list(pool.map(np.sum, parts)), largest=lambda: list(pool.map(np.max, parts))
        )
    return sum(part.nbytes for part in parts) / min(times.values())


def run_process(arguments: list[str], variables: Mapping[str, str] | None = None) -> str:
    """Run a process to its end and give what it printed."""
    environment = {**os.environ, **(variables or {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what pip installs is compiled: so are we
    return subprocess.run(arguments, env=environment, check=True, capture_output=True, text=True).stdout


def run_python(code: str, variables: Mapping[str, str] | None = None) -> str:
    """Run some lines of Python in a fresh process."""
    return run_process([sys.executable, "-c", code], variables)
