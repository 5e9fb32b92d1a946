"""Texts as rows of tallies: tokenised and counted, by the compiled kernels or in plain Python, with equal results.

A tally is a whole number of units of 2**-30, so that sums over unweighted rows are exact: the same for any cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from naively._kernels import repays_compiler, with_reference
from naively._text.entities import marked
from naively._text.tokenise import Stream, View, code_points, read_texts, token_hash
from naively.typing import AnyArray, FloatArray, IntArray

UNIT = 2.0**-30
"""What tallies are multiples of."""

SQUARE_UNIT = 2.0**-36
"""What the squares of logarithms are multiples of, so that a norm depends neither on the order of tokens nor on other
texts."""

ASCII = 128

Spell = Callable[[], tuple[AnyArray, IntArray]]
"""What the distinct tokens look like: UTF-8, one token after the other, and their lengths in bytes."""


@dataclass(frozen=True)
class TokenRows:
    """Texts as rows of tallies.

    Parameters
    ----------
    hashes : ndarray of uint64
        The distinct tokens.
    bounds : ndarray, one longer than the texts
        Where each text's entries start.
    tokens : ndarray of int
        Of each entry, its position among `hashes`.
    tallies : ndarray of float64
    lengths : ndarray of float64
        How many tokens each text has.
    spell : callable
        What the tokens look like: one UTF-8 text after the other, and their lengths in bytes.
    """

    hashes: AnyArray
    bounds: IntArray
    tokens: IntArray
    tallies: FloatArray
    lengths: FloatArray
    spell: Spell

    @property
    def rows(self) -> IntArray:
        """The text of each entry."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))


@dataclass(frozen=True)
class KnownRows:
    """Texts as rows of tallies of known tokens.

    Parameters
    ----------
    bounds : ndarray, one longer than the texts
        Where each text's entries start.
    places : ndarray of int
        Of each entry, where its token stands.
    tallies : ndarray of float64
    lengths : ndarray of float64
        How many tokens each text has, known or not.
    """

    bounds: IntArray
    places: IntArray
    tallies: FloatArray
    lengths: FloatArray

    @property
    def rows(self) -> IntArray:
        """The text of each entry."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    def matrix(self, n_tokens: int, tallies: FloatArray | None = None) -> Any:
        """The tallies as a sparse matrix (texts, known tokens)."""
        from scipy import sparse

        shape = (len(self.bounds) - 1, n_tokens)
        return sparse.csr_array((self.tallies if tallies is None else tallies, self.places, self.bounds), shape=shape)


@with_reference
def tally_texts(texts: Sequence[str | None], view: View) -> TokenRows:
    """Tokenise and count texts; missing ones have no tokens."""
    if _repays(texts, view):
        from naively._kernels.token_tallies import tally

        compiled = _read(texts, view)
        hashes, first, bounds, tokens, counts = tally(compiled.hashes, compiled.bounds)
        compiled.spelt(first[:0])  # it is asked for later, when there is no way back to the reference
        spell: Spell = partial(compiled.spelt, first)
    else:
        stream = read_texts(texts, view)
        hashes, first, bounds, tokens, counts = _counted(stream)
        spell = _encoded(stream, first)
    if view.buckets is not None:
        hashes, bounds, tokens, counts = _in_buckets(hashes, bounds, tokens, counts, view.buckets)
        spell = _nameless(len(hashes))
    lengths = np.diff(np.concatenate([[0.0], np.cumsum(counts)])[bounds])
    return TokenRows(hashes, bounds, tokens, _tallies(counts, bounds, view), lengths, spell)


def _repays(texts: Sequence[str | None], view: View) -> bool:
    """Whether the compiled kernels are worth it; a tokenizer of the user's own is Python anyway."""
    return view.tokenizer is None and repays_compiler(sum(len(text) for text in texts if text is not None))


class TokenIndex:
    """Where tokens stand among known ones.

    Parameters
    ----------
    hashes : ndarray of uint64
        Distinct and sorted.
    """

    def __init__(self, hashes: AnyArray):
        self.hashes = hashes

    @cached_property
    def _table(self) -> tuple[AnyArray, AnyArray]:
        from naively._kernels.token_tallies import indexed

        keys, ids = indexed(self.hashes)
        return keys, ids

    def places(self, hashes: AnyArray) -> IntArray:
        """The places of tokens; -1 for those that are not known."""
        if not len(self.hashes):
            return np.full(len(hashes), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[place] == hashes, place, -1)

    @with_reference
    def tally(self, texts: Sequence[str | None], view: View) -> KnownRows:
        """Tokenise and count texts, as far as their tokens are known."""
        if not view.unit_length and view.buckets is None and _repays(texts, view):
            from naively._kernels.token_tallies import tally_known

            stream = _read(texts, view)
            bounds, places, counts = tally_known(stream.hashes, stream.bounds, *self._table, len(self.hashes))
            return KnownRows(bounds, places, _tallies(counts, bounds, view), np.diff(stream.bounds).astype(np.float64))
        rows = tally_texts(texts, view)
        places = self.places(rows.hashes)[rows.tokens]
        known = places >= 0
        bounds = np.concatenate([[0], np.cumsum(known)])[rows.bounds]
        return KnownRows(bounds, places[known], rows.tallies[known], rows.lengths)


def _tallies(counts: IntArray, bounds: IntArray, view: View) -> FloatArray:
    """What the entries add, by the view's rule."""
    if view.tally == "presence":
        tallies = np.ones(len(counts))
    elif view.tally == "log":
        tallies = np.log1p(counts)
    else:
        tallies = counts.astype(np.float64)
    if view.unit_length:
        unit = SQUARE_UNIT if view.tally == "log" else 1.0
        squares = np.concatenate([[0], np.cumsum(np.rint(tallies**2 / unit).astype(np.int64))])
        norms = np.sqrt(np.diff(squares[bounds]) * unit)
        tallies = tallies / np.repeat(norms, np.diff(bounds))
    elif view.tally != "log":
        return tallies
    return np.asarray(np.rint(tallies / UNIT) * UNIT)


def tally_of_one(view: View) -> float:
    """What a token adds that occurs once, in a text of its own."""
    one = np.array([1], dtype=np.int64)
    return float(_tallies(one, np.array([0, 1]), view)[0])


def _in_buckets(
    hashes: AnyArray, bounds: IntArray, tokens: IntArray, counts: IntArray, n_buckets: int
) -> tuple[AnyArray, IntArray, IntArray, IntArray]:
    """Tokens that share a bucket become one."""
    buckets, place = np.unique(hashes % np.uint64(n_buckets), return_inverse=True)
    rows = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    entries, inverse = np.unique(rows * len(buckets) + place[tokens], return_inverse=True)
    counts = np.bincount(inverse, weights=counts, minlength=len(entries)).astype(np.int64)
    bounds = np.searchsorted(entries, np.arange(len(bounds)) * max(len(buckets), 1))
    return buckets, bounds, entries % max(len(buckets), 1), counts


def _nameless(n_tokens: int) -> Spell:
    return lambda: (np.zeros(0, dtype=np.uint8), np.zeros(n_tokens, dtype=np.int64))


# -- reference ------------------------------------------------------------------------------------------------------


def _counted(stream: Stream) -> tuple[AnyArray, IntArray, IntArray, IntArray, IntArray]:
    """Distinct tokens, where each first is, and each text's: bounds, tokens and counts.

    The tokens of a text stand in the order in which it has them, as the kernels count them: sums over them then round
    alike.
    """
    hashes, first, place = np.unique(stream.hashes, return_index=True, return_inverse=True)
    n_texts, width = len(stream.bounds) - 1, max(len(hashes), 1)
    rows = np.repeat(np.arange(n_texts), np.diff(stream.bounds))
    entries, begins, counts = np.unique(rows * width + place, return_index=True, return_counts=True)
    bounds = np.searchsorted(entries, np.arange(n_texts + 1) * width)
    order = np.argsort(begins)
    return hashes, first, bounds, entries[order] % width, counts[order]


def _encoded(stream: Stream, first: IntArray) -> Spell:
    def spell() -> tuple[AnyArray, IntArray]:
        texts = [text.encode("utf-8", "surrogatepass") for text in stream.spell(first)]
        return np.frombuffer(b"".join(texts), dtype=np.uint8), np.fromiter(map(len, texts), np.int64, len(texts))

    return spell


# -- compiled -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CompiledStream:
    """The tokens of texts as the kernels read them.

    Parameters
    ----------
    hashes, bounds : ndarray
        As in `Stream`.
    spelt : callable
        From positions in the stream to letters and lengths in bytes.
    """

    hashes: AnyArray
    bounds: IntArray
    spelt: Callable[[IntArray], tuple[AnyArray, IntArray]]


def _read(texts: Sequence[str | None], view: View) -> CompiledStream:
    from naively._kernels import tokens as kernel

    if view.entities:
        texts = [None if text is None else marked(text, view.entities) for text in texts]
    data, spans, is_ascii = _utf8(texts)
    kinds, folds = code_points(ASCII, view.lowercase) if is_ascii else code_points(lowercase=view.lowercase)
    hashes, starts, ends, pointer = kernel.scan(data, spans, kinds, folds)
    if view.stop_words:
        hashes, starts, ends, pointer = _without(view.stop_words, hashes, starts, ends, pointer)

    def spell(owner: AnyArray, lengths: AnyArray) -> tuple[AnyArray, IntArray]:
        letters, bounds = kernel.spell(data, starts, ends, owner, lengths, kinds, folds)
        return letters, bounds

    if view.unit == "characters":
        grams, owner, offsets, lengths, bounds = kernel.character_grams(
            data, starts, ends, pointer, kinds, folds, view.shortest, view.longest
        )

        def spelt(places: IntArray) -> tuple[AnyArray, IntArray]:
            letters, ends_of = spell(owner[places], np.ones(len(places), dtype=np.int8))
            return _pieces(letters, ends_of, offsets[places], lengths[places])

        return CompiledStream(grams, bounds, spelt)
    grams, owner, lengths, bounds = hashes, np.arange(len(hashes)), np.ones(len(hashes), dtype=np.int8), pointer
    if view.longest > 1:
        grams, owner, lengths, bounds = kernel.runs(hashes, pointer, view.shortest, view.longest)

    def spelt_runs(places: IntArray) -> tuple[AnyArray, IntArray]:
        letters, ends_of = spell(owner[places], lengths[places])
        return letters, np.diff(ends_of)

    return CompiledStream(grams, bounds, spelt_runs)


def _utf8(texts: Sequence[str | None]) -> tuple[AnyArray, IntArray, bool]:
    """All texts as bytes, where each starts and ends, and whether all is ASCII."""
    joined = "".join("" if text is None else text for text in texts)
    if joined.isascii():
        data = joined.encode("ascii")
        lengths = np.fromiter((0 if text is None else len(text) for text in texts), np.int64, len(texts))
    else:
        encoded = [b"" if text is None else text.encode("utf-8", "surrogatepass") for text in texts]
        data = b"".join(encoded)
        lengths = np.fromiter(map(len, encoded), np.int64, len(texts))
    ends = np.cumsum(lengths)
    return np.frombuffer(data, dtype=np.uint8), np.column_stack([ends - lengths, ends]), joined.isascii()


def _without(
    stop_words: Sequence[str], hashes: AnyArray, starts: IntArray, ends: IntArray, pointer: IntArray
) -> tuple[AnyArray, IntArray, IntArray, IntArray]:
    unwanted = np.array([token_hash(word) for word in stop_words], dtype=np.uint64)
    kept = ~np.isin(hashes, unwanted, kind="sort")  # a table over all hashes would be too large
    pointer = np.concatenate([[0], np.cumsum(kept)])[pointer]
    return hashes[kept], starts[kept], ends[kept], pointer


def _pieces(letters: AnyArray, ends: IntArray, offsets: IntArray, lengths: IntArray) -> tuple[AnyArray, IntArray]:
    """The runs of characters of tokens with a space at both ends."""
    spelled, at = letters.tobytes(), ends.tolist()
    texts = [
        f" {spelled[start:end].decode('utf-8', 'surrogatepass')} "[offset : offset + length].encode(
            "utf-8", "surrogatepass"
        )
        for start, end, offset, length in zip(at[:-1], at[1:], offsets.tolist(), lengths.tolist(), strict=True)
    ]
    return np.frombuffer(b"".join(texts), dtype=np.uint8), np.fromiter(map(len, texts), np.int64, len(texts))
