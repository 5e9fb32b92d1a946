"""What has changed between two models: which columns, in which classes, by how much, and whether that is chance.

The statistics hold all that is needed. Of a model that kept on learning, `since` takes what it had learnt before away,
one subtraction, and `compare` sets the two side by side:

    ``compare(earlier, since(now, earlier))``

The size of a change is the Jensen-Shannon divergence in bits, from 0 (the same) to 1 (nothing in common), between the
distributions of a cell of one column in one class, a missing cell being one of its values. Samples of the same
distribution differ, too: by about ``d (1 / n + 1 / m) / (8 log 2)`` bits, where d counts what is free to differ. That
is `expected`; the p-value is the chance of at least such a change where nothing has moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from naively._table.results import Columns, Result
from naively.errors import GapError, ParameterError
from naively.families import Family
from naively.statistics._divergence import Change, compare_cells
from naively.statistics._statistics import Statistics, added
from naively.statistics.base import Statistic, Summary
from naively.typing import FloatArray, Label, SourceLike, TableLike, TargetLike, WeightsLike

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

PRIOR = "prior"
"""What the class frequencies are called among the columns."""

FIELDS = ("column", "class", *Change._fields, "p_adjusted", "rows_before", "rows_after")
"""What is said of each change."""


class Changes(Result, list[dict[str, Any]]):
    """What moved from one model to another, the surest first: a list of dicts, with the keys that `compare` names."""

    def _columns(self) -> Columns:
        numeric = all(isinstance(change["class"], (int, float)) for change in self if change["column"] != PRIOR)
        labels = [np.nan if change["class"] is None and numeric else change["class"] for change in self]
        kinds = {**dict.fromkeys(FIELDS, "f"), "column": "U", "class": "f" if numeric else "U"}
        cells = {name: [change[name] for change in self] for name in FIELDS} | {"class": labels}
        return {name: (kinds[name], cells[name]) for name in FIELDS}


def since(now: NaiveBayes, earlier: NaiveBayes) -> NaiveBayes:
    """What a model has learnt since an earlier state of it, as a model: one subtraction.

    Parameters
    ----------
    now : NaiveBayes
        A model that has learnt more rows, but neither forgotten nor decayed, since
    earlier : NaiveBayes
        was copied, saved or fitted.

    Returns
    -------
    NaiveBayes
        The same as one fitted on just the rows in between. `ForgetError` if `earlier` is no part of `now`, where the
        statistics can tell.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [8.0], [9.0]]), ["a", "b", "a", "b"]
    >>> from naively import NaiveBayes
    >>> earlier = NaiveBayes("textbook").fit(X[:2], y[:2])
    >>> now = NaiveBayes("textbook").fit(X, y)
    >>> since(now, earlier).statistics_ == NaiveBayes("textbook").fit(X[2:], y[2:]).statistics_
    True
    """
    now, earlier = now._taken(), earlier._taken()
    earlier._require_fitted()
    now._require_fitted()
    return now.with_statistics(now.statistics_ - earlier.statistics_)


def compare(
    before: NaiveBayes,
    after: NaiveBayes | TableLike | SourceLike,
    y: TargetLike | None = None,
    sample_weight: WeightsLike | None = None,
) -> Changes:
    """What moved from one model to another, or to new rows, the surest first.

    Parameters
    ----------
    before : NaiveBayes
    after : NaiveBayes, or rows as in `fit`
        Fitted on other rows; rows, also those of files and streams, are counted by a model like the first. Columns and
        classes that only one of them has are left out, except from the prior.
    y, sample_weight : as in `fit`, optional
        What comes with rows.

    Returns
    -------
    Changes
        A list of dicts that prints as a table and gives a data frame (`frame`). One for the class frequencies
        (``column`` "prior", ``class`` None) and one for every column in every class that has rows in both:

        - ``column``, ``class``;
        - ``bits``: the Jensen-Shannon divergence;
        - ``expected``: how large it would be by chance, about, if nothing had moved;
        - ``p_value``: the chance of at least such a change if nothing had moved;
        - ``p_adjusted``: the same for all of the list at once, by Holm's method. Where nothing has moved, the chance
          that any is below 0.05 is at most that;
        - ``rows_before``, ``rows_after``: the weight of the rows that were compared.

    Notes
    -----
    Weights count as rows. Labels, yes and no, and numbers with a histogram (all recipes but "textbook") are compared by
    Pearson's chi-square test, numbers on bins. Where only moments are known, the divergence is that of two normal
    distributions, and the test one of the means: how far a variance moves by chance is up to moments that are not kept,
    so a spread alone is not tested. Multinomial columns are tested for their share among all events, as if these were
    independent: words that come in bursts can seem to have moved. Of texts, the divergence is that of the distributions
    of their tokens, and the test one of whether a text has a token, for each of the commonest (Bonferroni). The members
    of joint factors are compared one by one, in the rows in which all of them are known.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(2000) % 2
    >>> X = rng.normal(size=(2000, 2))
    >>> X[1000:, 1] += 0.5
    >>> from naively import NaiveBayes
    >>> earlier = NaiveBayes("textbook").fit(X[:1000], y[:1000])
    >>> now = NaiveBayes("textbook").fit(X, y)
    >>> found = compare(earlier, since(now, earlier))
    >>> [(change["column"], change["class"]) for change in found if change["p_adjusted"] < 0.05]
    [('x1', 0), ('x1', 1)]
    """
    before._require_fitted()
    after = _counted(before, after, y, sample_weight)
    first, second = before.statistics_, after.statistics_
    records = [_prior_record(first, second)]
    there = dict(zip(second.classes.tolist(), second.class_weight.high.tolist(), strict=True))
    shared = np.array([there.get(label, 0.0) > 0 for label in first.classes.tolist()], dtype=bool)
    classes = first.classes[shared & (first.class_weight.high > 0)]
    if len(classes):
        records += _column_records(first.with_classes(classes), second.with_classes(classes), before.families_)
    return Changes(_ranked(records))


def _counted(before: NaiveBayes, after: Any, y: Any, sample_weight: Any) -> NaiveBayes:
    """What `before` is compared with, as a model."""
    if not isinstance(after, BaseEstimator):
        return clone(before).partial_fit(after, y, sample_weight=sample_weight)  # which only counts
    if y is not None or sample_weight is not None:
        raise ParameterError("compare: y and sample_weight come with rows, and `after` is a model. Leave them out.")
    after._require_fitted()
    fitted: NaiveBayes = after
    return fitted


# -- records --------------------------------------------------------------------------------------------------------


def _prior_record(before: Statistics, after: Statistics) -> dict[str, Any]:
    """The change of the class frequencies, over all classes of both."""
    weights = [dict(zip(one.classes.tolist(), one.class_weight.high.tolist(), strict=True)) for one in (before, after)]
    labels = list(dict.fromkeys([*weights[0], *weights[1]]))
    cells = np.array([[weight.get(label, 0.0) for label in labels] for weight in weights])
    return _record(PRIOR, None, compare_cells(cells), cells.sum(axis=1), ())


def _column_records(before: Statistics, after: Statistics, families: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The change of every column that both have, in every class; both have the same classes."""
    rows = np.stack([before.class_weight.high, after.class_weight.high])
    before, after = _apart(before), _apart(after)
    known = _best_summaries(before), _best_summaries(after)
    groups: dict[tuple[Summary, Family], list[str]] = {}
    for name, summary in known[0].items():
        if known[1].get(name) == summary:
            groups.setdefault((summary, families[name]), []).append(name)
    for (summary, family), names in groups.items():
        then, now = (one.table(summary).for_columns(names) for one in (before, after))
        change, weights = _compared(family, then, now, summary, rows)
        for place, name in enumerate(names):
            for code, label in enumerate(before.classes.tolist()):
                if weights[:, code, place].all():
                    yield _record(name, label, change, weights[:, code, place], (code, place))


def _compared(
    family: Family, before: Statistic, after: Statistic, summary: Summary, rows: FloatArray
) -> tuple[Change, FloatArray]:
    try:
        return family.compare(before, after, summary, rows)
    except GapError as gap:
        raise ParameterError(
            f"Column {before.columns[0]!r} cannot be compared: {family!r} {gap.reason}. Ask for squares in its "
            "summaries, or define its method compare."
        ) from None


def _apart(statistics: Statistics) -> Statistics:
    """Statistics in which the members of joint tables stand by themselves, each once."""
    tables: dict[Summary, Statistic] = {}
    jointly: list[Mapping[Summary, Statistic]] = []
    for summary, table in statistics.tables.items():
        if margins := table.margins():
            jointly.append(margins)
        else:
            tables[summary] = table
    seen: set[str] = set()
    for margins in sorted(jointly, key=lambda one: sum(len(margin.columns) for margin in one.values())):
        for summary, margin in margins.items():
            if new := [name for name in margin.columns if name not in seen]:
                chosen = margin.for_columns(new)
                tables[summary] = added(tables[summary], chosen) if summary in tables else chosen
                seen.update(new)
    return Statistics(statistics.classes, statistics.class_weight, tables)


def _best_summaries(statistics: Statistics) -> dict[str, Summary]:
    """The statistic of each column that tells most, such as its histogram rather than its moments."""
    found: dict[str, Summary] = {}
    for summary, table in statistics.tables.items():
        for name in table.columns:
            if name not in found or table.detail > statistics.tables[found[name]].detail:
                found[name] = summary
    return found


def _record(column: str, label: Label | None, change: Change, weights: FloatArray, place: Any) -> dict[str, Any]:
    numbers = {field: float(values[place]) for field, values in zip(Change._fields, change, strict=True)}
    rows = {"rows_before": float(weights[0]), "rows_after": float(weights[1])}
    return {"column": column, "class": label, **numbers, **rows}


def _ranked(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The surest first, with p-values for all at once."""

    def key(record: Mapping[str, Any]) -> tuple[float, float]:
        return record["p_value"], -record["bits"] / (record["expected"] or np.inf)

    highest, ranked = 0.0, []
    for place, record in enumerate(sorted(records, key=key)):
        highest = max(highest, min(1.0, (len(records) - place) * record["p_value"]))
        rows = {name: record.pop(name) for name in ("rows_before", "rows_after")}
        ranked.append({**record, "p_adjusted": highest, **rows})
    return ranked
