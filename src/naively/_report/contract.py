"""All that the page reads, as one dict of plain lists, strings and numbers.

The answer is a softmax of ``log_prior_k + sum of fixed_k + sum of the chosen entries of the columns_k``. The bits of a
term against a class b are ``(e_c - e_b) / log 2``; against the rest, those of `naively._scoring.explanation`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

import naively
from naively._report.columns import live_column
from naively._report.numbers import logs
from naively._report.quality import quality
from naively._report.sources import Sources
from naively._scoring.explanation import FIELDS
from naively._table.read import read_table
from naively._weighing.scorer import PooledScorer
from naively.analysis._check import check
from naively.analysis._findings import SENTENCES
from naively.analysis.diagnostics import dependence
from naively.errors import GapError, NaivelyError, NaivelyWarning, ParameterError
from naively.typing import FloatArray

FORMAT, VERSION = "naively-report", 1

MOST_ENTRIES = 48_000
"""Values of all columns times classes: about 600 kB."""

MOST_COLUMNS = 30
FEWEST_VALUES = 24
"""So many values of a column at least are worth showing it."""

MOST_RANKED = 60
MOST_PAIRED = 40
"""Columns of which every two are tested for dependence."""

SHOWN_PAIRS = 12

MOST_CHECKED = 1000
"""Columns that are checked."""

NO_ROWS = "It takes rows to see, and the model keeps none. Give some: model.report(path, data=(X, y))."

SAYS = ("evidence", "unknown", "other", "single", "pairs", "given", "stretch")
"""What a column has for the sake of its evidence."""


def contract(sources: Sources, title: str) -> dict[str, Any]:
    """The report of a model as plain data.

    Parameters
    ----------
    sources : Sources
    title : str
    """
    model = sources.model
    ranked = _ranked(sources)
    live, fixed = _terms(sources, [column["name"] for column in ranked])
    return {
        "format": FORMAT,
        "version": VERSION,
        "naively": naively.__version__,
        "title": title,
        "recipe": _recipe_name(model.recipe),
        "rows": float(model.class_count_.sum()),
        "n_columns": len(model.schema_.names),
        "classes": [
            {"label": str(label), "literal": repr(label), "rows": float(rows), "log_prior": log}
            for label, rows, log in zip(
                model.classes_.tolist(), model.class_count_, logs(sources.log_prior), strict=True
            )
        ],
        "columns": live,
        "fixed": fixed,
        "not_live": _why_not_live(sources),
        "row": None if not _why_not_live(sources) else _explained(sources),
        "has_row": sources.row is not None,
        "ranking": ranked[:MOST_RANKED],
        "quality": quality(sources),
        "dependence": _dependence(sources),
        "checks": _checks(sources),
    }


def _recipe_name(recipe: Any) -> str:
    return recipe if isinstance(recipe, str) else type(recipe).__name__


# -- terms of the evidence -------------------------------------------------------------------------------------------


def _why_not_live(sources: Sources) -> str | None:
    """Why no column of the model can be looked up by itself, if that is so."""
    if isinstance(sources.scorer, PooledScorer):
        return (
            f"Recipe {_recipe_name(sources.model.recipe)!r} pools experts that read several columns together, so no "
            "table of one column tells what it says in every row. The step-by-step view below shows one row; "
            "recipe 'auto' has markers to move."
        )
    return None


def _terms(sources: Sources, by_rank: list[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The columns that can be chosen from, the most informative first, and the terms that stay as they are."""
    names = sources.model.schema_.names
    members = [names.index(name) for name in by_rank if names.index(name) in sources.owner]
    alone = [member for member in members if not sources.owner[member][0].family.together]
    n_classes = len(sources.model.classes_)
    most = min(MOST_COLUMNS, max(4, MOST_ENTRIES // (n_classes * FEWEST_VALUES)))
    room = max(2, MOST_ENTRIES // max(1, n_classes * min(most, len(alone))))
    live, refused = [], {}
    for member in alone[:most]:
        try:
            live.append(_described(sources, member) | live_column(sources, member, room))
        except GapError as gap:
            refused[member] = f"it {gap.reason}"
    if _why_not_live(sources):  # what columns look like is still of interest; what they say alone is not the answer
        return [{key: value for key, value in column.items() if key not in SAYS} for column in live], []
    return live, _fixed(sources, {column["name"] for column in live}, refused)


def _described(sources: Sources, member: int) -> dict[str, Any]:
    """What is said of every column."""
    factor, _ = sources.owner[member]
    total = np.asarray(sources.model.class_count_)
    tables = sources.statistics_of(member)
    known = next((weight for table in tables if (weight := table.observed_weight(0)) is not None), None)
    missing = 0.0 if known is None else float(max((total - known).sum(), 0.0))
    return {
        "name": str(sources.model.schema_.names[member]),
        "family": type(factor.family).__name__,
        "known": None if known is None else np.asarray(known).round(6).tolist(),
        "missing": round(missing, 6) if missing > 1e-9 * total.sum() else 0.0,
    }


def _fixed(sources: Sources, live: set[str], refused: dict[int, str]) -> list[dict[str, Any]]:
    """The terms that the page does not change: of the given row, or of cells that are not known."""
    evidence = _evidence_of_row(sources)
    row = "as in the given row" if sources.row is not None else "taken as unknown"
    n_columns, n_joined = len(sources.model.schema_.names), len(sources.scorer.terms)
    fixed, together, folded = [], [], []
    for place, name in enumerate(sources.scorer.names):
        if name in live or name in sources.scorer.silent:
            continue
        if place in refused:
            fixed.append({"name": name, "evidence": logs(evidence[place]), "reason": f"{refused[place]}; {row}"})
        elif place >= n_columns + n_joined:
            fixed.append({"name": name, "evidence": logs(evidence[place]), "reason": "it is the same in every row"})
        elif place >= n_columns or (place in sources.owner and sources.owner[place][0].family.together):
            together.append(place)
        elif place in sources.owner:
            folded.append(place)
    why = f"read together, so none of them can be looked up by itself; {row}"
    fixed += _summed(sources, evidence, together, "joined", why)
    return fixed + _summed(sources, evidence, folded, "more", f"they have less to tell; {row}")


def _summed(sources: Sources, evidence: FloatArray, places: list[int], word: str, why: str) -> list[dict[str, Any]]:
    """Several terms as one."""
    if not places:
        return []
    names = [sources.scorer.names[place] for place in places]
    name = names[0] if len(names) == 1 else f"{len(names)} {word} columns"
    return [{"name": name, "evidence": logs(evidence[places].sum(axis=0)), "reason": why, "columns": names[:100]}]


def _evidence_of_row(sources: Sources) -> FloatArray:
    """The evidence (terms, classes) of the given row, or of one of which nothing is known."""
    if sources.told is not None:
        return np.asarray(sources.scorer.evidence(*sources.told)[0])
    nothing = read_table({"": [np.nan]})
    positions = np.full(len(sources.model.schema_.names), -1, dtype=np.int64)
    return np.asarray(sources.scorer.evidence(nothing, positions)[0])


# -- a row of a model that is not live -------------------------------------------------------------------------------


def _explained(sources: Sources) -> dict[str, Any] | None:
    """The given row, step by step, by the model itself."""
    if sources.told is None:
        return None
    table = sources.told[0]
    frame = sources.model.explain(table)
    columns = {name: list(frame[name]) for name in FIELDS}
    steps = [
        [name, None if value is None or value != value else str(value), bits if math.isfinite(bits) else None]
        for name, value, bits in zip(columns["column"], columns["value"], columns["bits"], strict=True)
    ]
    return {
        "class": str(columns["class"][0]),
        "proba": sources.model.predict_proba(table)[0].tolist(),
        "steps": steps,
    }


# -- what else is told -----------------------------------------------------------------------------------------------


def _ranked(sources: Sources) -> list[dict[str, Any]]:
    """Columns and their information in bits, the most telling first; those without a score come last."""
    names = list(sources.model.schema_.names)
    try:
        frame = sources.model.rank_features()
        scores = dict(zip(list(frame["column"]), list(frame["score"]), strict=True))
    except ParameterError:  # a family that has no information alone
        scores = {}
    order = sorted(names, key=lambda name: -scores.get(name, 0.0))
    return [{"name": name, "bits": None if name not in scores else round(float(scores[name]), 6)} for name in order]


def _dependence(sources: Sources) -> dict[str, Any]:
    """The pairs of columns that depend on each other given the class, or why they are not known."""
    if not 2 <= len(sources.model.schema_.names) <= MOST_PAIRED:
        return {"reason": f"It is looked for among 2 to {MOST_PAIRED} columns."}
    if sources.rows is None:
        return {"reason": NO_ROWS}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NaivelyWarning)  # of columns with many values: how many pairs is told
            frame = dependence(sources.model, *sources.rows)
    except NaivelyError as error:
        return {"reason": str(error)}
    fields = ("first", "second", "corrected", "gain", "hurts")
    lines = list(zip(*(list(frame[field]) for field in fields), strict=True))
    pairs = [[str(a), str(b), float(bits), float(gain), bool(hurts)] for a, b, bits, gain, hurts in lines]
    return {"pairs": pairs[:SHOWN_PAIRS], "tested": len(pairs), "hurt": sum(pair[4] for pair in pairs)}


def _checks(sources: Sources) -> dict[str, Any]:
    """What deserves a look in the rows: columns or classes, what was found, and what to do; or why it is not known."""
    if sources.rows is None:
        return {"reason": NO_ROWS}
    if len(sources.model.schema_.names) > MOST_CHECKED:
        return {"reason": f"At most {MOST_CHECKED} columns are checked. naively.check(X, y) looks at any number."}
    found = check(*sources.rows)
    lines = []
    for one in found:
        said, _, what_to_do = SENTENCES[one.finding]
        lines.append([one.column, said, one.detail, what_to_do([one.column])])
    return {"rows": found.n_rows, "findings": lines}
