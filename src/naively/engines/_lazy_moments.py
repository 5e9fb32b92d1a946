"""Power sums of the numbers of a lazy frame, by one GROUP BY in the engine that holds it.

Engines add up plain float64. So that nothing cancels, numbers are taken about an anchor close to them, and the sums are
moved back to zero in double-double. One anchor for each column will do as a rule; where a class lies so far from it,
beside its own spread, that digits were lost, the sums are taken once more about the mean of each class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively.engines._lazy_rows import CLASS, WEIGHT, LazyRows, collected
from naively.errors import InputError
from naively.statistics._moments import Moments
from naively.statistics._sums import Sum
from naively.statistics.base import Summary
from naively.typing import AnyArray, FloatArray, IntArray

COLUMNS_AT_ONCE = 200
"""So many columns are summed by one plan: PostgreSQL gives up to 1,664 answers, SQLite 2,000."""

FAR = 256.0
"""Squares about an anchor that are so many times those about the mean have lost digits worth fetching."""

EXACT = 2.0**53
"""Whole numbers below this are added without rounding."""

INFINITE = 1.7976931348623157e308
"""The largest float64: what is beyond is infinite. (Some engines have no name for infinity.)"""


@dataclass(frozen=True)
class Wanted:
    """A column to be summed.

    Parameters
    ----------
    place : int
        Which of the columns of the rows.
    summary : Summary
        What to sum.
    anchor : float
        What numbers are taken about: short in decimal, for engines that read it so.
    """

    place: int
    summary: Summary
    anchor: float

    @property
    def is_number(self) -> bool:
        """Whether the numbers themselves are summed, rather than what is asked about them."""
        return self.summary.above is None and self.summary.unlike is None


@dataclass(frozen=True)
class PowerSums:
    """Sums of one column about its anchors, each an array with an entry for each class.

    Parameters
    ----------
    anchor, weight, total, square, log, least : ndarray of shape (n_classes,)
        The anchor, the weight of known cells, the sums about the anchor, of logarithms, and the least number.
    """

    anchor: FloatArray
    weight: FloatArray
    total: FloatArray
    square: FloatArray
    log: FloatArray
    least: FloatArray


def short_anchor(values: AnyArray) -> float:
    """A number in the middle of others, of 12 digits: every engine reads it as the same float64.

    Examples
    --------
    >>> short_anchor([100000000.123456, 3.0, 100000001.0])
    100000000.123
    """
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    return float(f"{np.median(finite):.12g}") if len(finite) else 0.0


def power_sums(rows: LazyRows, wanted: Sequence[Wanted], class_of: dict[Any, int]) -> list[PowerSums]:
    """The sums of columns, by class.

    Parameters
    ----------
    rows : LazyRows
    wanted : sequence of Wanted
    class_of : dict
        From what the engine calls a class to its number.
    """
    found: list[PowerSums] = []
    for start in range(0, len(wanted), COLUMNS_AT_ONCE):
        some = wanted[start : start + COLUMNS_AT_ONCE]
        plan = _sums_plan(rows, _with_numbers(rows, some), some, [one.anchor for one in some])
        answer = collected(plan, f"sums of {len(some)} columns")
        found += sums_of(answer, some, class_of, [one.anchor for one in some])
    far = [place for place, sums in enumerate(found) if wanted[place].summary.squares and is_far(sums)]
    for start in range(0, len(far), COLUMNS_AT_ONCE):
        places = far[start : start + COLUMNS_AT_ONCE]
        some = [wanted[place] for place in places]
        purpose = f"sums of {len(some)} columns about the mean of each class"
        again = sums_of(collected(_class_sums_plan(rows, some), purpose), some, class_of, None)
        for place, sums in zip(places, again, strict=True):
            found[place] = sums
    return found


def is_far(sums: PowerSums) -> bool:
    """Whether a class is so far from its anchor that the rounding of its squares can be felt."""
    known = sums.weight > 0
    weight = np.where(known, sums.weight, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        square, offset = sums.square / weight, (sums.total / weight) ** 2
        whole = (sums.square < EXACT) & (sums.square == np.floor(sums.square)) & (sums.total == np.floor(sums.total))
        far = known & ~whole & (offset > FAR * np.maximum(square - offset, 0.0)) & np.isfinite(square)
    return bool((far & (sums.anchor == sums.anchor[0])).any())


# -- plans ------------------------------------------------------------------------------------------------------------


def _with_numbers(rows: LazyRows, wanted: Sequence[Wanted]) -> Any:
    """The classes, the weights and, as "x0", "x1", ..., what is to be summed: float64, NULL where missing."""
    import narwhals as nw

    kept = [CLASS, WEIGHT] if rows.weighed else [CLASS]
    frame = rows.frame.select(*kept, *(_number(rows, one).alias(f"x{j}") for j, one in enumerate(wanted)))
    if rows.has_nan:
        floats = [f"x{j}" for j, one in enumerate(wanted) if not _is_exact(rows.types[one.place])]
        if floats:
            frame = frame.with_columns(*(nw.when(~nw.col(name).is_nan()).then(nw.col(name)) for name in floats))
    asked = [(f"x{j}", one.summary) for j, one in enumerate(wanted) if not one.is_number]
    if asked:
        frame = frame.with_columns(*(_answer(nw.col(name), summary).alias(name) for name, summary in asked))
    return frame


def _is_exact(dtype: Any) -> bool:
    """Whether cells of a type are never NaN."""
    import narwhals as nw

    return bool(dtype.is_integer() or dtype == nw.Boolean)


def _number(rows: LazyRows, wanted: Wanted) -> Any:
    import narwhals as nw

    cell = nw.col(f"c{wanted.place}")
    if rows.types[wanted.place] == nw.Boolean:  # PostgreSQL refuses to cast them
        return nw.when(cell).then(nw.lit(1.0)).otherwise(nw.when(~cell).then(nw.lit(0.0))).cast(nw.Float64)
    return cell.cast(nw.Float64)


def _answer(number: Any, summary: Summary) -> Any:
    """Whether numbers are what is asked about, as 0 and 1; an infinity stays one, and is refused with the sums."""
    import narwhals as nw

    if summary.unlike == "counts":
        yes = (number < 0) | (number != number.floor())
    elif summary.unlike == "binary":
        yes = (number != 0) & (number != 1)
    else:
        yes = number > summary.above
    infinite = (number > INFINITE) | (number < -INFINITE)
    answer = nw.when(yes).then(nw.lit(1.0)).otherwise(nw.when(~yes).then(nw.lit(0.0)))
    return nw.when(infinite).then(number).otherwise(answer).cast(nw.Float64)


def _sums_plan(rows: LazyRows, frame: Any, wanted: Sequence[Wanted], anchors: Sequence[Any]) -> Any:
    """The plan that sums "x0", "x1", ... about anchors: numbers, or columns of the frame."""
    import narwhals as nw

    taken = [
        (nw.col(f"x{j}") - anchor if isinstance(anchor, nw.Expr) or anchor else nw.col(f"x{j}")).alias(f"d{j}")
        for j, anchor in enumerate(anchors)
    ]
    if rows.weighed:  # rows of weight 0 are absent
        taken = [nw.when(nw.col(WEIGHT) > 0).then(one) for one in taken]
    logs = [
        nw.when(nw.col(f"x{j}") > 0).then(nw.col(f"x{j}")).log().alias(f"g{j}")
        for j, one in enumerate(wanted)
        if one.summary.logs
    ]
    frame = frame.with_columns(*taken, *logs)
    if rows.weighed:
        weight = nw.col(WEIGHT)
        frame = frame.with_columns(
            *(nw.when(~nw.col(f"d{j}").is_null()).then(weight).alias(f"v{j}") for j in range(len(wanted))),
            *((nw.col(f"d{j}") * weight).alias(f"t{j}") for j in range(len(wanted))),
            *((nw.col(f"g{j}") * weight).alias(f"g{j}") for j, one in enumerate(wanted) if one.summary.logs),
        )
    first = "t" if rows.weighed else "d"
    squares = [j for j, one in enumerate(wanted) if one.summary.squares]
    if squares:
        frame = frame.with_columns(*((nw.col(f"{first}{j}") * nw.col(f"d{j}")).alias(f"e{j}") for j in squares))
    wanted_sums = []
    for j, one in enumerate(wanted):
        known = nw.col(f"v{j}").sum() if rows.weighed else nw.col(f"d{j}").count()
        wanted_sums += [known.alias(f"k{j}"), nw.col(f"{first}{j}").sum().alias(f"s{j}")]
        if one.summary.squares:
            wanted_sums.append(nw.col(f"e{j}").sum().alias(f"q{j}"))
        if one.summary.logs:
            wanted_sums.append(nw.col(f"g{j}").sum().alias(f"l{j}"))
        if one.summary.nonnegative or one.summary.logs:
            wanted_sums.append(nw.col(f"x{j}").min().alias(f"m{j}"))
        if isinstance(anchors[j], nw.Expr):
            wanted_sums.append(nw.col(f"a{j}").max().alias(f"a{j}"))
    return frame.group_by(CLASS).agg(*wanted_sums)


def _class_sums_plan(rows: LazyRows, wanted: Sequence[Wanted]) -> Any:
    """The plan that sums about the mean of each class, which the engine joins to its rows."""
    import narwhals as nw

    frame = _with_numbers(rows, wanted)
    means = frame.group_by(CLASS).agg(*(nw.col(f"x{j}").mean().alias(f"a{j}") for j in range(len(wanted))))
    both = frame.join(means, on=CLASS, how="inner")
    return _sums_plan(rows, both, wanted, [nw.col(f"a{j}") for j in range(len(wanted))])


def sums_of(
    answer: Mapping[str, Sequence[Any]],
    wanted: Sequence[Wanted],
    class_of: dict[Any, int],
    anchors: Sequence[float] | None,
) -> list[PowerSums]:
    """The sums that an engine has answered with, column by column.

    Parameters
    ----------
    answer : mapping
        "y", the classes, and for the columns that are wanted "k0", "s0", "q0", "l0", "m0", "k1", ...: known cells,
        sums, squares, logarithms and least numbers, those that were asked for; "a0", ... the anchors if not given.
    wanted : sequence of Wanted
    class_of : dict
        From what the engine calls a class to its number.
    anchors : sequence of float or None
    """
    codes = np.array([class_of[key] for key in answer[CLASS]], dtype=np.int64)
    n_classes = max(class_of.values(), default=-1) + 1

    def column(name: str, empty: float = 0.0) -> FloatArray:
        return _by_class(answer.get(name, ()), codes, n_classes, empty)

    return [
        PowerSums(
            column(f"a{j}") if anchors is None else np.full(n_classes, anchors[j]),
            column(f"k{j}"),
            column(f"s{j}"),
            column(f"q{j}"),
            column(f"l{j}"),
            column(f"m{j}", math.inf),
        )
        for j in range(len(wanted))
    ]


def _by_class(cells: Sequence[Any], codes: IntArray, n_classes: int, empty: float) -> FloatArray:
    """Answers in the order of the classes; none, or NULL, where a class has no known cell."""
    values = np.full(n_classes, empty)
    if cells:
        values[codes] = [empty if cell is None else float(cell) for cell in cells]
    return values


# -- statistics -------------------------------------------------------------------------------------------------------


def moments_of(names: tuple[str, ...], sums: Sequence[PowerSums], summary: Summary) -> Moments:
    """The sums of some columns about zero, in double-double, checked as the local engine checks numbers."""
    for name, one in zip(names, sums, strict=True):
        _refuse(name, one, summary)
    parts = {part: np.column_stack([getattr(one, part) for one in sums]) for part in PowerSums.__dataclass_fields__}
    anchor, weight = Sum(parts["anchor"]), Sum(parts["weight"])
    total, square = Sum(parts["total"]), Sum(parts["square"])
    return Moments(
        names,
        total + anchor * weight,
        weight if summary.observed else None,
        square + anchor * (total * 2.0) + anchor * anchor * weight if summary.squares else None,
        log=Sum(parts["log"]) if summary.logs else None,
    )


def _refuse(name: str, sums: PowerSums, summary: Summary) -> None:
    """Refuse infinities, and numbers that the family cannot have."""
    if not (np.isfinite(sums.total).all() and np.isfinite(sums.square).all()):
        raise InputError(
            f"Input X contains infinity, or numbers too large to be squared and summed in float64: column {name!r}. "
            "Replace infinite values by NULL (missing), or clip them; rescale the column to within 1e150."
        )
    least = float(sums.least.min(initial=math.inf))
    if summary.nonnegative and least < 0:
        raise InputError(
            f"Negative values in data: column {name!r} must hold counts of zero or more for its family, but a row has "
            f"{least!r}. Use families='gaussian' for numbers that can be negative."
        )
    if summary.logs and least <= 0:
        raise InputError(
            f"Column {name!r} must hold numbers above 0 for its family, but a row has {least!r}. Use "
            "families='exponential' for numbers of zero or more, 'gaussian' for any."
        )
