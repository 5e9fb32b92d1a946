"""The kernels that count bytes and hash rows, beside their references."""

import numpy as np
import pytest

from naively._kernels import counts as category_counts
from naively._kernels import frozen, reference, row_hashes
from naively.statistics._kept_rows import add_number_hashes
from tests.kernels.both import on_both
from tests.models import textbook


@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_bytes_are_counted_like_any_values(dtype):
    rng = np.random.default_rng(0)
    block = rng.integers(0, 256, (60, 3)).astype(dtype)
    if dtype is np.int64:
        block[0] = [-1, 256, np.iinfo(np.int64).min]
    codes = rng.integers(-1, 2, 60)
    found, expected = np.zeros((2, 3 * 257), dtype=np.int64), np.zeros((2, 3 * 257), dtype=np.int64)
    category_counts.count_bytes(frozen(block), codes, 257, found)
    window = (np.zeros(3, dtype=np.int64), np.full(3, 256), np.arange(3) * 257)
    reference.count_values(block.astype(np.int64), codes, *window, expected)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("n_columns", [1, 6, 31, 32, 33, 70])
@pytest.mark.parametrize("n_rows", [0, 1, 15, 16, 17, 1000])
def test_small_bytes_are_counted_like_any_values(n_rows, n_columns):
    rng = np.random.default_rng(n_columns)
    block = rng.integers(0, 16, (n_rows, n_columns)).astype(np.uint8)
    codes = rng.integers(-1, 3, n_rows)
    found, expected = np.zeros((2, 3, n_columns * 257), dtype=np.int64)
    assert category_counts.count_small(frozen(block), codes, 257, found)
    window = (np.zeros(n_columns, dtype=np.int64), np.full(n_columns, 256), np.arange(n_columns) * 257)
    reference.count_values(block.astype(np.int64), codes, *window, expected)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("row", [0, 20, 31, 32, 39])
@pytest.mark.parametrize("value", [16, 255])
def test_larger_bytes_are_not_counted_as_small_ones(row, value):
    block = np.zeros((40, 6), dtype=np.uint8)
    block[row, 5] = value
    assert not category_counts.count_small(frozen(block), np.arange(40) % 2, 257, np.zeros((2, 6 * 257), np.int64))


def test_a_larger_byte_after_the_first_rows_is_counted():
    block = np.random.default_rng(0).integers(0, 16, (70_000, 6)).astype(np.uint8)
    block[66_000, 3] = 200
    y = np.arange(70_000) % 3
    plain, compiled = on_both(lambda: textbook(families="categorical").fit(block, y).statistics_)
    assert plain == compiled


def test_the_rows_of_each_class_are_counted():
    codes = np.random.default_rng(0).integers(-1, 5, 1003)
    counts = np.zeros((category_counts.TURNS, 6), dtype=np.int64)
    category_counts.count_codes(frozen(codes), counts)
    assert counts.sum(axis=0).tolist() == np.bincount(codes[codes >= 0], minlength=6).tolist()


def test_rows_are_hashed_alike(monkeypatch):
    block = np.array([[0.0, 1.5, np.nan], [-0.0, 1.5, np.nan], [np.nan, -1e300, 3.0]])
    salts = np.array([3, 5, 7], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        found = np.zeros(3, dtype=np.uint64)
        row_hashes.add_number_hashes(found, frozen(block), salts)
        monkeypatch.setenv("NAIVELY_KERNELS", "reference")
        expected = np.zeros(3, dtype=np.uint64)
        add_number_hashes(expected, block, salts)
    assert found.tolist() == expected.tolist()
    assert found[0] == found[1] != found[2]
