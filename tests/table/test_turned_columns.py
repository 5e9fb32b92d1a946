"""The columns of an array, each by itself, are those of its blocks, in whatever order they lie in memory."""

import numpy as np
import pytest

from naively._table.table import TURNED_ROWS, ArrayTable


@pytest.mark.parametrize("n_rows", [1, TURNED_ROWS, 2 * TURNED_ROWS + 3])
@pytest.mark.parametrize("positions", [[0, 1, 2, 3], [1, 2], [3, 0], [2], [-1, 0], [-1], [2, -1], []], ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, bool])
def test_columns_are_those_of_the_block(n_rows, positions, order, dtype):
    values = np.asarray(np.random.default_rng(n_rows).normal(size=(n_rows, 4)) * 3, dtype=dtype, order=order)
    table, chosen, rows = ArrayTable(values), np.array(positions, dtype=np.int64), slice(n_rows // 3, n_rows)
    columns = table.numbers_by_column(chosen, rows)
    assert all(column.flags.c_contiguous and column.dtype == np.float64 for column in columns)
    block = table.numbers(chosen, rows)
    np.testing.assert_array_equal(np.reshape(columns, block.T.shape), block.T)
