"""A1DE and A2DE: leave-one-out against refits, the laws of counts, kernels against NumPy."""

import numpy as np
import pytest

from naively._weighing import pair_counts as counts
from naively._weighing.ande import estimate_one_parent
from naively._weighing.pair_counts import base_measure, count_pairs, count_triples
from naively._weighing.two_parents import estimate_two_parents

from .conftest import Table


def pairs_of(table: Table, rows: np.ndarray, weights: np.ndarray) -> counts.PairCounts:
    return count_pairs(table.cells[rows], table.target[rows], table.plan.n_cells, table.n_classes, weights[rows])


def triples_of(table: Table, rows: np.ndarray, weights: np.ndarray) -> counts.TripleCounts:
    return count_triples(table.codes[rows], table.target[rows], table.plan, table.n_classes, weights[rows])


@pytest.mark.parametrize("weighted", [False, True])
def test_a1de_leave_one_out_equals_refits(table: Table, weighted: bool) -> None:
    weights = table.weights if weighted else np.ones(len(table.target))
    rows = np.arange(len(table.target))
    model = estimate_one_parent(pairs_of(table, rows, weights), table.plan)
    loo = model.loo_scores(table.cells, table.target, weights)
    for row in rows:
        refit = estimate_one_parent(pairs_of(table, rows[rows != row], weights), table.plan, model.measure)
        np.testing.assert_allclose(loo[row], refit.scores(table.cells[[row]])[0], atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_a2de_leave_one_out_equals_refits(table: Table, weighted: bool) -> None:
    weights = table.weights if weighted else np.ones(len(table.target))
    rows = np.arange(len(table.target))
    model = estimate_two_parents(triples_of(table, rows, weights), table.plan)
    loo = model.loo_scores(table.codes, table.target, weights)
    for row in rows:
        refit = estimate_two_parents(triples_of(table, rows[rows != row], weights), table.plan, model.one.measure)
        np.testing.assert_allclose(loo[row], refit.scores(table.codes[[row]])[0], atol=1e-10)


def test_counts_add_and_subtract_exactly(table: Table) -> None:
    rows = np.arange(len(table.target))
    whole = triples_of(table, rows, table.weights)
    left, right = (triples_of(table, part, table.weights) for part in (rows[:25], rows[25:]))
    for name in ("base.pairs", "base.class_weights", "triples"):
        assert_same(whole, left + right, name)
        assert_same(whole - right, left, name)
        assert_same(2 * whole, whole + whole, name)
    with pytest.raises(ValueError, match="never counted"):
        left - whole


def test_weights_are_repetitions(table: Table) -> None:
    repeated = np.repeat(np.arange(len(table.target)), table.weights.astype(int))
    weighted = triples_of(table, np.arange(len(table.target)), table.weights)
    plain = count_triples(
        table.codes[repeated], table.target[repeated], table.plan, table.n_classes, np.ones(len(repeated))
    )
    for name in ("base.pairs", "base.class_weights", "triples"):
        assert_same(weighted, plain, name)


def test_all_cells_missing_gives_the_prior(table: Table) -> None:
    triples = triples_of(table, np.arange(len(table.target)), np.ones(len(table.target)))
    prior = np.log((triples.base.class_weights + 1) / (triples.base.class_weights + 1).sum())
    nothing = np.full((2, len(table.plan.sizes)), -1)
    one = estimate_one_parent(triples.base, table.plan)
    two = estimate_two_parents(triples, table.plan)
    np.testing.assert_allclose(one.scores(nothing), [prior, prior])
    np.testing.assert_allclose(two.scores(nothing), [prior, prior])


def test_a_missing_column_equals_a_dropped_column(table: Table) -> None:
    """Marginalising is exact: a column missing in training and scoring leaves no trace."""
    columns = [*table.columns[:-1], ("categorical", np.full(len(table.target), -1))]
    cells = table.plan.cells(columns)
    ones = np.ones(len(table.target))
    with_missing = estimate_one_parent(
        count_pairs(cells, table.target, table.plan.n_cells, table.n_classes, ones), table.plan
    )
    from naively._weighing.discretise import BinPlan

    plan = BinPlan(table.plan.cuts[:-1], table.plan.sizes[:-1])
    without = estimate_one_parent(count_pairs(cells[:, :-1], table.target, plan.n_cells, table.n_classes, ones), plan)
    np.testing.assert_allclose(with_missing.scores(cells), without.scores(cells[:, :-1]), atol=1e-12)


def test_columns_may_be_permuted(table: Table) -> None:
    order = [3, 0, 4, 2, 1]
    ones = np.ones(len(table.target))
    from naively._weighing.discretise import BinPlan

    plan = BinPlan(tuple(table.plan.cuts[i] for i in order), tuple(table.plan.sizes[i] for i in order))
    plain = estimate_two_parents(triples_of(table, np.arange(len(ones)), ones), table.plan)
    permuted = estimate_two_parents(
        count_triples(table.codes[:, order], table.target, plan, table.n_classes, ones), plan
    )
    np.testing.assert_allclose(plain.scores(table.codes), permuted.scores(table.codes[:, order]), atol=1e-10)


@pytest.mark.parametrize("left_out", [False, True])
def test_kernels_equal_numpy(table: Table, left_out: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def all_scores() -> list[np.ndarray]:
        triples = triples_of(table, np.arange(len(table.target)), table.weights)
        one, two = estimate_one_parent(triples.base, table.plan), estimate_two_parents(triples, table.plan)
        known = (table.target, table.weights)
        if left_out:
            return [
                triples.triples,
                triples.base.pairs,
                one.loo_scores(table.cells, *known),
                two.loo_scores(table.codes, *known),
            ]
        return [triples.triples, triples.base.pairs, one.scores(table.cells), two.scores(table.codes)]

    table.cells[0], table.codes[0] = -1, -1
    monkeypatch.setenv("NAIVELY_KERNELS", "reference")
    plain = all_scores()
    monkeypatch.setenv("NAIVELY_KERNELS", "compiled")
    for expected, compiled in zip(plain, all_scores(), strict=True):
        np.testing.assert_allclose(compiled, expected, rtol=1e-12, atol=1e-12)


def test_base_measure_sums_to_one_per_column(table: Table) -> None:
    measure = base_measure(pairs_of(table, np.arange(len(table.target)), table.weights), table.plan)
    np.testing.assert_allclose(np.add.reduceat(measure, table.plan.offsets), 1.0)


def assert_same(left: object, right: object, name: str) -> None:
    for part in name.split("."):
        left, right = getattr(left, part), getattr(right, part)
    np.testing.assert_array_equal(left, right)
