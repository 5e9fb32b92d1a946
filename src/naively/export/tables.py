"""The statistics of a model as plain lists, dicts, strings and numbers, and back, with every check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from naively.export.texts import refuse_tokenizer, tokens_from, tokens_to_dict, view_from
from naively.export.values import (
    ascends,
    flag_from,
    floats_from,
    label_from,
    require,
    text_from,
    whole_from,
    whole_numbers_from,
)
from naively.families.kernel import FINE
from naively.statistics.base import Summary
from naively.statistics.counts import Counts
from naively.statistics.histogram import CAP, Histogram, Histograms, key_of
from naively.statistics.joint import JointSums
from naively.statistics.moments import Moments
from naively.statistics.statistics import ColumnStatistics
from naively.statistics.sums import Sum
from naively.statistics.tokens import Tokens
from naively.table.labels import label_order
from naively.typing import AnyArray

LARGEST = float(np.finfo(np.float64).max)

SPECIAL = ("labels", "numbers", "cuts", "most_cells", "view", "logs")
"""What only some summaries have."""

# -- writing --------------------------------------------------------------------------------------------------------


def sum_to_dict(values: Sum) -> dict[str, Any]:
    """A sum: shape, high and low parts, row by row."""
    low = None if values.low is None else values.low.ravel().tolist()
    return {"shape": list(values.shape), "high": values.high.ravel().tolist(), "low": low}


def summary_to_dict(summary: Summary) -> dict[str, Any]:
    """A summary; what only some have is left out of the others."""
    refuse_tokenizer(None if summary.view is None else summary.view.tokenizer)
    return {name: value for name, value in asdict(summary).items() if name not in SPECIAL or value}


def table_to_dict(summary: Summary, table: ColumnStatistics) -> dict[str, Any]:
    """The statistics of some columns."""
    common = {"summary": summary_to_dict(summary), "columns": list(table.columns)}
    if isinstance(table, Tokens):
        return {**common, "texts": [tokens_to_dict(one, sum_to_dict) for one in table.tables]}
    if isinstance(table, JointSums):
        return {
            **common,
            "categories": [list(labels) for labels in table.categories],
            "cells": table.cells.tolist(),
            **{name: sum_to_dict(getattr(table, name)) for name in ("weight", "total", "cross")},
            **peak_to_dict(table.peak),
        }
    if isinstance(table, Counts):
        return {
            **common,
            "categories": [list(labels) for labels in table.categories],
            "cells": sum_to_dict(table.cells),
        }
    if isinstance(table, Histograms):
        return {**common, "histograms": [_histogram_to_dict(one) for one in table.histograms]}
    parts = {"total": table.total, "observed": table.observed, "square": table.square}
    sums = {name: None if part is None else sum_to_dict(part) for name, part in parts.items()}
    logs = {} if table.log is None else {"log": sum_to_dict(table.log)}
    return {**common, **sums, **logs, **peak_to_dict(table.peak)}


def peak_to_dict(peak: AnyArray | None) -> dict[str, Any]:
    """The largest that sums have been, row by row; nothing where nothing was ever forgotten."""
    return {} if peak is None else {"peak": peak.ravel().tolist()}


def _histogram_to_dict(one: Histogram) -> dict[str, Any]:
    return {"level": one.level, "cap": one.cap, "keys": one.keys.tolist(), "counts": one.counts.ravel().tolist()}


# -- reading --------------------------------------------------------------------------------------------------------


def summary_from(entry: Any) -> Summary:
    """The inverse of `summary_to_dict`."""
    given = dict(entry)
    for name in ("labels", "numbers"):
        given[name] = tuple(text_from(member) for member in given.get(name, ()))
    cuts = given.get("cuts", ())
    given["cuts"] = tuple(None if one is None else tuple(floats_from(one, (len(one),)).tolist()) for one in cuts)
    summary = Summary(**{**given, "view": view_from(given.get("view"))})
    known = summary.kind in ("moments", "counts", "histogram", "joint", "tokens")
    require(known, f"unknown kind of statistics {summary.kind!r:.60}")
    for flag in (summary.observed, summary.squares, summary.nonnegative, summary.logs):
        flag_from(flag)
    require(summary.above is None or type(summary.above) in (int, float), "a threshold must be a number")
    require(summary.most_cells in (None, FINE), f"unknown size of a histogram {summary.most_cells!r:.60}")
    require((summary.kind == "tokens") == (summary.view is not None), "a summary of texts has a view, and no other")
    require((summary.kind == "joint") == bool(summary.members), "a joint summary has members, and no other")
    require(len(summary.cuts) in (0, len(summary.labels)), "as many cuts as labels")
    require(all(list(one) == sorted(set(one)) for one in summary.cuts if one is not None), "cuts must ascend")
    require(all(list(some) == sorted(set(some)) for some in (summary.labels, summary.numbers)), "members out of order")
    return summary


def table_from(entry: Mapping[str, Any], summary: Summary, n_classes: int) -> ColumnStatistics:
    """The inverse of `table_to_dict`."""
    columns = tuple(text_from(name) for name in entry["columns"])
    if summary.kind == "joint":
        require(columns == summary.members, "a joint table must have its members as columns")
        return _joint_from(entry, summary, n_classes)
    if summary.kind == "counts":
        categories = _categories_from(entry["categories"], len(columns))
        shape = (n_classes, sum(map(len, categories)))
        return Counts(columns, categories, sum_from(entry["cells"], shape, nonnegative=True))
    if summary.view is not None:
        require(len(entry["texts"]) == len(columns), "as many token tables as text columns")
        tables = tuple(tokens_from(one, n_classes, summary.view, sum_from) for one in entry["texts"])
        return Tokens(columns, n_classes, tables)
    if summary.kind == "histogram":
        require(len(entry["histograms"]) == len(columns), "as many histograms as columns")
        most = summary.most_cells or CAP
        histograms = tuple(_histogram_from(one, n_classes, most) for one in entry["histograms"])
        return Histograms(columns, histograms, n_classes)
    shape = (n_classes, len(columns))
    require((entry["observed"] is not None) == summary.observed, "'observed' does not fit the summary")
    require((entry["square"] is not None) == summary.squares, "'square' does not fit the summary")
    return Moments(
        columns,
        sum_from(entry["total"], shape, nonnegative=summary.nonnegative),
        sum_from(entry["observed"], shape, nonnegative=True) if summary.observed else None,
        sum_from(entry["square"], shape, nonnegative=True) if summary.squares else None,
        peak_from(entry, shape),
        sum_from(entry["log"], shape, nonnegative=False) if summary.logs else None,
    )


def peak_from(entry: Mapping[str, Any], shape: tuple[int, ...]) -> AnyArray | None:
    """The inverse of `peak_to_dict`; files that were written before there were peaks have none."""
    if "peak" not in entry:
        return None
    peak = floats_from(entry["peak"], shape)
    require(bool((peak >= 0).all()), "the largest weight or square is negative")
    return peak


def _categories_from(entry: Any, n_columns: int) -> tuple[tuple[Any, ...], ...]:
    categories = tuple(tuple(label_from(label) for label in labels) for labels in entry)
    require(len(categories) == n_columns, "as many lists of categories as columns")
    for labels in categories:
        require(list(labels) == sorted(set(labels), key=label_order), "categories must be sorted and distinct")
    return categories


def _joint_from(entry: Mapping[str, Any], summary: Summary, n_classes: int) -> JointSums:
    categories = _categories_from(entry["categories"], len(summary.labels))
    cells, n = entry["cells"], len(summary.numbers)
    require(cells == sorted(cells) and len(set(map(tuple, cells))) == len(cells), "cells must be sorted and distinct")
    for cell in cells:
        inside = len(cell) == len(categories) and all(
            type(code) is int and 0 <= code < len(labels) for code, labels in zip(cell, categories, strict=True)
        )
        require(inside, "a cell does not fit the categories")
    shape = (n_classes, len(cells))
    return JointSums(
        summary.labels,
        summary.numbers,
        categories,
        np.array(cells, dtype=np.int64).reshape(len(cells), len(categories)),
        sum_from(entry["weight"], shape, nonnegative=True),
        sum_from(entry["total"], (*shape, n), nonnegative=False),
        sum_from(entry["cross"], (*shape, n * (n + 1) // 2), nonnegative=False),
        peak_from(entry, (n_classes, n)),
    )


def _histogram_from(entry: Mapping[str, Any], n_classes: int, most_cells: int) -> Histogram:
    level, cap = whole_from(entry["level"], 0, 63), whole_from(entry["cap"], 1, most_cells)
    keys = whole_numbers_from(entry["keys"], np.int64)
    require(ascends(keys), "the keys of a histogram must ascend")
    require(len(keys) <= cap, "a histogram is too fine")
    lowest, highest = (int(key) >> level for key in key_of(np.array([-LARGEST, LARGEST])))
    require(len(keys) == 0 or (lowest <= keys[0] and keys[-1] <= highest), "a key of a histogram stands for no number")
    counts = floats_from(entry["counts"], (n_classes, len(keys)))
    require(bool((counts >= 0).all()), "a count is negative")
    return Histogram(level, keys, counts, cap)


def sum_from(entry: Mapping[str, Any], shape: tuple[int, ...], nonnegative: bool) -> Sum:
    """The inverse of `sum_to_dict`."""
    require(tuple(entry["shape"]) == shape, f"a table has the shape {entry['shape']!r:.60}, expected {list(shape)}")
    high = floats_from(entry["high"], shape)
    low = None if entry["low"] is None else floats_from(entry["low"], shape)
    require(not nonnegative or bool((high >= 0).all()), "a weight, count or square is negative")
    fits = low is None or bool((np.abs(low) <= np.spacing(np.abs(high))).all())
    require(fits, "the low part of a sum is larger than the rounding of its high part")
    return Sum(high, low)
