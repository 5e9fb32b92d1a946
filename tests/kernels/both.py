"""Running the same work on both kinds of kernels."""

import os
from fractions import Fraction

import numpy as np
import pytest

from tests.models import textbook

ROUNDING = Fraction(1, 2**90)
"""How far a double-double sum may be from the exact one, relative to the sum of the sizes of its terms."""


def on_both(work):
    """The results of the work on the reference and on the compiled kernels."""
    results = []
    for name in ("reference", "compiled"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NAIVELY_KERNELS", name)
            assert os.environ["NAIVELY_KERNELS"] == name
            results.append(work())
    return results


def moments_of(X, y, weights=None, family="gaussian"):
    """The power sums of a table, by the engine."""
    (table,) = textbook(families=family).fit(X, y, weights).statistics_.tables.values()
    return table


def exact(values, place):
    """One cell of a Sum as a fraction."""
    low = 0.0 if values.low is None else float(values.low[place])
    return Fraction(float(values.high[place])) + Fraction(low)


def assert_exact_sums(table, X, y, weights=None):
    """The power sums are those of exact arithmetic, to the rounding of double-double."""
    X, weights = np.asarray(X, dtype=float), np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    for code, label in enumerate(sorted(set(y))):
        chosen = np.asarray(y) == label
        for column in range(X.shape[1]):
            cells = [
                (Fraction(float(weight)), Fraction(float(value)))
                for weight, value in zip(weights[chosen], X[chosen, column], strict=True)
                if value == value
            ]
            for part, power in ((table.observed, 0), (table.total, 1), (table.square, 2)):
                if part is not None:
                    terms = [weight * value**power for weight, value in cells]
                    gap = abs(exact(part, (code, column)) - sum(terms))
                    assert gap <= ROUNDING * sum(map(abs, terms)), (power, code, column)
