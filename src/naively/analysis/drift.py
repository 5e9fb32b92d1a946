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

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from naively.analysis.divergence import (
    LEAST_EXPECTED,
    Change,
    by_chance,
    compare_cells,
    normal_divergence,
    poisson_divergence,
)
from naively.families import Gaussian
from naively.families.gaussian import centred
from naively.statistics.base import Summary
from naively.statistics.counts import Counts
from naively.statistics.histogram import Histogram
from naively.statistics.joint import JointSums
from naively.statistics.statistics import Statistics, empty_table
from naively.statistics.tokens import TokenTable
from naively.typing import FloatArray, Label

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

BINS = 10
"""Numbers with a histogram are compared on at most so many bins of equal frequency."""

TOKENS = 10_000
"""Texts are compared on at most so many tokens, those that most texts have."""

KURTOSIS = 9.0
"""Of numbers of which only the moments are known, for the chance that a variance moves: that of an exponential, not the
3 of a normal distribution, as skewed columns are common."""


class Pair(NamedTuple):
    """The same table of both models, and the rows of each class of both, (2, classes)."""

    before: Any
    after: Any
    rows: FloatArray


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


def compare(before: NaiveBayes, after: NaiveBayes) -> list[dict[str, Any]]:
    """What moved from one model to another, the surest first.

    Parameters
    ----------
    before, after : NaiveBayes
        Fitted, on different rows. Columns and classes that only one of them has are left out, except from the prior.

    Returns
    -------
    list of dict
        One for the class frequencies (``column`` "prior", ``class`` None) and one for every column in every class that
        has rows in both:

        - ``column``, ``class``;
        - ``bits``: the Jensen-Shannon divergence;
        - ``expected``: how large it would be by chance, about, if nothing had moved;
        - ``p_value``: the chance of at least such a change if nothing had moved;
        - ``p_adjusted``: the same for all of the list at once, by Holm's method. Where nothing has moved, the chance
          that any is below 0.05 is at most that;
        - ``rows_before``, ``rows_after``: the weight of the rows that were compared.

        ``pandas.DataFrame(compare(...))`` is a table of them.

    Notes
    -----
    Weights count as rows. Labels, yes and no, and numbers with a histogram (all recipes but "textbook") are compared by
    Pearson's chi-square test, numbers on bins. Where only moments are known, the divergence is that of two normal
    distributions, and the test one of the means and one of the variances, which allows for tails as heavy as an
    exponential's: columns with heavier ones can seem to have moved. Poisson columns are tested for equal rates, and
    multinomial ones for their share among all. Of texts, the divergence is that of the distributions of their tokens,
    and the test one of whether a text has a token, for each of the commonest (Bonferroni). The members of joint factors
    are compared one by one, in the rows in
    which all of them are known.

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
    after._require_fitted()
    first, second = before.statistics_, after.statistics_
    records = [_prior_record(first, second)]
    there = dict(zip(second.classes.tolist(), second.class_weight.high.tolist(), strict=True))
    shared = np.array([there.get(label, 0.0) > 0 for label in first.classes.tolist()], dtype=bool)
    classes = first.classes[shared & (first.class_weight.high > 0)]
    if len(classes):
        records += _column_records(first.with_classes(classes), second.with_classes(classes))
    return _ranked(records)


# -- records --------------------------------------------------------------------------------------------------------


def _prior_record(before: Statistics, after: Statistics) -> dict[str, Any]:
    """The change of the class frequencies, over all classes of both."""
    weights = [dict(zip(one.classes.tolist(), one.class_weight.high.tolist(), strict=True)) for one in (before, after)]
    labels = list(dict.fromkeys([*weights[0], *weights[1]]))
    cells = np.array([[weight.get(label, 0.0) for label in labels] for weight in weights])
    return _record("prior", None, compare_cells(cells), cells.sum(axis=1), ())


def _column_records(before: Statistics, after: Statistics) -> Iterator[dict[str, Any]]:
    """The change of every column that both have, in every class; both have the same classes."""
    rows = np.stack([before.class_weight.high, after.class_weight.high])
    before, after = _apart(before), _apart(after)
    known = _best_summaries(before), _best_summaries(after)
    groups: dict[Summary, list[str]] = {}
    for name, summary in known[0].items():
        if known[1].get(name) == summary:
            groups.setdefault(summary, []).append(name)
    for summary, names in groups.items():
        pair = Pair(before.table(summary).for_columns(names), after.table(summary).for_columns(names), rows)
        change, weights = _compared(summary, pair)
        for place, name in enumerate(names):
            for code, label in enumerate(before.classes.tolist()):
                if weights[:, code, place].all():
                    yield _record(name, label, change, weights[:, code, place], (code, place))


def _apart(statistics: Statistics) -> Statistics:
    """The same with the members of joint tables by themselves, each once."""
    tables = {summary: table for summary, table in statistics.tables.items() if not isinstance(table, JointSums)}
    joint = [table for table in statistics.tables.values() if isinstance(table, JointSums)]
    seen: set[str] = set()
    for table in sorted(joint, key=lambda one: len(one.columns)):
        margins: tuple[Any, Any] = table.margins()
        for summary, margin in zip((Summary("counts"), Gaussian().summaries[0]), margins, strict=True):
            new = [name for name in margin.columns if name not in seen]
            if not new:
                continue
            seen.update(new)
            known: Any = tables.get(summary, empty_table(summary, (), len(statistics.classes)))
            left, right = known.aligned_with(margin.for_columns(new))
            tables[summary] = left + right
    return Statistics(statistics.classes, statistics.class_weight, tables)


def _best_summaries(statistics: Statistics) -> dict[str, Summary]:
    """The statistic of each column that tells most: its histogram rather than its moments."""
    found: dict[str, Summary] = {}
    for summary, table in statistics.tables.items():
        for name in table.columns:
            if name not in found or summary.kind == "histogram":
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


# -- changes --------------------------------------------------------------------------------------------------------


def _compared(summary: Summary, pair: Pair) -> tuple[Change, FloatArray]:
    """The change of some columns, (classes, columns), and the weights that were compared, (2, classes, columns)."""
    if summary.kind == "counts":
        return _each_column([_label_cells(pair, place) for place in range(len(pair.before.columns))])
    if summary.kind == "histogram":
        columns = zip(pair.before.histograms, pair.after.histograms, strict=True)
        return _each_column([_binned_cells(*column, pair.rows) for column in columns])
    if summary.kind == "tokens":
        tables = zip(pair.before.tables, pair.after.tables, strict=True)
        return _side_by_side([_compared_texts(*both, pair.rows) for both in tables])
    if not summary.observed:
        return _compared_shares(pair)
    if summary.above is not None:
        return _compared_truths(pair)
    return _compared_normal(pair) if summary.squares else _compared_rates(pair)


def _each_column(columns: list[FloatArray]) -> tuple[Change, FloatArray]:
    """Columns with tables (2, classes, cells) of their own."""
    return _side_by_side([(compare_cells(cells), cells.sum(axis=-1)) for cells in columns])


def _side_by_side(columns: list[tuple[Change, FloatArray]]) -> tuple[Change, FloatArray]:
    """The changes of columns, and the weights that were compared, column by column."""
    changes, weights = zip(*columns, strict=True)
    return Change(*(np.stack(parts, axis=-1) for parts in zip(*changes, strict=True))), np.stack(weights, axis=-1)


def _label_cells(pair: Pair, place: int) -> FloatArray:
    """How often each value, and none, occurred: (2, classes, values + 1)."""
    own = [Counts((name,), (one.categories[place],), one.table(place)) for one, name in _named(pair, place)]
    left, right = own[0].aligned_with(own[1])
    return _with_missing(np.stack([left.cells.high, right.cells.high]), pair.rows)


def _named(pair: Pair, place: int) -> list[tuple[Counts, str]]:
    return [(pair.before, pair.before.columns[place]), (pair.after, pair.before.columns[place])]


def _binned_cells(before: Histogram, after: Histogram, rows: FloatArray) -> FloatArray:
    """How often each bin of equal frequency in its class, and none, occurred: (2, classes, bins + 1)."""
    level = max(before.level, after.level)
    before, after = before.coarsened(level), after.coarsened(level)
    keys = np.union1d(before.keys, after.keys)
    cells = np.zeros((2, before.n_classes, len(keys)))
    cells[0][:, np.searchsorted(keys, before.keys)] = before.counts
    cells[1][:, np.searchsorted(keys, after.keys)] = after.counts
    pooled = cells.sum(axis=0)
    middle = np.cumsum(pooled, axis=1) - pooled / 2
    total = pooled.sum(axis=1, keepdims=True)
    smaller = cells.sum(axis=2).min(axis=0)[:, None]
    n_bins = np.clip(smaller // (LEAST_EXPECTED + 1), 1, BINS)
    bins = np.minimum(n_bins * middle / np.where(total > 0, total, 1.0), n_bins - 1).astype(np.int64)
    result = np.zeros((2, before.n_classes, BINS))
    for code, own in enumerate(bins):
        for side in range(2):
            result[side, code] = np.bincount(own, cells[side, code], BINS)
    return _with_missing(result, rows)


def _with_missing(cells: FloatArray, rows: FloatArray) -> FloatArray:
    """The same with a last cell for the rows that have no value."""
    missing = rows - cells.sum(axis=-1)
    return np.concatenate([cells, np.where(missing > 1e-9 * rows, missing, 0.0)[..., None]], axis=-1)


def _compared_texts(before: TokenTable, after: TokenTable, rows: FloatArray) -> tuple[Change, FloatArray]:
    """How much of the mass each of the commonest tokens has; the tests are whether texts have it, one by one."""
    both = before + after
    common = np.sort(np.argsort(-both.document_frequency, kind="stable")[:TOKENS])
    places = [one.vocabulary.places(both.vocabulary.hashes[common]) for one in (before, after)]
    sides = list(zip((before, after), places, strict=True))
    mass, documents = (
        np.stack([np.where(at >= 0, one.at(getattr(one, part).high, np.maximum(at, 0)).T, 0.0) for one, at in sides])
        for part in ("mass", "documents")
    )
    known = np.stack([before.observed.high, after.observed.high])
    tests = [compare_cells(np.stack([known[..., None] - documents, documents], axis=-1)).p_value]
    tests.append(compare_cells(_with_missing(known[..., None], rows)).p_value[:, None])
    p_values = np.concatenate(tests, axis=1)
    change = compare_cells(mass)
    p_value = np.minimum(1.0, p_values.shape[1] * p_values.min(axis=1))
    return Change(change.bits, change.expected, p_value), rows


def _compared_truths(pair: Pair) -> tuple[Change, FloatArray]:
    """No, yes, or missing."""
    yes = np.stack([pair.before.total.high, pair.after.total.high])
    known = np.stack([pair.before.observed.high, pair.after.observed.high])
    rows = np.broadcast_to(pair.rows[:, :, None], yes.shape)
    return compare_cells(_with_missing(np.stack([known - yes, yes], axis=-1), rows)), rows


def _compared_shares(pair: Pair) -> tuple[Change, FloatArray]:
    """Whether a count is of one column, or of any other of the same kind."""
    own = np.stack([pair.before.total.high, pair.after.total.high])
    every = np.broadcast_to(own.sum(axis=2, keepdims=True), own.shape)
    return compare_cells(np.stack([own, every - own], axis=-1)), every


def _compared_rates(pair: Pair) -> tuple[Change, FloatArray]:
    """Poisson distributions, and how often a cell is missing."""
    known = np.stack([pair.before.observed.high, pair.after.observed.high])
    total = np.stack([pair.before.total.high, pair.after.total.high])
    some = np.where(known > 0, known, 1.0)
    rate, overall = total / some, total.sum(axis=0) / some.sum(axis=0)
    error = np.sqrt(overall * (1 / some).sum(axis=0))
    rates = _two_sided(np.where(error > 0, (rate[0] - rate[1]) / np.where(error > 0, error, 1.0), 0.0))
    bits = np.vectorize(poisson_divergence, otypes=[np.float64])
    return _in_parts([rates], known, pair.rows, lambda missing: bits(*rate, *missing))


def _compared_normal(pair: Pair) -> tuple[Change, FloatArray]:
    """Normal distributions, and how often a cell is missing."""
    known, mean, scatter = (np.stack(parts) for parts in zip(centred(pair.before), centred(pair.after), strict=True))
    some = np.where(known > 0, known, 1.0)
    variance = scatter / some
    freedom = some.sum(axis=0) - 2
    error = np.sqrt(scatter.sum(axis=0) / np.where(freedom > 0, freedom, 1.0) * (1 / some).sum(axis=0))
    spread = np.sqrt((KURTOSIS - 1) * (1 / np.maximum(some - 1, 1.0)).sum(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):  # the same value in all rows has no spread
        gap = np.where(mean[0] == mean[1], 0.0, np.abs(mean[0] - mean[1]) / error)
        ratio = np.where(variance[0] == variance[1], 0.0, np.log(variance[0]) - np.log(variance[1]))
    means = np.where(freedom > 0, 2 * special.stdtr(np.maximum(freedom, 1.0), -gap), 1.0)
    variances = np.where((some > 2).all(axis=0), _two_sided(ratio / spread), 1.0)
    return _in_parts([means, variances], known, pair.rows, lambda missing: normal_divergence(mean, variance, missing))


def _two_sided(deviation: FloatArray) -> FloatArray:
    return np.asarray(2 * special.ndtr(-np.abs(deviation)))


def _in_parts(
    tests: list[FloatArray], known: FloatArray, rows: FloatArray, bits: Callable[[FloatArray], FloatArray]
) -> tuple[Change, FloatArray]:
    """A change that is tested in parts, one of them the missing cells: the surest, times their number (Bonferroni).

    `tests` are the p-values of the known cells, `bits` gives the divergence from the shares of missing ones.
    """
    every = np.broadcast_to(rows[:, :, None], known.shape)
    cells = _with_missing(known[..., None], every)
    missing = cells[..., 1] / np.where(every > 0, every, 1.0)
    p_values = [np.where((known > 0).all(axis=0), p_value, 1.0) for p_value in tests]
    n_parts = len(tests) + missing.any(axis=0)
    p_value = np.minimum(1.0, n_parts * np.min([*p_values, compare_cells(cells).p_value], axis=0))
    return Change(bits(missing), by_chance(n_parts, np.where(every > 0, every, 1.0)), p_value), every
