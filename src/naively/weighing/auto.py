"""The recipes that weigh evidence: from a model's statistics to an additive model, and from that to a scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from naively._blas import one_blas_thread
from naively.errors import ParameterError, SchemaError
from naively.families import Categorical, Estimate, Family, Stacked, Text
from naively.families.categorical import LabelTables
from naively.families.curves import Curve, Curves
from naively.schema import Schema
from naively.scoring.model import Factor
from naively.statistics.counts import Counts
from naively.statistics.histogram import Histograms
from naively.statistics.kept_rows import KeptRows
from naively.statistics.moments import Moments, centred
from naively.statistics.statistics import Statistics
from naively.statistics.tokens import Tokens
from naively.typing import AnyArray, FloatArray, IntArray, Label
from naively.weighing.additive import AdditiveModel, fit_additive
from naively.weighing.terms import Column, ColumnStatistics, LabelColumn, NumericColumn, Term, TextTerm
from naively.weighing.text import TextColumn, TextEvidence, WeighedText

MOST_ROWS = 1e9
"""Kept rows count for at most so many, whatever they weigh: beside more, penalties and pseudo-counts would vanish."""

REPEATS = 4
"""A kept row that was learnt several times is dealt to up to so many folds of the cross-fit."""


@dataclass(frozen=True)
class Tempering:
    """How evidence is weighed.

    Parameters
    ----------
    candidates : tuple of str
        The ways of weighing that are averaged: "T" (one temperature), "W" (a weight per column), "V3" (and effects of
        values), "CV" (and class-wise deviations).
    rows : int
        On how many of the kept rows, at most, they are fitted.
    """

    candidates: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class Weighed:
    """An additive model and what it was made from.

    Parameters
    ----------
    model : AdditiveModel
    factors : list of Factor
        The same as curves and tables, ready for the scorer.
    readable : list of int
        The positions of its columns in the schema.
    labels : list
        The values of each categorical column, None for the numeric ones.
    kept : list of Column
        The cells of all kept rows.
    codes, weights : ndarray
        Their classes and weights.
    """

    model: AdditiveModel
    factors: list[Factor]
    readable: list[int]
    labels: list[tuple[Label, ...] | None]
    kept: list[Column]
    codes: IntArray
    weights: FloatArray


def weigh(
    schema: Schema,
    families: Sequence[Family | None],
    statistics: Statistics,
    tempering: Tempering,
    n_threads: int,
) -> Weighed:
    """Fit the additive model of the statistics."""
    kept = statistics.kept
    if kept is None:
        raise SchemaError(
            "This recipe weighs evidence on a sample of the rows, but none was kept: the model was fitted with another "
            "recipe. Fit again."
        )
    kept = _bounded(kept)
    readable = [place for place, family in enumerate(families) if family is not None]
    densities = stacked_densities(schema.names, families)
    columns, labels = _columns(schema, families, statistics, readable)
    cells = [
        _cells(kept, schema.names[place], known, families[place]) for place, known in zip(readable, labels, strict=True)
    ]
    chosen, weights = _dealt(kept.smallest(tempering.rows))
    with one_blas_thread():  # many small products: threads would only wait for each other
        model = fit_additive(
            columns,
            statistics.class_weight.high,
            [(kind, values[chosen]) for kind, values in cells],
            chosen,
            kept.codes[chosen],
            weights,
            densities,
            tempering.candidates,
            n_threads,
        )
    factors = _factors(model, families, readable, labels, columns, statistics.class_weight.high)
    return Weighed(model, factors, readable, labels, cells, kept.codes, kept.weights)


def stacked_densities(names: Sequence[str], families: Sequence[Family | None]) -> tuple[str, ...]:
    """The densities that are stacked: those of the numeric columns, which must agree; other families are refused."""
    found: set[tuple[str, ...]] = set()
    for name, family in zip(names, families, strict=True):
        if isinstance(family, Stacked):
            found.add(family.densities)
        elif isinstance(family, Text):
            _refuse_event(family, name)
        elif family is not None and not isinstance(family, Categorical):
            raise ParameterError(
                f"Column {name!r}: a recipe that weighs evidence reads numbers with Stacked(), labels with "
                f"Categorical() and prose with Text(), not with {family!r}. Use recipe='textbook' for this family."
            )
    if len(found) > 1:
        raise ParameterError(f"All Stacked() columns must have the same densities, got {sorted(found)}.")
    return found.pop() if found else ("t",)


def _columns(
    schema: Schema, families: Sequence[Family | None], statistics: Statistics, readable: Sequence[int]
) -> tuple[list[ColumnStatistics], list[tuple[Label, ...] | None]]:
    """What is known of each column, and the values of the categorical ones."""
    moments_summary, histogram_summary = Stacked().summaries
    moments, histograms = statistics.table(moments_summary), statistics.table(histogram_summary)
    counts = statistics.table(Categorical().summaries[0])
    assert isinstance(moments, Moments)
    assert isinstance(histograms, Histograms)
    assert isinstance(counts, Counts)
    weight, mean, scatter = centred(moments)
    at = {name: place for place, name in enumerate(moments.columns)}
    histogram_at = dict(zip(histograms.columns, histograms.histograms, strict=True))
    tables = _label_tables(schema, families, counts, readable)
    columns: list[ColumnStatistics] = []
    labels: list[tuple[Label, ...] | None] = []
    for place in readable:
        name, family = schema.names[place], families[place]
        if isinstance(family, Categorical):
            known, table = tables[name]
            columns.append(LabelColumn(table))
            labels.append(known)
        elif isinstance(family, Text):
            columns.append(_text_column(name, family, statistics))
            labels.append(None)
        else:
            exact = tuple(part[:, at[name]] for part in (weight, mean, scatter))
            columns.append(NumericColumn(histogram_at[name], exact))  # type: ignore[arg-type]
            labels.append(None)
    return columns, labels


def _refuse_event(family: Text, name: str) -> None:
    """Refuse the options of Text that only say something where evidence is not weighed."""
    if family.event != "multinomial" or family.idf:
        raise ParameterError(
            f"Column {name!r}: a recipe that weighs evidence pools scores of its own, so Text(event={family.event!r}, "
            f"idf={family.idf}) means nothing to it. Leave these out, or use recipe='textbook'."
        )


def _text_column(name: str, family: Text, statistics: Statistics) -> TextColumn:
    tables = []
    for summary in family.summaries:
        tokens = statistics.table(summary)
        assert isinstance(tokens, Tokens)
        tables.append(tokens.for_columns((name,)).tables[0].frequent(family.min_count))
    return TextColumn(family.views, tuple(tables))


def _label_tables(
    schema: Schema, families: Sequence[Family | None], counts: Counts, readable: Sequence[int]
) -> dict[str, tuple[tuple[Label, ...], FloatArray]]:
    """The values of each categorical column, declared ones included, and their counts (classes, values)."""
    members: dict[Categorical, list[str]] = {}
    for place in readable:
        family = families[place]
        if isinstance(family, Categorical):
            members.setdefault(family, []).append(schema.names[place])
    tables = {}
    for family, names in members.items():
        declared = family.with_known(counts.for_columns(names))
        for place, name in enumerate(names):
            tables[name] = declared.categories[place], declared.table(place).high
    return tables


def _cells(kept: KeptRows, name: str, labels: tuple[Label, ...] | None, family: Family | None) -> Column:
    """The kept cells of a column, labels as codes."""
    cells = kept.columns.get(name)
    if isinstance(family, Text):
        return "text", np.full(len(kept), None) if cells is None else cells
    if labels is None:
        return "numeric", np.full(len(kept), np.nan) if cells is None else cells
    if cells is None:
        return "categorical", np.full(len(kept), -1)
    index: dict[object, int] = {label: code for code, label in enumerate(labels)}
    index[None] = -1
    return "categorical", np.array([index[value] for value in cells.tolist()], dtype=np.int64)


def _dealt(chosen: KeptRows) -> tuple[IntArray, FloatArray]:
    """The rows that weights are fitted on, the first among the kept ones, and their weights.

    A row that was learnt several times appears several times with a share of its weight, so that it can be in several
    folds, as its repetitions would be.
    """
    n_copies = np.clip(np.floor(chosen.weights), 1, REPEATS).astype(np.int64)
    rows = np.repeat(np.arange(len(chosen)), n_copies)
    return rows, (chosen.weights / n_copies)[rows]


def _bounded(kept: KeptRows) -> KeptRows:
    """The kept rows, worth at most so many rows in all that what they are fitted with still counts beside them."""
    total = float(kept.weights.sum())
    return kept if total <= MOST_ROWS else kept.scaled(MOST_ROWS / total)


def _factors(
    model: AdditiveModel,
    families: Sequence[Family | None],
    readable: Sequence[int],
    labels: Sequence[tuple[Label, ...] | None],
    columns: Sequence[ColumnStatistics],
    class_weights: FloatArray,
) -> list[Factor]:
    """The model's terms as curves and tables, one per column."""
    known, missing = _gathered(model, columns, class_weights)
    prose = [place for place, term in enumerate(model.terms) if isinstance(term, TextTerm)]
    numeric = [place for place, values in enumerate(labels) if values is None and place not in prose]
    labelled = [place for place, values in enumerate(labels) if values is not None]
    factors = []
    if numeric:
        curves = tuple(Curve(model.terms[place].knots, known[place], missing[place]) for place in numeric)
        factors.append(_factor(families, readable, numeric, Curves(curves)))
    if labelled:
        tables = tuple(np.column_stack([known[place], missing[place]]) for place in labelled)
        values = tuple(labels[place] or () for place in labelled)
        factors.append(_factor(families, readable, labelled, LabelTables(values, tables, len(class_weights))))
    for place in prose:
        term = model.terms[place]
        assert isinstance(term, TextTerm)
        assert isinstance(term.estimate, TextEvidence)
        texts = WeighedText(term.estimate, term.weights, known[place][:, 0], missing[place])
        factors.append(_factor(families, readable, [place], texts))
    return factors


def _factor(
    families: Sequence[Family | None], readable: Sequence[int], places: Sequence[int], estimate: Estimate
) -> Factor:
    family = families[readable[places[0]]]
    assert family is not None
    return Factor(family, np.array([readable[place] for place in places], dtype=np.int64), estimate)


def _gathered(
    model: AdditiveModel, columns: Sequence[ColumnStatistics], class_weights: FloatArray
) -> tuple[list[AnyArray], list[FloatArray]]:
    """One table per column for its values, and what it says when missing: indicators and the bias folded in.

    The bias is shared by the columns that were never missing, if there are any, and else by all: a column that was
    never missing says nothing when it is.
    """
    n_columns = len(columns)
    known = [term.table.copy() for term in model.terms[:n_columns]]
    missing = [np.zeros(len(class_weights)) for _ in columns]
    for term in model.terms[n_columns:]:
        _fold_indicator(term, known, missing)
    complete = [
        place
        for place, column in enumerate(columns)
        if np.allclose(column.observed, class_weights, rtol=1e-9, atol=0.0)
    ]
    sharing = complete or list(range(n_columns))
    for place in sharing:
        known[place] += (model.bias / len(sharing))[:, None]
        if not complete:
            missing[place] += model.bias / len(sharing)
    return known, missing


def _fold_indicator(term: Term, known: list[AnyArray], missing: list[FloatArray]) -> None:
    known[term.column] += term.table[:, :1]
    missing[term.column] += term.table[:, 1]
