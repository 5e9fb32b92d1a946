"""The query of an additive form: a stage for each step, from the cells to the probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from naively._export.additive import (
    FARTHEST,
    FARTHEST_IN_FORMULA,
    IMPOSSIBLE,
    AdditiveForm,
    ColumnTable,
    refuse_scale,
    refuse_whole_dates,
)
from naively._export.sql_dialects import Dialect
from naively._export.sql_search import LISTS, Search
from naively._export.sql_tables import FARTHEST as FARTHEST_NUMBER
from naively._export.sql_tables import (
    FOR_LISTS,
    Buckets,
    Intervals,
    ListTable,
    ModelTable,
    interval_table,
    intervals_of,
    label_table,
    said_in,
)
from naively.errors import GapError, ParameterError
from naively.families._formulas import Node, formula_trees
from naively.typing import FloatArray


@dataclass
class Writer:
    """Collects the parts of a query."""

    form: AdditiveForm
    dialect: Dialect
    source: tuple[str, ...]
    keep: list[str]
    prefix: str
    inline: int
    cells: dict[str, str] = field(default_factory=dict)
    joins: list[str] = field(default_factory=list)
    raw: dict[str, str] = field(default_factory=dict)
    contrasts: list[tuple[int, ColumnTable]] = field(default_factory=list)
    sums: list[list[str]] = field(default_factory=list)
    whole: list[list[str]] = field(default_factory=list)
    tables: list[ModelTable | ListTable] = field(default_factory=list)
    lists: dict[str, Any] = field(default_factory=dict)
    steps: dict[int, list[int]] = field(default_factory=dict)
    searched: dict[str, Intervals] = field(default_factory=dict)
    arrays: dict[int, list[str]] = field(default_factory=dict)
    stages: list[str] = field(default_factory=list)

    @property
    def codes(self) -> range:
        """The numbers of the classes."""
        return range(len(self.form.classes))

    def written(self) -> tuple[str, list[str], list[str]]:
        """The query, what makes its tables, and their names."""
        self.sums = [[self.dialect.number(float(start))] for start in self.form.start]
        self.whole = [list(terms) for terms in self.sums]
        self._refuse_names_of_one_column()
        for place, column in enumerate(self.form.columns):
            if column.kind != "nothing" or column.missing.any():
                self._add(place, column)
        query = self._select(self._stages())
        if any(table.name[-1].casefold() == self.source[-1].casefold() for table in self.tables):
            raise ParameterError(f"prefix={self.prefix!r} gives a model table the name of the table that is answered.")
        statements = [text for table in self.tables for text in table.statements(self.dialect)]
        return query, statements, [".".join(table.name) for table in self.tables]

    # -- columns ------------------------------------------------------------------------------------------------------

    def _refuse_names_of_one_column(self) -> None:
        """Refuse columns that the database would take for one, and answer by the wrong one without a word."""
        known: dict[str, str] = {}
        for column in self.form.columns:
            first = known.setdefault(self.dialect.known_as(column.name), column.name)
            if first != column.name:
                raise GapError(
                    f"The columns {first!r} and {column.name!r} have one name in {self.dialect.name}. Rename one of "
                    "them, here and there.",
                    "are one name",
                )

    def _add(self, place: int, column: ColumnTable) -> None:
        """Add what a column says to the sums of the classes."""
        x = f"x{place}"
        name = self.dialect.name_of(column.name)
        if column.reads_labels:
            self.cells[x] = self._label_cell(name, column)
            said = self._labels(place, x, column)
        else:
            self.cells[x] = self._number_cell(name, column)
            said = {"steps": self._intervals, "curve": self._intervals, "formula": self._formula}.get(
                column.kind, self._nothing
            )(place, x, column)
        if column.contrast is not None:
            if column.kind != "formula":
                raise GapError(f"Column {column.name!r} has a curve too steep to be weighed in SQL.", "is too steep")
            self.raw |= {f"r{place}_{code}": text or "" for code, text in enumerate(said)}
            self.contrasts.append((place, column))
            said = [self._weighed(place, code, column) for code in self.codes]
        for code, text in enumerate(said):
            if text is not None:
                missing = float(column.missing[code])
                self.sums[code].append(self._with_missing(x, text, missing, column))
                self.whole[code].append(text if not missing and not column.reads_labels else self.sums[code][-1])

    def _with_missing(self, x: str, said: str, missing: float, column: ColumnTable) -> str:
        """What a cell adds, known or not."""
        if not missing and not column.reads_labels:
            return f"COALESCE({said}, {self.dialect.number(0.0)})"
        if column.reads_labels and missing == 0.0 and not column.table["unknown"].any():
            return said
        return f"CASE WHEN {x} IS NULL THEN {self.dialect.number(missing)} ELSE {said} END"

    def _label_cell(self, name: str, column: ColumnTable) -> str:
        refuse_whole_dates(column)
        if column.part is not None:
            return self.dialect.part(column.part, name, column.holds)
        values = column.table["values"]
        if len({isinstance(value, str) for value in values}) > 1:
            raise GapError(
                f"Column {column.name!r} holds text and numbers, but a column of a database has one type.",
                "holds text and numbers in one column",
            )
        if values and isinstance(values[0], str):
            return f"CAST({name} AS {self.dialect.text})"
        return name

    def _number_cell(self, name: str, column: ColumnTable) -> str:
        """A column as numbers that can be computed with: what the model would refuse is missing."""
        if column.holds == "truth":
            cases = (
                f"WHEN {name} = {self.dialect.literal(one)} THEN {self.dialect.number(one)}" for one in (True, False)
            )
            return f"CASE {' '.join(cases)} END"
        most = FARTHEST_IN_FORMULA if column.kind == "formula" else FARTHEST_NUMBER
        refuse_scale(column, *self.dialect.scale(most))
        dated = None if column.part is None else self.dialect.part(column.part, name, column.holds)
        return self.dialect.cell(dated or f"CAST({name} AS {self.dialect.double})", column.least, most)

    def _table_name(self, place: int) -> tuple[str, ...]:
        return (*self.source[:-1], f"{self.prefix}_{place}")

    def _spoken(self, evidence: FloatArray) -> list[int]:
        """The classes to which a look-up adds something."""
        return [code for code in self.codes if evidence[code].any()]

    def _labels(self, place: int, x: str, column: ColumnTable) -> list[str | None]:
        table, number = column.table, self.dialect.number
        codes = self._spoken(np.column_stack([table["evidence"], table["unknown"], column.missing]))
        said: list[str | None] = [None] * len(self.codes)
        if len(table["values"]) <= self.inline or isinstance(table["values"][0], bool):
            for code in codes:
                cases = (
                    f"WHEN {x} = {self.dialect.literal(value)} THEN {number(float(one))}"
                    for value, one in zip(table["values"], table["evidence"][code], strict=True)
                )
                unknown = number(float(table["unknown"][code]))
                said[code] = f"CASE {' '.join(cases)} ELSE {unknown} END" if table["values"] else unknown
            return said
        self._join(place, label_table(self._table_name(place), column, codes, self.dialect), f"t{place}.label = {x}")
        for code in codes:
            said[code] = f"COALESCE(t{place}.e{code}, {number(float(table['unknown'][code]))})"
        return said

    def _join(self, place: int, table: ModelTable, condition: str) -> None:
        self.tables.append(table)
        self.joins.append(f"LEFT JOIN {self.dialect.name_of(*table.name)} AS t{place} ON {condition}")

    def _intervals(self, place: int, x: str, column: ColumnTable) -> list[str | None]:
        intervals, number = intervals_of(column), self.dialect.number
        codes = self._spoken(np.column_stack([intervals.evidence, column.missing]))
        said: list[str | None] = [None] * len(self.codes)
        if intervals.slopes is None and len(intervals.lows) <= self.inline + 1:
            for code in codes:
                cases = (
                    f"WHEN {x} < {number(float(cut))} THEN {number(float(one))}"
                    for cut, one in zip(intervals.lows[1:], intervals.evidence[code], strict=False)
                )
                last = number(float(intervals.evidence[code, -1]))
                said[code] = f"CASE {' '.join(cases)} WHEN {x} IS NOT NULL THEN {last} END"
            return said
        found = f"t{place}"
        if self.dialect.has_lambdas:
            found = f"t[{len(self.searched)}]"
            self.searched[x] = intervals
        elif self.dialect.has_lists:
            self._in_lists(place, x, intervals, codes)
        else:
            table = interval_table(self._table_name(place), intervals, codes, self.dialect)
            if self.dialect.has_arrays:
                return self._in_arrays(place, x, table, codes)
            self._join(place, table, f"t{place}.place = {self.dialect.place(x, self.dialect.name_of(*table.name))}")
        flat = intervals.slopes is None and not self.dialect.has_lambdas  # by which a missing cell finds an interval
        for code in codes:
            rise = "" if flat else f" + ({x} - {found}.low) * {found}.slope{code}"
            said[code] = f"{found}.e{code}{rise}"
        return said

    def _in_lists(self, place: int, x: str, intervals: Intervals, codes: Sequence[int]) -> None:
        """Find the interval of a number, as ``t<place>``, by the list of the first intervals of buckets."""
        buckets = Buckets.of(intervals.lows, *FOR_LISTS)
        self.lists |= {f"f{place}": buckets.first_places(), f"v{place}": said_in(intervals, codes)}
        self.steps[place] = buckets.steps()
        self.cells |= {
            f"b{place}": buckets.expression(x, self.dialect),
            f"p{place}": self.dialect.item(f"f{place}", f"b{place}"),
            f"t{place}": self.dialect.item(f"v{place}", f"p{place}_1"),
        }

    def _in_arrays(self, place: int, x: str, table: ModelTable, codes: Sequence[int]) -> list[str | None]:
        """What numbers say, looked up in an array in which the numbers of an interval lie side by side."""
        self.tables.append(table)
        held = self.arrays[place] = [column for column in table.columns if column != "place"]

        def cell(column: str) -> str:
            return f"a{place}[p{place}][{1 + held.index(column)}]"

        self.cells[f"p{place}"] = self.dialect.place(x, f"l{place}")
        said: list[str | None] = [None] * len(self.codes)
        for code in codes:
            said[code] = cell(f"e{code}")
            if f"slope{code}" in held:
                self.cells[f"d{place}"] = f"{x} - {cell('low')}"
                said[code] = f"{said[code]} + d{place} * {cell(f'slope{code}')}"
        return said

    def _formula(self, place: int, x: str, column: ColumnTable) -> list[str | None]:
        trees = formula_trees(column.table["formula"], column.table["parameters"])
        said = [self._expression(tree, x) for tree in trees]
        if "where" not in column.table["formula"] and all(tree[0] != "number" for tree in trees):
            return list(said)
        return [f"CASE WHEN {x} IS NOT NULL THEN {text} END" for text in said]  # these would not be NULL by themselves

    def _nothing(self, place: int, x: str, column: ColumnTable) -> list[str | None]:
        return [f"CASE WHEN {x} IS NOT NULL THEN {self.dialect.number(0.0)} END" for _ in self.codes]

    def _expression(self, node: Node, x: str) -> str:
        if node[0] == "x":
            return x
        if node[0] == "number":
            return self.dialect.number(float(node[1]))
        operands = [self._expression(part, x) for part in node[1:]]
        if node[0] == "square":
            return f"({self.dialect.square(operands[0])})"
        return OPERATIONS[node[0]].format(*operands)

    # -- stages -------------------------------------------------------------------------------------------------------

    def _stage(self, name: str, source: str, carried: Sequence[str], made: dict[str, str], heavy: bool = True) -> str:
        """Add a step to the query; returns its name."""
        clash = self.source[-1].casefold() in STAGES
        name = f"{name}_" if clash else name
        self.stages.append(self.dialect.stage(name, source, carried, made, heavy))
        return name

    def _stages(self) -> str:
        """Write the steps of the query, each computed once; returns the name of the last."""
        kept = {f"k{place}": self.dialect.name_of(name) for place, name in enumerate(self.keep)}
        cells, buckets, places, gaps, intervals = (
            {alias: text for alias, text in self.cells.items() if alias[0] == letter} for letter in "xbpdt"
        )
        made = {**kept, **cells} or {"nothing": "1"}
        if self.arrays:
            made["one"] = "0"
        last = self._stage("cells", self.dialect.name_of(*self.source), [], made, bool(self.dialect.fence))
        carried = list(made)
        if self.arrays:
            last = f"{last} JOIN {self._array_stage()} USING (one)"
            carried += [f"a{place}" for place in self.arrays]
        if self.searched:
            last = self._searched_stages(last, carried)
            carried += ["t"]
        for name, more, heavy in (("buckets", buckets, False), ("places", places, True), ("gaps", gaps, True)):
            if more:
                last = self._stage(name, last, carried, more, heavy)
                carried += more
            if name == "buckets" and self.lists:
                table = ListTable(self._table_name(min(self.steps)), self.lists)
                self.tables.append(table)
                last = f"{last} CROSS JOIN {self.dialect.name_of(*table.name)}"
                carried += [f"v{place}" for place in self.steps]
        if self.lists:
            last, carried = self._stepped(last, carried)
            carried = [name for name in carried if name[0] not in "bpv"]  # the lists are needed no more
            last = self._stage("intervals", last, carried, intervals)
            carried += intervals
        if self.contrasts:
            last, held = self._contrast_stages(carried, last)
            carried += held
        summed = "u" if self.form.can_be_impossible else "s"  # which is then no answer yet
        scores = {f"{summed}{code}": self._sum(code) for code in self.codes}
        last = self._stage("scores", "\n  ".join([last, *self.joins]), list(kept), scores)
        return self._decision_stages(list(kept), last)

    def _searched_stages(self, last: str, carried: list[str]) -> str:
        """Write the steps that find the intervals of all numbers, as ``t``, by lambdas that search lists.

        Spark copies what a step gives, and would copy the lists for each row, but a formula that only the next step
        uses, once, it moves there: each list is therefore named once.
        """
        search = Search(self.searched, self.codes)
        table = search.table(self._table_name(int(next(iter(self.searched))[1:])))
        self.tables.append(table)
        last = self._stage("buckets", last, carried, {"b": search.buckets(self.dialect)})
        lists = {name: f"(SELECT {name} FROM {self.dialect.name_of(*table.name)})" for name in LISTS}
        last = self._stage("lists", last, [*carried, "b"], lists, heavy=False)
        last = self._stage("places", last, [*carried, "held"], {"p": search.places()}, heavy=False)
        return self._stage("intervals", last, carried, {"t": "TRANSFORM(p, place -> held[place])"}, heavy=False)

    def _sum(self, code: int) -> str:
        """The score of a class. Where it pays, rows without a missing cell are summed up without asking for one."""
        careful, plain = ("\n      + ".join(terms[code]) for terms in (self.sums, self.whole))
        return f"COALESCE({plain},\n      {careful})" if self.dialect.sums_twice and plain != careful else careful

    def _stepped(self, last: str, carried: list[str]) -> tuple[str, list[str]]:
        """Write the steps from the first interval of a bucket to that of a number, the longest first."""
        for step in sorted({step for steps in self.steps.values() for step in steps}, reverse=True):
            made = {}
            for place, steps in self.steps.items():
                if step in steps:
                    at = f"p{place}" if step == steps[0] else f"p{place}_{2 * step}"
                    ahead = self.dialect.item(f"v{place}", f"{at} + {step}")
                    made[f"p{place}_{step}"] = f"{at} + CASE WHEN x{place} >= {ahead}.low THEN {step} ELSE 0 END"
                    carried.remove(at)
            last = self._stage(f"steps_{step}", last, carried, made)
            carried += made
        return last, carried

    def _array_stage(self) -> str:
        """Write the step whose only row holds the arrays of all columns; returns its name.

        It is joined on a number, so that PostgreSQL keeps it in a hash table, in every parallel worker.
        """
        made, knots = {"one": "MIN(place)"}, []
        for place, held in self.arrays.items():
            of_column = f"ORDER BY place) FILTER (WHERE number = {place})"
            made |= {f"l{place}": f"ARRAY_AGG(low {of_column}", f"a{place}": f"ARRAY_AGG(held {of_column}"}
            table = self.dialect.name_of(*self._table_name(place))
            knots.append(f"SELECT {place} AS number, place, low, ARRAY[{', '.join(held)}] AS held FROM {table}")
        union = "\n    UNION ALL ".join(knots)
        return self._stage("arrays", f"(\n    {union}\n  ) AS knots", [], made)

    def _contrast_stages(self, carried: Sequence[str], last: str) -> tuple[str, list[str]]:
        """Evidence that is weighed: made finite, held within reach of the largest, and its mean over the classes."""
        dialect, number, codes = self.dialect, self.dialect.number, self.codes
        places = [place for place, _ in self.contrasts]
        last = self._stage("raw", last, carried, self.raw)
        least = {
            f"l{place}": dialect.extreme(dialect.least, [self._or_infinite(f"r{place}_{code}") for code in codes])
            for place in places
        }
        last = self._stage("lowest", last, [*carried, *self.raw], least)
        finite = {
            f"f{place}_{code}": f"CASE WHEN r{place}_{code} > {number(-np.inf)} THEN r{place}_{code} "
            f"WHEN l{place} < {number(np.inf)} THEN l{place} - {number(IMPOSSIBLE)} "
            f"WHEN r{place}_{code} IS NOT NULL THEN {number(0.0)} END"
            for place in places
            for code in codes
        }
        last = self._stage("finite", last, carried, finite)
        tops = {
            f"g{place}": dialect.extreme(dialect.greatest, [f"f{place}_{code}" for code in codes]) for place in places
        }
        last = self._stage("tops", last, [*carried, *finite], tops)
        held = {
            f"h{place}_{code}": f"CASE WHEN f{place}_{code} < g{place} - {number(FARTHEST)} "
            f"THEN g{place} - {number(FARTHEST)} ELSE f{place}_{code} END"
            for place in places
            for code in codes
        }
        last = self._stage("held", last, carried, held)
        means = {
            f"m{place}": f"({' + '.join(f'h{place}_{code}' for code in codes)}) / {number(float(len(codes)))}"
            for place in places
        }
        return self._stage("centred", last, [*carried, *held], means), [*held, *means]

    def _or_infinite(self, evidence: str) -> str:
        lowest, highest = self.dialect.number(-np.inf), self.dialect.number(np.inf)
        return f"CASE WHEN {evidence} = {lowest} THEN {highest} ELSE {evidence} END"

    def _weighed(self, place: int, code: int, column: ColumnTable) -> str:
        assert column.contrast is not None
        weight, known = (self.dialect.number(float(part[code])) for part in column.contrast)
        return f"(h{place}_{code} - m{place}) * {weight} + {known}"

    def _decision_stages(self, carried: list[str], last: str) -> str:
        dialect, number = self.dialect, self.dialect.number
        scores = [f"s{code}" for code in self.codes]
        if self.form.can_be_impossible:
            summed = [f"u{code}" for code in self.codes]
            most = dialect.extreme(dialect.greatest, summed)
            last = self._stage("possible", last, [*carried, *summed], {"possible": most})
            answers = {
                score: f"CASE WHEN possible = {number(-np.inf)} THEN {number(float(prior))} ELSE {one} END"
                for score, one, prior in zip(scores, summed, self.form.prior, strict=True)
            }
            last = self._stage("answers", last, carried, answers)
        best = dialect.extreme(dialect.greatest, scores)
        last = self._stage("bests", last, [*carried, *scores], {"best": best})
        odds = {f"o{code}": dialect.exponential(f"{score} - best") for code, score in enumerate(scores)}
        return self._stage("odds", last, [*carried, *scores, "best"], odds)

    def _select(self, last: str) -> str:
        """The whole query."""
        dialect, classes = self.dialect, self.form.classes
        total = " + ".join(f"o{code}" for code in self.codes)
        cases = " ".join(f"WHEN s{code} = best THEN {dialect.literal(one)}" for code, one in enumerate(classes[:-1]))
        other = dialect.literal(classes[-1])
        columns = [f"k{place} AS {dialect.name_of(name)}" for place, name in enumerate(self.keep)]
        columns.append(f"{f'CASE {cases} ELSE {other} END' if cases else other} AS prediction")
        names = probability_names(classes, dialect, self.keep)
        columns += [f"o{code} / ({total}) AS {dialect.name_of(name)}" for code, name in enumerate(names)]
        stages, chosen = ",\n".join(self.stages), ",\n  ".join(columns)
        return f"WITH {stages}\nSELECT\n  {chosen}\nFROM {last}"


STAGES = frozenset(
    [
        *("cells", "buckets", "raw", "lowest", "finite", "tops", "held", "centred", "scores", "possible", "answers"),
        *("bests", "odds", "places", "gaps", "arrays", "lists", "intervals"),
        *(f"steps_{2**power}" for power in range(32)),
    ]
)
"""The names of the steps: where the table itself is called so, they get another."""

OPERATIONS = {
    "add": "({} + {})",
    "subtract": "({} - {})",
    "multiply": "({} * {})",
    "divide": "({} / {})",
    "negative": "(-{})",
    "log": "LN({})",
    "log1p": "LN(1 + {})",
    "greater": "({} > {})",
    "equal": "({} = {})",
    "where": "CASE WHEN {0} THEN {1} ELSE {2} END",
}


def probability_names(classes: Sequence[Any], dialect: Dialect, keep: Sequence[str] = ()) -> list[str]:
    """The names of the columns of probabilities, distinct where case, or what a database cuts off, does not count.

    Examples
    --------
    >>> from naively._export.sql_dialects import dialect_of
    >>> probability_names(["a", "A", "b"], dialect_of("duckdb"))
    ['probability_a', 'probability_A_2', 'probability_b']
    """
    names: list[str] = []
    taken = {"prediction"}
    for name in keep:
        if dialect.known_as(name).casefold() in taken:
            raise ParameterError(f"keep names {name!r}, but a column of the answer is called so. Rename it in a view.")
        taken.add(dialect.known_as(name).casefold())
    for label in classes:
        name, number = f"probability_{label}", 1
        while dialect.known_as(name).casefold() in taken:
            number += 1
            name = dialect.numbered(f"probability_{label}", number)
        taken.add(dialect.known_as(name).casefold())
        names.append(name)
    return names
