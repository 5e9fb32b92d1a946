"""What a record looks like that a model answers for, as JSON Schema, and what a user may note down about a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from naively._model.schema import Schema
from naively.errors import ParameterError, brief
from naively.typing import Label

if TYPE_CHECKING:
    from naively._scoring.model import Factor

DRAFT = "https://json-schema.org/draft/2020-12/schema"

MOST_LISTED = 100
"""A column with more labels than this has them not listed."""

TYPES: dict[str, list[str]] = {
    "number": ["number", "null"],
    "truth": ["boolean", "null"],
    "label": ["string", "null"],
    "text": ["string", "null"],
    "date": ["string", "null"],
    "time": ["string", "null"],
    "mixed": ["string", "number", "boolean", "null"],
    "empty": ["string", "number", "boolean", "null"],
}
"""What JSON calls the cells of each kind of column."""


def record_schema(schema: Schema, factors: Sequence[Factor]) -> dict[str, Any]:
    """The JSON Schema of one record.

    Parameters
    ----------
    schema : Schema
        The columns.
    factors : sequence of Factor
        Their estimates, which know the labels.
    """
    known = _labels(factors)
    cells = [_cell(kind, known.get(place, ())) for place, kind in enumerate(schema.kinds)]
    if not schema.named:
        size = {"minItems": len(cells), "maxItems": len(cells)}
        return {"$schema": DRAFT, "type": "array", "prefixItems": cells, **size}
    return {"$schema": DRAFT, "type": "object", "properties": dict(zip(schema.names, cells, strict=True))}


def _labels(factors: Sequence[Factor]) -> dict[int, list[Label]]:
    """The known labels of columns, by position."""
    return {
        member: factor.estimate.points(place, MOST_LISTED)
        for factor in factors
        if factor.estimate.kind == "label"
        for place, member in enumerate(factor.members.tolist())
    }


def _cell(kind: str, labels: Sequence[Label]) -> dict[str, Any]:
    anything: dict[str, Any] = {"type": TYPES[kind]}
    if kind in ("label", "mixed") and 0 < len(labels) <= MOST_LISTED:
        return {"anyOf": [{"enum": list(labels)}, anything]}
    return anything


def plain_notes(notes: Any) -> dict[str, Any]:
    """A user's notes as they will be read from a file again; what JSON cannot hold is refused."""
    if not isinstance(notes, Mapping) or not all(isinstance(name, str) for name in notes):
        raise ParameterError(f"notes must be a dict by names, got {brief(notes)}.")
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(notes), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            f"notes must hold texts, numbers, true, false, None, lists and dicts of these and nothing else: {error}."
        ) from error
    return plain
