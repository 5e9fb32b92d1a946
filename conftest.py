"""What tests and the examples in docstrings and docs share."""

import sys

import pytest


@pytest.fixture(autouse=True)
def no_open_figures():
    """Close the figures that a test or an example has drawn: matplotlib warns of many, whichever draws the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
