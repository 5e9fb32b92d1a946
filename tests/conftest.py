"""What all tests share: the Hypothesis profiles and the choice of kernels."""

import os

import pytest
from hypothesis import HealthCheck, settings

# The suite is the same on every run. To look for new counterexamples: HYPOTHESIS_PROFILE=search pytest tests/laws
slow_is_fine = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("suite", max_examples=40, derandomize=True, deadline=None, suppress_health_check=slow_is_fine)
settings.register_profile("search", max_examples=400, deadline=None, suppress_health_check=slow_is_fine)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@pytest.fixture(scope="session", autouse=True)
def kernels_are_compiled_here():
    """Wait for the compiler, as large work does: tests call kernels directly, and are the same on every run.

    That users do not wait is tested in processes of their own (tests/kernels/test_no_waiting.py).
    """
    from naively._kernels import _compiling

    with _compiling():
        yield


@pytest.fixture(scope="module", autouse=True)
def few_trees(request):
    """Let "strong" grow few trees and few cells, and networks take few steps: laws hold of any number.

    Modules about how well it answers are excepted.

    Those carry the mark `every_tree`.
    """
    from naively._weighing import boosted, forest, networks

    with pytest.MonkeyPatch.context() as patch:
        if request.node.get_closest_marker("every_tree") is None:
            patch.setattr(forest, "TREES_PER_FOLD", 3)
            patch.setattr(boosted, "ROUNDS", 20)
            patch.setattr(networks, "MOST_STEPS", 40)
        yield


@pytest.fixture(scope="module", params=["reference", "compiled"])
def kernels(request):
    """Each test runs twice: with the plain NumPy kernels, and with the compiled ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAIVELY_KERNELS", request.param)
        yield request.param
