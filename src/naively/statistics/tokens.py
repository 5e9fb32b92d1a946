"""How often each token of a text occurs in each class: the statistics of text columns.

The vocabulary is open: a token is known by a 64-bit hash of its characters, and whatever comes is added. Cells that are
zero are not stored, so that the size follows what was read, not the number of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from naively._read_only import read_only_property
from naively.errors import ForgetError
from naively.statistics.sums import WEIGHT_NOISE, Sum
from naively.text.tally import TokenIndex
from naively.typing import AnyArray, FloatArray, IntArray


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


@dataclass(frozen=True, eq=False)
class TokenTable:
    """What is known of one text column.

    Parameters
    ----------
    vocabulary : Vocabulary
    n_classes : int
    cells : ndarray of int64, sorted
        ``token * n_classes + class`` of every cell that is stored.
    mass, documents : Sum of shape (cells,)
        The occurrences of the token in the texts of the class, transformed and weighed, and the texts that have it.
    observed : Sum of shape (classes,)
        The texts of each class that are known, empty ones included.
    dropped : Sum of shape (classes,)
        The mass of tokens that were let go to keep the vocabulary small.
    """

    vocabulary: Vocabulary
    n_classes: int
    cells: IntArray
    mass: Sum
    documents: Sum
    observed: Sum
    dropped: Sum

    @classmethod
    def empty(cls, n_classes: int) -> TokenTable:
        """No text at all."""
        none, classes = Sum.zeros(0), Sum.zeros(n_classes)
        return cls(Vocabulary.empty(), n_classes, np.zeros(0, dtype=np.int64), none, none, classes, classes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenTable):
            return NotImplemented
        return (
            self.vocabulary == other.vocabulary
            and self.n_classes == other.n_classes
            and bool(np.array_equal(self.cells, other.cells))
            and self.mass == other.mass
            and self.documents == other.documents
            and self.observed == other.observed
            and self.dropped == other.dropped
        )

    __hash__ = None  # type: ignore[assignment]

    @read_only_property
    def tokens(self) -> IntArray:
        """The token of each cell."""
        return np.asarray(self.cells // max(self.n_classes, 1))

    @read_only_property
    def codes(self) -> IntArray:
        """The class of each cell."""
        return np.asarray(self.cells % max(self.n_classes, 1))

    # -- adding up ------------------------------------------------------------------------------------------------

    def __add__(self, other: TokenTable) -> TokenTable:
        vocabulary = self.vocabulary.merged(other.vocabulary)
        mine, theirs = self._cells_among(vocabulary), other._cells_among(vocabulary)
        cells = _merged(mine, theirs)
        at, there = np.searchsorted(cells, mine), np.searchsorted(cells, theirs)
        shape = (len(cells),)
        return TokenTable(
            vocabulary,
            self.n_classes,
            cells,
            self.mass.spread(shape, at) + other.mass.spread(shape, there),
            self.documents.spread(shape, at) + other.documents.spread(shape, there),
            self.observed + other.observed,
            self.dropped + other.dropped,
        )

    def _cells_among(self, vocabulary: Vocabulary) -> IntArray:
        """The cells under a wider vocabulary."""
        if vocabulary is self.vocabulary:
            return self.cells
        places = np.searchsorted(vocabulary.hashes, self.vocabulary.hashes)
        return np.asarray(places[self.tokens] * self.n_classes + self.codes)

    def less(self, other: TokenTable, peak: FloatArray, column: str) -> TokenTable:
        """Forget texts that were learnt; `peak` (classes,) is the largest weight that each class has had."""
        wider = self + other
        before, gone = self._spread_over(wider), other._spread_over(wider)
        observed = self.observed.less(other.observed, peak)
        if (observed.high < 0).any():
            raise ForgetError(
                f"Column {column!r}: more texts would be forgotten than were learnt. Forget only rows that this model "
                "has learnt, with the same weights and classes."
            )
        documents = before.documents.less(gone.documents, peak[wider.codes])
        mass = before.mass - gone.mass
        rounding = WEIGHT_NOISE * (before.mass.high + peak[wider.codes])
        bad = (documents.high < 0) | (mass.high < -rounding) | ((documents.high == 0) & (mass.high > rounding))
        if bad.any() and not self.dropped.high.any():
            text = wider.vocabulary.texts(wider.tokens[np.flatnonzero(bad)[:1]])[0]
            raise ForgetError(
                f"Column {column!r}: the token {text!r} would be forgotten more often than it was learnt. Forget only "
                "rows that this model has learnt, with the same weights and classes."
            )
        mass = mass.zeroed(mass.high < 0)
        left = replace(wider, mass=mass, documents=documents, observed=observed, dropped=self.dropped)
        return left._chosen(documents.high > 0)

    def _spread_over(self, wider: TokenTable) -> TokenTable:
        """The same with zeros for the cells that only the wider one has."""
        at = np.searchsorted(wider.cells, self._cells_among(wider.vocabulary))
        shape = wider.cells.shape
        return replace(
            wider, mass=self.mass.spread(shape, at), documents=self.documents.spread(shape, at), observed=self.observed
        )

    def scaled(self, factor: float) -> TokenTable:
        """Every row's weight times a factor."""
        return replace(
            self,
            mass=self.mass * factor,
            documents=self.documents * factor,
            observed=self.observed * factor,
            dropped=self.dropped * factor,
        )

    def for_classes(self, positions: IntArray, n_classes: int) -> TokenTable:
        """The same under another numbering of the classes; negative positions are dropped."""
        stays = positions >= 0
        codes = positions[self.codes] if len(self.cells) else self.codes
        cells = self.tokens * n_classes + codes
        order = np.flatnonzero(codes >= 0)
        if len(order) and not (np.diff(cells[order]) > 0).all():
            order = order[np.argsort(cells[order], kind="stable")]
        shape = (n_classes,)
        return TokenTable(
            self.vocabulary,
            n_classes,
            cells[order],
            self.mass[order],
            self.documents[order],
            self.observed[stays].spread(shape, positions[stays]),
            self.dropped[stays].spread(shape, positions[stays]),
        )._without_unused()

    # -- fewer tokens ---------------------------------------------------------------------------------------------

    def _chosen(self, kept: AnyArray) -> TokenTable:
        """Only some of the cells."""
        if kept.all():
            return self._without_unused()
        return replace(
            self, cells=self.cells[kept], mass=self.mass[kept], documents=self.documents[kept]
        )._without_unused()

    def _without_unused(self) -> TokenTable:
        """The same without the tokens that no cell has."""
        used = np.zeros(len(self.vocabulary), dtype=bool)
        used[self.tokens] = True
        if used.all():
            return self
        place = np.cumsum(used) - 1
        cells = place[self.tokens] * self.n_classes + self.codes
        return replace(self, vocabulary=self.vocabulary.chosen(used), cells=cells)

    def pruned(self, most: int) -> TokenTable:
        """The same with at most so many tokens: those with the largest mass; the rest adds to `dropped`.

        Ties go to the smaller hash, so that the result depends on the statistics alone.
        """
        if len(self.vocabulary) <= most:
            return self
        total = masses(self.tokens, self.mass.high, len(self.vocabulary))
        kept = np.zeros(len(total), dtype=bool)
        kept[np.lexsort((self.vocabulary.hashes, -total))[:most]] = True
        goes = ~kept[self.tokens]
        lost = masses(self.codes[goes], self.mass.high[goes], self.n_classes)
        return replace(self, dropped=self.dropped + Sum(lost))._chosen(~goes)

    # -- reading --------------------------------------------------------------------------------------------------

    @read_only_property
    def document_frequency(self) -> FloatArray:
        """How many texts have each token."""
        return masses(self.tokens, self.documents.high, len(self.vocabulary))

    def frequent(self, least: float) -> TokenTable:
        """The tokens that at least so many texts have."""
        rare = self.document_frequency < least
        return self if not rare.any() else self._chosen(~rare[self.tokens])

    def at(self, values: FloatArray, tokens: IntArray) -> FloatArray:
        """The cell values of some tokens, (tokens, classes)."""
        if not len(self.cells):
            return np.zeros((len(tokens), self.n_classes))
        wanted = tokens[:, None] * self.n_classes + np.arange(self.n_classes)
        place = np.minimum(np.searchsorted(self.cells, wanted), len(self.cells) - 1)
        return np.where(self.cells[place] == wanted, values[place], 0.0)

    def dense(self, values: FloatArray) -> FloatArray:
        """Cell values as an array (tokens, classes), zeros where no cell is stored."""
        result = np.zeros(len(self.vocabulary) * self.n_classes)
        result[self.cells] = values
        return result.reshape(len(self.vocabulary), self.n_classes)


@dataclass(frozen=True)
class Tokens:
    """The token tables of some text columns.

    Parameters
    ----------
    columns : tuple of str
    n_classes : int
    tables : tuple of TokenTable
        One per column.
    """

    columns: tuple[str, ...]
    n_classes: int
    tables: tuple[TokenTable, ...]

    @classmethod
    def empty(cls, columns: tuple[str, ...], n_classes: int) -> Tokens:
        """No rows at all."""
        return cls(columns, n_classes, tuple(TokenTable.empty(n_classes) for _ in columns))

    def __add__(self, other: Tokens) -> Tokens:
        """Merge two of the same columns and classes."""
        tables = tuple(mine + theirs for mine, theirs in zip(self.tables, other.tables, strict=True))
        return Tokens(self.columns, self.n_classes, tables)

    def less(self, other: Tokens, peak: FloatArray) -> Tokens:
        """Forget; the caller has aligned the two. `peak` (classes,) is the largest weight that each class has had."""
        pairs = zip(self.columns, self.tables, other.tables, strict=True)
        tables = tuple(mine.less(theirs, peak, name) for name, mine, theirs in pairs)
        return Tokens(self.columns, self.n_classes, tables)

    def scaled(self, factor: float) -> Tokens:
        """Every row's weight times a factor."""
        return replace(self, tables=tuple(table.scaled(factor) for table in self.tables))

    def for_classes(self, positions: IntArray, n_classes: int) -> Tokens:
        """The same under another numbering of the classes; negative positions are dropped."""
        tables = tuple(table.for_classes(positions, n_classes) for table in self.tables)
        return Tokens(self.columns, n_classes, tables)

    def for_columns(self, columns: Sequence[str]) -> Tokens:
        """The tables of these columns in this order, empty for one that is not here."""
        columns = tuple(columns)
        if columns == self.columns:
            return self
        known = dict(zip(self.columns, self.tables, strict=True))
        empty = TokenTable.empty(self.n_classes)
        return Tokens(columns, self.n_classes, tuple(known.get(name, empty) for name in columns))

    def aligned_with(self, other: Tokens) -> tuple[Tokens, Tokens]:
        """Both under the same columns."""
        columns = tuple(dict.fromkeys(self.columns + other.columns))
        return self.for_columns(columns), other.for_columns(columns)

    def pruned(self, most: int) -> Tokens:
        """The same with at most so many tokens in each column."""
        return replace(self, tables=tuple(table.pruned(most) for table in self.tables))

    def tidy(self) -> Tokens:
        """Nothing is left to tidy: forgetting drops what no row has any more."""
        return self


def masses(places: IntArray, weights: FloatArray, n_places: int) -> FloatArray:
    """The weight at each place."""
    return np.bincount(places, weights=weights, minlength=n_places).astype(np.float64, copy=False)


def _merged(first: IntArray, second: IntArray) -> IntArray:
    """The sorted union of two sorted arrays, fast if one is small."""
    if len(second) > len(first):
        first, second = second, first
    if not len(second):
        return first
    place = np.minimum(np.searchsorted(first, second), len(first) - 1)
    new = second[first[place] != second]
    return np.insert(first, np.searchsorted(first, new), new) if len(new) else first
