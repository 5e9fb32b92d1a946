"""Double-double arithmetic: against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively.statistics._sums import Grouping, Sum, exact_slices, fast_two_sum, sum_by_code, two_product, two_sum

moderate = st.floats(-1e120, 1e120).map(lambda number: number if abs(number) > 1e-120 else 0.0)


def exact(values, place=0):
    low = 0.0 if values.low is None else float(values.low[place])
    return Fraction(float(values.high[place])) + Fraction(low)


@given(moderate, moderate)
def test_two_sum_and_two_product_lose_nothing(a, b):
    total, error = two_sum(a, b)
    assert Fraction(total) + Fraction(error) == Fraction(a) + Fraction(b)
    product, error = two_product(a, b)
    assert Fraction(product) + Fraction(error) == Fraction(a) * Fraction(b)
    large, small = (a, b) if abs(a) >= abs(b) else (b, a)
    assert sum(map(Fraction, fast_two_sum(large, small))) == Fraction(a) + Fraction(b)


@given(st.lists(moderate, min_size=2, max_size=20))
def test_adding_and_subtracting_are_exact_to_the_last_bits(numbers):
    total = Sum.zeros(1)
    for number in numbers:
        total = total + Sum.of([number])
    size = sum(abs(Fraction(number)) for number in numbers)
    assert abs(exact(total) - sum(map(Fraction, numbers))) <= size / 2**100
    back = total - Sum.of([numbers[0]])
    assert abs(exact(back) - sum(map(Fraction, numbers[1:]))) <= 2 * size / 2**100


@given(moderate, moderate, st.floats(0.001, 1000.0))
def test_multiplying_and_dividing(a, b, divisor):
    number = Sum.of([a]) + Sum.of([b])
    wanted = Fraction(a) + Fraction(b)
    assert abs(exact(number * divisor) - wanted * Fraction(divisor)) <= abs(wanted) * Fraction(divisor) / 2**98
    assert (
        abs(exact(number / Sum.of([divisor])) - wanted / Fraction(divisor)) <= abs(wanted) / Fraction(divisor) / 2**98
    )


@given(st.lists(moderate, min_size=1, max_size=33))
def test_the_total_along_an_axis(numbers):
    total = Sum.of(numbers).reshaped((len(numbers), 1)).total(0)
    size = sum(abs(Fraction(number)) for number in numbers)
    assert abs(exact(total) - sum(map(Fraction, numbers))) <= size / 2**100


def test_the_total_of_nothing_is_zero():
    assert Sum.zeros((0, 3)).total(0) == Sum.zeros(3)


@given(st.lists(moderate, min_size=1, max_size=20))
def test_slices_add_up_and_can_be_summed_without_rounding(numbers):
    values = np.array(numbers)[:, None]
    total = Fraction(0)
    for place, slice_ in enumerate(exact_slices(values, len(numbers))):
        if place < 6:  # what is left after six is below the rounding of any double-double sum
            assert Fraction(float(slice_.sum())) == sum(Fraction(float(part)) for part in slice_[:, 0])
        total += Fraction(float(slice_.sum()))
    size = max(abs(Fraction(number)) for number in numbers)
    assert abs(total - sum(map(Fraction, numbers))) <= len(numbers) * size / 2**100


def test_grouping_leaves_out_negative_codes():
    codes = np.array([1, -1, 0, 1, -1])
    values = np.array([[1.0], [100.0], [2.0], [4.0], [100.0]])
    assert Grouping(codes, 3).sum(values) == Sum.of([[2.0], [5.0], [0.0]])
    assert Grouping(np.array([-1]), 2).sum(values[:1]) == Sum.zeros((2, 1))
    assert sum_by_code(codes, values[:, 0], 3) == Sum.of([2.0, 5.0, 0.0])


def test_a_low_part_of_zeros_is_no_low_part():
    """Slices and rearrangements of a sum may leave a low part that is all zeros."""
    assert Sum(np.array([1.0, 2.0]), np.zeros(2)) == Sum(np.array([1.0, 2.0]))
    mixed = Sum(np.array([1.0, 2.0]), np.array([0.0, 1e-20]))
    assert mixed[:1] == Sum(np.array([1.0]))
    assert mixed != Sum(np.array([1.0, 2.0]))


def test_noise_is_cleared_and_nothing_else():
    numbers = Sum.of([1e-30, 1e-20, 1.0])
    assert numbers.without_noise(np.ones(3)) == Sum.of([0.0, 1e-20, 1.0])


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_seen(bad):
    assert not Sum.of([1.0, bad]).is_finite()
    assert not Sum(np.ones(2), np.array([0.0, bad])).is_finite()
    assert Sum(np.ones(2), np.zeros(2)).is_finite()


def test_comparing_with_something_else():
    assert Sum.zeros(2) != 0.0
    assert Sum.zeros(2) != Sum.zeros(3)
