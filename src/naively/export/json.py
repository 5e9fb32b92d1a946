"""The model file: one JSON document with the schema and the statistics. Estimates are recomputed when it is read.

Format 1::

    {
      "format": "naively model", "version": 1,
      "content": {
        "parameters": {...},           the constructor's, families and smoothings as {"type", "options"}
        "columns": [{"name", "kind", "summaries"}, ...], "named": true,
        "classes": {"type": "str", "labels": [...], "declared": [...]},
        "class_weight": {"high": [...], "low": null},
        "tables": [{"summary", "columns", ...}, ...],    sums are {"shape", "high", "low"}, row by row
        "kept": null                   or the sample of rows: hashes, classes, weights and cells
      },
      "checksum": "sha256 of the content, written compactly with sorted keys"
    }

Numbers are written in the shortest form that reads back to the same 64-bit value, so a round trip is exact to the last
bit. Reading runs no code and checks everything: size, version, checksum, names, shapes, finiteness, signs.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from naively.engines.threads import thread_count
from naively.errors import ModelFileError, NaivelyError
from naively.families import FAMILIES, Family, Joint, Summary
from naively.families.counts import Counts
from naively.families.histograms import Histograms
from naively.families.joint_sums import JointSums
from naively.families.moments import Moments
from naively.histogram import Histogram
from naively.labels import label_order
from naively.recipes import as_recipe
from naively.reservoir import Reservoir
from naively.schema import Schema
from naively.smoothing import Dirichlet, ImaginarySample, Jeffreys, Laplace, Lidstone, MEstimate, NoSmoothing, Smoothing
from naively.statistics import ColumnStatistics, Statistics, refuse_impossible
from naively.sums import Sum
from naively.typing import AnyArray

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

FORMAT = "naively model"
VERSION = 1
LARGEST_FILE = 4 << 30

SMOOTHINGS: dict[str, type[Smoothing]] = {
    rule.__name__: rule for rule in (NoSmoothing, Laplace, Lidstone, Jeffreys, MEstimate, Dirichlet, ImaginarySample)
}
CLASS_TYPES = {"bool", "str", "object", "float32", "float64"}
CLASS_TYPES |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
JOINT_ONLY = ("labels", "numbers", "cuts")
KINDS = ("number", "truth", "label", "mixed", "empty")


# -- writing --------------------------------------------------------------------------------------------------------


def save(model: NaiveBayes, path: str | os.PathLike[str]) -> None:
    """Write a fitted model, replacing the file in one step: a reader sees the old one or the new one, never half."""
    content = model_to_content(model)
    document = {"format": FORMAT, "version": VERSION, "content": content, "checksum": _checksum(content)}
    target = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, allow_nan=False, separators=(",", ":"))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _checksum(content: Mapping[str, Any]) -> str:
    compact = json.dumps(content, allow_nan=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(compact.encode("utf-8")).hexdigest()


def model_to_content(model: NaiveBayes) -> dict[str, Any]:
    """All of a fitted model as plain lists, dicts, strings and numbers."""
    parameters = {name: _encoded(value, name) for name, value in model.get_params(deep=False).items()}
    statistics, schema = model.statistics_, model.schema_
    return {
        "parameters": parameters,
        "columns": [
            {"name": name, "kind": kind, "summaries": [_summary_to_dict(summary) for summary in summaries]}
            for name, kind, summaries in zip(schema.names, schema.kinds, schema.summaries, strict=True)
        ],
        "named": schema.named,
        "classes": {
            "type": _class_type(statistics.classes),
            "labels": statistics.classes.tolist(),
            "declared": model.declared_classes_.tolist(),
        },
        "class_weight": _sum_to_dict(statistics.class_weight),
        "tables": [_table_to_dict(summary, table) for summary, table in statistics.tables.items()],
        "kept": None if statistics.kept is None else _kept_to_dict(statistics.kept),
    }


def _encoded(value: Any, where: str) -> Any:
    """A parameter as JSON: families and smoothings by name and options, collections element by element."""
    if isinstance(value, Joint):
        return {"type": "joint", "options": value.options()}
    if isinstance(value, Family):
        return {"type": value.name(), "options": {k: _encoded(v, where) for k, v in value.options().items()}}
    if isinstance(value, Smoothing):
        options = {field.name: _encoded(getattr(value, field.name), where) for field in fields(value)}
        return {"type": type(value).__name__, "options": options}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {"type": "dict", "items": [[_encoded(k, where), _encoded(v, where)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return [_encoded(element, where) for element in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ModelFileError(f"The parameter {where!r} holds a {type(value).__name__}, which a model file cannot hold.")


def _class_type(classes: AnyArray) -> str:
    return "str" if classes.dtype.kind == "U" else classes.dtype.name


def _sum_to_dict(values: Sum) -> dict[str, Any]:
    low = None if values.low is None else values.low.ravel().tolist()
    return {"shape": list(values.shape), "high": values.high.ravel().tolist(), "low": low}


def _summary_to_dict(summary: Summary) -> dict[str, Any]:
    """A summary; what only joint ones have is left out of the others."""
    return {name: value for name, value in asdict(summary).items() if name not in JOINT_ONLY or value}


def _table_to_dict(summary: Summary, table: ColumnStatistics) -> dict[str, Any]:
    common = {"summary": _summary_to_dict(summary), "columns": list(table.columns)}
    if isinstance(table, JointSums):
        return {
            **common,
            "categories": [list(labels) for labels in table.categories],
            "cells": table.cells.tolist(),
            **{name: _sum_to_dict(getattr(table, name)) for name in ("weight", "total", "cross")},
        }
    if isinstance(table, Counts):
        return {
            **common,
            "categories": [list(labels) for labels in table.categories],
            "cells": _sum_to_dict(table.cells),
        }
    if isinstance(table, Histograms):
        return {**common, "histograms": [_histogram_to_dict(one) for one in table.histograms]}
    parts = {"total": table.total, "observed": table.observed, "square": table.square}
    return {**common, **{name: None if part is None else _sum_to_dict(part) for name, part in parts.items()}}


def _histogram_to_dict(one: Histogram) -> dict[str, Any]:
    return {"level": one.level, "cap": one.cap, "keys": one.keys.tolist(), "counts": one.counts.ravel().tolist()}


def _kept_to_dict(kept: Reservoir) -> dict[str, Any]:
    """The sample of rows; missing numbers are null."""
    return {
        "capacity": kept.capacity,
        "hashes": kept.hashes.tolist(),
        "codes": kept.codes.tolist(),
        "weights": kept.weights.tolist(),
        "columns": {
            name: {
                "numeric": cells.dtype.kind == "f",
                "cells": [None if value is None or value != value else value for value in cells.tolist()],
            }
            for name, cells in kept.columns.items()
        },
    }


# -- reading --------------------------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str], largest: int = LARGEST_FILE) -> NaiveBayes:
    """Read a model file.

    Parameters
    ----------
    path : str or path
    largest : int, default=4 GiB
        Refuse a larger file, in bytes.

    Returns
    -------
    NaiveBayes

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from naively import NaiveBayes, load
    >>> model = NaiveBayes().fit([[1.0], [2.0], [7.0]], ["a", "a", "b"])
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> model.save(file)
    >>> load(file).statistics_ == model.statistics_
    True
    """
    path = Path(path)
    size = path.stat().st_size
    if size > largest:
        raise ModelFileError(f"{path} has {size:,} bytes, more than the allowed {largest:,}. Raise load(largest=...).")
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant, parse_float=_finite)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelFileError(f"{path} is not a complete JSON file: {error}. It may be truncated.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a model file: its 'format' is not {FORMAT!r}.")
    if document.get("version") != VERSION:
        raise ModelFileError(
            f"{path} has the model file version {document.get('version')!r}; this program reads version {VERSION}. "
            "Update naively, or save the model again with the version that wrote it."
        )
    content = document.get("content")
    if not isinstance(content, dict) or document.get("checksum") != _checksum(content):
        raise ModelFileError(f"{path} was changed after it was written: its checksum does not fit its content.")
    try:
        return content_to_model(content)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError, NaivelyError) as error:
        raise ModelFileError(f"{path} does not hold a valid model: {type(error).__name__}: {error}") from error


def _finite(text: str) -> float:
    value = float(text)
    _require(math.isfinite(value), f"The file holds the number {text}, which is too large.")
    return value


def _refuse_constant(name: str) -> Any:
    raise ModelFileError(f"The file holds {name}, which no model file may.")


def content_to_model(content: Mapping[str, Any]) -> NaiveBayes:
    """The inverse of `model_to_content`, with every check."""
    from naively.classifier import NaiveBayes

    known = NaiveBayes().get_params(deep=False)
    parameters = {name: _decoded(value) for name, value in content["parameters"].items()}
    _require(
        parameters.keys() == known.keys(), f"unknown or absent parameters: {sorted(parameters.keys() ^ known.keys())}"
    )
    model = NaiveBayes(**parameters)
    names = tuple(_text(column["name"]) for column in content["columns"])
    kinds = tuple(_kind(column["kind"]) for column in content["columns"])
    summaries = tuple(tuple(_summary(entry) for entry in column["summaries"]) for column in content["columns"])
    _require(len(set(names)) == len(names) > 0, "column names must be distinct, and at least one")
    class_type = content["classes"]["type"]
    _require(class_type in CLASS_TYPES, f"unknown type of classes {class_type!r}")
    classes = np.array(content["classes"]["labels"], dtype=class_type)
    _require(
        classes.tolist() == content["classes"]["labels"] == sorted(set(classes.tolist())), "classes must be sorted"
    )
    declared = content["classes"]["declared"]
    _require(set(declared) <= set(classes.tolist()), "declared classes must be among the classes")
    weight = _sum_from(content["class_weight"], (len(classes),), nonnegative=True)
    summary_of = dict(zip(names, summaries, strict=True))
    tables: dict[Summary, ColumnStatistics] = {}
    for entry in content["tables"]:
        summary = _summary(entry["summary"])
        _require(summary not in tables, "two tables with one summary")
        tables[summary] = _table_from(entry, summary, len(classes))
        _require(
            all(summary in summary_of.get(name, ()) for name in tables[summary].columns),
            "a table does not fit the columns",
        )
    counted = {name for table in tables.values() for name in table.columns}
    _require(counted == {name for name, kept_of in summary_of.items() if kept_of}, "a column has no table")
    for summary, table in tables.items():
        refuse_impossible(summary, table, weight.high)
    thread_count(model.n_threads)
    kept = _kept_from(content["kept"], names, len(classes))
    schema = Schema(names, kinds, summaries, bool(content["named"]))
    declared_classes = np.array(declared, dtype=class_type) if declared else np.array([], dtype=object)
    model._replace(schema, Statistics(classes, weight, tables, kept), declared_classes)
    if as_recipe(model.recipe).tempering is None:
        model._estimated()  # cheap, and the parameters are checked against the columns; else when first asked
    return model


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(element) for element in value]
    if not isinstance(value, dict):
        return value
    name = value["type"]
    if name == "joint":
        options = dict(value["options"])
        return Joint(*options.pop("columns"), **options)
    if name == "dict":
        return {_decoded(key): _decoded(element) for key, element in value["items"]}
    factory: Any = FAMILIES.get(name) or SMOOTHINGS[name]
    return factory(**{key: _decoded(option) for key, option in value["options"].items()})


def _summary(entry: Any) -> Summary:
    given = dict(entry)
    for name in ("labels", "numbers"):
        given[name] = tuple(_text(member) for member in given.get(name, ()))
    cuts = given.get("cuts", ())
    given["cuts"] = tuple(None if one is None else tuple(_floats(one, (len(one),)).tolist()) for one in cuts)
    summary = Summary(**given)
    known = summary.kind in ("moments", "counts", "histogram", "joint")
    _require(known, f"unknown kind of statistics {summary.kind!r}")
    _require((summary.kind == "joint") == bool(summary.members), "a joint summary has members, and no other")
    _require(len(summary.cuts) in (0, len(summary.labels)), "as many cuts as labels")
    _require(all(list(one) == sorted(set(one)) for one in summary.cuts if one is not None), "cuts must ascend")
    _require(all(list(some) == sorted(set(some)) for some in (summary.labels, summary.numbers)), "members out of order")
    return summary


def _table_from(entry: Mapping[str, Any], summary: Summary, n_classes: int) -> ColumnStatistics:
    columns = tuple(_text(name) for name in entry["columns"])
    if summary.kind == "joint":
        _require(columns == summary.members, "a joint table must have its members as columns")
        return _joint_from(entry, summary, n_classes)
    if summary.kind == "counts":
        categories = _categories_from(entry["categories"], len(columns))
        shape = (n_classes, sum(map(len, categories)))
        return Counts(columns, categories, _sum_from(entry["cells"], shape, nonnegative=True))
    if summary.kind == "histogram":
        _require(len(entry["histograms"]) == len(columns), "as many histograms as columns")
        return Histograms(columns, tuple(_histogram_from(one, n_classes) for one in entry["histograms"]), n_classes)
    shape = (n_classes, len(columns))
    _require((entry["observed"] is not None) == summary.observed, "'observed' does not fit the summary")
    _require((entry["square"] is not None) == summary.squares, "'square' does not fit the summary")
    return Moments(
        columns,
        _sum_from(entry["total"], shape, nonnegative=summary.nonnegative),
        _sum_from(entry["observed"], shape, nonnegative=True) if summary.observed else None,
        _sum_from(entry["square"], shape, nonnegative=True) if summary.squares else None,
    )


def _categories_from(entry: Any, n_columns: int) -> tuple[tuple[Any, ...], ...]:
    categories = tuple(tuple(_label(label) for label in labels) for labels in entry)
    _require(len(categories) == n_columns, "as many lists of categories as columns")
    for labels in categories:
        _require(list(labels) == sorted(set(labels), key=label_order), "categories must be sorted and distinct")
    return categories


def _joint_from(entry: Mapping[str, Any], summary: Summary, n_classes: int) -> JointSums:
    categories = _categories_from(entry["categories"], len(summary.labels))
    cells, n = entry["cells"], len(summary.numbers)
    _require(cells == sorted(cells) and len(set(map(tuple, cells))) == len(cells), "cells must be sorted and distinct")
    for cell in cells:
        inside = len(cell) == len(categories) and all(
            type(code) is int and 0 <= code < len(labels) for code, labels in zip(cell, categories, strict=True)
        )
        _require(inside, "a cell does not fit the categories")
    shape = (n_classes, len(cells))
    return JointSums(
        summary.labels,
        summary.numbers,
        categories,
        np.array(cells, dtype=np.int64).reshape(len(cells), len(categories)),
        _sum_from(entry["weight"], shape, nonnegative=True),
        _sum_from(entry["total"], (*shape, n), nonnegative=False),
        _sum_from(entry["cross"], (*shape, n * (n + 1) // 2), nonnegative=False),
    )


def _histogram_from(entry: Mapping[str, Any], n_classes: int) -> Histogram:
    keys = np.array([int(key) for key in entry["keys"]], dtype=np.int64)
    _require(bool((np.diff(keys) > 0).all()), "the keys of a histogram must ascend")
    _require((0 <= entry["level"] < 64 and 0 < len(keys) <= entry["cap"]) or len(keys) == 0, "a histogram is too fine")
    counts = _floats(entry["counts"], (n_classes, len(keys)))
    _require(bool((counts >= 0).all()), "a count is negative")
    return Histogram(int(entry["level"]), keys, counts, int(entry["cap"]))


def _kept_from(entry: Mapping[str, Any] | None, names: tuple[str, ...], n_classes: int) -> Reservoir | None:
    if entry is None:
        return None
    hashes = np.array([int(value) for value in entry["hashes"]], dtype=np.uint64)
    n_rows = len(hashes)
    codes = np.array([int(value) for value in entry["codes"]], dtype=np.int64)
    weights = _floats(entry["weights"], (n_rows,))
    _require(len(codes) == n_rows and bool(((codes >= 0) & (codes < n_classes)).all()), "a kept row has no class")
    _require(bool((weights > 0).all()) and bool((np.diff(hashes.astype(object)) >= 0).all()), "kept rows out of order")
    columns: dict[str, AnyArray] = {}
    for name, column in entry["columns"].items():
        _require(name in names and len(column["cells"]) == n_rows, f"the kept cells of {name!r} do not fit")
        if column["numeric"]:
            known = _floats([0.0 if value is None else value for value in column["cells"]], (n_rows,))
            columns[name] = np.where([value is None for value in column["cells"]], np.nan, known)
        else:
            columns[name] = np.empty(n_rows, dtype=object)
            columns[name][:] = [None if value is None else _label(value) for value in column["cells"]]
    return Reservoir(int(entry["capacity"]), hashes, codes, weights, columns)


def _sum_from(entry: Mapping[str, Any], shape: tuple[int, ...], nonnegative: bool) -> Sum:
    _require(tuple(entry["shape"]) == shape, f"a table has the shape {entry['shape']}, expected {list(shape)}")
    high = _floats(entry["high"], shape)
    low = None if entry["low"] is None else _floats(entry["low"], shape)
    _require(not nonnegative or bool((high >= 0).all()), "a weight, count or square is negative")
    fits = low is None or bool((np.abs(low) <= np.spacing(np.abs(high))).all())
    _require(fits, "the low part of a sum is larger than the rounding of its high part")
    return Sum(high, low)


def _floats(values: Any, shape: tuple[int, ...]) -> Any:
    _require(isinstance(values, list) and all(type(value) in (int, float) for value in values), "numbers were expected")
    array = np.array(values, dtype=np.float64)
    _require(bool(np.isfinite(array).all()), "a number is not finite")
    return array.reshape(shape)


def _text(value: Any) -> str:
    _require(isinstance(value, str), f"text was expected, got {value!r}")
    return str(value)


def _label(value: Any) -> Any:
    _require(isinstance(value, (bool, int, float, str)), f"a label was expected, got {value!r}")
    return value


def _kind(value: Any) -> Any:
    _require(value in KINDS, f"unknown kind of column {value!r}")
    return value


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ModelFileError(message)
