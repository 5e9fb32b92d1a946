"""Growing partitions: the kernel beside its reference, and what a partition is."""

from copy import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively._kernels import partition_reference as reference
from naively._kernels import partitions as compiled

UNIT = 2.0**20


class Rows:
    """Codes of columns, numbers first, and derivatives for groups that do not learn some rows each."""

    def __init__(
        self, seed: int, n_rows: int, n_columns: int, n_classes: int, n_outputs: int, n_groups: int = 2
    ) -> None:
        random = np.random.default_rng(seed)
        self.n_labels = np.sort(np.where(random.random(n_columns) < 0.5, random.integers(3, 9, n_columns), 0))
        highest = [labels + 1 if labels else random.choice([2, 7, n_rows]) for labels in self.n_labels]
        self.codes = np.stack([random.integers(0, most, n_rows) for most in highest]).astype(np.uint16)
        self.held_out_by, self.groups = random.integers(0, n_groups + 1, n_rows), np.arange(n_groups)
        learnt = self.held_out_by != self.groups[:, None, None]
        pulls = random.normal(size=(n_groups, n_classes, n_rows)) + self.codes[0] % 3
        self.gradient = np.round(pulls * UNIT * learnt).astype(np.int64)
        self.stiffness = np.round(random.random(pulls.shape) * UNIT / 4 * learnt).astype(np.int64)
        n_chosen = int(random.integers(1, n_columns + 1))
        self.chosen = np.stack([np.sort(random.permutation(n_columns)[:n_chosen]) for _ in range(n_groups)])
        self.outputs = np.stack([np.sort(random.permutation(n_classes)[:n_outputs]) for _ in range(n_groups)])
        self.signs = random.integers(-1, 2, n_columns) * (self.n_labels == 0) * (n_outputs == 1)
        self.weights = random.integers(1, 5, n_rows) / 2

    @classmethod
    def of_one(cls, codes: list, n_labels: list, gradient: np.ndarray, signs: list) -> "Rows":
        """Rows that one group learns, all of them, for one class."""
        rows = cls(0, len(codes[0]), len(codes), 1, 1, n_groups=1)
        rows.codes, rows.n_labels, rows.signs = np.array(codes, dtype=np.uint16), np.array(n_labels), np.array(signs)
        rows.gradient = np.round(gradient * UNIT).astype(np.int64)[None, None]
        rows.stiffness = np.full_like(rows.gradient, UNIT)
        rows.held_out_by, rows.chosen = np.ones(len(codes[0]), dtype=np.int64), np.arange(len(codes))[None]
        return rows

    def ordered(self, order: np.ndarray) -> "Rows":
        """The rows in another order."""
        result = copy(self)
        for name in ("codes", "held_out_by", "gradient", "stiffness", "weights"):
            setattr(result, name, np.ascontiguousarray(getattr(self, name)[..., order]))
        return result

    def grown(self, how, depth: int = 4, seed: int = 0, least_rows: int = 3) -> tuple:
        """Columns, places and cells; sums of the derivatives and of the weights in each cell."""
        n_nodes, (n_groups, n_classes, n_rows) = 2 ** (depth + 1) - 1, self.gradient.shape
        draws = np.random.default_rng(seed).random((n_groups, n_nodes, self.chosen.shape[1]))
        column, place = np.zeros((2, n_groups, n_nodes), dtype=np.int64)
        pulls, stiffs = np.zeros((2, n_groups, n_classes, n_nodes), dtype=np.int64)
        cells, totals = np.zeros((n_groups, n_rows), dtype=np.uint8), np.zeros((n_groups, n_nodes))
        rows = self.codes, self.n_labels, self.signs, self.held_out_by, self.groups, self.chosen, self.outputs
        derivatives = self.gradient, self.stiffness, self.weights
        how.grow(*rows, *derivatives, draws, UNIT, least_rows, column, place, cells, pulls, stiffs, totals)
        return column, np.where(column >= 0, place, 0), cells, pulls, stiffs, totals


@given(st.integers(0, 10_000), st.integers(1, 200), st.integers(1, 9), st.integers(1, 5), st.integers(1, 6))
def test_the_kernel_cuts_as_numpy_does(seed: int, n_rows: int, n_columns: int, n_outputs: int, depth: int) -> None:
    rows = Rows(seed, n_rows, n_columns, n_outputs + seed % 3, n_outputs)
    for ours, theirs in zip(rows.grown(compiled, depth), rows.grown(reference, depth), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("how", [reference, compiled])
def test_a_partition_does_not_depend_on_the_order_of_rows(how) -> None:
    rows, order = Rows(1, 500, 6, 3, 3), np.random.default_rng(2).permutation(500)
    column, place, cells, *sums = rows.grown(how)
    found = rows.ordered(order).grown(how)
    for ours, theirs in zip(found, (column, place, cells[:, order], *sums), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("how", [reference, compiled])
def test_a_group_learns_nothing_of_the_rows_that_it_holds_out(how) -> None:
    rows = Rows(4, 300, 6, 3, 3)
    column, place, cells, *sums = rows.grown(how)
    other, held_out = copy(rows), rows.held_out_by == 0
    other.codes = rows.codes.copy()
    other.codes[:, held_out] = 0
    again = other.grown(how)
    np.testing.assert_array_equal(again[0][0], column[0])
    np.testing.assert_array_equal(again[1][0], place[0])
    np.testing.assert_array_equal(again[2][0][~held_out], cells[0][~held_out])
    for ours, theirs in zip(again[3:], sums, strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])


@pytest.mark.parametrize("how", [reference, compiled])
def test_rows_end_in_the_cells_that_they_made(how) -> None:
    rows = Rows(3, 400, 5, 4, 2)
    column, place, cells, pulls, stiffs, totals = rows.grown(how)
    for group in rows.groups.tolist():
        learnt, n_nodes = rows.held_out_by != group, column.shape[1]
        node = np.zeros(400, dtype=np.int64)
        for _ in range(4):
            asked = np.maximum(column[group, node], 0)
            code, at = rows.codes[asked, np.arange(400)].astype(np.int64), place[group, node]
            is_right = np.where(rows.n_labels[asked] == 0, code > at, code == at)
            node = np.where(column[group, node] >= 0, 2 * node + 1 + is_right, node)
        np.testing.assert_array_equal(cells[group], node)
        of_learnt = cells[group, learnt]
        assert np.unique(of_learnt, return_counts=True)[1].min() >= 3
        for label in range(4):
            pull, stiff = rows.gradient[group, label, learnt], rows.stiffness[group, label, learnt]
            np.testing.assert_array_equal(pulls[group, label], np.bincount(of_learnt, pull, n_nodes))
            np.testing.assert_array_equal(stiffs[group, label], np.bincount(of_learnt, stiff, n_nodes))
        np.testing.assert_array_equal(totals[group], np.bincount(of_learnt, rows.weights[learnt], n_nodes))


@pytest.mark.parametrize("how", [reference, compiled])
def test_the_cut_that_gains_most_is_taken(how) -> None:
    """Two labels of one column differ from the rest by more than any cut of a number."""
    numbers, labels = [5, 6, 7, 8] * 25, [0, 1, 2, 3] * 25
    rows = Rows.of_one([numbers, labels], [0, 4], np.where(np.array(labels) == 2, 3.0, -1.0), [0, 0])
    column, place, cells, *_ = rows.grown(how, depth=1)
    assert (column[0, 0], place[0, 0]) == (1, 2)
    np.testing.assert_array_equal(cells[0], np.where(np.array(labels) == 2, 2, 1))


@pytest.mark.parametrize("how", [reference, compiled])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_monotone_number_is_not_cut_against_its_sign(how, sign: int) -> None:
    rows = Rows.of_one([list(range(100))], [0], np.where(np.arange(100) < 50, -1.0, 1.0), [sign])
    assert rows.grown(how, depth=1)[0][0, 0] == (0 if sign == 1 else -1)


@given(st.integers(0, 10_000), st.integers(1, 50), st.integers(2, 6), st.integers(1, 3))
def test_derivatives_are_those_of_the_loss_in_whole_units(
    seed: int, n_rows: int, n_classes: int, n_groups: int
) -> None:
    random = np.random.default_rng(seed)
    scores, target = random.normal(size=(n_groups, n_classes, n_rows), scale=3), random.integers(0, n_classes, n_rows)
    weights = random.random((n_groups, n_rows)) * 5
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    found = {how: np.empty((2, *scores.shape), dtype=np.int64) for how in (reference, compiled)}
    totals = {how: np.empty((n_groups, n_rows)) for how in found}
    for how, result in found.items():
        how.derivatives(exponentials, target, UNIT * weights, totals[how], *result)
    np.testing.assert_array_equal(found[reference], found[compiled])
    np.testing.assert_array_equal(totals[reference], totals[compiled])
    np.testing.assert_allclose(totals[reference], exponentials.sum(axis=1))
    proba = exponentials / exponentials.sum(axis=1, keepdims=True)
    own, weight = np.arange(n_classes)[:, None] == target, weights[:, None]
    expected = weight * (own - proba), weight * proba * (1 - proba)
    np.testing.assert_allclose(found[reference] / UNIT, expected, atol=1 / UNIT)


@given(st.integers(0, 10_000), st.integers(1, 2000), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=20)
def test_steps_are_added_to_the_rows_of_their_cells(seed: int, n_rows: int, n_classes: int, n_groups: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.normal(size=(n_groups, n_classes, n_rows))
    steps, cells = random.normal(size=(n_groups, n_classes, 7)), random.integers(0, 7, (n_groups, n_rows))
    expected = scores + np.stack([step[:, cell] for step, cell in zip(steps, cells, strict=True)])
    for how in (reference, compiled):
        changed, shifted, highest = scores.copy(), np.empty_like(scores), np.empty((n_groups, n_rows))
        how.add_steps(changed, steps, cells.astype(np.uint8), shifted, highest)
        np.testing.assert_array_equal(changed, expected)
        np.testing.assert_array_equal(highest, expected.max(axis=1))
        np.testing.assert_array_equal(shifted, expected - expected.max(axis=1, keepdims=True))
