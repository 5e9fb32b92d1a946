"""Power sums of tables in any place and order in memory: compiled, eight columns at a time, and the reference agree."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from naively._kernels.strips import LANES, MOST_ROWS
from tests.kernels.both import assert_exact_sums, moments_of, on_both
from tests.models import textbook


def frame(X):
    return pd.DataFrame(X, columns=[f"c{place}" for place in range(X.shape[1])])


PLACES = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "unaligned": lambda X: np.frombuffer(b"x" + X.tobytes(), dtype=np.uint8)[1:].view(X.dtype).reshape(X.shape),
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "pandas": frame,
    "pandas, columns of their own": lambda X: frame(X).copy().assign(c0=X[:, 0].copy()),
    "polars": lambda X: pl.DataFrame({f"c{place}": np.ascontiguousarray(X[:, place]) for place in range(X.shape[1])}),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [0.0, 0.1], ids=["known", "missing"])
def test_the_sums_do_not_depend_on_where_the_cells_are(place, dtype, missing, monkeypatch):
    monkeypatch.setattr("naively._table.read.SMALL_FRAME", 0)
    random = np.random.default_rng(8)
    X = random.normal(3.0, 2.0, (100, LANES + 3)).astype(dtype)
    X[random.random(X.shape) < missing] = np.nan
    y = random.integers(0, 3, len(X)).tolist()
    for table in on_both(lambda: moments_of(PLACES[place](X), y)):
        assert_exact_sums(table, X, y)


@pytest.mark.parametrize("n_columns", [1, 2, LANES - 1, LANES, LANES + 1, 2 * LANES, 2 * LANES + 5])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_number_of_columns(n_columns, order):
    X = np.asarray(np.random.default_rng(1).integers(-99, 99, (40, n_columns)) / 8, order=order)
    y = np.arange(40) % 2
    reference, compiled = on_both(lambda: textbook().fit(X, y).statistics_)
    assert reference == compiled


@pytest.mark.parametrize("n_rows", [MOST_ROWS - 1, MOST_ROWS, MOST_ROWS + 1, 40_000])
def test_any_number_of_rows(n_rows):
    random = np.random.default_rng(3)
    X, y = random.integers(-(2**20), 2**20, (n_rows, 2)) / 1024, random.integers(0, 2, n_rows)
    reference, compiled = on_both(lambda: textbook().fit(X, y).statistics_)
    assert reference == compiled


@pytest.mark.parametrize("size", [1e-150, 2.0**-481, 1e-30, 1.0, 1e30, 2.0**481, 1e150])
def test_each_column_has_its_own_size(size):
    random = np.random.default_rng(4)
    X = random.normal(size=(60, LANES + 2))
    X[:, [0, LANES]] *= size
    X[:, 3] = 0.0
    if size == 1e-150:  # the squares of the smallest would leave the range of float64
        X[:, [0, LANES]] = np.round(random.normal(size=(60, 2)) * 8) * 2.0**-490
    y = random.integers(0, 2, 60).tolist()
    for table in on_both(lambda: moments_of(X, y)):
        assert_exact_sums(table, X, y)


def test_a_class_of_small_numbers_is_exact_beside_one_of_large_numbers():
    random = np.random.default_rng(5)
    y = np.arange(200) % 2
    X = random.normal(size=(200, LANES)) * np.where(y == 1, 1e-40, 1e40)[:, None]
    for table in on_both(lambda: moments_of(X, y.tolist())):
        assert_exact_sums(table, X, y.tolist())
