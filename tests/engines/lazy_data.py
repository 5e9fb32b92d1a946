"""Odd rows for all engines: names, types and cells that have tripped one of them or another."""

from decimal import Decimal

import numpy as np
import pyarrow as pa

NAMES = {
    "plain": "plain",
    "far": 'a "quoted" name; drop table t',
    "sparse": "select",
    "whole": "dots. and spaces",
    "label": "größe ✓",
    "truth": "it's true",
    "wide": "wide",
    "amount": "amount",
}


def odd_rows(n: int = 400, seed: int = 0, classes=("no", "yes", "it's")) -> dict[str, np.ndarray]:
    """Columns by name: numbers near and far from zero, NaN beside NULL, labels, booleans, whole numbers, weights."""
    rng = np.random.default_rng(seed)
    y = rng.choice(np.array(classes, dtype=object), n)
    shift = np.where(y == classes[0], 0.0, 3.0)
    columns = {
        "plain": rng.normal(shift, 1.0),
        "far": 1e8 + rng.normal(shift, 1.0),
        "sparse": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        "whole": rng.integers(-3, 9, n),
        "label": rng.choice(np.array(["red", "green", "", "naïve", None], dtype=object), n),
        "truth": rng.choice(np.array([True, False, None], dtype=object), n),
        "wide": 2**53 + rng.integers(0, 3, n),
        "amount": rng.integers(0, 1000, n),
    }
    named = {NAMES[name]: cells for name, cells in columns.items()}
    return {**named, "class": y, "weight": rng.integers(0, 4, n).astype(np.float64)}


def arrow_table(columns: dict[str, np.ndarray]) -> pa.Table:
    """The rows as an Arrow table: a third of the missing numbers is NULL, the others are NaN."""
    types = {NAMES["truth"]: pa.bool_(), NAMES["label"]: pa.string(), "class": pa.string()}
    arrays = {}
    for name, cells in columns.items():
        if cells.dtype == object:
            arrays[name] = pa.array(cells.tolist(), type=types.get(name))
        elif cells.dtype.kind == "f":
            mask = np.isnan(cells) & (np.arange(len(cells)) % 3 == 0)
            arrays[name] = pa.array(cells, mask=mask)
        else:
            arrays[name] = pa.array(cells)
    table = pa.table(arrays)
    if NAMES["amount"] in columns:
        place = table.column_names.index(NAMES["amount"])
        cells = [Decimal(int(cell)) / 4 for cell in columns[NAMES["amount"]]]
        table = table.set_column(place, NAMES["amount"], pa.array(cells, type=pa.decimal128(12, 2)))
    return table
