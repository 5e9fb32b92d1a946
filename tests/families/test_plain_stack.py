"""Many columns at once give what each gives by itself."""

import numpy as np
import pytest

from naively.families._densities import Sample
from naively.families._plain_stack import PLAIN_DENSITIES, PlainStack
from naively.families._stacking import Folds, interpolate, stack
from naively.statistics._histogram import Histogram
from tests.weighing.additive_tables import class_moments

CLASSES, ROWS = 3, 300
SHAPES = {
    "measured": lambda x: x,
    "tied": np.round,
    "few values": lambda x: np.round(x / 4),
    "tiny": lambda x: 1e-200 * x,
    "huge": lambda x: 1e305 * x,
    "one row apart": lambda x: np.where(np.arange(len(x)) == 7, 1.0, 0.0),
}


@pytest.fixture(scope="module")
def columns():
    """The codes of some rows, and the cells and the sample of columns of every shape; the second has missing cells."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, CLASSES, ROWS)
    found = []
    for place, shape in enumerate(SHAPES.values()):
        x = shape(rng.normal(size=ROWS) * (1 + codes) + codes)
        x[: 20 * (place == 1)] = np.nan
        histogram, known = Histogram.of(x, codes, CLASSES), ~np.isnan(x)
        with np.errstate(over="ignore"):  # the moments of huge numbers are not looked at
            moments = class_moments(x[known], codes[known], CLASSES)
        found.append((histogram.cell_of(x), Sample(histogram.values(), histogram.counts, *moments)))
    cells, samples = zip(*found, strict=True)
    return codes, np.stack(cells), samples


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_rows_are_those_of_each_column(columns, weighted, folded):
    codes, cells, samples = columns
    rng = np.random.default_rng(1)
    removed = rng.uniform(0.5, 1.5, ROWS) if weighted else np.ones(ROWS)
    folds = Folds(rng.integers(0, 4, ROWS), np.ones(ROWS)) if folded else None
    together = PlainStack.of(samples, np.ones(CLASSES)).leave_one_out(cells, codes, removed, folds)
    for place, sample in enumerate(samples):
        alone = stack(sample, PLAIN_DENSITIES).leave_one_out(cells[place], codes, removed, folds)
        np.testing.assert_allclose(together[place], alone, atol=1e-5)


def test_curves_are_those_of_each_column(columns):
    _, _, samples = columns
    together = PlainStack.of(samples, np.ones(CLASSES))
    for place, (sample, (knots, table)) in enumerate(zip(samples, together.curves(), strict=True)):
        alone = stack(sample, PLAIN_DENSITIES)
        np.testing.assert_allclose(together.shares[place], alone.shares, atol=1e-6)
        asked = np.append(sample.values, np.nan)
        np.testing.assert_allclose(interpolate(knots, table, asked), alone.evidence(asked), atol=1e-5)
        assert (np.diff(knots) > 0).all()
        assert np.isin(sample.values, knots).all()
