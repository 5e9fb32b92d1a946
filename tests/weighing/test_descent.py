"""The solver finds what SciPy's does, keeps bounds, and ends where rounding hides what is left to gain."""

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

from naively._weighing.descent import Search, least

TIGHT = Search(gain=1e-14, slope=1e-9, steps=2000)


def logistic(seed, n_rows=200, n_columns=30):
    """The penalised log-loss of a logistic regression whose columns have very different scales."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n_columns)) * np.logspace(-1, 1, n_columns)
    y = rng.integers(0, 2, n_rows)

    def loss(weights):
        margin = np.where(y == 1, 1.0, -1.0) * (x @ weights)
        slope = -np.where(y == 1, 1.0, -1.0) / (1 + np.exp(margin))
        return float(np.logaddexp(0, -margin).sum() + 0.5 * weights @ weights), x.T @ slope + weights

    return loss


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("positive", [slice(0, 0), slice(0, 12), slice(0, 30)])
def test_the_least_is_that_of_scipy(seed, positive):
    loss = logistic(seed)
    low = np.full(30, -np.inf)
    low[positive] = 0.0
    options = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 2000}
    expected = minimize(loss, np.ones(30), jac=True, method="L-BFGS-B", bounds=Bounds(low, np.inf), options=options)
    found = least(loss, np.ones(30), positive, TIGHT)
    assert (found[positive] >= 0).all()
    assert loss(found)[0] == pytest.approx(expected.fun, rel=1e-10)
    np.testing.assert_allclose(found, expected.x, atol=1e-4)


def test_a_start_out_of_bounds_is_brought_into_them():
    found = least(lambda x: (float(x @ x), 2 * x), np.array([-3.0, -3.0]), slice(0, 1), TIGHT)
    np.testing.assert_allclose(found, [0.0, 0.0], atol=1e-6)


def test_a_value_that_is_rounded_ends_the_search():
    """Of sums in single precision no step shows a gain any more long before the slope is nothing."""
    calls = []

    def rounded(x):
        calls.append(x)
        away = (x - 1.0) * np.arange(1, 6)
        return float(np.float32(1e3 + away @ away)) + 1e-5 * len(calls), 2 * away * np.arange(1, 6)

    found = least(rounded, np.zeros(5), slice(0, 0), Search(gain=1e-9, slope=0.0, steps=200))
    assert len(calls) < 40
    np.testing.assert_allclose(found, 1.0, atol=1e-2)


def test_a_function_of_nothing_has_its_least_there():
    assert least(lambda x: (0.0, x), np.empty(0), slice(0, 0), Search()).shape == (0,)


@pytest.mark.parametrize("where", ["at the start", "after a step"])
def test_a_function_that_is_no_number_ends_the_search(where):
    def broken(x):
        lost = where == "at the start" or not np.allclose(x, 1.0)
        return (np.nan, np.full(3, np.nan)) if lost else (3.0, np.ones(3))

    np.testing.assert_array_equal(least(broken, np.ones(3), slice(0, 1), Search()), np.ones(3))
