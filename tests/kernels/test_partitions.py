"""Growing partitions: the kernel beside its reference, and what a partition is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively._kernels import partition_reference as reference
from naively._kernels import partitions as compiled

UNIT = 2.0**20


def rows(seed: int, n_rows: int, n_columns: int, n_outputs: int) -> tuple:
    """Codes, numbers of labels, signs, first and second derivatives."""
    random = np.random.default_rng(seed)
    n_labels = np.sort(np.where(random.random(n_columns) < 0.5, random.integers(3, 9, n_columns), 0))
    highest = [labels + 1 if labels else random.choice([2, 7, n_rows]) for labels in n_labels]
    codes = random.integers(0, highest, (n_rows, n_columns)).astype(np.uint16)
    gradient = np.round((random.normal(size=(n_rows, n_outputs)) + codes[:, :1] % 3) * UNIT)
    stiffness = np.round(random.random((n_rows, n_outputs)) * UNIT / 4)
    signs = random.integers(-1, 2, n_columns) * (n_labels == 0) * (n_outputs == 1)
    return codes, n_labels, signs, gradient, stiffness


def grown(
    how, codes, n_labels, signs, gradient, stiffness, depth: int = 4, seed: int = 0, least_rows: int = 3
) -> tuple:
    n_nodes = 2 ** (depth + 1) - 1
    draws = np.random.default_rng(seed).random((n_nodes, codes.shape[1]))
    column, place, cells = (np.zeros(size, dtype=np.int64) for size in (n_nodes, n_nodes, len(codes)))
    how.grow(codes, n_labels, signs, gradient, stiffness, draws, UNIT, least_rows, column, place, cells)
    return column, np.where(column >= 0, place, 0), cells


@given(st.integers(0, 10_000), st.integers(1, 200), st.integers(1, 9), st.integers(1, 5), st.integers(1, 6))
def test_the_kernel_cuts_as_numpy_does(seed: int, n_rows: int, n_columns: int, n_outputs: int, depth: int) -> None:
    given_rows = rows(seed, n_rows, n_columns, n_outputs)
    for ours, theirs in zip(
        grown(compiled, *given_rows, depth=depth), grown(reference, *given_rows, depth=depth), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("how", [reference, compiled])
def test_a_partition_does_not_depend_on_the_order_of_rows(how) -> None:
    codes, n_labels, signs, gradient, stiffness = rows(1, 500, 6, 3)
    order = np.random.default_rng(2).permutation(500)
    column, place, cells = grown(how, codes, n_labels, signs, gradient, stiffness)
    found = grown(how, codes[order], n_labels, signs, gradient[order], stiffness[order])
    for ours, theirs in zip(found, (column, place, cells[order]), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("how", [reference, compiled])
def test_rows_end_in_the_cells_that_they_made(how) -> None:
    given_rows = rows(3, 400, 5, 2)
    column, place, cells = grown(how, *given_rows)
    found = np.full(400, 99)
    how.ends(given_rows[0], given_rows[1], column, place, found)
    np.testing.assert_array_equal(found, cells)
    assert np.unique(cells, return_counts=True)[1].min() >= 3
    assert (column[cells] == -1).all()


@pytest.mark.parametrize("how", [reference, compiled])
def test_the_cut_that_gains_most_is_taken(how) -> None:
    """Two labels of one column differ from the rest by more than any cut of a number."""
    codes = np.array([[5, 0], [6, 1], [7, 2], [8, 3]] * 25, dtype=np.uint16)
    gradient = np.where(codes[:, 1:] == 2, UNIT, -UNIT / 3)
    column, place, cells = grown(
        how, codes, np.array([0, 4]), np.zeros(2, dtype=np.int64), gradient, np.full((100, 1), UNIT), depth=1
    )
    assert (column[0], place[0]) == (1, 2)
    np.testing.assert_array_equal(cells, np.where(codes[:, 1] == 2, 2, 1))


@pytest.mark.parametrize("how", [reference, compiled])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_monotone_number_is_not_cut_against_its_sign(how, sign: int) -> None:
    codes = np.arange(100, dtype=np.uint16)[:, None]
    gradient = np.where(codes < 50, -UNIT, UNIT)
    column, _, _ = grown(how, codes, np.array([0]), np.array([sign]), gradient, np.full((100, 1), UNIT), depth=1)
    assert column[0] == (0 if sign == 1 else -1)


@pytest.mark.parametrize("how", [reference, compiled])
def test_sums_of_cells(how) -> None:
    cells, values, sums = np.array([2, 0, 2]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.zeros((2, 3))
    how.cell_sums(cells, values, sums)
    np.testing.assert_array_equal(sums, [[2.0, 0.0, 4.0], [5.0, 0.0, 10.0]])


@given(st.integers(0, 10_000), st.integers(1, 50), st.integers(2, 6))
def test_derivatives_are_those_of_the_loss_in_whole_units(seed: int, n_rows: int, n_classes: int) -> None:
    random = np.random.default_rng(seed)
    scores, target = random.normal(size=(n_classes, n_rows), scale=3), random.integers(0, n_classes, n_rows)
    weights, exponentials = random.random(n_rows) * 5, np.exp(scores - scores.max(axis=0))
    found = {how: np.empty((2, n_classes, n_rows)) for how in (reference, compiled)}
    for how, result in found.items():
        how.derivatives(exponentials, target, UNIT * weights, *result)
    np.testing.assert_array_equal(found[reference], found[compiled])
    np.testing.assert_array_equal(found[reference], np.round(found[reference]))
    proba = exponentials / exponentials.sum(axis=0)
    own = np.arange(n_classes)[:, None] == target
    expected = weights * (own - proba), weights * proba * (1 - proba)
    np.testing.assert_allclose(found[reference] / UNIT, expected, atol=1 / UNIT)


@pytest.mark.parametrize("how", [reference, compiled])
def test_effects_are_added_to_the_rows_of_their_cells(how) -> None:
    scores = np.ones((2, 3))
    how.add_effects(scores, np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0, 1]))
    np.testing.assert_array_equal(scores, [[3.0, 2.0, 3.0], [5.0, 4.0, 5.0]])
