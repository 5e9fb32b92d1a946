"""Rows: the first answer of "auto" where a table has very many classes, columns, values or rows.

Each is measured in a process of its own: `fit` and the first `predict_proba`, by the clock, with the kernels loaded
before; and the most memory that the process held beyond what it held when the table was made.
"""

from __future__ import annotations

import json

from bench.measure import Scale, run_python
from bench.memory import PEAK
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
few = np.random.default_rng(0).normal(size=({warm_up}, 3))
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
    n_classes = scale.choose(1000, quick=30)
    n_rows = max(scale.rows(20_000), 4 * n_classes)
    shape, table = f"{size(n_classes)} classes x 10 numbers", f"numbers({n_rows}, 10, {n_classes})"
    return _first_answer(scale, shape, n_rows, table, 5, 500)


def growth_columns(scale: Scale) -> Result:
    """Two thousand columns of numbers."""
    n_rows, n_columns = scale.rows(4000), scale.choose(2000, quick=100)
    shape, table = f"2 classes x {size(n_columns)} numbers", f"numbers({n_rows}, {n_columns}, 2)"
    return _first_answer(scale, shape, n_rows, table, 4, 600)


def growth_sparse(scale: Scale) -> Result:
    """Five thousand columns of counts, most of them zero."""
    n_words = scale.choose(5000, quick=300)
    shape, table = f"2 classes x {size(n_words)} sparse counts", f"documents(200, {n_words}, 100, 2)"
    return _first_answer(scale, shape, 200, table, 2)


def growth_categories(scale: Scale) -> Result:
    """A column of labels, nearly each of which occurs twice."""
    n_values = scale.rows(100_000)
    shape, table = f"{size(n_values)} labels in a column", f"many_labels({2 * n_values}, {n_values})"
    return _first_answer(scale, shape, 2 * n_values, table, 1, 300)


def growth_rows(scale: Scale) -> Result:
    """A table of the usual shape."""
    n_rows = scale.rows(100_000)
    n_columns = scale.choose(30, quick=10)
    shape, table = f"10 classes x {n_columns} numbers", f"numbers({n_rows}, {n_columns}, 10)"
    return _first_answer(scale, shape, n_rows, table, 0.7)


def _first_answer(
    scale: Scale, shape: str, n_rows: int, table: str, most_seconds: float, most_mb: float | None = None
) -> Result:
    code = PROBE.format(table=table, recipes=["auto", "strong"], warm_up=scale.choose(3000, quick=200))
    found = json.loads(run_python(code, scale.kernels))
    (seconds, n_bytes), (of_strong, _) = found["auto"], found["strong"]
    memory = [] if most_mb is None else [at_most(most_mb, "MB", n_bytes / 1e6)]
    return Result(
        work=f"first answer of auto, {size(n_rows)} rows: {shape}",
        ours=seconds,
        targets=[at_most(most_seconds, "s", seconds), *memory],
        notes=f"{n_bytes / 1e6:.0f} MB beside the table; the first answer of strong takes {duration(of_strong)}",
    )
