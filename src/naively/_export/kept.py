"""The sample of rows in the model file.

What a recipe does with the rows relies on their fitting the rest of the model: every value was counted, every class is
there. A file of which this is not so is refused when it is read, and not by some later answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from naively._model.schema import Schema
from naively.recipes import MOST_KEPT
from naively.statistics._kept_rows import LARGEST_HASH, KeptRows
from naively.statistics._plain import (
    flag_from,
    floats_from,
    label_from,
    require,
    text_from,
    whole_from,
    whole_numbers_from,
)
from naively.statistics._statistics import Statistics
from naively.typing import AnyArray, IntArray

# -- writing --------------------------------------------------------------------------------------------------------


def kept_to_dict(kept: KeptRows) -> dict[str, Any]:
    """The sample of rows; missing numbers are null."""
    return {
        "capacity": int(kept.capacity),
        "threshold": int(kept.threshold),
        "class_thresholds": {str(code): int(limit) for code, limit in kept.class_thresholds.items()},
        "hashes": kept.hashes.tolist(),
        "codes": kept.codes.tolist(),
        "weights": kept.weights.tolist(),
        "occurrences": kept.occurrences.tolist(),
        "columns": {
            name: {
                "numeric": cells.dtype.kind == "f",
                "cells": [None if value is None or value != value else value for value in cells.tolist()],
            }
            for name, cells in kept.columns.items()
        },
    }


# -- reading --------------------------------------------------------------------------------------------------------


def kept_from(entry: Mapping[str, Any], schema: Schema, statistics: Statistics) -> KeptRows:
    """The inverse of `kept_to_dict`, for a model with these columns and, but for the sample, these statistics."""
    capacity = whole_from(entry["capacity"], 1, MOST_KEPT)
    hashes = whole_numbers_from(entry["hashes"], np.uint64)
    n_rows = len(hashes)
    codes = whole_numbers_from(entry["codes"], np.int64)
    require(len(codes) == n_rows, "as many classes as kept rows")
    require(bool(((codes >= 0) & (codes < len(statistics.classes))).all()), "a kept row has no class")
    weights = floats_from(entry["weights"], (n_rows,))
    require(bool((weights >= 0).all()), "a kept row has a negative weight")
    of_class = np.bincount(codes, weights=weights, minlength=len(statistics.classes))
    # Plain sums may round, but not to twice what they are.
    require(bool((of_class <= 2 * statistics.class_weight.high).all()), "kept rows weigh more than all rows")
    occurrences = _occurrences_from(entry, weights)
    threshold = _threshold_from(entry, hashes, weights, statistics)
    class_thresholds = _class_thresholds_from(entry, threshold, len(statistics.classes))
    _refuse_disorder(hashes, codes)
    names = {name: place for place, name in enumerate(schema.names)}
    require(entry["columns"].keys() <= names.keys(), "kept cells of a column that is not there")
    columns = {name: _cells_from(column, schema, names[name], n_rows) for name, column in entry["columns"].items()}
    _refuse_uncounted(columns, statistics)
    kept = KeptRows(capacity, hashes, codes, weights, occurrences, columns, threshold, class_thresholds)
    require(bool((hashes <= kept.limits(threshold, class_thresholds)).all()), "a kept row is above its threshold")
    require(len(kept.within_capacity()) == n_rows, "more kept rows than places for them")
    return kept


def _occurrences_from(entry: Mapping[str, Any], weights: AnyArray) -> IntArray:
    """How often each row was learnt; files from before this was counted tell its weight only."""
    if "occurrences" not in entry:
        return np.maximum(np.round(weights), 1.0).astype(np.int64)
    occurrences = whole_numbers_from(entry["occurrences"], np.int64)
    require(len(occurrences) == len(weights), "as many numbers of occurrences as kept rows")
    require(bool((occurrences >= 1).all()), "a kept row that was never learnt")
    return occurrences


def _class_thresholds_from(entry: Mapping[str, Any], threshold: int, n_classes: int) -> dict[int, int]:
    """The thresholds of the classes; files that were written before there were any had one for all."""
    if "class_thresholds" not in entry:
        return {} if threshold == LARGEST_HASH else dict.fromkeys(range(n_classes), threshold)
    given = {text_from(code): whole_from(limit, 0, LARGEST_HASH) for code, limit in entry["class_thresholds"].items()}
    require(given.keys() <= {str(code) for code in range(n_classes)}, "the threshold of a class that is not there")
    return {int(code): limit for code, limit in given.items()}


def _threshold_from(entry: Mapping[str, Any], hashes: AnyArray, weights: AnyArray, statistics: Statistics) -> int:
    """The threshold; files that were written before there was one kept all rows up to the last, or all rows."""
    last = int(hashes[-1]) if len(hashes) else 0
    if "threshold" in entry:
        return whole_from(entry["threshold"], 0, LARGEST_HASH)
    all_kept = weights.sum() >= statistics.class_weight.high.sum() * (1 - 1e-9)
    return LARGEST_HASH if all_kept else last


def _refuse_disorder(hashes: AnyArray, codes: IntArray) -> None:
    """Rows stand in the order of their hashes, those with equal hashes in that of their classes, each once."""
    new = hashes[1:] > hashes[:-1]
    ascending = new | ((hashes[1:] == hashes[:-1]) & (codes[1:] > codes[:-1]))
    require(bool(ascending.all()), "kept rows out of order")


def _cells_from(entry: Mapping[str, Any], schema: Schema, place: int, n_rows: int) -> AnyArray:
    """The kept cells of a column: numbers, texts or labels, as the column is read."""
    name, cells = schema.names[place], entry["cells"]
    numeric = flag_from(entry["numeric"])
    require(isinstance(cells, list) and len(cells) == n_rows, f"the kept cells of {name!r} do not fit")
    require(numeric == schema.is_numeric(place), f"the kept cells of {name!r} are of another kind than the column")
    if numeric:
        known = floats_from([0.0 if value is None else value for value in cells], (n_rows,))
        return np.where([value is None for value in cells], np.nan, known)
    read = text_from if schema.is_text(place) else label_from
    result = np.empty(n_rows, dtype=object)
    result[:] = [None if value is None else read(value) for value in cells]
    return result


def _refuse_uncounted(columns: Mapping[str, AnyArray], statistics: Statistics) -> None:
    """Refuse rows with values that the tables do not know: they would have counted them."""
    for table in statistics.tables.values():
        for name in filter(columns.__contains__, table.columns):
            require(table.knows(name, columns[name]), f"a kept row has a value in {name!r} that was not counted")
