"""Models from files, and files read as a model wants them."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from naively import NaiveBayes, load
from naively.cli._cells import Written
from naively.cli._reading import Source, did_you_mean, require_file
from naively.errors import ParameterError, listed

AS_TEXT = ("label", "text", "date", "time")


def load_model(path: str) -> NaiveBayes:
    """The model of a file."""
    require_file(path)
    return load(path)


def source_for(model: NaiveBayes, data: str, delimiter: str | None, encoding: str | None) -> Source:
    """A file, to be read as what the model has learnt: text stays text, and numbers must be numbers."""
    schema = model.schema_
    written: dict[str, Written] = {}
    for name, kind in zip(schema.names, schema.kinds, strict=True):
        written[name] = "number" if kind == "number" else "text" if kind in AS_TEXT else "nothing"
    if schema.set_aside and model.classes_.dtype.kind not in "iuf":
        written[target_of(model)] = "text"
    return Source(data, delimiter, encoding, written)


def target_of(model: NaiveBayes) -> str:
    """The column that held the classes when the model was fitted."""
    names = model.schema_.set_aside
    if not names:
        raise ParameterError("The model does not know which column holds the classes. Name it: --target COLUMN.")
    return names[-1]  # weights were set aside before


def class_named(model: NaiveBayes, name: str | None, option: str) -> Any:
    """The class that is written like this."""
    if name is None:
        return None
    named = {str(label): label for label in model.classes_.tolist()}
    if name not in named:
        near = did_you_mean(get_close_matches(name, list(named)))
        raise ParameterError(f"{option} {name} is no class.{near} The classes are {listed(named, 20)}.")
    return named[name]
