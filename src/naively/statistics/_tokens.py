"""How often each token of a text occurs in each class: the statistics of text columns.

The vocabulary is open: a token is known by a 64-bit hash of its characters, and whatever comes is added. Cells that are
zero are not stored, so that the size follows what was read, not the number of classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from naively._common.read_only import read_only_property
from naively._text.tokenise import View, token_hash
from naively.errors import ForgetError
from naively.statistics._moments import most_weight
from naively.statistics._plain import ascends, require, sum_from, sum_to_dict, text_from, whole_numbers_from
from naively.statistics._sums import WEIGHT_NOISE, Sum
from naively.statistics._vocabulary import Vocabulary as Vocabulary
from naively.statistics.base import Statistic, Summary
from naively.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from naively.statistics._divergence import Change

PARTS = ("mass", "documents", "observed", "dropped")
"""The sums of a token table."""

TOKENS = 10_000
"""Texts are compared on at most so many tokens, those that most texts have."""


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
        own, another = self._cells_among(vocabulary), other._cells_among(vocabulary)
        cells = _merged(own, another)
        at, there = np.searchsorted(cells, own), np.searchsorted(cells, another)
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
        """The table with zeros for the cells that only the wider one has."""
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
        """The table under another numbering of the classes; negative positions are dropped."""
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

    # -- in a file ------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values: hashes are whole numbers below 2**64, tokens are text."""
        parts = {name: sum_to_dict(getattr(self, name)) for name in PARTS}
        known = self.vocabulary
        return {"hashes": known.hashes.tolist(), "tokens": known.texts(), "cells": self.cells.tolist(), **parts}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any], n_classes: int, view: View) -> TokenTable:
        """The inverse of `to_dict`, with every check, for tokens of this view."""
        hashes, cells = whole_numbers_from(entry["hashes"], np.uint64), whole_numbers_from(entry["cells"], np.int64)
        tokens, n_tokens = [text_from(token) for token in entry["tokens"]], len(hashes)
        require(ascends(hashes), "the hashes of tokens must ascend")
        require(len(tokens) == n_tokens, "a text per token")
        require(view.buckets is None or (n_tokens == 0 or int(hashes[-1]) < view.buckets), "a bucket is out of range")
        if view.buckets is None and view.longest == 1:
            fits = all(token_hash(token) == int(bits) for token, bits in zip(tokens, hashes, strict=True))
            require(fits, "a token does not fit its hash")
        require(ascends(cells), "the cells of tokens must ascend")
        inside = len(cells) == 0 or (int(cells[0]) >= 0 and int(cells[-1]) < n_tokens * n_classes)
        require(inside, "a cell is out of range")
        shapes = {"mass": cells.shape, "documents": cells.shape, "observed": (n_classes,), "dropped": (n_classes,)}
        sums = [sum_from(entry[name], shapes[name], nonnegative=True) for name in PARTS]
        return cls(Vocabulary.of(hashes, tokens), n_classes, cells, *sums)

    # -- fewer tokens ---------------------------------------------------------------------------------------------

    def _chosen(self, kept: AnyArray) -> TokenTable:
        """Only some of the cells."""
        if kept.all():
            return self._without_unused()
        return replace(
            self, cells=self.cells[kept], mass=self.mass[kept], documents=self.documents[kept]
        )._without_unused()

    def _without_unused(self) -> TokenTable:
        """The table without the tokens that no cell has."""
        used = np.zeros(len(self.vocabulary), dtype=bool)
        used[self.tokens] = True
        if used.all():
            return self
        place = np.cumsum(used) - 1
        cells = place[self.tokens] * self.n_classes + self.codes
        return replace(self, vocabulary=self.vocabulary.chosen(used), cells=cells)

    def pruned(self, most: int) -> TokenTable:
        """The table with a bounded number of tokens: those with the largest mass; the rest adds to `dropped`.

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
class Tokens(Statistic):
    """The token tables of some text columns.

    Parameters
    ----------
    columns : tuple of str
    n_classes : int
    tables : tuple of TokenTable
        One per column.
    """

    kind: ClassVar[str] = "tokens"

    columns: tuple[str, ...]
    n_classes: int
    tables: tuple[TokenTable, ...]

    @classmethod
    def empty(cls, summary: Summary, columns: tuple[str, ...], n_classes: int) -> Tokens:
        return cls(columns, n_classes, tuple(TokenTable.empty(n_classes) for _ in columns))

    def __add__(self, other: Tokens) -> Tokens:
        tables = tuple(own + another for own, another in zip(self.tables, other.tables, strict=True))
        return Tokens(self.columns, self.n_classes, tables)

    def less(self, other: Tokens, peak: FloatArray) -> Tokens:
        pairs = zip(self.columns, self.tables, other.tables, strict=True)
        tables = tuple(own.less(another, peak, name) for name, own, another in pairs)
        return Tokens(self.columns, self.n_classes, tables)

    def scaled(self, factor: float) -> Tokens:
        return replace(self, tables=tuple(table.scaled(factor) for table in self.tables))

    def for_classes(self, positions: IntArray, n_classes: int) -> Tokens:
        tables = tuple(table.for_classes(positions, n_classes) for table in self.tables)
        return Tokens(self.columns, n_classes, tables)

    def for_columns(self, columns: Sequence[str]) -> Tokens:
        columns = tuple(columns)
        if columns == self.columns:
            return self
        known = dict(zip(self.columns, self.tables, strict=True))
        empty = TokenTable.empty(self.n_classes)
        return Tokens(columns, self.n_classes, tuple(known.get(name, empty) for name in columns))

    def bounded(self, summary: Summary) -> Tokens:
        """The statistic with at most as many tokens in each column as the view of the summary allows."""
        if summary.view is None or summary.view.most_tokens is None:
            return self
        most = summary.view.most_tokens
        return replace(self, tables=tuple(table.pruned(most) for table in self.tables))

    def check(self, summary: Summary, class_weight: FloatArray, peak: FloatArray) -> None:
        """Refuse more texts than rows."""
        most = most_weight(class_weight, peak)
        if self.tables:
            self._refuse_impossible(np.stack([one.observed.high > most for one in self.tables], axis=1))

    def to_dict(self) -> dict[str, Any]:
        return {"texts": [one.to_dict() for one in self.tables]}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any], summary: Summary, columns: tuple[str, ...], n_classes: int) -> Tokens:
        assert summary.view is not None
        require(len(entry["texts"]) == len(columns), "as many token tables as text columns")
        tables = tuple(TokenTable.from_dict(one, n_classes, summary.view) for one in entry["texts"])
        return cls(columns, n_classes, tables)

    def compare(self, other: Tokens, summary: Summary, rows: FloatArray) -> tuple[Change, FloatArray]:
        """How much of the mass each of the commonest tokens has, and how many texts have it."""
        from naively.statistics._divergence import side_by_side

        pairs = zip(self.tables, other.tables, strict=True)
        return side_by_side([_compared(own, another, rows) for own, another in pairs])


def _compared(before: TokenTable, after: TokenTable, rows: FloatArray) -> tuple[Change, FloatArray]:
    """How much of the mass each of the commonest tokens has; the tests are whether texts have it, one by one."""
    from naively.statistics._divergence import Change, compare_cells, with_missing

    both = before + after
    common = np.sort(np.argsort(-both.document_frequency, kind="stable")[:TOKENS])
    places = [one.vocabulary.places(both.vocabulary.hashes[common]) for one in (before, after)]
    sides = list(zip((before, after), places, strict=True))
    mass, documents = (
        np.stack([np.where(at >= 0, one.at(getattr(one, part).high, np.maximum(at, 0)).T, 0.0) for one, at in sides])
        for part in ("mass", "documents")
    )
    known = np.stack([before.observed.high, after.observed.high])
    tests = [compare_cells(np.stack([known[..., None] - documents, documents], axis=-1)).p_value]
    tests.append(compare_cells(with_missing(known[..., None], rows)).p_value[:, None])
    p_values = np.concatenate(tests, axis=1)
    change = compare_cells(mass)
    p_value = np.minimum(1.0, p_values.shape[1] * p_values.min(axis=1))
    return Change(change.bits, change.expected, p_value), rows


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
