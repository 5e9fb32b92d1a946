"""What the tokens of one view of a text column say.

Where every token has the same pseudo-count, weights are computed for the tokens that are asked for: a model that learns
between any two answers never makes the weights of its whole vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from naively._text.tally import KnownRows, tally_of_one
from naively._text.tokenise import View
from naively.statistics._tokens import TokenTable, Vocabulary, masses
from naively.typing import AnyArray, FloatArray, IntArray

FEW = 8
"""As long as the vocabulary has so many tokens for each that is asked for, only those get weights."""

LEAST_FREQUENCY = 5e-324
"""Pseudo-counts are above zero, but shares of the least of them are not: their logarithm must be finite."""


class TokenView:
    """Evidence that is linear in the tallies of tokens.

    Attributes
    ----------
    view : View
    vocabulary : Vocabulary
        The tokens that are known.
    offset : ndarray of shape (classes,)
        What every known text says.
    frequencies : ndarray of shape (tokens, classes)
        The probability of each token in each class.
    presence : bool
        Whether a token counts once however often it occurs.
    """

    view: View
    vocabulary: Vocabulary
    offset: FloatArray
    frequencies: FloatArray
    presence: bool

    def weights_of(self, places: IntArray) -> tuple[FloatArray, AnyArray | None]:
        """What a tally of one of some tokens says, (tokens, classes), and where it is impossible (None: nowhere)."""
        raise NotImplementedError  # pragma: no cover

    def weights_of_all(self) -> tuple[FloatArray, AnyArray | None]:
        """The weights of all tokens, computed once."""
        raise NotImplementedError  # pragma: no cover

    def wants_all(self, n_asked: int) -> bool:
        """Whether so many tokens are best answered from the weights of all."""
        return FEW * n_asked > len(self.vocabulary)

    def read(self, texts: Sequence[str | None]) -> tuple[KnownRows, FloatArray]:
        """The known tokens of texts, and what each entry counts."""
        rows = self.vocabulary.index.tally(texts, self.view)
        return rows, np.ones(len(rows.places)) if self.presence else rows.tallies

    def scores(self, texts: Sequence[str | None]) -> FloatArray:
        """The log-likelihood of each text, (rows, classes); 0 where it is missing."""
        rows, tallies = self.read(texts)
        if self.wants_all(len(rows.places)):
            matrix = rows.matrix(len(self.vocabulary), tallies)
            weights, impossible = self.weights_of_all()
        else:
            asked, places = np.unique(rows.places, return_inverse=True)
            matrix = KnownRows(rows.bounds, places, rows.tallies, rows.lengths).matrix(len(asked), tallies)
            weights, impossible = self.weights_of(asked)
        scores = np.asarray(matrix @ weights) + self.offset
        if impossible is not None:
            hits = matrix @ impossible.astype(np.float64)
            scores[hits > 0] = -np.inf
        scores[[text is None for text in texts]] = 0.0
        return scores

    def of_one(self, places: IntArray) -> FloatArray:
        """What one of each of some tokens says, (tokens, classes)."""
        weights, impossible = self.weights_of(places)
        said = weights if self.presence else weights * tally_of_one(self.view)
        return said if impossible is None else np.where(impossible, -np.inf, said)

    def of_tokens(self, text: str) -> tuple[list[str], FloatArray]:
        """The known tokens of a text, and what each says, (tokens, classes)."""
        rows, tallies = self.read([text])
        weights, impossible = self.weights_of(rows.places)
        evidence = tallies[:, None] * weights
        if impossible is not None:
            evidence = np.where(impossible, -np.inf, evidence)
        return self.vocabulary.texts(rows.places), evidence


@dataclass(frozen=True)
class WeighedView(TokenView):
    """A view with the weights of all tokens at hand.

    Parameters
    ----------
    view : View
    vocabulary : Vocabulary
    weights : ndarray of shape (tokens, classes)
        What a tally of one says.
    impossible : ndarray of bool or None
        Where a token cannot occur in a class.
    offset : ndarray of shape (classes,)
    frequencies : ndarray of shape (tokens, classes)
    presence : bool
    """

    view: View
    vocabulary: Vocabulary
    weights: FloatArray
    impossible: AnyArray | None
    offset: FloatArray
    frequencies: FloatArray
    presence: bool = False

    def wants_all(self, n_asked: int) -> bool:
        return True

    def weights_of(self, places: IntArray) -> tuple[FloatArray, AnyArray | None]:
        return self.weights[places], None if self.impossible is None else self.impossible[places]

    def weights_of_all(self) -> tuple[FloatArray, AnyArray | None]:
        return self.weights, self.impossible


@dataclass(frozen=True)
class DrawnView(TokenView):
    """A view whose tokens are drawn from a distribution per class, with one pseudo-count for all of them.

    Parameters
    ----------
    view : View
    table : TokenTable
    tau : float
        The pseudo-count, above 0.
    complement : bool
        Whether the distributions are those of all other classes, and a token speaks against them.
    presence : bool
    """

    view: View
    table: TokenTable
    tau: float
    complement: bool
    presence: bool = False

    @property
    def vocabulary(self) -> Vocabulary:  # type: ignore[override]
        return self.table.vocabulary

    @cached_property
    def offset(self) -> FloatArray:  # type: ignore[override]
        return np.zeros(self.table.n_classes)

    @cached_property
    def frequencies(self) -> FloatArray:  # type: ignore[override]
        return self._frequencies(self.table.dense(self.table.mass.high))

    @cached_property
    def _totals(self) -> FloatArray:
        """The mass of all tokens of each class, or of all other classes, with the pseudo-counts."""
        total = masses(self.table.codes, self.table.mass.high, self.table.n_classes)
        if self.complement:
            total = np.maximum(total.sum() - total, 0.0)
        return total + self.tau * len(self.vocabulary)

    def _frequencies(self, mass: FloatArray) -> FloatArray:
        """From the mass (tokens, classes) of any tokens to their probabilities: the same whichever are asked for."""
        if self.complement:
            mass = np.maximum(mass.sum(axis=1, keepdims=True) - mass, 0.0)
        return (mass + self.tau) / self._totals

    def weights_of(self, places: IntArray) -> tuple[FloatArray, AnyArray | None]:
        if "_weights" in self.__dict__:
            return self._weights[places], None
        return self._logs(self._frequencies(self.table.at(self.table.mass.high, places))), None

    def weights_of_all(self) -> tuple[FloatArray, AnyArray | None]:
        return self._weights, None

    @cached_property
    def _weights(self) -> FloatArray:
        return self._logs(self.frequencies)

    def _logs(self, frequencies: FloatArray) -> FloatArray:
        logs = np.log(np.maximum(frequencies, LEAST_FREQUENCY))
        return -logs if self.complement else logs
