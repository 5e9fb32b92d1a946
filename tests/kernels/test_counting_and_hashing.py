"""The kernels that count bytes and hash rows, beside their references."""

import numpy as np
import pytest

from naively._kernels import counts as category_counts
from naively._kernels import frozen, reference, row_hashes
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
