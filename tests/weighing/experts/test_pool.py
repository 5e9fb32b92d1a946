import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from naively._weighing.pool import fit_log_pool, floor_log_proba, floor_share, temper
from naively._weighing.softmax import Penalty, ScoreDesign, SoftmaxWeights, best_temperature, fit_softmax


def noisy_scores(n_rows: int = 500) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    target = random.integers(0, 3, n_rows)
    return random.normal(size=(n_rows, 3)) + 1.5 * np.eye(3)[target], target


@pytest.mark.parametrize("surprises", [0.0, 2.0, 40.0])
@pytest.mark.parametrize("factor", [0.2, 1.0, 5.0])
def test_temperature_is_the_minimum(factor: float, surprises: float) -> None:
    scores, target = noisy_scores()
    ones = np.ones(len(target))
    frequency = np.bincount(target) + 1.0
    wanted = len(target) * np.eye(3)[target] + surprises * frequency / frequency.sum()

    def loss(temperature: float) -> float:
        return -float((wanted * log_softmax(temperature * factor * scores, axis=1)).sum())

    expected = minimize_scalar(loss, bounds=(np.exp(-4), np.e), method="bounded", options={"xatol": 1e-8}).x
    assert best_temperature(factor * scores, target, ones, surprises) == pytest.approx(expected, rel=1e-4)


def test_temperature_stays_in_its_bounds_on_separable_and_hopeless_rows() -> None:
    target = np.array([0, 1])
    assert best_temperature(np.eye(2), target, np.ones(2)) == pytest.approx(np.e, rel=1e-6)
    assert best_temperature(-np.eye(2), target, np.ones(2)) == pytest.approx(np.exp(-10), rel=1e-6)
    assert np.isfinite(temper(np.zeros((2, 2)), target, np.ones(2))[1]).all()


def test_few_rows_without_an_error_are_no_proof() -> None:
    """Two right rows and two surprises, which are right by half: three of four, log-odds of log 3."""
    found = best_temperature(np.eye(2), np.array([0, 1]), np.ones(2), surprises=2.0)
    assert found == pytest.approx(np.log(3), rel=1e-6)


def test_pool_prefers_the_better_expert_and_beats_it() -> None:
    scores, target = noisy_scores()
    good = log_softmax(scores, axis=1)
    noise = log_softmax(np.random.default_rng(1).normal(size=scores.shape), axis=1)
    pool = fit_log_pool([good, noise], target, np.ones(len(target)))
    assert pool.expert_weights[0] > 0.7
    assert pool.expert_weights[1] < 0.2
    np.testing.assert_allclose(np.exp(pool.log_proba([good, noise])).sum(axis=1), 1.0)


def test_without_rows_the_pool_is_the_plain_average() -> None:
    scores, target = noisy_scores()
    pool = fit_log_pool([scores, scores], target, np.zeros(len(target)))
    np.testing.assert_allclose(pool.expert_weights, 0.5)


def test_weights_are_repetitions() -> None:
    scores, target = noisy_scores(60)
    weights = np.random.default_rng(2).integers(1, 4, 60)
    repeated = np.repeat(np.arange(60), weights)
    weighted = fit_log_pool([scores, scores**2], target, weights.astype(float))
    plain = fit_log_pool([scores[repeated], scores[repeated] ** 2], target[repeated], np.ones(len(repeated)))
    np.testing.assert_allclose(weighted.expert_weights, plain.expert_weights, atol=1e-3)


def test_floor_bounds_the_loss_and_keeps_the_sum() -> None:
    prior = np.array([0.7, 0.3])
    floored = floor_log_proba(np.array([[0.0, -np.inf], [-1e4, 0.0]]), prior, floor_share(98))
    np.testing.assert_allclose(np.exp(floored).sum(axis=1), 1.0)
    assert floored[0, 1] == pytest.approx(np.log(0.01 * 0.3))


def test_regression_reaches_a_stationary_point() -> None:
    scores, target = noisy_scores(200)
    random = np.random.default_rng(4)
    shared, evidence = random.normal(size=(2, 200, 3, 2))
    design = ScoreDesign(scores, shared, random.normal(size=(200, 2)), evidence)
    penalty = Penalty(np.array([0.5, 0.0]), np.array([1.0, 30.0]), np.array([1.0, 3.0]), 5.0)
    fitted = fit_softmax(design, target, np.ones(200), penalty)

    def loss(parameters: np.ndarray) -> float:
        weights = SoftmaxWeights(parameters[:2], parameters[2:8].reshape(2, 3), parameters[8:].reshape(2, 3))
        nats = -weights.log_proba(design)[np.arange(200), target].sum()
        squares = penalty.shared_strength @ (weights.shared - penalty.shared_centre) ** 2
        squares += penalty.row_strength @ (weights.value**2).sum(axis=1) + 5.0 * (weights.deviation**2).sum()
        return float(nats + squares / 2)

    best = np.concatenate([fitted.shared, fitted.value.ravel(), fitted.deviation.ravel()])
    for index in range(len(best)):
        for step in (-0.05, 0.05):
            moved = best.copy()
            moved[index] = max(moved[index] + step, 0.0) if index < 2 else moved[index] + step
            assert loss(moved) >= loss(best) - 1e-6
