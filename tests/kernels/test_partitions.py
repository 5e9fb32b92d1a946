"""Growing partitions: the kernel beside its reference, and what a partition is."""

from copy import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively._kernels import partition_reference as reference
from naively._kernels import partitions as compiled

UNIT = 2.0**16


def packed(gradient: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
    """Derivatives in units, as the kernels want them."""
    return (np.round(gradient * UNIT).astype(np.int64) << reference.SHIFT) + np.round(stiffness * UNIT).astype(np.int64)


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
        self.derivatives = packed(pulls * learnt, random.random(pulls.shape) / 4 * learnt)
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
        rows.derivatives = packed(gradient, np.ones(len(gradient)))[None, None]
        rows.held_out_by, rows.chosen = np.ones(len(codes[0]), dtype=np.int64), np.arange(len(codes))[None]
        return rows

    def ordered(self, order: np.ndarray) -> "Rows":
        """The rows in another order."""
        result = copy(self)
        for name in ("codes", "held_out_by", "derivatives", "weights"):
            setattr(result, name, np.ascontiguousarray(getattr(self, name)[..., order]))
        return result

    def grown(self, how, depth: int = 4, seed: int = 0, least_rows: int = 3) -> tuple:
        """Columns, places and cells; sums of the derivatives and of the weights in each cell."""
        n_nodes, (n_groups, n_classes, n_rows) = 2 ** (depth + 1) - 1, self.derivatives.shape
        draws = np.random.default_rng(seed).random((n_groups, n_nodes, self.chosen.shape[1]))
        column, place = np.zeros((2, n_groups, n_nodes), dtype=np.int64)
        pulls, stiffs = np.zeros((2, n_groups, n_classes, n_nodes), dtype=np.int64)
        cells, totals = np.zeros((n_groups, n_rows), dtype=np.uint8), np.zeros((n_groups, n_nodes))
        rows = self.codes, self.n_labels, self.signs, self.held_out_by, self.groups, self.chosen, self.outputs
        how.grow(
            *rows, self.derivatives, self.weights, draws, UNIT, least_rows, column, place, cells, pulls, stiffs, totals
        )
        return column, np.where(column >= 0, place, 0), cells, pulls, stiffs, totals


@given(
    st.integers(0, 10_000),
    st.integers(1, 200),
    st.integers(1, 9),
    st.integers(1, reference.MOST_OUTPUTS),
    st.integers(1, 6),
)
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
            own = rows.derivatives[group, label, learnt]
            pull, stiff = own >> reference.SHIFT, own & reference.LOW_BITS
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


class Scores:
    """Scores of rows in cells, what is added to them, and the derivatives in some unit."""

    def __init__(self, seed: int, n_rows: int, n_classes: int, n_groups: int) -> None:
        random = np.random.default_rng(seed)
        shape = n_groups, n_classes, n_rows
        self.scores = random.normal(size=shape, scale=random.choice([1.0, 10.0])).astype(np.float32)
        self.steps = random.normal(size=(*shape[:2], 7)).astype(np.float32)
        self.cells = random.integers(0, 7, (n_groups, n_rows)).astype(np.uint8)
        self.target = random.integers(0, n_classes, n_rows)
        self.weights = random.integers(0, 5, (n_groups, n_rows)) / 2
        self.of_one = reference.units_of_one(n_classes)

    def derived(self, how) -> tuple:
        """Scores, the highest of each row, totals of exponentials, gradients, stiffnesses, and pulls of classes."""
        scores, units = self.scores.copy(), (UNIT * self.weights).astype(np.float32)
        highest, totals = np.empty_like(units), np.empty(units.shape, dtype=np.int32)
        derivatives, pulls = np.empty(scores.shape, dtype=np.int64), np.empty(scores.shape[:2], dtype=np.int64)
        how.add_steps(
            scores, self.steps, self.cells, self.target, units, self.of_one, highest, totals, derivatives, pulls
        )
        return scores, highest, totals, derivatives >> reference.SHIFT, derivatives & reference.LOW_BITS, pulls

    def permuted(self, order: np.ndarray) -> "Scores":
        """The classes in another order."""
        result = copy(self)
        result.scores, result.steps = self.scores[:, order].copy(), self.steps[:, order].copy()
        result.target = np.argsort(order)[self.target]
        return result


MANY_SCORES = given(st.integers(0, 10_000), st.integers(1, 2000), st.integers(2, 6), st.integers(1, 3))


@MANY_SCORES
@settings(max_examples=20)
def test_derivatives_are_those_of_the_loss_in_whole_units(
    seed: int, n_rows: int, n_classes: int, n_groups: int
) -> None:
    rows = Scores(seed, n_rows, n_classes, n_groups)
    for ours, theirs in zip(rows.derived(compiled), rows.derived(reference), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    scores, highest, totals, gradient, stiffness, pulls = rows.derived(reference)
    added = np.stack([step[:, cell] for step, cell in zip(rows.steps, rows.cells, strict=True)])
    np.testing.assert_array_equal(scores, rows.scores + added)
    np.testing.assert_array_equal(highest, scores.max(axis=1))
    exponentials = np.exp((scores - highest[:, None]).astype(np.float64))
    np.testing.assert_allclose(totals / rows.of_one, exponentials.sum(axis=1), rtol=2e-6)
    proba = exponentials / exponentials.sum(axis=1, keepdims=True)
    own, weight = np.arange(n_classes)[:, None] == rows.target, rows.weights[:, None]
    np.testing.assert_allclose(gradient / UNIT, weight * (own - proba), atol=1 / UNIT)
    np.testing.assert_allclose(stiffness / UNIT, weight * proba * (1 - proba), atol=1 / UNIT)
    np.testing.assert_array_equal(pulls, np.abs(gradient).sum(axis=2))


@pytest.mark.parametrize("how", [reference, compiled])
def test_exponentials_of_very_many_classes_add_up(how) -> None:
    rows = Scores(0, n_rows=3, n_classes=5000, n_groups=1)
    rows.scores[:], rows.steps[:], rows.weights[:] = 0.0, 0.0, 1.0
    _, _, totals, gradient, _, _ = rows.derived(how)
    np.testing.assert_array_equal(totals, 5000 * rows.of_one)
    own = gradient[0, rows.target, np.arange(3)]
    np.testing.assert_allclose(own / UNIT, 1 - 1 / 5000, atol=1 / UNIT)


@MANY_SCORES
@settings(max_examples=10)
def test_derivatives_do_not_depend_on_the_order_of_classes(
    seed: int, n_rows: int, n_classes: int, n_groups: int
) -> None:
    """And those of two classes mirror each other, whichever comes first."""
    rows, order = Scores(seed, n_rows, n_classes, n_groups), np.random.default_rng(seed).permutation(n_classes)
    scores, highest, totals, *of_classes = rows.derived(reference)
    permuted = rows.permuted(order).derived(reference)
    expected = scores[:, order], highest, totals, *(part[:, order] for part in of_classes)
    for ours, theirs in zip(permuted, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    if n_classes == 2:
        np.testing.assert_array_equal(of_classes[0][:, 0], -of_classes[0][:, 1])
        np.testing.assert_array_equal(of_classes[1][:, 0], of_classes[1][:, 1])
