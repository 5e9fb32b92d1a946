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

from naively._scoring.decision import Decider
from naively._table.read import read_table
from naively._table.results import Columns, Result
from naively._table.table import Table, require_rows
from naively.engines._registry import engine_of
from naively.engines._threads import thread_count
from naively.engines.base import Target
from naively.errors import GapError, InputError, ParameterError
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
        counted: NaiveBayes = clone(before).partial_fit(after, y, sample_weight=sample_weight)  # which only counts
        return counted
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


# -- rows without labels --------------------------------------------------------------------------------------------

MIXTURE = "mixture of classes"
CHECKED = ("column", *Change._fields, "p_adjusted", "missing_before", "missing_now", "unseen", "outside")


class Checked(Result, list[dict[str, Any]]):
    """How unlabelled rows differ from what was learnt, the surest first: dicts, with the keys that `check` names."""

    def _columns(self) -> Columns:
        kinds = {**dict.fromkeys(CHECKED, "f"), "column": "U"}
        return {name: (kinds[name], [record[name] for record in self]) for name in CHECKED}


def check(model: NaiveBayes, X: TableLike) -> Checked:
    """How rows without labels differ from the rows that a model has learnt, the surest first.

    Parameters
    ----------
    model : NaiveBayes
        Fitted, with its statistics (not frozen without them).
    X : table
        New rows, as `predict` takes them: at least two.

    Returns
    -------
    Checked
        A list of dicts that prints as a table and gives a data frame (`frame`). One for each column and one, called
        "mixture of classes", for the classes that the model answers with:

        - ``column``;
        - ``bits``: the Jensen-Shannon divergence of the column's distribution over all classes, missing cells included;
          of the mixture, that between the prior and the mean answer;
        - ``expected``: how large it would be by chance, about, if nothing had moved;
        - ``p_value``: the chance of at least such a change if nothing had moved; nominal: rows count as independent;
        - ``p_adjusted``: the same for all of the list at once, by Holm's method;
        - ``missing_before``, ``missing_now``: the share of missing cells;
        - ``unseen``: the share of known cells whose label was never learnt;
        - ``outside``: the share of known numbers that lie outside of the range of what was learnt, or six standard
          deviations from the mean where no range is known.

    Notes
    -----
    A column moves where the rows have, and where the classes come in other shares. The mixture is tested by the mean of
    the predicted probabilities, which is the prior where nothing has moved and the model is calibrated.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(2000, 2)), np.arange(2000) % 2
    >>> model = NaiveBayes("textbook").fit(X[:1000], y[:1000])
    >>> X[1000:, 1] += 0.5
    >>> [record["column"] for record in check(model, X[1000:]) if record["p_adjusted"] < 0.05]
    ['x1', 'mixture of classes']
    """
    model = model._taken()
    model._require_classes()
    table = read_table(X)
    require_rows(table, to_learn=False)
    if table.n_rows < 2:
        raise InputError("drift.check needs at least two rows: of one row nothing can be said about its distribution.")
    before, after = _over_classes(model.statistics_), _counted_unlabelled(model, table)
    changes = {one["column"]: one for one in _column_records(before, after, model.families_)}
    shares = _shares(model, table, before, after)
    silent = {"bits": 0.0, "expected": 0.0, "p_value": 1.0}
    records = [{**silent, **changes.get(name, {}), "column": name, **shares[name]} for name in model.schema_.names]
    records.append(_mixture_record(model, table, before))
    for record in records:
        record["rows_before"], record["rows_after"] = 0.0, 0.0  # what `_ranked` takes away again
    ranked = _ranked(records)
    return Checked([{name: record[name] for name in CHECKED} for record in ranked])._of(X)


def _over_classes(statistics: Statistics) -> Statistics:
    """Statistics of all rows as one class."""
    total: dict[Summary, Statistic] = {}
    n_classes = len(statistics.classes)
    for code in range(n_classes):
        positions = np.where(np.arange(n_classes) == code, 0, -1)
        for summary, table in statistics.tables.items():
            one = table.for_classes(positions, 1)
            total[summary] = added(total[summary], one).bounded(summary) if summary in total else one
    return Statistics(EVERYONE, statistics.class_weight.total(0).reshaped((1,)), total)


EVERYONE = np.array(["all rows"], dtype=object)


def _counted_unlabelled(model: NaiveBayes, table: Table) -> Statistics:
    """What a model would have learnt of rows that are all of one class."""
    table, positions = model.schema_.matched(table)
    target = Target(EVERYONE, np.zeros(table.n_rows, dtype=np.int64), None)
    n_threads = thread_count(model.n_threads)
    return engine_of(table).count(table, model.schema_, positions, target, n_threads, 0)


def _shares(model: NaiveBayes, table: Table, before: Statistics, after: Statistics) -> dict[str, dict[str, float]]:
    """The shares of missing cells, of labels never learnt and of numbers out of range, by column."""
    nothing = {"missing_before": np.nan, "missing_now": np.nan, "unseen": np.nan, "outside": np.nan}
    found = {name: dict(nothing) for name in model.schema_.names}
    table, positions = model.schema_.matched(table)
    for one, when in ((before, "missing_before"), (after, "missing_now")):
        for statistic in one.tables.values():
            for place, name in enumerate(statistic.columns):
                observed = statistic.observed_weight(place)
                if observed is not None:
                    found[name][when] = max(0.0, 1.0 - float(observed[0]) / float(one.class_weight.high[0]))
    for summary, statistic in after.tables.items():
        bounds = before.table(summary).bounds()
        for place, name in enumerate(statistic.columns):
            found[name]["unseen"] = _unseen(before.table(summary), statistic, name, found[name]["unseen"])
            if bounds is not None:
                column = model.schema_.names.index(name)
                position = np.array([column if positions is None else int(positions[column])])
                numbers = table.numbers(position, slice(0, table.n_rows))[:, 0]
                found[name]["outside"] = _outside(numbers, *bounds[place])
    return found


def _unseen(before: Statistic, after: Statistic, name: str, otherwise: float) -> float:
    """The share of the known cells of a column of labels whose label was never learnt."""
    known, now = before.values_of(name), after.values_of(name)
    if known is None or now is None:
        return otherwise
    weights = np.asarray(now[1]).sum(axis=0)
    learnt = {value for value, weight in zip(known[0], np.asarray(known[1]).sum(axis=0), strict=True) if weight > 0}
    new = np.array([value not in learnt for value in now[0]], dtype=bool)
    return float(weights[new].sum() / weights.sum()) if weights.sum() else 0.0


def _outside(numbers: FloatArray, low: float, high: float) -> float:
    known = numbers[~np.isnan(numbers)]
    return float(np.mean((known < low) | (known > high))) if len(known) and low == low else 0.0


def _mixture_record(model: NaiveBayes, table: Table, before: Statistics) -> dict[str, Any]:
    """Whether the mean answer is the prior: Hotelling's test, as its chi-square."""
    from scipy.stats import chi2

    scorer, logs = model._estimated()
    table, positions = model.schema_.matched(table)
    answers, prior = model._posterior(table, positions, scorer, Decider(logs)), model.class_prior_
    mean, n_rows = answers.mean(axis=0), len(answers)
    change = compare_cells(np.stack([prior * before.class_weight.high[0], mean * n_rows]))
    gap, spread = (mean - prior)[1:], np.atleast_2d(np.cov(answers[:, 1:], rowvar=False))
    statistic = n_rows * float(gap @ np.linalg.pinv(spread, rcond=1e-9, hermitian=True) @ gap) if len(gap) else 0.0
    nothing = {"missing_before": np.nan, "missing_now": np.nan, "unseen": np.nan, "outside": np.nan}
    p_value = float(chi2.sf(statistic, len(gap))) if len(gap) else 1.0
    return {
        "column": MIXTURE,
        "bits": float(change.bits),
        "expected": float(change.expected),
        "p_value": p_value,
        **nothing,
    }
