import numpy as np
import pytest
from scipy.stats import multivariate_t

from naively._weighing.joint_gaussian import (
    choose_joint_gaussian,
    count_moments,
    estimate_joint_gaussian,
    normal_scores,
    prior_scale,
    standardised,
)

from .conftest import Table


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("strength", "share"), [(0.75, 0.1), (3.0, 0.5), (12.0, 0.1)])
def test_leave_one_out_equals_refits(table: Table, weighted: bool, strength: float, share: float) -> None:
    weights = table.weights if weighted else np.ones(len(table.target))
    moments = count_moments(table.numbers, table.target, table.n_classes, weights)
    scale = prior_scale(moments)
    loo = estimate_joint_gaussian(moments, scale, strength, share).loo_scores(table.numbers, table.target, weights)
    for row in range(len(weights)):
        others = np.arange(len(weights)) != row
        rest = count_moments(table.numbers[others], table.target[others], table.n_classes, weights[others])
        refit = estimate_joint_gaussian(rest, scale, strength, share)
        np.testing.assert_allclose(loo[row], refit.scores(table.numbers[[row]])[0], atol=1e-10)


def test_a_class_of_one_row_can_be_left_out(table: Table) -> None:
    target = table.target.copy()
    target[target == 2] = 1
    target[7] = 2
    ones = np.ones(len(target))
    moments = count_moments(table.numbers, target, 3, ones)
    scale = prior_scale(moments)
    loo = estimate_joint_gaussian(moments, scale, 3.0, 0.5).loo_scores(table.numbers, target, ones)[7]
    others = np.arange(len(target)) != 7
    rest = count_moments(table.numbers[others], target[others], 3, ones[others])
    np.testing.assert_allclose(
        loo, estimate_joint_gaussian(rest, scale, 3.0, 0.5).scores(table.numbers[[7]])[0], atol=1e-8
    )


def test_density_is_scipys_multivariate_t(table: Table) -> None:
    moments = count_moments(table.numbers, table.target, table.n_classes, table.weights)
    model = estimate_joint_gaussian(moments, prior_scale(moments), 3.0, 0.5)
    prior = np.log((moments.weights + 1) / (moments.weights + 1).sum())
    for label in range(table.n_classes):
        behind = model.row_weights[label]
        degrees = 3.0 + 2.0 + moments.weights[label]
        shape = np.linalg.inv(model.inverses[label]) * (behind + 1) / (behind * degrees)
        expected = multivariate_t(model.centres[label], shape, degrees).logpdf(table.numbers)
        np.testing.assert_allclose(model.scores(table.numbers)[:, label] - prior[label], expected, atol=1e-9)


def test_moments_add_subtract_and_repeat(table: Table) -> None:
    def moments(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        result = count_moments(table.numbers[rows], table.target[rows], table.n_classes, weights)
        return result

    rows = np.arange(len(table.target))
    whole = moments(rows, table.weights)
    left, right = moments(rows[:20], table.weights[:20]), moments(rows[20:], table.weights[20:])
    repeated = np.repeat(rows, table.weights.astype(int))
    for name in ("weights", "sums", "products"):
        np.testing.assert_allclose(getattr(left + right, name), getattr(whole, name), atol=1e-12)
        np.testing.assert_allclose(getattr(whole - right, name), getattr(left, name), atol=1e-12)
        np.testing.assert_allclose(
            getattr(moments(repeated, np.ones(len(repeated))), name), getattr(whole, name), atol=1e-12
        )


@pytest.mark.parametrize("make", [normal_scores, standardised])
def test_rescaling_has_mean_zero_variance_one_and_maps_missing_to_zero(make: object) -> None:
    values = np.random.default_rng(0).exponential(size=300)
    values[:10] = np.nan
    change = make(values, np.ones(300))
    images = change(values)
    assert np.all(images[:10] == 0)
    assert abs(images[10:].mean()) < 1e-12
    assert abs(images[10:].std() - 1) < 1e-12
    assert np.all(np.isfinite(change(np.array([-1e308, 1e308, np.inf, -np.inf]))))
    assert make(np.array([2.0, 2.0, np.nan]), np.ones(3)) is None


def test_choice_is_the_best_of_the_grid(table: Table) -> None:
    ones = np.ones(len(table.target))
    moments = count_moments(table.numbers, table.target, table.n_classes, ones)
    model, scores = choose_joint_gaussian(moments, table.numbers, table.target, ones, ones, np.zeros((len(ones), 3)))
    np.testing.assert_allclose(scores, model.loo_scores(table.numbers, table.target, ones))
