"""The kernels as plain Python: a process without the JIT finds the same numbers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.kernels import small_work
from tests.kernels.both import on_both

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def without_jit():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "NAIVELY_KERNELS": "compiled"}
    command = [sys.executable, "-W", "error", "-m", "tests.kernels.small_work"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_kernels_give_the_same_numbers_without_the_jit(without_jit):
    reference, compiled = on_both(small_work.results)
    assert without_jit.keys() == compiled.keys()
    for name, expected in compiled.items():
        for (high, low), (expected_high, expected_low) in zip(without_jit[name]["sums"], expected["sums"], strict=True):
            assert high == expected_high, name
            np.testing.assert_allclose(low, expected_low, rtol=1e-6, atol=1e-25)
        np.testing.assert_allclose(without_jit[name]["scores"], expected["scores"], rtol=1e-12)
        np.testing.assert_allclose(without_jit[name]["scores"], reference[name]["scores"], rtol=1e-12)
