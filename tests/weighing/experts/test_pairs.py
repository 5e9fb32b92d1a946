import numpy as np
import pytest

from naively._weighing import pairs
from naively._weighing.ande import estimate_one_parent
from naively._weighing.discretise import plan_bins
from naively._weighing.pair_counts import count_pairs
from naively._weighing.pairs import PairCorrections, choose, estimate_corrections, fit_pairs, screen
from naively._weighing.softmax import Penalty, ScoreDesign

from .conftest import Table


def corrections_of(
    table: Table, rows: np.ndarray, weights: np.ndarray, marginal: np.ndarray | None = None
) -> PairCorrections:
    counted = count_pairs(table.cells[rows], table.target[rows], table.plan.n_cells, table.n_classes, weights[rows])
    return estimate_corrections(estimate_one_parent(counted, table.plan), marginal)


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


def test_screen_is_the_derivative_of_the_log_likelihood(table: Table) -> None:
    rows = np.arange(len(table.target))
    corrections = corrections_of(table, rows, table.weights)
    random = np.random.default_rng(5)
    scores = random.normal(size=(len(rows), table.n_classes))
    values = corrections.loo_values(table.cells, table.target, table.weights, *all_pairs(table))

    def loss(weight: float, pair: int) -> float:
        shifted = scores + weight * values[:, :, pair]
        log_proba = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return float(table.weights @ log_proba[rows, table.target])

    proba = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    gains = screen(corrections, table.cells, table.target, table.weights, proba[None], table.weights[None])[0]
    step = 1e-4
    for pair, gain in enumerate(gains):
        up, here, down = loss(step, pair), loss(0.0, pair), loss(-step, pair)
        slope, curvature = (up - down) / (2 * step), -(up - 2 * here + down) / step**2
        assert gain == pytest.approx(slope**2 / (2 * (curvature + 1)) if slope > 0 else 0.0, rel=1e-3, abs=1e-6)


def test_screening_kernel_equals_numpy(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    proba = random.dirichlet(np.ones(table.n_classes), (2, len(table.target)))
    row_weights = np.stack([table.weights, table.weights * (np.arange(len(table.target)) % 4 > 0)])
    corrections = corrections_of(table, np.arange(len(table.target)), table.weights)
    arguments = (corrections, table.cells, table.target, table.weights, proba, row_weights)
    monkeypatch.setenv("NAIVELY_KERNELS", "reference")
    plain = screen(*arguments)
    monkeypatch.setenv("NAIVELY_KERNELS", "compiled")
    np.testing.assert_allclose(screen(*arguments), plain, rtol=1e-10, atol=1e-12)


def test_choice_keeps_the_best_and_their_number_is_bounded() -> None:
    gains = np.array([1.0, 5.0, 2.5, 9.0])
    assert choose(gains, 4).tolist() == [3, 1, 2]
    assert len(choose(np.full(5000, 3.0), 200)) == 128


def parity(n_rows: int) -> tuple[Table, ScoreDesign, Penalty]:
    """Two columns that say nothing alone and everything together."""
    table = Table(0)
    random = np.random.default_rng(0)
    codes = random.integers(0, 2, (n_rows, 3))
    table.columns = [("categorical", codes[:, i]) for i in range(3)]
    table.target = (codes[:, 0] ^ codes[:, 1]).astype(np.int64)
    table.n_classes = 2
    table.plan = plan_bins(table.columns, 5)
    table.cells = table.plan.cells(table.columns)
    design = ScoreDesign(np.zeros((n_rows, 2)), np.zeros((n_rows, 2, 1)), np.ones((n_rows, 1)))
    return table, design, Penalty(np.ones(1), np.ones(1), np.ones(1))


def test_parity_is_found_and_named() -> None:
    table, design, penalty = parity(400)
    rows, ones = np.arange(400), np.ones(400)
    corrections = corrections_of(table, rows, ones)
    fit = fit_pairs(corrections, table.cells, table.target, ones, ones, rows % 4, design, penalty)
    assert fit is not None
    log_loss = -fit.log_posterior[rows, table.target].mean()
    assert log_loss < 0.2
    terms = pairs.pair_terms(corrections, fit, [0, 1, 2])
    assert (terms[0].first, terms[0].second) == (0, 1)
    assert terms[0].table.shape == (2, 2, 2)
    assert terms[0].table[0, 0, 0] > 0 > terms[0].table[0, 0, 1]


def test_noise_rarely_passes_the_gate() -> None:
    """A row left out of joint and marginals alike would let a quarter of these tables pass."""
    passed = 0
    rows, ones = np.arange(400), np.ones(400)
    for seed in range(30):
        random = np.random.default_rng(seed)
        table, design, penalty = parity(400)
        table.columns = [("categorical", random.integers(0, 4, 400)) for _ in range(8)]
        table.plan = plan_bins(table.columns, 5)
        table.cells = table.plan.cells(table.columns)
        table.target = random.integers(0, 2, 400)
        fit = fit_pairs(
            corrections_of(table, rows, ones), table.cells, table.target, ones, ones, rows % 4, design, penalty
        )
        if fit is not None:
            passed += 400 * np.log(2) + fit.log_posterior[rows, table.target].sum() > 2
    assert passed <= 2
