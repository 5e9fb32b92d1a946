"""Growing extremely random trees: the kernel beside its reference, and what a tree is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively._kernels import forest as compiled
from naively._kernels import forest_reference as reference
from naively._kernels.forest_reference import Grown

UNIT = 2**20


class Rows:
    """Codes of columns, the features that are asked for, classes and weights."""

    def __init__(self, seed: int, n_rows: int, n_columns: int, n_classes: int, with_signs: bool = False) -> None:
        random = np.random.default_rng(seed)
        n_labels = np.where(random.random(n_columns) < 0.5, random.integers(3, 6, n_columns), 0)
        highest = [labels + 1 if labels else random.choice([2, 7, n_rows]) for labels in n_labels]
        self.codes = np.stack([random.integers(0, most, n_rows) for most in highest]).astype(np.uint16)
        of_features = [(column, label) for column, n in enumerate(n_labels) for label in (range(n) if n else [-1])]
        self.column_of, self.label_of = np.array(of_features).T
        self.signs = random.integers(-1, 2, len(self.column_of)) * (self.label_of < 0) * with_signs
        self.n_classes = n_classes
        self.target = (random.integers(0, n_classes, n_rows) + self.codes[0] % 2) % n_classes
        self.units = random.integers(0, 3, n_rows) * UNIT
        self.learnt = np.flatnonzero(random.random(n_rows) < 0.8)
        self.learnt = self.learnt[np.argsort(self.target[self.learnt], kind="stable")]

    def grown(self, how, n_trees: int = 3, n_tried: int = 2, least_rows: int = 1, least_units: int = 0) -> list[Grown]:
        seeds = np.arange(n_trees).astype(np.uint64)
        rows = self.codes, self.column_of, self.label_of, self.signs, self.target, self.units
        if how is reference:
            return reference.grow(*rows, self.learnt, seeds, self.n_classes, n_tried, least_rows, least_units)
        return [self._compiled(rows, seed, n_tried, least_rows, least_units) for seed in seeds]

    def _compiled(self, rows: tuple, seed: np.uint64, n_tried: int, least_rows: int, least_units: int) -> Grown:
        most = max(2 * len(self.learnt), 1)
        tree = Grown(
            np.zeros(most, dtype=np.int32),
            np.zeros(most, dtype=np.int64),
            np.zeros(most, dtype=np.int32),
            np.zeros((most, self.n_classes), dtype=np.int64),
        )
        order = self.learnt.astype(np.uint32)
        n_nodes = compiled.grow_tree(*rows, order, seed, n_tried, least_rows, least_units, *tree)
        return Grown(*(part[:n_nodes] for part in tree))

    def ends(self, how, tree: Grown) -> np.ndarray:
        rows = self.codes, self.column_of, self.label_of, tree.feature, tree.cut, tree.right
        if how is reference:
            return reference.ends(*rows)
        found = np.zeros(self.codes.shape[1], dtype=np.int64)
        compiled.ends(*rows, found)
        return found


@given(
    st.integers(0, 10_000),
    st.integers(2, 200),
    st.integers(1, 6),
    st.integers(2, 5),
    st.integers(1, 8),
    st.integers(1, 3),
    st.booleans(),
)
@settings(max_examples=60)
def test_the_kernel_grows_the_trees_of_numpy(
    seed: int, n_rows: int, n_columns: int, n_classes: int, n_tried: int, least_rows: int, with_signs: bool
) -> None:
    rows = Rows(seed, n_rows, n_columns, n_classes, with_signs and n_classes == 2)
    least_units = seed % 4 * UNIT
    trees = [rows.grown(how, 3, n_tried, least_rows, least_units) for how in (reference, compiled)]
    for ours, theirs in zip(*trees, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(rows.ends(reference, ours), rows.ends(compiled, ours))


@pytest.mark.parametrize("how", [reference, compiled])
def test_counts_are_those_of_the_rows_that_end_below(how) -> None:
    rows = Rows(3, 300, 5, 3)
    for tree in rows.grown(how):
        ends = rows.ends(how, tree)[rows.learnt]
        counts = np.zeros_like(tree.counts)
        np.add.at(counts, (ends, rows.target[rows.learnt]), rows.units[rows.learnt])
        for node in range(len(counts))[::-1]:
            if tree.feature[node] >= 0:
                counts[node] = counts[node + 1] + counts[tree.right[node]]
        np.testing.assert_array_equal(counts, tree.counts)


@pytest.mark.parametrize("how", [reference, compiled])
def test_a_tree_grows_out(how) -> None:
    """Rows that are all different end in leaves of one class each, however few features a node tries."""
    rows = Rows(4, 100, 1, 3)
    rows.codes, rows.units = np.stack([np.arange(100), np.arange(100)[::-1]]).astype(np.uint16), np.full(100, UNIT)
    rows.column_of, rows.label_of, rows.signs = np.arange(2), np.full(2, -1), np.zeros(2, dtype=np.int64)
    for tree in rows.grown(how, n_tried=1):
        assert (np.count_nonzero(tree.counts[tree.feature < 0], axis=1) == 1).all()


@pytest.mark.parametrize("how", [reference, compiled])
def test_a_node_that_weighs_little_is_not_cut(how) -> None:
    rows = Rows(3, n_rows=300, n_columns=3, n_classes=3)
    for free, bounded in zip(rows.grown(how), rows.grown(how, least_units=20 * UNIT), strict=True):
        assert free.counts[free.feature >= 0].sum(axis=1).min() < 20 * UNIT
        assert bounded.counts[bounded.feature >= 0].sum(axis=1).min() > 20 * UNIT
        assert 1 < len(bounded.feature) < len(free.feature)


@pytest.mark.parametrize("how", [reference, compiled])
@pytest.mark.parametrize("least_rows", [1, 7])
def test_a_leaf_has_its_least_rows(how, least_rows: int) -> None:
    rows = Rows(5, 200, 4, 2)
    for tree in rows.grown(how, least_rows=least_rows):
        of_leaves = np.unique(rows.ends(how, tree)[rows.learnt], return_counts=True)[1]
        assert of_leaves.min() >= least_rows


@pytest.mark.parametrize("how", [reference, compiled])
@pytest.mark.parametrize("sign", [1, -1])
def test_no_cut_turns_a_monotone_number_round(how, sign: int) -> None:
    rows = Rows(6, 300, 1, 2)
    rows.codes = np.random.default_rng(0).permutation(300).astype(np.uint16)[None]
    rows.column_of, rows.label_of, rows.signs = np.array([0]), np.array([-1]), np.array([sign])
    n_asked = 0
    for tree in rows.grown(how, n_trees=20, n_tried=1):
        asks = np.flatnonzero(tree.feature >= 0)
        shares = tree.counts[:, 1] / tree.counts.sum(axis=1)
        assert (sign * (shares[tree.right[asks]] - shares[asks + 1]) >= 0).all()
        n_asked += len(asks)
    assert n_asked


def test_trees_do_not_depend_on_the_order_of_rows() -> None:
    rows, order = Rows(7, 300, 5, 3), np.random.default_rng(1).permutation(300)
    place = np.argsort(order)
    trees = rows.grown(compiled)
    rows.codes, rows.target, rows.units = rows.codes[:, order].copy(), rows.target[order], rows.units[order]
    rows.learnt = np.sort(place[rows.learnt])
    rows.learnt = rows.learnt[np.argsort(rows.target[rows.learnt], kind="stable")]
    for ours, theirs in zip(rows.grown(compiled), trees, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)
