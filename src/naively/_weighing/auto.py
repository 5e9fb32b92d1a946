"""The recipes that weigh evidence: from a model's statistics to an additive model, and from that to a scorer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from naively._common.blas import one_blas_thread
from naively._common.checks import require_whole, some_of
from naively._model.schema import Schema
from naively._scoring.model import Factor, LeftOutRows
from naively._weighing.additive import AdditiveModel, Prior, fit_additive
from naively._weighing.boosted import n_groups
from naively._weighing.categories import prior_pseudo_counts
from naively._weighing.kept import FittedRows, fitted_rows, in_rows, sample_weights, typical_weights
from naively._weighing.reading import read_sources
from naively._weighing.sources import EstimatedNumbers, WeighedEstimate
from naively._weighing.terms import Column, FamilyTerm, PartTerm, Term, TextTerm, take_rows
from naively._weighing.text import TextEvidence, WeighedText
from naively._weighing.weights import CANDIDATES
from naively.errors import ParameterError, SchemaError
from naively.families import Estimate, Family
from naively.families._categorical import LabelTables
from naively.families._curves import Curve, Curves
from naively.smoothing import Smoothing
from naively.statistics._calendar import N_CELLS, cells_of
from naively.statistics._kept_rows import KeptRows
from naively.statistics._statistics import Statistics
from naively.typing import AnyArray, FloatArray, IntArray, Label


@dataclass(frozen=True)
class Tempering:
    """How evidence is weighed.

    Parameters
    ----------
    candidates : tuple of str
        The ways of weighing that are added up: "T" (one temperature), "W" (a weight per column), "V3" (and effects of
        values), "V.3" (and large ones), "CV" (and weights that differ by class).
    rows : int, optional
        On how many of the kept rows, at most, they are fitted; on all by default.

    Examples
    --------
    >>> Tempering(["T", "W"])
    Tempering(candidates=('T', 'W'), rows=None)
    """

    candidates: tuple[str, ...]
    rows: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", some_of("Tempering(candidates)", self.candidates, tuple(CANDIDATES)))
        if self.rows is not None:
            require_whole("Tempering(rows)", self.rows)


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
        Their classes, and what they count as a sample of all rows.
    rows : FittedRows
        All kept rows, dealt to parts.
    """

    model: AdditiveModel
    factors: list[Factor]
    readable: list[int]
    labels: list[tuple[Label, ...] | None]
    kept: list[Column]
    codes: IntArray
    weights: FloatArray
    rows: FittedRows

    @property
    def left_out(self) -> LeftOutRows:
        """The kept rows as seen by models that did not learn from them."""
        loo = self.model.loo
        return LeftOutRows(loo.log_posterior.astype(np.float64), loo.codes, loo.weights, self.model.log_prior)


def weigh(
    schema: Schema,
    families: Sequence[Family | None],
    smoothings: Sequence[Smoothing],
    prior_smoothing: Smoothing,
    statistics: Statistics,
    tempering: Tempering,
    n_threads: int,
) -> Weighed:
    """Fit the additive model of the statistics."""
    if statistics.kept is None:
        raise SchemaError(
            "This recipe weighs evidence on a sample of the rows, but none was kept: the model was fitted with another "
            "recipe. Fit again."
        )
    statistics = in_rows(statistics)
    kept, class_weights = statistics.kept, statistics.class_weight.high
    assert kept is not None
    readable = [place for place, family in enumerate(families) if family is not None]
    sources, labels = read_sources(schema, families, smoothings, statistics, readable)
    typical = typical_weights(kept, len(class_weights))
    cells = [
        _cells(kept, schema.names[place], known, schema.is_text(place))
        for place, known in zip(readable, labels, strict=True)
    ]
    rows = fitted_rows(kept, class_weights, tempering.rows)
    prior = Prior(class_weights, prior_pseudo_counts(class_weights, prior_smoothing, statistics.classes.tolist()))
    with one_blas_thread():  # many small products: threads would only wait for each other
        model = fit_additive(
            sources,
            prior,
            take_rows(cells, rows.rows),
            rows,
            typical,
            tempering.candidates,
            n_threads,
        )
    return Weighed(
        model=model,
        factors=_factors(model, families, readable, labels),
        readable=readable,
        labels=labels,
        kept=cells,
        codes=kept.codes,
        weights=sample_weights(kept, class_weights),
        rows=fitted_rows(kept, class_weights, in_parts=lambda n_rows: n_groups(n_rows, len(class_weights))),
    )


# -- what a recipe that weighs evidence cannot read -------------------------------------------------------------------


def refuse_unweighable(names: Sequence[str], families: Sequence[Family | None]) -> None:
    """Refuse families, or options of them, that mean nothing to a recipe that weighs evidence."""
    for name, family in zip(names, families, strict=True):
        reason = None if family is None else family.unweighable()
        if reason is not None:
            raise ParameterError(f"Column {name!r}: {reason}.")


# -- kept rows ----------------------------------------------------------------------------------------------------


def _cells(kept: KeptRows, name: str, labels: tuple[Label, ...] | None, is_text: bool) -> Column:
    """The kept cells of a column, labels as codes."""
    cells = kept.columns.get(name)
    if is_text:
        return "text", np.full(len(kept), None) if cells is None else cells
    if labels is None:
        return "numeric", np.full(len(kept), np.nan) if cells is None else cells
    if cells is None:
        return "categorical", np.full(len(kept), -1)
    index: dict[object, int] = {label: code for code, label in enumerate(labels)}
    index[None] = -1
    return "categorical", np.array([index[value] for value in cells.tolist()], dtype=np.int64)


# -- from terms to estimates ----------------------------------------------------------------------------------------


def _factors(
    model: AdditiveModel,
    families: Sequence[Family | None],
    readable: Sequence[int],
    labels: Sequence[tuple[Label, ...] | None],
) -> list[Factor]:
    """The model's terms as estimates: curves and tables in one factor for each family, and one for any other term."""
    known, missing, parts = _gathered(model)
    terms = [term for term in model.terms if term.kind != "missing"]
    factors = []

    def factor(columns: Sequence[int], estimate: Estimate | None) -> Factor:
        family = families[readable[columns[0]]]
        assert family is not None
        said, silent = [parts[column] for column in columns], [missing[column] for column in columns]
        whole = family.with_parts(estimate, tuple(said), np.stack(silent, axis=1))
        return Factor(family, np.array([readable[column] for column in columns], dtype=np.int64), whole)

    for columns in _with_one_family(families, readable, [term for term in terms if term.kind == "numeric"]):
        knots = {term.column: term.knots for term in terms if term.kind == "numeric"}
        curves = tuple(Curve(knots[column], known[column], missing[column]) for column in columns)
        factors.append(factor(columns, Curves(curves)))
    for columns in _with_one_family(families, readable, [term for term in terms if term.kind == "categorical"]):
        tables = tuple(np.column_stack([known[column], missing[column]]) for column in columns)
        values = tuple(labels[column] or () for column in columns)
        factors.append(factor(columns, LabelTables(values, tables, len(model.log_prior))))
    alone = [term for term in terms if isinstance(term, PartTerm) and term.column not in known]
    together = _with_one_family(families, readable, alone)
    factors += [factor(list(dict.fromkeys(columns)), None) for columns in together]
    for term in terms:
        if isinstance(term, TextTerm):
            assert isinstance(term.estimate, TextEvidence)
            texts = WeighedText(term.estimate, term.weights, known[term.column][:, 0], missing[term.column])
            factors.append(factor([term.column], texts))
        elif isinstance(term, FamilyTerm):
            assert isinstance(term.source, EstimatedNumbers)
            always = np.stack([known[column][:, 0] for column in term.columns], axis=1)
            never = np.stack([missing[column] for column in term.columns], axis=1)
            weighed = WeighedEstimate(term.source.estimate, term.weights, always, never)
            factors.append(factor(term.columns, weighed))
    return factors


def _with_one_family(
    families: Sequence[Family | None], readable: Sequence[int], terms: Sequence[Term]
) -> list[list[int]]:
    """The columns of terms, those that one family reads together."""
    found: list[tuple[Family | None, list[int]]] = []
    for term in terms:
        family = families[readable[term.column]]
        same = next((columns for other, columns in found if other is family or other == family), None)
        if same is None:
            found.append((family, [term.column]))
        else:
            same.append(term.column)
    return [columns for _, columns in found]


def _gathered(
    model: AdditiveModel,
) -> tuple[dict[int, AnyArray], dict[int, FloatArray], defaultdict[int, FloatArray]]:
    """One table per column for its values, what it says when missing, and what the parts of dates say.

    A missing cell says nothing, unless that tells the class.
    """
    known: dict[int, AnyArray] = {}
    first_part: dict[int, str] = {}
    n_classes = len(model.bias)
    parts: defaultdict[int, FloatArray] = defaultdict(lambda: np.zeros((n_classes, N_CELLS)))
    for term in model.terms:
        if isinstance(term, PartTerm):
            parts[term.column][:, cells_of(term.part)] += term.table
            first_part.setdefault(term.column, term.part)
        elif term.kind != "missing":
            for column in term.columns:
                known.setdefault(column, term.table.copy())
    missing = {column: np.zeros(n_classes) for column in (*known, *parts)}
    for term in model.terms:
        if term.kind != "missing":
            continue
        missing[term.column] += term.table[:, 1]
        if term.column in known:
            known[term.column][:, : term.n_values] += term.table[:, :1]  # a label never seen says nothing
        else:
            parts[term.column][:, cells_of(first_part[term.column])] += term.table[:, :1]
    return known, missing, parts
