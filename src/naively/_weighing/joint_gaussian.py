"""Joint Gaussian experts: the numeric columns of a class as one multivariate normal, integrated out.

With a normal-inverse-Wishart prior the predictive density is a multivariate t. The prior scale is the
pooled within-class covariance, shrunk to its diagonal; its strength runs from a quadratic to a linear
discriminant and is chosen by leave-one-out. Two changes of variable serve: normal scores, which no
outlier can spoil, and standardised raw values, which keep distances. A missing cell becomes the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.special import log_softmax

from naively._weighing.softmax import best_temperature, log_loss
from naively.families._densities import log_gamma_ratio, scores_of_weights
from naively.families._stacking import LEAST_DEVIATION
from naively.typing import FloatArray, IntArray

MEAN_STRENGTH = 0.1
RIDGE = 1e-6
ROUNDING = 1e-14
"""What the rounding of scatters, as a share of the largest product, may take from the diagonal of their matrix."""
RELATIVE_STRENGTHS = (0.25, 1.0, 4.0, 1e6)
DIAGONAL_SHARES = (0.1, 0.5)
PRIOR_PSEUDO_COUNT = 1.0
# A value hundreds of deviations away says no more than this, and its square stays finite.
MAX_STANDARDISED = 100.0


@dataclass(frozen=True)
class Rescaling:
    """A frozen, monotone change of variable of one numeric column, by interpolation between knots.

    Attributes
    ----------
    knots, scores
        Values and their images. Normal scores stop at the outer knots; with ``linear`` the line
        through the first and the last knot goes on.
    """

    knots: FloatArray
    scores: FloatArray
    linear: bool

    def __call__(self, values: FloatArray) -> FloatArray:
        """Images of values; 0, the mean, for NaN."""
        if self.linear:
            knots, cells = _near_one(self.knots, self.knots), _near_one(values, self.knots)
            with np.errstate(over="ignore"):
                slope = (self.scores[1] - self.scores[0]) / (knots[1] - knots[0])
                images = np.clip((cells - knots[0]) * slope + self.scores[0], -MAX_STANDARDISED, MAX_STANDARDISED)
        else:
            images = np.interp(values, self.knots, self.scores)
        return np.where(np.isnan(values), 0.0, images)


def normal_scores(values: FloatArray, weights: FloatArray) -> Rescaling | None:
    """Normal scores of mid-ranks with unit variance; from values or histogram cells. ``None`` if constant."""
    distinct, weight = _distinct(values, weights)
    if len(distinct) < 2:
        return None
    return _unit_variance(distinct, scores_of_weights(weight), weight, linear=False)


def standardised(values: FloatArray, weights: FloatArray) -> Rescaling | None:
    """Mean 0, variance 1; from values or histogram cells. ``None`` if constant."""
    distinct, weight = _distinct(values, weights)
    if len(distinct) < 2:
        return None
    ends = np.array([0, len(distinct) - 1])
    cells = _near_one(distinct, distinct)
    scores = (cells - cells[0]) / (cells[-1] - cells[0])
    full = _unit_variance(distinct, scores, weight, linear=True)
    return Rescaling(full.knots[ends], full.scores[ends], linear=True)


def _near_one(values: FloatArray, knots: FloatArray) -> FloatArray:
    """Values times the power of two that brings the knots near one: the span of huge or tiny ones is then a number."""
    exponent = int(np.frexp(np.abs(knots).max())[1])
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(values, -exponent))


def _distinct(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    used = np.isfinite(values) & (weights > 0)
    distinct, inverse = np.unique(values[used], return_inverse=True)
    return distinct, np.bincount(inverse, weights=weights[used], minlength=len(distinct)).astype(np.float64)


def _unit_variance(distinct: FloatArray, scores: FloatArray, weight: FloatArray, linear: bool) -> Rescaling:
    mean = np.average(scores, weights=weight)
    deviation = np.sqrt(np.average((scores - mean) ** 2, weights=weight))
    return Rescaling(distinct, (scores - mean) / max(deviation, LEAST_DEVIATION), linear)


def rescale(rescalings: Sequence[Rescaling], columns: Sequence[FloatArray]) -> FloatArray:
    """Rescaled columns side by side (rows, columns)."""
    return np.stack([change(column) for change, column in zip(rescalings, columns, strict=True)], axis=1)


@dataclass(frozen=True)
class JointMoments:
    """Additive statistics: weight, sum and sum of outer products of each class."""

    weights: FloatArray
    sums: FloatArray
    products: FloatArray

    def __add__(self, other: JointMoments) -> JointMoments:
        return JointMoments(self.weights + other.weights, self.sums + other.sums, self.products + other.products)

    def __sub__(self, other: JointMoments) -> JointMoments:
        return JointMoments(self.weights - other.weights, self.sums - other.sums, self.products - other.products)

    @property
    def means(self) -> FloatArray:
        """Class means (classes, columns); 0 for an empty class."""
        return self.sums / np.where(self.weights > 0, self.weights, 1.0)[:, None]

    @property
    def scatters(self) -> FloatArray:
        """Sums of squares and products around the class means (classes, columns, columns)."""
        return self.products - self.sums[:, :, None] * self.means[:, None, :]


def count_moments(rescaled: FloatArray, target: IntArray, n_classes: int, weights: FloatArray) -> JointMoments:
    """Moments of all rows, in one pass."""
    n_columns = rescaled.shape[1]
    class_weights = np.bincount(target, weights=weights, minlength=n_classes).astype(np.float64)
    sums = np.zeros((n_classes, n_columns))
    products = np.zeros((n_classes, n_columns, n_columns))
    for label in np.unique(target):
        rows = rescaled[target == label]
        weighted = rows * weights[target == label, None]
        sums[label] = weighted.sum(axis=0)
        products[label] = weighted.T @ rows
    return JointMoments(class_weights, sums, products)


@dataclass(frozen=True)
class PriorScale:
    """What the prior takes from the data beside the pooled scatter, frozen when a row is left out.

    Attributes
    ----------
    diagonal
        Pooled within-class variances (columns,).
    degrees
        Divisor of the pooled scatter: rows minus classes.
    """

    diagonal: FloatArray
    degrees: float


def prior_scale(moments: JointMoments) -> PriorScale:
    """Variances and degrees of freedom of the pooled within-class covariance."""
    degrees = max(float(moments.weights.sum() - np.count_nonzero(moments.weights)), 1.0)
    variances = np.einsum("jii->i", moments.scatters) / degrees
    return PriorScale(np.maximum(variances, 0.0), degrees)


@dataclass(frozen=True)
class JointGaussian:
    """The predictive densities of all classes for one strength of the prior.

    Attributes
    ----------
    moments
        Statistics.
    strength, diagonal_share
        Prior rows behind the pooled covariance, and how far it is shrunk to its diagonal.
    pooled_factor
        What one unit of pooled scatter adds to each class' scale matrix.
    centres, row_weights
        Posterior mean of each class (classes, columns) and the weight behind it.
    inverses, log_determinants
        Of the posterior scale matrices.
    """

    moments: JointMoments
    strength: float
    diagonal_share: float
    pooled_factor: float
    centres: FloatArray
    row_weights: FloatArray
    inverses: FloatArray
    log_determinants: FloatArray

    def scores(self, rescaled: FloatArray) -> FloatArray:
        """Log prior plus log predictive density (rows, classes)."""
        prior = self.moments.weights + PRIOR_PSEUDO_COUNT
        scores = np.empty((len(rescaled), len(prior)))
        for label in range(len(prior)):
            shift = rescaled - self.centres[label]
            distance = np.einsum("ni,ni->n", shift @ self.inverses[label], shift)
            scores[:, label] = self._log_density(self.row_weights[label], self.log_determinants[label], distance)
        scores += np.log(prior / prior.sum())
        return scores

    def loo_scores(self, rescaled: FloatArray, target: IntArray, weights: FloatArray) -> FloatArray:
        """The scores of each row without itself.

        The row leaves its class' scatter and the pooled one, hence every class' scale matrix: a
        rank-one downdate for the other classes, two for its own.
        """
        n_rows, n_classes = len(rescaled), len(self.row_weights)
        rest = self.moments.weights[target] - weights
        alone = rest <= 1e-9
        # A class' only row is its own mean: it adds nothing to the scatter.
        pooled = np.where(alone, 0.0, weights * self.moments.weights[target] / np.where(alone, 1.0, rest))
        pooled = pooled * self.pooled_factor
        off_mean = rescaled - self.moments.means[target]
        scores = np.empty((n_rows, n_classes))
        for label in range(n_classes):
            shift = rescaled - self.centres[label]
            turned = off_mean @ self.inverses[label]
            leverage = _below_one(pooled * np.einsum("ni,ni->n", turned, off_mean))
            cross = np.einsum("ni,ni->n", turned, shift)
            distance = np.einsum("ni,ni->n", shift @ self.inverses[label], shift)
            distance = distance + pooled * cross**2 / (1.0 - leverage)
            log_determinant = self.log_determinants[label] + np.log1p(-leverage)
            behind = np.full(n_rows, self.row_weights[label])
            own = target == label
            grown = behind[own] / (behind[own] - weights[own])
            own_leverage = _below_one(weights[own] * grown * distance[own])
            distance[own] *= grown**2 / (1.0 - own_leverage)
            log_determinant[own] += np.log1p(-own_leverage)
            behind[own] -= weights[own]
            scores[:, label] = self._log_density(behind, log_determinant, distance)
        prior = np.repeat(self.moments.weights[None] + PRIOR_PSEUDO_COUNT, n_rows, axis=0)
        prior[np.arange(n_rows), target] -= weights
        scores += np.log(prior / prior.sum(axis=1, keepdims=True))
        return scores

    def _log_density(
        self, row_weights: FloatArray | float, log_determinant: FloatArray | float, distance: FloatArray
    ) -> FloatArray:
        """Multivariate t from the posterior weight, the scale matrix' determinant and the distance in it."""
        n_columns = self.centres.shape[1]
        degrees = self.strength + 2.0 + row_weights - MEAN_STRENGTH
        density: FloatArray = (
            log_gamma_ratio(degrees / 2, n_columns / 2)
            - n_columns / 2 * np.log(np.pi * (row_weights + 1.0) / row_weights)
            - 0.5 * log_determinant
            - (degrees + n_columns) / 2 * np.log1p(row_weights / (row_weights + 1.0) * distance)
        )
        return density


def _below_one(leverage: FloatArray) -> FloatArray:
    """Rounding may push the leverage of a decisive row to 1, where the downdate would be singular."""
    return np.minimum(leverage, 1.0 - 1e-9)


def estimate_joint_gaussian(
    moments: JointMoments, scale: PriorScale, strength: float, diagonal_share: float
) -> JointGaussian:
    """Predictive densities for one strength of the prior.

    Parameters
    ----------
    moments
        Statistics; the prior mean is 0, the mean of rescaled columns.
    scale
        Frozen parts of the prior scale.
    strength
        Rows that the pooled covariance is worth beyond the two that keep the density proper.
    diagonal_share
        Share of the diagonal in the prior covariance.
    """
    n_columns = moments.sums.shape[1]
    scatters, means = moments.scatters, moments.means
    pooled_factor = (strength + 2.0) * (1.0 - diagonal_share) / scale.degrees
    prior = pooled_factor * scatters.sum(axis=0)
    prior += (strength + 2.0) * np.diag(diagonal_share * scale.diagonal + RIDGE)
    prior += ROUNDING * np.abs(moments.products).max(initial=0.0) * np.eye(n_columns)
    row_weights = MEAN_STRENGTH + moments.weights
    pull = MEAN_STRENGTH * moments.weights / row_weights
    matrices = prior + scatters + pull[:, None, None] * means[:, :, None] * means[:, None, :]
    inverses = np.empty_like(matrices)
    log_determinants = np.empty(len(matrices))
    for label, matrix in enumerate(matrices):
        factor = cholesky(matrix, lower=True)
        inverses[label] = cho_solve((factor, True), np.eye(n_columns))
        log_determinants[label] = 2.0 * np.log(np.diag(factor)).sum()
    centres = moments.sums / row_weights[:, None]
    return JointGaussian(
        moments, strength, diagonal_share, pooled_factor, centres, row_weights, inverses, log_determinants
    )


def choose_joint_gaussian(
    moments: JointMoments,
    rescaled: FloatArray,
    target: IntArray,
    weights: FloatArray,
    removed: FloatArray,
    other_scores: FloatArray,
) -> tuple[JointGaussian, FloatArray]:
    """The prior strength with the least tempered leave-one-out log-loss, and its left-out scores.

    ``removed`` (rows,) is what each row gave to the moments, and ``other_scores`` (rows, classes) what the other
    columns add to each score.
    """
    scale = prior_scale(moments)
    n_columns = rescaled.shape[1]
    best: tuple[float, JointGaussian, FloatArray] | None = None
    for relative, share in product(RELATIVE_STRENGTHS, DIAGONAL_SHARES):
        model = estimate_joint_gaussian(moments, scale, relative * n_columns, share)
        scores = model.loo_scores(rescaled, target, removed) + other_scores
        temperature = best_temperature(scores, target, weights)
        loss = log_loss(log_softmax(temperature * scores, axis=1), target, weights)
        if best is None or loss < best[0]:
            best = (loss, model, scores)
    assert best is not None
    return best[1], best[2]
