"""How the work and the sums of a partition grow with rows, columns, classes, categories and partitions.

``python -m bench.scale`` prints the tables of docs/scale.md. Seconds are those of the processor, of one thread, so that
a busy machine does not change them much; bytes are those that cross the wire.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Sequence
from time import process_time
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from rich.console import Console

from naively import NaiveBayes
from naively.engines._partitions import PartitionCounter, packed, repacked

CONSOLE = Console(width=140, highlight=False)


class Shape(NamedTuple):
    """A partition: so many rows, numeric and categorical columns, classes and values of each categorical column."""

    rows: int = 200_000
    numbers: int = 20
    categories: int = 10
    classes: int = 3
    values: int = 50


def partition(shape: Shape, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    labels = pa.array([f"value {code}" for code in range(shape.values)])
    columns = {f"n{j}": rng.normal(size=shape.rows) for j in range(shape.numbers)}
    columns |= {
        f"c{j}": labels.take(pa.array(rng.integers(0, shape.values, shape.rows))) for j in range(shape.categories)
    }
    return pa.table({**columns, "class": np.arange(shape.rows) % shape.classes})


def counter(table: pa.Table, recipe: str) -> PartitionCounter:
    model = NaiveBayes(recipe).fit(table.slice(0, 5000), "class")
    kept = 0 if recipe == "textbook" else 4096
    return PartitionCounter(model.schema_, "class", None, kept)


def measured(shape: Shape, recipe: str, repeats: int) -> tuple[float, int]:
    """The seconds of a partition, the best of some, and the bytes of its sum."""
    table = partition(shape)
    count = counter(table, recipe)
    best, size = float("inf"), 0
    for _ in range(1 + repeats):
        start = process_time()
        size = len(packed(count, [table]))
        best = min(best, process_time() - start)
    return best, size


def growth(name: str, shapes: Sequence[Shape], recipe: str, repeats: int) -> None:
    CONSOLE.print(f"\n{recipe}: {name}\n\n| {name} | CPU s | ns per row | bytes of the sum |\n|---|---|---|---|")
    for shape in shapes:
        seconds, size = measured(shape, recipe, repeats)
        asked = getattr(shape, name)
        CONSOLE.print(f"| {asked:,} | {seconds:.3f} | {seconds / shape.rows * 1e9:,.0f} | {size:,} |")


def merging(recipe: str, n_parts: int, shape: Shape) -> None:
    """The seconds to merge the sums of so many partitions, unpacking included."""
    part = packed(counter(partition(shape), recipe), [partition(shape)])
    parts = [part] * n_parts
    start = process_time()
    whole = repacked(parts)
    seconds = process_time() - start
    assert pickle.loads(whole).class_weight.high.sum() == n_parts * shape.rows
    CONSOLE.print(f"| {recipe} | {n_parts:,} | {seconds:.3f} | {seconds / n_parts * 1e6:,.0f} | {len(whole):,} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small partitions: does it run?")
    quick = parser.parse_args().quick
    base, repeats = (Shape(rows=2000), 1) if quick else (Shape(), 3)
    for recipe in ("textbook", "auto"):
        growth("rows", [base._replace(rows=base.rows * n) for n in (1, 2, 4)], recipe, repeats)
        growth("numbers", [base._replace(numbers=n) for n in (10, 20, 40)], recipe, repeats)
        growth("classes", [base._replace(classes=n) for n in (3, 30, 300)], recipe, repeats)
        growth("values", [base._replace(values=n) for n in (50, 500, 5000)], recipe, repeats)
    CONSOLE.print("\n| recipe | sums merged | CPU s | µs each | bytes of the result |\n|---|---|---|---|---|")
    for recipe in ("textbook", "auto"):
        for n_parts in (32, 128) if quick else (32, 512):
            merging(recipe, n_parts, base._replace(rows=2000))


if __name__ == "__main__":
    main()
