"""Labels: the probability of every value of a column, per class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from naively._kernels import frozen, reference, repays_compiler, with_reference
from naively._table.labels import LARGEST_EXACT, as_label, label_order, positions_in, recoded
from naively._table.table import NO_INTEGER, NOT_WHOLE, Kind, Table
from naively.errors import ForgetError, Gap, ParameterError, brief
from naively.families._distributions import Labels
from naively.families._linear import logs_and_zeros, refuse_infinite_weights
from naively.families._numbers import against
from naively.families._posteriors import Posteriors, dirichlets, log_marginal, prior_counts, refuse_prior_from_data
from naively.families._uncertainty import Uncertain, independent, looked_up
from naively.families.base import READS_LABELS, Estimate, EvidenceReader, Family, LeftOut, Member, Parameters
from naively.smoothing import Lidstone, Smoothing, StackedMEstimate, smoothed_frequencies
from naively.statistics._counts import Counts, frequencies_without, merged_labels
from naively.statistics._information import counted
from naively.statistics.base import Summary
from naively.typing import AnyArray, FloatArray, IntArray, Label

UNKNOWN = -2
"""What stands for a value that is not known, among the places of those that are."""

WIDEST_GAPS = 4
"""Whole-number labels are looked up directly while their range is at most so many times their number (plus 1024)."""


@dataclass(frozen=True)
class Categorical(Family):
    """Text, categories, booleans, or numbers that are only names.

    Parameters
    ----------
    categories : sequence or "declared", optional
        All values that the column can have. By default those that occurred. Declared ones count in smoothing from the
        start, so that the probability of each is known before it is seen. "declared": those that the column's type
        lists, used or not, as the levels of a factor do in R: the categories of a categorical type, both truth values
        of a boolean one, none of text.

    Notes
    -----
    A value that is neither declared nor learnt gives no evidence, like a missing cell.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> model = NaiveBayes("textbook", families=Categorical(["red", "green", "blue"]))
    >>> model = model.fit([["red"], ["red"], ["green"]], [0, 0, 1])
    >>> model.parameters()["x0"]["probability"]
    {'blue': array([0.2 , 0.25]), 'green': array([0.2, 0.5]), 'red': array([0.6 , 0.25])}
    """

    accepts: ClassVar[tuple[Kind, ...]] = READS_LABELS
    with_monotone: ClassVar[Any] = Gap("reads labels, which have no order")

    categories: tuple[Label, ...] | Literal["declared"] | None = None

    def __init__(self, categories: Sequence[Label] | Literal["declared"] | None = None):
        if categories is not None and not (isinstance(categories, str) and categories == "declared"):
            values = [] if isinstance(categories, str) or not isinstance(categories, Iterable) else list(categories)
            if not values:
                raise ParameterError(
                    f"Categorical(categories) must be a non-empty sequence of values or 'declared', "
                    f"got {brief(categories)}."
                )
            labels = {as_label(value, "Categorical(categories)"): None for value in values}
            categories = tuple(sorted(labels, key=label_order))
        object.__setattr__(self, "categories", categories)

    @property
    def reads_declared(self) -> bool:
        return self.categories == "declared"

    def with_declared(self, labels: tuple[Label, ...] | None) -> Family:
        return Categorical(labels or None) if self.reads_declared else self

    @property
    def known(self) -> tuple[Label, ...]:
        """The values that count whether they occurred or not."""
        return self.categories if isinstance(self.categories, tuple) else ()

    def as_member(self) -> Member:
        """Labels, with those that are declared."""
        return Member("labels", self.categories)

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("counts"),)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, statistics: Counts, *, smoothing: Smoothing) -> CategoricalEstimate:
        """The probability of each value; smoothing adds pseudo-counts to each."""
        statistics = self.with_known(statistics)
        probabilities: list[Any] = [None] * len(statistics.categories)
        for labels, places in _with_same_values(statistics.categories).items():
            counts = np.stack([statistics.table(place).high for place in places], axis=1)
            frequencies = smoothed_frequencies(counts, smoothing, labels)
            for position, place in enumerate(places):
                probabilities[place] = frequencies[:, position]
        return CategoricalEstimate(statistics.categories, probabilities, statistics.cells.shape[0])

    def with_known(self, statistics: Counts) -> Counts:
        """The counts among all values that have a probability: those that occurred and those that count anyway."""
        known = self._known_in(statistics)
        return statistics.with_categories(
            tuple(merged_labels(*pair) for pair in zip(statistics.categories, known, strict=True))
        )

    def _known_in(self, statistics: Counts) -> list[tuple[Label, ...]]:
        """The values of each column that count whether or not they occurred."""
        return [self.known] * len(statistics.columns)

    def _lasting(self, statistics: Counts) -> list[tuple[Label, ...]]:
        """The values of each column that count even if the last row that has them is taken away."""
        return self._known_in(statistics)

    def weighed_by(self, reader: EvidenceReader, *statistics: Any, smoothing: Any) -> None:
        """The counts themselves, where the smoothing is chosen as they are weighed."""
        if isinstance(smoothing, StackedMEstimate):
            reader.of_counts(self.with_known(statistics[0]))
        else:
            super().weighed_by(reader, *statistics, smoothing=smoothing)

    def followed_as(self, smoothing: Any) -> str | None:
        """Its counts, where every value has one pseudo-count."""
        return "labels" if isinstance(smoothing, Lidstone) and type(self) is Categorical else None

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, statistics: Counts, *, smoothing: Smoothing) -> LeftOut:
        """Counts without the row: exact. A value that only the row has is unknown without it, unless declared."""
        lasting = self._lasting(statistics)
        statistics = self.with_known(statistics)
        book = Codebook(statistics.categories)
        stays = [
            np.array([label in known for label in labels], dtype=bool)
            for labels, known in zip(statistics.categories, map(set, lasting), strict=True)
        ]

        def evidence(block: IntArray, codes: IntArray, weights: FloatArray) -> FloatArray:
            places = book.places[reference.looked_up_cells(block, book.low, book.size, book.offset)]
            result = np.zeros((*block.shape, statistics.cells.shape[0]))
            for column, labels in enumerate(statistics.categories):
                _refuse_unknown((places[:, column] == UNKNOWN) & (weights > 0), statistics.columns[column])
                known = np.flatnonzero(places[:, column] >= 0)
                place, own, weight = places[known, column], codes[known], weights[known]
                counts = statistics.table(column)
                frequency = frequencies_without(counts, smoothing, labels, place, own, weight)
                vanishes = ~stays[column][place] & (counts.high.sum(axis=0)[place] - weight <= 0)
                with np.errstate(divide="ignore"):
                    result[known, column] = np.where(vanishes, 0.0, np.log(frequency)).T
            return result

        return LeftOut("codes", evidence, book)

    # -- Questions ------------------------------------------------------------------------------------------------

    def n_parameters(self, estimate: Any, n_classes: int, n_columns: int) -> Parameters:
        """The probability of every value."""
        return Parameters.of_values(n_classes, [len(labels) for labels in estimate.categories])

    def distribution(self, estimate: Any, tables: Any, class_weight: Any, length: Any) -> Labels:
        """The values, by their probabilities."""
        return Labels(estimate.categories, estimate.probabilities)

    def uncertain(self, estimate: Any, tables: Any, smoothing: Smoothing, block: IntArray) -> Uncertain:
        """Under a Dirichlet posterior of the probabilities."""
        counts, book = self.with_known(tables[0]), estimate.codebook
        places = book.places[reference.looked_up_cells(block, book.low, book.size, book.offset)]
        return independent(*looked_up(self.cells(counts), counts.categories, smoothing, places))

    def posterior(self, tables: Any, smoothing: Smoothing) -> list[Posteriors]:
        """Dirichlet."""
        return [{"probability": dirichlets(counts + prior)} for counts, prior in self._with_prior(tables, smoothing)]

    def log_marginal_likelihood(self, tables: Any, smoothing: Smoothing) -> float:
        """Under the Dirichlet prior that the smoothing is."""
        refuse_prior_from_data(smoothing)
        return sum(log_marginal(counts, prior) for counts, prior in self._with_prior(tables, smoothing))

    def _with_prior(self, tables: Any, smoothing: Smoothing) -> list[tuple[FloatArray, FloatArray]]:
        """The counts (classes, values) of each column that has any, and the parameters of their prior."""
        known = self.with_known(tables[0])
        columns = zip(self.cells(known), known.categories, strict=True)
        return [(counts, prior_counts(smoothing, counts, labels)) for counts, labels in columns]

    def rows_of(self, parameters: Any) -> list[list[tuple[Any, float]]]:
        """Each value as often as it is probable."""
        shares = parameters["probability"]
        n_classes = len(next(iter(shares.values())))
        return [[(label, float(share[code])) for label, share in shares.items()] for code in range(n_classes)]

    def values_of(self, estimate: Any, place: int) -> Any:
        return estimate.categories[place]

    def cells(self, statistics: Counts) -> list[FloatArray]:
        """How often each value occurred."""
        return [statistics.table(place).high for place in range(len(statistics.columns))]


def _with_same_values(categories: Sequence[tuple[Label, ...]]) -> dict[tuple[Label, ...], list[int]]:
    """The columns, by position, that have the same values: smoothing may look at all of them at once."""
    groups: dict[tuple[Label, ...], list[int]] = {}
    for place, labels in enumerate(categories):
        groups.setdefault(labels, []).append(place)
    return groups


def _refuse_unknown(unknown: AnyArray, column: str) -> None:
    if unknown.any():
        raise ForgetError(
            f"Column {column!r}: row {int(np.flatnonzero(unknown)[0])} has a value that was never learnt. Only rows "
            "that the model has learnt can be left out."
        )


# -- Evidence -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelTables(Estimate):
    """Evidence of labels, by look-up.

    Parameters
    ----------
    categories : tuple of tuples of labels
        The known values of each column.
    tables : tuple of ndarray (classes, values + 2)
        What each value says; the last two are for a value that is not known, and for a missing cell.
    n_classes : int
    """

    reads: ClassVar[str] = "codes"

    categories: tuple[tuple[Label, ...], ...]
    tables: tuple[FloatArray, ...]
    n_classes: int

    @cached_property
    def codebook(self) -> Codebook:
        """How the columns' values become cells of the look-up table."""
        return Codebook(self.categories)

    @cached_property
    def _look_up_table(self) -> FloatArray:
        """The evidence of every cell of the codebook, (cells, classes)."""
        book = self.codebook
        result = np.zeros((book.n_cells, self.n_classes))
        for position, table in enumerate(self.tables):
            result[book.cells_of(position)] = table[:, :-2].T
            unknown = int(book.offset[position] + book.size[position])
            result[unknown : unknown + 2] = table[:, -2:].T
            if book.direct[position]:  # numbers in the gaps between the known ones are unknown, too
                gaps = np.ones(int(book.size[position]), dtype=bool)
                gaps[book.cells_of(position) - book.offset[position]] = False
                result[book.offset[position] + np.flatnonzero(gaps)] = table[:, -2]
        return result

    def evidence(self, block: IntArray) -> FloatArray:
        """The log-probability of every cell."""
        book = self.codebook
        return self._look_up_table[reference.looked_up_cells(block, book.low, book.size, book.offset)]

    @with_reference
    def add_to(self, scores: FloatArray, block: IntArray) -> None:
        """Add the log-probability of every row."""
        book = self.codebook
        if repays_compiler(block.size * scores.shape[1]):
            from naively._kernels.counts import add_looked_up

            add_looked_up(frozen(block), book.low, book.size, book.offset, self._look_up_table, scores)
        else:
            reference.add_looked_up(block, book.low, book.size, book.offset, self._look_up_table, scores)

    def describe(self) -> dict[str, Any]:
        """The evidence of every value, per column."""
        return {"evidence": [_by_label(*column) for column in zip(self.categories, self.tables, strict=True)]}

    # -- Questions ------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        return "label"

    def points(self, place: int, n_points: int) -> list[Any]:
        """All known values."""
        return list(self.categories[place])

    def tabulated(self, place: int, points: Sequence[Any], n_columns: int) -> FloatArray:
        """The table of the column."""
        return self.tables[place].T

    def line(self, base: int) -> LabelTables:
        """A weight for every value."""
        refuse_infinite_weights(np.array([np.isneginf(table).any() for table in self.tables], dtype=bool))
        tables = tuple(against(table.T, base).T for table in self.tables)
        return LabelTables(self.categories, tables, self.n_classes)

    @property
    def offset(self) -> FloatArray:
        """What is added whatever the value, (classes, columns): nothing."""
        return np.zeros((self.n_classes, len(self.tables)))

    def terms(self, place: int, name: str) -> list[tuple[str, FloatArray]]:
        """What the weights of a column belong to, and the weights (classes,)."""
        table = self.tables[place]
        terms = [(f"{name} = {label}", table[:, code]) for code, label in enumerate(self.categories[place])]
        extra = [(f"{name}: unknown", table[:, -2]), (f"{name}: missing", table[:, -1])]
        return terms + [(term, weight) for term, weight in extra if weight.any()]

    def largest_weights(self) -> FloatArray:
        """The largest gap between the weights of two values: the weight of one, where the other is zero."""
        return np.array([_largest_gap(table[:, :-2]) for table in self.tables])

    def as_table(self) -> list[dict[str, Any]]:
        """The evidence of every value."""
        return [
            {
                "kind": "labels",
                "values": list(labels),
                "evidence": table[:, :-2],
                "unknown": table[:, -2],
                "missing": table[:, -1],
            }
            for labels, table in zip(self.categories, self.tables, strict=True)
        ]


class CategoricalEstimate(LabelTables):
    """The probabilities of a group of columns, (classes, values) each; unknown and missing cells say nothing."""

    def __init__(self, categories: tuple[tuple[Label, ...], ...], probabilities: Sequence[FloatArray], n_classes: int):
        tables = tuple(_with_silence(probability) for probability in probabilities)
        super().__init__(categories, tables, n_classes)
        object.__setattr__(self, "probabilities", tuple(probabilities))

    probabilities: ClassVar[tuple[FloatArray, ...]]

    # -- Description ----------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """The probability of every value, per column."""
        return {"probability": [_by_label(*column) for column in zip(self.categories, self.probabilities, strict=True)]}

    # -- Questions ------------------------------------------------------------------------------------------------

    def log_likelihood(self, counts: Counts) -> FloatArray:
        """Counts times log-probabilities; values that were declared and never seen add nothing."""
        wider = counts.with_categories(self.categories)
        tables = enumerate(self.tables)
        return np.array([counted(wider.table(place).high, table[:, :-2]) for place, table in tables])


def _largest_gap(table: FloatArray) -> float:
    if table.shape[1] == 0:
        return 0.0
    return float(max(np.ptp(table - row, axis=1).max() for row in table))


def _with_silence(probability: FloatArray) -> FloatArray:
    """Log-probabilities, with two columns of zeros for what is unknown and what is missing."""
    logs, zeros = logs_and_zeros(probability)
    if zeros is not None:
        logs = np.where(zeros, -np.inf, logs)
    return np.column_stack([logs, np.zeros((len(logs), 2))])


def _by_label(labels: Sequence[Label], table: FloatArray) -> dict[Label, FloatArray]:
    return {label: table[:, place] for place, label in enumerate(labels)}


class Codebook:
    """Where the values of each column stand in a flat look-up table.

    Column i owns the cells from ``offset[i]`` on: `size[i]` for values, one for an unknown value and one for a missing
    cell. A column whose labels are whole numbers close together is read as it is, shifted by ``low[i]``; any other by
    its labels.
    """

    def __init__(self, categories: Sequence[Sequence[Label]]):
        self.categories = categories
        self.direct = np.array([_close_together(labels) for labels in categories], dtype=bool)
        bounds = [
            (int(labels[0]), int(labels[-1]) - int(labels[0]) + 1) if direct else (0, len(labels))
            for labels, direct in zip(categories, self.direct, strict=True)
        ]
        self.low = np.array([low for low, _ in bounds], dtype=np.int64)
        self.size = np.array([size for _, size in bounds], dtype=np.int64)
        ends = np.cumsum(self.size + 2)
        self.offset = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        self.n_cells = int(ends[-1]) if len(ends) else 0

    def cells_of(self, position: int) -> IntArray:
        """The cells of one column's values, in the order of its categories."""
        labels = self.categories[position]
        if self.direct[position]:
            places = np.array([int(label) for label in labels], dtype=np.int64) - self.low[position]
        else:
            places = np.arange(len(labels), dtype=np.int64)
        return np.asarray(self.offset[position] + places)

    @cached_property
    def places(self) -> IntArray:
        """What each cell stands for: the place of a value, `UNKNOWN`, or -1 for a missing cell."""
        result = np.full(self.n_cells, UNKNOWN, dtype=np.int64)
        result[self.offset + self.size + 1] = -1
        for position, labels in enumerate(self.categories):
            result[self.cells_of(position)] = np.arange(len(labels))
        return result

    def reader(self, table: Table, positions: IntArray) -> Callable[[slice], IntArray]:
        """A function that gives the block of integers (rows, columns) of a slice of rows."""
        kinds = [table.kind(int(position)) if position >= 0 else "empty" for position in positions]
        as_integers = self.direct & np.array([kind in ("number", "truth") for kind in kinds], dtype=bool)
        if as_integers.all():
            whole = len(positions) == table.n_columns and bool((positions == np.arange(len(positions))).all())
            chosen = None if whole else positions
            return lambda rows: table.integers(chosen, rows)
        coded = {
            place: self._codes(table, place, int(positions[place]), kinds[place])
            for place in np.flatnonzero(~as_integers).tolist()
        }

        def read(rows: slice) -> IntArray:
            block = np.empty((len(range(*rows.indices(table.n_rows))), len(positions)), dtype=np.int64)
            if as_integers.any():
                block[:, as_integers] = table.integers(positions[as_integers], rows)
            for place, codes in coded.items():
                block[:, place] = codes[rows]
            return block

        return read

    def _codes(self, table: Table, place: int, position: int, kind: str) -> IntArray:
        """One whole column in this book's numbers."""
        if kind == "empty":
            return np.full(table.n_rows, NO_INTEGER)
        codes, labels = table.labels(position)
        missing = codes < 0
        codes = recoded(codes, positions_in(self.categories[place], labels))
        if self.direct[place]:
            numbers = np.array([int(label) for label in self.categories[place]] + [NOT_WHOLE], dtype=np.int64)
            codes = numbers[codes]
        return np.where(missing, NO_INTEGER, codes)


def _close_together(labels: Sequence[Label]) -> bool:
    """Whether the labels are whole numbers (or booleans) whose range is not much larger than their number."""
    if not labels or any(isinstance(label, (str, float)) for label in labels):
        return False
    if max(abs(int(labels[0])), abs(int(labels[-1]))) >= LARGEST_EXACT:  # a table may hold them as floats
        return False
    return int(labels[-1]) - int(labels[0]) < WIDEST_GAPS * len(labels) + 1024
