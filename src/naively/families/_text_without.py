"""Leave-one-out of texts: what their tokens say once their own text is taken away.

Only the tokens of the text itself change, and the totals. A token that no other text has is not known without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from naively._text.tokenise import View
from naively.statistics._tokens import Tokens, TokenTable, masses
from naively.typing import FloatArray, IntArray

ALMOST_NOTHING = 1e-9
"""What is left of a count that should be zero may be so much."""


@dataclass(frozen=True)
class Left:
    """What is left of the statistics, for each token of each text, without that text.

    Parameters
    ----------
    row : ndarray (entries,)
        The text of each entry.
    tally : ndarray (entries,)
    mass, documents : ndarray (entries, classes)
        Of the entry's token.
    known : ndarray of bool (entries,)
        Whether enough other texts have the token.
    total : ndarray (rows, classes)
        The mass of all tokens that are known without the text.
    n_tokens : ndarray (rows,)
        How many those are.
    """

    row: IntArray
    tally: FloatArray
    mass: FloatArray
    documents: FloatArray
    known: FloatArray
    total: FloatArray
    n_tokens: FloatArray


def left_out_views(
    statistics: Sequence[Tokens], views: Sequence[View], event: str, tau: float, min_count: float
) -> Callable[[Sequence[Sequence[str | None]], IntArray, FloatArray], FloatArray]:
    """A function from a block of texts, their classes and weights to their evidence (rows, columns, classes)."""

    def evidence(block: Sequence[Sequence[str | None]], codes: IntArray, weights: FloatArray) -> FloatArray:
        result = np.zeros((len(codes), len(block), statistics[0].n_classes))
        for tokens, view in zip(statistics, views, strict=True):
            for place, (texts, table) in enumerate(zip(block, tokens.tables, strict=True)):
                left = without_each(table, texts, view, codes, weights, min_count)
                if event == "bernoulli":
                    result[:, place] += _presence(table, left, codes, weights, tau, min_count)
                else:
                    result[:, place] += _draws(left, tau, event == "complement")
                result[[text is None for text in texts], place] = 0.0
        return result

    return evidence


def without_each(
    table: TokenTable,
    texts: Sequence[str | None],
    view: View,
    codes: IntArray,
    weights: FloatArray,
    min_count: float = 1,
) -> Left:
    """The statistics without each text in turn, as far as the text's own tokens go."""
    rows = table.vocabulary.index.tally(texts, view)
    row, place, tally = rows.rows, rows.places, rows.tallies
    entries, own, weight = np.arange(len(row)), codes[row], weights[row]
    before = table.at(table.mass.high, place)
    mass, documents = before.copy(), table.at(table.documents.high, place)
    mass[entries, own] = _left(mass[entries, own], weight * tally)
    documents[entries, own] = _left(documents[entries, own], weight)
    least = max(min_count, ALMOST_NOTHING)
    was_known, known = table.document_frequency[place] >= least, documents.sum(axis=1) >= least
    frequent = table.document_frequency >= least
    total = masses(table.codes, table.mass.high * frequent[table.tokens], table.n_classes)
    change = np.where(known[:, None], mass, 0.0) - np.where(was_known[:, None], before, 0.0)
    totals = np.repeat(total[None, :], len(texts), axis=0)
    np.add.at(totals, row, change)
    lost = np.bincount(row, weights=was_known & ~known, minlength=len(texts))
    return Left(row, tally, mass, documents, known, totals, frequent.sum() - lost)


def _left(count: FloatArray, taken: FloatArray) -> FloatArray:
    left = count - taken
    return np.where(left <= ALMOST_NOTHING * count, 0.0, left)


def _draws(left: Left, tau: float, complement: bool) -> FloatArray:
    """Multinomial draws, of the class or of all others: (rows, classes)."""
    mass, total = left.mass, left.total
    if complement:
        mass = mass.sum(axis=1, keepdims=True) - mass
        total = total.sum(axis=1, keepdims=True) - total
    share = mass + tau
    whole = (total + tau * left.n_tokens[:, None])[left.row]
    everything = mass.sum(axis=1, keepdims=True) / np.maximum(total.sum(axis=1)[left.row], 1e-300)[:, None]
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(whole > 0, share / np.where(whole > 0, whole, 1.0), everything))
    by_token = left.tally[:, None] * (-logs if complement else logs)
    return _summed(np.where(left.known[:, None], by_token, 0.0), left.row, len(left.total))


def _presence(
    table: TokenTable, left: Left, codes: IntArray, weights: FloatArray, tau: float, min_count: float
) -> FloatArray:
    """Every known token is there or not: (rows, classes)."""
    known = table.frequent(max(min_count, ALMOST_NOTHING))
    n_texts = np.repeat(table.observed.high[None, :], len(codes), axis=0)
    rows = np.arange(len(codes))
    n_texts[rows, codes] = _left(n_texts[rows, codes], weights)
    documents = known.dense(known.documents.high)
    absent = _log_absent(documents, table.observed.high, tau).sum(axis=0)
    result = np.repeat(absent[None, :], len(codes), axis=0)
    for code, weight in {(int(code), float(weight)) for code, weight in zip(codes, weights, strict=True)}:
        alike = (codes == code) & (weights == weight)
        fewer = _left(table.observed.high[code : code + 1], np.array([weight]))
        result[alike, code] = _log_absent(documents[:, code : code + 1], fewer, tau).sum()
    entries, own = np.arange(len(left.row)), codes[left.row]
    before = left.documents.copy()
    before[entries, own] += weights[left.row]
    was_known = before.sum(axis=1) >= max(min_count, ALMOST_NOTHING)
    n_of = n_texts[left.row]
    taken = np.where(was_known[:, None], _log_absent(before, n_of, tau), 0.0)
    with np.errstate(divide="ignore"):
        present = np.log(left.documents + tau) - np.log(n_of + 2 * tau)
    return result + _summed(np.where(left.known[:, None], present, 0.0) - taken, left.row, len(codes))


def _log_absent(documents: FloatArray, n_texts: FloatArray, tau: float) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(n_texts - documents + tau, 1e-300)) - np.log(n_texts + 2 * tau))


def _summed(by_token: FloatArray, row: IntArray, n_rows: int) -> FloatArray:
    """The entries' evidence, summed over each text."""
    return np.stack([np.bincount(row, weights=column, minlength=n_rows) for column in by_token.T], axis=1)
