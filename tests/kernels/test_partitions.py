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
    """Codes of columns, numbers first, and derivatives."""

    def __init__(self, seed: int, n_rows: int, n_columns: int, n_classes: int, n_outputs: int) -> None:
        random = np.random.default_rng(seed)
        self.n_labels = np.sort(np.where(random.random(n_columns) < 0.5, random.integers(3, 9, n_columns), 0))
        highest = [labels + 1 if labels else random.choice([2, 7, n_rows]) for labels in self.n_labels]
        self.codes = np.stack([random.integers(0, most, n_rows) for most in highest]).astype(np.uint16)
        pulls = random.normal(size=(n_classes, n_rows)) + self.codes[0] % 3
        self.gradient = np.round(pulls * UNIT).astype(np.int64)
        self.stiffness = np.round(random.random((n_classes, n_rows)) * UNIT / 4).astype(np.int64)
        self.outputs = np.sort(random.permutation(n_classes)[:n_outputs])
        self.signs = random.integers(-1, 2, n_columns) * (self.n_labels == 0) * (n_outputs == 1)
        self.weights = random.integers(1, 5, n_rows) / 2

    def ordered(self, order: np.ndarray) -> "Rows":
        """The rows in another order."""
        result = copy(self)
        for name in ("codes", "gradient", "stiffness", "weights"):
            setattr(result, name, np.ascontiguousarray(getattr(self, name)[..., order]))
        return result

    def grown(self, how, depth: int = 4, seed: int = 0, least_rows: int = 3) -> tuple:
        """Columns, places and cells; sums of the derivatives and of the weights in each cell."""
        n_nodes, n_classes = 2 ** (depth + 1) - 1, len(self.gradient)
        draws = np.random.default_rng(seed).random((n_nodes, len(self.codes)))
        column, place = np.zeros((2, n_nodes), dtype=np.int64)
        pulls, stiffs = np.zeros((2, n_classes, n_nodes), dtype=np.int64)
        cells, totals = np.zeros(self.codes.shape[1], dtype=np.uint8), np.zeros(n_nodes)
        rows = self.codes, self.n_labels, self.signs, self.outputs, self.gradient, self.stiffness, self.weights
        how.grow(*rows, draws, UNIT, least_rows, column, place, cells, pulls, stiffs, totals)
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
    for ours, theirs in zip(found, (column, place, cells[order], *sums), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("how", [reference, compiled])
def test_rows_end_in_the_cells_that_they_made(how) -> None:
    rows = Rows(3, 400, 5, 4, 2)
    column, place, cells, pulls, stiffs, totals = rows.grown(how)
    found = np.full(400, 99, dtype=np.uint8)
    how.ends(rows.codes, rows.n_labels, column, place, found)
    np.testing.assert_array_equal(found, cells)
    assert np.unique(cells, return_counts=True)[1].min() >= 3
    assert (column[cells] == -1).all()
    for label in range(4):
        np.testing.assert_array_equal(pulls[label], np.bincount(cells, rows.gradient[label], len(column)))
        np.testing.assert_array_equal(stiffs[label], np.bincount(cells, rows.stiffness[label], len(column)))
    np.testing.assert_array_equal(totals, np.bincount(cells, rows.weights, len(column)))


@pytest.mark.parametrize("how", [reference, compiled])
def test_the_cut_that_gains_most_is_taken(how) -> None:
    """Two labels of one column differ from the rest by more than any cut of a number."""
    rows = Rows(0, 100, 2, 1, 1)
    rows.codes = np.array([[5, 0], [6, 1], [7, 2], [8, 3]] * 25, dtype=np.uint16).T.copy()
    rows.gradient = np.where(rows.codes[1:] == 2, 3 * UNIT, -UNIT).astype(np.int64)
    rows.stiffness = np.full((1, 100), UNIT, dtype=np.int64)
    rows.n_labels, rows.signs = np.array([0, 4]), np.zeros(2, dtype=np.int64)
    column, place, cells, *_ = rows.grown(how, depth=1)
    assert (column[0], place[0]) == (1, 2)
    np.testing.assert_array_equal(cells, np.where(rows.codes[1] == 2, 2, 1))


@pytest.mark.parametrize("how", [reference, compiled])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_monotone_number_is_not_cut_against_its_sign(how, sign: int) -> None:
    rows = Rows(0, 100, 1, 1, 1)
    rows.codes, rows.n_labels, rows.signs = np.arange(100, dtype=np.uint16)[None], np.array([0]), np.array([sign])
    rows.gradient = np.where(rows.codes < 50, -UNIT, UNIT).astype(np.int64)
    rows.stiffness = np.full((1, 100), UNIT, dtype=np.int64)
    assert rows.grown(how, depth=1)[0][0] == (0 if sign == 1 else -1)


@given(st.integers(0, 10_000), st.integers(1, 50), st.integers(2, 6))
def test_derivatives_are_those_of_the_loss_in_whole_units(seed: int, n_rows: int, n_classes: int) -> None:
    random = np.random.default_rng(seed)
    scores, target = random.normal(size=(n_classes, n_rows + 3), scale=3), random.integers(0, n_classes, n_rows)
    weights, exponentials = random.random(n_rows) * 5, np.exp(scores - scores.max(axis=0))
    found = {how: np.empty((2, n_classes, n_rows), dtype=np.int64) for how in (reference, compiled)}
    totals = {how: np.empty(n_rows + 3) for how in found}
    for how, result in found.items():
        how.derivatives(exponentials, target, UNIT * weights, totals[how], *result)
    np.testing.assert_array_equal(found[reference], found[compiled])
    np.testing.assert_array_equal(totals[reference], totals[compiled])
    np.testing.assert_allclose(totals[reference], exponentials.sum(axis=0))
    proba = (exponentials / exponentials.sum(axis=0))[:, :n_rows]
    own = np.arange(n_classes)[:, None] == target
    expected = weights * (own - proba), weights * proba * (1 - proba)
    np.testing.assert_allclose(found[reference] / UNIT, expected, atol=1 / UNIT)


@given(st.integers(0, 10_000), st.integers(1, 2000), st.integers(1, 4))
@settings(max_examples=20)
def test_steps_are_added_to_the_rows_of_their_cells(seed: int, n_rows: int, n_classes: int) -> None:
    random = np.random.default_rng(seed)
    scores, steps = random.normal(size=(n_classes, n_rows)), random.normal(size=(n_classes, 7))
    cells = random.integers(0, 7, n_rows).astype(np.uint8)
    expected = scores + steps[:, cells]
    for how in (reference, compiled):
        changed, shifted, highest = scores.copy(), np.empty_like(scores), np.empty(n_rows)
        how.add_steps(changed, steps, cells, shifted, highest)
        np.testing.assert_array_equal(changed, expected)
        np.testing.assert_array_equal(highest, expected.max(axis=0))
        np.testing.assert_array_equal(shifted, expected - expected.max(axis=0))
