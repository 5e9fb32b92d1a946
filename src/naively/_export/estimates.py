"""Estimates in the model file: what answers are computed from, part by part, so that a loaded model answers at once.

Each part is a dataclass of a fixed list, written as its fields; a part that several others hold is written once. Arrays
are the bytes of their numbers, in base64. When read, every field must have the type that its class declares, every part
must pass the check of its kind, and the whole must answer for a few rows before anything else may use it.
"""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from naively._common.read_only import fields_of
from naively._export.estimate_checks import CHECKS, Known, check_scorer
from naively._model.schema import Schema
from naively._scoring.model import Factor, LeftOutRows, Scorer
from naively._table.read import read_table
from naively._text.analyzer import Analyzer
from naively._text.tokenise import View
from naively._weighing import (
    additive,
    boosted,
    experts,
    forest,
    joint_gaussian,
    networks,
    pool,
    similar,
    strong,
    terms,
    text,
    text_pool,
    trees,
    words,
)
from naively._weighing.scorer import PooledScorer
from naively._weighing.sources import EstimatedNumbers, WeighedEstimate
from naively.errors import ModelFileError
from naively.families import FAMILIES, Family, from_written, to_written
from naively.families._categorical import LabelTables
from naively.families._curves import Curve, Curves
from naively.families._poisson import minus_log_factorial
from naively.statistics._plain import require
from naively.statistics._sums import Sum
from naively.statistics._tokens import TokenTable, Vocabulary
from naively.typing import AnyArray

OF_OURS = (
    *(Factor, LeftOutRows, Curve, Curves, LabelTables, PooledScorer, EstimatedNumbers, WeighedEstimate),
    *(
        View,
        Analyzer,
        Vocabulary,
        TokenTable,
        Sum,
        text.TokenScores,
        text.TextEvidence,
        text.WeighedText,
        text_pool.TextPool,
    ),
    *(terms.Term, terms.TextTerm, terms.FamilyTerm, terms.PartTerm, additive.Reweighted, experts.AdditiveExpert),
    *(experts.GaussianExpert, joint_gaussian.JointGaussian, joint_gaussian.JointMoments, joint_gaussian.Rescaling),
    *(forest.ForestExpert, boosted.BoostedExpert, trees.Features, trees.Trees, words.WordExpert, words.WordFeatures),
    *(similar.SimilarRowsExpert, similar.Resemblance, similar.Coordinates, networks.NetworksExpert, networks.Inputs),
    *(pool.LogPool, strong.StrongModel),
)
NUMBERS = ("<f8", "<f4", "<i8", "<i4", "<u8", "|u1", "|b1")
"""The types of arrays."""

FUNCTIONS = {"minus_log_factorial": minus_log_factorial}
"""The functions that an estimate may hold, by the names that they have in a file."""

LEFT_OUT = {"PooledScorer": {"weighed"}, "TextEvidence": {"kept"}}
"""Fields that are not written: what was fitted on."""

LATER = {"View": ("entities",)}
"""Fields that files of earlier versions do not have: nothing, then."""

MOST_PARTS = 1_000_000


def part_types() -> dict[str, type]:
    """The classes that a file may name: ours, and what the registered families estimate."""
    return {kind.__name__: kind for kind in (*OF_OURS, *_family_estimates(tuple(FAMILIES.values())))}


@cache
def _family_estimates(families: tuple[type[Family], ...]) -> tuple[type, ...]:
    found: list[type] = []
    for family in families:
        returned = get_type_hints(family.estimate)["return"]
        kinds = get_args(returned) if get_origin(returned) in (Union, UnionType) else (returned,)
        found += [kind for kind in kinds if isinstance(kind, type) and is_dataclass(kind)]
    return tuple(found)


class UnwritableError(ModelFileError):
    """An estimate holds what a file cannot: a function, say."""


# -- writing --------------------------------------------------------------------------------------------------------


def scorer_to_dict(scorer: Scorer | PooledScorer) -> dict[str, Any]:
    """All that a scorer answers with as plain values."""
    writer = _Writer()
    if isinstance(scorer, PooledScorer):
        whole = {"pooled": writer.value(scorer)}
    else:
        whole = {name: writer.value(getattr(scorer, name)) for name in ("factors", "bias", "left_out")}
    return {"parts": writer.parts, "whole": whole}


class _Writer:
    """Writes values; a dataclass becomes a part, the first time that it is met."""

    def __init__(self) -> None:
        self.parts: list[dict[str, Any]] = []
        self._places: dict[int, tuple[int, Any]] = {}  # with the object, so that no other gets its place in memory
        self._types = part_types()

    def value(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise UnwritableError("an estimate holds a number that is not finite")
            return value
        if isinstance(value, np.ndarray):
            return _array_to_dict(value)
        if isinstance(value, (tuple, list)):
            return [self.value(element) for element in value]
        if isinstance(value, Mapping):
            return {"items": [[self.value(key), self.value(element)] for key, element in value.items()]}
        if (written := to_written(value)) is not None:
            name, options = written
            return {"family": name, "options": {key: self.value(option) for key, option in options.items()}}
        if callable(value) and not is_dataclass(value):  # parts of a model can be called, too
            return {"function": _name_of(value)}
        return {"part": self._part(value)}

    def _part(self, value: Any) -> int:
        if id(value) not in self._places:
            name = type(value).__name__
            if self._types.get(name) is not type(value):
                raise UnwritableError(f"an estimate holds a {name}, which a model file cannot hold")
            hidden = LEFT_OUT.get(name, ())
            given = {one: self.value(getattr(value, one)) for one in fields_of(value) if one not in hidden}
            self._places[id(value)] = len(self.parts), value
            self.parts.append({"type": name, **given})
        return self._places[id(value)][0]


def _name_of(function: Any) -> str:
    for name, known in FUNCTIONS.items():
        if known is function:
            return name
    raise UnwritableError("an estimate holds a function, which a model file cannot hold")


def _array_to_dict(array: AnyArray) -> dict[str, Any]:
    array = np.ascontiguousarray(array) if array.ndim else array
    kind = array.dtype.newbyteorder("<").str
    if kind not in NUMBERS or (array.dtype.kind == "f" and not np.isfinite(array).all()):
        raise UnwritableError("an estimate holds an array of other things than finite numbers")
    data = base64.b64encode(array.astype(kind, copy=False).tobytes()).decode("ascii")
    return {"array": kind, "shape": list(array.shape), "bytes": data}


# -- reading --------------------------------------------------------------------------------------------------------


def scorer_from(entry: Mapping[str, Any], schema: Schema, n_classes: int) -> Scorer | PooledScorer:
    """The inverse of `scorer_to_dict`, with every check."""
    reader = _Reader(Known(n_classes, len(schema.names)))
    reader.read(entry["parts"])
    whole = entry["whole"]
    scorer: Scorer | PooledScorer
    if "pooled" in whole:
        pooled = reader.value(whole["pooled"])
        if not isinstance(pooled, PooledScorer):
            raise ModelFileError("an answer needs a pool")
        scorer = pooled
    else:
        factors, bias, left_out = (reader.value(whole[name]) for name in ("factors", "bias", "left_out"))
        require(isinstance(factors, tuple) and all(isinstance(one, Factor) for one in factors), "factors were expected")
        require(bias is None or isinstance(bias, np.ndarray), "a bias was expected")
        require(isinstance(left_out, LeftOutRows), "left-out rows were expected")
        scorer = Scorer(factors, schema.names, n_classes, bias)
        scorer.left_out = left_out
    check_scorer(scorer, schema, n_classes)
    _probe(scorer, schema, n_classes)
    return scorer


class _Reader:
    """Reads values, and checks each part as soon as it is whole."""

    def __init__(self, known: Known):
        self._known, self._parts, self._types = known, list[Any](), part_types()

    def read(self, entries: Any) -> None:
        """Read the parts, each of which names only parts before it."""
        require(isinstance(entries, list) and len(entries) <= MOST_PARTS, "parts were expected")
        for entry in entries:
            self._parts.append(self._part(dict(entry)))

    def value(self, entry: Any) -> Any:
        if isinstance(entry, list):
            return tuple(self.value(element) for element in entry)
        if not isinstance(entry, dict):
            return entry
        if "array" in entry:
            return _array_from(entry)
        if "part" in entry:
            place = entry["part"]
            require(type(place) is int and 0 <= place < len(self._parts), "a part that is not there")
            return self._parts[place]
        if "function" in entry:
            return FUNCTIONS[entry["function"]]
        if "items" in entry:
            return {self.value(key): self.value(element) for key, element in entry["items"]}
        options = {key: self.value(option) for key, option in entry["options"].items()}
        family = from_written(entry["family"], options)
        require(to_written(family) is not None, "a family was expected")
        return family

    def _part(self, entry: dict[str, Any]) -> Any:
        kind = self._types.get(entry.pop("type"))
        require(kind is not None, "an unknown part")
        assert kind is not None
        given = {name: self.value(value) for name, value in entry.items()}
        hints = _hints(kind)
        later = dict.fromkeys(LATER.get(kind.__name__, ()), ())
        given = {**later, **given}
        require(given.keys() == hints.keys() - LEFT_OUT.get(kind.__name__, set()), "a part has other fields")
        given = {name: _named(value, hints[name]) for name, value in given.items()}
        for name, value in given.items():
            require(_fits(value, hints[name]), f"{kind.__name__}.{name} is of another type")
        part = kind(**given)
        if (check := CHECKS.get(kind.__name__)) is not None:
            require(bool(check(part, self._known)), f"a {kind.__name__} that does not fit")
        return part


def _array_from(entry: Mapping[str, Any]) -> AnyArray:
    kind, shape = entry["array"], entry["shape"]
    require(kind in NUMBERS, "an array of an unknown type")
    require(isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape), "a shape was expected")
    data = base64.b64decode(entry["bytes"], validate=True)
    require(len(data) == math.prod(shape) * np.dtype(kind).itemsize, "an array does not have its shape")
    array = np.frombuffer(data, dtype=kind).reshape(shape)
    require(array.dtype.kind != "f" or bool(np.isfinite(array).all()), "a number is not finite")
    require(kind != "|b1" or bool((array.view(np.uint8) <= 1).all()), "true or false was expected")
    return array.copy()


@cache
def _hints(kind: type) -> dict[str, Any]:
    """What the fields of a part are declared to be."""
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind) if one.init}


def _named(value: Any, hint: Any) -> Any:
    """A tuple under the names that it was declared to have: a file holds all tuples as lists."""
    for kind in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            declared = get_type_hints(kind).values()
            fits = len(value) == len(kind._fields) and all(map(_fits, value, declared))
            require(fits, f"a {kind.__name__} of other things")
            return kind(*value)
    return value


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type; what the type leaves open is for the checks of the part."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in arguments)
    if hint is type(None):
        return value is None
    if hint is float:
        return type(value) in (int, float)
    if hint in (bool, int, str):
        return type(value) is hint
    if origin is np.ndarray:
        return _fits_array(value, arguments)
    if origin in (tuple, list, Sequence) or getattr(origin, "__name__", "") == "Sequence":
        inside = arguments[0]
        return isinstance(value, tuple) and all(_fits(element, inside) for element in value)
    if origin is dict or hint is dict:
        return isinstance(value, dict) and all(isinstance(name, str) for name in value)
    if hint is Any:
        return True
    if origin is Callable:
        return isinstance(value, Analyzer) or value in FUNCTIONS.values()
    if getattr(origin, "__name__", "") == "Literal":
        return value in arguments
    if not isinstance(hint, type) or getattr(hint, "_is_protocol", False):  # an expert, or what has evidence
        return is_dataclass(value) and not isinstance(value, type)
    return isinstance(value, hint)


def _fits_array(value: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether a value is an array of what is declared: of float64, of int64, or of anything."""
    if not isinstance(value, np.ndarray):
        return False
    declared = get_args(arguments[1]) if len(arguments) > 1 else ()
    return not declared or declared[0] is Any or bool(np.issubdtype(value.dtype, declared[0]))


def _probe(scorer: Scorer | PooledScorer, schema: Schema, n_classes: int) -> None:
    """Let the scorer answer for a few rows: what it cannot read, or answers with anything but numbers, is refused."""
    labels = {
        member: factor.estimate.points(place, 2)
        for factor in scorer.factors
        if factor.estimate.kind == "label"
        for place, member in enumerate(factor.members.tolist())
    }
    columns = {
        name: _probing_cells(kind, labels.get(place, ()))
        for place, (name, kind) in enumerate(zip(schema.names, schema.kinds, strict=True))
    }
    table, positions = read_table(columns), None  # which has the columns of the model, in their order
    found = np.full((table.n_rows, n_classes), np.nan)

    def finish(scores: AnyArray, rows: slice) -> None:
        found[rows] = scores

    scorer.run(table, positions, finish, 1)
    evidence = scorer.evidence(table, positions)
    require(evidence.shape == (table.n_rows, len(scorer.names), n_classes), "evidence of another shape")
    require(bool(np.isfinite(found).all() and np.isfinite(evidence).all()), "an answer that is not finite")


def _probing_cells(kind: str, labels: Sequence[Any]) -> list[Any]:
    """A missing cell, and some that are known."""
    if kind == "number":
        return [None, 1.0, 1e6] if not labels else [None, float(labels[0]), float(labels[-1])]
    if kind == "truth":
        return [None, True, False]
    if kind in ("date", "time"):
        dates = [datetime.datetime(1969, 12, 31, 23), datetime.datetime(2024, 2, 29, 12)]
        return [None, *(date.time() if kind == "time" else date for date in dates)]
    if kind == "empty":
        return [None, None, None]
    known = [label for label in labels if isinstance(label, str)]
    return [None, *known[:1], *known[-1:], "a word or two", "never seen before"][:3]
