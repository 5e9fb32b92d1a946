"""Leave-one-out tables against refits without the row."""

import numpy as np
import pytest
from scipy import stats

import naively.families._densities as densities
from naively.families._densities import FAMILIES, Sample, binned, log_student
from naively.families._stacking import (
    StackedColumn,
    interpolate,
    mixed_by_cell,
    mixed_by_row,
    mixture_shares,
    stack,
    standard_scores,
)
from naively.statistics._histogram import Histogram
from tests.weighing.additive_tables import class_moments

CLASSES = 3


def data(n=60, distinct=None, seed=0):
    """Draw a column with class-dependent values, some tied if ``distinct`` is given."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, CLASSES, n)
    x = rng.normal(size=n) * (1 + codes) + codes
    return (np.round(x) if distinct else x), codes


def sample_of(x, codes, weights=None):
    """Return the sample of a column."""
    one = Histogram.of(x, codes, CLASSES, weights)
    return Sample(one.values(), one.counts, *class_moments(x, codes, CLASSES, weights))


@pytest.mark.parametrize("tied", [False, True])
def test_student_leave_one_out_equals_refits(tied):
    x, codes = data(distinct=tied)
    sample = sample_of(x, codes)
    fitted = densities.student(sample)
    center = x.mean()
    rate = max(sample.m2.sum() / (len(x) - CLASSES), 1e-3 * x.var())
    cells = np.searchsorted(sample.values, x)
    for row in range(len(x)):
        rest = x[(codes == codes[row]) & (np.arange(len(x)) != row)]
        n, mean, m2 = len(rest), rest.mean(), ((rest - rest.mean()) ** 2).sum()
        rows, shape = 0.1 + n, 1 + n / 2
        scale = rate + m2 / 2 + 0.1 * n * (mean - center) ** 2 / (2 * rows)
        location = (0.1 * center + n * mean) / rows
        expected = stats.t.logpdf(x[row], 2 * shape, location, np.sqrt(scale * (rows + 1) / (shape * rows)))
        assert fitted.own()[codes[row], cells[row]] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("tied", [False, True])
def test_pooled_leave_one_out_equals_refits(tied):
    x, codes = data(distinct=tied)
    sample = sample_of(x, codes)
    fitted = densities.pooled_student(sample)
    cells = np.searchsorted(sample.values, x)
    for row in range(len(x)):
        keep = np.arange(len(x)) != row
        n, mean, m2 = class_moments(x[keep], codes[keep], CLASSES)
        own = codes[row]
        df = len(x) - 1 - CLASSES
        variance = m2.sum() / df * (1 + 1 / (n[own] + 0.1))
        location = (0.1 * x.mean() + n[own] * mean[own]) / (n[own] + 0.1)
        expected = stats.t.logpdf(x[row], df, location, np.sqrt(variance))
        assert fitted.own()[own, cells[row]] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("n_bins", [5, 10])
def test_binned_leave_one_out_equals_refits(tied, n_bins):
    x, codes = data(distinct=tied)
    sample = sample_of(x, codes)
    fitted = binned(sample, n_bins)
    bins = densities.equal_frequency(sample.counts, n_bins)[np.searchsorted(sample.values, x)]
    size = bins.max() + 1
    marginal = (np.bincount(bins, minlength=size) + 1) / (len(x) + size)
    cells = np.searchsorted(sample.values, x)
    for row in range(len(x)):
        rest = (codes == codes[row]) & (np.arange(len(x)) != row)
        expected = np.log(((bins[rest] == bins[row]).sum() + marginal[bins[row]]) / (rest.sum() + 1))
        assert fitted.own()[codes[row], cells[row]] == pytest.approx(expected, abs=1e-10)


def test_kernel_leave_one_out_equals_refits_with_the_same_grid_and_bandwidth(monkeypatch):
    x, codes = data()
    sample = sample_of(x, codes)
    fitted = densities.kernel(sample)
    margin = densities.KERNEL_MARGIN * x.std()
    step = (x.max() - x.min() + 2 * margin) / (densities.KERNEL_GRID - 1)
    width = densities.bandwidth(sample.values, np.vstack([sample.counts, sample.counts.sum(axis=0)]), step)
    monkeypatch.setattr(densities, "bandwidth", lambda *_: width.copy())
    cells = np.searchsorted(sample.values, x)
    for row in range(0, len(x), 7):
        counts = sample.counts.copy()
        counts[codes[row], cells[row]] -= 1
        refitted = densities._grid_kernels(sample.values, counts, densities.KERNEL_GRID, margin)
        expected = refitted.full[codes[row], cells[row]]
        assert fitted.own()[codes[row], cells[row]] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("tied", [False, True])
def test_tables_agree_with_evaluation(name, tied):
    x, codes = data(distinct=tied)
    sample = sample_of(x, codes)
    fitted = FAMILIES[name](sample)
    np.testing.assert_allclose(fitted.at(sample.values), fitted.full, atol=1e-12)
    assert np.isfinite(fitted.own()).all()
    assert np.isfinite(fitted.at(np.array([-1e300, -50.0, 0.3, 50.0, 1e300]))).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_weight_equals_repetitions(name):
    x, codes = data()
    times = np.arange(len(x)) % 3 + 1
    weighted = FAMILIES[name](sample_of(x, codes, times.astype(np.float64)))
    repeated = FAMILIES[name](sample_of(np.repeat(x, times), np.repeat(codes, times)))
    np.testing.assert_allclose(weighted.full, repeated.full, atol=1e-9)
    np.testing.assert_allclose(weighted.own(), repeated.own(), atol=1e-9)


@pytest.mark.parametrize("name", ["kdeq", "ef5", "ef10", "pkid"])
def test_rank_families_do_not_see_an_increasing_transformation(name):
    x, codes = data()
    np.testing.assert_allclose(
        FAMILIES[name](sample_of(x, codes)).full, FAMILIES[name](sample_of(np.exp(x), codes)).full, atol=1e-9
    )


def test_log_student_is_a_density():
    x = np.linspace(-1, 3, 5)
    expected = stats.t.logpdf(x, 4.5, 0.7, np.sqrt(2.5))
    np.testing.assert_allclose(log_student(x, np.float64(4.5), np.float64(0.7), np.float64(2.5)), expected, atol=1e-12)


def test_the_stack_equals_the_mixture_written_out():
    x, codes = data()
    sample = sample_of(x, codes)
    column = stack(sample)
    full = np.stack([FAMILIES[name](sample).full for name in FAMILIES])
    posterior = np.exp(full) / np.exp(full).sum(axis=1, keepdims=True)
    expected = np.log(np.einsum("f,fjc->jc", column.shares, posterior))
    np.testing.assert_allclose(column.full, expected - expected.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(column.evidence(sample.values), column.full, atol=1e-12)


def test_the_stacked_leave_one_out_replaces_the_own_class_only():
    x, codes = data()
    sample = sample_of(x, codes)
    column = stack(sample)
    cells = np.searchsorted(sample.values, x)
    result = column.leave_one_out(cells, codes)
    fitted = [FAMILIES[name](sample) for name in FAMILIES]
    for row in range(0, len(x), 5):
        likelihood = np.stack([one.full[:, cells[row]] for one in fitted])
        likelihood[:, codes[row]] = [one.own()[codes[row], cells[row]] for one in fitted]
        posterior = np.exp(likelihood) / np.exp(likelihood).sum(axis=1, keepdims=True)
        expected = np.log(column.shares @ posterior)
        np.testing.assert_allclose(result[:, row], expected - expected.mean(), atol=1e-10)


def test_rows_of_a_cell_are_mixed_together_as_they_are_one_by_one():
    x, codes = data()
    sample = sample_of(x, codes)
    column = stack(sample)
    cells = np.searchsorted(sample.values, x)
    own = column.own_odds(codes, cells, np.ones(len(codes)))
    shares = np.random.default_rng(0).dirichlet(np.ones(len(own)), len(x)).T
    one_by_one = mixed_by_row(shares, column.odds, own, cells, codes)
    np.testing.assert_allclose(mixed_by_cell(shares, column.odds, own, cells, codes), one_by_one, atol=1e-6)


def test_a_missing_value_gives_no_evidence():
    x, codes = data()
    column = stack(sample_of(x, codes))
    assert not column.evidence(np.array([np.nan])).any()
    assert not column.leave_one_out(np.array([-1]), np.array([0])).any()


@pytest.mark.parametrize("x", [np.empty(0), np.full(6, 3.0), np.full(6, np.nan)])
def test_a_column_without_two_values_gives_no_evidence(x):
    codes = np.arange(len(x)) % CLASSES
    column = stack(sample_of(x, codes))
    assert isinstance(column, StackedColumn)
    assert not column.evidence(np.array([1.0, 3.0, np.nan])).any()


def test_interpolation_is_linear_inside_and_constant_beyond():
    knots, table = np.array([0.0, 1.0, 3.0]), np.array([[0.0, 2.0, 0.0]])
    result = interpolate(knots, table, np.array([-9.0, 0.5, 2.0, 9.0, np.nan]))
    np.testing.assert_allclose(result, [[0.0, 1.0, 1.0, 0.0, 0.0]])


def test_shares_follow_the_likelihood():
    shares = mixture_shares(np.array([[0.9, 0.8], [0.1, 0.2]]), np.array([500.0, 500.0]))
    assert shares[0] > 0.95
    assert shares.sum() == pytest.approx(1)


def test_standard_scores_have_unit_variance():
    x, codes = data(distinct=True)
    sample = sample_of(x, codes)
    z = np.repeat(standard_scores(sample.counts), sample.counts.sum(axis=0).astype(int))
    assert z.mean() == pytest.approx(0, abs=1e-12)
    assert z.var() == pytest.approx(1)
