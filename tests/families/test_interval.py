"""The probability of rounded values: exact in all tails, at most one, and the density where the interval is small."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import NaiveBayes, load
from naively.errors import ParameterError, RecipeError
from naively.families import Gaussian
from naively.families._intervals import log_interval_probability
from tests.models import textbook


def exact(deviation, width):
    """The same from the Taylor series of the normal integral, in as many digits as it takes."""
    with localcontext() as context:
        context.prec = 420
        half = Decimal(width) / 2
        upper, lower = Decimal(deviation) + half, Decimal(deviation) - half
        total, k = Decimal(0), 0
        up, low = upper, lower
        while True:
            term = (up - low) / (2 * k + 1)
            total += term
            k += 1
            up, low = -up * upper * upper / (2 * k), -low * lower * lower / (2 * k)
            if k > 20 and max(abs(up), abs(low)) < Decimal("1e-400"):
                break
        pi = Decimal(
            "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
        )
        return float((total / (2 * pi).sqrt()).ln())


@pytest.mark.parametrize("deviation", [0.0, 1e-3, 0.3, -0.5, 1.0, -2.5, 5.0, -9.0, 14.0, -21.0])
@pytest.mark.parametrize("width", [1e-12, 1e-6, 0.01, 0.4, 1.0, 1.3, 2.0, 6.0, 20.0])
def test_it_has_all_its_digits(deviation, width):
    expected = exact(deviation, width)
    assert log_interval_probability(np.array([deviation]), np.array([width]))[0] == pytest.approx(
        expected, rel=1e-14, abs=1e-15
    )


@given(st.floats(-40, 40), st.floats(1e-6, 100))
def test_it_is_symmetric_and_at_most_one(deviation, width):
    both = log_interval_probability(np.array([deviation, -deviation]), np.array([width, width]))
    assert both[0] == both[1]
    assert -np.inf < both[0] <= 0.0


@given(st.floats(0.01, 5.0), st.floats(-1, 1))
def test_neighbouring_intervals_share_out_everything(width, offset):
    centres = np.arange(-40 / width, 40 / width + 1) * width + offset
    assert np.exp(log_interval_probability(centres, np.full(len(centres), width))).sum() == pytest.approx(
        1.0, abs=1e-12
    )


@pytest.mark.parametrize("deviation", [0.0, 1.0, -1e10, 1e300])
@pytest.mark.parametrize("width", [1e-320, 1e-10, 1.0, 1e10, 1e300])
def test_extremes_are_finite(deviation, width):
    assert np.isfinite(log_interval_probability(np.array([deviation]), np.array([width]))).all()


X = np.array([[1.0], [2.0], [2.0], [4.0], [6.0], [7.0], [9.0]])
Y = np.array(["a", "a", "a", "a", "b", "b", "b"])


def test_a_small_interval_times_the_density_and_so_no_matter_between_classes():
    plain = textbook().fit(X, Y)
    asked = np.linspace(-5, 15, 41)[:, None]
    for interval in (1e-3, 1e-9):
        rounded = textbook(families=Gaussian(interval=interval)).fit(X, Y)
        gap = rounded.evidence(asked) - plain.evidence(asked) - np.log(interval)
        assert np.abs(gap).max() < interval**2 * 30 + 1e-12  # the next term is w^2 (z^2 - 1) / 24
        np.testing.assert_allclose(rounded.predict_proba(asked), plain.predict_proba(asked), atol=interval**2 + 1e-11)


def test_the_example_of_the_notes():
    """mu = 2, sigma = 1.5, from 3 to 3.001: 2.129e-4, where the density at 3 gives 2.130e-4."""
    assert np.exp(log_interval_probability(np.array([1.0005 / 1.5]), np.array([0.001 / 1.5])))[0] == pytest.approx(
        2.1292e-4, rel=1e-4
    )


def test_a_wide_interval_is_never_more_than_certain():
    model = textbook(families=Gaussian(interval=1.0)).fit([[3.0], [3.0], [3.0], [1.0], [5.0]], list("aaabb"))
    evidence = model.evidence([[3.0], [2.0]])[:, 0]
    assert evidence[0, 0] == 0.0  # all of class a is rounded to 3: a density would be beyond measure
    assert (evidence <= 0).all()
    assert np.isfinite(evidence).all()
    dense = textbook().fit([[3.0], [3.0], [3.0], [1.0], [5.0]], list("aaabb"))
    assert dense.evidence([[3.0]])[0, 0, 0] > 8


def test_a_constant_column_and_a_missing_cell_say_nothing():
    model = textbook(families=Gaussian(interval=0.5)).fit([[2.0, 1.0], [2.0, 3.0], [2.0, 4.0]], list("aab"))
    assert model.evidence([[2.0, np.nan], [7.0, np.nan]]).tolist() == [[[0.0, 0.0], [0.0, 0.0]]] * 2


@pytest.mark.parametrize("ties", ["none", "feature", "class", "all"])
def test_leaving_out_is_forgetting(ties):
    random = np.random.default_rng(5)
    X, y = random.normal(size=(20, 2)).round(1), np.arange(20) % 2
    X[3, 0] = np.nan
    families = Gaussian(ties=ties, interval=0.1)
    model = textbook(families=families).fit(X, y)
    left_out = model.loo(X, y)
    for row in range(20):
        other = textbook(families=families).fit(X, y).forget(X[row : row + 1], y[row : row + 1])
        np.testing.assert_allclose(left_out[row], other.predict_log_proba(X[row : row + 1])[0], rtol=1e-11)


def test_the_option_goes_through_a_model_file(tmp_path):
    model = textbook(families={0: Gaussian(interval=0.5)}).fit(X, Y)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.families == {0: Gaussian(interval=0.5)}
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_it_can_be_set_after_fitting_and_sees_frames():
    model = textbook().fit({"age": X[:, 0]}, Y)
    changed = model.set_params(families={"age": Gaussian(interval=1.0)}).predict_proba({"age": [5.0]})
    assert np.array_equal(
        changed, textbook(families=Gaussian(interval=1.0)).fit({"age": X[:, 0]}, Y).predict_proba({"age": [5.0]})
    )


@pytest.mark.parametrize("interval", [0, -1.0, float("nan"), float("inf"), "auto", True])
def test_a_bad_interval_is_refused(interval):
    with pytest.raises(ParameterError, match=r"Gaussian\(interval\)"):
        Gaussian(interval=interval)


def test_it_has_no_likelihood_from_moments():
    model = textbook(families=Gaussian(interval=1.0)).fit({"age": X[:, 0]}, Y)
    with pytest.raises(RecipeError, match="'age'"):
        _ = model.log_likelihood_
    kept = NaiveBayes().fit({"age": X[:, 0]}, Y).set_params(recipe="textbook", families=Gaussian(interval=1.0))
    joint = kept.predict_joint_log_proba({"age": X[:, 0]})
    expected = joint[np.arange(len(Y)), (Y == "b").astype(int)].sum()
    assert kept.log_likelihood_ == pytest.approx(expected, rel=1e-13)
