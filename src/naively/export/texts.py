"""Token tables in the model file.

Hashes are whole numbers below 2**64, tokens are text, cells are ``token * n_classes + class``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from naively.errors import ModelFileError
from naively.export.values import ascends, flag_from, require, text_from, whole_from, whole_numbers_from
from naively.families.text_options import MOST
from naively.statistics.sums import Sum
from naively.statistics.tokens import TokenTable, Vocabulary
from naively.text.tokenise import View, token_hash

PARTS = ("mass", "documents", "observed", "dropped")


def refuse_tokenizer(tokenizer: Any) -> None:
    """Refuse a tokenizer: it is a function, which a file cannot hold."""
    if tokenizer is not None:
        raise ModelFileError(
            "Text(tokenizer=...) is a function, which a model file cannot hold. Pickle the model, or tokenise before "
            "fitting and join the words with spaces."
        )


def view_from(entry: Mapping[str, Any] | None) -> View | None:
    """The inverse, for the view of a summary."""
    if entry is None:
        return None
    if entry["tokenizer"] is not None:
        raise ModelFileError("a tokenizer cannot come from a file")
    view = View(**{**entry, "stop_words": tuple(map(text_from, entry["stop_words"]))})
    require(view.unit in ("words", "characters"), f"unknown unit of a text {view.unit!r:.60}")
    require(view.tally in ("count", "presence", "log"), f"unknown tally of a text {view.tally!r:.60}")
    whole_from(view.shortest, 1, whole_from(view.longest, 1, 8))
    flag_from(view.lowercase)
    flag_from(view.unit_length)
    for limit, least in ((view.buckets, 2), (view.most_tokens, 1)):
        if limit is not None:
            whole_from(limit, least, MOST)
    return view


def tokens_to_dict(table: TokenTable, sum_to_dict: Callable[[Sum], dict[str, Any]]) -> dict[str, Any]:
    """The token table of a text column."""
    parts = {name: sum_to_dict(getattr(table, name)) for name in PARTS}
    vocabulary = table.vocabulary
    return {"hashes": vocabulary.hashes.tolist(), "tokens": vocabulary.texts(), "cells": table.cells.tolist(), **parts}


def tokens_from(entry: Mapping[str, Any], n_classes: int, view: View, sum_from: Callable[..., Sum]) -> TokenTable:
    """The inverse of `tokens_to_dict`, with every check."""
    hashes, cells = whole_numbers_from(entry["hashes"], np.uint64), whole_numbers_from(entry["cells"], np.int64)
    tokens, n_tokens = [text_from(token) for token in entry["tokens"]], len(hashes)
    require(ascends(hashes), "the hashes of tokens must ascend")
    require(len(tokens) == n_tokens, "a text per token")
    require(view.buckets is None or (n_tokens == 0 or int(hashes[-1]) < view.buckets), "a bucket is out of range")
    plain = view.buckets is None and view.longest == 1
    require(
        not plain or all(token_hash(token) == int(bits) for token, bits in zip(tokens, hashes, strict=True)),
        "a token does not fit its hash",
    )
    require(ascends(cells), "the cells of tokens must ascend")
    require(len(cells) == 0 or (int(cells[0]) >= 0 and int(cells[-1]) < n_tokens * n_classes), "a cell is out of range")
    shapes = {"mass": (len(cells),), "documents": (len(cells),), "observed": (n_classes,), "dropped": (n_classes,)}
    mass, documents, observed, dropped = (sum_from(entry[name], shapes[name], nonnegative=True) for name in PARTS)
    return TokenTable(Vocabulary.of(hashes, tokens), n_classes, cells, mass, documents, observed, dropped)
