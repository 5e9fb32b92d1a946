"""Posterior distributions of parameters, as SciPy's frozen distributions, and what the data are worth under a prior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from naively.errors import GapError
from naively.smoothing import Smoothing
from naively.typing import FloatArray

Posteriors: TypeAlias = dict[str, list[Any]]
"""For each parameter of a column one distribution per class."""


def no_posterior(reason: str) -> GapError:
    """What is raised where the posterior is no distribution."""
    return GapError(f"posterior: it {reason}.", reason)


def dirichlets(counts: FloatArray) -> list[Any]:
    """A Dirichlet distribution of the probabilities of values for each class, from counts and prior counts."""
    from scipy.stats import dirichlet

    _refuse_improper(counts)
    return [dirichlet(row) for row in counts]


def betas(yes: FloatArray, no: FloatArray) -> list[Any]:
    """A beta distribution of a probability for each class."""
    from scipy.stats import beta

    _refuse_improper(np.stack([yes, no]))
    return [beta(*pair) for pair in zip(yes.tolist(), no.tolist(), strict=True)]


def _refuse_improper(counts: FloatArray) -> None:
    if (counts <= 0).any():
        raise no_posterior(
            "has a value that a class never had, and no pseudo-count for it, so the posterior is no distribution; use "
            "smoothing='jeffreys', for example"
        )


def gammas(shape: FloatArray, rate: FloatArray) -> list[Any]:
    """A gamma distribution of a rate for each class."""
    from scipy.stats import gamma

    if (shape <= 0).any() or (rate <= 0).any():
        raise no_posterior("has a class without events or rows, so the posterior of its rate is no distribution")
    return [gamma(a, scale=1.0 / b) for a, b in zip(shape.tolist(), rate.tolist(), strict=True)]


def normals(weight: FloatArray, mean: FloatArray, freedom: FloatArray, scatter: FloatArray) -> Posteriors:
    """Of means and variances under the prior ``1 / variance``: the marginals of the normal-inverse-gamma posterior.

    Parameters
    ----------
    weight, mean : ndarray of shape (classes,)
    freedom, scatter : ndarray of shape (classes,)
        The degrees of freedom of the variance and the sum of squares behind it.
    """
    from scipy.stats import invgamma, t

    if (freedom <= 0).any() or (scatter <= 0).any():
        raise no_posterior("has a class with less than two different values, so the posterior is no distribution")
    scale = np.sqrt(scatter / freedom / weight)
    return {
        "mean": [t(*three) for three in zip(freedom.tolist(), mean.tolist(), scale.tolist(), strict=True)],
        "variance": [invgamma(f / 2, scale=s / 2) for f, s in zip(freedom.tolist(), scatter.tolist(), strict=True)],
    }


def log_marginal(counts: FloatArray, prior: FloatArray) -> float:
    """The log-probability of counted rows, in their order, if the probabilities of the values have a Dirichlet prior.

    Parameters
    ----------
    counts : ndarray of shape (..., values)
    prior : ndarray that broadcasts to that shape
        The prior's parameters.

    Examples
    --------
    >>> round(float(np.exp(log_marginal(np.array([[3.0, 1.0]]), np.array([1.0, 1.0])))), 6)  # 3! 1! / 5!
    0.05
    """
    from scipy.special import gammaln

    prior = np.broadcast_to(prior, counts.shape)
    if (prior <= 0).any():
        raise GapError(
            "log_marginal_likelihood_: a prior count is 0.",
            "has a prior of 0 for some value, under which the data have no probability; use smoothing='jeffreys', for "
            "example",
        )
    of_values = (gammaln(counts + prior) - gammaln(prior)).sum()
    total, prior_total = counts.sum(axis=-1), prior.sum(axis=-1)
    return float(of_values - (gammaln(total + prior_total) - gammaln(prior_total)).sum())


def prior_counts(smoothing: Smoothing, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
    """The parameters of the Dirichlet prior that a smoothing stands for, in a shape that can be added to counts."""
    return np.asarray(smoothing.concentration(counts, labels), dtype=np.float64)


def refuse_prior_from_data(smoothing: Smoothing) -> None:
    """Refuse rules whose opinion is that of the data, which then have no prior probability."""
    if not smoothing.knows_no_counts:
        raise GapError(
            f"{smoothing!r} is no prior.",
            f"is smoothed by {smoothing!r}, an opinion that is taken from the data and so is no prior",
        )
