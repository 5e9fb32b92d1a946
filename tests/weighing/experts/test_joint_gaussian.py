import numpy as np
import pytest
from scipy.stats import multivariate_t

from naively._weighing.joint_gaussian import (
    DIAGONAL_SHARES,
    RELATIVE_STRENGTHS,
    JointGaussian,
    choose_joint_gaussian,
    count_moments,
    estimate_joint_gaussian,
    normal_scores,
    prior_scale,
    rescale,
)
from naively._weighing.pool import temper
from naively._weighing.softmax import log_loss

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
    for label in range(table.n_classes):
        behind = model.row_weights[label]
        degrees = 3.0 + 2.0 + moments.weights[label]
        shape = np.linalg.inv(model.inverses[label]) * (behind + 1) / (behind * degrees)
        expected = multivariate_t(model.centres[label], shape, degrees).logpdf(table.numbers)
        np.testing.assert_allclose(model.scores(table.numbers)[:, label], expected, atol=1e-9)


def test_weights_are_repetitions_in_the_moments(table: Table) -> None:
    rows = np.repeat(np.arange(len(table.target)), table.weights.astype(int))
    weighted = count_moments(table.numbers, table.target, table.n_classes, table.weights)
    repeated = count_moments(table.numbers[rows], table.target[rows], table.n_classes, np.ones(len(rows)))
    for name in ("weights", "sums", "products"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), atol=1e-12)


def test_rescaling_has_mean_zero_and_variance_one_and_is_bounded() -> None:
    values = np.random.default_rng(0).exponential(size=300)
    values[:10] = np.nan
    change = normal_scores(values, np.ones(300))
    images = rescale([change], [values])[:, 0]
    assert np.isnan(images[:10]).all()
    assert abs(images[10:].mean()) < 1e-12
    assert abs(images[10:].std() - 1) < 1e-12
    far = rescale([change], [np.array([-1e308, 1e308, np.inf, -np.inf])])[:, 0]
    assert far.tolist() == [np.nanmin(images), np.nanmax(images), np.nanmax(images), np.nanmin(images)]
    assert normal_scores(np.array([2.0, 2.0, np.nan]), np.ones(3)) is None


def test_choice_is_the_best_of_the_grid(table: Table) -> None:
    ones, others = np.ones(len(table.target)), np.zeros((len(table.target), 3))
    log_prior = np.log(np.random.default_rng(0).dirichlet(np.ones(3), len(ones)))
    moments = count_moments(table.numbers, table.target, table.n_classes, ones)
    model = choose_joint_gaussian(moments, table.numbers, table.target, ones, ones, others, log_prior)

    def loss(model: JointGaussian) -> float:
        scores = model.loo_scores(table.numbers, table.target, ones)
        return log_loss(temper(scores, log_prior, table.target, ones)[1], table.target, ones)

    scale, n_columns = prior_scale(moments), table.numbers.shape[1]
    for relative in RELATIVE_STRENGTHS:
        for share in DIAGONAL_SHARES:
            other = estimate_joint_gaussian(moments, scale, relative * n_columns, share)
            assert loss(model) <= loss(other) + 1e-9


def test_missing_cells_are_integrated_out(table: Table) -> None:
    """The density of the known cells is SciPy's multivariate t of these columns; without any there is none."""
    moments = count_moments(table.numbers, table.target, table.n_classes, table.weights)
    model = estimate_joint_gaussian(moments, prior_scale(moments), 3.0, 0.5)
    for known in ([0], [2, 1], [0, 1, 2], []):
        cells = np.full_like(table.numbers, np.nan)
        cells[:, known] = table.numbers[:, known]
        scores = model.scores(cells)
        for label in range(table.n_classes):
            behind, degrees = model.row_weights[label], 3.0 + 2.0 + moments.weights[label]
            shape = np.linalg.inv(model.inverses[label]) * (behind + 1) / (behind * degrees)
            expected = 0.0
            if known:
                density = multivariate_t(model.centres[label][known], shape[np.ix_(known, known)], degrees)
                expected = density.logpdf(table.numbers[:, known])
            np.testing.assert_allclose(scores[:, label], expected, atol=1e-9)


def test_leaving_out_rows_with_missing_cells_is_close_to_refits(table: Table) -> None:
    cells = table.numbers.copy()
    cells[::3, 0] = np.nan
    cells[1::4, 2] = np.nan
    ones = np.ones(len(table.target))
    moments = count_moments(cells, table.target, table.n_classes, ones)
    scale = prior_scale(moments)
    loo = estimate_joint_gaussian(moments, scale, 3.0, 0.5).loo_scores(cells, table.target, ones)
    for row in range(len(ones)):
        others = np.arange(len(ones)) != row
        rest = count_moments(cells[others], table.target[others], table.n_classes, ones[others])
        refit = estimate_joint_gaussian(rest, scale, 3.0, 0.5).scores(cells[[row]])[0]
        exact = not np.isnan(cells[row]).any()
        np.testing.assert_allclose(loo[row], refit, atol=1e-10 if exact else 0.1)
