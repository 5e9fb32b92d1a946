"""Compile the kernels ahead of time: a little work of every kind, with the compiled kernels alone."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from naively.errors import NaivelyWarning
from naively.statistics._histogram import SAMPLE_ROWS

N_ROWS = 200


def compile_kernels() -> Iterator[tuple[str, float]]:
    """Do a little of every kind of work, so that its kernels are compiled into Numba's cache.

    Yields
    ------
    work : str
        What was done.
    seconds : float
        How long it took: next to nothing where the code was there.
    """
    with _compiled_alone():
        for name, work in _works().items():
            start = time.perf_counter()
            work()
            yield name, time.perf_counter() - start


@contextmanager
def _compiled_alone() -> Iterator[None]:
    before = os.environ.get("NAIVELY_KERNELS")
    os.environ["NAIVELY_KERNELS"] = "compiled"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NaivelyWarning)  # of made-up rows; of the compiler it is said by its errors
            yield
    finally:
        if before is None:
            del os.environ["NAIVELY_KERNELS"]
        else:
            os.environ["NAIVELY_KERNELS"] = before


def _works() -> dict[str, Callable[[], Any]]:
    """Work of every kind, by what it is called."""
    random = np.random.default_rng(0)
    numbers = random.normal(size=(N_ROWS, 4))
    codes = random.integers(0, 5, (N_ROWS, 4))
    a, b = random.choice(list("xyz"), (2, N_ROWS))  # several columns of labels are counted together
    labels = {"a": a, "b": b, "n": numbers[:, 0], "k": codes[:, 0]}
    prose = {"t": [" ".join(random.choice(["one", "two", "trois", "vier", "cinque"], 12)) for _ in range(N_ROWS)]}
    y = (numbers[:, 0] > 0).astype(int)
    weights = random.uniform(0.5, 2.0, N_ROWS)
    holes = np.where(random.random(numbers.shape) < 0.1, np.nan, numbers)
    tables: dict[str, Any] = {
        "numbers": numbers,
        "numbers by column": np.asfortranarray(numbers),
        "single precision": numbers.astype(np.float32),
        "missing numbers": holes,
        "codes": codes,
        "bytes": codes.astype(np.uint8),
        "labels": labels,
        "prose": prose,
    }
    works: dict[str, Callable[[], Any]] = {}
    for name, table in tables.items():
        for recipe in ("textbook", "fast", "auto"):
            works[f"{name}, {recipe}"] = _fit(recipe, table, y)
            works[f"{name}, {recipe}, weights"] = _fit(recipe, table, y, weights)
    works["labels, strong"] = _fit("strong", labels, y)
    works["prose, strong"] = _fit("strong", prose, y)
    works |= _of_families(numbers, codes, y)
    works |= _of_long_columns(random)
    return works


def _of_long_columns(random: Any) -> dict[str, Callable[[], Any]]:
    """Columns with more values than a histogram has cells, close together and not; read-only ones, as Arrow's are."""
    works: dict[str, Callable[[], Any]] = {}
    n_rows = 3 * SAMPLE_ROWS
    for name, may_write in (("long columns", True), ("long columns of Arrow", False)):
        close = random.uniform(1.0, 2.0, n_rows)
        table = {"close": close, "apart": np.where(np.arange(n_rows) % 100 == 0, 1e100, 1.0) * close}
        for column in table.values():
            column.flags.writeable = may_write
        works[name] = _fit("auto", table, (close > 1.5).astype(int))
    return works


def _of_families(numbers: Any, codes: Any, y: Any) -> dict[str, Callable[[], Any]]:
    from scipy import sparse

    works: dict[str, Callable[[], Any]] = {}
    for family in ("studentt", "kernel", "binned"):
        works[f"numbers, {family}"] = _fit("textbook", numbers, y, families=family)
    for family in ("categorical", "multinomial", "bernoulli", "poisson"):
        works[f"codes, {family}"] = _fit("textbook", codes, y, families=family)
    for family in ("multinomial", "gaussian"):
        works[f"sparse, {family}"] = _fit("textbook", sparse.csr_array(codes.astype(float)), y, families=family)
    return works


def _fit(recipe: str, table: Any, y: Any, weights: Any = None, **parameters: Any) -> Callable[[], Any]:
    from naively.classifier import NaiveBayes

    return lambda: NaiveBayes(recipe, **parameters).fit(table, y, weights).predict(table)
