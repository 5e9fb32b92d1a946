"""A fitted model in one neutral form: a start for each class, and for each column a table of what its cells add.

Every export reads this form and nothing else, so that they all say the same and have the same gaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from naively.errors import Gap, GapError
from naively.typing import FloatArray, Label

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

LARGEST = float(np.finfo(np.float64).max)
IMPOSSIBLE = 35.0
FARTHEST = 1e4
"""How a ``contrast`` makes evidence finite: see `Estimate.as_table`."""

FARTHEST_IN_FORMULA = 1e100
"""Databases and ONNX hold the numbers in formulas within so much, so that their squares can be added."""

OUT_OF_SCALE = "holds numbers too large, or too near to zero, for the arithmetic of other programs"


@dataclass(frozen=True)
class ColumnTable:
    """What the cells of one column add to the score of each class.

    Parameters
    ----------
    name : str
    kind : "labels", "steps", "curve", "formula" or "nothing"
    table : dict
        As `Estimate.as_table` gives it.
    missing : ndarray (classes,)
        What a missing cell adds.
    holds : str
        What the column held when it was learnt: "number", "truth", "label", "mixed", "date" or "time".
    least : float or None
        The least number that the column may hold; None for any number.
    part : "trend", "month", "weekday", "hour", "date", "time" or None
        Which part of a date is read: a column of dates has a table for each, which `Estimate.as_table` explains. "date"
        and "time" are the whole of it as text, where each is a label.
    """

    name: str
    kind: str
    table: Mapping[str, Any]
    missing: FloatArray
    holds: str
    least: float | None = None
    part: str | None = None

    @property
    def reads_labels(self) -> bool:
        """Whether cells are looked up among labels, and not read as numbers."""
        return self.kind == "labels"

    @property
    def contrast(self) -> tuple[FloatArray, FloatArray] | None:
        """The weights of centred evidence and what every known cell adds, (classes,) each; None: it counts as it is."""
        found = self.table.get("contrast")
        return None if found is None else (found["weights"], found["known"])


@dataclass(frozen=True)
class AdditiveForm:
    """A model as a sum: ``score = start + the tables of the columns``, and the probabilities are its softmax.

    Parameters
    ----------
    classes : list of labels
    prior : ndarray (classes,)
        The log-prior: the answer where every class is impossible.
    start : ndarray (classes,)
        The log-prior and the class bias.
    columns : sequence of ColumnTable
        In the order of the model's columns; those that say nothing included. A column of dates has several.
    named : bool
        Whether the columns have names of their own, or x0, x1, ...
    """

    classes: list[Label]
    prior: FloatArray
    start: FloatArray
    columns: Sequence[ColumnTable]
    named: bool

    @property
    def can_be_impossible(self) -> bool:
        """Whether some value may leave no class possible, so that the prior answers."""
        return bool(np.isneginf(self.start).any()) or any(_has_zero(column) for column in self.columns)

    @property
    def names(self) -> list[str]:
        """The names of the model's columns."""
        return list(dict.fromkeys(column.name for column in self.columns))

    @property
    def speaking(self) -> list[ColumnTable]:
        """The columns whose cells say something."""
        return [column for column in self.columns if column.kind != "nothing" or column.missing.any()]


def _has_zero(column: ColumnTable) -> bool:
    if column.contrast is not None:
        return False
    parts = [column.table.get("evidence"), column.table.get("unknown"), *column.table.get("parameters", {}).values()]
    return any(bool(np.isneginf(part).any()) for part in parts if part is not None)


def additive(model: NaiveBayes) -> AdditiveForm:
    """The additive form of a fitted model; a `GapError` says which part of it has none, and why.

    Parameters
    ----------
    model : NaiveBayes
    """
    model = model._taken()
    model._require_classes()
    scorer, logs = model._estimated()
    if not hasattr(scorer, "bias"):
        raise GapError(f"The recipe {model.recipe!r} has no additive form: it {POOLED.reason}.", POOLED.reason)
    if logs.ndim != 1:
        raise GapError("The prior differs by row, and an exported model has one.", "has a prior for each row")
    schema, n_classes = model.schema_, len(model.classes_)
    silence = np.zeros(n_classes)
    columns = [
        [ColumnTable(name, "nothing", {}, silence, kind)] for name, kind in zip(schema.names, schema.kinds, strict=True)
    ]
    for factor in scorer.factors:
        _refuse_joined(factor, schema.names)
        for place, table in zip(factor.members.tolist(), _tables(factor, schema.names), strict=True):
            columns[place] = _columns(schema.names[place], schema.kinds[place], table, factor.estimate, silence)
    start = logs if scorer.bias is None else logs + scorer.bias
    return AdditiveForm(model.classes_.tolist(), logs, start, list(chain.from_iterable(columns)), schema.named)


def refuse_scale(column: ColumnTable, least: float, most: float) -> None:
    """Refuse a column that was learnt at numbers nearer to zero, or farther from it, than an export computes with."""
    parts = (column.table.get(part, ()) for part in ("cuts", "knots"))
    sizes = np.abs(np.concatenate([np.ravel(part) for part in (*parts, *column.table.get("parameters", {}).values())]))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if not ((sizes >= least) & (sizes < most)).all():
        raise GapError(
            f"Column {column.name!r} cannot be exported so: it {OUT_OF_SCALE} ({sizes.min():g} to {sizes.max():g}). "
            "Rescale it.",
            OUT_OF_SCALE,
        )


def refuse_whole_dates(column: ColumnTable) -> None:
    """Refuse dates that are labels where nothing writes dates as the model does."""
    if column.part in ("date", "time"):
        raise GapError(
            f"Column {column.name!r} holds {column.part}s that are labels. Give it the family 'date', or turn them "
            "into text before fitting.",
            "holds dates as labels",
        )


def is_double(label: Label) -> bool:
    """Whether a label that is a number can be held by a float64 as it is."""
    return abs(label) <= LARGEST and float(label) == label  # type: ignore[arg-type]


POOLED = Gap("pools the additive model with experts that read several columns at once")
JOINED = Gap("reads several columns together, so that no column has a table of its own")


def _refuse_joined(factor: Any, names: Sequence[str]) -> None:
    if factor.joins:
        joined = ", ".join(repr(names[place]) for place in factor.members.tolist())
        raise GapError(f"The factor of the columns {joined} has no additive form: it {JOINED.reason}.", JOINED.reason)


def _tables(factor: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    try:
        tables: list[dict[str, Any]] = factor.estimate.as_table()
    except GapError as gap:
        name = names[int(factor.members[0])]
        raise GapError(
            f"Column {name!r} cannot be exported: {factor.family.name()!r} {gap.reason}. Give it another family, or "
            "leave it out.",
            gap.reason,
        ) from gap
    return tables


def _columns(name: str, holds: str, table: dict[str, Any], estimate: Any, silence: FloatArray) -> list[ColumnTable]:
    """The table of a column, or those of the parts of a date, of which the first has what a missing cell says."""
    least = float(np.nextafter(0.0, 1.0)) if estimate.positive else 0.0 if estimate.nonnegative else None
    missing = table.get("missing", silence)
    if table["kind"] == "curve" and not (np.diff(table["knots"]) > 0).all():
        raise GapError(f"Column {name!r} cannot be exported: it {OUT_OF_SCALE}. Rescale it.", OUT_OF_SCALE)
    if table["kind"] != "date":
        whole = holds if table["kind"] == "labels" and holds in ("date", "time") else None
        return [ColumnTable(name, table["kind"], table, missing, holds, least, whole)]
    parts = table["parts"] or {"hour": {"kind": "nothing"}}
    found = [ColumnTable(name, own["kind"], own, silence, holds, None, part) for part, own in parts.items()]
    return [replace(found[0], missing=missing), *found[1:]]
