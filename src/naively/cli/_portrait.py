"""What a model has learnt, as plain values: its classes, its columns, and the most telling values of each class."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from naively import NaiveBayes
from naively._model.schema import ignored_places
from naively._scoring.explanation import columns_of
from naively.analysis._check import values_by_column
from naively.errors import NaivelyError
from naively.recipes import Recipe
from naively.statistics.base import Values

MOST = 5
"""So many values are named for each class."""

LEAST_SHARE = 0.01
"""A value that fewer rows have is not named."""


def portrait(model: NaiveBayes) -> dict[str, Any]:
    """All that `naively show` shows."""
    classes = [str(label) for label in model.classes_.tolist()]
    prior = model.class_prior_
    frozen = model.frozen_
    recipe = model.recipe.name if isinstance(model.recipe, Recipe) and hasattr(model.recipe, "name") else model.recipe
    return {
        "model": type(model).__name__,
        "recipe": str(recipe),
        "rows": None if frozen else float(model.class_count_.sum()),
        "classes": dict(zip(classes, prior.tolist(), strict=True)) if prior.ndim == 1 else {},
        "columns": _columns(model),
        "telling": {} if frozen else _telling(model, classes),
    }


def _columns(model: NaiveBayes) -> list[dict[str, Any]]:
    """The columns, what they are read as, and how much each tells of the class alone."""
    kinds: dict[str, str] = dict(zip(model.schema_.names, model.schema_.kinds, strict=True))
    families: dict[str, Any] = dict.fromkeys(kinds) if model.frozen_ else dict(model.families_)
    for place in ignored_places(model.schema_.names, model.families, model.ignore):
        kinds[model.schema_.names[place]] = "ignored"
    try:
        frame = columns_of(model.rank_features())
        ranked = dict(zip(frame["column"], frame["score"], strict=True))
    except NaivelyError:  # a family without an answer, or a model that only answers: the order is that of the table
        ranked = dict.fromkeys(kinds, float("nan"))
    return [
        {
            "column": name,
            "holds": kinds[name],
            "family": None if families[name] is None else families[name].name(),
            "information": max(float(score), 0.0) if score == score else None,
        }
        for name, score in ranked.items()
    ]


def _telling(model: NaiveBayes, classes: list[str]) -> dict[str, list[dict[str, Any]]]:
    """For each class the values that speak most for it, against the mean of the classes, in bits."""
    additive = copy.copy(model)
    if model.recipe == "strong":
        additive.set_params(recipe="auto")
    try:
        log_odds = additive.log_odds()
    except NaivelyError:  # a model that is not additive has no values that speak by themselves
        return {}
    held = values_by_column(model.statistics_)
    found: dict[str, list[dict[str, Any]]] = {label: [] for label in classes}
    for name, column in log_odds.columns.items():
        for value, ratios in column.table.items():
            bits = (ratios - ratios.mean()) / np.log(2)
            if np.isfinite(bits).all() and name in held and _is_common(value, held[name]):
                for label, own in zip(classes, bits.tolist(), strict=True):
                    found[label].append({"column": name, "value": value, "bits": own})
    return {label: _strongest(lines) for label, lines in found.items()}


def _is_common(value: Any, held: Values) -> bool:
    """Whether enough rows have a value, or one near it."""
    weight = held.weights.sum(axis=0)
    if isinstance(value, str):
        return value in held.values and weight[list(held.values).index(value)] >= LEAST_SHARE * weight.sum()
    if any(isinstance(label, str) for label in held.values[:1]):
        return False
    below = weight[np.asarray(held.values, dtype=np.float64) <= float(value)].sum() / weight.sum()
    return bool(0.05 <= below <= 0.95)


def _strongest(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The strongest value of each of the columns that say most."""
    best: dict[str, dict[str, Any]] = {}
    for line in sorted(lines, key=lambda line: -line["bits"]):
        best.setdefault(line["column"], line)
    return [line for line in list(best.values())[:MOST] if line["bits"] > 0.01]
