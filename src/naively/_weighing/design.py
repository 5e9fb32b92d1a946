"""The rows that weights are fitted on, and the scores that evidence, weights and effects give them.

Scores are linear in bias, weights and effects. With two classes only the difference of their scores matters, so half of
the work does. With very many, each row is told from its likeliest classes one by one and from a few of the others,
which stand for the rest: the sum over all classes is then estimated, and its cost does not grow with their number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import sparse

from naively.typing import AnyArray, FloatArray, IntArray

NEAREST = 48
"""With very many classes each row is told from so many of the likeliest, one by one."""

OTHERS = 16
"""And from so many of the other classes, at equal distances in the order of their scores."""

MOST_CLASSES = 160
"""Beyond so many classes rows are told from some of them only, and have too few rows for weights of their own."""

SORTED_ROWS = 256

LARGE = 1 << 17
"""Evidence of more cells than this is held in single precision."""


@dataclass(frozen=True)
class Design:
    """The rows that candidates are fitted on.

    Parameters
    ----------
    evidence : float array (classes, rows, terms)
        Leave-one-out evidence, centred over the classes; of very many classes term by term in memory.
    log_prior : float array (classes, rows)
        Leave-one-out log prior, as precise as the evidence.
    codes : int64 array (rows,)
    weights : float64 array (rows,)
    effects : float array (rows, effects), dense or sparse
        Columns of the value effects.
    counted : float64 array (terms,)
        1 for a term that is evidence in its own right, 0 for one that must earn its weight.
    penalty : float64 array (terms,)
        Strength of the pull of each weight to its target.
    temperature : float
        The temperature of the counted terms.
    """

    evidence: FloatArray
    log_prior: FloatArray
    codes: IntArray
    weights: FloatArray
    effects: FloatArray
    counted: FloatArray
    penalty: FloatArray
    temperature: float = 1.0

    @property
    def target(self) -> FloatArray:
        """The weight (terms,) that each term has unless the rows say otherwise."""
        return self.counted * min(1.0, self.temperature)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.evidence)

    @property
    def has_rivals(self) -> bool:
        """Whether there are so many classes that rows are told from some of them only."""
        return self.n_classes > MOST_CLASSES

    @cached_property
    def counted_evidence(self) -> FloatArray:
        """The sum of the counted terms (classes, rows)."""
        return self.weighed(self.counted[None])

    def weighed(self, weights: FloatArray, chosen: AnyArray | slice = slice(None)) -> FloatArray:
        """The sum (classes, rows) of the terms of chosen rows, times weights (1 or classes, terms)."""
        weights = weights.astype(self.evidence.dtype, copy=False)
        if not self.has_rivals:
            return np.asarray(np.matmul(self.evidence[:, chosen], weights[:, :, None])[:, :, 0])
        total = np.zeros(self.evidence[:, chosen, 0].T.shape, self.evidence.dtype)  # all classes have equal weights
        for term, weight in enumerate(weights[0]):
            total += weight * self.evidence[:, :, term].T[chosen]
        return total.T

    @cached_property
    def rivals(self) -> IntArray:
        """The classes that each row is told from (rivals, rows), its own first.

        They are those with the highest scores, and some at equal distances in the order of the scores: a class that is
        not likely anywhere near a row must not become so unseen.
        """
        scores = (self.counted_evidence + self.log_prior).T.astype(np.float32)
        scores[np.arange(len(self.codes)), self.codes] = np.inf
        n_rest = self.n_classes - NEAREST
        middles = NEAREST + ((np.arange(OTHERS) + 0.5) * n_rest / OTHERS).astype(np.int64)
        places = np.concatenate([np.arange(NEAREST), middles])
        blocks = np.split(scores, range(SORTED_ROWS, len(scores), SORTED_ROWS))  # an order is larger than the scores
        chosen = [np.argsort(-block, axis=1, kind="stable")[:, places] for block in blocks]
        return np.ascontiguousarray(np.concatenate(chosen).T)

    def at_temperature(self, temperature: float) -> Design:
        """The design with another temperature, which neither the sum of the terms nor the rivals depend on."""
        other = replace(self, temperature=temperature)
        for name in {"counted_evidence", "rivals"} & vars(self).keys():
            vars(other)[name] = vars(self)[name]
        return other

    @property
    def stands_for(self) -> FloatArray:
        """How many classes each of the rivals stands for (rivals,)."""
        return np.concatenate([np.ones(NEAREST), np.full(OTHERS, (self.n_classes - NEAREST) / OTHERS)])

    def rows(self, chosen: AnyArray) -> Design:
        """Return the design of the chosen rows."""
        return replace(
            self,
            evidence=np.ascontiguousarray(self.evidence[:, chosen]),
            log_prior=self.log_prior[:, chosen],
            codes=self.codes[chosen],
            weights=self.weights[chosen],
            effects=self.effects[chosen],
        )


def side_by_side(parts: list[FloatArray], n_rows: int, n_cells: int) -> FloatArray:
    """The effects of all columns (rows, effects): sparse if any is; in single precision beside much evidence."""
    if any(sparse.issparse(part) for part in parts):
        joined: FloatArray = sparse.hstack(parts, format="csr")
        return joined
    dtype = np.float32 if n_cells > LARGE else np.float64
    return np.concatenate([np.zeros((n_rows, 0), dtype), *(part.astype(dtype, copy=False) for part in parts)], axis=1)


Slopes = tuple[FloatArray, FloatArray, FloatArray]


class Scores(Protocol):
    """Scores of rows as a linear function of bias, weights and effects, for several fits at once.

    The coefficients are bias (fits, classes), weights (fits, 1 or classes, terms) and effects (fits, classes, effects).
    """

    codes: IntArray

    def of(self, bias: FloatArray, weights: FloatArray, effects: FloatArray) -> FloatArray:
        """The scores (fits, classes, rows)."""

    def slopes(self, residual: FloatArray, by_class: bool, with_effects: bool) -> Slopes:
        """What residuals (fits, classes, rows) of the scores are by bias, weights and effects."""


def scores_of(design: Design, chosen: AnyArray | slice = slice(None)) -> Scores:
    """The scores of chosen rows of a design, in the form that costs least."""
    if design.has_rivals:
        return RivalScores(design, np.arange(len(design.codes))[chosen])
    if design.n_classes == 2:
        return TwoClassScores(design, chosen)
    return AllScores(design if isinstance(chosen, slice) else design.rows(chosen))


class AllScores:
    """Every row under every class."""

    def __init__(self, design: Design) -> None:
        self.evidence, self.log_prior, self.codes = design.evidence, design.log_prior, design.codes
        self.effects = design.effects
        self.flat = self.evidence.reshape(-1, self.evidence.shape[2])  # (classes * rows, terms)

    def of(self, bias: FloatArray, weights: FloatArray, effects: FloatArray) -> FloatArray:
        """The scores (fits, classes, rows)."""
        weights = weights.astype(self.evidence.dtype, copy=False)
        if weights.shape[1] > 1:
            said = np.matmul(weights.swapaxes(0, 1), self.evidence.swapaxes(1, 2)).swapaxes(0, 1)
        else:
            said = (weights[:, 0] @ self.flat.T).reshape(len(weights), *self.log_prior.shape)
        said += self.log_prior
        said += bias[:, :, None]
        if effects.size:
            said += _of_effects(self.effects, effects)
        return np.asarray(said)

    def slopes(self, residual: FloatArray, by_class: bool, with_effects: bool) -> Slopes:
        """What residuals (fits, classes, rows) of the scores are by bias, weights and effects."""
        single = residual.astype(self.evidence.dtype, copy=False)
        if by_class:
            of_weights = np.matmul(single.swapaxes(0, 1), self.evidence).swapaxes(0, 1)
        else:
            of_weights = (single.reshape(len(single), len(self.flat)) @ self.flat)[:, None]
        of_effects = _by_effects(self.effects, residual) if with_effects else np.zeros((*residual.shape[:2], 0))
        return residual.sum(axis=2), of_weights, of_effects


class TwoClassScores:
    """Rows under two classes: centred evidence is opposite in them, and so are residuals."""

    def __init__(self, design: Design, chosen: AnyArray | slice) -> None:
        self.evidence, self.log_prior = design.evidence[0][chosen], design.log_prior[:, chosen]
        self.codes, self.effects = design.codes[chosen], design.effects[chosen]

    def of(self, bias: FloatArray, weights: FloatArray, effects: FloatArray) -> FloatArray:
        """The scores (fits, classes, rows), up to a constant for each row."""
        half = weights.mean(axis=1).astype(self.evidence.dtype) @ self.evidence.T
        if effects.size:
            half += _of_effects(self.effects, 0.5 * (effects[:, :1] - effects[:, 1:]))[:, 0]
        return np.asarray(np.stack([half, -half], axis=1) + self.log_prior + bias[:, :, None])

    def slopes(self, residual: FloatArray, by_class: bool, with_effects: bool) -> Slopes:
        """What residuals (fits, classes, rows) of the scores are by bias, weights and effects."""
        first = residual[:, 0].astype(self.evidence.dtype) @ self.evidence
        of_weights = np.stack([first, first], axis=1) if by_class else 2.0 * first[:, None]
        if not with_effects:
            return residual.sum(axis=2), of_weights, np.zeros((len(residual), 2, 0))
        of_effects = _by_effects(self.effects, residual[:, :1])
        return residual.sum(axis=2), of_weights, np.concatenate([of_effects, -of_effects], axis=1)


def _of_effects(columns: FloatArray, effects: FloatArray) -> FloatArray:
    """What effects (fits, classes, effects) say of the rows of their columns (rows, effects): (fits, classes, rows)."""
    fits, classes, n_effects = effects.shape
    together = effects.reshape(fits * classes, n_effects).astype(columns.dtype, copy=False)
    said = np.asarray((columns @ together.T).T if sparse.issparse(columns) else together @ columns.T)
    return said.reshape(fits, classes, columns.shape[0])


def _by_effects(columns: FloatArray, residual: FloatArray) -> FloatArray:
    """What residuals (fits, classes, rows) are by the effects of columns (rows, effects): (fits, classes, effects)."""
    fits, classes, n_rows = residual.shape
    together = residual.reshape(fits * classes, n_rows).astype(columns.dtype, copy=False)
    return np.asarray(together @ columns).reshape(fits, classes, columns.shape[1])


class RivalScores:
    """Rows under their own class, which is the first, its nearest rivals, and some that stand for the rest.

    There are no effects: no class has the rows to tell them.
    """

    def __init__(self, design: Design, rows: IntArray) -> None:
        self.n_classes, self.codes = design.n_classes, np.zeros(len(rows), dtype=np.int64)
        self.rivals = np.ascontiguousarray(design.rivals[:, rows].T)
        terms = range(design.evidence.shape[2])
        self.evidence = np.empty((len(terms), self.rivals.size), design.evidence.dtype)  # (terms, rows * rivals)
        for term in terms:
            self.evidence[term] = design.evidence[:, :, term][self.rivals, rows[:, None]].ravel()
        self.log_prior = design.log_prior[self.rivals, rows[:, None]] + np.log(design.stands_for)

    def of(self, bias: FloatArray, weights: FloatArray, effects: FloatArray) -> FloatArray:
        """The scores (fits, rivals, rows)."""
        said = (weights[:, 0].astype(self.evidence.dtype) @ self.evidence).reshape(len(weights), *self.rivals.shape)
        return np.asarray(said + self.log_prior + bias[:, self.rivals]).swapaxes(1, 2)

    def slopes(self, residual: FloatArray, by_class: bool, with_effects: bool) -> Slopes:
        """What residuals (fits, rivals, rows) of the scores are by bias and weights."""
        flat = residual.swapaxes(1, 2).reshape(len(residual), self.rivals.size)
        places = self.rivals.ravel()
        of_bias = np.stack([np.bincount(places, one, self.n_classes).astype(np.float64) for one in flat])
        of_weights = (flat.astype(self.evidence.dtype) @ self.evidence.T)[:, None]
        return of_bias, of_weights, np.zeros((len(residual), self.n_classes, 0))
