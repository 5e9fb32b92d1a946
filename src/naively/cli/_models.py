"""Models from files, and files read as a model wants them."""

from __future__ import annotations

from naively import NaiveBayes, load
from naively.cli._cells import Written
from naively.cli._reading import Source, require_file
from naively.errors import ParameterError

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
