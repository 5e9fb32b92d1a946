"""No index is computed from an unchecked number: kernels stay inside their arrays whatever floats they are given.

As plain Python, an index that is not a number or out of bounds raises; compiled, it would read foreign memory.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from naively._kernels import curves, gaussian_scores, histogram, reference, row_hashes, steps, student_scores
from naively.errors import InputError
from naively.families._curves import Curve, packed
from tests.models import textbook

ROOT = Path(__file__).parents[2]
LARGEST = sys.float_info.max
SPECIAL = [0.0, -0.0, 5e-324, -5e-324, 1e-310, 2e-305, 1e-300, 1.0, 1e300, -1e300, LARGEST, -LARGEST]
hostile = st.sampled_from(SPECIAL) | st.floats(allow_nan=False, allow_infinity=False)
asked = hostile | st.sampled_from([np.nan, np.inf, -np.inf])

pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")


def plain(kernel):
    """The kernel as plain Python, whether or not it has been compiled."""
    return getattr(kernel, "py_func", kernel)


def curve_of(knots):
    table = np.arange(2.0 * len(knots)).reshape(2, -1)
    return Curve(np.sort(np.array(knots)), table, np.array([0.5, 0.25]))


@given(st.lists(hostile, min_size=2, max_size=6), st.lists(asked, min_size=1, max_size=8))
@example([0.0, 5e-324], [0.0, 5e-324, 1.0])
@example([0.0, 1e-310, 2e-305], [1e-310, 1e-320])
@example([-LARGEST, LARGEST], [0.0, 1e308, LARGEST])
@example([1.0, 1.0], [1.0, 0.0, 2.0])
@example([0.0, 1.0, 1.0], [1.0])
def test_curves(knots, values):
    curve, other, x = curve_of(knots), curve_of([-1.0, *knots]), np.array(values)
    expected = curve.evidence(x) + other.evidence(x) + curve.evidence(x)
    assert np.isfinite(expected).all()
    for kernel in (plain(curves.add_curves), curves.add_curves):
        scores = np.zeros((len(x), 2))
        kernel(np.stack([x, x, x], axis=1), *packed([curve, other, curve]), scores)
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)


@given(st.lists(asked, max_size=4), st.lists(asked, min_size=1, max_size=8))
def test_steps(cuts, values):
    cuts, x = np.sort(np.array(cuts, dtype=float)), np.array(values)
    table = np.arange(float(len(cuts) + 2))[:, None]
    for kernel in (plain(steps.add_steps), steps.add_steps):
        scores = np.zeros((len(x), 1))
        kernel(x, cuts, table, scores)
        if not np.isnan(cuts).any():
            np.testing.assert_array_equal(scores[:, 0], reference.steps(x, cuts))


@given(st.lists(asked, min_size=1, max_size=9), st.integers(0, 40), st.integers(2, 4))
def test_histograms(values, level, cap):
    x, codes = np.array(values), np.arange(len(values)) % 2
    found, keys, counts = histogram.count_cells(x, codes, 2, None, cap, level)
    assert found >= level
    assert counts.sum() == (~np.isnan(x)).sum()
    assert (np.diff(keys.astype(object)) > 0).all()


@given(st.lists(asked, min_size=1, max_size=5), st.lists(asked, min_size=4, max_size=4))
def test_scores(values, parameters):
    block, (mean, scale, peak, power) = np.array(values)[:, None], (np.full((1, 2), one) for one in parameters)
    for kernel in (gaussian_scores.add_gaussian, plain(student_scores.add_student), student_scores.add_student):
        extra = () if kernel is gaussian_scores.add_gaussian else (power,)
        kernel(block, mean, scale, peak, *extra, 1e150, np.zeros((len(block), 2)))
    row_hashes.add_number_hashes(np.zeros(len(block), np.uint64), block, np.ones(1, np.uint64))


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
@pytest.mark.parametrize("change", [("indices", 99), ("indices", -1), ("indptr", 99), ("indptr", -5)])
@pytest.mark.parametrize("kernels", ["reference", "compiled"])
def test_a_sparse_matrix_that_points_outside_of_itself_is_refused(make, change, kernels, monkeypatch):
    monkeypatch.setenv("NAIVELY_KERNELS", kernels)
    part, value = change
    matrix = make(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]]))
    getattr(matrix, part)[1] = value
    with pytest.raises(InputError, match="damaged"):
        textbook(families="multinomial").fit(matrix, [0, 1, 1])


def test_a_coordinate_matrix_that_points_outside_of_itself_is_refused():
    matrix = sparse.coo_array(np.array([[1.0, 0.0], [0.0, 2.0]]))
    matrix.row[0] = 7
    with pytest.raises(InputError, match="damaged"):
        textbook(families="multinomial").fit(matrix, [0, 1])


SMALL_RANGES = """
import numpy as np
from naively import NaiveBayes
for recipe in ("fast", "auto"):
    for spread in (5e-324, 1e-310, 1e-305, 1e-300, 1e-150, 1e149):
        X = np.array([[spread], [0.0], [-spread]])
        model = NaiveBayes(recipe).fit(X, [0, 1, 1])
        for n in range(3):
            assert np.isfinite(model.predict_proba(np.vstack([X] * (1 + n)))).all(), (recipe, spread)
"""


def test_models_of_tiny_and_huge_ranges_with_bounds_checked():
    environment = {**os.environ, "NAIVELY_KERNELS": "compiled", "NUMBA_BOUNDSCHECK": "1", "NUMBA_DISABLE_JIT": "0"}
    command = [sys.executable, "-W", "error", "-c", SMALL_RANGES]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
