"""Similar rows: the class of a row by the kept rows that resemble it in all columns at once.

Two rows resemble each other by a product of one factor for each column: ``exp(-narrowness d ** 2)``, d being the
distance of the normal scores of two numbers, or that of two labels that are not the same one. The share of each class
is a weighted sum of how much a row resembles landmarks, which stand between kept rows; the weights are those of a ridge
regression (kernel ridge regression, with the landmarks of Nyström's method). A temperature makes it honest.

A missing cell, or a label that was never seen, is averaged out: its factor is the mean of those that the landmarks
have. A row of which nothing is known has the prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from naively._weighing.experts import FittedExpert, LearntRows
from naively._weighing.grid import Least, downhill
from naively._weighing.joint_gaussian import Rescaling, asked_rows
from naively._weighing.softmax import CERTAIN_GAIN, best_temperature, log_loss, log_softmax
from naively._weighing.terms import Column, take_rows
from naively.typing import AnyArray, FloatArray, IntArray

LEAST_ROWS = 50
"""With fewer kept rows nothing is fitted."""

MOST_LANDMARKS = 512
MOST_WORK = 2**30
"""Rows times the square of the number of landmarks: with more rows there are fewer landmarks."""

MOST_COORDINATES = 2**24
"""Coordinates that all kept rows may have together; beyond, the columns that tell least stay out."""

COORDINATES_AT_ONCE = 2**22
"""Coordinates of the rows that are answered at once."""

ROWS_TO_CHOOSE, LANDMARKS_TO_CHOOSE = 1024, 256
"""Rows, and landmarks, by which narrowness and ridge are chosen."""

NEAR_ROWS, SHARE_OF_THE_WAY = 16, 0.25
"""A landmark stands on the way from a row to the nearest of so many others, at this share of it."""

LEAST_UNLIKE = 1e-6
"""A column in which fewer pairs of rows have labels that differ says nothing."""

NARROWNESSES = (0.15, 0.5, 1.5)
"""Two rows that have nothing to do with each other are at a mean squared distance of 2."""

RIDGES = (0.001, 0.01, 0.1, 1.0, 10.0)
JITTER = 1e-8
"""What keeps landmarks that are alike from being told apart by rounding."""

ROUNDING = 1e-14
"""The same where rows weigh so much that rounding outweighs it: a share of the sum of the diagonal. A hundredth was
enough for each of 2,400 matrices of landmarks that were all alike to some other."""

SHARPEST = 50.0
"""What a difference of one in a share may make in log-odds, before the temperature."""

SURPRISES = 1.0
"""See `naively._weighing.softmax.best_temperature`."""


@dataclass(frozen=True)
class Coordinates:
    """Where rows stand: a coordinate for each number, and one for each label.

    Parameters
    ----------
    columns : tuple of int
        The columns that are read.
    scales : tuple
        For each, how its numbers become normal scores, or how many labels it has.
    units : ndarray (columns,)
        By which the coordinates of each column are multiplied.
    """

    columns: tuple[int, ...]
    scales: tuple[Rescaling | int, ...]
    units: FloatArray

    def __call__(self, columns: Sequence[Column]) -> tuple[FloatArray, AnyArray]:
        """The coordinates of rows (rows, coordinates), and which cells are unknown (rows, columns).

        The coordinates of an unknown cell are 0.
        """
        cells = cells_of(columns, self.columns, self.scales)
        unknown = np.stack([np.isnan(part[:, 0]) for part in cells], axis=1)
        points = np.concatenate([unit * part for unit, part in zip(self.units, cells, strict=True)], axis=1)
        return np.nan_to_num(points, copy=False), unknown

    @cached_property
    def places(self) -> list[slice]:
        """Where the coordinates of each column stand."""
        stops = np.cumsum([_width(scale) for scale in self.scales]).tolist()
        return [slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def cells_of(columns: Sequence[Column], places: Sequence[int], scales: Sequence[Rescaling | int]) -> list[FloatArray]:
    """Normal scores of numbers (rows, 1), and whether each label is there (rows, labels); NaN where unknown."""
    numbers = [(scale, place) for scale, place in zip(scales, places, strict=True) if isinstance(scale, Rescaling)]
    images = iter(asked_rows(columns).rescaled(*zip(*numbers, strict=True))) if numbers else iter(())
    return [
        next(images) if isinstance(scale, Rescaling) else _of_labels(columns[place][1], scale)
        for scale, place in zip(scales, places, strict=True)
    ]


def _of_labels(codes: IntArray, n_labels: int) -> FloatArray:
    known = (codes >= 0) & (codes < n_labels)
    return np.where(known[:, None], codes[:, None] == np.arange(n_labels), np.nan)


def _width(scale: Rescaling | int) -> int:
    return scale if isinstance(scale, int) else 1


@dataclass(frozen=True)
class Resemblance:
    """How much rows resemble the landmarks, less what a row of which nothing is known does.

    Parameters
    ----------
    coordinates : Coordinates
    landmarks : ndarray (landmarks, coordinates)
    narrowness : float
    """

    coordinates: Coordinates
    landmarks: FloatArray
    narrowness: float

    def __call__(self, columns: Sequence[Column]) -> FloatArray:
        """The resemblance of rows to each landmark (rows, landmarks)."""
        return self.of_points(*self.coordinates(columns))

    def of_points(self, points: FloatArray, unknown: AnyArray) -> FloatArray:
        """The resemblance of rows with these coordinates to each landmark (rows, landmarks)."""
        exponents = (2.0 * self.narrowness * points) @ self.landmarks.T
        exponents -= self.narrowness * np.einsum("ij,ij->i", points, points)[:, None]
        exponents -= self.narrowness * np.einsum("ij,ij->i", self.landmarks, self.landmarks)
        if unknown.any():
            exponents += unknown @ self._of_unknown[0]
        result = np.exp(exponents, out=exponents)
        result -= self._of_unknown[1]
        return result

    @cached_property
    def _of_unknown(self) -> tuple[FloatArray, FloatArray]:
        """What an unknown cell adds to the exponents (columns, landmarks), and a row of none else has (landmarks,)."""
        logs, added = np.empty((2, len(self.coordinates.columns), len(self.landmarks)))
        for column, place in enumerate(self.coordinates.places):
            own = self.landmarks[:, place]
            distinct, counts = np.unique(own, axis=0, return_counts=True)  # of labels there are few
            squares, of_distinct = (self.narrowness * np.einsum("ij,ij->i", one, one) for one in (own, distinct))
            factors = own @ (2.0 * self.narrowness * distinct.T)
            factors -= squares[:, None]
            factors -= of_distinct
            logs[column] = np.log(np.exp(factors, out=factors) @ counts / len(own))
            added[column] = logs[column] + squares
        return added, np.exp(logs.sum(axis=0))

    @property
    def between_landmarks(self) -> FloatArray:
        """How much the landmarks resemble each other (landmarks, landmarks)."""
        known = np.zeros((len(self.landmarks), len(self.coordinates.columns)), dtype=bool)
        return self.of_points(self.landmarks, known) + self._of_unknown[1]


@dataclass(frozen=True)
class SimilarRowsExpert:
    """Class shares by the resemblance to landmarks, as log-probabilities.

    Parameters
    ----------
    resemblance : Resemblance
    weights : ndarray (landmarks, classes)
        What each landmark adds to the log-odds of each class, temperature included.
    log_prior : ndarray (classes,)
    """

    resemblance: Resemblance
    weights: FloatArray
    log_prior: FloatArray
    name: str = "similar rows"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        n_rows, n_coordinates = len(columns[0][1]), self.resemblance.landmarks.shape[1]
        at_once = max(1, COORDINATES_AT_ONCE // n_coordinates)
        blocks = [take_rows(columns, slice(start, start + at_once)) for start in range(0, max(n_rows, 1), at_once)]
        scores = np.concatenate([self.resemblance(block) @ self.weights for block in blocks])
        return log_softmax(self.log_prior + scores, axis=1)


def fit_similar_rows(learnt: LearntRows, n_labels: Sequence[int], strengths: FloatArray) -> FittedExpert | None:
    """Weights of landmarks, and the left-out log-probabilities of the kept rows, by the folds that lack them.

    None without columns that vary, or with few rows.

    Parameters
    ----------
    learnt : LearntRows
    n_labels : sequence of int
        How many labels each categorical column has.
    strengths : ndarray (columns,)
        How much each column tells: where there is no room for all, those that tell least stay out.
    """
    log_prior, n_rows = learnt.additive.log_prior, len(learnt.target)
    coordinates = plan_coordinates(learnt, n_labels, strengths)
    if coordinates is None or n_rows < LEAST_ROWS:
        return None
    rows = _Rows(*coordinates(learnt.columns), learnt.target, learnt.weights, learnt.folds, log_prior)
    distinct = np.unique(learnt.rows.rows, return_index=True)[1]
    order = np.random.RandomState(0).permutation(distinct)
    n_landmarks = min(MOST_LANDMARKS, int((MOST_WORK / n_rows) ** 0.5))
    landmarks = between_rows(rows.points[order], n_landmarks)
    some, few = rows.taken(order[:ROWS_TO_CHOOSE]), landmarks[:LANDMARKS_TO_CHOOSE]
    found = {one: _Regression(some, Resemblance(coordinates, few, one)).best_ridge() for one in NARROWNESSES}
    narrowness = min(found, key=lambda one: found[one].loss)
    regression, ridge = _Regression(rows, Resemblance(coordinates, landmarks, narrowness)), found[narrowness].value
    left_out = regression.left_out(ridge)
    weights = left_out.temperature * regression.weights(ridge)
    return FittedExpert(SimilarRowsExpert(regression.resemblance, weights, log_prior), left_out.log_proba)


def between_rows(points: FloatArray, n_landmarks: int) -> FloatArray:
    """Landmarks: points on the way from a row to one near it, so that a model without kept rows holds none.

    Parameters
    ----------
    points : ndarray (rows, coordinates)
        In an order of chance.
    n_landmarks : int
        At most so many.
    """
    own, places = points[:n_landmarks], np.arange(min(n_landmarks, len(points)))
    nearest, least = own, np.full(len(own), np.inf)
    for shift in range(1, NEAR_ROWS + 1):
        other = points[(places + shift) % len(points)]
        distances = ((own - other) ** 2).sum(axis=1)
        is_nearer = (distances > 0.0) & (distances < least)
        nearest, least = np.where(is_nearer[:, None], other, nearest), np.where(is_nearer, distances, least)
    return own + SHARE_OF_THE_WAY * (nearest - own)


def plan_coordinates(learnt: LearntRows, n_labels: Sequence[int], strengths: FloatArray) -> Coordinates | None:
    """Coordinates of the columns that vary and may bend; where there is no room for all, of those that tell most."""
    found = plan_columns(learnt, n_labels, strengths, _width, MOST_COORDINATES // max(len(learnt.target), 1))
    if not found:
        return None
    places = tuple(sorted(found))
    # All columns count alike: by how much each tells, those of noise that seem to tell would find rows of their class.
    units = np.array([found[place][1] for place in places]) / len(places) ** 0.5
    return Coordinates(places, tuple(found[place][0] for place in places), units)


def plan_columns(
    learnt: LearntRows,
    n_labels: Sequence[int],
    strengths: FloatArray,
    width: Callable[[Rescaling | int], int],
    room: float = math.inf,
) -> dict[int, tuple[Rescaling | int, float]]:
    """Columns that vary and may bend: how each is read, and the unit in which two rows are at a mean square of 2.

    Where the widths of how they are read exceed the room for all, it is those that tell most.
    """
    found: dict[int, tuple[Rescaling | int, float]] = {}
    for place in np.argsort(-strengths, kind="stable").tolist():
        kind, values = learnt.columns[place]
        if kind == "text" or place in learnt.additive.monotone:
            continue
        scale: Rescaling | int | None
        if kind == "categorical":
            scale, unit = _labels(values, int(n_labels[place]), learnt.weights)
        else:
            scale, unit = learnt.normal_scores(place), 1.0
        if scale is not None and width(scale) <= room:
            found[place] = scale, unit
            room -= width(scale)
    return found


def _labels(codes: IntArray, n_labels: int, weights: FloatArray) -> tuple[int | None, float]:
    """How many labels there are, None if they say nothing, and the unit of a mean squared distance of 2."""
    known = (codes >= 0) & (codes < n_labels)
    totals = np.bincount(codes[known], weights[known], n_labels)
    shares = totals / totals.sum() if totals.any() else np.ones(1)
    unlike = 1.0 - float(shares @ shares)
    return (n_labels, unlike**-0.5) if unlike > LEAST_UNLIKE else (None, 1.0)


class _LeftOut(NamedTuple):
    """What landmarks say of rows that they did not learn.

    Parameters
    ----------
    temperature : float
        What a difference of one between two shares makes in log-odds.
    log_proba : ndarray (rows, classes)
    loss : float
        Its log-loss.
    """

    temperature: float
    log_proba: FloatArray
    loss: float


@dataclass(frozen=True)
class _Rows:
    """Rows to fit weights of landmarks on."""

    points: FloatArray
    unknown: AnyArray
    target: IntArray
    weights: FloatArray
    folds: IntArray
    log_prior: FloatArray

    def taken(self, rows: IntArray) -> _Rows:
        """Some of the rows."""
        return _Rows(
            self.points[rows],
            self.unknown[rows],
            self.target[rows],
            self.weights[rows],
            self.folds[rows],
            self.log_prior,
        )

    def left_out(self, shares: FloatArray) -> _LeftOut:
        """What left-out class shares say, at the temperature that makes them honest."""
        temperature = SHARPEST * best_temperature(
            SHARPEST * shares, self.target, self.weights, SURPRISES, stands_for=np.exp(self.log_prior)
        )
        # One of several fits gains some nats by chance, however many rows there are.
        gain = self._loss(np.zeros_like(shares)) - self._loss(temperature * shares)
        temperature *= float(np.clip(gain / CERTAIN_GAIN, 0.0, 1.0))
        scores = temperature * shares
        return _LeftOut(temperature, self._log_proba(scores), self._loss(scores))

    def _log_proba(self, scores: FloatArray) -> FloatArray:
        return log_softmax(self.log_prior + scores, axis=1)

    def _loss(self, scores: FloatArray) -> float:
        return log_loss(self._log_proba(scores), self.target, self.weights)


class _Regression:
    """Ridge regressions of the classes on the resemblance to landmarks, all of which read one set of sums.

    Parameters
    ----------
    rows : _Rows
    resemblance : Resemblance
    """

    def __init__(self, rows: _Rows, resemblance: Resemblance) -> None:
        self.rows, self.resemblance = rows, resemblance
        self._table = resemblance.of_points(rows.points, rows.unknown)
        self._between = resemblance.between_landmarks.T  # which is symmetric, in the order of the products
        self._between[np.diag_indices(len(self._between))] += JITTER
        away = -np.tile(np.exp(rows.log_prior), (len(rows.target), 1))
        away[np.arange(len(away)), rows.target] += 1.0
        self._folds = [np.flatnonzero(rows.folds == fold) for fold in np.unique(rows.folds)]
        roots = np.sqrt(rows.weights)[:, None]
        self._of_folds = [_sums(roots[fold] * self._table[fold], roots[fold] * away[fold]) for fold in self._folds]
        self._products, self._pulls = (reduce(np.add, part) for part in zip(*self._of_folds, strict=True))

    def best_ridge(self) -> Least:
        """The ridge with the least left-out loss."""
        return downhill(lambda ridge: self.left_out(ridge).loss, RIDGES)

    def left_out(self, ridge: float) -> _LeftOut:
        """What landmarks say of each row, with weights that its fold had no part in."""
        shares = np.empty((len(self.rows.target), len(self.rows.log_prior)))
        for fold, (products, pulls) in zip(self._folds, self._of_folds, strict=True):
            weights = _solved(self._products - products + ridge * self._between, self._pulls - pulls)
            shares[fold] = self._table[fold] @ weights
        return self.rows.left_out(shares)

    def weights(self, ridge: float) -> FloatArray:
        """What each landmark adds to the share of each class (landmarks, classes), learnt from all rows."""
        return _solved(self._products + ridge * self._between, self._pulls)


def _sums(table: FloatArray, away: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The products of landmarks, of which only those above the diagonal are needed, and the pulls of the classes."""
    return dsyrk(1.0, table.T), table.T @ away


def _solved(products: FloatArray, pulls: FloatArray) -> FloatArray:
    """The solution of a ridge regression; the products, of which the upper half is read, are overwritten."""
    products[np.diag_indices(len(products))] += ROUNDING * products.trace()
    return np.asarray(cho_solve(cho_factor(products, overwrite_a=True, check_finite=False), pulls, check_finite=False))
