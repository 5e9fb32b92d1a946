"""One column of the page: where its evidence is looked up, what it says there, and what was counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from naively._report.grid import bins, counted, grid
from naively._report.numbers import logs, rounded
from naively._report.sources import Sources
from naively._report.words import words_of
from naively._scoring.model import Factor
from naively.errors import GapError
from naively.typing import FloatArray

MOST_POINTS = 400
MOST_LABELS = 40
MOST_DRAWN = 1200
"""Points of a density, of all classes together: it is only drawn."""

MOST_CLASSES_DRAWN = 30


def live_column(sources: Sources, member: int, room: int) -> dict[str, Any]:
    """A column whose values can be chosen on the page.

    Parameters
    ----------
    sources : Sources
    member : int
        Its position in the schema.
    room : int
        For about how many values evidence may be kept.

    Returns
    -------
    dict
        ``kind``, what belongs to it, and ``example``: the place of the value that the page opens with (None: unknown).

    Raises
    ------
    GapError
        Where no list of values can tell what the column says.
    """
    factor, place = sources.owner[member]
    make = _KINDS.get(factor.estimate.kind, _numbers)
    return make(sources, member, factor, place, room)


# -- numbers ----------------------------------------------------------------------------------------------------------


def _numbers(sources: Sources, member: int, factor: Factor, place: int, room: int) -> dict[str, Any]:
    given = sources.told_number(member)
    known = sources.numbers_of(member)
    values = _range(sources, member, factor) if known is None else known[0]
    points = [point for point in grid(values, min(room, MOST_POINTS)) if _allowed(factor, point)]
    shown = points or [1.0]
    points = sorted({*shown, *([] if given is None else [given])})
    evidence = factor.estimate.tabulated(place, points, len(factor.members))
    column = {
        "kind": "number",
        "at": points,
        "digits": max(_decimals(point) for point in points),
        "evidence": logs(evidence[: len(points)].T),
        "unknown": logs(evidence[-1]),
        "example": _nearest(points, _middle(known, values) if sources.row is None else given),
    }
    if known is not None:
        edges = bins(known[0])
        column["histogram"] = {"edges": edges, "counts": counted(edges, *known)}
    return column | _density(sources, member, shown)


def _range(sources: Sources, member: int, factor: Factor) -> FloatArray:
    """Numbers from the least to the largest that the statistics make likely."""
    name = sources.model.schema_.names[member]
    most_detailed = max(sources.statistics_of(member), key=lambda one: one.detail)
    low, high = most_detailed.value_range(name, sources.model.class_count_)
    low = max(low, 0.0) if factor.estimate.nonnegative else low
    return np.linspace(low, high, 2 * MOST_POINTS) if high > low else np.array([low])


def _allowed(factor: Factor, point: float) -> bool:
    return point > 0 if factor.estimate.positive else point >= 0 if factor.estimate.nonnegative else True


def _density(sources: Sources, member: int, points: Sequence[float]) -> dict[str, Any]:
    """The density of each class, where the column has one and the classes are few."""
    if member not in sources.expecting or len(sources.model.classes_) > MOST_CLASSES_DRAWN:
        return {}
    factor, place, distribution = sources.expecting[member]
    family = factor.family
    if distribution.counts or not family.is_distribution or family.shares_weight or len(points) < 3:
        return {}
    at = np.linspace(points[0], points[-1], min(80, MOST_DRAWN // len(sources.model.classes_))).tolist()
    drawn = np.exp(factor.estimate.tabulated(place, at, len(factor.members))[: len(at)].T)
    return {"density": {"at": rounded(at, 6), "by_class": rounded(drawn)}} if np.isfinite(drawn).all() else {}


def _middle(known: tuple[FloatArray, FloatArray] | None, values: FloatArray) -> float:
    """The median."""
    if known is None:
        return float(values[len(values) // 2])
    total = known[1].sum(axis=0).cumsum()
    return float(values[np.searchsorted(total, total[-1] / 2)])


def _nearest(points: Sequence[float], value: float | None) -> int | None:
    return None if value is None else int(np.abs(np.asarray(points) - value).argmin())


def _decimals(value: float) -> int:
    """How many decimals a number needs."""
    digits = f"{value:.12g}".partition(".")[2]
    return 0 if "e" in digits else len(digits)


# -- labels -----------------------------------------------------------------------------------------------------------


def _labels(sources: Sources, member: int, factor: Factor, place: int, room: int) -> dict[str, Any]:
    points = factor.estimate.points(place, MOST_POINTS)
    evidence = factor.estimate.tabulated(place, points, len(factor.members))
    counts = _counts(sources, member, len(points))
    given = sources.told_label(member)
    at = next((code for code, point in enumerate(points) if point == given), None)
    kept = _shown_labels(counts, len(points), min(room, MOST_LABELS), at)
    column: dict[str, Any] = {
        "kind": "label",
        "distinct": len(points),
        "values": [str(points[code]) for code in kept],
        "literals": [repr(points[code]) for code in kept],
        "evidence": logs(evidence[kept].T),
        "other": logs(evidence[-2]) if factor.estimate.kind == "label" else None,
        "unknown": logs(evidence[-1]),
    }
    if counts is not None:
        column["counts"] = counts[:, kept].round(6).tolist()
    if sources.row is not None:
        known = given is not None and at is None and column["other"] is not None
        column["example"] = kept.index(at) if at is not None else "other" if known else None
    else:
        often = None if counts is None else counts[:, kept].sum(axis=0)
        column["example"] = None if not kept else 0 if often is None else int(often.argmax())
    return column


def _counts(sources: Sources, member: int, n_values: int) -> FloatArray | None:
    """The weight of each class and value, where values were counted."""
    for table in sources.statistics_of(member):
        if table.kind == "counts":
            counts = np.asarray(table.cells.high)
            return counts if counts.shape[1] == n_values else None
    return None


def _shown_labels(counts: FloatArray | None, n_values: int, room: int, always: int | None) -> list[int]:
    """The commonest values; of names of rows, none that occurs once."""
    if counts is None:
        kept = set(range(min(n_values, room)))
    else:
        total = counts.sum(axis=0)
        names = total.sum() > 20 and n_values > 0.9 * total.sum()
        kept = {int(code) for code in np.argsort(-total, kind="stable")[:room] if total[code] >= (2 if names else 0)}
    return sorted(kept | ({always} if always is not None else set()))


# -- words ------------------------------------------------------------------------------------------------------------


def _words(sources: Sources, member: int, factor: Factor, place: int, room: int) -> dict[str, Any]:
    column = words_of(factor, place, sources.statistics_of(member), room)
    block: list[list[str | None]] = [[None]] * len(factor.members)
    column["unknown"] = logs(factor.estimate.evidence(block)[0, place])
    text = sources.told_text(member)
    if text is not None:
        column["text"] = {"value": text, "evidence": logs(factor.estimate.evidence([[text]] * len(block))[0, place])}
    column["example"] = None if text is None else "text"
    return column


# -- dates ------------------------------------------------------------------------------------------------------------


def _dates(sources: Sources, member: int, _factor: Factor, _place: int, _room: int) -> dict[str, Any]:
    """Refused: a date says what its parts say together, and no list of dates has them all."""
    name = sources.model.schema_.names[member]
    raise GapError(
        f"Column {name!r} holds dates, of which no list can be shown.", "adds up what the parts of a date say"
    )


_KINDS: dict[str, Callable[[Sources, int, Factor, int, int], dict[str, Any]]] = {
    "label": _labels,
    "truth": _labels,
    "part": _dates,
    "text": _words,
}
"""How a column is shown, by the kind of its estimate's points; the others are numbers."""
