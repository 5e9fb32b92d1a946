"""The model file: one JSON document with the schema, the statistics and, where evidence is weighed, the estimates.

The format::

    {
      "format": "naively model", "version": 4,
      "content": {
        "model": "NaiveBayes",         or "JointBayes", "TAN", or one of `naively.compat`: "e1071", ...
        "parameters": {...},           the constructor's, families and smoothings as {"type", "options"}
        "columns": [{"name", "kind", "summaries", "declared" (where a type's values count)}, ...], "named": true,
        "classes": {"type": "str", "labels": [...], "declared": [...]},
        "class_weight": {"high": [...], "low": null},
        "tables": [{"summary", "columns", ...}, ...],    sums are {"shape", "high", "low"}, row by row
        "peak": [...]                  the largest weight that each class has had, once rows were forgotten
        "kept": null                   or the sample of rows: threshold, hashes, classes, weights and cells
        "frozen": false,               whether the model only answers
        "class_rows": null             or, of a frozen model without statistics, what the prior is estimated from
        "estimates": null              or the parts that answers are computed from
        "about": {"naively", "learnt", "rows", "record", "notes"}
      },
      "checksum": "sha256 of the content, written compactly with sorted keys"
    }

Numbers are written in the shortest form that reads back to the same 64-bit value, so a round trip is exact to the last
bit. Reading runs no code and checks everything: size, version, checksum, names, shapes, finiteness, signs, and that the
kept rows are rows that the tables have counted.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from naively._common.by_label import by_label
from naively._export.estimates import UnwritableError, scorer_from, scorer_to_dict
from naively._export.files import AnyPath, read_bytes, replace_file, shown
from naively._export.kept import kept_from, kept_to_dict
from naively._export.tables import refuse_tokenizer, summary_from, summary_to_dict, table_from, table_to_dict
from naively._model.schema import Schema
from naively._model.state import as_it_is
from naively._text.analyzer import Analyzer
from naively._weighing.auto import Tempering
from naively.engines._threads import thread_count
from naively.errors import ModelFileError
from naively.families import from_written, to_written
from naively.recipes import Recipe, as_recipe
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
    StackedMEstimate,
)
from naively.statistics._plain import (
    flag_from,
    floats_from,
    label_from,
    peak_from,
    peak_to_dict,
    require,
    sum_from,
    sum_to_dict,
    text_from,
)
from naively.statistics._statistics import Statistics
from naively.statistics.base import Statistic, Summary
from naively.typing import AnyArray

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

FORMAT = "naively model"
VERSION = 4
LARGEST_FILE = 4 << 30
NEAR_THE_ENDS = 1024
"""The format is named among so many characters at the start of a file or, if its keys were sorted, at the end."""

SMOOTHINGS: dict[str, type[Smoothing]] = {
    rule.__name__: rule
    for rule in (
        *(NoSmoothing, Laplace, Lidstone, Jeffreys, MEstimate, StackedMEstimate),
        *(Dirichlet, Beta, PerColumn, ImaginarySample),
    )
}
MODELS = ("NaiveBayes", "JointBayes", "TAN")
OTHER_SYSTEMS = ("clop", "e1071", "klar", "naivebayes", "weka")
"""The models of `naively.compat`."""
CLASS_TYPES = {"bool", "str", "object", "float16", "float32", "float64"}
CLASS_TYPES |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
KINDS = ("number", "truth", "label", "text", "date", "time", "mixed", "empty")


# -- writing --------------------------------------------------------------------------------------------------------


def save(model: NaiveBayes, path: AnyPath) -> None:
    """Write a fitted model, replacing the file in one step: a reader sees the old one or the new one, never half."""
    content = {**model_to_content(model), "about": about(model)}
    document = {"format": FORMAT, "version": VERSION, "content": content, "checksum": _checksum(content)}

    def write(file: IO[str]) -> None:
        json.dump(document, file, allow_nan=False, separators=(",", ":"))

    replace_file(path, write, private=content["kept"] is not None)


def about(model: NaiveBayes) -> dict[str, Any]:
    """What is told about a model to those who find its file, and its user's notes."""
    from naively import __version__

    rows = float(model.class_count_.sum())
    record = model.json_schema() if len(model.classes_) else {}
    learnt = model._fitted().learnt
    return {"naively": __version__, "learnt": learnt, "rows": rows, "record": record, "notes": model.notes_}


def _checksum(content: Mapping[str, Any]) -> str:
    try:
        compact = json.dumps(content, allow_nan=False, separators=(",", ":"), sort_keys=True)
    except ValueError as error:
        raise ModelFileError("The model holds a number that is not finite, which a model file cannot hold.") from error
    return hashlib.sha256(compact.encode("utf-8")).hexdigest()


def model_to_content(model: NaiveBayes) -> dict[str, Any]:
    """All of a fitted model as plain lists, dicts, strings and numbers."""
    model = model._taken()  # one state, whatever other threads learn meanwhile
    parameters = {name: _encoded(value, name) for name, value in model.get_params(deep=False).items()}
    state = model._fitted()
    statistics, schema, declared = state.statistics, state.schema, state.declared
    return {
        "model": type(model).__name__,
        "parameters": parameters,
        "columns": [
            {"name": name, "kind": kind, "summaries": [summary_to_dict(summary) for summary in summaries]}
            | ({"declared": list(schema.declared[name])} if name in schema.declared else {})
            for name, kind, summaries in zip(schema.names, schema.kinds, schema.summaries, strict=True)
        ],
        "named": schema.named,
        "set_aside": list(schema.set_aside),
        "classes": {
            "type": _class_type(statistics.classes),
            "labels": statistics.classes.tolist(),
            "declared": declared.tolist(),
        },
        "class_weight": sum_to_dict(statistics.class_weight),
        **peak_to_dict(statistics.peak),
        "tables": [table_to_dict(summary, table) for summary, table in statistics.tables.items()],
        "kept": None if statistics.kept is None else kept_to_dict(statistics.kept),
        "frozen": state.frozen,
        "class_rows": None if state.class_rows is None else state.class_rows.tolist(),
        "estimates": _estimates(model),
    }


def _estimates(model: NaiveBayes) -> dict[str, Any] | None:
    """What a model that weighs evidence answers with; of others it is computed from the statistics in no time.

    A family that estimates what no file can hold is estimated again by a model that can: one that has its statistics.
    """
    if as_recipe(model.recipe).tempering is None or not len(model.classes_):
        return None
    scorer = model._estimated()[0]
    try:
        return scorer_to_dict(scorer)
    except UnwritableError as error:
        if not model.frozen_:
            return None
        raise ModelFileError(
            f"This model cannot be saved without its rows: {error}. Use families whose estimates are numbers only, or "
            "save it with its rows."
        ) from error


def _encoded(value: Any, where: str) -> Any:
    """A parameter as JSON: families and smoothings by name and options, collections element by element."""
    value = by_label(value, where)
    if (written := to_written(value)) is not None:
        name, options = written
        refuse_tokenizer(options.get("tokenizer"))
        refuse_tokenizer(options.get("analyzer"))
        return {"type": name, "options": {key: _encoded(option, where) for key, option in options.items()}}
    if isinstance(value, (Recipe, Tempering)):
        options = {field.name: _encoded(getattr(value, field.name), where) for field in fields(value)}
        return {"type": type(value).__name__, "options": options}
    if isinstance(value, Analyzer):
        return {"type": "Analyzer", "options": {name: _encoded(option, where) for name, option in value.options}}
    if isinstance(value, Smoothing):
        options = {field.name: _encoded(getattr(value, field.name), where) for field in fields(value) if field.init}
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
    name = "str" if classes.dtype.kind == "U" else classes.dtype.name
    require(name in CLASS_TYPES, f"The classes are of the type {name}, which a model file cannot hold.")
    return name


# -- reading --------------------------------------------------------------------------------------------------------


def load(path: AnyPath, largest: int = LARGEST_FILE) -> NaiveBayes:
    """Read a model file.

    Parameters
    ----------
    path : str or path
        A regular file: devices, pipes and directories are refused.
    largest : int, default=4 GiB
        Refuse a larger file, in bytes. Reading one takes up to some thirty times its size in memory.

    Returns
    -------
    NaiveBayes

    Raises
    ------
    ModelFileError
        If the file is no model file, or damaged, or does not hold a model that could have been learnt. Nothing of it
        is run. A path that is not there, or may not be read, is an `OSError` as usual.

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
    name = shown(path)
    content = _content(_parsed(read_bytes(path, largest), name), name)
    try:
        return content_to_model(content)
    except Exception as error:  # whatever goes wrong, it is the file's doing
        raise ModelFileError(f"{name} does not hold a valid model: {type(error).__name__}: {error}") from error


def _parsed(written: bytes, name: str) -> Any:
    """The JSON document of a file; of a file that says that it is another, no more is read."""
    try:
        text = written.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{name} is not a complete JSON file: {error}. It may be truncated.") from error
    if not any(FORMAT in part for part in (text[:NEAR_THE_ENDS], text[-NEAR_THE_ENDS:])):
        raise ModelFileError(f"{name} is not a model file: neither its start nor its end says {FORMAT!r}.")
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError, MemoryError) as error:  # ValueError: also a number of thousands of digits
        raise ModelFileError(f"{name} is not a complete JSON file: {error}. It may be truncated.") from error


def _content(document: Any, name: str) -> Mapping[str, Any]:
    """The content of a document, which must be of our format and version and unchanged."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(f"{name} is not a model file: its 'format' is not {FORMAT!r}.")
    if document.get("version") != VERSION or type(document["version"]) is not int:
        raise ModelFileError(
            f"{name} has the model file version {document.get('version')!r:.60}; this program reads version {VERSION}. "
            "Update naively, or save the model again with the version that wrote it."
        )
    content = document.get("content")
    content = content if isinstance(content, dict) else {}
    try:
        unchanged = document.get("checksum") == _checksum(content)
    except RecursionError as error:
        raise ModelFileError(f"{name} does not hold a valid model: it is nested too deeply.") from error
    if not unchanged:
        raise ModelFileError(f"{name} was changed after it was written: its checksum does not fit its content.")
    return content


def _finite(text: str) -> float:
    value = float(text)
    require(math.isfinite(value), f"The file holds the number {text}, which is too large.")
    return value


def _refuse_constant(name: str) -> Any:
    raise ModelFileError(f"The file holds {name}, which no model file may.")


def content_to_model(content: Mapping[str, Any]) -> NaiveBayes:
    """The inverse of `model_to_content`, with every check."""
    model = _model_from(content)
    schema = _schema_from(content)
    classes, declared = _classes_from(content["classes"])
    weight = sum_from(content["class_weight"], (len(classes),), nonnegative=True)
    frozen, class_rows = flag_from(content.get("frozen", False)), _class_rows_from(content, len(classes))
    tables = _tables_from(content["tables"], schema, len(classes), complete=class_rows is None)
    statistics = Statistics(classes, weight, tables, peak=peak_from(content, (len(classes),)))
    for summary, table in tables.items():
        table.check(summary, weight.high, statistics.largest_weight)
    if content["kept"] is not None:
        statistics = replace(statistics, kept=kept_from(content["kept"], schema, statistics))
    require(not frozen or content["kept"] is None, "a model that only answers keeps no rows")
    model._replace(schema, statistics, declared)
    model._notes, learnt = _told(content)
    model._state = replace(model._state, frozen=frozen, class_rows=class_rows, learnt=learnt)
    _read_estimates(model, content.get("estimates"))
    _refuse_misfit(model)
    return model


def _class_rows_from(content: Mapping[str, Any], n_classes: int) -> AnyArray | None:
    """The number of rows of each class, where a model that only answers has no statistics."""
    if content.get("class_rows") is None:
        return None
    require(content["frozen"] is True, "only a frozen model does without statistics")
    require(not content["tables"] and content.get("estimates") is not None, "a frozen model answers with its estimates")
    class_rows = floats_from(content["class_rows"], (n_classes,))
    require(bool((class_rows >= 0).all()), "a negative number of rows")
    return class_rows


def _told(content: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The user's notes, and when the last rows were learnt."""
    told = content.get("about", {})
    require(isinstance(told, dict), "notes were expected")
    notes, learnt = told.get("notes", {}), told.get("learnt")
    require(isinstance(notes, dict), "notes were expected")
    if learnt is not None:
        datetime.fromisoformat(text_from(learnt))
    return dict(notes), learnt


def _read_estimates(model: NaiveBayes, entry: Any) -> None:
    """Give a model the estimates of its file."""
    if entry is None:
        return
    require(as_recipe(model.recipe).tempering is not None, "the recipe weighs nothing, but the file has estimates")
    scorer = scorer_from(entry, model.schema_, len(model.classes_))
    model._state.estimates[0] = as_it_is(model._basis()), scorer


def _model_from(content: Mapping[str, Any]) -> NaiveBayes:
    """A model with the parameters of the file, and nothing learnt."""
    make = _model_class(content["model"])
    known = make().get_params(deep=False)
    parameters = {name: _decoded(value) for name, value in content["parameters"].items()}
    odd = sorted(parameters.keys() ^ known.keys())
    require(not odd, f"unknown or absent parameters: {odd!r:.200}")
    return make(**parameters)


def _schema_from(content: Mapping[str, Any]) -> Schema:
    columns = content["columns"]
    names = tuple(text_from(column["name"]) for column in columns)
    kinds = tuple(_kind(column["kind"]) for column in columns)
    summaries = tuple(tuple(summary_from(entry) for entry in column["summaries"]) for column in columns)
    require(len(set(names)) == len(names) > 0, "column names must be distinct, and at least one")
    declared = {one["name"]: tuple(map(label_from, one["declared"])) for one in columns if "declared" in one}
    beside = tuple(text_from(name) for name in content.get("set_aside", ()))
    return Schema(names, kinds, summaries, flag_from(content["named"]), declared, beside)


def _classes_from(entry: Mapping[str, Any]) -> tuple[AnyArray, AnyArray]:
    """The classes, and those of them that are declared."""
    kind, labels, declared = entry["type"], entry["labels"], entry["declared"]
    require(kind in CLASS_TYPES, f"unknown type of classes {kind!r:.60}")
    require(len({isinstance(label_from(label), str) for label in labels}) < 2, "classes must be of one type")
    classes = np.array(labels, dtype=kind)
    require(classes.tolist() == labels == sorted(set(labels)), "classes must be sorted")
    require(set(declared) <= set(labels), "declared classes must be among the classes")
    return classes, np.array(declared, dtype=kind) if declared else np.array([], dtype=object)


def _tables_from(entries: Any, schema: Schema, n_classes: int, complete: bool) -> dict[Summary, Statistic]:
    """The statistics of all columns, each of which must have just the tables that it needs, if they are complete."""
    summaries_of = dict(zip(schema.names, schema.summaries, strict=True))
    tables: dict[Summary, Statistic] = {}
    for entry in entries:
        summary = summary_from(entry["summary"])
        require(summary not in tables, "two tables with one summary")
        tables[summary] = table_from(entry, summary, n_classes)
        columns = tables[summary].columns
        require(len(set(columns)) == len(columns), "a table has a column twice")
        fits = all(summary in summaries_of.get(name, ()) for name in columns)
        require(fits, "a table does not fit the columns")
    for name, needed in summaries_of.items() if complete else ():
        there = all(summary in tables and name in tables[summary].columns for summary in needed)
        require(there, f"column {name!r} has no table")
    return tables


def _refuse_misfit(model: NaiveBayes) -> None:
    """Refuse parameters that make no sense for what was learnt, as the first answer would."""
    recipe = as_recipe(model.recipe)
    thread_count(model.n_threads)
    require(bool(np.isfinite(model.class_prior_).all()), "the prior is not finite")
    if model._fitted().class_rows is not None:
        return
    if recipe.tempering is None:
        model._estimated()
        return
    families = model._checked_families(recipe)  # and no more: the weights are fitted when first asked for
    model._refuse_unweighable(model.schema_.names, families, recipe)
    model._refuse_unread_smoothing(recipe)
    model._smoothings(model.schema_.names, recipe)
    if model.kept_rows is not None:
        model._checked_kept_rows()


def _model_class(name: Any) -> type[NaiveBayes]:
    """The class of a model: one of ours, and no other."""
    import naively

    require(name in (*MODELS, *OTHER_SYSTEMS), f"unknown kind of model {name!r}")
    found: type[NaiveBayes] = getattr(naively.compat if name in OTHER_SYSTEMS else naively, name)
    return found


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(element) for element in value]
    if not isinstance(value, dict):
        return value
    name = value["type"]
    if name == "dict":
        return {_decoded(key): _decoded(element) for key, element in value["items"]}
    options = {key: _decoded(option) for key, option in value["options"].items()}
    if (family := from_written(name, options)) is not None:
        return family
    if name == "Analyzer":
        return Analyzer.from_options(options.items())
    others: dict[str, Any] = {"Recipe": Recipe, "Tempering": Tempering}
    factory: Any = others.get(name) or SMOOTHINGS[name]
    return factory(**options)


def _kind(value: Any) -> Any:
    require(value in KINDS, f"unknown kind of column {value!r}")
    return value
