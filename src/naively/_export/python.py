"""A fitted model as the source text of one Python file that needs the standard library alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._export.additive import FARTHEST, IMPOSSIBLE, AdditiveForm, ColumnTable, additive
from naively.families._formulas import Node, formula_trees

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

OPERATIONS = {
    "add": "({} + {})",
    "subtract": "({} - {})",
    "multiply": "({} * {})",
    "divide": "({} / {})",
    "negative": "(-{})",
    "square": "square({})",
    "log": "log({})",
    "log1p": "log1p({})",
    "greater": "({} > {})",
    "equal": "({} == {})",
    "where": "({1} if {0} else {2})",
}

PROGRAM = '''"""A naive Bayes model, written by naively {version}. It needs the standard library alone.

    predict_proba(record)    a dict from each class to its probability
    predict(record)          the most probable class

A record is a dict of cells by column name{or_list}. A cell that is absent, None or NaN is missing.
"""

from bisect import bisect_right
from datetime import date, datetime, time
from math import exp, inf, isfinite, isnan, log, log1p

CLASSES = {classes}
PRIOR = {prior}
START = {start}
COLUMNS = {columns}


def predict_proba(record):
    """The probability of each class."""
    scores = _scores(record)
    best = max(scores)
    if best == -inf:  # no class could have produced the record
        scores, best = PRIOR, max(PRIOR)
    odds = [exp(score - best) for score in scores]
    total = sum(odds)
    return {{label: odd / total for label, odd in zip(CLASSES, odds)}}


def predict(record):
    """The most probable class, the first of several."""
    scores = _scores(record)
    if max(scores) == -inf:
        scores = PRIOR
    return CLASSES[scores.index(max(scores))]


def _scores(record):
    """The log-prior, and what the cells add to it."""
    if not hasattr(record, "get"):
        record = dict(zip(COLUMNS, record))
    get = record.get
    return list(map(sum, zip(START, *[read(name, get(name), table) for name, read, table in READERS])))


def _number(name, cell, least):
    """A cell as a number; None if it is missing."""
    if cell is None:
        return None
    if isinstance(cell, (str, bytes, date, time)):
        raise TypeError(f"Column {{name!r}} must hold a number, got {{cell!r}}.")
    number = float(cell)
    if isnan(number):
        return None
    if not isfinite(number):
        raise ValueError(f"Column {{name!r}} must hold a finite number, got {{cell!r}}.")
    if least is not None and number < least:
        allowed = "above 0" if least else "of 0 or more"
        raise ValueError(f"Column {{name!r}} must hold numbers {{allowed}}, got {{cell!r}}.")
    return number


def _labels(name, cell, table):
    known, unknown, missing, text = table
    if cell is None or cell != cell:
        return missing
    if text is not None and isinstance(cell, str) != text:
        raise TypeError(f"Column {{name!r}} must hold {{'text' if text else 'a number or boolean'}}, got {{cell!r}}.")
    return known.get(cell, unknown)


def _steps(name, cell, table):
    cuts, evidence, missing, least = table
    number = _number(name, cell, least)
    return missing if number is None else evidence[bisect_right(cuts, number)]


def _curve(name, cell, table):
    knots, evidence, missing, least, contrast = table
    if type(cell) is not float or least is not None or not -inf < cell < inf:  # the usual cell needs no more checks
        cell = _number(name, cell, least)
        if cell is None:
            return missing
    said = _interpolated(knots, evidence, cell)
    return said if contrast is None else contrasted(said, contrast)


def _interpolated(knots, evidence, number):
    place = bisect_right(knots, number)
    if place == 0 or place == len(knots):
        return evidence[max(place - 1, 0)]
    left, right = knots[place - 1], knots[place]
    width = right - left
    share = (number - left) / width if width < inf else (number / 2 - left / 2) / (right / 2 - left / 2)
    rest = 1 - share
    return [low * rest + high * share for low, high in zip(evidence[place - 1], evidence[place])]


def _formula(name, cell, table):
    formula, missing, least, contrast = table
    number = _number(name, cell, least)
    return missing if number is None else contrasted(formula(max(-1e280, min(number, 1e280))), contrast)


def _date(name, cell, table):
    """What a part of a date says, as another function reads it."""
    clock, part, read, table = table
    moment = _moment(name, cell, clock)
    return read(name, None if moment is None else _PARTS[part](moment), table)


def _moment(name, cell, clock):
    """A date or a time of day by the clock on the wall; None if it is missing."""
    if hasattr(cell, "astype"):  # one of NumPy
        cell = cell.astype("datetime64[us]").item()
    if cell is None or cell != cell:
        return None
    try:
        if isinstance(cell, str):
            cell = _written(cell.strip(), clock)
        if clock == "time":
            return datetime.combine(_EPOCH, cell.replace(tzinfo=None))
        return cell.replace(tzinfo=None) if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)
    except (AttributeError, TypeError, ValueError):
        text = f"Column {{name!r}} must hold a {{clock}}, or one as text in ISO 8601, got {{cell!r}}."
        raise TypeError(text) from None


def _written(text, clock):
    if clock == "date":
        return datetime.fromisoformat(text)
    return time.fromisoformat(f"0{{text}}" if text.find(":") == 1 else text)


_EPOCH = datetime(1970, 1, 1)
_PARTS = {{
    "trend": lambda moment: (moment - _EPOCH).total_seconds(),
    "month": lambda moment: moment.month,
    "weekday": datetime.isoweekday,
    "hour": lambda moment: moment.hour,
    "date": lambda moment: str(moment).removesuffix(" 00:00:00"),
    "time": lambda moment: str(moment.time()),
}}


def contrasted(evidence, contrast):
    """Evidence made finite, centred and weighed; as it is without a contrast."""
    if contrast is None:
        return evidence
    finite = [said for said in evidence if isfinite(said)]
    least = min(finite) - {impossible} if finite else 0.0
    evidence = [said if isfinite(said) else least for said in evidence]
    least = max(evidence) - {farthest}
    evidence = [max(said, least) for said in evidence]
    mean = sum(evidence) / len(evidence)
    weights, known = contrast
    return [(said - mean) * weight + more for said, weight, more in zip(evidence, weights, known)]


def square(value):
    value = min(abs(value), 1e150)
    return value * value

{formulas}
READERS = [
{readers}
]
'''


def to_python(model: NaiveBayes) -> str:
    """The source text of a module with `predict_proba(record)` and `predict(record)`."""
    return written(additive(model))


def written(form: AdditiveForm) -> str:
    """The program of an additive form. Names and values of the data stand in it as literals and nowhere else."""
    from naively import __version__

    places = {id(column): place for place, column in enumerate(form.columns)}
    speaking = form.speaking
    return PROGRAM.format(
        version=__version__,
        or_list="" if form.named else ", or a list of cells in the order of COLUMNS",
        classes=_literal(form.classes),
        prior=_literal(form.prior),
        start=_literal(form.start),
        columns=_literal(form.names),
        impossible=IMPOSSIBLE,
        farthest=FARTHEST,
        formulas="".join(_function(places[id(column)], column) for column in speaking if column.kind == "formula"),
        readers="\n".join(f"    {_reader(places[id(column)], column)}," for column in speaking),
    )


def compiled(form: AdditiveForm) -> dict[str, Any]:
    """The functions of the program, ready to be called: its tables are handed over, not written down and parsed."""
    program: dict[str, Any] = {}
    exec(_functions(), program)
    program["CLASSES"], program["COLUMNS"] = tuple(form.classes), tuple(form.names)
    program["PRIOR"], program["START"] = tuple(form.prior.tolist()), tuple(form.start.tolist())
    program["READERS"] = [(column.name, *_read_by(column, program)) for column in form.speaking]
    return program


@cache
def _functions() -> Any:
    """The program without a model, compiled."""
    nothing = np.empty(0)
    return compile(written(AdditiveForm([], nothing, nothing, (), True)), "<naively>", "exec")


def _read_by(column: ColumnTable, program: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    """The function that reads a column, and what it looks up: the same as `_reader` writes."""
    if column.part is not None:
        return program["_date"], (column.holds, column.part, *_read_by(replace(column, part=None), program))
    table, missing, least = column.table, tuple(column.missing.tolist()), column.least
    contrast = None if column.contrast is None else tuple(part.tolist() for part in column.contrast)
    if column.kind == "labels":
        known = dict(zip(table["values"], map(tuple, table["evidence"].T.tolist()), strict=True))
        return program["_labels"], (known, tuple(table["unknown"].tolist()), missing, text_only(column))
    if column.kind == "curve":
        return program["_curve"], (table["knots"].tolist(), table["evidence"].T.tolist(), missing, least, contrast)
    if column.kind == "formula":
        trees = formula_trees(table["formula"], table["parameters"])
        formula = eval(f"lambda x: ({''.join(f'{_expression(tree)}, ' for tree in trees)})", program)
        return program["_formula"], (formula, missing, least, contrast)
    if column.kind == "steps":
        return program["_steps"], (table["cuts"].tolist(), table["evidence"].T.tolist(), missing, least)
    return program["_steps"], ((), [(0.0,) * len(missing)], missing, least)


def _function(place: int, column: ColumnTable) -> str:
    trees = formula_trees(column.table["formula"], column.table["parameters"])
    lines = "".join(f"        {_expression(tree)},\n" for tree in trees)
    return f"\ndef _formula_{place}(x):\n    return (\n{lines}    )\n\n"


def _expression(node: Node) -> str:
    if node[0] == "x":
        return "x"
    if node[0] == "number":
        return f"({node[1]!r})"
    return OPERATIONS[node[0]].format(*map(_expression, node[1:]))


def _reader(place: int, column: ColumnTable) -> str:
    """The line of a column: its name, the function that reads it, and what that looks up."""
    table, missing, least = column.table, _literal(column.missing), repr(column.least)
    if column.kind == "labels":
        known = {label: tuple(row) for label, row in zip(table["values"], table["evidence"].T.tolist(), strict=True)}
        found = f"({_literal(known)}, {_literal(table['unknown'])}, {missing}, {text_only(column)})"
    elif column.kind == "steps":
        found = f"({_literal(table['cuts'])}, {_literal(table['evidence'].T)}, {missing}, {least})"
    elif column.kind == "curve":
        found = (
            f"({_literal(table['knots'])}, {_literal(table['evidence'].T)}, {missing}, {least}, {_contrast(column)})"
        )
    elif column.kind == "formula":
        found = f"(_formula_{place}, {missing}, {least}, {_contrast(column)})"
    else:
        found = f"((), ({_literal(column.missing * 0)},), {missing}, None)"
    reads = {"nothing": "steps"}.get(column.kind, column.kind)
    read = f"_{reads}, {found}"
    if column.part is not None:
        read = f"_date, ({column.holds!r}, {column.part!r}, {read})"
    return f"({_literal(column.name)}, {read})"


def _contrast(column: ColumnTable) -> str:
    return "None" if column.contrast is None else f"({', '.join(map(_literal, column.contrast))})"


def text_only(column: ColumnTable) -> bool | None:
    """Whether cells must be text, or must not be; None where both are labels."""
    if column.holds in ("date", "time"):  # of which some parts are numbers
        return any(isinstance(value, str) for value in column.table["values"])
    return {"label": True, "text": True, "mixed": None}.get(column.holds, False)


def _literal(value: Any) -> str:
    """Data as Python writes it down, in ASCII, arrays as tuples."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(key)}: {_literal(row)}" for key, row in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "(" + "".join(f"{_literal(part)}, " for part in value) + ")"
    return ascii(value)
