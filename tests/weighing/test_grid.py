"""The search down a grid of values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively._weighing.grid import downhill

GRID = [0.1, 0.3, 1.0, 3.0, 10.0]


@given(st.floats(-3, 3))
def test_it_finds_the_least_of_what_falls_from_both_sides(least):
    losses = [abs(np.log(value) - least) for value in GRID]
    found = downhill(lambda value: losses[GRID.index(value)], GRID)
    assert found.loss == min(losses)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=8))
def test_it_ends_whatever_the_losses_are(losses):
    grid = list(range(len(losses)))
    found = downhill(lambda value: losses[value], grid)
    assert found.value in grid
    around = [losses[place] for place in grid if abs(place - found.value) <= 1]
    assert not any(other < found.loss for other in around)


def test_it_looks_at_no_value_twice():
    seen = []

    def loss(value):
        seen.append(value)
        return -value

    assert downhill(loss, GRID).value == 10.0
    assert sorted(seen) == sorted(set(seen))


@pytest.mark.parametrize("grid", [[2.0], [1.0, 2.0]])
def test_short_grids(grid):
    assert downhill(lambda value: value, grid).value == grid[0]
