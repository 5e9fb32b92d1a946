"""What a family is: which statistics it needs, and how it turns them into evidence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from naively._table.table import Kind
from naively.errors import Gap as Gap
from naively.families import _information
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray, Label

if TYPE_CHECKING:
    from naively.statistics._divergence import Change


class Count(NamedTuple):
    """How many numbers a distribution is written down with, and how many of them are free to choose.

    Probabilities that sum to one are all stored, but the last of them is not free.
    """

    stored: int
    free: int


class Parameters(NamedTuple):
    """The number of parameters of some columns, and how many values each column has (None: no finite number)."""

    numbers: Count
    sizes: Sequence[int] | None = None

    @classmethod
    def of_values(cls, n_classes: int, sizes: Sequence[int]) -> Parameters:
        """Of columns with a probability for each of so many values; one without a known value takes nothing."""
        seen = [size for size in sizes if size]
        return cls(Count(n_classes * sum(seen), n_classes * sum(size - 1 for size in seen)), seen)

    @classmethod
    def all_free(cls, number: int) -> Parameters:
        """Of columns whose parameters are all free."""
        return cls(Count(number, number))


class TokenWeights(NamedTuple):
    """What one of each token of a text says.

    Parameters
    ----------
    vocabulary : Vocabulary
        The tokens that are known.
    weights : callable
        From places in the vocabulary to what one of these tokens says, (tokens, classes).
    """

    vocabulary: Any
    weights: Callable[[IntArray], FloatArray]


class Member(NamedTuple):
    """How a column enters a factor of several columns.

    Parameters
    ----------
    reads : str
        "labels" or "numbers".
    declared : tuple of labels, "declared" or None
        The labels that count whether they occurred or not, as in `Categorical`.
    """

    reads: str
    declared: Any = None


NO_TABLE = "has no table or formula that other programs could read"


class Estimate(ABC):
    """The parameters of one family for a group of columns, and what follows from them alone.

    A family must write `evidence` and `describe`. The other questions have an answer that follows from these, or a
    declared `Gap`, until the family answers them.
    """

    reads: ClassVar[str] = "numbers"
    """Whether the blocks it is given hold "numbers", "codes", "both" or "texts"."""

    # -- Evidence -------------------------------------------------------------------------------------------------

    @abstractmethod
    def evidence(self, block: Any) -> FloatArray:
        """The log-likelihood of every cell, (rows, columns, classes); 0 where the cell is missing."""

    def add_to(self, scores: FloatArray, block: Any) -> None:
        """Add the evidence, summed over the columns, to the scores (rows, classes)."""
        scores += self.evidence(block).sum(axis=1)

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The parameters, named: arrays of shape (classes, columns) or lists of them per column."""

    def tabled(self) -> dict[str, Any]:
        """The parameters as tables of P(x | y) show them."""
        return self.describe()

    def axes(self, place: int) -> list[list[str]]:
        """What the axes of a column's parameters are called, but for the first, which is that of the classes."""
        return []

    # -- Questions ------------------------------------------------------------------------------------------------

    reads_sparse: ClassVar[bool] = False
    """Whether it reads CSR rows as they are, by `add_sparse`, `only` and `of_zeros_but`."""

    least_rows: ClassVar[int] = 128
    """The number of rows that a block should have, so that what is done once for each block does not count."""

    cells_per_row: ClassVar[int] = 0
    """About how many cells it computes for each row, beyond one for each column."""

    @property
    def nonnegative(self) -> bool:
        """Whether negative numbers are refused."""
        return False

    @property
    def positive(self) -> bool:
        """Whether numbers that are not above 0 are refused."""
        return False

    @property
    def multiplies(self) -> bool:
        """Whether evidence takes many small products of matrices."""
        return False

    token_evidence: Any = Gap("reads no text")
    """From the place of a column and a text to its tokens and the evidence (tokens, classes) of each; or from a date,
    in seconds, to its parts."""

    token_weights: Any = Gap("reads no text")
    """From the place of a column to the `TokenWeights` of all that it counts of texts."""

    @property
    def mass(self) -> float:
        """What the density integrates to over all numbers, if it is one of a distribution."""
        return 1.0

    constant_in_cells: ClassVar[bool] = False
    """Whether the evidence is the same for all values of a cell of a coarse histogram."""

    log_likelihood: Any = Gap("is no function of means and variances, and no histogram was kept")
    """From the statistics to the log-likelihood (columns,) of all learnt cells, each in its own class."""

    quantile: Any = Gap("offers no range of values")
    """From levels (levels,) between 0 and 1 to the numbers (levels, classes, columns) below which so much lies."""

    line: Any = Gap("has log-odds that bend")
    """From the position of a base class to the log-odds against it as an estimate that is linear, with `offset`,
    `terms` and `largest_weights`."""

    as_table: Any = Gap(NO_TABLE)
    """What other programs need to compute the evidence: a dict for each column, whose ``kind`` is

    - "labels": ``values``, ``evidence`` (classes, values), ``unknown`` (classes,);
    - "steps": ``cuts``, ``evidence`` (classes, cuts + 1): bin i begins at cut i - 1;
    - "curve": ``knots``, ``evidence`` (classes, knots): linear between the knots, constant beyond them;
    - "formula": ``formula``, a Python expression of x, of the names in ``parameters``, each (classes,), and of
      ``log``, ``log1p``, ``lgamma``, ``square`` and ``where``;
    - "date": ``parts``, a dict of such tables: of the "trend", which is a date as seconds since 1970, or a time as
      seconds since midnight, by the clock on the wall; of "month" (1 to 12), "weekday" (1: Monday) and "hour". They add
      up, and ``missing`` counts once;
    - "nothing": no value says anything.

    A missing cell adds ``missing`` (classes,), 0 where it is not given. Where there is a ``contrast``, the evidence of
    a known cell is made finite (what is impossible lies 35 below the least, nothing 10,000 below the largest), centred
    over the classes, multiplied by its ``weights`` (classes,), and its ``known`` (classes,) is added.
    """

    @property
    def table_is_whole(self) -> bool:
        """Whether `as_table` leaves nothing out, not even what all classes share."""
        return True

    @property
    def kind(self) -> str:
        """What `points` are: "label", "truth" (yes or no), "from" (where bins begin), "point", "part" or "text"."""
        return "point"

    def points(self, place: int, n_points: int) -> list[Any]:
        """The values that stand in a table of a column's evidence: all of them, or points that show its shape."""
        low, high = self.quantile(np.array([0.00135, 0.99865]))[:, :, place]
        return [float(point) for point in np.unique(np.linspace(low.min(), high.max(), n_points))]

    def tabulated(self, place: int, points: Sequence[Any], n_columns: int) -> FloatArray:
        """The evidence of `points`, of a value that is not known, and of a missing cell, (points + 2, classes).

        The estimate has `n_columns`, of which the one at `place` is meant.
        """
        block = np.full((len(points) + 2, n_columns), np.nan)
        block[:-2, place] = self.as_numbers(points)
        return self.evidence(block)[:, place]

    def as_numbers(self, points: Sequence[Any]) -> Sequence[Any]:
        """The numbers that stand for `points`."""
        return points

    def edges(self) -> FloatArray:
        """Numbers (edges, columns), ascending: between two the densities are smooth, beyond them nothing matters."""
        found = self.quantile(LEVELS)
        found = found[:: 1 + found.shape[1] // 32]  # with many classes there are many edges anyway
        return np.sort(found.reshape(-1, found.shape[-1]), axis=0)


LEVELS = 1 / (1 + np.exp(-np.linspace(-32.0, 32.0, 257)))
"""Levels that are dense at both ends, as far out as they differ from 0 and 1."""


@dataclass(frozen=True)
class LeftOut:
    """The evidence that rows get from a model without them.

    Parameters
    ----------
    reads : str
        Whether the blocks it is given hold "numbers", "codes" or "both".
    evidence : callable
        From a block of rows that were learnt, their class codes and their weights to the log-likelihood of every cell,
        (rows, columns, classes), under the statistics without that row; 0 where the cell is missing.
    codebook : optional
        How labels become codes.
    reader : callable, optional
        From a table and the positions of the columns to a function from a slice of rows to the block, for families that
        read labels and numbers together.
    sparse : callable, optional
        The same from CSR rows, summed over the columns: (rows, classes).
    """

    nonnegative: ClassVar[bool] = False
    positive: ClassVar[bool] = False
    """Rows that were learnt have been checked."""

    reads: str
    evidence: Callable[[Any, IntArray, FloatArray], FloatArray]
    codebook: Any = None
    reader: Callable[..., Callable[[slice], Any]] | None = None
    sparse: Callable[[Any, IntArray, FloatArray], FloatArray] | None = None


class EvidenceReader(Protocol):
    """What a recipe that weighs evidence takes from a family, in one of these forms."""

    def of_estimate(self, family: Any, statistics: Sequence[Any], smoothing: Any) -> None:
        """Columns that say what the family estimates."""

    def of_densities(self, densities: tuple[str, ...], moments: Any, histograms: Any, monotone: int = 0) -> None:
        """Columns of numbers that say what a mixture of densities does, monotone if need be."""

    def of_parts(self, parts: Sequence[str], first: bool, calendar: Any, smoothing: Any) -> None:
        """Columns of dates, of which months, weekdays and hours are labels; `first` tells that a cell is known."""

    def of_counts(self, counts: Any) -> None:
        """Columns of labels, whose counts of all values are smoothed towards those of all classes."""

    def of_tokens(self, views: Any, tokens: Sequence[Any], min_count: float) -> None:
        """Columns of texts, with the tokens of each view that occur so often."""


@dataclass(frozen=True)
class Family:
    """Base of the families. A family is a value: its options, and nothing learnt."""

    is_distribution: ClassVar[bool] = True
    """Whether its evidence is the logarithm of a probability or density, and not only a score."""

    accepts: ClassVar[tuple[Kind, ...]] = ("number", "truth", "empty")
    """The kinds of columns that the family reads."""

    together: ClassVar[bool] = False
    """Whether its columns are read together: a column then keeps those of the summaries that concern it."""

    compares_rows: ClassVar[bool] = True
    """Whether a larger evidence means a more usual row, and not only that it speaks for a class."""

    leaves_out_exactly: ClassVar[bool] = True
    """Whether `leave_one_out` is the estimate without the row, or keeps what was chosen from the column's shape."""

    one_term: ClassVar[bool] = False
    """Whether all its columns have one term of evidence, called `term`, and not one each."""

    shares_weight: ClassVar[bool] = False
    """Whether its columns share one distribution, so that a recipe that weighs evidence gives them one weight."""

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """The statistics that the family needs, in the order in which `estimate` takes them."""
        raise NotImplementedError  # pragma: no cover

    @classmethod
    def name(cls) -> str:
        """What the family is called in ``families=`` and in model files."""
        return cls.__name__.lower()

    def options(self) -> dict[str, Any]:
        """The options by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def reads_declared(self) -> bool:
        """Whether the family wants to know the values that a column's type declares."""
        return False

    with_monotone: ClassVar[Any] = Gap("has a shape of its own")
    """From 1 or -1 to the family whose log-odds of the second of two classes rise, or fall, with the number."""

    reads_dates: ClassVar[bool] = False
    """Whether the family reads text as dates or times of day, and wants to know what its column holds."""

    def for_column(self, kind: Kind, numeric: Family | None = None) -> Family:
        """The family of a column that holds this, where numbers are read with the family `numeric`."""
        return self

    def with_declared(self, labels: tuple[Label, ...] | None) -> Family:
        """The family of a column whose type declares these values (None: it declares none)."""
        return self

    def followed_as(self, smoothing: Any) -> str | None:
        """What sums follow its columns record by record, "normal" or "labels"; None where a record changes more."""
        return None

    # -- Weighing -------------------------------------------------------------------------------------------------

    def takes_smoothing(self, weighed: bool) -> bool:
        """Whether its estimates have pseudo-counts, where evidence is weighed or where it is not."""
        return True

    def unweighable(self) -> str | None:
        """Why a recipe that weighs evidence cannot read its columns so; None where it can."""
        return None

    def weighed_by(self, reader: EvidenceReader, *statistics: Any, smoothing: Any) -> None:
        """Give a recipe that weighs evidence what it weighs: the estimate and its leave-one-out, or what is finer."""
        reader.of_estimate(self, statistics, smoothing)

    def with_parts(self, estimate: Any, parts: tuple[FloatArray, ...], missing: FloatArray) -> Estimate:
        """A weighed estimate with what the parts of dates say, (classes, cells) each: only dates have any."""
        found: Estimate = estimate
        return found

    # -- Questions that take the statistics or the options --------------------------------------------------------

    n_parameters: ClassVar[Any] = Gap("has no fixed number of parameters")
    """From an estimate of so many classes and columns, ``(estimate, n_classes, n_columns)``, to its `Parameters`."""

    distribution: ClassVar[Any] = Gap("tells classes apart, but is no distribution of a column's values")
    """From ``(estimate, tables, class_weight, length)`` to `Numbers` or `Labels`: what is drawn, what is expected.

    `class_weight` (classes,) is the weight of all rows, and `length` the total of a row's counts that the user gave.
    """

    uncertain: ClassVar[Any] = Gap("has no posterior distribution in closed form")
    """From ``(estimate, tables, smoothing, block)`` to the evidence of the rows of a block as it is `Uncertain`."""

    posterior: ClassVar[Any] = Gap("has no posterior distribution in closed form")
    """From ``(tables, smoothing)`` to the `Posteriors` of each column."""

    log_marginal_likelihood: ClassVar[Any] = Gap("has no prior under which the probability of the data is known")
    """From ``(tables, smoothing)`` to the log-probability of all learnt cells, whatever the parameters."""

    rows_of: ClassVar[Any] = Gap("cannot be made from given parameters")
    """From parameters, as `describe` names them, to (value, share) pairs for each class: rows that have them."""

    def values_of(self, estimate: Any, place: int) -> Any:
        """The values that a column's probabilities belong to; None if its parameters are single numbers."""
        return None

    as_words: ClassVar[Any] = Gap("reads no words")
    """From nothing to nothing, where the evidence of a text is told by what each word, and each two in a row, says."""

    as_member: ClassVar[Any] = Gap("reads neither labels nor numbers that a factor can join")
    """From nothing to the `Member` that a column of this family is in a factor of several columns."""

    def to_compare(self) -> Family:
        """The family that counts rows which are to be compared; another one where chance takes more to tell."""
        return self

    def compare(self, before: Any, after: Any, summary: Summary, rows: FloatArray) -> tuple[Change, FloatArray]:
        """How each column has changed in each class: what its most detailed statistic tells.

        Parameters
        ----------
        before, after : Statistic
        summary, rows
            As in `Statistic.compare`.
        """
        changed: tuple[Change, FloatArray] = before.compare(after, summary, rows)
        return changed

    def cells(self, *tables: Any) -> list[FloatArray] | None:
        """The counts (classes, cells) of each column that is, or can be cut into, a few cells; None for a density."""
        return None

    def information(self, *tables: Any) -> FloatArray:
        """The bits that each column has on the class; of a density by integration of its own evidence."""
        return _information.information(self, tables)

    def likelihood_ratio(self, *tables: Any) -> tuple[FloatArray, IntArray]:
        """Twice the log-likelihood that classes with parameters of their own gain, and how many more those are."""
        return _information.likelihood_ratio(self, tables)

    def effect(self, *tables: Any) -> FloatArray:
        """How far the extreme class means of each column are apart, in standard deviations within the classes."""
        return _information.effect(self, tables)

    @property
    def term(self) -> str:
        """What the evidence is called where all columns have one term."""
        return self.name()

    @property
    def as_given(self) -> Any:
        """What the user gave to have this family."""
        return self

    def expecting(self) -> Family:
        """The family that says what is expected of a cell: itself, unless its evidence is no density."""
        return self

    def in_tables(self) -> Family:
        """The family whose parameters stand in tables of P(x | y): one with few of them, which are there at once."""
        return self.expecting()

    log_base: ClassVar[Any] = None
    """From a block to the part of the rows' log-likelihood (rows,) that all classes share and `evidence` leaves out."""

    estimate: ClassVar[Callable[..., Estimate]]
    """The parameters, from the merged statistics (one argument per summary) and the keyword `smoothing`: pure."""

    leave_one_out: ClassVar[Any] = Gap("has no leave-one-out in closed form")
    """From the arguments of `estimate` to `LeftOut`: the evidence of rows that the statistics hold, without the row."""


READS_LABELS: tuple[Kind, ...] = ("number", "truth", "label", "text", "date", "time", "mixed", "empty")
"""The kinds of columns that can be read as labels: all."""
