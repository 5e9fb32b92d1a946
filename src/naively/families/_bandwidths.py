"""Bandwidths of kernel densities, as R chooses them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from naively.errors import ParameterError
from naively.families._densities import Sample
from naively.typing import FloatArray

Rule = str | float | Sequence[float]
"""A bandwidth: by R's rule "nrd0", one for all classes, or one for each."""


def quartiles(values: FloatArray, counts: FloatArray) -> tuple[float, float]:
    """The first and third quartile of counted values as R has them (type 7); weights count as repetitions."""
    cumulative = np.cumsum(counts)
    last = max(float(cumulative[-1]) - 1, 0.0)

    def at(share: float) -> float:
        place = last * share
        below = values[min(int(np.searchsorted(cumulative, math.floor(place), side="right")), len(values) - 1)]
        above = values[min(int(np.searchsorted(cumulative, math.floor(place) + 1, side="right")), len(values) - 1)]
        return float(below + (place - math.floor(place)) * (above - below))

    return at(0.25), at(0.75)


def nrd0(values: FloatArray, counts: FloatArray, m2: float) -> float:
    """R's `bw.nrd0` of counted values: ``0.9 min(sd, IQR / 1.34) n^(-1/5)``, and what R takes where that is zero.

    Parameters
    ----------
    values, counts : ndarray (cells,)
    m2 : float
        Sum of squared deviations from the mean.

    Examples
    --------
    >>> round(nrd0(np.array([1.0, 2.0, 4.0, 8.0]), np.ones(4), 28.75), 6)
    1.65428
    """
    n = float(counts.sum())
    sd = math.sqrt(m2 / (n - 1)) if n > 1 else 0.0
    low, high = quartiles(values, counts)
    scale = min(sd, (high - low) / 1.34) or sd or abs(float(values[counts > 0][0])) or 1.0
    return float(0.9 * scale * n**-0.2)


def bandwidths(sample: Sample, rule: Rule) -> FloatArray:
    """The bandwidth of every class, and last of all classes together; a class of fewer than two rows takes the last."""
    if isinstance(rule, str):
        of_all = nrd0(sample.values, sample.counts.sum(axis=0), sample.total_m2)
        of_class = [
            nrd0(sample.values, counts, float(m2)) if n > 1 else of_all
            for counts, m2, n in zip(sample.counts, sample.m2, sample.n, strict=True)
        ]
        return np.array([*of_class, of_all])
    given = np.ravel(np.asarray(rule, dtype=np.float64))
    if len(given) not in (1, len(sample.n)):
        raise ParameterError(
            f"Kernel(bandwidth) has {len(given)} bandwidths, but there are {len(sample.n)} classes. Give one for each, "
            "in the order of classes_, or one for all."
        )
    each = np.broadcast_to(given, len(sample.n))
    return np.append(each, each.mean())
