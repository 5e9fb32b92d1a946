"""A fitted model at a glance: its classes and its columns, from what was counted alone, so that it is there at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._table.results import SHOWN_ROWS, Columns, Result, Shown, as_cell, more
from naively.errors import listed


@dataclass(frozen=True)
class SummaryColumn:
    """What is known of a column.

    Parameters
    ----------
    name : str
    holds : str
        "number", "label", "truth", "text", "mixed" or "empty".
    family : str
        What it is read as; "ignored" if it is not read.
    missing : float
        The share of the rows in which it is missing; NaN where that is not counted.
    values : str
        Its range, or its most frequent values.
    """

    name: str
    holds: str
    family: str
    missing: float
    values: str


class ModelSummary(Result):
    """What a model has learnt, in a few lines; its `frame` has a row for each column.

    Parameters
    ----------
    title : str
    classes : dict
        The prior of each class.
    columns : tuple of SummaryColumn
    """

    def __init__(self, title: str, classes: dict[Any, float], columns: tuple[SummaryColumn, ...]):
        self.title, self.classes, self.columns = title, classes, columns

    def _columns(self) -> Columns:
        names = {"column": "name", "holds": "holds", "family": "family", "missing": "missing", "values": "values"}
        return {
            head: ("f" if head == "missing" else "O", [getattr(one, field) for one in self.columns])
            for head, field in names.items()
        }

    def _shown(self) -> Shown:
        lines = [["column", "holds", "family", "missing", "values"]]
        for one in self.columns[:SHOWN_ROWS]:
            missing = "" if one.missing != one.missing else f"{one.missing:.0%}"
            lines.append([one.name, one.holds, one.family, missing, one.values])
        shares = [f"{label} {share:.1%}" for label, share in list(self.classes.items())[:SHOWN_ROWS]]
        rest = more(len(self.classes) - len(shares), "classes")
        title = f"{self.title}\nclasses: {', '.join(shares)}{' ' + rest if rest else ''}"
        return Shown(lines, (3,), title, more(len(self.columns) - SHOWN_ROWS, "columns"))


def summary(model: Any) -> ModelSummary:
    """The summary of a fitted model: see `NaiveBayes.summary`."""
    from naively.analysis._check import values_by_column

    schema, frozen = model.schema_, model.frozen_
    families = dict.fromkeys(schema.names) if frozen else model.families_
    held = {} if frozen else values_by_column(model.statistics_)
    rows = None if frozen else float(model.class_count_.sum())
    columns = []
    for name, kind in zip(schema.names, schema.kinds, strict=True):
        family, values = families[name], held.get(name)
        missing = float("nan") if values is None or not rows else max(1 - float(values.weights.sum()) / rows, 0.0)
        said = "" if frozen else "ignored" if family is None else family.name()
        columns.append(SummaryColumn(name, kind, said, missing, "" if values is None else _in_words(values)))
    prior = model.class_prior_
    classes = model.classes_.tolist()
    shares = dict(zip(classes, prior.tolist() if prior.ndim == 1 else [float("nan")] * len(classes), strict=True))
    counted = "" if rows is None else f", {as_cell(rows)} rows"
    recipe = model.recipe if isinstance(model.recipe, str) else type(model.recipe).__name__
    title = f"{type(model).__name__}, recipe {recipe!r}{counted}, {len(columns)} columns, {len(classes)} classes"
    return ModelSummary(title, shares, tuple(columns))


def _in_words(values: Any) -> str:
    """The range of numbers, or the most frequent labels."""
    known, weight = values.values, values.weights.sum(axis=0)
    if isinstance(known, np.ndarray) and known.dtype.kind == "f":
        known, weight = known[weight > 0], weight[weight > 0]
        return f"{known[0]:.6g} to {known[-1]:.6g}" if len(known) else ""
    order = np.argsort(-weight, kind="stable")
    return listed([known[place] for place in order.tolist() if weight[place] > 0], 3)
