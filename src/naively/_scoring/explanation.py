"""Why a row got its class: the evidence of the prior and of every column, in bits, adding up to the log-odds.

The log-odds of a class against all others are ``s_c - log sum_k exp(s_k)`` over the other classes k, where a class's
score ``s`` is its log-prior plus the evidence of all terms. With two classes that is a plain sum: the prior's log-odds
plus each term's log-likelihood ratio. With more, the others are one opponent whose make-up changes as evidence comes
in. Here each term's evidence for the class is set against one mean of its evidence for the others,

    ``bits_i = (e_ic - sum_k w_k e_ik) / log 2``,    ``w_k proportional to L(p_k, q_k)``,

where p and q are the shares of the other classes among themselves before any evidence and after all of it, and
``L(p, q) = (p - q) / (log p - log q)`` is the logarithmic mean. These are the weights of the index number of
Sato and Vartia (1976), for which the sum is exact: no path to integrate, no order of the columns, one set of weights
per row. Columns with equal evidence get equal bits, and one that tells no class from another gets none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from naively._table.frames import tidy_frame
from naively._table.results import Columns, Result, aligned, more
from naively._table.table import Table
from naively.errors import ParameterError
from naively.typing import AnyArray, FloatArray, IntArray

FIELDS = ("row", "column", "value", "class", "bits")
"""The columns of an explanation."""

PRIOR = "prior"
"""What the first term of every row is called."""

OTHER_TOKENS = "(the rest of the text)"
"""What stands for the tokens that are not named, and for what is said by there being a text at all."""

PAIRED = " & "
"""What stands between the columns of a term that reads two."""


class Explanation(Result, dict[str, list[Any]]):
    """An explanation where no data frame library is at hand: a dict of columns that prints as text."""

    def __repr__(self) -> str:
        rows = list(dict.fromkeys(self["row"]))
        shown = "\n\n".join(as_text(self, row) for row in rows[:5])
        return "\n\n".join(part for part in (shown, more(len(rows) - 5, "rows")) if part)

    def _columns(self) -> Columns:
        kinds = {"row": "i", "bits": "f"}
        return {name: (kinds.get(name, "U"), cells) for name, cells in self.items()}


# -- attribute ------------------------------------------------------------------------------------------------------


def attribute(log_prior: FloatArray, evidence: FloatArray, chosen: IntArray) -> FloatArray:
    """The bits of the prior and of each term for a class against the rest: they sum to its log-odds.

    Parameters
    ----------
    log_prior : ndarray of shape (classes,) or (rows, classes)
        Minus infinity for what is excluded.
    evidence : ndarray of shape (rows, terms, classes)
        Minus infinity where a cell is impossible in a class.
    chosen : ndarray of shape (rows,)
        The position of the class that is spoken for.

    Returns
    -------
    ndarray of shape (rows, 1 + terms)
        The prior first. Infinite where a single term decides: minus infinity where it rules the class out, infinity
        where nothing else is left. A term that rules out some of the others has what that is worth. In a row that no
        class could have produced, where the answer is the prior, the terms have 0.

    Examples
    --------
    Two classes: the prior's log-odds and the log-likelihood ratio.

    >>> evidence = np.log([[[0.5, 0.125]]])
    >>> attribute(np.log([0.2, 0.8]), evidence, np.array([0])).round(12).tolist()
    [[-2.0, 2.0]]
    """
    rows = np.arange(len(evidence))
    prior = np.broadcast_to(log_prior, (len(evidence), evidence.shape[2]))
    total = prior + evidence.sum(axis=1)
    answered = np.isfinite(total).any(axis=1)
    evidence = np.where(answered[:, None, None], evidence, 0.0)
    total = np.where(answered[:, None], total, prior)
    before, after = _shares_of_the_rest(prior, chosen), _shares_of_the_rest(total, chosen)
    weights, scale = _weights_of_the_rest(before, after)

    known = np.where(np.isfinite(evidence), evidence, 0.0)
    result = np.empty((len(evidence), 1 + evidence.shape[1]))
    result[:, 0] = log_odds(prior, chosen)
    result[:, 1:] = np.einsum("rtk,rk->rt", known[rows, :, chosen][:, :, None] - known, weights)
    if len(known) and np.isneginf(evidence).any():
        _add_the_impossible(result[:, 1:], evidence, chosen, np.exp(before), scale, np.isneginf(after))
    return result / math.log(2)


def opponents(log_prior: FloatArray, evidence: FloatArray, chosen: IntArray) -> FloatArray:
    """The weights (rows, classes) by which the other classes are one opponent: see above."""
    prior = np.broadcast_to(log_prior, (len(evidence), evidence.shape[2]))
    total = prior + evidence.sum(axis=1)
    return _weights_of_the_rest(_shares_of_the_rest(prior, chosen), _shares_of_the_rest(total, chosen))[0]


def _weights_of_the_rest(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The weight of each other class, and the sum of the means it is a share of (0: nothing is left of the others)."""
    mean = logarithmic_mean(before, after)
    scale = mean.sum(axis=1)
    decided = (scale == 0)[:, None]
    return np.where(decided, np.exp(before), mean / np.where(scale > 0, scale, 1.0)[:, None]), scale


def log_odds(scores: FloatArray, chosen: IntArray) -> FloatArray:
    """The log-odds (rows,), in nats, of a class against the rest, from scores (rows, classes).

    Examples
    --------
    >>> log_odds(np.log([[0.5, 0.25, 0.25]]), np.array([0])).tolist()
    [0.0]
    """
    own, others = scores[np.arange(len(scores)), chosen], _score_of_the_rest(scores, chosen)
    alone = np.where(np.isfinite(own), np.inf, 0.0)  # nothing else is possible; nothing at all
    return np.where(np.isfinite(others), own - np.where(np.isfinite(others), others, 0.0), alone)


def _score_of_the_rest(scores: FloatArray, chosen: IntArray) -> FloatArray:
    return np.asarray(np.logaddexp.reduce(_without(scores, chosen), axis=1, initial=-np.inf))


def _shares_of_the_rest(scores: FloatArray, chosen: IntArray) -> FloatArray:
    """The logarithm of each other class's share among the others; minus infinity for all if none is possible."""
    total = _score_of_the_rest(scores, chosen)[:, None]
    return _without(scores, chosen) - np.where(np.isfinite(total), total, 0.0)


def _without(scores: FloatArray, chosen: IntArray) -> FloatArray:
    others = scores.copy()
    others[np.arange(len(scores)), chosen] = -np.inf
    return others


def logarithmic_mean(log_a: FloatArray, log_b: FloatArray) -> FloatArray:
    """``(a - b) / (log a - log b)``, and a where they are equal, from the logarithms; 0 where either is 0.

    Examples
    --------
    >>> logarithmic_mean(np.log([1.0, 2.0]), np.array([0.0, -np.inf])).tolist()
    [1.0, 0.0]
    """
    possible = np.isfinite(log_a) & np.isfinite(log_b)
    high = np.where(possible, np.maximum(log_a, log_b), 0.0)
    gap = high - np.where(possible, np.minimum(log_a, log_b), 0.0)
    ratio = np.where(gap > 0, -np.expm1(-gap) / np.where(gap > 0, gap, 1.0), 1.0)
    return np.where(possible, np.exp(high) * ratio, 0.0)


def _add_the_impossible(
    bits: FloatArray, evidence: FloatArray, chosen: IntArray, before: FloatArray, scale: FloatArray, gone: AnyArray
) -> None:
    """Give terms what it is worth to rule classes out: the limit of evidence that falls without bound.

    A class with the share p before any evidence is worth p over the sum of the means, shared by the terms that rule it
    out; if that leaves no other class, infinity.
    """
    rows = np.arange(len(evidence))
    ruled_out = np.isneginf(evidence) & gone[:, None, :]
    own = np.isneginf(evidence[rows, :, chosen])
    ruled_out[rows, :, chosen] = False
    n_terms = ruled_out.sum(axis=1)
    worth = before / np.maximum(n_terms, 1) / np.where(scale > 0, scale, 1.0)[:, None]
    bits += np.einsum("rtk,rk->rt", ruled_out, worth)
    last = (ruled_out & (before > 0)[:, None, :]).any(axis=2) & (scale == 0)[:, None]
    bits[last] = np.inf
    bits[own] = -np.inf


# -- name -----------------------------------------------------------------------------------------------------------


def explanation(
    X: Any,
    table: Table,
    positions: IntArray | None,
    columns: Sequence[str],
    terms: Sequence[str],
    classes: AnyArray,
    chosen: IntArray,
    bits: FloatArray,
    named_tokens: Mapping[tuple[int, str], list[tuple[str, float]]] | None = None,
    named_parts: Mapping[tuple[int, str], list[tuple[str, float]]] | None = None,
) -> Any:
    """The bits, named: one row per table row and term; a text's also by token, a date's by part.

    Parameters
    ----------
    X : any
        What the table was read from; the answer is a frame of the same library.
    table : Table
    positions : ndarray or None
        Where the model's columns stand in it.
    columns, terms : sequences of str
        The names of the model's columns, and of the terms of its evidence.
    classes : ndarray
    chosen : ndarray of shape (rows,)
    bits : ndarray of shape (rows, 1 + terms)
    named_tokens : mapping, optional
        By row and column, the tokens of a text and their bits, in place of the text.
    named_parts : mapping, optional
        By row and column, all parts of a date and their bits, in place of the date.
    """
    n_rows, n_terms = bits.shape
    cells = {
        name: _texts(table, place if positions is None else int(positions[place])) for place, name in enumerate(columns)
    }
    values = [[None] * n_rows, *(_values_of(name, cells, n_rows) for name in terms)]
    data: dict[str, list[Any]] = {
        "row": np.repeat(np.arange(n_rows), n_terms).tolist(),
        "column": [PRIOR, *terms] * n_rows,
        "value": [values[term][row] for row in range(n_rows) for term in range(n_terms)],
        "class": np.repeat(classes[chosen], n_terms).tolist(),
        "bits": bits.ravel().tolist(),
    }
    data = _in_lines(data, named_tokens, OTHER_TOKENS) if named_tokens else data
    data = _in_lines(data, named_parts) if named_parts else data
    return as_frame({**data, "value": [_encodable(value) for value in data["value"]]}, classes, X)


def _in_lines(
    data: dict[str, list[Any]], named: Mapping[tuple[int, str], list[tuple[str, float]]], others: str | None = None
) -> dict[str, list[Any]]:
    """An explanation with a line per token or part in place of that of their cell, and one for others, if there are."""
    lines = []
    for row, column, value, label, bits in zip(*(data[field] for field in FIELDS), strict=True):
        tokens = named.get((row, column))
        if tokens is None:
            lines.append((row, column, value, label, bits))
            continue
        lines.extend((row, column, token, label, number) for token, number in tokens)
        if others is not None:
            rest = bits - math.fsum(number for _, number in tokens)
            lines.append((row, column, others, label, rest))
    return dict(zip(FIELDS, map(list, zip(*lines, strict=True)), strict=True))


def _encodable(value: str | None) -> str | None:
    """A text as frames can hold it: a lone surrogate, which has no UTF-8, is a question mark."""
    return None if value is None else value.encode("utf-8", "replace").decode("utf-8")


def _values_of(term: str, cells: Mapping[str, list[str | None]], n_rows: int) -> list[Any]:
    """The values that a term read: of a column, of a pair of them, or none."""
    if term in cells:
        return cells[term]
    parts = term.split(PAIRED)
    if len(parts) < 2 or any(part not in cells for part in parts):
        return [None] * n_rows
    together = zip(*(cells[part] for part in parts), strict=True)
    return [PAIRED.join("missing" if value is None else value for value in values) for values in together]


def _texts(table: Table, position: int) -> list[str | None]:
    """The cells of a column as text, None where missing."""
    if position < 0 or table.kind(position) == "empty":
        return [None] * table.n_rows
    if table.kind(position) == "number":
        numbers = table.column(position)
        digits = np.finfo(numbers.dtype).precision if numbers.dtype.kind == "f" else 0
        if not digits:
            return [str(number) for number in numbers.tolist()]
        return [None if number != number else f"{number:.{digits}g}" for number in numbers.tolist()]
    codes, labels = table.labels(position)
    truth = table.kind(position) == "truth"
    texts = [*(str(bool(label) if truth else label) for label in labels), None]
    return [texts[code] for code in codes.tolist()]


def as_frame(data: dict[str, list[Any]], classes: AnyArray, X: Any) -> Any:
    """An explanation as a frame of X's library, or pandas', or as a plain dict of lists."""
    kinds: dict[str, Any] = {"row": "i", "column": "U", "value": "U", "class": classes.dtype.kind, "bits": "f"}
    return tidy_frame(data, kinds, X, Explanation)


# -- show -----------------------------------------------------------------------------------------------------------


def as_text(frame: Any, row: int | None = None, digits: int = 2) -> str:
    """One row's explanation as text, the strongest evidence first.

    Parameters
    ----------
    frame : data frame or dict
        What `NaiveBayes.explain` returned.
    row : int, optional
        Which of the rows; by default the first.
    digits : int, default=2
        Decimals of the bits.

    Returns
    -------
    str

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> rows = [{"legs": 4, "coat": "fur"}, {"legs": 4, "coat": "fur"}, {"legs": 2, "coat": "down"}]
    >>> model = NaiveBayes("textbook", families="categorical").fit(rows, ["cat", "cat", "owl"])
    >>> print(as_text(model.explain([{"legs": 2, "coat": "fur"}])))
    row 0: cat against the rest, probability 0.628
    -1.42  legs      2
    +1.17  coat      fur
    +1.00  prior
    +0.75  log-odds
    """
    columns = columns_of(frame)
    absent = [field for field in FIELDS if field not in columns]
    if absent:
        raise ParameterError(f"as_text(frame) needs what explain() returned, but there is no column {absent[0]!r}.")
    wanted = columns["row"][0] if row is None and len(columns["row"]) else row
    terms = [term for term in zip(*(columns[field] for field in FIELDS), strict=True) if term[0] == wanted]
    if not terms:
        raise ParameterError(f"as_text(row) must be one of the explained rows, got {row!r}.")
    total = _total([bits for *_, bits in terms])
    lines = [(name, _shown(value), bits) for _, name, value, _, bits in terms]
    lines.sort(key=lambda line: -abs(line[2]))
    lines.append(("log-odds", "", total))
    numbers = [f"{round(bits, digits) + 0.0:+.{digits}f}" for _, _, bits in lines]
    shown = aligned([(number, name, value) for number, (name, value, _) in zip(numbers, lines, strict=True)], right=[0])
    probability = 1.0 / (1.0 + 2.0**-total) if total > -1000 else 0.0
    return "\n".join([f"row {wanted}: {terms[0][3]} against the rest, probability {probability:.3f}", shown])


def _total(bits: Sequence[float]) -> float:
    """The sum; a class that one term rules out is ruled out, whatever else is."""
    return -math.inf if -math.inf in bits else math.fsum(bits)


def _shown(value: Any) -> str:
    return "" if value is None or value != value else str(value)


def columns_of(frame: Any) -> Mapping[str, Sequence[Any]]:
    """The columns of what `NaiveBayes.explain` returned, by name."""
    if isinstance(frame, Mapping):
        return frame
    import narwhals as nw

    try:
        read = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise ParameterError(f"as_text(frame) needs what explain() returned, got {type(frame).__name__}.") from error
    return {name: read[name].to_list() for name in read.columns}
