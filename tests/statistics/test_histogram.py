"""The laws of the histogram, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively.errors import ForgetError
from naively.statistics._histogram import Histogram, key_of, representative, value_of

CLASSES = 3
finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.lists(st.one_of(finite, st.integers(-5, 5).map(float)), max_size=60)
caps = st.sampled_from([2, 3, 8, 2048])


def counted(numbers, cap, weight=1.0):
    """Count numbers, dealing them to the classes in turn."""
    x = np.array(numbers, dtype=np.float64)
    codes = np.arange(len(x)) % CLASSES
    return Histogram.of(x, codes, CLASSES, np.full(len(x), weight), cap)


@given(values)
def test_keys_keep_the_order_and_the_value(numbers):
    x = np.sort(np.array(numbers, dtype=np.float64))
    keys = key_of(x)
    assert np.array_equal(keys[1:] > keys[:-1], x[1:] > x[:-1])
    assert (keys[1:] >= keys[:-1]).all()
    assert np.array_equal(value_of(keys), x)


@given(values, values, values, caps)
def test_merging_is_associative_and_commutative(a, b, c, cap):
    A, B, C = (counted(x, cap) for x in (a, b, c))
    assert A + B == B + A
    assert (A + B) + C == A + (B + C)


@given(values, values, caps)
def test_merging_equals_counting_together(a, b, cap):
    x = np.array(a + b, dtype=np.float64)
    codes = np.concatenate([np.arange(len(a)) % CLASSES, np.arange(len(b)) % CLASSES])
    assert counted(a, cap) + counted(b, cap) == Histogram.of(x, codes, CLASSES, None, cap)


@given(values, caps)
def test_empty_is_the_identity(a, cap):
    assert counted(a, cap) + Histogram.empty(CLASSES, cap) == counted(a, cap)


@given(values, values, caps)
def test_forgetting_is_exact_on_the_cells_of_the_sum(a, b, cap):
    A, B = counted(a, cap), counted(b, cap)
    both = A + B
    assert both.less(B, both.totals) == A.coarsened(both.level)
    if both.level == A.level:
        assert both.less(B, both.totals) == A


@given(values, caps, st.integers(1, 4))
def test_a_weight_equals_repetitions(a, cap, times):
    repeated = Histogram.empty(CLASSES, cap)
    for _ in range(times):
        repeated = repeated + counted(a, cap)
    assert counted(a, cap, float(times)) == repeated == counted(a, cap).scaled(float(times))


@given(values, caps)
def test_a_cell_holds_its_values(a, cap):
    one = counted(a, cap)
    x = np.array(a, dtype=np.float64)
    cells = one.cell_of(x)
    assert (cells >= 0).all()
    assert len(one.keys) <= cap
    assert np.array_equal(one.cell_of(one.values()), np.arange(len(one.keys)))
    if one.level == 0:
        assert np.array_equal(one.values()[cells], x)


def test_forgetting_what_was_never_learnt_is_an_error():
    with pytest.raises(ForgetError, match=r"never (all )?(learnt|part)"):
        counted([1.0, 2.0], 8).less(counted([3.0], 8), np.full(CLASSES, 2.0))
    with pytest.raises(ForgetError, match=r"never (all )?(learnt|part)"):
        counted([1.0], 8).less(counted([1.0], 8, 2.0), np.full(CLASSES, 2.0))


def test_missing_values_are_not_counted():
    x = np.array([1.0, np.nan, 2.0])
    one = Histogram.of(x, np.zeros(3, np.int64), 1)
    assert one.totals.tolist() == [2.0]
    assert one.cell_of(x).tolist() == [0, -1, 1]


def test_the_middle_of_a_cell_lies_in_it():
    rng = np.random.default_rng(0)
    x = rng.normal(size=5000) * 10.0 ** rng.integers(-5, 5, 5000)
    one = Histogram.of(x, np.zeros(5000, np.int64), 1, None, 64)
    assert one.level > 0
    assert np.array_equal(key_of(representative(one.keys, one.level)) >> one.level, one.keys)


@settings(max_examples=30, deadline=None)
@given(values, caps, st.booleans())
def test_the_kernel_equals_the_reference(a, cap, weighted):
    x = np.array([*a, np.nan, -0.0], dtype=np.float64)
    codes = np.arange(len(x)) % CLASSES
    weights = np.arange(len(x)) % 4 / 4 if weighted else None
    found = []
    for kernels in ("reference", "compiled"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NAIVELY_KERNELS", kernels)
            found.append(Histogram.of(x, codes, CLASSES, weights, cap))
    assert found[0] == found[1]


@pytest.mark.parametrize("zeros", [False, True], ids=["no zeros", "zeros"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("draw", ["normal", "standard_cauchy", "random"])
def test_the_kernel_equals_the_reference_on_long_columns(draw, sign, zeros, monkeypatch):
    rng = np.random.default_rng(1)
    x = sign * getattr(rng, draw)(size=100_000)
    x[::97] = np.nan
    if zeros:
        x[1::97], x[2::97], x[3::97] = 0.0, -0.0, 5e-324
    codes = rng.integers(0, 5, len(x))
    monkeypatch.setenv("NAIVELY_KERNELS", "compiled")
    fast = Histogram.of(x, codes, 5)
    monkeypatch.setenv("NAIVELY_KERNELS", "reference")
    assert Histogram.of(x, codes, 5) == fast
