"""Several columns as one factor of the model: P(a, b | class) in place of P(a | class) P(b | class)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from naively._table.labels import positions_in, recoded
from naively._table.table import Kind, Table
from naively.errors import GapError, InputError
from naively.families._joint_draws import Together, joint_draws
from naively.families._joint_normal import Densities, Normals, Rule, known_of
from naively.families._joint_table import MOST_KEPT, Marginal, ProductTable
from naively.families._posteriors import Posteriors, dirichlets, no_posterior, prior_counts
from naively.families._uncertainty import Uncertain
from naively.families.base import READS_LABELS, Count, Estimate, Family, LeftOut, Parameters
from naively.smoothing import Smoothing
from naively.statistics._combinations import patterns
from naively.statistics._counts import merged_labels
from naively.statistics._information import counted
from naively.statistics._joint import JointSums, cell_key
from naively.statistics.base import Summary
from naively.typing import AnyArray, FloatArray, IntArray, Label

if TYPE_CHECKING:
    from naively.families._factors import Joint

READ_TOGETHER = (
    "it is read together with others, and a recipe that weighs evidence gives every column a weight of its own. Use "
    "recipe='textbook'"
)

UNKNOWN = -2
"""The code of a label that the factor has not learnt; -1 is that of a missing cell."""

MOST_DESCRIBED = 10_000
"""Tables over more combinations are described by those that occurred."""


@dataclass(frozen=True, repr=False)
class JointFamily(Family):
    """A `Joint` that knows its columns: the family of all of its members.

    Parameters
    ----------
    joint : Joint
    given : tuple of str
        The members in the order in which they were given, which is that of its name and of its description.
    columns : tuple of str
        The members in the order of the model's columns.
    labels, numbers : tuples of str
        Those that are read as labels and as numbers, sorted.
    declared : tuple
        The declared values of each of `labels`, or None.
    """

    accepts: ClassVar[tuple[Kind, ...]] = READS_LABELS
    together: ClassVar[bool] = True
    one_term: ClassVar[bool] = True

    joint: Joint
    given: tuple[str, ...]
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    numbers: tuple[str, ...]
    declared: tuple[tuple[Label, ...] | None, ...]

    def __repr__(self) -> str:
        return repr(self.joint)  # what the user has written

    @classmethod
    def name(cls) -> str:
        return "joint"

    @property
    def as_given(self) -> Joint:
        return self.joint

    @property
    def term(self) -> str:
        """What the factor's evidence is called."""
        return " & ".join(self.given)

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("joint", labels=self.labels, numbers=self.numbers),)

    # -- Estimate -------------------------------------------------------------------------------------------------

    @property
    def rule(self) -> Rule:
        """How covariances are estimated."""
        return Rule(self.joint.ties, self.joint.ddof, self.joint.floor)

    def estimate(self, sums: JointSums, *, smoothing: Smoothing) -> JointEstimate:
        """Frequencies of the combinations, means and covariances."""
        sums = self.with_known(sums)
        normals = self.rule.normals(known_of(sums)) if self.numbers else None
        return JointEstimate(self, ProductTable(sums, smoothing), normals)

    def with_known(self, sums: JointSums) -> JointSums:
        """The sums among the declared values, too."""
        pairs = zip(sums.categories, self.declared, strict=True)
        return sums.with_categories(tuple(merged_labels(seen, declared or ()) for seen, declared in pairs))

    def unweighable(self) -> str:
        """Every column has a weight of its own, and these are one factor."""
        return READ_TOGETHER

    def takes_smoothing(self, weighed: bool) -> bool:
        """Whether there are labels, whose combinations have pseudo-counts."""
        return bool(self.labels)

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, sums: JointSums, *, smoothing: Smoothing) -> LeftOut:
        """The sums without the row: exact. A row with a missing member is not in them."""
        from naively.families._joint_left_out import left_out

        return left_out(self, sums, smoothing)

    # -- Questions ------------------------------------------------------------------------------------------------

    def n_parameters(self, estimate: Any, n_classes: int, n_columns: int) -> Parameters:
        """One table of all combinations of labels; of numbers, means for each of them and covariances as tied."""
        sizes, n_numbers = estimate.sums.sizes, len(self.numbers)
        n_cells = n_classes * prod(sizes)
        covariances = {"none": n_cells, "class": n_classes, "all": 1}[self.joint.ties]
        normals = n_cells * n_numbers + covariances * (n_numbers * (n_numbers + 1) // 2)
        table = Count(n_cells, n_cells - n_classes) if sizes else Count(0, 0)
        return Parameters(Count(table.stored + normals, table.free + normals), None if n_numbers else sizes)

    def distribution(self, estimate: Any, tables: Any, class_weight: Any, length: Any) -> Together:
        """Combinations by their probabilities, and normal vectors within them."""
        return joint_draws(estimate)

    def uncertain(self, estimate: Any, tables: Any, smoothing: Smoothing, block: Block) -> Uncertain:
        """Under a Dirichlet posterior of the combinations, or a normal-inverse-Wishart one of the numbers."""
        from naively.families._joint_uncertainty import uncertain_joint

        return uncertain_joint(estimate, block)

    def posterior(self, tables: Any, smoothing: Smoothing) -> list[Posteriors]:
        """Dirichlet, for all combinations."""
        if self.numbers:
            raise no_posterior(
                "joins numbers, whose means and covariances have one distribution together, which is not told"
            )
        estimate = self.estimate(tables[0], smoothing=smoothing)
        if estimate.table.n_values > MOST_DESCRIBED:
            raise no_posterior(f"has more than {MOST_DESCRIBED:,} combinations, which are not listed")
        cells, combinations = estimate.described_cells()
        weight = estimate.sums.weight.high
        counts = np.hstack([weight, np.zeros((len(weight), 1))])[:, cells]
        return [{"probability": dirichlets(counts + prior_counts(smoothing, counts, combinations))}]

    def values_of(self, estimate: Any, place: int) -> Any:
        return None if self.numbers else estimate.described_cells()[1]

    def cells(self, *tables: Any) -> list[FloatArray]:
        """None: columns that are read together have none of their own."""
        raise read_together(self)


def read_together(family: Family) -> GapError:
    """What is raised where columns are to be ranked one by one."""
    reason = "reads several columns together: rank them in a model without factors"
    return GapError(f"rank_features ranks columns that stand alone, but {family.name()!r} {reason}.", reason)


# -- Evidence -----------------------------------------------------------------------------------------------------


class Block(NamedTuple):
    """Some rows of the members: codes (rows, labels), negative where not known, and numbers (rows, numbers)."""

    codes: IntArray
    numbers: FloatArray

    def take(self, rows: Any) -> Block:
        """Some of the rows."""
        return Block(self.codes[rows], self.numbers[rows])


class JointEstimate(Estimate):
    """The probability of combinations and the densities within them.

    Parameters
    ----------
    family : JointFamily
    table : ProductTable
    normals : Normals or None
        By cell and class; the last cell is for combinations that never occurred.
    """

    reads: ClassVar[str] = "both"

    def __init__(self, family: JointFamily, table: ProductTable, normals: Normals | None):
        self.family, self.table, self.normals = family, table, normals
        self.sums = table.sums
        self._densities: dict[bytes, Densities] = {}

    @property
    def multiplies(self) -> bool:
        return self.normals is not None

    def reader(self, table: Table, positions: IntArray | None) -> Callable[[slice], Block]:
        """A function that gives the block of a slice of rows; positions follow the family's columns."""
        return block_reader(self.family, self.sums.categories, table, positions)

    def evidence(self, block: Block) -> FloatArray:
        """The log-likelihood of every row, (rows, 1, classes): one term for all members."""
        result = np.zeros((len(block.codes), self.sums.n_classes))
        if not len(self.sums.cells):
            return result[:, None]
        known_labels, known_numbers = block.codes >= 0, ~np.isnan(block.numbers)
        n_labels = len(self.family.labels)
        for known, rows in patterns(np.hstack([known_labels, known_numbers])):
            result[rows] = self._of_pattern(block.take(rows), known[:n_labels], known[n_labels:])
        return result[:, None]

    def add_to(self, scores: FloatArray, block: Block) -> None:
        """Add the log-likelihood of every row."""
        scores += self.evidence(block)[:, 0]

    def _of_pattern(self, block: Block, labels: AnyArray, numbers: AnyArray) -> FloatArray:
        """The log-likelihood (rows, classes) of rows with the same members known."""
        logs, places = self.table.log_probability(labels, block.codes)
        if not numbers.any():
            return logs
        densities, values = self.densities_of(numbers), block.numbers[:, numbers]
        marginal = self.table.marginal(labels)
        result = np.empty_like(logs)
        order = np.argsort(places, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(places[order])) + 1):
            place = int(places[rows[0]])
            if labels.all():
                cell = place if place >= 0 else -1
                result[rows] = logs[rows] + densities.at(cell, values[rows])
            else:
                result[rows] = self._mixture(marginal, place, densities, values[rows])
        return result

    def _mixture(self, marginal: Marginal, place: int, densities: Densities, values: FloatArray) -> FloatArray:
        """The log-likelihood (rows, classes) where labels are missing: the sum over all that they could be."""
        everything = self.table.marginal(np.ones(len(self.family.labels), dtype=bool))
        cells = np.flatnonzero(marginal.group_of == place)
        terms = [everything.logs[cell] + densities.at(cell, values) for cell in cells.tolist()]
        n_unseen = marginal.n_hidden - len(cells)
        if n_unseen > 0:
            terms.append(everything.logs[-1] + np.log(n_unseen) + densities.at(-1, values))
        return np.asarray(np.logaddexp.reduce(terms, axis=0))

    def densities_of(self, known: AnyArray) -> Densities:
        """The normal densities of some of the numbers, the others being integrated out."""
        assert self.normals is not None
        key = cell_key(known)
        if key not in self._densities:
            if len(self._densities) >= MOST_KEPT:
                self._densities.clear()
            self._densities[key] = Densities.of(self.normals, known, self.family.joint.floor)
        return self._densities[key]

    # -- Questions ------------------------------------------------------------------------------------------------

    def log_likelihood(self, sums: JointSums) -> FloatArray:
        """The log-likelihood of all rows of which every member is known: a sum over the combinations."""
        sums = self.family.with_known(sums)
        weight = sums.weight.high.T
        if not len(sums.cells):
            return np.zeros(1)
        logs = self.table.marginal(np.ones(len(self.family.labels), dtype=bool)).logs[: len(sums.cells)]
        total = counted(weight, logs) if self.family.labels else 0.0
        if self.normals is not None:
            densities = self.densities_of(np.ones(len(self.family.numbers), dtype=bool))
            scatter = known_of(sums).cell.scatter[:-1] / densities.scale / densities.scale[:, None]
            white = densities.whitener[:-1] * densities.informative[:, None]
            squares = np.einsum("cjia,cjik,cjka->cj", white, scatter, white)
            total += float((weight * densities.peak[:-1] - squares).sum())
        return np.array([total])

    # -- Description ----------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Probabilities by combination; means and covariances, by combination if labels are members."""
        result: dict[str, Any] = {"columns": self.family.given}
        cells, keys = self.described_cells()
        if self.family.labels:
            logs = self.table.marginal(np.ones(len(self.family.labels), dtype=bool)).logs
            result["probability"] = {key: np.exp(logs[cell]) for key, cell in zip(keys, cells, strict=True)}
        if self.normals is not None:
            mean, covariance = self._described_normals()
            if self.family.labels:
                result["mean"] = {key: mean[cell] for key, cell in zip(keys, cells, strict=True)}
                result["covariance"] = {key: covariance[cell] for key, cell in zip(keys, cells, strict=True)}
            else:
                result["mean"], result["covariance"] = mean[0], covariance[0]
        return result

    def axes(self, place: int) -> list[list[str]]:
        """The columns of numbers, twice for covariances."""
        return [[name for name in self.family.given if name in self.family.numbers]] * 2

    def described_cells(self) -> tuple[list[int], list[tuple[Label, ...]]]:
        """The cells that are described, -1 for one that never occurred, and their values in the given order."""
        order = [self.family.labels.index(name) for name in self.family.given if name in self.family.labels]
        if self.table.n_values <= MOST_DESCRIBED:
            every = list(product(*(range(self.sums.sizes[place]) for place in order)))
        else:
            every = sorted(map(tuple, self.sums.cells[:, order].tolist()))
        codes = np.array(every, dtype=np.int64).reshape(len(every), len(order))
        values = [self.sums.categories[place] for place in order]
        keys = [tuple(labels[code] for labels, code in zip(values, row, strict=True)) for row in every]
        return self.sums.combinations.find(codes[:, np.argsort(order)]).tolist(), keys

    def _described_normals(self) -> tuple[FloatArray, FloatArray]:
        """Means and covariances by cell and class, the numbers in the order in which they were given."""
        assert self.normals is not None
        order = [self.family.numbers.index(name) for name in self.family.given if name in self.family.numbers]
        scale = np.where(self.normals.scale > 0, self.normals.scale, 0.0)
        covariance = self.normals.covariance * scale[:, None] * scale[None, :]
        return self.normals.mean[..., order], covariance[..., order, :][..., order]


def block_reader(
    family: Any, categories: Sequence[Sequence[Label]], table: Table, positions: IntArray | None, cuts: Any = ()
) -> Callable[[slice], Block]:
    """A function from a slice of rows to the codes and numbers of a family's members.

    Parameters
    ----------
    family : JointFamily or TreeFamily
        Its `columns` are those at `positions`.
    categories : sequence
        The values of each of its `labels`, in the order of their codes.
    table : Table
    positions : ndarray or None
    cuts : sequence
        As in `Summary`.
    """
    place_of = dict(zip(family.columns, range(len(family.columns)) if positions is None else positions, strict=True))
    at_numbers = np.array([place_of[name] for name in family.numbers], dtype=np.int64)
    cuts = cuts or (None,) * len(family.labels)
    columns = [
        _codes(table, int(place_of[name]), known, cut)
        for name, known, cut in zip(family.labels, categories, cuts, strict=True)
    ]

    def read(rows: slice) -> Block:
        n_rows = len(range(*rows.indices(table.n_rows)))
        codes = np.empty((n_rows, len(columns)), dtype=np.int64)
        for place, column in enumerate(columns):
            codes[:, place] = column[rows]
        return Block(codes, member_numbers(table, at_numbers, family.numbers, rows))

    return read


def _codes(table: Table, position: int, known: Sequence[Label], cuts: Sequence[float] | None) -> IntArray:
    """One column as codes among the known labels: `UNKNOWN` for any other, -1 for a missing cell."""
    codes, labels = member_codes(table, position, cuts)
    places = positions_in(known, labels)
    return recoded(codes, np.where(places < 0, UNKNOWN, places))


def member_codes(table: Table, position: int, cuts: Sequence[float] | None) -> tuple[IntArray, list[Label]]:
    """Codes and labels of a member that is read as labels, or as the numbers of its bins."""
    if position < 0 or table.kind(position) == "empty":
        return np.full(table.n_rows, -1, dtype=np.int64), []
    if cuts is None:
        return table.labels(position)
    numbers = np.asarray(table.column(position), dtype=np.float64)
    refuse_infinite(numbers[:, None], [table.names[position]], 0)
    bins = np.searchsorted(np.asarray(cuts, dtype=np.float64), numbers, side="right")
    return np.where(np.isnan(numbers), -1, bins), list(range(len(cuts) + 1))


def member_numbers(table: Table, positions: IntArray, names: Sequence[str], rows: slice) -> FloatArray:
    """A block of the members that are read as numbers, NaN where missing."""
    if not len(positions):
        return np.empty((len(range(*rows.indices(table.n_rows))), 0))
    block = table.numbers(positions, rows)
    block[:, positions < 0] = np.nan
    refuse_infinite(block, names, rows.start or 0)
    return block


def refuse_infinite(block: FloatArray, names: Sequence[str], start: int) -> None:
    """Refuse infinite numbers."""
    if np.isinf(block).any():
        row, place = np.argwhere(np.isinf(block))[0].tolist()
        raise InputError(
            f"Input X contains infinity: column {names[place]!r}, row {start + row}. Use NaN for what is not known."
        )
