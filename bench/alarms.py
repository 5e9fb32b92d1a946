"""How often tests raise an alarm where nothing is the matter: `python -m bench.alarms`.

Tables are drawn in which columns are independent given the class, or two tables from the same source, in situations
that mislead tests: few rows in a cell, heavy tails, mostly zeros, counts that come in bursts. Of p-values that are
right, one in twenty is below .05; of lists that are adjusted for their length at most one in twenty holds such a one.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from naively import NaiveBayes, diagnostics, drift
from naively.typing import AnyArray, FloatArray

Draw = Callable[[np.random.Generator, int], AnyArray]

ROWS_OF_DRIFT = 500


def numbers(rng: np.random.Generator, n: int) -> AnyArray:
    return rng.normal(size=(n, 2))


def labels(rng: np.random.Generator, n: int, *, values: int) -> AnyArray:
    return rng.integers(0, values, (n, 2)).astype(str)


def rare_labels(rng: np.random.Generator, n: int) -> AnyArray:
    """Many of few rows: the n-th label comes up as often as Zipf says."""
    return np.minimum(rng.zipf(1.5, (n, 2)), 50).astype(str)


INDEPENDENT: dict[str, tuple[Draw, int, int]] = {
    "two numbers, 4 classes, 100 rows": (numbers, 4, 100),
    "two numbers, 10 classes, 200 rows": (numbers, 10, 200),
    "2 x 2 labels, 40 rows": (partial(labels, values=2), 2, 40),
    "10 x 10 labels, 200 rows": (partial(labels, values=10), 2, 200),
    "50 x 50 labels, 500 rows": (partial(labels, values=50), 2, 500),
    "labels as Zipf has them, 300 rows": (rare_labels, 2, 300),
}
"""What is drawn, of how many classes and rows."""

UNMOVED: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], FloatArray], str]] = {
    "normal": (lambda rng, shape: rng.normal(size=shape), "gaussian"),
    "exponential": (lambda rng, shape: rng.exponential(size=shape), "gaussian"),
    "lognormal": (lambda rng, shape: rng.lognormal(size=shape), "gaussian"),
    "lognormal, sigma 1.5": (lambda rng, shape: rng.lognormal(sigma=1.5, size=shape), "gaussian"),
    "Student's t, 3 degrees": (lambda rng, shape: rng.standard_t(3, size=shape), "gaussian"),
    "95 % zeros": (lambda rng, shape: (rng.random(shape) >= 0.95) * rng.exponential(size=shape), "gaussian"),
    "over-dispersed counts": (lambda rng, shape: rng.poisson(rng.gamma(0.5, 4, shape)) * 1.0, "poisson"),
    "words in bursts": (lambda rng, shape: (rng.random(shape) < 0.1) * rng.poisson(10.0, shape) * 1.0, "multinomial"),
}
"""What five columns hold before and after, and the family that reads them."""


def p_of_independence(draw: Draw, n_classes: int, n: int, rng: np.random.Generator) -> float:
    a, b = draw(rng, n).T
    return float(diagnostics.independence(a, b, rng.integers(0, n_classes, n)).p_value)


def p_of_dependence(n: int, rng: np.random.Generator) -> float:
    """The least of the p-values of six pairs of columns, times their number."""
    X, y = rng.normal(size=(n, 4)), rng.integers(0, 4, n)
    found = diagnostics.dependence(NaiveBayes("textbook").fit(X, y), X, y)["p_value"]
    return float(min(found)) * len(found)


def p_of_compare(
    draw: Callable[[np.random.Generator, tuple[int, int]], FloatArray], family: str, rng: np.random.Generator
) -> float:
    def fitted() -> NaiveBayes:
        return NaiveBayes("textbook", families=family).fit(
            draw(rng, (ROWS_OF_DRIFT, 5)), rng.integers(0, 2, ROWS_OF_DRIFT)
        )

    before = fitted()
    rows = draw(rng, (ROWS_OF_DRIFT, 5)), rng.integers(0, 2, ROWS_OF_DRIFT)
    return float(np.nanmin(drift.compare(before, *rows).frame()["p_adjusted"].astype(float)))


def p_of_check(
    recipe: str, draw: Callable[[np.random.Generator, tuple[int, int]], FloatArray], rng: np.random.Generator
) -> float:
    y = rng.integers(0, 2, ROWS_OF_DRIFT)
    model = NaiveBayes(recipe).fit(draw(rng, (ROWS_OF_DRIFT, 5)), y)
    found = drift.check(model, draw(rng, (ROWS_OF_DRIFT, 5))).frame()["p_adjusted"].astype(float)
    return float(np.nanmin(found))


def questions() -> Iterator[tuple[str, str, Callable[[np.random.Generator], float]]]:
    """What is asked, of which rows, and the p-value of one draw of them."""
    for name, (rows, n_classes, n) in INDEPENDENT.items():
        yield "diagnostics.independence", name, partial(p_of_independence, rows, n_classes, n)
    for n in (100, 300):
        yield "diagnostics.dependence", f"four numbers, 4 classes, {n} rows", partial(p_of_dependence, n)
    for name, (cells, family) in UNMOVED.items():
        yield "drift.compare", name, partial(p_of_compare, cells, family)
    for recipe in ("textbook", "fast"):
        for name, (cells, _) in UNMOVED.items():
            yield f"drift.check, {recipe}", name, partial(p_of_check, recipe, cells)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.alarms", description=__doc__)
    parser.add_argument("--runs", type=int, default=400, help="tables of each kind")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    shown = Table("asked", "rows in which nothing is the matter", "p < .05", "p < .01", "error")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, (asked, name, p_value) in enumerate(questions()):
            rng = np.random.default_rng([given.seed, place])
            found = np.array([p_value(rng) for _ in range(given.runs)])
            error = np.sqrt(0.05 * 0.95 / given.runs)
            shown.add_row(asked, name, f"{np.mean(found < 0.05):.3f}", f"{np.mean(found < 0.01):.3f}", f"{error:.3f}")
    Console(highlight=False, width=110).print(shown)


if __name__ == "__main__":
    main()
