import numpy as np
import pytest

from naively.analysis._pairs import columns_within_budget, encode, plan_bins
from naively.families._bins import equal_frequency_cuts


def test_bins_have_equal_weight_without_ties() -> None:
    values = np.random.default_rng(0).normal(size=1000)
    cuts = equal_frequency_cuts(values, n_bins=10)
    assert np.bincount(np.searchsorted(cuts, values, side="right")).tolist() == [100] * 10


def test_weights_are_repetitions() -> None:
    random = np.random.default_rng(1)
    values, weights = random.normal(size=50).round(1), random.integers(1, 5, 50)
    np.testing.assert_array_equal(
        equal_frequency_cuts(values, weights.astype(float), 5),
        equal_frequency_cuts(np.repeat(values, weights), None, 5),
    )


def test_cuts_from_histogram_cells_equal_cuts_from_values() -> None:
    values = np.random.default_rng(2).integers(0, 40, 500).astype(float)
    cells, counts = np.unique(values, return_counts=True)
    np.testing.assert_array_equal(equal_frequency_cuts(cells, counts.astype(float)), equal_frequency_cuts(values))


@pytest.mark.parametrize("values", [[], [np.nan], [3.0, 3.0], [1e308, -1e308], [0.0, 5e-324], [-np.inf, 0.0, np.inf]])
def test_extreme_values_get_finite_codes(values: list[float]) -> None:
    column = np.array(values)
    plan = plan_bins([("numeric", column)], 10)
    codes = encode([("numeric", column)], plan)[:, 0]
    assert np.all((codes == -1) == np.isnan(column))
    assert codes.max(initial=0) < plan.sizes[0]
    assert len(np.unique(codes[codes >= 0])) == len(np.unique(column[~np.isnan(column)]))


def test_few_values_keep_a_bin_each_and_heavy_ties_stay_whole() -> None:
    assert len(equal_frequency_cuts(np.array([0.0] * 90 + [1.0, 2.0]), n_bins=10)) == 2
    tied = np.array([0.0] * 90 + list(range(1, 21)))
    assert equal_frequency_cuts(tied, n_bins=10)[0] == 0.5


def test_missing_and_unknown_are_minus_one() -> None:
    plan = plan_bins([("categorical", np.array([0, 1, -1]))], 10)
    assert encode([("categorical", np.array([-1, 0, 1, 7]))], plan)[:, 0].tolist() == [-1, 0, 1, -1]


def test_largest_columns_leave_first() -> None:
    assert columns_within_budget([3, 1000, 4], 2, power=2, budget=100).tolist() == [0, 2]
    assert columns_within_budget([3, 4], 2, power=2, budget=1).tolist() == []
