"""One solver for all that is fitted under a softmax: weights of columns, candidates, words, scores and experts.

Each problem says what its parameters are, how they give scores, and what it costs them to leave their targets; the
loss, its gradient and the search are here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from naively._weighing.descent import Search, least
from naively._weighing.softmax import loss_and_residual
from naively.typing import FloatArray, IntArray

Parts = Sequence[FloatArray]
"""The parameters by kind, each an array."""


class SoftmaxProblem(ABC):
    """The penalised log-loss of rows as a function of one vector of parameters.

    Parameters
    ----------
    codes, weights : ndarray (rows,)
        The class and the weight of each row.
    shapes : sequence of tuple
        The shape of each kind of parameters.
    positive : int, optional
        Which kind may not be negative; none by default.
    """

    search: ClassVar[Search] = Search()
    """When the search ends."""

    def __init__(
        self, codes: IntArray, weights: FloatArray, shapes: Sequence[tuple[int, ...]], positive: int | None = None
    ) -> None:
        self.codes, self.weights, self.shapes = codes, weights, shapes
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        self.size, self._splits = int(ends[-1]), ends[:-1]
        last = 0 if positive is None else int(ends[positive])
        self.positive = slice(last - (0 if positive is None else int(np.prod(shapes[positive]))), last)

    @abstractmethod
    def scores(self, parts: Parts) -> FloatArray:
        """The scores (rows, classes), which may be overwritten."""

    @abstractmethod
    def slopes(self, parts: Parts, residual: FloatArray) -> Parts:
        """The gradient of the log-loss by each kind of parameters, given that by the scores, (rows, classes)."""

    @abstractmethod
    def penalty(self, parts: Parts) -> tuple[float, Parts]:
        """What is added to the log-loss, and its gradient."""

    def split(self, vector: FloatArray) -> list[FloatArray]:
        """Cut a vector into its kinds of parameters, as views."""
        pieces = np.split(vector, self._splits)
        return [piece.reshape(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]

    def loss_and_gradient(self, vector: FloatArray) -> tuple[float, FloatArray]:
        """The penalised log-loss, and its gradient."""
        parts = self.split(vector)
        loss, residual = loss_and_residual(self.scores(parts), self.codes, self.weights)
        cost, pulls = self.penalty(parts)
        slopes = self.slopes(parts, residual)
        return loss + cost, np.concatenate([(a + b).ravel() for a, b in zip(slopes, pulls, strict=True)])

    def solved(self, start: FloatArray) -> FloatArray:
        """The vector with the least loss."""
        return least(self.loss_and_gradient, start, self.positive, self.search)
