"""The data check: what deserves a look in rows to learn, and in rows to answer for.

Rows to learn are judged by the statistics that were counted anyway; cells are looked at again only in columns that
these make suspicious: of a file, a stream or a lazy frame, those of some first rows. Rows to answer for are compared
with the statistics, some hundred of them at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from naively._model.schema import Schema
from naively._model.state import State
from naively._scoring.model import Factor
from naively._table.device import is_on_device_table
from naively._table.read import read_table
from naively._table.table import SparseTable, Table, require_rows
from naively._table.target import read_rows
from naively.analysis._findings import Check, Finding, tell
from naively.engines._files import FilesSource
from naively.engines._pieces import counted_pieces, rows_of
from naively.engines._registry import source_of
from naively.engines.base import Piece, Source
from naively.statistics._statistics import Statistics
from naively.statistics.base import Values
from naively.typing import AnyArray, FloatArray, IntArray, Label, SourceLike, TableLike, TargetLike, WeightsLike

if TYPE_CHECKING:
    from naively.classifier import Batch, NaiveBayes

LEAST_LEARNT = 100
"""`fit` says nothing of tables with fewer rows: their owner has seen them all."""

LEAST_ASKED = 50
"""Answers say nothing of fewer rows: a share of so few is chance."""

MOST_COLUMNS = 1000
"""Tables with more columns are not looked at unless asked: nobody reads what would be said."""

LOOKED_AT = 1000
"""No more rows than this are looked at before they are answered for."""

FIRST_ROWS = 10_000
"""So many first rows of a source are kept, for what the statistics of all rows do not tell."""

FEW_ROWS = 5
DISTINCT = 0.95
PURE = 0.999
UNSEEN = MISSING = OUTSIDE = 0.2
"""Shares of the known cells, or of the rows; the first two are over what the rows that were learnt lead to expect."""

ROUNDING = 1e-12
"""The bounds of numbers far from zero are known up to such a share of them."""

WORTH_A_WORD = 0.05
"""A smaller share of the rows is not spoken of."""

MOSTLY = 0.9
"""The share of the rows in which a column must be known to give the target away."""

DATE = re.compile(
    r"\s*(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{2,4}|\d{1,2}[ -]?[A-Za-z]{3,9}[ -]?\d{2,4})"
    r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2}|[AaPp][Mm])?)?\s*"
)
ID_NAME = re.compile(r"(?i:(^|[_\s.-])(id|uuid|guid|key|identifier)$)|[a-z](Id|ID)$")
CODE_NAME = re.compile(r"(^|[_\s.-])(zip|zip_?code|post_?code|postal_?code|plz|code)($|[_\s.-])", re.IGNORECASE)
STAND_INS = (99.0, 999.0, 9999.0, 99999.0, 999999.0, -1.0, -9.0, -99.0, -999.0, -9999.0)


def check(X: TableLike | SourceLike, y: TargetLike | None = None, sample_weight: WeightsLike | None = None) -> Check:
    """What a careful colleague would say of data before a model learns from them.

    Columns that look like identifiers, that give the target away, that hold nothing, one value only or what another
    column says, dates as text, numbers that look like codes or stand for unknown, and classes of few rows.

    Parameters
    ----------
    X, y, sample_weight
        As in `NaiveBayes.fit`: tables, and files, streams and lazy frames, of which all rows are counted, and the cells
        of some first rows are looked at. Without y, nothing is said of classes.

    Returns
    -------
    Check
        It prints as a table, `frame` gives it as a data frame, and it is empty if there is nothing to remark.

    See Also
    --------
    NaiveBayes.check : Compares rows with those that a model has learnt.

    Examples
    --------
    >>> import naively
    >>> X = {"client": [f"c{row}" for row in range(40)], "age": [30, 41, 52, 63] * 10, "land": ["at"] * 40}
    >>> naively.check(X, ["yes", "no", "no", "yes"] * 10)
    column  finding   detail
    client  id        40 distinct labels in 40 rows
    land    constant  always 'at'
    """
    source = source_of(X, y)
    if source is not None:
        return _of_source(source, y, sample_weight)
    batch = _batch(X, y, sample_weight)
    counting = _counting(batch.table)
    schema, statistics = counting._count(batch, None)
    findings = _of_mixed(batch.table) + of_columns(schema, statistics, batch.table)
    if y is not None:
        findings += of_classes(batch.classes, np.bincount(batch.codes[batch.codes >= 0], minlength=len(batch.classes)))
    return Check(tuple(findings), batch.table.n_rows, batch.table.n_rows)._of(X)


def _batch(X: Any, y: Any, sample_weight: Any) -> Batch:
    """Rows to look at; without classes they are all of one."""
    from naively.classifier import Batch

    if y is not None:
        return Batch(*read_rows(X, y, sample_weight))
    table = read_table(X)
    require_rows(table)
    return Batch(table, np.array([0]), np.zeros(table.n_rows, dtype=np.int64), None)


def _counting(table: Table) -> NaiveBayes:
    """A model that counts what the check needs of columns such as these."""
    from naively.classifier import NaiveBayes

    mixed = {one.column: "categorical" for one in _of_mixed(table)}
    return NaiveBayes("fast", families=mixed or None, kept_rows=1)


def _of_mixed(table: Table) -> list[Finding]:
    columns = [name for name, kind in zip(table.names, table.kinds, strict=True) if kind == "mixed"]
    return [Finding("mixed", name, 1.0, "text and numbers in one column") for name in columns]


# -- rows that are no table in memory ---------------------------------------------------------------------------------


@dataclass
class Seen:
    """What is remembered of the rows of a source while they are counted.

    Parameters
    ----------
    head : Table or None
        Some first rows.
    n_rows : int
        How many rows came by; 0 where they were counted elsewhere.
    """

    head: Table | None = None
    n_rows: int = 0

    def take(self, table: Table) -> None:
        """See some rows."""
        if not self.n_rows:
            few = table.n_rows <= FIRST_ROWS
            self.head = table if few or isinstance(table, SparseTable) else table.only_rows(np.arange(FIRST_ROWS))
        self.n_rows += table.n_rows

    def begin(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """The pieces of a source from its first row on, all of which are still to be seen."""
        self.n_rows = 0
        return pieces


def _of_source(source: Source, y: Any, sample_weight: Any) -> Check:
    """What deserves a look in all rows of a source, which are read once."""
    seen, counting = Seen(), None

    def count(piece: Piece, known: Schema | None) -> tuple[Schema, Statistics]:
        nonlocal counting
        batch = _batch(*piece[:3])
        seen.take(batch.table)
        counting = _counting(batch.table) if known is None or counting is None else counting
        return counting._count(batch, known)

    columns = source.names if y is None and isinstance(source, FilesSource) else None
    schema, statistics = counted_pieces(lambda: seen.begin(source.pieces(y, sample_weight, columns)), None, count)
    assert seen.head is not None
    findings = _of_mixed(seen.head) + of_columns(schema, statistics, seen.head, seen.n_rows)
    if len(statistics.classes) > 1 or y is not None:
        findings += of_classes(statistics.classes, statistics.class_weight.high)
    return Check(tuple(findings), seen.n_rows, seen.n_rows)


# -- rows to learn ----------------------------------------------------------------------------------------------------


def warn_of_learnt(
    schema: Schema, statistics: Statistics, table: Any, classes: AnyArray, codes: IntArray, alike: bool = False
) -> None:
    """Say in one warning what deserves a look in rows that are being learnt.

    Parameters
    ----------
    schema : Schema
    statistics : Statistics
    table : Table
        The rows.
    classes, codes : ndarray
        The classes in them, and each row's position among these.
    alike : bool, default=False
        Whether the statistics are those of these rows alone, each of weight one: then their number is known.
    """
    if not isinstance(table, Table) or is_on_device_table(table) or table.n_rows < LEAST_LEARNT:
        return
    rows = statistics.class_weight.high if alike else np.bincount(codes[codes >= 0], minlength=len(classes))
    _tell(schema, statistics, table, table.n_rows, of_classes(classes, rows))


def warn_of_source(schema: Schema, statistics: Statistics, seen: Seen) -> None:
    """Say in one warning what deserves a look in the rows of a source that are being learnt."""
    rows = statistics.class_weight.high
    n_rows = seen.n_rows or int(rows.sum())
    if seen.head is not None and n_rows >= LEAST_LEARNT:
        _tell(schema, statistics, seen.head, n_rows, of_classes(statistics.classes, rows))


def _tell(schema: Schema, statistics: Statistics, table: Table, n_rows: int, findings: list[Finding]) -> None:
    if schema.named and len(schema.names) <= MOST_COLUMNS:  # columns without names are features that somebody computed
        findings += of_columns(schema, statistics, table, n_rows)
    tell(Check(tuple(findings), n_rows, n_rows), "naively.check(X, y) lists it all.")


def of_classes(classes: AnyArray, rows: AnyArray) -> list[Finding]:
    """The classes with few rows."""
    n_rows = int(rows.sum())
    return [
        Finding("few rows", str(label), count / n_rows, f"{count:g} of {n_rows:,} rows")
        for label, count in zip(classes.tolist(), rows.tolist(), strict=True)
        if 0 < count < FEW_ROWS
    ]


@dataclass(frozen=True)
class Facts:
    """What is known of one column of rows to learn.

    Parameters
    ----------
    name : str
    numeric : bool
        Whether it is read as numbers.
    values : Values
        Of all rows.
    table : Table
        The rows whose cells can be looked at: all, or some first ones.
    position : int
        Where the column stands in it.
    n_rows : int
        How many rows there are.
    weight : float
        The weight of all rows.
    """

    name: str
    numeric: bool
    values: Values
    table: Table
    position: int
    n_rows: int
    weight: float


def of_columns(schema: Schema, statistics: Statistics, table: Table, n_rows: int | None = None) -> list[Finding]:
    """What deserves a look in the columns of rows that were counted.

    Parameters
    ----------
    schema : Schema
    statistics : Statistics
        Of all rows.
    table : Table
        All rows, or some first ones.
    n_rows : int, optional
        How many rows there are; by default those of the table.
    """
    if isinstance(table, SparseTable):
        return []
    table = schema.with_dates(table, None)
    held, weight = values_by_column(statistics), float(statistics.class_weight.high.sum())
    findings, usual = [], []
    for position, (name, kind) in enumerate(zip(schema.names, schema.kinds, strict=True)):
        if position >= table.n_columns or table.kind(position) == "empty":  # no cell of it was seen
            findings += [Finding("empty", name, 1.0, "")] if kind == "empty" and position < table.n_columns else []
        elif name in held and schema.summaries[position] and held[name].weights.any():
            n_all = table.n_rows if n_rows is None else n_rows
            facts = Facts(name, schema.is_numeric(position), held[name], table, position, n_all, weight)
            found = next(filter(None, (rule(facts) for rule in RULES)), None)
            findings += [found] if found is not None else []
            usual += [facts] if found is None or found.finding not in ("constant", "id") else []
    return findings + _duplicates(usual)


def values_by_column(statistics: Statistics) -> dict[str, Values]:
    """The values of the columns whose statistics tell them."""
    held: dict[str, Values] = {}
    for table in statistics.tables.values():
        for name in table.columns:
            values = table.values_of(name)
            if values is not None:
                held[name] = values
    return held


def _constant(facts: Facts) -> Finding | None:
    values = facts.values
    if len(values.values) > 1 or not values.exact or facts.n_rows < 2:
        return None
    return Finding("constant", facts.name, 1.0, f"always {_shown(values.values[0])}")


def _identifier(facts: Facts) -> Finding | None:
    if (
        facts.values.exact and len(facts.values.values) < DISTINCT * facts.n_rows / 2
    ):  # half of the cells may be missing
        return None
    n_rows = facts.table.n_rows
    if facts.numeric:
        found = _distinct_whole_numbers(facts)
    else:
        codes, labels = facts.table.labels(facts.position)
        n_known = int(np.count_nonzero(codes >= 0))
        found = f"{len(labels):,} distinct labels" if len(labels) >= DISTINCT * n_known else None
        found = None if n_known < n_rows / 2 else found
    return found and Finding("id", facts.name, 1.0, f"{found} in {n_rows:,} rows")  # type: ignore[return-value]


def _distinct_whole_numbers(facts: Facts) -> str | None:
    """What to say if all numbers are whole and distinct, and run on, or are called an identifier."""
    cells = np.asarray(facts.table.column(facts.position))
    first = cells[:256].astype(np.float64)
    if np.isnan(first).any() or (first % 1).any() or len(np.unique(first)) < len(first):
        return None
    cells = cells.astype(np.float64)
    if np.isnan(cells).any() or (cells % 1).any():
        return None
    runs_on = cells.max() - cells.min() < 2 * len(cells)
    if not (runs_on or ID_NAME.search(facts.name)):
        return None
    return f"{len(cells):,} distinct whole numbers" if len(np.unique(cells)) == len(cells) else None


def _date(facts: Facts) -> Finding | None:
    labels = facts.values.values
    if facts.numeric or len(labels) < FEW_ROWS or not all(isinstance(label, str) for label in labels[:50]):
        return None
    step = max(1, len(labels) // 50)
    looked_at = [str(label) for label in labels[::step]]
    n_dates = sum(DATE.fullmatch(label) is not None for label in looked_at)
    if n_dates < 0.9 * len(looked_at):
        return None
    return Finding("date as text", facts.name, n_dates / len(looked_at), f"such as {labels[0]!r}")


def _gives_away(facts: Facts) -> Finding | None:
    weights = facts.values.weights
    n_classes = int((weights.sum(axis=1) > 0).sum())
    if n_classes < 2 or weights.sum() < MOSTLY * facts.weight or weights.sum(axis=1).max() > 0.99 * weights.sum():
        return None
    if weights.max(axis=0).sum() < PURE * weights.sum():
        return None
    if facts.numeric:
        of_class = weights.argmax(axis=0)
        tells = int(np.count_nonzero(np.diff(of_class))) + 1 == n_classes
    else:
        tells = weights.shape[1] <= facts.n_rows / 10
    if not tells:
        return None
    how = "cut into ranges, its numbers" if facts.numeric else "its labels"
    return Finding("gives the target away", facts.name, 1.0, f"{how} tell the class of every row")


def _code(facts: Facts) -> Finding | None:
    if not facts.numeric or len(facts.values.values) < 3 or not CODE_NAME.search(facts.name):
        return None
    numbers = _numbers_held(facts)
    if not len(numbers) or (numbers % 1).any():
        return None
    return Finding("code", facts.name, 1.0, f"such as {_shown(numbers.min())}")


def _numbers_held(facts: Facts) -> FloatArray:
    """Numbers that the column holds: all, or where the statistics know only what stands for them, those looked at."""
    if facts.values.exact:
        return np.asarray(facts.values.values, dtype=np.float64)
    cells = np.asarray(facts.table.column(facts.position), dtype=np.float64)
    return cells[~np.isnan(cells)]


def _stand_in(facts: Facts) -> Finding | None:
    if not facts.numeric or not facts.values.exact:  # what stands for others may be a number that no cell holds
        return None
    numbers, weight = np.asarray(facts.values.values, dtype=np.float64), facts.values.weights.sum(axis=0)
    for place in (0, len(numbers) - 1):
        number, others = float(numbers[place]), np.delete(numbers, place)
        if number not in STAND_INS or len(others) < FEW_ROWS:
            continue
        apart = others.min() >= 0 if number < 0 else others.max() < number / 2
        share = float(weight[place] / weight.sum())
        if apart and share >= (0.05 if number == -1 else 0.01) and share * facts.n_rows >= 10:
            return Finding("stand-in", facts.name, share, f"{_shown(number)} in {share:.0%} of the rows")
    return None


RULES = (_constant, _identifier, _date, _gives_away, _code, _stand_in)
"""What a column is asked, in this order: the first that has something to say is heard."""


def _duplicates(columns: Sequence[Facts]) -> list[Finding]:
    """Columns that say what one before them says: equal numbers, or labels that go with each other one to one."""
    findings: list[Finding] = []
    alike: dict[tuple[bool, bytes, bytes], list[Facts]] = {}
    for facts in columns:
        weights = facts.values.weights
        order = np.arange(weights.shape[1]) if facts.numeric else np.lexsort(weights)
        numbers = np.asarray(facts.values.values, dtype=np.float64).tobytes() if facts.numeric else b""
        key = (facts.numeric, numbers, np.ascontiguousarray(weights[:, order]).tobytes())
        twin = next((one for one in alike.get(key, ()) if _same_cells(one, facts)), None)
        if twin is None:
            alike.setdefault(key, []).append(facts)
        else:
            findings.append(Finding("duplicate", facts.name, 1.0, f"the same as {twin.name!r}"))
    return findings


def _same_cells(one: Facts, other: Facts) -> bool:
    if one.numeric:
        cells = [np.asarray(facts.table.column(facts.position), dtype=np.float64) for facts in (one, other)]
        return bool(np.array_equal(cells[0], cells[1], equal_nan=True))
    (codes, labels), (other_codes, other_labels) = (facts.table.labels(facts.position) for facts in (one, other))
    pairs = np.unique((codes + 1) * (len(other_labels) + 1) + other_codes + 1)
    return len(pairs) == len(np.unique(codes)) == len(np.unique(other_codes)) and len(labels) > 1


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else f"{float(value):.15g}"


# -- rows to answer for -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learnt:
    """What new rows of one column are compared with.

    Parameters
    ----------
    labels : frozenset or None
        Those of a column of labels.
    by_chance : float
        The share of new labels to expect.
    bounds : tuple of float or None
        Those of a column of numbers.
    missing : float
        The share of missing cells.
    exact : bool
        Whether the bounds are numbers that were learnt.
    """

    labels: frozenset[Label] | None
    by_chance: float
    bounds: tuple[float, float] | None
    missing: float
    exact: bool = True


_learnt: WeakKeyDictionary[State, dict[int, Learnt]] = WeakKeyDictionary()


def warn_of_asked(state: State, factors: Sequence[Factor], table: Any, positions: IntArray | None) -> None:
    """Say in one warning what is unlike the rows that were learnt."""
    looks = isinstance(table, Table) and not isinstance(table, SparseTable) and not is_on_device_table(table)
    if looks and table.n_rows >= LEAST_ASKED and state.schema.named and len(state.schema.names) <= MOST_COLUMNS:
        question = "model.check(X) lists it all; names of columns and labels are matched as they are written."
        tell(unlike_learnt(state, factors, table, positions), question)


def unlike_learnt(state: State, factors: Sequence[Factor], table: Table, positions: IntArray | None) -> Check:
    """How rows differ from those that were learnt, column by column."""
    step = max(1, -(-table.n_rows // LOOKED_AT))
    sample = table if step == 1 else table.only_rows(np.arange(0, table.n_rows, step))
    findings: list[Finding] = []
    for place, learnt in _known(state, factors).items():
        position = place if positions is None else int(positions[place])
        if position < 0:
            continue
        compare = _numbers_unlike if learnt.labels is None else _labels_unlike
        findings += compare(state.schema.names[place], learnt, sample, position)
    return Check(tuple(findings), table.n_rows, sample.n_rows)


def _known(state: State, factors: Sequence[Factor]) -> dict[int, Learnt]:
    """What is known of each column that tells its values or its range, by its place in the schema."""
    known = _learnt.get(state)
    if known is None:
        known = _learnt[state] = {**_labels_estimated(factors), **_compared_with(state.schema, state.statistics)}
    return known


def _labels_estimated(factors: Sequence[Factor]) -> dict[int, Learnt]:
    """The labels that estimates know: all that a frozen model tells of the rows that were learnt."""
    result: dict[int, Learnt] = {}
    for factor in factors:
        codebook: Any = getattr(factor.estimate, "codebook", None)
        if codebook is not None and not factor.family.one_term:
            for member, labels in zip(factor.members.tolist(), codebook.categories, strict=True):
                result[member] = Learnt(frozenset(labels), UNSEEN / 2, None, 1.0)
    return result


def _compared_with(schema: Schema, statistics: Statistics) -> dict[int, Learnt]:
    place_of = {name: place for place, name in enumerate(schema.names) if not schema.is_text(place)}
    total = float(statistics.class_weight.high.sum()) or 1.0
    result: dict[int, Learnt] = {}
    for table in sorted(statistics.tables.values(), key=lambda table: table.detail, reverse=True):
        bounds = table.bounds()
        for own, name in enumerate(table.columns):
            place = place_of.get(name)
            if place is None or place in result:
                continue
            observed = table.observed_weight(own)
            missing = 0.0 if observed is None else 1 - float(observed.sum()) / total
            if bounds is not None and np.isfinite(bounds[own]).all() and schema.is_numeric(place):
                values = table.values_of(name)
                exact = values is not None and values.exact
                result[place] = Learnt(None, 0.0, (float(bounds[own, 0]), float(bounds[own, 1])), missing, exact)
            elif not schema.is_numeric(place) and (values := table.values_of(name)) is not None and len(values.values):
                result[place] = _learnt_labels(values, schema.declared.get(name, ()), missing)
    return result


def _learnt_labels(values: Values, declared: Sequence[Label], missing: float) -> Learnt:
    weight = values.weights.sum(axis=0)
    total = float(weight.sum()) or 1.0
    once = float(weight[weight <= 1].sum()) / total  # Good and Turing: so many are new every time
    return Learnt(frozenset([*values.values, *declared]), once, None, missing)


def _labels_unlike(name: str, learnt: Learnt, table: Table, position: int) -> list[Finding]:
    if table.kind(position) == "empty":
        return _missing(name, learnt, 1.0)
    codes, labels = table.labels(position)
    counts = np.bincount(codes[codes >= 0], minlength=len(labels))
    n_known = int(counts.sum())
    assert learnt.labels is not None
    unseen = np.array([label not in learnt.labels for label in labels], dtype=bool)
    share = float(counts[unseen].sum() / max(n_known, 1))
    found = _missing(name, learnt, 1 - n_known / max(len(codes), 1))
    rows = int(counts[unseen].sum())
    if learnt.by_chance < UNSEEN and share > UNSEEN + learnt.by_chance and rows > WORTH_A_WORD * len(codes):
        example = labels[int(np.argmax(np.where(unseen, counts, -1)))]
        found.append(Finding("unseen labels", name, share, f"{example!r} and the like in {rows:,} of {len(codes):,}"))
    return found


def _numbers_unlike(name: str, learnt: Learnt, table: Table, position: int) -> list[Finding]:
    if table.kind(position) == "empty":
        return _missing(name, learnt, 1.0)
    cells: FloatArray = np.asarray(table.column(position), dtype=np.float64)
    known = cells[~np.isnan(cells)]
    found = _missing(name, learnt, 1 - len(known) / max(len(cells), 1))
    assert learnt.bounds is not None
    low, high = learnt.bounds
    room = 0.1 * (high - low) + ROUNDING * max(abs(low), abs(high))
    outside = known[(known < low - room) | (known > high + room)]
    if len(outside) > max(OUTSIDE * len(known), WORTH_A_WORD * len(cells)):
        ends = (
            f"{_shown(low)} to {_shown(high)} was learnt" if learnt.exact else f"nearly all was in {low:g} to {high:g}"
        )
        detail = f"such as {_shown(outside[0])}, where {ends}, in {len(outside):,} of {len(cells):,}"
        found.append(Finding("outside the range", name, len(outside) / len(known), detail))
    return found


def _missing(name: str, learnt: Learnt, share: float) -> list[Finding]:
    if share <= learnt.missing + MISSING:
        return []
    return [Finding("missing cells", name, share, f"{share:.0%} now, {learnt.missing:.0%} then")]


def checked_rows(model: NaiveBayes, X: Any) -> Check:
    """How rows differ from those that a model has learnt; of a source, some first rows are read."""
    state, source = model._fitted(), source_of(X)
    if source is not None:
        X = next(rows_of(source.pieces(None, None, state.schema.names))).X
    table, positions = state.schema.matched(read_table(X))
    return unlike_learnt(state, model._estimated()[0].factors, table, positions)._of(X)
