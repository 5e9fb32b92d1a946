"""What the estimates of columns of numbers have in common: points, edges and formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from naively.typing import AnyArray, FloatArray


def points_within(location: FloatArray, scale: FloatArray, n_points: int) -> list[Any]:
    """Numbers at equal steps, from three scales below the lowest location to three above the highest."""
    reach = 3 * scale
    points = np.linspace((location - reach).min(), (location + reach).max(), n_points)
    return [float(point) for point in np.unique(points)]


def edges_around(location: FloatArray, scale: FloatArray, away: FloatArray) -> FloatArray:
    """Numbers (edges, columns), ascending: so many scales away from the location of each class (classes, columns)."""
    away = away[:: 1 + len(location) // 32]  # with many classes there are many edges anyway
    edges = (location[:, None, :] + scale[:, None, :] * away[:, None]).reshape(-1, location.shape[1])
    return np.sort(edges, axis=0) * np.where((scale > 0).all(axis=0), 1.0, 0.0)


def formula_tables(formula: str, parameters: Mapping[str, FloatArray], silent: AnyArray) -> list[dict[str, Any]]:
    """One formula for all columns, as `Estimate.as_table` gives it; parameters are (classes, columns)."""
    return [
        {"kind": "nothing"}
        if nothing
        else {
            "kind": "formula",
            "formula": formula,
            "parameters": {name: values[:, place] for name, values in parameters.items()},
        }
        for place, nothing in enumerate(np.asarray(silent).tolist())
    ]


def bell_tables(
    formula: str, parameters: Mapping[str, FloatArray], anchor: FloatArray | None, silent: AnyArray
) -> list[dict[str, Any]]:
    """The formula of a density, in which ``{x}`` is the number, read from the column's anchor where it has one."""
    tables = formula_tables(formula.format(x="x"), parameters, silent)
    for table, start in zip(tables, [] if anchor is None else anchor.tolist(), strict=False):
        if start and table["kind"] == "formula":
            table["formula"] = formula.format(x="(x - anchor)")
            table["parameters"]["anchor"] = np.full(len(parameters["scale"]), start)
    return tables


def against(logs: FloatArray, base: int) -> FloatArray:
    """Logarithms, classes last, less those of the base class.

    The base itself has 0. Infinite where one of the two is impossible, not a number where both are.

    Examples
    --------
    >>> against(np.log([0.5, 0.25]), 1).round(3).tolist()
    [0.693, 0.0]
    """
    with np.errstate(invalid="ignore"):  # 0 / 0
        ratios = np.asarray(logs - logs[..., [base]])
    ratios[..., base] = 0.0
    return ratios


def spread_places(length: int, n_places: int) -> Any:
    """At most so many places among a number of them, at about equal steps, the first and the last included."""
    return np.unique(np.linspace(0, length - 1, min(length, n_places)).round().astype(np.int64))
