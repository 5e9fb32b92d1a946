"""Which columns a model has, what they held when first seen, and which family reads which.

The rules of inference: numbers are numeric, whatever their type or storage; booleans, text and categorical types are
categorical, but text with many words is prose (`naively._table.read.is_prose` has the rule); a column that mixes text
and numbers must be told (``families={"column": "categorical"}``); dates and times of day are read part by part
(`naively.families.Date`), durations are numbers; a column without a single known cell waits for the first batch that
has one. A column that is to be ignored stays one of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from naively._common.checks import position_of
from naively._common.read_only import read_only_property
from naively._table.dates import clock_of_texts, dates_of_seconds
from naively._table.read import read_table
from naively._table.results import Columns, Result
from naively._table.table import ArrayTable, Kind, SparseTable, Table
from naively.errors import GapError, InputTypeError, ParameterError, SchemaError, brief, listed, warn
from naively.families import ByKind, Date, Family, as_family
from naively.statistics._kept_rows import KeptRows
from naively.statistics.base import Summary, in_words
from naively.typing import IntArray, Label

HELD = {
    "number": "numbers",
    "truth": "booleans",
    "label": "text or categories",
    "text": "prose",
    "date": "dates",
    "time": "times of day",
    "mixed": "values of several types",
    "empty": "nothing",
}


IGNORE = "ignore"
"""What `families` says of a column that is left out."""


@dataclass(frozen=True, repr=False)
class Schema(Result):
    """The columns of a model, fixed when first fitted and checked ever after.

    Parameters
    ----------
    names : tuple of str
    kinds : tuple of Kind
        What each column held when first seen; nothing ("empty"), if it is ignored.
    summaries : tuple of tuples of Summary
        The statistics kept of each column; none while nothing is known of it.
    named : bool
        Whether the columns are matched by name (they came from a data frame) or by position.
    declared : dict
        By column name, the values that the column's type declares, where its family wants to know them.
    set_aside : tuple of str
        The columns that held classes or weights: they may come along with the others.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    summaries: tuple[tuple[Summary, ...], ...]
    named: bool
    declared: Mapping[str, tuple[Label, ...]] = field(default_factory=dict, hash=False)
    set_aside: tuple[str, ...] = field(default=(), compare=False)

    def _columns(self) -> Columns:
        """What each column held when first seen, and what is kept of it."""
        kept = [in_words(summaries) for summaries in self.summaries]
        return {
            "column": ("U", list(self.names)),
            "holds": ("U", [HELD[kind] for kind in self.kinds]),
            "kept": ("U", kept),
        }

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    @read_only_property
    def by_summary(self) -> dict[Summary, IntArray]:
        """The positions of the columns that are counted together."""
        if len(self.names) > 1 and _are_one(self.summaries):  # a wide array: one look will do
            return {summary: np.arange(len(self.names)) for summary in self.summaries[0]}
        groups: dict[Summary, list[int]] = {}
        for position, summaries in enumerate(self.summaries):
            for summary in summaries:
                groups.setdefault(summary, []).append(position)
        return {summary: np.array(members, dtype=np.int64) for summary, members in groups.items()}

    @cached_property
    def takes_all_numbers(self) -> bool:
        """Whether all columns hold numbers, and may hold any."""
        return set(self.kinds) == {"number"} and all(summary.takes_all_numbers for summary in self.by_summary)

    def is_numeric(self, position: int) -> bool:
        """Whether a column is read as numbers."""
        name = self.names[position]
        return any(summary.as_numbers(name) for summary in self.summaries[position])

    def is_cut(self, position: int) -> bool:
        """Whether a column's numbers are counted in bins."""
        name = self.names[position]
        return any(name in summary.labels and not summary.as_labels(name) for summary in self.summaries[position])

    def is_text(self, position: int) -> bool:
        """Whether a column is read as prose."""
        return any(summary.of_texts for summary in self.summaries[position])

    @property
    def cuts(self) -> dict[str, tuple[float, ...]]:
        """The cut points that columns of numbers are counted with, by name, where they are counted in bins."""
        if not any(summary.cuts for summary in self.by_summary):
            return {}
        result = {}
        for name, summaries in zip(self.names, self.summaries, strict=True):
            alone = next((summary for summary in summaries if summary.labels == (name,)), None)
            if alone is not None and alone.cuts and alone.cuts[0] is not None:
                result[name] = alone.cuts[0]
        return result

    @classmethod
    def of_table(cls, table: Table, families: Sequence[Family | None]) -> Schema:
        """The schema of a first table, with the families that read its columns."""
        kinds = _kinds_read(table.kinds, families)
        kinds, families = _with_dates(table, range(table.n_columns), kinds, families)
        summaries = summaries_of(table.names, kinds, families)
        declared = declared_by(table, table.names, range(table.n_columns), families)
        return cls(tuple(table.names), kinds, summaries, table.named, declared, table.set_aside)

    def with_declared(self, families: Sequence[Family | None]) -> list[Family | None]:
        """The families of the columns, told what the columns' types declare."""
        told: dict[tuple[int, tuple[Label, ...] | None], Family] = {}  # equal ones stay one object, and one group
        result: list[Family | None] = []
        for name, family in zip(self.names, families, strict=True):
            if family is None or not family.reads_declared:
                result.append(family)
                continue
            labels = self.declared.get(name)
            result.append(told.setdefault((id(family), labels), family.with_declared(labels)))
        return result

    def matched(self, table: Table) -> tuple[Table, IntArray | None]:
        """A table as the model reads it, and the position of each column of the model in it; says what is odd.

        Returns
        -------
        table : Table
            Texts are read as numbers where numbers were learnt.
        positions : ndarray or None
            -1 for a column that the table lacks, or of which no cell is known. None stands for "the same columns in the
            same order", the usual case.
        """
        return self._of_learnt_kinds(table, self._located(table))

    def with_dates(self, table: Table, positions: IntArray | None) -> Table:
        """A table with its texts read as dates where the model has dates."""
        for place in self._dates:
            position = place if positions is None else int(positions[place])
            if position >= 0 and table.kinds[position] in ("label", "text"):
                table = table.as_dates(position, self.kinds[place])
        return table

    def kept_table(self, kept: KeptRows) -> Table:
        """Rows that were kept, as a table like those that were learnt.

        Its columns are all in their order, and named if they were; those of which no cells are kept, since they are
        ignored, are empty; and seconds are the dates that they stand for.
        """
        cells: dict[str, Any] = {name: kept.columns.get(name, np.full(len(kept), np.nan)) for name in self.names}
        for place in self._dates:
            name = self.names[place]
            if name in kept.columns:
                cells[name] = dates_of_seconds(cells[name], self.kinds[place])
        table = read_table(cells)
        table.named = self.named
        return table

    @cached_property
    def _dates(self) -> list[int]:
        """The positions of the columns that hold dates or times of day and are not read as mere labels."""
        if self._all_numeric:
            return []
        return [
            place
            for place, kind in enumerate(self.kinds)
            if kind in ("date", "time") and any(summary.kind == "calendar" for summary in self.summaries[place])
        ]

    def _located(self, table: Table) -> IntArray | None:
        names = self._names_for(table)
        if names is not None:
            positions = self._by_name(table, names)
        else:
            positions = None
            if table.n_columns != len(self.names):
                raise SchemaError(
                    f"X has {table.n_columns} features, but NaiveBayes is expecting {len(self.names)} features as "
                    "input. Columns without names are matched by position; data frames are matched by name."
                )
            if self.named != table.named and not table.is_text_list:
                have, fitted = ("has", "without") if table.named else ("does not have valid", "with")
                warn(
                    f"X {have} feature names, but NaiveBayes was fitted {fitted} feature names: the columns are "
                    "matched by position.",
                    UserWarning,
                )
        return positions

    def _names_for(self, table: Table) -> Sequence[str] | None:
        """The names by which the columns of a table are found among the model's; None if by position.

        Whole numbers are names. Those of a model that was fitted without names are its positions.
        """
        if (self.named and table.named) or (table.named and not table.n_columns):
            return table.names
        if table.integer_names is None:
            return None
        if not self.named:
            return [f"x{number}" for number in table.integer_names] if table.named else None
        written = [str(number) for number in table.integer_names]
        return written if any(name in self._position for name in written) else None

    def _by_name(self, table: Table, names: Sequence[str]) -> IntArray | None:
        if tuple(names) == self.names:
            return None
        there = {name: position for position, name in enumerate(names)}
        absent = [name for name in self.names if name not in there]
        extra = [name for name in there if name not in self._position and name not in self.set_aside]
        if len(absent) == len(self.names) and absent and there:
            raise SchemaError(
                f"X has none of the model's columns. Expected {listed(self.names)}; got {listed(table.names)}."
            )
        missed = [name for name in absent if self.kinds[self._position[name]] != "empty"]
        if missed:
            warn(f"X lacks the columns {listed(missed)}: their cells are treated as missing.")
        if extra:
            warn(f"X has columns that the model does not know, which are ignored: {listed(extra)}.")
        return np.array([there.get(name, -1) for name in self.names], dtype=np.int64)

    @cached_property
    def _all_numeric(self) -> bool:
        return set(self.kinds) <= {"number", "truth"}

    def _of_learnt_kinds(self, table: Table, positions: IntArray | None) -> tuple[Table, IntArray | None]:
        """Read columns as what the model has learnt of them, and refuse those whose cells changed their nature."""
        if self._all_numeric and isinstance(table, (ArrayTable, SparseTable)):
            return table, positions
        table = self.with_dates(table, positions)
        parsed: list[str] = []
        for place, before in enumerate(self.kinds):
            position = place if positions is None else int(positions[place])
            now = "empty" if position < 0 else table.kinds[position]
            as_text = before == "number" and (now in ("label", "text") or (now == "mixed" and self.is_numeric(place)))
            if _compatible(before, now) and not as_text:
                continue
            if table.is_unknown(position):
                positions = np.arange(len(self.names)) if positions is None else positions.copy()
                positions[place] = -1
            elif as_text:
                table = table.as_numbers(position)
                parsed.append(self.names[place])
            else:
                raise InputTypeError(
                    f"Column {self.names[place]!r} held {HELD[before]} when the model was fitted and holds "
                    f"{HELD[now]} now. Convert it back, or fit a new model."
                )
        if parsed:
            warn(
                f"The columns {listed(parsed)} held numbers when the model was fitted and hold text now, which is "
                "read as numbers."
            )
        return table, positions

    def widened(self, table: Table) -> Schema:
        """The schema with the columns that only this table has: nothing is known of them so far."""
        if not (self.named and table.named):
            return self
        new = tuple(name for name in table.names if name not in self._position and name not in self.set_aside)
        if not new or len(new) == table.n_columns:  # a table that has nothing in common with the model is refused
            return self
        warn(f"X has new columns, which are learnt from now on and were missing so far: {listed(new)}.")
        kinds: tuple[Kind, ...] = tuple("empty" for _ in new)
        return replace(
            self, names=self.names + new, kinds=self.kinds + kinds, summaries=self.summaries + ((),) * len(new)
        )

    def completed(self, table: Table, positions: IntArray | None, assign: Any) -> Schema:
        """The schema with what this table tells of columns that had been empty so far, and of declared values.

        `assign` gives the families of the columns from their names and their kinds.
        """
        beside = tuple(dict.fromkeys((*self.set_aside, *table.set_aside)))
        if "empty" not in self.kinds and not self.declared:
            return self if beside == self.set_aside else replace(self, set_aside=beside)
        there = [place if positions is None else int(positions[place]) for place in range(len(self.names))]
        kinds = tuple(
            table.kinds[position] if kind == "empty" and position >= 0 else kind
            for kind, position in zip(self.kinds, there, strict=True)
        )
        families = assign(self.names, kinds)
        kinds = _kinds_read(kinds, families)
        kinds, families = _with_dates(table, there, kinds, families)
        found = summaries_of(self.names, kinds, families)
        summaries = tuple(old or new for old, new in zip(self.summaries, found, strict=True))
        declared = merged_declarations(self.declared, declared_by(table, self.names, there, families))
        return Schema(self.names, kinds, summaries, self.named, declared, beside)

    def merged(self, other: Schema) -> Schema:
        """The union of two schemas, which must agree on the columns they share."""
        if self == other:
            return self
        if self.named != other.named:
            raise SchemaError(
                "One model was fitted on columns with names and the other on columns without, so they cannot be "
                "matched. Fit both on data frames, or use named(X, names)."
            )
        if not self.named and len(self.names) != len(other.names):
            raise SchemaError(
                f"The models have {len(self.names)} and {len(other.names)} columns without names, so they cannot be "
                "matched. Fit them on data frames, whose columns are matched by name."
            )
        columns = dict(zip(self.names, zip(self.kinds, self.summaries, strict=True), strict=True))
        for name, kind, summary in zip(other.names, other.kinds, other.summaries, strict=True):
            columns[name] = _agreed(name, columns[name], (kind, summary)) if name in columns else (kind, summary)
        kinds, summaries = zip(*columns.values(), strict=True)
        declared = merged_declarations(self.declared, other.declared)
        beside = tuple(dict.fromkeys((*self.set_aside, *other.set_aside)))
        return Schema(tuple(columns), kinds, summaries, self.named, declared, beside)


def _are_one(columns: Sequence[Any]) -> bool:
    """Whether all columns share one object; told at once of a wide array."""
    return len(columns) > 0 and columns[-1] is columns[0] and columns.count(columns[0]) == len(columns)


def _distinct(families: Sequence[Family | None]) -> Sequence[Family | None]:
    """Each family once."""
    return families[:1] if _are_one(families) else list({id(family): family for family in families}.values())


def _any_reads_dates(families: Sequence[Family | None]) -> bool:
    return any(family is not None and family.reads_dates for family in _distinct(families))


def _kinds_read(kinds: Sequence[Kind], families: Sequence[Family | None]) -> tuple[Kind, ...]:
    """What the columns hold for the model: nothing where no family reads them."""
    if not any(family is None for family in _distinct(families)):
        return tuple(kinds)
    return tuple("empty" if family is None else kind for kind, family in zip(kinds, families, strict=True))


def _with_dates(
    table: Table, positions: Sequence[int], kinds: tuple[Kind, ...], families: Sequence[Family | None]
) -> tuple[tuple[Kind, ...], Sequence[Family | None]]:
    """What the columns hold, and their families, where text is to be read as dates or times of day."""
    if not _any_reads_dates(families):
        return kinds, families
    asked = [
        place
        for place, (kind, family) in enumerate(zip(kinds, families, strict=True))
        if kind in ("label", "text") and family is not None and family.reads_dates
    ]
    held, told = list(kinds), list(families)
    for place in asked:
        family = families[place]
        assert family is not None
        held[place] = clock_of_texts(table.labels(positions[place])[1])
        told[place] = family.for_column(held[place])
    return tuple(held), told


def _compatible(before: Kind, now: Kind) -> bool:
    alike: tuple[tuple[Kind, ...], ...] = (("number", "truth"), ("label", "text"))
    unknown = {"empty", "mixed"} & {before, now}
    return before == now or bool(unknown) or any(before in kinds and now in kinds for kinds in alike)


Held = tuple[Kind, tuple[Summary, ...]]


def _agreed(name: str, left: Held, right: Held) -> Held:
    """What two models say of a column that both have."""
    (left_kind, left_summary), (right_kind, right_summary) = left, right
    clash = left_summary != right_summary and left_summary and right_summary
    if clash and any(summary.cuts for summary in (*left_summary, *right_summary)):
        raise SchemaError(
            f"Column {name!r} does not fit: the two sides cut numbers into bins at other points, and counts under "
            "different cuts cannot be added. Fit the second model with cuts=first.cuts_."
        )
    if clash or not _compatible(left_kind, right_kind):
        raise SchemaError(
            f"Column {name!r} does not fit: one side holds {HELD[left_kind]} kept as "
            f"{in_words(left_summary)}; the other {HELD[right_kind]} kept as "
            f"{in_words(right_summary)}. Use the same families on both sides."
        )
    return (right_kind if left_kind == "empty" else left_kind), left_summary or right_summary


def summaries_of(
    names: Sequence[str], kinds: Sequence[Kind], families: Sequence[Family | None]
) -> tuple[tuple[Summary, ...], ...]:
    """The statistics that each column's family needs, once it is known to be able to read the column."""
    alike = len(names) > 1 and _are_one(families) and _are_one(kinds)
    if alike and not (families[0] is not None and families[0].together):  # a wide array: one look will do
        return summaries_of(names[:1], kinds[:1], families[:1]) * len(names)
    known: dict[tuple[int, Kind], tuple[Summary, ...]] = {}
    result = []
    for name, kind, family in zip(names, kinds, families, strict=True):
        key = (id(family), kind)
        if key not in known:
            if family is not None:
                require_readable(name, kind, family)
            known[key] = () if family is None else family.summaries
        found = known[key]
        if family is not None and family.together:
            found = tuple(summary for summary in found if summary.concerns(name))
        result.append(found)
    return tuple(result)


def declared_by(
    table: Table, names: Sequence[str], positions: Sequence[int], families: Sequence[Family | None]
) -> dict[str, tuple[Label, ...]]:
    """The values that the types of the columns declare, none of them if need be, where the family wants to know."""
    if not any(family is not None and family.reads_declared for family in _distinct(families)):
        return {}
    return {
        name: (table.declared(position) or ()) if position >= 0 else ()
        for name, position, family in zip(names, positions, families, strict=True)
        if family is not None and family.reads_declared
    }


def merged_declarations(
    first: Mapping[str, tuple[Label, ...]], second: Mapping[str, tuple[Label, ...]]
) -> dict[str, tuple[Label, ...]]:
    """All values that either side declares."""
    both = {**first, **second}
    return {name: tuple(dict.fromkeys((*first.get(name, ()), *labels))) for name, labels in both.items()}


def require_readable(name: str, kind: Kind, family: Family) -> None:
    """Refuse a family that cannot read what the column holds."""
    if kind not in family.accepts:
        readable = " or ".join(HELD[accepted] for accepted in family.accepts if accepted not in ("empty", "mixed"))
        raise InputTypeError(
            f"Column {name!r} holds {HELD[kind]}, which {family.name()!r} cannot read: it reads {readable}. Convert "
            "the column or choose another family."
        )


class Defaults(Protocol):
    """What columns are read with that were given no family: a recipe has these."""

    @property
    def numeric(self) -> Family:
        """For numbers."""

    @property
    def categorical(self) -> Family:
        """For labels."""

    @property
    def text(self) -> Family:
        """For prose."""


def assign_families(
    names: Sequence[str],
    kinds: Sequence[Kind],
    families: Any,
    defaults: Defaults,
    by_kind: Callable[[ByKind, int], Family | None],
) -> list[Family | None]:
    """The family of each column: the given one, or the inferred one; None where nothing is known yet.

    Parameters
    ----------
    names, kinds : sequences
        The columns, and what they hold.
    families : None, family, name, mapping or ByKind
        What the user gave: one for all, by column name or position, or by what the columns hold.
    defaults : Defaults
        What is used for columns that were given none.
    by_kind : callable
        The family that a `ByKind` chooses for the numbers of the column at a place.
    """
    if isinstance(families, ByKind):
        inferred = [
            _inferred(name, kind, families.numbers, families.of_truths() if kind == "truth" else families.labels, None)
            for name, kind in zip(names, kinds, strict=True)
        ]
        inferred = _resolved(inferred, kinds, families.numbers)
        if families.counts is None and families.binary is None:
            return inferred
        chosen = ("number",) if families.binary is None else ("number", "truth")
        return [
            by_kind(families, place) if kind in chosen else family
            for place, (kind, family) in enumerate(zip(kinds, inferred, strict=True))
        ]
    if families is None or isinstance(families, Mapping):
        given = _given_families(names, families or {})
        numeric, categorical, text = defaults.numeric, defaults.categorical, defaults.text
        chosen_by_name = [
            given[place] if place in given else _inferred(name, kind, numeric, categorical, text)
            for place, (name, kind) in enumerate(zip(names, kinds, strict=True))
        ]
        return _resolved(chosen_by_name, kinds, numeric)
    return _resolved([as_family(families)] * len(names), kinds, defaults.numeric)


def _resolved(families: list[Family | None], kinds: Sequence[Kind], numeric: Family) -> list[Family | None]:
    """The families, told what their columns hold and how numbers are read, where they want to know."""
    if not _any_reads_dates(families):
        return families
    return [
        family.for_column(kind, numeric) if family is not None and family.reads_dates else family
        for family, kind in zip(families, kinds, strict=True)
    ]


def with_monotone(names: Sequence[str], families: list[Family | None], monotone: Any) -> list[Family | None]:
    """The families, with those of the columns that are to be monotone told so.

    Parameters
    ----------
    names, families : sequences
        The columns.
    monotone : mapping or None
        By column name or position 1 or -1: the log-odds of the second class rise, or fall, with the number.
    """
    if monotone is None:
        return families
    if not isinstance(monotone, Mapping):
        raise ParameterError(f"monotone must be a dict by column of 1 and -1, got {brief(monotone)}.")
    index = {name: position for position, name in enumerate(names)}
    told = list(families)
    for key, sign in monotone.items():
        place = position_of(key, index, "monotone")
        if isinstance(sign, bool) or not isinstance(sign, (int, np.integer)) or sign not in (-1, 1):
            raise ParameterError(f"monotone[{key!r}] must be 1 (rising) or -1 (falling), got {sign!r}.")
        family = families[place]
        if family is None:
            continue
        try:
            told[place] = family.with_monotone(int(sign))
        except GapError as gap:
            raise ParameterError(
                f"monotone names the column {names[place]!r}, which {family.name()!r} reads: it {gap.reason}. Numbers "
                "that Stacked() reads can be monotone, as they are in the recipes 'fast', 'auto' and 'strong'."
            ) from gap
    return told


def _inferred(name: str, kind: Kind, numeric: Family, categorical: Family, text: Family | None) -> Family | None:
    if kind == "mixed":
        raise InputTypeError(
            f"Column {name!r} mixes text with numbers, booleans or dates. Convert it to one type, or say "
            f'families={{"{name}": "categorical"}} to take each value as a category.'
        )
    if kind == "empty":
        return None
    if kind == "text" and text is not None:
        return text
    if kind in ("date", "time"):
        return Date()
    return numeric if kind == "number" else categorical


def _given_families(names: Sequence[str], families: Mapping[Any, Any]) -> dict[int, Family | None]:
    index = {name: position for position, name in enumerate(names)}
    given: dict[int, Family | None] = {}
    for key, value in families.items():
        ignored = isinstance(value, str) and value == IGNORE
        given[position_of(key, index, "families")] = None if ignored else as_family(value, f"families[{key!r}]")
    return given


def ignored_places(names: Sequence[str], families: Any, ignore: Any) -> set[int]:
    """The positions of the columns that are left out, by ``families={"column": "ignore"}`` or by ``ignore=[...]``.

    Examples
    --------
    >>> ignored_places(["id", "age", "note"], {"note": "ignore"}, ["id"])
    {0, 2}
    """
    given = [] if ignore is None else [ignore] if isinstance(ignore, (str, int, np.integer)) else ignore
    if isinstance(given, Mapping) or not isinstance(given, Iterable) or isinstance(given, bytes):
        raise ParameterError(f"ignore must be a list of columns, by name or by position, got {brief(ignore)}.")
    said = families.items() if isinstance(families, Mapping) else ()
    if not said and isinstance(given, Sized) and not len(given):
        return set()
    index = {name: position for position, name in enumerate(names)}
    places = {position_of(key, index, "families") for key, value in said if isinstance(value, str) and value == IGNORE}
    return places | {position_of(key, index, "ignore") for key in given}
