"""The tokens of a text column: an open vocabulary, known by hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from naively._text.tally import TokenIndex
from naively.typing import AnyArray, IntArray


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Tokens, in the order of their hashes.

    Parameters
    ----------
    hashes : ndarray of uint64
        Distinct and sorted. Two tokens with the same hash would count as one: among a million tokens the chance that
        any two do is below 3e-8.
    starts, lengths : ndarray of int64
        Where the letters of each token stand; length 0 where only the hash is kept.
    letters : ndarray of uint8
        UTF-8, in no order.
    """

    hashes: AnyArray
    starts: IntArray
    lengths: IntArray
    letters: AnyArray

    @classmethod
    def empty(cls) -> Vocabulary:
        """No tokens."""
        none = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(0, dtype=np.uint64), none, none, np.zeros(0, dtype=np.uint8))

    @classmethod
    def of(cls, hashes: AnyArray, texts: Sequence[str]) -> Vocabulary:
        """From distinct hashes in any order and what the tokens look like."""
        spelled = [text.encode("utf-8", "surrogatepass") for text in texts]
        lengths = np.fromiter(map(len, spelled), np.int64, len(spelled))
        return cls.of_letters(hashes, lengths, np.frombuffer(b"".join(spelled), dtype=np.uint8))

    @classmethod
    def of_letters(cls, hashes: AnyArray, lengths: IntArray, letters: AnyArray) -> Vocabulary:
        """From distinct hashes in any order, and the letters of one token after the other."""
        order = np.argsort(hashes)
        starts = np.cumsum(lengths) - lengths
        return cls(hashes[order], starts[order], lengths[order], letters)

    def __len__(self) -> int:
        return len(self.hashes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return bool(np.array_equal(self.hashes, other.hashes)) and self.texts() == other.texts()

    __hash__ = None  # type: ignore[assignment]

    def texts(self, places: IntArray | None = None) -> list[str]:
        """What tokens look like: these, or all."""
        starts, lengths = (self.starts, self.lengths) if places is None else (self.starts[places], self.lengths[places])
        letters = self.letters.tobytes()
        spans = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
        return [letters[start:end].decode("utf-8", "surrogatepass") for start, end in spans]

    def places(self, hashes: AnyArray) -> IntArray:
        """Where tokens stand; -1 for those that are not known."""
        return self.index.places(hashes)

    @cached_property
    def index(self) -> TokenIndex:
        """The tokens, ready to be looked up."""
        return TokenIndex(self.hashes)

    def merged(self, other: Vocabulary) -> Vocabulary:
        """The tokens of both."""
        if len(other) > len(self):
            return other.merged(self)
        new = np.flatnonzero(self.places(other.hashes) < 0)
        if not len(new):
            return self
        added = other.chosen(new)
        before = np.searchsorted(self.hashes, added.hashes)
        return Vocabulary(
            np.insert(self.hashes, before, added.hashes),
            np.insert(self.starts, before, added.starts + len(self.letters)),
            np.insert(self.lengths, before, added.lengths),
            np.concatenate([self.letters, added.letters]),
        )

    def chosen(self, kept: AnyArray) -> Vocabulary:
        """Some of the tokens, by a mask or by sorted positions, and their letters alone."""
        starts, lengths = self.starts[kept], self.lengths[kept]
        firsts = np.cumsum(lengths) - lengths
        within = np.arange(int(lengths.sum())) - np.repeat(firsts, lengths)
        return Vocabulary(self.hashes[kept], firsts, lengths, self.letters[np.repeat(starts, lengths) + within])
