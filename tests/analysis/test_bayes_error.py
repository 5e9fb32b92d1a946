"""The error of the best rule, and that a fitted model comes to it where the assumption holds."""

import numpy as np
import pytest
from scipy import stats

from naively.errors import ParameterError
from naively.families import Categorical, Gaussian
from tests.models import textbook


@pytest.mark.parametrize("distance", [0.5, 1.0, 3.0])
def test_two_normal_classes(distance):
    model = textbook(families=Gaussian(ties="feature")).fit(
        [[-1.0], [1.0], [distance - 1], [distance + 1]], [0, 0, 1, 1]
    )
    found = model.bayes_error(40_000, seed=0)
    assert abs(found.error - stats.norm.cdf(-distance / 2)) < 4 * found.standard_error
    assert found.standard_error < 0.001
    assert found.n == 40_000


def test_discrete_columns_by_enumeration():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 2)), rng.integers(0, 3, 60)
    model = textbook(families=Categorical()).fit(X, y)
    everything = [[a, b] for a in range(3) for b in range(3)]
    joint = np.exp(model.predict_joint_log_proba(everything))
    found = model.bayes_error(50_000, seed=2)
    assert abs(found.error - (1 - joint.max(axis=1).sum())) < 4 * found.standard_error


def test_it_can_be_repeated_and_one_row_has_no_standard_error():
    model = textbook().fit([[0.0], [1.0], [2.0], [5.0]], [0, 0, 1, 1])
    assert model.bayes_error(100, seed=3) == model.bayes_error(100, seed=3)
    assert np.isnan(model.bayes_error(1, seed=3).standard_error)
    with pytest.raises(ParameterError, match="at least 1"):
        model.bayes_error(0)


def test_the_error_of_a_fitted_model_goes_to_the_bayes_error_where_the_columns_are_independent():
    rng = np.random.default_rng(1)
    truth = textbook().fit(rng.normal(size=(40, 4)) + np.repeat([[0.0], [0.8]], 20, axis=0), np.repeat([0, 1], 20))
    best = truth.bayes_error(50_000, seed=0)
    test_rows, test_labels = truth.sample(50_000, seed=1)
    sure = truth.predict_proba(test_rows)

    def excess(n):
        """How much more often than the best rule a model of n rows is wrong, by the true probabilities."""
        errors = []
        for seed in range(5):
            X, y = truth.sample(n, seed=100 + seed)
            chosen = textbook().fit(X, y).predict(test_rows)
            errors.append((sure.max(axis=1) - sure[np.arange(50_000), chosen]).mean())
        return np.mean(errors)

    excesses = [excess(n) for n in (20, 200, 20_000)]
    assert excesses[0] > 3 * excesses[1] > 9 * excesses[2] > 0
    assert excesses[2] < 2 * best.standard_error
    wrong = (truth.predict(test_rows) != test_labels).mean()
    assert abs(wrong - best.error) < 0.01


def test_where_they_are_not_independent_it_does_not():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (4000, 2))
    xor = X[:, 0] ^ X[:, 1]  # the best rule makes no error; the model can only guess
    model = textbook(families="categorical").fit(X, xor)
    assert np.abs(model.predict_proba(X) - 0.5).max() < 0.05
    assert (model.predict(X) != xor).mean() > 0.2
