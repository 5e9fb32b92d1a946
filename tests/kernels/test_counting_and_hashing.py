"""The kernels that count bytes and hash rows, beside their references."""

import numpy as np
import pytest

from naively._kernels import counts as category_counts
from naively._kernels import frozen, reference, row_hashes
from naively.engines._counts import _unpaired
from naively.statistics._kept_rows import add_number_hashes


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


@pytest.mark.parametrize("n_columns", [1, 2, 5, 6])
def test_pairs_of_columns_are_counted_like_single_ones(n_columns):
    rng = np.random.default_rng(n_columns)
    block = rng.integers(0, 16, (60, n_columns)).astype(np.uint8)
    codes = rng.integers(-1, 3, 60)
    pairs = np.zeros((3, (n_columns + 1) // 2 * 256), dtype=np.uint32)
    assert category_counts.count_pairs(frozen(block), codes, pairs)
    expected = np.zeros((3, n_columns * 17), dtype=np.int64)
    window = (np.zeros(n_columns, dtype=np.int64), np.full(n_columns, 16), np.arange(n_columns) * 17)
    reference.count_values(block.astype(np.int64), codes, *window, expected)
    assert np.array_equal(_unpaired(pairs, n_columns, 16), expected.reshape(3, n_columns, 17)[:, :, :16])


def test_a_value_too_large_to_be_paired_leaves_the_pairs_as_they_were():
    block = np.zeros((3, 4), dtype=np.uint8)
    block[2, 3] = 16
    pairs = np.zeros((1, 2 * 256), dtype=np.uint32)
    assert not category_counts.count_pairs(frozen(block), np.zeros(3, dtype=np.int64), pairs)
    assert not pairs.any()


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
