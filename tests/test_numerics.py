"""Numbers that break naive formulas: far from zero, tiny, many, of very different weight."""

import numpy as np
import pytest
from scipy import stats

from naively.families import Gaussian
from naively.smoothing import MEstimate
from tests.models import textbook

pytestmark = pytest.mark.usefixtures("kernels")


def variances(model):
    return np.array([column["variance"] for column in model.parameters().values()])


@pytest.mark.parametrize(("offset", "tolerance"), [(1e8, 1e-12), (-1e8, 1e-12), (1e12, 1e-8)])
def test_data_far_from_zero_lose_nothing(offset, tolerance):
    random = np.random.default_rng(0)
    near, y = random.integers(-64, 64, (400, 3)) / 8, random.integers(0, 3, 400)
    model, far = textbook().fit(near, y), textbook().fit(near + offset, y)
    np.testing.assert_allclose(variances(far), variances(model), rtol=tolerance)
    exact, joint = model.predict_joint_log_proba(near), far.predict_joint_log_proba(near + offset)
    np.testing.assert_allclose(joint, exact, rtol=tolerance + abs(offset) * 1e-16)  # the mean itself is rounded


def test_random_data_at_1e8_have_the_variance_of_exact_arithmetic():
    X = np.random.default_rng(1).normal(1e8, 1.0, (500, 1))
    centred = X - 1e8  # exact: the values are close enough to 1e8
    (variance,) = variances(textbook().fit(X, np.zeros(500)))
    np.testing.assert_allclose(variance, centred.var(), rtol=1e-12)


@pytest.mark.parametrize("spread", [1e-150, 1e-140, 1e-100, 1e100, 1e149])
def test_variances_of_any_size(spread):
    random = np.random.default_rng(2)
    unit, y = random.normal(size=(100, 2)), random.integers(0, 2, 100)
    model, scaled = textbook().fit(unit, y), textbook().fit(unit * spread, y)
    np.testing.assert_allclose(variances(scaled) / spread / spread, variances(model), rtol=1e-12)
    np.testing.assert_allclose(scaled.predict_proba(unit * spread), model.predict_proba(unit), rtol=1e-10)


def test_a_variance_of_1e_300_tells_classes_apart():
    X = np.array([[0.0], [2e-150], [10e-150], [12e-150]])
    model = textbook().fit(X, ["a", "a", "b", "b"])
    np.testing.assert_allclose(variances(model), [[1e-300, 1e-300]], rtol=1e-12)
    assert model.predict(X).tolist() == ["a", "a", "b", "b"]
    expected = [stats.norm.logpdf(0.0, mean, 1e-150) + np.log(0.5) for mean in (1e-150, 11e-150)]
    np.testing.assert_allclose(model.predict_joint_log_proba(X)[0], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("family", "n_columns"),
    [
        ("gaussian", 100_000),
        ("bernoulli", 100_000),
        ("poisson", 100_000),
        ("multinomial", 100_000),
        ("categorical", 10_000),
    ],
)
def test_a_hundred_thousand_columns_do_not_underflow(family, n_columns):
    random = np.random.default_rng(3)
    y = np.array([0, 0, 1, 1])
    X = random.integers(0, 3, (4, n_columns)).astype(float)
    model = textbook(families=family).fit(X, y)
    joint, probabilities = model.predict_joint_log_proba(X), model.predict_proba(X)
    assert np.isfinite(joint).all()
    assert (joint < -1000).any()  # as a product of probabilities this would have been zero
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert model.predict(X).tolist() == y.tolist()


def test_weights_of_1e_12_and_1e12_together():
    X = np.array([[1.0], [3.0], [1.0], [3.0]])
    model = textbook().fit(X, ["light", "light", "heavy", "heavy"], [1e-12, 1e-12, 1e12, 1e12])
    assert model.class_count_.tolist() == [2e12, 2e-12]
    np.testing.assert_allclose(variances(model), [[1.0, 1.0]], rtol=1e-12)
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_light_row_beside_heavy_ones_still_counts_and_can_be_forgotten():
    heavy, light = [[1.0], [3.0]], [[7.0]]
    model = textbook().fit(heavy, ["a", "a"], [1e12, 1e12])
    before = model.statistics_
    model.partial_fit(light, ["a"], sample_weight=[1e-12])
    assert model.statistics_ != before
    model.forget(light, ["a"], [1e-12])
    assert model.statistics_.class_weight == before.class_weight
    (left,), (expected,) = model.statistics_.tables.values(), before.tables.values()
    for part in ("observed", "total", "square"):  # to the last bit of a double
        assert np.array_equal(getattr(left, part).high, getattr(expected, part).high)
        assert np.all(np.abs(getattr(left, part).low_or_zero) < 1e-25)


@pytest.mark.parametrize("family", ["categorical", "bernoulli", "poisson", "multinomial"])
def test_light_and_heavy_counts(family):
    model = textbook(families=family, smoothing=MEstimate(1e-12))
    model.fit([[1], [0], [1], [0]], list("aabb"), [1e-12, 1e-12, 1e12, 3e12])
    assert np.isfinite(model.predict_log_proba([[1], [0]])).all()


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "categorical"])
def test_float32_is_float64_of_the_same_values(family):
    random = np.random.default_rng(4)
    X, y = random.normal(1e3, 1.0, (300, 4)).astype(np.float32), random.integers(0, 3, 300)
    for order in ("C", "F"):
        single = textbook(families=family).fit(np.asarray(X, order=order), y)
        double = textbook(families=family).fit(X.astype(np.float64), y)
        assert single.statistics_ == double.statistics_
        assert np.array_equal(single.predict_log_proba(X), double.predict_log_proba(X.astype(np.float64)))


@pytest.mark.parametrize("ties", ["none", "feature"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 + 0.1, 1e-300])
def test_a_constant_column_gives_no_evidence(value, ties):
    random = np.random.default_rng(5)
    X = np.column_stack([random.normal(size=30), np.full(30, value)])
    y = np.arange(30) % 2
    model = textbook(families=Gaussian(ties=ties)).fit(X, y)
    alone = textbook(families=Gaussian(ties=ties)).fit(X[:, :1], y)
    assert (model.evidence(X)[:, 1] == 0).all()
    assert (model.evidence(X + np.array([0.0, 1.0]))[:, 1] == 0).all()
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X[:, :1]), rtol=1e-12)


def test_a_column_that_is_constant_within_one_class_keeps_a_floor():
    X = [[5.0], [5.0], [4.0], [6.0], [2.0]]
    model = textbook().fit(X, list("aabbb"))
    overall = np.var([5.0, 5.0, 4.0, 6.0, 2.0])
    np.testing.assert_allclose(variances(model)[0, 0], 1e-9 * overall, rtol=1e-12)
    assert model.predict([[5.0], [4.0]]).tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "family", [Gaussian(), Gaussian(ddof=1), Gaussian(ties="feature", ddof=1), Gaussian(ties="class")]
)
def test_a_class_with_one_row(family):
    X, y = [[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [9.0, 9.0]], list("aaab")
    model = textbook(families=family).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.predict(X).tolist() == y


def test_the_scale_of_one_column_does_not_touch_another():
    random = np.random.default_rng(6)
    X, y = random.normal(size=(60, 2)), np.arange(60) % 2
    X[y == 0, 0] = 0.5  # constant in class 0: only the floor is left
    wide = X * [1.0, 1e12]
    np.testing.assert_allclose(
        textbook().fit(wide, y).predict_proba(wide), textbook().fit(X, y).predict_proba(X), rtol=1e-9
    )


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "categorical"])
@pytest.mark.parametrize("smoothing", [0, 1])
def test_a_class_without_a_known_value_in_a_column(family, smoothing):
    X = [[1.0, 1.0], [0.0, 2.0], [np.nan, 3.0], [np.nan, 4.0]]
    model = textbook(families={0: family}, smoothing=smoothing).fit(X, list("aabb"))
    probabilities = model.predict_proba([[1.0, np.nan], [0.0, np.nan], [1.0, 3.5]])
    assert np.isfinite(probabilities).all()
    assert model.predict([[1.0, 3.5]]).tolist() == ["b"]
    if family == "gaussian":  # it borrows the mean and variance of all classes together
        np.testing.assert_allclose(model.parameters()["x0"]["mean"], [0.5, 0.5])
        np.testing.assert_allclose(model.parameters()["x0"]["variance"], [0.25, 0.25])
        np.testing.assert_allclose(probabilities[:2], 0.5, rtol=1e-12)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "categorical"])
def test_a_declared_class_without_any_row(family):
    model = textbook(families=family, prior="uniform").partial_fit([[1.0], [0.0]], ["a", "b"], classes=["a", "b", "c"])
    probabilities = model.predict_proba([[1.0], [np.nan]])
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities[1], 1 / 3, rtol=1e-12)


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("none", [[1.0, 0.25], [4.0, 0.25]]),
        ("feature", [[2.5, 0.25], [2.5, 0.25]]),
        ("class", [[0.625, 0.625], [2.125, 2.125]]),
        ("all", [[1.375, 1.375], [1.375, 1.375]]),
    ],
)
def test_the_four_ties(ties, expected):
    X = [[1.0, 0.0], [3.0, 1.0], [0.0, 5.0], [4.0, 6.0]]
    model = textbook(families=Gaussian(ties=ties)).fit(X, list("aabb"))
    np.testing.assert_allclose(variances(model).T, expected, rtol=1e-14)
    unbiased = textbook(families=Gaussian(ties=ties, ddof=1)).fit(X, list("aabb"))
    np.testing.assert_allclose(variances(unbiased).T, 2 * np.array(expected), rtol=1e-14)


def test_updating_row_by_row_equals_fitting_at_once():
    random = np.random.default_rng(7)
    X, y = random.normal(1e6, 1.0, (200, 2)), random.integers(0, 2, 200)
    model = textbook()
    for row in range(200):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    np.testing.assert_allclose(variances(model), variances(textbook().fit(X, y)), rtol=1e-12)
