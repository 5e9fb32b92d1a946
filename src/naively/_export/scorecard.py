"""Scorecards: what the values of each column are worth in points, as lenders and clinicians use them.

The score of a row is ``offset + factor * log(odds)``, where the odds of the good class are those of the model: `pdo`
points double the odds, and a row with the odds `odds` has `base` points. The points of a column's values are its part
of the sum; what belongs to no column is shared out among them evenly, so that the points of a row add up to its score.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._common.by_label import code_of
from naively._common.checks import LARGEST_PARAMETER, require_number, require_whole
from naively._table.read import read_table
from naively._table.results import Columns, Result, Shown, as_cell
from naively.analysis._check import values_by_column
from naively.errors import GapError, InputError, ParameterError, listed
from naively.typing import FloatArray, Label, PathLike, TableLike

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

MISSING, UNKNOWN = "missing", "other"
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em;color-scheme:light dark}table{border-collapse:collapse}"
    "caption{font-weight:600;padding-bottom:.6em}td,th{padding:.15em .8em;border-bottom:1px solid #8884}"
    "td{font-variant-numeric:tabular-nums}"
)
"""How a card looks on a page of its own."""

CONTINUITY = 0.5
"""Rows added to each class of a bin, so that its weight of evidence is finite."""


@dataclass(frozen=True)
class Bin:
    """Some values of a column.

    Parameters
    ----------
    value : str
        What is in it, as text.
    low, high : float or None
        The numbers that it holds, from `low` on and below `high`; None in a column of labels.
    label : label or None
        The label that it holds.
    log_odds : float
        What the model adds to the log-odds of the good class.
    good, bad : float
        The rows of each class that were learnt there.
    """

    value: str
    low: float | None
    high: float | None
    label: Label | None
    log_odds: float
    good: float
    bad: float


@dataclass(frozen=True)
class CardColumn:
    """The bins of a column; the last is that of missing cells, and before it, among labels, that of all others."""

    name: str
    bins: tuple[Bin, ...]

    @property
    def weights_of_evidence(self) -> FloatArray:
        """WOE: the logarithm of a bin's share of the good rows over its share of the bad ones; NaN without rows."""
        good, bad = self._shares()
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(good / bad))

    @property
    def information_value(self) -> float:
        """IV: how far the two classes differ in the column."""
        good, bad = self._shares()
        return float(np.nansum((good - bad) * self.weights_of_evidence))

    def _shares(self) -> tuple[FloatArray, FloatArray]:
        good, bad = (np.array([getattr(one, side) for one in self.bins]) for side in ("good", "bad"))
        added = np.where(good + bad > 0, CONTINUITY, 0.0)
        good, bad = good + added, bad + added
        return good / good.sum(), bad / bad.sum()

    def places(self, cells: Sequence[Any]) -> list[int]:
        """The bin of each cell (None: missing)."""
        missing = len(self.bins) - 1
        if self.bins[0].low is not None:
            edges = np.array([one.low for one in self.bins[1:-1]], dtype=np.float64)
            return [missing if cell is None or cell != cell else _place(edges, cell) for cell in cells]
        of_label = {one.label: place for place, one in enumerate(self.bins[:-2])}
        return [missing if cell is None else of_label.get(cell, missing - 1) for cell in cells]


def _place(edges: FloatArray, cell: Any) -> int:
    return int(np.searchsorted(edges, float(cell), side="right"))


class Scorecard(Result):
    """What each value of each column is worth in points; a row's points add up to its score.

    Parameters
    ----------
    columns : tuple of CardColumn
    good, bad : label
    factor, offset, start : float
        The score is ``offset + factor * (start + the log-odds of the columns)``.
    rounded : bool
        Whether points are whole numbers.

    Notes
    -----
    The columns of its `frame` are ``column``, ``value``, ``points``, ``log_odds``, ``woe`` (weight of evidence in the
    rows that were learnt), ``rows`` and ``information_value`` (of the whole column).
    """

    def __init__(
        self,
        columns: tuple[CardColumn, ...],
        good: Label,
        bad: Label,
        factor: float,
        offset: float,
        start: float,
        rounded: bool,
    ):
        self.columns, self.good, self.bad = columns, good, bad
        self.factor, self.offset, self.start, self.rounded = factor, offset, start, rounded

    def points(self, column: CardColumn) -> FloatArray:
        """The points of the bins of a column."""
        shared = (self.offset + self.factor * self.start) / len(self.columns)
        found = np.array([shared + self.factor * one.log_odds for one in column.bins])
        return np.round(found) if self.rounded else found

    def score(self, X: TableLike) -> FloatArray:
        """The points of each row.

        Parameters
        ----------
        X : table
            As in `NaiveBayes.predict`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        table = read_table(X)
        result = np.zeros(table.n_rows)
        for column in self.columns:
            if column.name not in table.names:
                result += self.points(column)[-1]
                continue
            codes, labels = table.labels(list(table.names).index(column.name))
            cells = [*labels, None]
            result += self.points(column)[column.places(cells)][codes]
        return result

    def save(self, path: PathLike) -> None:
        """Write the card: a CSV file with the columns of its `frame`, or a page of HTML that prints on paper.

        Parameters
        ----------
        path : str or path
            It ends in .csv, .html or .htm.
        """
        page = Path(os.fsdecode(path))
        if page.suffix.lower() not in (".csv", ".html", ".htm"):
            raise ParameterError(f"A card is written as .csv or .html, and {page.name} is neither.")
        if not page.absolute().parent.is_dir():
            raise InputError(f"{page}: there is no folder {page.parent}.")
        page.write_text(self._csv() if page.suffix.lower() == ".csv" else self._page(), encoding="utf-8", newline="")

    def _csv(self) -> str:
        columns, text = self._columns(), io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows(
            ["" if cell != cell else cell for cell in row]
            for row in zip(*(cells for _, cells in columns.values()), strict=True)
        )
        return text.getvalue()

    def _page(self) -> str:
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Scorecard</title>'
            f"<style>{STYLE}</style></head>\n<body>{self._repr_html_()}</body></html>\n"
        )

    def _columns(self) -> Columns:
        rows = [
            (column.name, one.value, points, one.log_odds, woe, one.good + one.bad, column.information_value)
            for column in self.columns
            for one, points, woe in zip(column.bins, self.points(column), column.weights_of_evidence, strict=True)
        ]
        names = ("column", "value", "points", "log_odds", "woe", "rows", "information_value")
        kinds = ("O", "O", "f", "f", "f", "f", "f")
        cells = zip(*rows, strict=True)
        return {name: (kind, list(values)) for name, kind, values in zip(names, kinds, cells, strict=True)}

    def _shown(self) -> Shown:
        lines: list[list[str]] = [["", "", "points", "woe", "rows"]]
        for column in self.columns:
            parts = zip(column.bins, self.points(column).tolist(), column.weights_of_evidence.tolist(), strict=True)
            for number, (one, points, woe) in enumerate(parts):
                name = "" if number else f"{column.name} (IV {column.information_value:.2f})"
                shown = f"{points:.0f}" if self.rounded else as_cell(points)
                lines.append([name, one.value, shown, "" if woe != woe else f"{woe:.2f}", as_cell(one.good + one.bad)])
        title = f"Points for {self.good!r} against {self.bad!r}: {self.factor * math.log(2):g} double the odds"
        return Shown(lines, (2, 3, 4), title)


def scorecard(model: NaiveBayes, good: Any, pdo: Any, base: Any, odds: Any, n_bins: Any, rounded: bool) -> Scorecard:
    """The scorecard of a model of two classes: see `NaiveBayes.scorecard`."""
    for name, value in {"pdo": pdo, "odds": odds}.items():
        require_number(name, value, at_least=0.0)
        if value == 0:
            raise ParameterError(f"{name} must be above 0, got {value!r}.")
    require_number("base", base, at_least=-LARGEST_PARAMETER)
    require_whole("n_bins", n_bins)
    _refuse_not_additive(model)
    first, second = _two_classes(model, good)
    places = [model.classes_.tolist().index(label) for label in (first, second)]
    held = values_by_column(model.statistics_)
    columns = [_column(model, name, held, places, n_bins) for name in model.schema_.names if _is_read(model, name)]
    if not columns:
        raise InputError("The model reads no column, so there is nothing to put on a card.")
    factor = pdo / math.log(2)
    start = _log_odds(model, {name: [None] for name in model.schema_.names}, None, places)[0]
    return Scorecard(tuple(columns), first, second, factor, base - factor * math.log(odds), start, rounded)


def _refuse_not_additive(model: NaiveBayes) -> None:
    """Refuse models in which what a value is worth depends on other columns: no points would add up."""
    scorer, _ = model._estimated()
    if not scorer.is_additive or any(factor.joins for factor in scorer.factors):
        reason = "reads several columns at once"
        raise GapError(
            f"The model has no card: it {reason}, so what a value is worth depends on other columns. Use "
            "recipe='auto', and no factors.",
            reason,
        )


def _two_classes(model: NaiveBayes, good: Any) -> tuple[Any, Any]:
    """The good class, by default the one with more rows, and the other."""
    labels = model.classes_.tolist()
    if len(labels) != 2:
        raise InputError(f"A scorecard tells two classes apart, but the model has {len(labels)}: {listed(labels)}.")
    place = int(np.argmax(model.class_count_)) if good is None else code_of(good, labels, "good")
    return labels[place], labels[1 - place]


def _is_read(model: NaiveBayes, name: str) -> bool:
    return model.families_[name] is not None


def _log_odds(model: NaiveBayes, rows: Any, place: int | None, classes: list[int]) -> FloatArray:
    """What rows add to the log-odds of the first class: all of it with the prior, or one column's part."""
    scorer, log_prior = model._estimated()
    table, positions = model.schema_.matched(read_table(rows))
    evidence = scorer.evidence(table, positions)
    scores = log_prior + evidence.sum(axis=1) if place is None else evidence[:, place]
    return np.asarray(scores[:, classes[0]] - scores[:, classes[1]])


def _column(model: NaiveBayes, name: str, held: Any, classes: list[int], n_bins: int) -> CardColumn:
    """The bins of one column and what they are worth."""
    family = model.families_[name]
    if family is not None and family.reads_dates:
        raise GapError(
            f"Column {name!r} holds dates, which add up what their month, weekday, hour and trend say: no list of bins "
            "has them all. Leave it out (ignore=[...]), or give the card columns of its own, such as the month.",
            "adds up what the parts of a date say",
        )
    if name not in held:
        raise GapError(
            f"Column {name!r} has no values to put on a card: it is text, or only its moments were kept. Leave it out "
            "(ignore=[...]), or use the recipe 'auto', which keeps histograms of numbers.",
            "keeps no values",
        )
    values, weights, _ = held[name]
    cells = [value if isinstance(value, (str, bool)) else _plain(value) for value in values]
    rows: dict[str, list[Any]] = {other: [None] * (len(cells) + 1) for other in model.schema_.names}
    rows[name] = [*cells, None]
    found = _log_odds(model, rows, list(model.schema_.names).index(name), classes)
    if not np.isfinite(found).all():
        raise GapError(f"Column {name!r} has values of infinite weight. Use some smoothing.", "has infinite weights")
    good, bad = weights[classes[0]], weights[classes[1]]
    everything = [model.class_count_[place] for place in classes]
    if model.schema_.kinds[list(model.schema_.names).index(name)] == "number" and not _is_labelled(model, name):
        bins = _number_bins(np.asarray(values, dtype=np.float64), found[:-1], good, bad, n_bins)
    else:
        bins = [
            Bin(str(cell), None, None, cell, float(ratio), float(g), float(b))
            for cell, ratio, g, b in zip(cells, found[:-1], good, bad, strict=True)
        ]
        bins.append(Bin(UNKNOWN, None, None, None, 0.0, 0.0, 0.0))
    absent = [max(float(total - side.sum()), 0.0) for total, side in zip(everything, (good, bad), strict=True)]
    return CardColumn(name, (*bins, Bin(MISSING, None, None, None, float(found[-1]), *absent)))


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    return value.item() if hasattr(value, "item") else value


def _is_labelled(model: NaiveBayes, name: str) -> bool:
    """Whether the numbers of a column are read as labels."""
    family = model.families_[name]
    return family is not None and "label" in family.accepts


def _number_bins(values: FloatArray, ratios: FloatArray, good: FloatArray, bad: FloatArray, n_bins: int) -> list[Bin]:
    """Bins of about equally many rows, within the range of the data; a bin has the mean of what its rows get."""
    weight = good + bad
    middle = np.cumsum(weight) - weight / 2
    codes = np.minimum((n_bins * middle / weight.sum()).astype(np.int64), n_bins - 1)
    found = []
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(values)], strict=True):
        here = slice(start, stop)
        low = float(values[start]) if start == 0 else float((values[start - 1] + values[start]) / 2)
        high = float(values[-1]) if stop == len(values) else float((values[stop - 1] + values[stop]) / 2)
        mean = float(np.average(ratios[here], weights=weight[here]))
        text = f"{low:.6g} to {high:.6g}"
        found.append(Bin(text, low, high, None, mean, float(good[here].sum()), float(bad[here].sum())))
    return found
