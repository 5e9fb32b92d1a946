"""Kernel densities without background: exact sums of bells, R's bandwidth, R's grid, leave-one-out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from naively import NaiveBayes, compat, load
from naively.errors import ParameterError
from naively.families import Kernel
from naively.families._bandwidths import nrd0, quartiles
from naively.families._bells import COMPACT, KERNELS, log_bell

GRIDS = [{}, {"points": 512}, {"points": 512, "nearest": True}]


def rows(n=80, seed=0, decimals=1):
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    return np.round(random.normal(5 + y, 0.8), decimals)[:, None], y


def fitted(family, X, y, weights=None):
    return NaiveBayes("textbook", families=family).fit(X, y, weights)


def bandwidth_of(x):
    """R's bw.nrd0, from its documentation."""
    low, high = np.quantile(x, [0.25, 0.75])
    scale = min(x.std(ddof=1), (high - low) / 1.34) or x.std(ddof=1) or abs(x[0]) or 1.0
    return 0.9 * scale * len(x) ** -0.2


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=30))
def test_bandwidth_and_quartiles_are_those_of_r(values):
    x = np.array(values, dtype=float)
    cells, counts = np.unique(x, return_counts=True)
    np.testing.assert_allclose(quartiles(cells, counts), np.quantile(x, [0.25, 0.75]), atol=1e-12)
    assert nrd0(cells, counts, ((x - x.mean()) ** 2).sum()) == pytest.approx(bandwidth_of(x), rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_bells_have_area_one_and_standard_deviation_one(kernel):
    x = np.linspace(-8, 8, 160_001)
    height = np.exp(log_bell(x, kernel))
    np.testing.assert_allclose(np.trapezoid(height, x), 1.0, atol=1e-4)
    np.testing.assert_allclose(np.trapezoid(height * x**2, x), 1.0, atol=1e-3)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("adjust", [1.0, 1.5])
def test_the_density_is_the_mean_of_bells(kernel, adjust):
    X, y = rows()
    evidence = fitted(Kernel("nrd0", adjust, kernel=kernel, background=False), X, y).evidence(X)
    for code in range(3):
        own = X[y == code, 0]
        width = adjust * bandwidth_of(own)
        x = np.clip(X[:, 0], own.min() - 3 * width, own.max() + 3 * width)
        expected = np.exp(log_bell((x[:, None] - own) / width, kernel)).mean(axis=1) / width
        np.testing.assert_allclose(np.exp(evidence[:, 0, code]), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", GRIDS, ids=str)
def test_the_grid_of_r_is_near_the_exact_sum(options):
    X, y = rows(decimals=3)
    exact = np.exp(fitted(Kernel("nrd0", background=False), X, y).evidence(X))
    actual = np.exp(fitted(Kernel("nrd0", background=False, **options), X, y).evidence(X))
    assert np.abs(actual - exact).max() < 6e-3 * exact.max()


@pytest.mark.parametrize("options", GRIDS, ids=str)
def test_between_the_values_the_density_is_read_smoothly(options):
    X, y = rows()
    grid = np.linspace(2.5, 9.5, 701)[:, None]
    actual = np.exp(fitted(Kernel("nrd0", background=False, **options), X, y).evidence(grid))
    for code in range(3):
        own = X[y == code, 0]
        width = bandwidth_of(own)
        x = np.clip(grid, own.min() - 3 * width, own.max() + 3 * width)
        expected = stats.norm.pdf(x, own, width).mean(axis=1)
        half_a_step = (np.ptp(own) + 6 * width) / 511 / 2
        steepest = np.abs(np.gradient(expected, grid[:, 0])).max()
        tolerance = 2e-3 * expected.max() + (half_a_step * steepest if options.get("nearest") else 0.0)
        assert np.abs(actual[:, 0, code] - expected).max() < tolerance


def test_a_density_is_held_beyond_three_bandwidths():
    X, y = np.array([[1.0], [2.0], [7.0], [9.0]]), [0, 0, 1, 1]
    for options in GRIDS:
        model = fitted(Kernel(0.5, background=False, **options), X, y)
        far = model.evidence([[1.0 - 1.5], [-1e9], [2.0 + 1.5], [1e9]])[:, 0, 0]
        assert far[0] == pytest.approx(far[1], rel=1e-12)
        assert far[2] == pytest.approx(far[3], rel=1e-12)
        assert far[0] == pytest.approx(np.log(stats.norm.pdf(-0.5, [1, 2], 0.5).mean()), rel=2e-3)


def test_a_bandwidth_for_each_class():
    X, y = rows()
    widths = [0.2, 0.5, 1.0]
    actual = fitted(Kernel(widths, background=False), X, y).evidence(X)
    for code, width in enumerate(widths):
        same = fitted(Kernel(width, background=False), X, y).evidence(X)
        np.testing.assert_array_equal(actual[:, :, code], same[:, :, code])
    with pytest.raises(ParameterError, match="2 bandwidths, but there are 3 classes"):
        fitted(Kernel(widths[:2], background=False), X, y).predict(X)


@pytest.mark.parametrize("options", GRIDS, ids=str)
def test_weights_are_repetitions(options):
    X, y = rows(30)
    weights = np.random.default_rng(1).integers(1, 4, 30)
    family = Kernel("nrd0", background=False, **options)
    actual = fitted(family, X, y, weights).evidence(X)
    np.testing.assert_allclose(
        actual, fitted(family, np.repeat(X, weights, axis=0), np.repeat(y, weights)).evidence(X), rtol=1e-9
    )


def test_classes_with_one_value_or_none():
    X, y = np.array([[1.0], [2.0], [4.0], [7.0], [np.nan]]), ["a", "a", "a", "b", "c"]
    evidence = fitted(Kernel("nrd0", background=False), X, y).evidence([[3.0], [7.0]])[:, 0]
    everyone = np.array([1.0, 2.0, 4.0, 7.0])
    width = bandwidth_of(everyone)
    np.testing.assert_allclose(evidence[1, 1], stats.norm.logpdf(7, 7, width))
    np.testing.assert_allclose(np.exp(evidence[0, 2]), stats.norm.pdf(3, everyone, width).mean(), rtol=1e-4)


def test_a_constant_column_has_the_bandwidth_that_r_takes():
    X, y = np.full((6, 1), 2.0), [0, 0, 0, 0, 1, 1]
    evidence = fitted(Kernel("nrd0", background=False), X, y).evidence([[2.0]])[0, 0]
    np.testing.assert_allclose(evidence, [stats.norm.logpdf(0, 0, 0.9 * 2 * n**-0.2) for n in (4, 2)])


@pytest.mark.parametrize("kernel", ["gaussian", "biweight"])
@pytest.mark.parametrize("options", GRIDS, ids=str)
def test_leave_one_out_takes_away_the_row_s_own_bell(kernel, options):
    X, y = rows(40)
    model = NaiveBayes("textbook", families=Kernel(0.4, kernel=kernel, background=False, **options), prior="uniform")
    actual = model.fit(X, y).loo(X, y)
    evidence = model.evidence(X)[:, 0]
    for place in range(len(X)):
        others = X[(y == y[place]) & (np.arange(len(X)) != place), 0]
        evidence[place, y[place]] = np.log(np.exp(log_bell((X[place] - others) / 0.4, kernel)).mean() / 0.4)
    expected = evidence - np.log(np.exp(evidence).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-8)


def test_leave_one_out_of_a_class_with_one_row():
    X, y = np.array([[1.0], [2.0], [4.0], [7.0]]), ["a", "a", "a", "b"]
    model = NaiveBayes("textbook", families=Kernel(1.0, background=False), prior="uniform").fit(X, y)
    # nothing is left of b, so that it borrows the density of what is left of all: of a
    np.testing.assert_allclose(np.exp(model.loo(X[3:], y[3:])[0]), [0.5, 0.5], rtol=1e-9)


@pytest.mark.parametrize("power", [10, 400, -400])
def test_the_unit_moves_log_densities_by_its_logarithm(power):
    X, y = rows()
    family = Kernel("nrd0", background=False)
    there = np.ldexp(X, power)
    gap = fitted(family, X, y).evidence(X) - fitted(family, there, y).evidence(there)
    np.testing.assert_allclose(gap, power * np.log(2), rtol=1e-6, atol=1e-6)


def test_a_model_file_keeps_the_options(tmp_path):
    X, y = rows()
    family = Kernel([0.2, 0.5, 1.0], 1.5, kernel="cosine", background=False, points=256, nearest=True)
    model = fitted(family, X, y)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.families == family
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Kernel("sj"), "'SJ', 'nrd0', 'silverman', 'ucv' or a number"),
        (lambda: Kernel("nrd0"), "add background=False"),
        (lambda: Kernel(kernel="biweight"), "add background=False"),
        (lambda: Kernel([0.1, 0.2]), "add background=False"),
        (lambda: Kernel([0.1, 0.0], background=False), r"Kernel\(bandwidth\)"),
        (lambda: Kernel(kernel="bell", background=False), r"Kernel\(kernel\)"),
        (lambda: Kernel(points=512), "add background=False"),
        (lambda: Kernel(points=1, background=False), r"Kernel\(points\)"),
        (lambda: Kernel(points=2.5, background=False), r"Kernel\(points\)"),
        (lambda: Kernel(background=1), r"Kernel\(background\)"),
        (lambda: Kernel(scores=True, background=False), "with background"),
    ],
)
def test_bad_options_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_compact_bells_end():
    X, y = np.array([[1.0], [2.0], [7.0], [9.0]]), [0, 0, 1, 1]
    for name, (width, _) in COMPACT.items():
        model = fitted(Kernel(0.1, kernel=name, background=False), X, y)
        assert np.exp(model.evidence([[1.0 + 0.1 * width * 1.2]])[0, 0, 0]) < 1e-300
        assert np.isfinite(model.predict_proba([[4.0]])).all()


def test_a_grid_of_the_data_keeps_more_distinct_values(tmp_path):
    X = np.random.default_rng(0).permutation(6000)[:, None] / 4  # sums of these are exact
    y = (X[:, 0] > 700).astype(int)
    model = compat.klar(usekernel=True).fit(X, y)
    (fine,) = (table.histograms[0] for summary, table in model.statistics_.tables.items() if summary.most_cells)
    assert len(fine.keys) == 6000
    halves = compat.klar(usekernel=True).fit(X[:2500], y[:2500]) + compat.klar(usekernel=True).fit(X[2500:], y[2500:])
    assert halves.statistics_ == model.statistics_
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").statistics_ == model.statistics_
