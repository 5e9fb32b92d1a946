"""What a model has added up of which columns, as plain values, and back, with every check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from naively._text.analyzer import Analyzer
from naively._text.entities import ENTITIES
from naively._text.tokenise import View
from naively.errors import ModelFileError
from naively.families._kernel import FINE
from naively.families._text_options import MOST
from naively.statistics._plain import flag_from, floats_from, require, text_from, whole_from
from naively.statistics._registry import STATISTICS
from naively.statistics.base import UNLIKE, Statistic, Summary

SPECIAL = ("labels", "numbers", "cuts", "most_cells", "view", "logs")
"""What only some summaries have."""

# -- writing --------------------------------------------------------------------------------------------------------


def refuse_tokenizer(tokenizer: Any) -> None:
    """Refuse a tokenizer: it is a function, which a file cannot hold, unless it is that of a vectorizer."""
    if tokenizer is not None and not (isinstance(tokenizer, Analyzer) and tokenizer.is_plain):
        raise ModelFileError(
            "Text(tokenizer=...) and Text(analyzer=...) with a function of your own cannot be held by a model file. "
            "Pickle the model, give a vectorizer of scikit-learn without functions in it, or tokenise before fitting "
            "and join the words with spaces."
        )


def summary_to_dict(summary: Summary) -> dict[str, Any]:
    """A summary; what only some have is left out of the others."""
    refuse_tokenizer(None if summary.view is None else summary.view.tokenizer)
    return {name: value for name, value in asdict(summary).items() if name not in SPECIAL or value}


def table_to_dict(summary: Summary, table: Statistic) -> dict[str, Any]:
    """The statistics of some columns."""
    return {"summary": summary_to_dict(summary), "columns": list(table.columns), **table.to_dict()}


# -- reading --------------------------------------------------------------------------------------------------------


def summary_from(entry: Any) -> Summary:
    """The inverse of `summary_to_dict`."""
    given = dict(entry)
    for name in ("labels", "numbers"):
        given[name] = tuple(text_from(member) for member in given.get(name, ()))
    cuts = given.get("cuts", ())
    given["cuts"] = tuple(None if one is None else tuple(floats_from(one, (len(one),)).tolist()) for one in cuts)
    summary = Summary(**{**given, "view": view_from(given.get("view"))})
    require(summary.kind in STATISTICS, f"unknown kind of statistics {summary.kind!r:.60}")
    for flag in (summary.observed, summary.squares, summary.nonnegative, summary.logs):
        flag_from(flag)
    require(summary.above is None or type(summary.above) in (int, float), "a threshold must be a number")
    require(summary.unlike in (None, *UNLIKE), f"unknown kind of column {summary.unlike!r:.60}")
    require(summary.most_cells in (None, FINE), f"unknown size of a histogram {summary.most_cells!r:.60}")
    require((summary.kind == "tokens") == (summary.view is not None), "a summary of texts has a view, and no other")
    require((summary.kind == "joint") == bool(summary.members), "a joint summary has members, and no other")
    require(len(summary.cuts) in (0, len(summary.labels)), "as many cuts as labels")
    require(all(list(one) == sorted(set(one)) for one in summary.cuts if one is not None), "cuts must ascend")
    require(all(list(some) == sorted(set(some)) for some in (summary.labels, summary.numbers)), "members out of order")
    return summary


def view_from(entry: Mapping[str, Any] | None) -> View | None:
    """The view of a summary: which tokens of a text are counted."""
    if entry is None:
        return None
    analyzer = entry["tokenizer"]
    given = {
        **entry,
        "stop_words": tuple(map(text_from, entry["stop_words"])),
        "entities": tuple(map(text_from, entry.get("entities", ()))),
        "tokenizer": None if analyzer is None else Analyzer.from_options(analyzer["options"]),
    }
    view = View(**given)
    require(all(kind in ENTITIES for kind in view.entities), f"unknown entities of a text {view.entities!r:.60}")
    require(view.unit in ("words", "characters"), f"unknown unit of a text {view.unit!r:.60}")
    require(view.tally in ("count", "presence", "log"), f"unknown tally of a text {view.tally!r:.60}")
    whole_from(view.shortest, 1, whole_from(view.longest, 1, 8))
    flag_from(view.lowercase)
    flag_from(view.unit_length)
    for limit, least in ((view.buckets, 2), (view.most_tokens, 1)):
        if limit is not None:
            whole_from(limit, least, MOST)
    return view


def table_from(entry: Mapping[str, Any], summary: Summary, n_classes: int) -> Statistic:
    """The inverse of `table_to_dict`."""
    columns = tuple(text_from(name) for name in entry["columns"])
    return STATISTICS[summary.kind].from_dict(entry, summary, columns, n_classes)
