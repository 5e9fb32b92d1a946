"""What bounds the cost of weighing where a table has many classes, columns or values."""

import numpy as np
import pytest
from scipy import sparse

from naively import NaiveBayes
from naively._table.table import SparseTable
from naively._weighing.additive import _affordable
from naively._weighing.effects import BLOCK_VALUES, EFFECT_BINS, category_basis, effect_table
from naively._weighing.reading import FEW_CELLS, LEAST_CELLS, MANY_COLUMNS, MOST_TABLE, cells_within
from naively._weighing.terms import take_rows
from naively.families._densities import Sample
from naively.families._plain_stack import PlainStack
from naively.recipes import ALL_WAYS
from naively.statistics._histogram import Histogram

from .additive_tables import class_moments


def test_a_histogram_within_fewer_cells_holds_the_same_rows():
    rng = np.random.default_rng(0)
    x, codes = rng.normal(size=3000), rng.integers(0, 3, 3000)
    whole = Histogram.of(x, codes, 3)
    few = whole.within(100)
    assert len(few.keys) <= 100 < len(whole.keys)
    np.testing.assert_array_equal(few.totals, whole.totals)
    assert (few.cell_of(x) >= 0).all()
    assert whole.within(len(whole.keys)) is whole


@pytest.mark.filterwarnings("ignore:The data deserve a look")  # they do: that is the case in question
def test_the_tables_of_densities_are_bounded_with_many_classes():
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(300), rng.integers(0, 300, 2700)])
    model = NaiveBayes("fast").fit(rng.normal(size=(3000, 1)), y)
    (source,) = model._estimated()[0].weighed.model.sources
    assert source.histogram.counts.shape[1] <= max(LEAST_CELLS, MOST_TABLE // 300)
    assert source.stacked is not source.stacked  # and no source holds them
    np.testing.assert_array_equal(source.stacked.table, source.stacked.table)


def test_what_is_let_go_is_found_again():
    rng = np.random.default_rng(0)
    codes, x = np.arange(90) % 3, rng.normal(size=(4, 90))
    histograms = [Histogram.of(column, codes, 3) for column in x]
    moments = [class_moments(column, codes, 3) for column in x]
    samples = [Sample(one.values(), one.counts, *of) for one, of in zip(histograms, moments, strict=True)]
    stack = PlainStack.of(samples, np.ones(3))
    cells = np.stack([one.cell_of(column) for one, column in zip(histograms, x, strict=True)])
    before = stack.leave_one_out(cells, codes, np.ones(90))
    held = set(vars(stack))
    stack.let_go()
    assert {"odds", "own_odds"} <= held - set(vars(stack))
    np.testing.assert_array_equal(stack.leave_one_out(cells, codes, np.ones(90)), before)


def test_all_rows_are_not_copied():
    columns = [("numeric", np.arange(5.0)), ("categorical", np.arange(5))]
    assert take_rows(columns, np.arange(5)) == columns
    assert take_rows(columns, np.array([0, 0, 1, 2, 3]))[0][1].tolist() == [0, 0, 1, 2, 3]
    assert take_rows([], np.arange(0)) == []


def test_very_many_columns_share_the_cells():
    assert [cells_within(columns, 2) for columns in (1, 256, 1024, 10**6)] == [1 << 16, 2048, 512, FEW_CELLS]
    assert cells_within(1, 1000) == MOST_TABLE // 1000
    assert cells_within(10, 10**6) == LEAST_CELLS


def test_candidates_that_cost_more_than_they_tell_are_left_out():
    assert list(_affordable(ALL_WAYS, 2, 4000, 100)) == list(ALL_WAYS)
    assert list(_affordable(ALL_WAYS, 2, 4000, 2000)) == ["T", "W", "CV"]
    assert list(_affordable(ALL_WAYS, 1000, 5000, 10)) == ["T", "W"]
    assert list(_affordable(["CV", "V3"], 1000, 5000, 10)) == ["W"]


def test_effects_of_many_values_are_those_of_the_whole_basis():
    rng = np.random.default_rng(0)
    basis = category_basis(rng.integers(0, 3 * BLOCK_VALUES, 500) // 100)
    values = np.arange(2 * BLOCK_VALUES + 7)
    effects = rng.normal(size=(3, basis(values[:1]).shape[1]))
    np.testing.assert_allclose(effect_table(effects, basis, values), effects @ basis(values).T)
    assert effect_table(effects, basis, values[:0]).shape == (3, 0)


def test_effects_of_many_values_are_sparse():
    """One number for each row and column, not one for each row and value."""
    codes = np.concatenate([np.repeat(np.arange(500), 2), [-1, 7000]])
    basis = category_basis(codes)(codes)
    assert sparse.issparse(basis)
    assert basis.nnz == 1000
    np.testing.assert_array_equal(basis.toarray(), codes[:, None] == np.arange(500))


@pytest.mark.parametrize(("n_columns", "each"), [(5, 1 + EFFECT_BINS), (200, 1)])
def test_numbers_have_effects_of_bins_only_where_there_are_rows_for_them(n_columns, each):
    rng = np.random.default_rng(0)
    model = NaiveBayes("auto").fit(rng.normal(size=(100, n_columns)), np.arange(100) % 2)
    weighed = model._estimated()[0].weighed
    assert weighed.model.left_out(weighed.kept, weighed.rows).effects.shape[1] == n_columns * each


@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_very_many_columns_are_read_together_in_any_order():
    """A column that is constant or empty among them says nothing, and one that tells the class does."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, MANY_COLUMNS + 4))
    X[:, 3], X[:, 4] = 7.0, np.nan
    X[:, 5] += 3 * y
    model = NaiveBayes("auto").fit(X, y)
    evidence = model.evidence(X)
    assert not evidence[:, [3, 4]].any()
    told = evidence[np.arange(120), 5, y] - evidence[np.arange(120), 5, 1 - y]
    assert told.mean() > 0.1
    order = rng.permutation(X.shape[1])
    names = [f"x{place}" for place in order]
    moved = NaiveBayes("auto").fit(dict(zip(names, X[:, order].T, strict=True)), y)
    there = moved.predict_proba(dict(zip(names, X[:, order].T, strict=True)))
    np.testing.assert_allclose(there, model.predict_proba(X), atol=1e-6)


def test_all_candidates_are_left_out_that_more_columns_than_rows_cannot_tell():
    assert list(_affordable(ALL_WAYS, 2, 200, 100)) == list(ALL_WAYS)
    assert list(_affordable(ALL_WAYS, 2, 200, 5000)) == ["T", "W", "CV"]


def test_a_column_of_a_sparse_table_is_that_of_the_dense_one():
    """A cell that is stored twice is the sum of both."""
    twice = sparse.csr_array(([1.0, 2.0, 4.0], [1, 1, 0], [0, 2, 2, 3]), shape=(3, 3))
    table = SparseTable(twice)
    for position in range(3):
        np.testing.assert_array_equal(table.column(position), twice.toarray()[:, position])
