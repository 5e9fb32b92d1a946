import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from naively._weighing.pool import (
    POOL_PENALTY,
    LogPool,
    drawn_to_prior,
    fit_log_pool,
    floor_log_proba,
    floor_share,
    temper,
    without_noise,
)
from naively._weighing.softmax import best_temperature

EVEN = np.log(np.full(3, 1 / 3))


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
    assert np.isfinite(temper(np.zeros((2, 2)), np.zeros((2, 2)), target, np.ones(2))[1]).all()


def test_few_rows_without_an_error_are_no_proof() -> None:
    """Two right rows and two surprises, which are right by half: three of four, log-odds of log 3."""
    found = best_temperature(np.eye(2), np.array([0, 1]), np.ones(2), surprises=2.0)
    assert found == pytest.approx(np.log(3), rel=1e-6)


def all_known(target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights of 1, rows of known cells, and an even prior."""
    return np.ones(len(target)), np.ones(len(target)), EVEN


def test_pool_prefers_the_better_expert_and_beats_it() -> None:
    scores, target = noisy_scores()
    good = log_softmax(scores, axis=1)
    noise = log_softmax(np.random.default_rng(1).normal(size=scores.shape), axis=1)
    pool = fit_log_pool([good, noise], target, *all_known(target))
    assert pool.expert_weights[0] > 0.7
    assert pool.expert_weights[1] < 0.2
    np.testing.assert_allclose(np.exp(pool.log_proba([good, noise], np.ones(len(target)))).sum(axis=1), 1.0)


def test_experts_that_say_the_prior_are_pooled_to_the_prior() -> None:
    """However much their weights add up to: here to nearly 2, since both say half of what they could."""
    log_prior, evidence = np.log([0.8, 0.2]), np.array([0.0, np.log(3)])
    target, is_high = (
        np.repeat([0, 0, 1, 1], [600, 200, 50, 150]),
        np.repeat([False, True, False, True], [600, 200, 50, 150]),
    )
    expert = log_softmax(log_prior + 0.5 * np.where(is_high[:, None], evidence, -evidence), axis=1)
    pool = fit_log_pool([expert, expert], target, np.ones(1000), np.ones(1000), log_prior)
    assert pool.expert_weights.sum() > 1.8
    np.testing.assert_allclose(pool.log_proba([log_prior[None]] * 2, np.ones(1))[0], log_prior, atol=0.02)


def test_a_row_of_unknown_cells_has_the_prior_whatever_is_added_to_others() -> None:
    pool = LogPool(np.array([0.7, 0.9]), np.array([0.5, -0.5]), np.log([0.8, 0.2]))
    found = pool.log_proba([pool.log_prior[None].repeat(3, axis=0)] * 2, np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(found[0], pool.log_prior)
    log_odds = found[:, 0] - found[:, 1]
    np.testing.assert_allclose(log_odds - log_odds[0], [0.0, 0.5, 1.0])


def test_without_rows_the_pool_is_the_plain_average() -> None:
    scores, target = noisy_scores()
    pool = fit_log_pool([scores, scores], target, np.zeros(len(target)), np.ones(len(target)), EVEN)
    np.testing.assert_allclose(pool.expert_weights, 0.5)


def test_weights_are_repetitions() -> None:
    scores, target = noisy_scores(60)
    weights = np.random.default_rng(2).integers(1, 4, 60)
    repeated = np.repeat(np.arange(60), weights)
    weighted = fit_log_pool([scores, scores**2], target, weights.astype(float), np.ones(60), EVEN)
    plain = fit_log_pool([scores[repeated], scores[repeated] ** 2], target[repeated], *all_known(repeated))
    np.testing.assert_allclose(weighted.expert_weights, plain.expert_weights, atol=1e-3)


def test_floor_bounds_the_loss_and_keeps_the_sum() -> None:
    prior = np.array([0.7, 0.3])
    floored = floor_log_proba(np.array([[0.0, -np.inf], [-1e4, 0.0]]), prior, floor_share(98))
    np.testing.assert_allclose(np.exp(floored).sum(axis=1), 1.0)
    assert floored[0, 1] == pytest.approx(np.log(0.01 * 0.3))


def test_the_pool_is_the_least_of_its_penalised_loss() -> None:
    scores, target = noisy_scores(200)
    other = np.random.default_rng(4).normal(size=scores.shape)
    experts = [log_softmax(scores, axis=1), log_softmax(other, axis=1)]
    pool = fit_log_pool(experts, target, np.ones(200), np.ones(200), EVEN)

    def loss(weights: np.ndarray, bias: np.ndarray) -> float:
        log_proba = LogPool(weights, bias, EVEN).log_proba(experts, np.ones(200))
        nats = -log_proba[np.arange(200), target].sum()
        return float(nats + POOL_PENALTY / 2 * (((weights - 0.5) ** 2).sum() + (bias**2).sum()))

    best = loss(pool.expert_weights, pool.bias)
    for step in np.random.default_rng(5).normal(scale=0.05, size=(50, 5)):
        assert loss(np.maximum(pool.expert_weights + step[:2], 0.0), pool.bias + step[2:]) >= best - 1e-6


def test_answers_without_noise_are_believed_as_if_it_had_never_been_there() -> None:
    """An expert is right, but for errors of its left-out answers, of which the size is known."""
    random = np.random.default_rng(0)
    signal = random.normal(size=(4000, 1)) * [2.0, -2.0]
    target = (random.random(4000) > np.exp(log_softmax(signal, axis=1))[:, 0]).astype(int)
    errors, noise = (0.6 * random.normal(size=(4000, 1)) * [1.0, -1.0] for _ in range(2))
    of_rows = target, np.ones(4000), np.ones(4000), np.log([0.5, 0.5])
    noisy = fit_log_pool([signal + errors], *of_rows)
    found = without_noise(noisy, [signal + errors], [noise], *of_rows)
    (of_signal,), (of_noisy,), (extrapolated,) = (
        pool.expert_weights for pool in (fit_log_pool([signal], *of_rows), noisy, found)
    )
    assert of_noisy < 0.85 * of_signal
    assert abs(extrapolated - of_signal) < 0.6 * (of_signal - of_noisy)
    assert without_noise(noisy, [signal], [None], *of_rows) is noisy


def test_only_rows_that_are_believed_less_are_drawn_to_the_prior() -> None:
    log_proba = log_softmax(np.random.default_rng(0).normal(size=(4, 3)), axis=1)
    log_prior = np.log([0.5, 0.3, 0.2])
    drawn = drawn_to_prior(log_proba, log_prior, np.array([1.0, 0.5, 0.0, 1.0]))
    np.testing.assert_array_equal(drawn[[0, 3]], log_proba[[0, 3]])
    np.testing.assert_allclose(drawn[2], log_prior)
    half = (log_proba[1] + log_prior) / 2
    np.testing.assert_allclose(drawn[1], half - np.log(np.exp(half).sum()))
    assert drawn_to_prior(log_proba, log_prior, 1.0) is log_proba
    np.testing.assert_allclose(drawn_to_prior(log_proba, log_prior, 0.0), np.tile(log_prior, (4, 1)))
