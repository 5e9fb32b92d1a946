"""The model file: one JSON document with the schema and the statistics. Estimates are recomputed when it is read.

Format 1::

    {
      "format": "naively model", "version": 1,
      "content": {
        "model": "NaiveBayes",         or "JointBayes", "TAN"
        "parameters": {...},           the constructor's, families and smoothings as {"type", "options"}
        "columns": [{"name", "kind", "summaries", "declared" (where a type's values count)}, ...], "named": true,
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
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from naively.engines.threads import thread_count
from naively.errors import ModelFileError, NaivelyError
from naively.export.tables import (
    kept_from,
    kept_to_dict,
    label_from,
    require,
    sum_from,
    sum_to_dict,
    summary_from,
    summary_to_dict,
    table_from,
    table_to_dict,
    text_from,
)
from naively.export.texts import refuse_tokenizer
from naively.families import FAMILIES, ByKind, Family, Joint, Summary
from naively.recipes import as_recipe
from naively.schema import Schema
from naively.smoothing import (
    Beta,
    Dirichlet,
    ImaginarySample,
    Jeffreys,
    Laplace,
    Lidstone,
    MEstimate,
    NoSmoothing,
    PerColumn,
    Smoothing,
)
from naively.statistics import ColumnStatistics, Statistics, refuse_impossible
from naively.typing import AnyArray

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

FORMAT = "naively model"
VERSION = 1
LARGEST_FILE = 4 << 30

SMOOTHINGS: dict[str, type[Smoothing]] = {
    rule.__name__: rule
    for rule in (*(NoSmoothing, Laplace, Lidstone, Jeffreys, MEstimate), *(Dirichlet, Beta, PerColumn, ImaginarySample))
}
MODELS = ("NaiveBayes", "JointBayes", "TAN")
CLASS_TYPES = {"bool", "str", "object", "float32", "float64"}
CLASS_TYPES |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
KINDS = ("number", "truth", "label", "text", "mixed", "empty")


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
    model = model._taken()  # one state, whatever other threads learn meanwhile
    parameters = {name: _encoded(value, name) for name, value in model.get_params(deep=False).items()}
    statistics, schema = model.statistics_, model.schema_
    return {
        "model": type(model).__name__,
        "parameters": parameters,
        "columns": [
            {"name": name, "kind": kind, "summaries": [summary_to_dict(summary) for summary in summaries]}
            | ({"declared": list(schema.declared[name])} if name in schema.declared else {})
            for name, kind, summaries in zip(schema.names, schema.kinds, schema.summaries, strict=True)
        ],
        "named": schema.named,
        "classes": {
            "type": _class_type(statistics.classes),
            "labels": statistics.classes.tolist(),
            "declared": model.declared_classes_.tolist(),
        },
        "class_weight": sum_to_dict(statistics.class_weight),
        "tables": [table_to_dict(summary, table) for summary, table in statistics.tables.items()],
        "kept": None if statistics.kept is None else kept_to_dict(statistics.kept),
    }


def _encoded(value: Any, where: str) -> Any:
    """A parameter as JSON: families and smoothings by name and options, collections element by element."""
    if isinstance(value, Joint):
        return {"type": "joint", "options": value.options()}
    if isinstance(value, (Family, ByKind)):
        refuse_tokenizer(getattr(value, "tokenizer", None))
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
    require(math.isfinite(value), f"The file holds the number {text}, which is too large.")
    return value


def _refuse_constant(name: str) -> Any:
    raise ModelFileError(f"The file holds {name}, which no model file may.")


def content_to_model(content: Mapping[str, Any]) -> NaiveBayes:
    """The inverse of `model_to_content`, with every check."""
    make = _model_class(content["model"])
    known = make().get_params(deep=False)
    parameters = {name: _decoded(value) for name, value in content["parameters"].items()}
    require(
        parameters.keys() == known.keys(), f"unknown or absent parameters: {sorted(parameters.keys() ^ known.keys())}"
    )
    model = make(**parameters)
    names = tuple(text_from(column["name"]) for column in content["columns"])
    kinds = tuple(_kind(column["kind"]) for column in content["columns"])
    summaries = tuple(tuple(summary_from(entry) for entry in column["summaries"]) for column in content["columns"])
    require(len(set(names)) == len(names) > 0, "column names must be distinct, and at least one")
    class_type = content["classes"]["type"]
    require(class_type in CLASS_TYPES, f"unknown type of classes {class_type!r}")
    classes = np.array(content["classes"]["labels"], dtype=class_type)
    require(classes.tolist() == content["classes"]["labels"] == sorted(set(classes.tolist())), "classes must be sorted")
    declared = content["classes"]["declared"]
    require(set(declared) <= set(classes.tolist()), "declared classes must be among the classes")
    weight = sum_from(content["class_weight"], (len(classes),), nonnegative=True)
    summary_of = dict(zip(names, summaries, strict=True))
    tables: dict[Summary, ColumnStatistics] = {}
    for entry in content["tables"]:
        summary = summary_from(entry["summary"])
        require(summary not in tables, "two tables with one summary")
        tables[summary] = table_from(entry, summary, len(classes))
        require(
            all(summary in summary_of.get(name, ()) for name in tables[summary].columns),
            "a table does not fit the columns",
        )
    counted = {name for table in tables.values() for name in table.columns}
    require(counted == {name for name, kept_of in summary_of.items() if kept_of}, "a column has no table")
    for summary, table in tables.items():
        refuse_impossible(summary, table, weight.high)
    thread_count(model.n_threads)
    kept = kept_from(content["kept"], names, len(classes))
    listed = {one["name"]: tuple(map(label_from, one["declared"])) for one in content["columns"] if "declared" in one}
    schema = Schema(names, kinds, summaries, bool(content["named"]), listed)
    declared_classes = np.array(declared, dtype=class_type) if declared else np.array([], dtype=object)
    model._replace(schema, Statistics(classes, weight, tables, kept), declared_classes)
    if as_recipe(model.recipe).tempering is None:
        model._estimated()  # cheap, and the parameters are checked against the columns; else when first asked
    return model


def _model_class(name: Any) -> type[NaiveBayes]:
    """The class of a model: one of ours, and no other."""
    import naively

    require(name in MODELS, f"unknown kind of model {name!r}")
    found: type[NaiveBayes] = getattr(naively, name)
    return found


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
    factory: Any = ByKind if name == ByKind.name() else FAMILIES.get(name) or SMOOTHINGS[name]
    return factory(**{key: _decoded(option) for key, option in value["options"].items()})


def _kind(value: Any) -> Any:
    require(value in KINDS, f"unknown kind of column {value!r}")
    return value
