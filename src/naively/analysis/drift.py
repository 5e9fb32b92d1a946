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

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from naively._table.results import Columns, Result
from naively.analysis._changes import PRIOR, column_records, prior_record, ranked
from naively.analysis._unlabelled import Unlabelled, mixture_record, over_classes, shares
from naively.engines._pieces import sum_of_pieces
from naively.engines._registry import source_of
from naively.errors import InputError, ParameterError, told_once
from naively.families import to_compare
from naively.statistics._divergence import Change
from naively.typing import SourceLike, TableLike, TargetLike, WeightsLike

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

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
    so a spread alone is not tested. Counts (`Poisson`, `Multinomial`, `Complement`) are compared by their mean in a
    row, and tested by how they vary, since words come in bursts. `Multinomial` and `Complement` keep no squares unless
    asked (``squares=True``): of rows they are counted here, but two models without them are not tested (NaN). Of texts,
    the divergence is that of the distributions of their tokens, and the test one of whether a text has a token, for
    each of the commonest (Bonferroni). The members of joint factors are compared one by one, in the rows in which all
    of them are known.

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
    records = [prior_record(first, second)]
    there = dict(zip(second.classes.tolist(), second.class_weight.high.tolist(), strict=True))
    shared = np.array([there.get(label, 0.0) > 0 for label in first.classes.tolist()], dtype=bool)
    classes = first.classes[shared & (first.class_weight.high > 0)]
    if len(classes):
        records += column_records(first.with_classes(classes), second.with_classes(classes), before.families_)
    return Changes(ranked(records))


def _counted(before: NaiveBayes, after: Any, y: Any, sample_weight: Any) -> NaiveBayes:
    """What `before` is compared with, as a model."""
    if not isinstance(after, BaseEstimator):
        alike = clone(before).set_params(families=to_compare(before.families))
        counted: NaiveBayes = alike.partial_fit(after, y, sample_weight=sample_weight)  # which only counts
        return counted
    if y is not None or sample_weight is not None:
        raise ParameterError("compare: y and sample_weight come with rows, and `after` is a model. Leave them out.")
    after._require_fitted()
    fitted: NaiveBayes = after
    return fitted


# -- rows without labels --------------------------------------------------------------------------------------------

CHECKED = ("column", *Change._fields, "p_adjusted", "missing_before", "missing_now", "unseen", "outside")


class Checked(Result, list[dict[str, Any]]):
    """How unlabelled rows differ from what was learnt, the surest first: dicts, with the keys that `check` names."""

    def _columns(self) -> Columns:
        kinds = {**dict.fromkeys(CHECKED, "f"), "column": "U"}
        return {name: (kinds[name], [record[name] for record in self]) for name in CHECKED}


@told_once()
def check(model: NaiveBayes, X: TableLike | SourceLike) -> Checked:
    """How rows without labels differ from the rows that a model has learnt, the surest first.

    Parameters
    ----------
    model : NaiveBayes
        Fitted, with its statistics (not frozen without them).
    X : table, or rows of files, a stream or a lazy frame
        New rows, as `annotate` takes them: at least two. Those that are no table in memory are read piece by piece.

    Returns
    -------
    Checked
        A list of dicts that prints as a table and gives a data frame (`frame`). One for each column and one, called
        "mixture of classes", for the classes that the model answers with:

        - ``column``;
        - ``bits``: the Jensen-Shannon divergence of the column's distribution over all classes, missing cells included;
          of the mixture, that between the mean answers then and now;
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
    the predicted probabilities, beside that of the kept rows, each answered as if it had not been learnt: it stays
    where nothing has moved, however well or badly the model is calibrated. A model that keeps no rows ("textbook") is
    set beside its prior, and its p-value is NaN: the mean answer of a model whose columns are not independent, or not
    distributed as it takes them to be, is another than the prior from the start.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(2000, 2)), np.arange(2000) % 2
    >>> model = NaiveBayes("textbook").fit(X[:1000], y[:1000])
    >>> X[1000:, 1] += 0.5
    >>> [record["column"] for record in check(model, X[1000:]) if record["p_adjusted"] < 0.05]
    ['x1']
    """
    model = model._taken()
    model._require_classes()
    before, source = over_classes(model.statistics_), source_of(X)
    if source is None:
        now = Unlabelled.of(model, before, X)
    else:
        columns = model.schema_.names
        now = sum_of_pieces(lambda: source.pieces(None, None, columns), lambda it: Unlabelled.of(model, before, it.X))
    if now.answers.n_rows < 2:
        raise InputError("drift.check needs at least two rows: of one row nothing can be said about its distribution.")
    changes = {one["column"]: one for one in column_records(before, now.statistics, model.families_)}
    found = shares(model, before, now)
    silent = {"bits": 0.0, "expected": 0.0, "p_value": 1.0}
    records = [{**silent, **changes.get(name, {}), "column": name, **found[name]} for name in model.schema_.names]
    records.append(mixture_record(model, before, now.answers))
    for record in records:
        record["rows_before"], record["rows_after"] = 0.0, 0.0  # what `ranked` takes away again
    return Checked([{name: record[name] for name in CHECKED} for record in ranked(records)])._of(X)
