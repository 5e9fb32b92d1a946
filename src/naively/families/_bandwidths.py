"""Bandwidths of kernel densities, as R chooses them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from naively.errors import ParameterError
from naively.families._densities import Sample
from naively.typing import FloatArray

Rule = str | float | Sequence[float]
"""A bandwidth: by one of R's rules, one for all classes, or one for each."""

PAIR_BINS = 1000
"""R counts how far values are apart in so many bins."""

FARTHEST = 1000.0
"""Pairs that are farther apart than the root of this many bandwidths do not count."""


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


def sheather_jones(values: FloatArray, counts: FloatArray, m2: float) -> float:
    """R's `bw.SJ`: the bandwidth that solves the equation of Sheather and Jones (1991), to R's tolerance.

    Parameters
    ----------
    values, counts, m2
        As in `nrd0`.

    Examples
    --------
    >>> round(sheather_jones(np.array([1.0, 2.0, 4.0, 5.0, 8.0]), np.ones(5), 30.0), 6)
    2.110006
    """
    n = float(counts.sum())
    low, high = quartiles(values, counts)
    scale = min(math.sqrt(m2 / (n - 1)), (high - low) / 1.349)
    if n < 3 or not scale > 0:  # R stops here
        return nrd0(values, counts, m2)
    step, pairs = _pair_counts(values, counts)

    def curvature(h: float) -> float:
        d, weights = _apart(step, pairs, h)
        total = 2 * (np.exp(-d / 2) * (d * d - 6 * d + 3) * weights).sum() + 3 * n
        return float(total / (n * (n - 1) * h**5 * math.sqrt(2 * math.pi)))

    def third(h: float) -> float:
        d, weights = _apart(step, pairs, h)
        total = 2 * (np.exp(-d / 2) * (d**3 - 15 * d**2 + 45 * d - 15) * weights).sum() - 15 * n
        return float(-total / (n * (n - 1) * h**7 * math.sqrt(2 * math.pi)))

    ratio = curvature(1.24 * scale * n ** (-1 / 7)) / third(1.23 * scale * n ** (-1 / 9))
    if not ratio > 0:  # the sample is too sparse, R says, and stops
        return nrd0(values, counts, m2)
    alpha, most = 1.357 * ratio ** (1 / 7), 1.144 * scale * n**-0.2

    def equation(h: float) -> float:
        known = curvature(alpha * h ** (5 / 7))
        return (1 / (2 * math.sqrt(math.pi) * n) / known) ** 0.2 - h if known > 0 else math.inf

    ends = _around_a_root(equation, 0.1 * most, most)
    return nrd0(values, counts, m2) if ends is None else _root(equation, *ends, tolerance=0.1 * ends[0])


def cross_validated(values: FloatArray, counts: FloatArray, m2: float) -> float:
    """R's `bw.ucv`: the bandwidth with the least squared error, by cross-validation, to R's tolerance.

    Parameters
    ----------
    values, counts, m2
        As in `nrd0`.

    Examples
    --------
    >>> round(cross_validated(np.array([1.0, 2.0, 4.0, 5.0, 8.0]), np.ones(5), 30.0), 4)
    2.2617
    """
    from scipy.optimize import fminbound

    n = float(counts.sum())
    most = 1.144 * math.sqrt(m2 / max(n - 1, 1.0)) * n**-0.2
    if n < 2 or not most > 0:
        return nrd0(values, counts, m2)
    step, pairs = _pair_counts(values, counts)

    def error(h: float) -> float:
        d, weights = _apart(step, pairs, h)
        total = ((np.exp(-d / 4) - math.sqrt(8) * np.exp(-d / 2)) * weights).sum()
        return float((0.5 + total / n) / (n * h * math.sqrt(math.pi)))

    return float(fminbound(error, 0.1 * most, most, xtol=0.01 * most))


def _pair_counts(values: FloatArray, counts: FloatArray) -> tuple[float, FloatArray]:
    """The width of a bin, and how many pairs of values are so many bins apart."""
    own = values[counts > 0]
    step = float(own[-1] - own[0]) * 1.01 / PAIR_BINS
    bins = np.trunc(own / step).astype(np.int64)
    in_bin = np.asarray(np.bincount(bins - bins[0], counts[counts > 0]), dtype=np.float64)
    pairs = np.correlate(in_bin, in_bin, "full")[len(in_bin) - 1 :]
    pairs[0] = (in_bin * (in_bin - 1)).sum() / 2
    return step, pairs[:PAIR_BINS]


def _apart(step: float, pairs: FloatArray, h: float) -> tuple[FloatArray, FloatArray]:
    """The squared distances of pairs in bandwidths, and how many there are of each."""
    distance = np.asarray((np.arange(len(pairs)) * step / h) ** 2, dtype=np.float64)
    near = distance < FARTHEST
    return distance[near], pairs[near]


def _around_a_root(f: Callable[[float], float], low: float, high: float) -> tuple[float, float] | None:
    """Ends between which a function changes its sign, widened as R does; None if it never does."""
    for attempt in range(1, 100):
        if f(low) * f(high) <= 0:
            return low, high
        low, high = (low, high * 1.2) if attempt % 2 else (low / 1.2, high)
    return None


def _root(f: Callable[[float], float], a: float, b: float, tolerance: float) -> float:
    """A root by Brent's method, to the same tolerance and by the same steps as R's `uniroot`."""
    at_a, at_b = f(a), f(b)
    if at_a == 0:
        return a
    c, at_c = a, at_a
    while True:
        last = b - a
        if abs(at_c) < abs(at_b):
            a, b, c, at_a, at_b, at_c = b, c, b, at_b, at_c, at_b
        least, step = 2 * np.finfo(float).eps * abs(b) + tolerance / 2, (c - b) / 2
        if abs(step) <= least or at_b == 0:
            return float(b)
        if abs(last) >= least and abs(at_a) > abs(at_b):
            p, q = _interpolated(a, b, c, at_a, at_b, at_c)
            if p < 0.75 * (c - b) * q - abs(least * q) / 2 and p < abs(last * q / 2):
                step = p / q
        a, at_a = b, at_b
        b += step if abs(step) >= least else math.copysign(least, step)
        at_b = f(b)
        if at_b * at_c > 0:
            c, at_c = a, at_a


def _interpolated(a: float, b: float, c: float, at_a: float, at_b: float, at_c: float) -> tuple[float, float]:
    """The step from b to where a line, or an inverse parabola, meets zero, as a fraction with a positive numerator."""
    ratio = at_b / at_a
    if a == c:
        p, q = (c - b) * ratio, 1.0 - ratio
    else:
        first, second = at_a / at_c, at_b / at_c
        p = ratio * ((c - b) * first * (first - second) - (b - a) * (second - 1.0))
        q = (first - 1.0) * (second - 1.0) * (ratio - 1.0)
    return (p, -q) if p > 0 else (-p, q)


RULES: dict[str, Callable[[FloatArray, FloatArray, float], float]] = {
    "nrd0": nrd0,
    "silverman": nrd0,
    "SJ": sheather_jones,
    "ucv": cross_validated,
}


def bandwidths(sample: Sample, rule: Rule) -> FloatArray:
    """The bandwidth of every class, and last of all classes together; a class of fewer than two rows takes the last."""
    if isinstance(rule, str):
        chosen = RULES[rule]
        of_all = chosen(sample.values, sample.counts.sum(axis=0), sample.total_m2)
        of_class = [
            chosen(sample.values, counts, float(m2)) if n > 1 else of_all
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
