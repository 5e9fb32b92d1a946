"""Small mixed tables with missing cells and weights, made once per seed."""

import numpy as np
import pytest

from naively.analysis._pairs import plan_bins


class Table:
    """Columns, classes, weights and two bin plans."""

    def __init__(self, seed: int, n_rows: int = 60, n_classes: int = 3) -> None:
        random = np.random.default_rng(seed)
        self.n_classes = n_classes
        self.target = random.integers(0, n_classes, n_rows)
        numbers = random.normal(size=(n_rows, 3)) + self.target[:, None]
        numbers[random.random(numbers.shape) < 0.1] = np.nan
        codes = (random.integers(0, 3, (n_rows, 2)) + self.target[:, None]) % 4
        codes[random.random(codes.shape) < 0.1] = -1
        self.columns = [("numeric", numbers[:, i]) for i in range(3)] + [("categorical", codes[:, i]) for i in range(2)]
        self.weights = random.integers(1, 4, n_rows).astype(float)
        self.plan = plan_bins(self.columns, 5, self.weights)
        self.cells = self.plan.cells(self.columns)
        self.codes = np.where(self.cells < 0, -1, self.cells - self.plan.offsets)
        self.numbers = np.nan_to_num((numbers - np.nanmean(numbers, axis=0)) / np.nanstd(numbers, axis=0))


@pytest.fixture(params=[0, 1])
def table(request: pytest.FixtureRequest) -> Table:
    return Table(request.param)
