"""Smoothing is one idea: pseudo-counts, ``(count_a + alpha_a) / (n + sum of alpha)``.

=====================  =========================================  ====================================
object                 pseudo-count of value a                    name accepted in ``smoothing=``
=====================  =========================================  ====================================
`NoSmoothing()`        0 (maximum likelihood)                     ``"none"``, ``0``
`Laplace()`            1                                          ``"laplace"``, ``1``
`Jeffreys()`           1/2                                        ``"jeffreys"``
`Lidstone(tau)`        tau                                        any number
`MEstimate(m, p)`      m p_a, with p summing to one
`StackedMEstimate()`   m p_a, p the marginal, m by left-out rows
`Dirichlet(beta)`      beta_a - 1 ("map"), beta_a ("mean")
`Beta(b1, b0)`         the same for yes and no
`PerColumn(tau)`       tau_i in column i
`ImaginarySample(s)`   s over the cells of the table
=====================  =========================================  ====================================

Laplace smoothing is the MAP estimate under Dirichlet(2) and the posterior mean under Dirichlet(1).
"""

from __future__ import annotations

from numbers import Real
from typing import Any

from naively._common.checks import require_number
from naively.errors import ParameterError, brief
from naively.smoothing._base import Smoothing, per_value, share, shares, smoothed_frequencies
from naively.smoothing._conjugate import Beta, Dirichlet
from naively.smoothing._constant import Jeffreys, Laplace, Lidstone, NoSmoothing, PerColumn
from naively.smoothing._imaginary_rows import ImaginarySample, MEstimate, StackedMEstimate

__all__ = [
    "Beta",
    "Dirichlet",
    "ImaginarySample",
    "Jeffreys",
    "Laplace",
    "Lidstone",
    "MEstimate",
    "NoSmoothing",
    "PerColumn",
    "Smoothing",
    "StackedMEstimate",
    "as_smoothing",
    "per_value",
    "share",
    "shares",
    "smoothed_frequencies",
]

NAMES: dict[str, Smoothing] = {
    "none": NoSmoothing(),
    "laplace": Laplace(),
    "jeffreys": Jeffreys(),
}


def as_smoothing(value: Any, where: str = "smoothing") -> Smoothing:
    """Read a smoothing rule from an object, a number (Lidstone) or a name.

    Examples
    --------
    >>> as_smoothing(0.1), as_smoothing("laplace"), as_smoothing(1)
    (Lidstone(tau=0.1), Laplace(tau=1.0), Laplace(tau=1.0))
    """
    if isinstance(value, Smoothing):
        return value
    if isinstance(value, str) and value in NAMES:
        return NAMES[value]
    if isinstance(value, Real) and not isinstance(value, bool):
        require_number(where, value, at_least=0)
        return {0.0: NoSmoothing(), 1.0: Laplace()}.get(float(value), Lidstone(float(value)))
    raise ParameterError(
        f"{where} must be a smoothing object such as Laplace() or MEstimate(2), a number (Lidstone's tau) or one of "
        f"{', '.join(map(repr, NAMES))}; got {brief(value)}."
    )
