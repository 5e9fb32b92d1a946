"""How often credible intervals hold the truth: `python -m bench.coverage`.

Tables are drawn from a naive Bayes of known parameters, so the true probability of every row is known. A model is
fitted to each, and asked for intervals of rows that it has not seen: of intervals of the level 0.9, nine in ten should
hold the truth. The error is that of the mean over tables.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

from naively import NaiveBayes
from naively.typing import FloatArray, IntArray

Columns = dict[str, list[float] | list[str]]

COLOURS = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
"""The probabilities of three labels in the two classes."""

ASKED = 200


def draw(rng: np.random.Generator, n: int, share: float = 0.4) -> tuple[Columns, IntArray, FloatArray]:
    """Rows of two normal columns and one of labels, their classes, and the true probability of the second class."""
    y = (rng.random(n) < share).astype(np.int64)
    means = np.array([[0.0, 0.0], [1.0, -0.7]])
    numbers = rng.normal(means[y])
    labels = np.array([rng.choice(3, p=COLOURS[label]) for label in y])
    scores = np.log(COLOURS[:, labels]).T - 0.5 * ((numbers[:, None] - means) ** 2).sum(axis=2)
    scores += np.log([1 - share, share])
    truth = 1.0 / (1.0 + np.exp(scores[:, 0] - scores[:, 1]))
    columns: Columns = {
        "a": numbers[:, 0].tolist(),
        "b": numbers[:, 1].tolist(),
        "colour": [f"c{one}" for one in labels],
    }
    return columns, y, truth


def coverage(recipe: str, n_rows: int, level: float, runs: int) -> tuple[float, float, float]:
    """The share of intervals that hold the truth, its standard error, and the mean width."""
    shares, widths = [], []
    for run in range(runs):
        rng = np.random.default_rng([n_rows, run])
        X, y, _ = draw(rng, n_rows)
        asked, _, truth = draw(rng, ASKED)
        low, high = NaiveBayes(recipe).fit(X, y).credible_interval(asked, level)[:, 1].T
        shares.append(float(np.mean((low <= truth) & (truth <= high))))
        widths.append(float(np.mean(high - low)))
    return float(np.mean(shares)), float(np.std(shares, ddof=1) / np.sqrt(runs)), float(np.mean(widths))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.coverage", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="tables of each size")
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 400], help="the sizes")
    parser.add_argument("--level", type=float, default=0.9)
    given = parser.parse_args()
    shown = Table("recipe", "rows", f"intervals of {given.level:g} that hold the truth", "error", "mean width")
    for recipe in ("textbook", "fast", "auto"):
        for n_rows in given.rows:
            held, error, width = coverage(recipe, n_rows, given.level, given.runs)
            shown.add_row(recipe, f"{n_rows:,}", f"{held:.3f}", f"{error:.3f}", f"{width:.3f}")
    Console(highlight=False).print(shown)


if __name__ == "__main__":
    main()
