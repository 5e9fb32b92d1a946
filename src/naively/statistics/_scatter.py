"""Sums of squared deviations from sums in double-double: ``sum w x y - (sum w x)(sum w y) / sum w``.

For numbers far from zero the two terms cancel. What the statistics hold they still tell: where cancellation is severe
the difference is computed without any rounding (Ogita, Rump and Oishi 2005, SumK), so that the rounding of the sums
themselves is all that is lost.
"""

from __future__ import annotations

import numpy as np

from naively.statistics._sums import Sum, two_product, two_sum
from naively.typing import AnyArray, FloatArray

SEVERE = 2.0**-60
"""A difference smaller than this share of its terms is computed again, exactly."""

ROUNDING = 2.0**-103
ROUNDING_PER_ROW = 2.0**-106
MOST_ROUNDING = 2.0**-88
"""What rounding may leave of the scatter of equal numbers, as a share of their sum of squares: of few rows, more for
each row (a stream of single rows errs the same way each time), and at most."""


def scatter(weight: Sum, first: Sum, second: Sum, product: Sum) -> FloatArray:
    """``product - first * second / weight``; 0 where there is no weight.

    Parameters
    ----------
    weight, first, second, product : Sum
        Sums of w, w x, w y and w x y; of the same shape.
    """
    divisor = Sum(np.where(weight.high == 0, 1.0, weight.high), weight.low)
    result = (product - first * (second / divisor)).high
    severe = (np.abs(result) < SEVERE * np.abs(product.high)) & (weight.high > 0)
    if severe.any():
        result = np.array(result)
        result[severe] = _exact(*(_pair(part, severe) for part in (weight, first, second, product)))
    return np.where(weight.high == 0, 0.0, result)


def rounding_of(weight: Sum) -> FloatArray:
    """Up to which share of the sum of squares a scatter is rounding, so that the numbers count as equal.

    Whole weights are those of rows that weigh one each. Of other rows it is not known how many there were.
    """
    whole = (weight.high == np.floor(weight.high)) & (np.asarray(weight.low_or_zero) == 0)
    few = np.minimum(ROUNDING + ROUNDING_PER_ROW * weight.high, MOST_ROUNDING)
    return np.where(whole, few, MOST_ROUNDING)


Pair = tuple[FloatArray, FloatArray]


def _pair(part: Sum, chosen: AnyArray) -> Pair:
    low = np.zeros(part.shape) if part.low is None else part.low
    return part.high[chosen], low[chosen]


def _exact(weight: Pair, first: Pair, second: Pair, product: Pair) -> FloatArray:
    """Sums of squared deviations from the parts of double-doubles, scaled to magnitude one and rounded once."""
    of_weight, of_first, of_second = (np.frexp(part[0])[1] for part in (weight, first, second))
    exponent = of_first + of_second - of_weight
    weight, first, second, product = (
        (np.ldexp(high, -scale), np.ldexp(low, -scale))
        for (high, low), scale in (
            (weight, of_weight),
            (first, of_first),
            (second, of_second),
            (product, exponent),
        )
    )
    terms = [part for one in weight for other in product for part in two_product(one, other)]
    terms += [part for one in first for other in second for part in two_product(-one, other)]
    return np.asarray(np.ldexp(_sum_exactly(terms) / weight[0], exponent))


def _sum_exactly(terms: list[FloatArray]) -> FloatArray:
    """The sum of a few arrays that cancel almost completely: four passes that move the errors to the front."""
    for _ in range(4):
        for place in range(1, len(terms)):
            terms[place], terms[place - 1] = two_sum(terms[place], terms[place - 1])
    return np.asarray(sum(terms[:-1]) + terms[-1])
