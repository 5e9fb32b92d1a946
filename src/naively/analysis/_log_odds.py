"""The additive form: the log-odds of every class against a base class, as a constant and a function of each column.

    ``log P(j | x) / P(base | x) = alpha_j + sum over columns i of g_ji(x_i)``

alpha_j is the log-odds of the prior, and g_ji the log-ratio of what column i says of class j and of the base. The base
class is a matter of taste: to change it, subtract. A model of this form is a scorecard: look every cell up, and add.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from naively._scoring.model import Factor, block_reader
from naively._table.read import read_table
from naively._table.results import Columns, Result, Shown, more
from naively._table.table import ArrayTable, Table
from naively.analysis._contrast import Contrast, Contrasted
from naively.errors import GapError, ParameterError
from naively.families._numbers import against, spread_places
from naively.typing import FloatArray, TableLike

PRIOR = "prior"
"""What the constant is called among the columns."""

SHOWN_COLUMNS, SHOWN_VALUES = 12, 8
"""How much of it is printed."""


class ColumnLogOdds(Result):
    """What one column adds to the log-odds: a function, and a table of it.

    Attributes
    ----------
    name : str
    family : Family or None
        None for a column of which nothing is known: it adds 0.
    table : dict
        From values to what they add, arrays that follow the classes. For labels, and for yes or no (False and True),
        it holds all values; for bins, where each begins, the first at minus infinity; for any other number, points. It
        is empty for prose, which has no end of values: call it with texts.
    missing : ndarray
        What a missing cell adds.
    unknown : ndarray or None
        What a label that was never learnt adds; None for numbers.

    Notes
    -----
    An infinite value says that the class (minus) or the base (plus) is impossible with this cell, which needs
    ``smoothing="none"``; where both are, it is not a number.
    """

    def __init__(self, name: str, contrast: Contrast, factor: Factor | None, place: int, points: Sequence[Any]):
        self.name, self.family = name, None if factor is None else factor.family
        self._contrast, self._factor, self._place, self._points = contrast, factor, place, points

    def __call__(self, values: Any) -> FloatArray:
        """What these values add, (values, classes); of a single value, (classes,)."""
        if isinstance(values, str) or np.ndim(values) == 0:
            return np.asarray(self([values])[0])
        table = _one_column(self.name, values)
        if self._factor is None or table.n_rows == 0:
            return np.zeros((table.n_rows, len(self._contrast.classes)))
        estimate = self._factor.estimate
        chosen = np.where(np.arange(len(self._factor.members)) == self._place, 0, -1)
        block = block_reader(estimate, table, chosen)(slice(0, table.n_rows))
        return against(estimate.evidence(block)[:, self._place], self._contrast.base)

    @cached_property
    def table(self) -> dict[Any, FloatArray]:
        """From values to what they add."""
        return dict(zip(self._points, self._log_ratios[:-2], strict=True))

    @property
    def missing(self) -> FloatArray:
        """What a missing cell adds."""
        return np.asarray(self._log_ratios[-1])

    @property
    def unknown(self) -> FloatArray | None:
        """What a label that was never learnt adds."""
        return np.asarray(self._log_ratios[-2]) if self.kind == "label" else None

    @cached_property
    def _log_ratios(self) -> FloatArray:
        """What the points, a value that is not known, and a missing cell add, (points + 2, classes)."""
        if self._factor is None:
            return np.zeros((2, len(self._contrast.classes)))
        evidence = self._factor.estimate.tabulated(self._place, self._points, len(self._factor.members))
        return against(evidence, self._contrast.base)

    @property
    def kind(self) -> str:
        """What the table is of: "label", "truth" (yes or no), "from" (where bins begin), "point" or "text"."""
        return "label" if self._factor is None else self._factor.estimate.kind

    def _entries(self) -> list[tuple[str, str | None, FloatArray]]:
        """Kind, value as text and log-ratios of all that the column can say."""
        entries: list[tuple[str, str | None, FloatArray]] = []
        entries += [(self.kind, _text(value), ratios) for value, ratios in self.table.items()]
        if self.unknown is not None:
            entries.append(("unknown", None, self.unknown))
        return [*entries, ("missing", None, self.missing)]

    def _columns(self) -> Columns:
        return _columns_of([(self.name, *entry) for entry in self._entries()], self._contrast)

    def _shown(self) -> Shown:
        header = [f"{label!r}" for _, label in self._contrast.others]
        return Shown([["", "", *header], *_lines(self)], range(2, 2 + len(header)))


@dataclass(frozen=True, eq=False, repr=False)
class LogOdds(Contrasted, Result):
    """The additive form of a model, against one of its classes.

    Attributes
    ----------
    base : label
        The class that the others are compared with.
    classes : ndarray
        All classes; every array follows them, and the base has 0.
    intercept : ndarray of shape (n_classes,)
        alpha: the log-odds of the prior.
    columns : dict of ColumnLogOdds
        By name: what each column adds.

    Notes
    -----
    The columns of its `frame` are ``column``; ``kind`` of the entry ("prior", "label", "truth", "from", "point",
    "unknown", "missing"); ``value``, as text; ``class``, without the base; ``log_ratio``.

    Natural logarithms; divide by ``log(2)`` for bits. In a row that no class could have produced, which needs
    ``smoothing="none"``, the answer is the prior, as in `predict_proba`.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> rows = [{"coat": "striped"}, {"coat": "plain"}, {"coat": "plain"}]
    >>> log_odds = NaiveBayes("textbook").fit(rows, ["cat", "dog", "dog"]).log_odds()
    >>> log_odds
    Log-odds against 'dog'
                     'cat'
    prior           -0.693
    coat   plain    -0.811
           striped   0.981
           unknown   0.000
           missing   0.000
    >>> log_odds([{"coat": "striped"}])[:, 0].round(3).tolist()
    [0.288]
    """

    columns: Mapping[str, ColumnLogOdds]

    def __call__(self, X: Any) -> FloatArray:
        """The posterior log-odds of each row, (rows, classes): the intercept and the sum of `terms`.

        They are the differences of `predict_log_proba`, to rounding.
        """
        return self.contrast.log_odds(X)

    def terms(self, X: TableLike) -> FloatArray:
        """What each cell adds, (rows, columns, classes)."""
        return self.contrast.terms(X)

    def _columns(self) -> Columns:
        entries: list[tuple[str, str, str | None, FloatArray]] = [(PRIOR, PRIOR, None, self.intercept)]
        entries += [(name, *entry) for name, column in self.columns.items() for entry in column._entries()]
        return _columns_of(entries, self.contrast)

    def _shown(self) -> Shown:
        others = self.contrast.others
        lines = [["", "", *(f"{label!r}" for _, label in others)]]
        lines.append([PRIOR, "", *(_number(self.intercept[code]) for code, _ in others)])
        for column in list(self.columns.values())[:SHOWN_COLUMNS]:
            lines += _lines(column)
        note = more(len(self.columns) - SHOWN_COLUMNS, "columns")
        return Shown(lines, range(2, len(lines[0])), f"Log-odds against {self.base!r}", note)


def additive_form(contrast: Contrast, n_points: int) -> LogOdds:
    """The additive form of a model.

    Parameters
    ----------
    contrast : Contrast
    n_points : int
        At how many points, at most, the tables of numbers are taken.
    """
    owner = {
        int(member): (factor, place)
        for factor in contrast.scorer.factors
        for place, member in enumerate(factor.members.tolist())
    }
    columns = {}
    for position, name in enumerate(contrast.schema.names):
        factor, place = owner.get(position, (None, 0))
        points = [] if factor is None else _points_of(factor, place, name, n_points)
        columns[name] = ColumnLogOdds(name, contrast, factor, place, points)
    return LogOdds(contrast, columns)


def _points_of(factor: Factor, place: int, name: str, n_points: int) -> list[Any]:
    """The values that stand in the table of a column: all of them, or points that show its shape."""
    try:
        return factor.estimate.points(place, n_points)
    except GapError as gap:
        raise ParameterError(
            f"log_odds: column {name!r} has no table of values, as {factor.family!r} {gap.reason}."
        ) from None


def _one_column(name: str, values: Any) -> Table:
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biuf":
        return ArrayTable(values[:, None], (name,))
    return read_table({name: values.to_list() if hasattr(values, "to_list") else list(values)})


# -- show -----------------------------------------------------------------------------------------------------------


def _lines(column: ColumnLogOdds) -> list[list[str]]:
    """The rows of a column's table as text, some left out where there are many."""
    words = {"from": "from ", "unknown": "unknown", "missing": "missing"}
    entries = column._entries()
    known = [entry for entry in entries if entry[1] is not None]
    shown = [known[place] for place in spread_places(len(known), SHOWN_VALUES)] if known else []
    names = [column.name] + [""] * len(entries)
    return [
        [name, words.get(kind, "") + (value or ""), *(_number(ratios[code]) for code, _ in column._contrast.others)]
        for name, (kind, value, ratios) in zip(
            names, [*shown, *(entry for entry in entries if entry[1] is None)], strict=False
        )
    ]


def _columns_of(entries: Sequence[tuple[str, str, str | None, FloatArray]], contrast: Contrast) -> Columns:
    """Entries (column, kind, value, log-ratios) as columns, with a row for each class but the base."""
    records = [
        (name, kind, value, label, float(ratios[code]))
        for name, kind, value, ratios in entries
        for code, label in contrast.others
    ]
    fields = {"column": "U", "kind": "U", "value": "U", "class": contrast.classes.dtype.kind, "log_ratio": "f"}
    return {field: (kind, [record[place] for record in records]) for place, (field, kind) in enumerate(fields.items())}


def _number(ratio: float) -> str:
    return f"{round(float(ratio), 3) + 0.0:.3f}"


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
