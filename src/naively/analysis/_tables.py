"""Tables of P(x | y): what each class expects of each column, from what was counted alone: they come at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from naively._scoring.model import Factor, make_factors
from naively._table.results import SHOWN_ROWS, Columns, Result, Shown, as_html, more
from naively.analysis._r_tables import formatted, matrix, vector
from naively.errors import ParameterError, brief, listed
from naively.recipes import as_recipe
from naively.typing import AnyArray, FloatArray

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

SHOWN_COLUMNS, SHOWN_VALUES = 12, 10
"""How many tables are printed, and how many values of each; the frame has all."""

NOT_TABLED = ("columns", "cuts", "parent", "values", "given")
"""What a family tells of its parameters that is the same for all classes."""


class Entry(NamedTuple):
    """One parameter of a column.

    Parameters
    ----------
    parameter : str
        "probability", "mean", "sd", ...
    value : str or None
        What it is the probability of; None where the column has one such parameter.
    estimates : ndarray of shape (classes,)
    """

    parameter: str
    value: str | None
    estimates: FloatArray

    @property
    def head(self) -> str:
        """What stands above it."""
        if self.value is None:
            return self.parameter
        return self.value if self.parameter == "probability" else f"{self.parameter} {self.value}"


class ConditionalTable(Result):
    """P(x | y) of one column: a row for each class, and a column for each value or parameter.

    Parameters
    ----------
    name : str
        The column, or the columns that are read together.
    classes : ndarray
    entries : sequence of Entry
    """

    def __init__(self, name: str, classes: AnyArray, entries: Sequence[Entry]):
        self.name, self.classes, self.entries = name, classes, tuple(entries)

    def _columns(self) -> Columns:
        return _columns_of([self], self.classes)

    @property
    def _cells(self) -> list[list[str]]:
        """The shown estimates as text, entry by entry; probabilities with as many decimals, others one by one."""
        shown = [entry.estimates[:SHOWN_ROWS].tolist() for entry in self.entries[:SHOWN_VALUES]]
        if any(entry.parameter != "probability" for entry in self.entries):
            return [formatted(numbers) for numbers in shown]
        cells = iter(formatted([number for numbers in shown for number in numbers]))
        return [[next(cells) for _ in numbers] for numbers in shown]

    @property
    def _note(self) -> str:
        hidden = [(len(self.classes) - SHOWN_ROWS, "classes"), (len(self.entries) - SHOWN_VALUES, "values")]
        return ", ".join(said for number, what in hidden if (said := more(number, what)))

    def _shown(self) -> Shown:
        head = [entry.head for entry in self.entries[:SHOWN_VALUES]]
        lines = [[str(label), *cells] for label, *cells in zip(self.classes[:SHOWN_ROWS], *self._cells, strict=True)]
        return Shown([["class", *head], *lines], range(1, 1 + len(head)), self.name, self._note)

    def __repr__(self) -> str:
        head = [entry.head for entry in self.entries[:SHOWN_VALUES]]
        rows = [str(label) for label in self.classes[:SHOWN_ROWS]]
        lines = [line.rstrip() for line in matrix(self.name, rows, head, self._cells)]
        return "\n".join([*lines, self._note] if self._note else lines)


class ConditionalTables(Result):
    """The class prior and the tables of P(x | y) of all columns, as R prints them.

    Parameters
    ----------
    classes : ndarray
    prior : ndarray of shape (classes,)
    columns : dict of ConditionalTable
        By name; ``tables["coat"]`` is ``tables.columns["coat"]``.
    note : str
        What the tables do not show.
    """

    def __init__(self, classes: AnyArray, prior: FloatArray, columns: Mapping[str, ConditionalTable], note: str):
        self.classes, self.prior, self.columns, self.note = classes, prior, columns, note

    def __getitem__(self, name: str) -> ConditionalTable:
        if name not in self.columns:
            raise ParameterError(f"There is no table of {brief(name)}. There are tables of {listed(self.columns)}.")
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def _columns(self) -> Columns:
        return _columns_of(list(self.columns.values()), self.classes)

    def _notes(self) -> list[str]:
        hidden = more(len(self.columns) - SHOWN_COLUMNS, "columns")
        return [note for note in (hidden, self.note) if note]

    def __repr__(self) -> str:
        names = [str(label) for label in self.classes[:SHOWN_ROWS]]
        prior = [line.rstrip() for line in vector(names, self.prior[:SHOWN_ROWS].tolist())]
        tables = [part for one in self._shown_tables() for part in ("", repr(one))]
        notes = [part for note in self._notes() for part in ("", note)]
        return "\n".join(["A-priori probabilities:", "Y", *prior, "", "Conditional probabilities:", *tables, *notes])

    def _shown_tables(self) -> list[ConditionalTable]:
        return list(self.columns.values())[:SHOWN_COLUMNS]

    def _shown(self) -> Shown:
        """The class prior."""
        shares = formatted(self.prior[:SHOWN_ROWS].tolist())
        lines = [["class", "prior"], *([str(one), share] for one, share in zip(self.classes, shares, strict=False))]
        return Shown(lines, (1,), "A-priori probabilities", more(len(self.classes) - SHOWN_ROWS, "classes"))

    def _repr_html_(self) -> str:
        """The class prior and the tables, one below the other."""
        notes = as_html(Shown([["", ""]], note="; ".join(self._notes()))).partition("</table>")[2]
        return "".join([as_html(self._shown()), *(one._repr_html_() for one in self._shown_tables()), notes])


def conditional_tables(model: NaiveBayes) -> ConditionalTables:
    """The tables of a fitted model: see `NaiveBayes.tables`."""
    schema, recipe = model.schema_, as_recipe(model.recipe)
    prose = [name for place, name in enumerate(schema.names) if schema.is_text(place)]
    families = [
        None if family is None or name in prose else family.in_tables()
        for name, family in zip(schema.names, model._checked_families(recipe), strict=True)
    ]
    factors = make_factors(schema, families, model._smoothings(schema.names, recipe), model.statistics_)
    found = {name: entries for factor in factors for name, entries in _of_factor(factor, schema.names)}
    order = [*(name for name in schema.names if name in found), *(name for name in found if name not in schema.names)]
    columns = {name: ConditionalTable(name, model.classes_, found[name]) for name in order}
    prior = model.class_prior_
    known = prior if prior.ndim == 1 else np.full(len(model.classes_), np.nan)
    return ConditionalTables(model.classes_, known, columns, _note(recipe.tempering is not None, prose))


def _note(weighs: bool, prose: Sequence[str]) -> str:
    """What is not in the tables, in words."""
    said = []
    if weighs:
        said.append("The recipe answers with evidence that it weighs: log_odds() shows that")
    if prose:
        said.append(f"top_words() shows the prose of {listed(prose)}")
    return "; ".join(said) and "; ".join(said) + "."


def _of_factor(factor: Factor, names: Sequence[str]) -> Iterator[tuple[str, list[Entry]]]:
    """The names and the entries of the columns of a factor, or of all of them together."""
    estimate = factor.estimate
    described = estimate.tabled()
    if factor.family.one_term:
        yield factor.family.term, _entries(described, estimate.axes(0))
        return
    for place, member in enumerate(factor.members.tolist()):
        own = {key: part[place] if isinstance(part, list) else part[:, place] for key, part in described.items()}
        yield names[member], _entries(own, estimate.axes(place))


def _entries(described: Mapping[str, Any], axes: Sequence[Sequence[str]]) -> list[Entry]:
    """The parameters of a column; a variance is shown as the standard deviation."""
    result: list[Entry] = []
    for key, numbers in described.items():
        if key not in NOT_TABLED:
            shown = ("sd", np.sqrt(numbers)) if key == "variance" else (key, numbers)
            result += _spread(*shown, (), axes)
    return result


def _spread(parameter: str, numbers: Any, path: tuple[str, ...], axes: Sequence[Sequence[str]]) -> Iterator[Entry]:
    """Numbers (classes, ...) by the names of their other axes, and dicts of such numbers by their keys."""
    if isinstance(numbers, Mapping):
        for key, part in numbers.items():
            yield from _spread(parameter, part, (*path, _text(key)), axes)
    elif np.ndim(numbers) <= 1:
        yield Entry(parameter, ", ".join(path) if path else None, np.asarray(numbers, dtype=np.float64))
    else:
        for place, name in enumerate(axes[0]):
            yield from _spread(parameter, numbers[:, place], (*path, name), axes[1:])


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _columns_of(tables: Sequence[ConditionalTable], classes: AnyArray) -> Columns:
    """Tables as the columns of a frame, with a row for each parameter and class."""
    records = [
        (table.name, entry.parameter, entry.value, label, float(estimate))
        for table in tables
        for entry in table.entries
        for label, estimate in zip(classes.tolist(), entry.estimates, strict=True)
    ]
    fields = {"column": "U", "parameter": "U", "value": "U", "class": classes.dtype.kind, "estimate": "f"}
    return {field: (kind, [record[place] for record in records]) for place, (field, kind) in enumerate(fields.items())}
