"""Rows: the first answer of "auto" where a table has very many classes, columns, values or rows.

Each is measured in a process of its own: `fit` and the first `predict_proba`, by the clock, with the kernels loaded
before; and the most memory that the process held beyond what it held when the table was made.
"""

from __future__ import annotations

import json

from bench.measure import Scale, run_python
from bench.memory import COMPILED, PEAK
from bench.result import Result, at_most, duration, size

PROBE = (
    PEAK
    + """
import json, time, warnings
import numpy as np
from bench import data
from naively import NaiveBayes

warnings.simplefilter("ignore")  # such tables deserve a look, and are told so
X, y = data.{table}
few = np.random.default_rng(0).normal(size=(3000, 3))
for recipe in {recipes!r}:
    NaiveBayes(recipe).fit(few, few[:, 0] > 0).predict_proba(few[:1])
found = {{}}
for recipe in {recipes!r}:
    before, start = peak(), time.perf_counter()
    NaiveBayes(recipe).fit(X, y).predict_proba(X[:1])
    found[recipe] = (time.perf_counter() - start, peak() - before)
print(json.dumps(found))
"""
)


def growth_classes(scale: Scale) -> Result:
    """A thousand classes; the fewest rows are some of each."""
    n_rows = max(scale.rows(20_000), 4000)
    return _first_answer("1k classes x 10 numbers", n_rows, f"numbers({n_rows}, 10, 1000)", 5, 500)


def growth_columns(scale: Scale) -> Result:
    """Two thousand columns of numbers."""
    n_rows = scale.rows(4000)
    return _first_answer("2 classes x 2k numbers", n_rows, f"numbers({n_rows}, 2000, 2)", 4, 600)


def growth_sparse(_: Scale) -> Result:
    """Five thousand columns of counts, most of them zero."""
    return _first_answer("2 classes x 5k sparse counts", 200, "documents(200, 5000, 100, 2)", 2)


def growth_categories(scale: Scale) -> Result:
    """A column of labels, nearly each of which occurs twice."""
    n_values = scale.rows(100_000)
    return _first_answer(
        f"{size(n_values)} labels in a column", 2 * n_values, f"many_labels({2 * n_values}, {n_values})", 1, 300
    )


def growth_rows(scale: Scale) -> Result:
    """A table of the usual shape."""
    n_rows = scale.rows(100_000)
    return _first_answer("10 classes x 30 numbers", n_rows, f"numbers({n_rows}, 30, 10)", 0.7)


def _first_answer(shape: str, n_rows: int, table: str, most_seconds: float, most_mb: float | None = None) -> Result:
    found = json.loads(run_python(PROBE.format(table=table, recipes=["auto", "strong"]), COMPILED))
    (seconds, n_bytes), (of_strong, _) = found["auto"], found["strong"]
    memory = [] if most_mb is None else [at_most(most_mb, "MB", n_bytes / 1e6)]
    return Result(
        work=f"first answer of auto, {size(n_rows)} rows: {shape}",
        ours=seconds,
        targets=[at_most(most_seconds, "s", seconds), *memory],
        notes=f"{n_bytes / 1e6:.0f} MB beside the table; the first answer of strong takes {duration(of_strong)}",
    )
