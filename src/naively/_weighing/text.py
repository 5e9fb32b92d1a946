"""The evidence of a text column in the recipes that weigh evidence: expert scores, pooled on kept rows.

Each view of the column gives a *ratio* score, the log-likelihood ratio of its tokens against all classes together,
``log((1 - share) P(token | class) / P(token) + share)``: a token that a class never had counts as `share` of what is
expected. The first view also gives a *complement* score, how little its tokens belong to the other classes. Tokens of
one text depend on each other, the more the longer it is, so that all of it is multiplied by
``(length / typical length) ** -power``. The weights of the scores and the power make the kept rows most probable, each
scored without itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from naively._kernels import frozen, repays_compiler, with_reference
from naively._kernels.reference import MOST_OF_A_TOKEN
from naively._text.tally import KnownRows, tally_of_one
from naively._text.tokenise import View
from naively._weighing.text_pool import TextPool, fit_pool
from naively.families._text import TextsEstimate
from naively.families.base import TokenWeights
from naively.statistics._tokens import TokenTable, masses
from naively.typing import AnyArray, FloatArray, IntArray

SHARE = 0.8
"""The share of the marginal in a class's token probabilities."""

COMPLEMENT_PSEUDO_COUNT = 1.0


@dataclass(frozen=True)
class TokenScores:
    """One view of a text column, ready to score.

    Parameters
    ----------
    view : View
    table : TokenTable
    with_complement : bool
    """

    view: View
    table: TokenTable
    with_complement: bool

    @cached_property
    def pointer(self) -> IntArray:
        """Where each token's cells start."""
        return np.searchsorted(self.table.tokens, np.arange(len(self.table.vocabulary) + 1))

    @cached_property
    def marginal(self) -> FloatArray:
        """The mass of each token over all classes."""
        return masses(self.table.tokens, self.table.mass.high, len(self.table.vocabulary))

    @cached_property
    def totals(self) -> FloatArray:
        """The mass of each class."""
        return masses(self.table.codes, self.table.mass.high, self.table.n_classes)

    def ratio_of_cells(self, share: float) -> FloatArray:
        """What a tally of one says for the class of each cell, less what it says for a class without the token."""
        expected = (self.marginal + 1.0) / (self.totals.sum() + len(self.marginal))
        of_class = self.table.mass.high / self.totals[self.table.codes]
        return np.asarray(np.log1p((1 - share) / share * of_class / expected[self.table.tokens]))

    def read(self, texts: Sequence[str | None]) -> KnownRows:
        """The known tokens of texts."""
        return self.table.vocabulary.index.tally(texts, self.view)

    @with_reference
    def scores(self, rows: KnownRows, own: IntArray, removed: FloatArray) -> list[FloatArray]:
        """The scores (rows, classes) of texts, each without itself where its class is given (else -1).

        `removed` is the weight that each gave.
        """
        shape = (len(rows.bounds) - 1, self.table.n_classes)
        ratio, against = np.zeros(shape), np.zeros(shape)
        pseudo = COMPLEMENT_PSEUDO_COUNT if self.with_complement else 0.0
        if repays_compiler(4 * len(rows.places)):
            from naively._kernels.text_scores import add_token_scores as add
        else:
            add = add_scores
        add(
            rows.bounds.astype(np.int64),
            rows.places.astype(np.int64),
            rows.tallies,
            frozen(own),
            frozen(removed),
            self.pointer,
            self.table.codes,
            frozen(self.table.mass.high),
            self.marginal,
            self.totals,
            SHARE,
            pseudo,
            ratio,
            against,
        )
        return [ratio, against] if self.with_complement else [ratio]

    def folded(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weighed scores as one weight per cell, and one per tally and class."""
        said = weights[0] * self.ratio_of_cells(SHARE)
        every = np.zeros(self.table.n_classes)
        if self.with_complement:
            rest = self.marginal[self.table.tokens] + COMPLEMENT_PSEUDO_COUNT
            said -= weights[1] * np.log1p(-np.minimum(self.table.mass.high / rest, MOST_OF_A_TOKEN))
            others = np.maximum(self.totals.sum() - self.totals, 0.0)
            every += weights[1] * np.log(others + COMPLEMENT_PSEUDO_COUNT * max(len(self.marginal), 1))
        return said, every

    @with_reference
    def linear(self, rows: KnownRows, weights: FloatArray, every: FloatArray) -> FloatArray:
        """The sum of the tallies of texts times weights of cells and of tallies, (rows, classes)."""
        result = np.zeros((len(rows.bounds) - 1, self.table.n_classes))
        if repays_compiler(4 * len(rows.places)):
            from naively._kernels.text_scores import add_weights

            bounds, places = rows.bounds.astype(np.int64), rows.places.astype(np.int64)
            add_weights(bounds, places, rows.tallies, self.pointer, self.table.codes, weights, result)
        else:
            cells = sparse.csr_array((weights, self.table.codes, self.pointer), shape=(len(self.marginal), len(every)))
            result += (rows.matrix(len(self.marginal)) @ cells).toarray()
        if every.any():
            total = np.bincount(rows.rows, weights=rows.tallies, minlength=len(result))
            result += total[:, None] * every
        return result


def add_scores(
    bounds: IntArray,
    tokens: IntArray,
    tallies: FloatArray,
    own: IntArray,
    own_weight: FloatArray,
    pointer: IntArray,
    codes: IntArray,
    mass: FloatArray,
    marginal: FloatArray,
    totals: FloatArray,
    share: float,
    pseudo: float,
    ratio: FloatArray,
    against: FloatArray,
) -> None:
    """Add what the tokens of texts say: the NumPy reference of the kernel.

    Parameters
    ----------
    bounds, tokens, tallies : ndarray
        The texts' entries: where each text's start, their tokens (-1: unknown) and tallies.
    own : ndarray (rows,)
        The class that a text was learnt with, to be scored without itself; -1 for one that was not learnt.
    own_weight : ndarray (rows,)
        The weight that the text loses then.
    pointer, codes, mass : ndarray
        The table: where each token's cells start, their classes and mass.
    marginal, totals : ndarray
        The mass of each token, and of each class.
    share, pseudo : float
        The share of the marginal; the pseudo-count of the complement score, 0 to leave it out.
    ratio, against : ndarray (rows, classes)
        Where the two scores are added.
    """
    n_rows, n_classes = ratio.shape
    row = np.repeat(np.arange(n_rows), np.diff(bounds))
    known = tokens >= 0
    row, token, tally = row[known], tokens[known], tallies[known]
    lost = np.where(own[row] >= 0, own_weight[row] * tally, 0.0)
    taken = np.bincount(row, weights=lost, minlength=n_rows)
    whole = totals.sum() - taken
    left = np.repeat(totals[None, :], n_rows, axis=0)
    left[np.arange(n_rows), own] -= taken
    rest = marginal[token] - lost
    speaks = rest > 1e-9 * marginal[token]
    row, token, tally, rest, lost = row[speaks], token[speaks], tally[speaks], rest[speaks], lost[speaks]
    expected = (rest + 1.0) / (whole[row] + len(marginal))
    n_cells = pointer[token + 1] - pointer[token]
    entry = np.repeat(np.arange(len(token)), n_cells)
    cell = np.arange(len(entry)) - np.repeat(np.cumsum(n_cells) - n_cells, n_cells) + pointer[token][entry]
    code = codes[cell]
    count = mass[cell] - np.where(code == own[row[entry]], lost[entry], 0.0)
    stays = count > 1e-9 * mass[cell]
    entry, code, count = entry[stays], code[stays], count[stays]
    place = row[entry] * n_classes + code
    of_class = count / np.maximum(left[row[entry], code], count)
    said = tally[entry] * np.log1p((1 - share) / share * of_class / expected[entry])
    ratio += np.bincount(place, weights=said, minlength=ratio.size).reshape(ratio.shape)
    if pseudo > 0.0:
        said = tally[entry] * np.log1p(-np.minimum(count / (rest[entry] + pseudo), MOST_OF_A_TOKEN))
        against -= np.bincount(place, weights=said, minlength=ratio.size).reshape(ratio.shape)
        length = np.bincount(row, weights=tally, minlength=n_rows)
        against += length[:, None] * np.log(np.maximum(whole[:, None] - left, 0.0) + pseudo * max(len(marginal), 1))


# -- a column -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextColumn:
    """What is known of a text column: a table for each view.

    Parameters
    ----------
    views : tuple of View
    tables : tuple of TokenTable
    """

    views: tuple[View, ...]
    tables: tuple[TokenTable, ...]

    @property
    def observed(self) -> FloatArray:
        """The weight of the known texts of each class."""
        return self.tables[0].observed.high

    def fitted(
        self,
        texts: Sequence[str | None],
        codes: IntArray,
        weights: FloatArray,
        removed: FloatArray,
        log_prior: FloatArray,
    ) -> TextEvidence:
        """The column's evidence, pooled on kept rows, each without the weight that it gave to the tables."""
        scorers = tuple(
            TokenScores(view, table, with_complement=place == 0)
            for place, (view, table) in enumerate(zip(self.views, self.tables, strict=True))
        )
        unfitted = TextEvidence(scorers, TextPool(np.ones(len(scorers) + 1), 0.0, 1.0))
        scores, lengths, known = unfitted.scores(texts, codes, removed)
        pool = fit_pool([one[known] for one in scores], lengths[known], codes[known], weights[known], log_prior)
        left_out = np.where(known, pool.joined(scores, lengths).T, 0.0)
        return TextEvidence(scorers, pool, (texts, codes, left_out))


@dataclass(frozen=True)
class TextEvidence:
    """The evidence of a text column.

    Parameters
    ----------
    scorers : tuple of TokenScores
    pool : TextPool
    kept : tuple, optional
        The texts that the pool was fitted on, their classes, and their leave-one-out evidence.
    """

    scorers: tuple[TokenScores, ...]
    pool: TextPool
    kept: tuple[Any, IntArray, FloatArray] | None = None

    @cached_property
    def answering(self) -> TextEvidence:
        """The evidence without the texts that it was fitted on."""
        return self if self.kept is None else replace(self, kept=None)

    @property
    def score_names(self) -> list[str]:
        """What the scores are called."""
        names = []
        for scorer in self.scorers:
            names += [scorer.view.name, f"{scorer.view.name}, complement"][: 1 + scorer.with_complement]
        return names

    def scores(
        self, texts: Sequence[str | None], own: IntArray, removed: FloatArray
    ) -> tuple[list[FloatArray], FloatArray, AnyArray]:
        """All scores of texts (rows, classes), their lengths, and which are known."""
        found: list[FloatArray] = []
        lengths = np.zeros(len(texts))
        for place, scorer in enumerate(self.scorers):
            rows = scorer.read(texts)
            found.extend(scorer.scores(rows, own, removed))
            if place == 0:
                lengths = rows.lengths
        return found, lengths, np.array([text is not None for text in texts], dtype=bool)

    @cached_property
    def _folded(self) -> list[tuple[FloatArray, FloatArray]]:
        """Each view's scores as weights of tokens."""
        result, first = [], 0
        for scorer in self.scorers:
            n_scores = 1 + scorer.with_complement
            result.append(scorer.folded(self.pool.weights[first : first + n_scores]))
            first += n_scores
        return result

    def evidence(self, texts: Sequence[str | None]) -> FloatArray:
        """The evidence (classes, rows), centred; 0 where a text is missing."""
        total = np.zeros((len(texts), self.scorers[0].table.n_classes))
        lengths = np.zeros(len(texts))
        for place, (scorer, (weights, every)) in enumerate(zip(self.scorers, self._folded, strict=True)):
            rows = scorer.read(texts)
            total += scorer.linear(rows, weights, every)
            if place == 0:
                lengths = rows.lengths
        known = np.array([text is not None for text in texts], dtype=bool)
        total -= total.mean(axis=1, keepdims=True)
        return np.where(known, (total * self.pool.stretch(lengths)[:, None]).T, 0.0)

    def leave_one_out(self, texts: Sequence[str | None], codes: IntArray, removed: FloatArray) -> FloatArray:
        """The evidence (classes, rows) of learnt texts, each without the weight that it gave."""
        if self.kept is not None and self.kept[0] is texts and self.kept[1] is codes:
            return self.kept[2]
        scores, lengths, known = self.scores(texts, codes, removed)
        return np.where(known, self.pool.joined(scores, lengths).T, 0.0)

    def of_tokens(self, text: str) -> tuple[list[str], FloatArray]:
        """The tokens of a text that are known, and what each adds to its evidence, (tokens, classes)."""
        names: list[str] = []
        parts: list[FloatArray] = []
        stretch = 1.0
        for place, (scorer, (weights, every)) in enumerate(zip(self.scorers, self._folded, strict=True)):
            rows = scorer.read([text])
            if place == 0:
                stretch = float(self.pool.stretch(rows.lengths)[0])
            alone = replace(rows, bounds=np.arange(len(rows.places) + 1))
            said = scorer.linear(alone, weights, every)
            names.extend(scorer.table.vocabulary.texts(rows.places))
            parts.append(said - said.mean(axis=1, keepdims=True))
        return names, np.concatenate(parts) * stretch


@dataclass(frozen=True)
class WeighedText(TextsEstimate):
    """A text column of a model that weighs evidence, ready for the scorer.

    Parameters
    ----------
    estimate : TextEvidence
    weights : ndarray (classes,)
        Of the column's evidence.
    offset, missing : ndarray (classes,)
        What every known text says, and what a missing one does.
    """

    reads: ClassVar[str] = "texts"
    least_rows: ClassVar[int] = 1024
    cells_per_row: ClassVar[int] = 512

    estimate: TextEvidence
    weights: FloatArray
    offset: FloatArray
    missing: FloatArray

    def evidence(self, block: Sequence[Sequence[str | None]]) -> FloatArray:
        """The evidence of every text, (rows, 1, classes)."""
        texts = block[0]
        known = np.array([text is not None for text in texts], dtype=bool)[:, None]
        said = self.weights * self.estimate.evidence(texts).T
        return np.where(known, said + self.offset, self.missing)[:, None, :]

    def add_to(self, scores: FloatArray, block: Sequence[Sequence[str | None]]) -> None:
        """Add the evidence of every row."""
        scores += self.evidence(block)[:, 0]

    def token_evidence(self, place: int, text: str) -> tuple[list[str], FloatArray]:
        """The tokens of one text that are known, and what each says, (tokens, classes); there is one column."""
        assert place == 0
        names, said = self.estimate.of_tokens(text)
        return names, said * self.weights

    def token_weights(self, place: int) -> list[TokenWeights]:
        """What one of each known token says in a text of the typical length, view by view; there is one column."""
        assert place == 0
        parts = zip(self.estimate.scorers, self.estimate._folded, strict=True)
        return [
            TokenWeights(scorer.table.vocabulary, partial(self._of_one, scorer, *folded)) for scorer, folded in parts
        ]

    def _of_one(self, scorer: TokenScores, cells: FloatArray, every: FloatArray, places: IntArray) -> FloatArray:
        """What one of each of some tokens says, (tokens, classes)."""
        said = scorer.table.at(cells, places) + every
        centred = said - said.mean(axis=1, keepdims=True)
        return np.asarray(centred * tally_of_one(scorer.view) * self.weights)

    def length_factor(self, text: str) -> float:
        """What the evidence of all tokens of a text is multiplied by, for its length."""
        return float(self.estimate.pool.stretch(self.estimate.scorers[0].read([text]).lengths)[0])

    def describe(self) -> dict[str, Any]:
        """How the column's scores are joined and weighed."""
        pool = self.estimate.pool
        return {
            "score_weight": [dict(zip(self.estimate.score_names, pool.weights.tolist(), strict=True))],
            "length_power": [pool.power],
            "typical_length": [pool.typical],
            "weight": [self.weights],
        }
