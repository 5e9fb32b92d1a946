import numpy as np
import pytest

from naively.analysis._pairs import PairCorrections, count_pairs, estimate_corrections, plan_bins

from ..weighing.experts.conftest import Table, table

__all__ = ["table"]


def corrections_of(
    table: Table, rows: np.ndarray, weights: np.ndarray, marginal: np.ndarray | None = None
) -> PairCorrections:
    counted = count_pairs(table.cells[rows], table.target[rows], table.plan.n_cells, table.n_classes, weights[rows])
    return estimate_corrections(counted, table.plan, marginal)


def all_pairs(table: Table) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(table.cells.shape[1], 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_refits(table: Table, weighted: bool) -> None:
    weights = table.weights if weighted else np.ones(len(table.target))
    rows = np.arange(len(table.target))
    whole = corrections_of(table, rows, weights)
    loo = whole.loo_values(table.cells, table.target, weights, *all_pairs(table))
    for row in rows:
        refit = corrections_of(table, rows[rows != row], weights, whole.marginal)
        np.testing.assert_allclose(loo[row], refit.values(table.cells[[row]], *all_pairs(table))[0], atol=1e-10)


def test_independent_columns_need_no_correction() -> None:
    """Every combination of two columns once: the joint is the product of the marginals."""
    table = Table(0)
    table.columns = [("categorical", np.repeat(np.arange(4), 15)), ("categorical", np.tile(np.arange(3), 20))]
    table.plan = plan_bins(table.columns, 5)
    table.cells = table.plan.cells(table.columns)
    table.target = np.zeros(60, dtype=np.int64)
    corrections = corrections_of(table, np.arange(60), np.ones(60))
    np.testing.assert_allclose(corrections.values(table.cells, *all_pairs(table)), 0.0, atol=1e-12)


def test_missing_cells_get_no_correction(table: Table) -> None:
    corrections = corrections_of(table, np.arange(len(table.target)), np.ones(len(table.target)))
    first, second = all_pairs(table)
    missing = (table.cells[:, first] < 0) | (table.cells[:, second] < 0)
    assert missing.any()
    values = corrections.loo_values(table.cells, table.target, table.weights, first, second)
    assert np.all(values.transpose(0, 2, 1)[missing] == 0)


def test_counting_kernel_equals_numpy(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = (table.cells, table.target, table.plan.n_cells, table.n_classes, table.weights)
    monkeypatch.setenv("NAIVELY_KERNELS", "reference")
    plain = count_pairs(*arguments).pairs
    monkeypatch.setenv("NAIVELY_KERNELS", "compiled")
    np.testing.assert_array_equal(count_pairs(*arguments).pairs, plain)
