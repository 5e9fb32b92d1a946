"""A joint Gaussian: the normal scores of the numeric columns of a class as one multivariate normal, integrated out.

With a normal-inverse-Wishart prior the predictive density is a multivariate t. The prior scale is the pooled
within-class covariance, shrunk to its diagonal; its strength runs from a quadratic to a linear discriminant and is
chosen by leave-one-out. Normal scores are spoilt by no outlier. A missing cell is integrated out: the density is that
of the known cells. (While moments are added up it counts as the mean.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky

from naively._kernels import frozen, repays_compiler, with_reference
from naively._weighing.pool import temper
from naively._weighing.softmax import log_loss
from naively._weighing.terms import Column
from naively.families._curves import Curve, packed
from naively.families._densities import log_gamma_ratio, scores_of_weights
from naively.families._stacking import LEAST_DEVIATION
from naively.typing import AnyArray, FloatArray, IntArray

MEAN_STRENGTH = 0.1
RIDGE = 1e-6
ROUNDING = 1e-14
"""What the rounding of scatters, as a share of the largest product, may take from the diagonal of their matrix."""
RELATIVE_STRENGTHS = (0.25, 1.0, 4.0, 1e6)
DIAGONAL_SHARES = (0.1, 0.5)
BLOCK_NUMBERS = 1 << 20
"""Numbers in the matrices of missing cells that are solved at once."""


@dataclass(frozen=True)
class Rescaling:
    """A frozen, monotone change of variable of one numeric column, by interpolation between knots.

    Parameters
    ----------
    knots, scores : ndarray (knots,)
        Values and their images. A value beyond the outer knots has the image of the outer knot.
    """

    knots: FloatArray
    scores: FloatArray

    @cached_property
    def curve(self) -> Curve:
        """The images over the values; that of a missing value is NaN."""
        return Curve(self.knots, self.scores[None], np.array([np.nan]))

    @cached_property
    def packed_curve(self) -> tuple[AnyArray, ...]:
        """The curve as the kernel reads it."""
        return packed([self.curve])


def normal_scores(values: FloatArray, weights: FloatArray) -> Rescaling | None:
    """Normal scores of mid-ranks with mean 0 and variance 1; None if the values are constant."""
    used = np.isfinite(values) & (weights > 0)
    distinct, inverse = np.unique(values[used], return_inverse=True)
    if len(distinct) < 2:
        return None
    weight = np.bincount(inverse, weights=weights[used], minlength=len(distinct)).astype(np.float64)
    scores = scores_of_weights(weight)
    mean = np.average(scores, weights=weight)
    deviation = np.sqrt(np.average((scores - mean) ** 2, weights=weight))
    return Rescaling(distinct, (scores - mean) / max(deviation, LEAST_DEVIATION))


@with_reference
def rescale(rescalings: Sequence[Rescaling], columns: Sequence[FloatArray]) -> FloatArray:
    """Rescaled columns side by side (rows, columns); NaN where missing."""
    if not repays_compiler(sum(map(len, columns))):
        images = [change.curve.evidence(column) for change, column in zip(rescalings, columns, strict=True)]
        return np.concatenate(images, axis=1)
    from naively._kernels.curves import add_curves

    result = np.zeros((len(columns), len(columns[0]), 1))
    for image, change, column in zip(result, rescalings, columns, strict=True):
        add_curves(frozen(column[:, None]), *change.packed_curve, image)
    return np.ascontiguousarray(result[:, :, 0].T)


class Asked(list[Column]):
    """The columns of rows that are asked about; normal scores that several experts read are found once."""

    def __init__(self, columns: Sequence[Column]) -> None:
        super().__init__(columns)
        self._known: dict[tuple[int, int], FloatArray] = {}

    def rescaled(self, rescalings: Sequence[Rescaling], places: Sequence[int]) -> list[FloatArray]:
        """The columns at these places (rows, 1), rescaled; NaN where missing."""
        keys = [(place, id(change)) for place, change in zip(places, rescalings, strict=True)]
        new = [(key, change) for key, change in zip(keys, rescalings, strict=True) if key not in self._known]
        if new:
            images = rescale([change for _, change in new], [self[place][1] for (place, _), _ in new])
            self._known.update((key, images[:, at : at + 1]) for at, (key, _) in enumerate(new))
        return [self._known[key] for key in keys]


def asked_rows(columns: Sequence[Column]) -> Asked:
    """The columns of rows that are asked about."""
    return columns if isinstance(columns, Asked) else Asked(columns)


@dataclass(frozen=True)
class JointMoments:
    """Additive statistics: weight, sum and sum of outer products of each class."""

    weights: FloatArray
    sums: FloatArray
    products: FloatArray

    @property
    def means(self) -> FloatArray:
        """Class means (classes, columns); 0 for an empty class."""
        return self.sums / np.where(self.weights > 0, self.weights, 1.0)[:, None]

    @property
    def scatters(self) -> FloatArray:
        """Sums of squares and products around the class means (classes, columns, columns)."""
        return self.products - self.sums[:, :, None] * self.means[:, None, :]


def count_moments(rescaled: FloatArray, target: IntArray, n_classes: int, weights: FloatArray) -> JointMoments:
    """Moments of all rows; a missing cell counts as the mean, 0."""
    rescaled = np.nan_to_num(rescaled)
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


class Missing(NamedTuple):
    """Which cells of rows are missing: None if none is; and how many are known, of each row or of all alike."""

    cells: AnyArray | None
    n_known: IntArray | int

    @classmethod
    def of(cls, rescaled: FloatArray) -> Missing:
        """The missing cells of rows (rows, columns)."""
        cells = np.isnan(rescaled)
        return cls(cells, (~cells).sum(axis=1)) if cells.any() else cls(None, rescaled.shape[1])


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
        """Log predictive density of the known cells (rows, classes)."""
        missing = Missing.of(rescaled)
        scores = np.empty((len(rescaled), len(self.row_weights)))
        for label in range(len(self.row_weights)):
            shift, log_determinant = self._completed(label, rescaled, missing)
            distance = np.einsum("ni,ni->n", shift @ self.inverses[label], shift)
            scores[:, label] = self._log_density(self.row_weights[label], log_determinant, distance, missing.n_known)
        return scores

    def loo_scores(self, rescaled: FloatArray, target: IntArray, weights: FloatArray) -> FloatArray:
        """The scores of each row by a model without it, or without that much of its weight.

        The row leaves its class' scatter and the pooled one, hence every class' scale matrix: a rank-one downdate for
        the other classes, two for its own. Exact for rows without missing cells.
        """
        missing, learnt = Missing.of(rescaled), np.nan_to_num(rescaled)
        n_rows, n_classes = len(rescaled), len(self.row_weights)
        rest = self.moments.weights[target] - weights
        single = rest <= 1e-9
        # A class' only row is its own mean: it adds nothing to the scatter.
        pooled = np.where(single, 0.0, weights * self.moments.weights[target] / np.where(single, 1.0, rest))
        pooled = pooled * self.pooled_factor
        off_mean = learnt - self.moments.means[target]
        scores = np.empty((n_rows, n_classes))
        for label in range(n_classes):
            inverse, own = self.inverses[label], target == label
            shift, log_determinant = self._completed(label, rescaled, missing)
            turned = off_mean @ inverse
            leverage = _below_one(pooled * np.einsum("ni,ni->n", turned, off_mean))
            stretch = pooled / (1.0 - leverage)
            log_determinant = log_determinant + np.log1p(-leverage)
            behind = np.full(n_rows, self.row_weights[label])
            behind[own] -= weights[own]
            # Of its own class the row also leaves the mean and the scatter.
            added = learnt[own] - self.centres[label]
            shift[own] += (weights[own] / behind[own])[:, None] * added
            along = np.einsum("ni,ni->n", turned, shift)
            distance = np.einsum("ni,ni->n", shift @ inverse, shift) + stretch * along**2
            turned_own, along_own = added @ inverse, np.einsum("ni,ni->n", turned[own], added)
            own_weight = weights[own] * self.row_weights[label] / behind[own]
            size = np.einsum("ni,ni->n", turned_own, added) + stretch[own] * along_own**2
            cross = np.einsum("ni,ni->n", turned_own, shift[own]) + stretch[own] * along_own * along[own]
            own_leverage = _below_one(own_weight * size)
            distance[own] += own_weight * cross**2 / (1.0 - own_leverage)
            log_determinant[own] += np.log1p(-own_leverage)
            scores[:, label] = self._log_density(behind, log_determinant, distance, missing.n_known)
        return scores

    def _completed(self, label: int, rescaled: FloatArray, missing: Missing) -> tuple[FloatArray, FloatArray | float]:
        """Rows less the centre of a class, and the log-determinant of the scale matrix of their known cells.

        A missing cell is set to its conditional mean: with it the distance in all columns is that in the known ones.
        With K the inverse of the scale matrix S, log det S[known] = log det S + log det K[missing].
        """
        inverse = self.inverses[label]
        shift = rescaled - self.centres[label]
        if missing.cells is None:
            return shift, float(self.log_determinants[label])
        shift[missing.cells] = 0.0
        log_determinant = np.full(len(rescaled), self.log_determinants[label])
        n_missing = missing.cells.shape[1] - missing.n_known
        for count in np.unique(n_missing[n_missing > 0]).tolist():
            rows = np.flatnonzero(n_missing == count)
            step = max(1, BLOCK_NUMBERS // count**2)
            for start in range(0, len(rows), step):
                part = rows[start : start + step]
                places = np.nonzero(missing.cells[part])[1].reshape(len(part), count)
                block = inverse[places[:, :, None], places[:, None, :]]
                pull = np.take_along_axis(shift[part] @ inverse, places, axis=1)
                shift[part[:, None], places] = -np.linalg.solve(block, pull[:, :, None])[:, :, 0]
                log_determinant[part] += np.linalg.slogdet(block)[1]
        return shift, log_determinant

    def _log_density(
        self,
        row_weights: FloatArray | float,
        log_determinant: FloatArray | float,
        distance: FloatArray,
        n_known: IntArray | int,
    ) -> FloatArray:
        """Multivariate t from the posterior weight, the scale matrix' determinant and the distance in it."""
        degrees = self.strength + 2.0 + row_weights - MEAN_STRENGTH
        density: FloatArray = (
            log_gamma_ratio(degrees / 2, n_known / 2)
            - n_known / 2 * np.log(np.pi * (row_weights + 1.0) / row_weights)
            - 0.5 * log_determinant
            - (degrees + n_known) / 2 * np.log1p(row_weights / (row_weights + 1.0) * distance)
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
    log_prior: FloatArray,
) -> JointGaussian:
    """The joint Gaussian whose prior has the strength with the least tempered leave-one-out log-loss.

    Parameters
    ----------
    moments : JointMoments
    rescaled : ndarray (rows, columns)
        Learnt rows.
    target, weights, removed : ndarray (rows,)
        Their classes, weights, and how much of its weight each row is left out with.
    other_scores : ndarray (rows, classes)
        What the other columns add to each score.
    log_prior : ndarray (rows, classes)
        What stands beside the scores, whatever their temperature.
    """
    scale = prior_scale(moments)

    def loss(model: JointGaussian) -> float:
        scores = model.loo_scores(rescaled, target, removed) + other_scores
        return log_loss(temper(scores, log_prior, target, weights)[1], target, weights)

    models = [
        estimate_joint_gaussian(moments, scale, relative * rescaled.shape[1], share)
        for relative, share in product(RELATIVE_STRENGTHS, DIAGONAL_SHARES)
    ]
    return min(models, key=loss)
