"""Other systems' naive Bayes, as settings of `NaiveBayes`.

Each function returns a `NaiveBayes` that is not fitted yet, with the options by which its posteriors are those of
another system: R's e1071, klaR and naivebayes, and CLOP. There is no second implementation, so such a model also learns
in batches, forgets, merges, explains and is saved. `docs/compatibility.md` compares the systems.

Where the R packages stop or answer NA, these models answer:

- A class with one known value in a column has no standard deviation. e1071 answers NA for every class, klaR stops. Here
  it gets `threshold`, like a constant one; under `naivebayes` its density counts as 1, as it does there if another row
  of the table has the cell missing.
- klaR stops where a class is constant in a column: here its standard deviation becomes `threshold`, as elsewhere.
- klaR stops at missing numbers in training: here they are left out, as in the other two.
- A kernel density of one value has no bandwidth: here it takes the one of all classes together.
- A level that only the new table has says nothing, where naivebayes stops.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from naively._checks import require_number
from naively.classifier import NaiveBayes
from naively.errors import ParameterError, brief
from naively.families import Bernoulli, ByKind, Categorical, Family, Gaussian, Kernel, Poisson, Thresholded
from naively.smoothing import MEstimate

__all__ = ["clop", "e1071", "klar", "naivebayes"]


def e1071(laplace: float = 0, threshold: float = 0.001, eps: float = 0) -> NaiveBayes:
    """R's ``e1071::naiveBayes(x, y, laplace)`` with ``predict(model, x, type = "raw", threshold, eps)``.

    Numbers are Gaussian with the unbiased variance; text, categories and booleans are categorical, a categorical type's
    unused categories counting as R's factor levels do.

    Parameters
    ----------
    laplace : float, default=0
        The pseudo-count of every category; the class prior is never smoothed.
    threshold : float, default=0.001
        What takes the place of vanishing probabilities, densities and standard deviations.
    eps : float, default=0
        All of these at or below it vanish. Mind the densities: in a column of large numbers all are small.

    Returns
    -------
    NaiveBayes

    Examples
    --------
    >>> from naively import compat
    >>> X = {"weight": [4.2, 5.0, 31.0, 24.0], "coat": ["striped", "plain", "plain", "plain"]}
    >>> model = compat.e1071().fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict_proba({"weight": [14.0], "coat": ["striped"]}).round(4)
    array([[0., 1.]])
    """
    require_number("laplace", laplace, at_least=0)
    labels = Thresholded(Categorical("declared"), threshold, eps)
    return _configured(_numbers(threshold, eps, eps), labels, laplace)


def klar(
    fL: float = 0,
    usekernel: bool = False,
    adjust: float = 1,
    prior: Any = None,
    threshold: float = 0.001,
    bw: Any = "nrd0",
    kernel: str = "gaussian",
    n: int = 512,
) -> NaiveBayes:
    """R's ``klaR::NaiveBayes(x, grouping, prior, usekernel, fL, adjust)`` with ``predict(model, x, threshold)``.

    Parameters
    ----------
    fL : float, default=0
        The pseudo-count of every category.
    usekernel : bool, default=False
        Numbers get kernel densities, not Gaussian ones, on R's grid of `n` points, and read at the nearest one.
    adjust : float, default=1
        Multiplies the bandwidth.
    prior : array or dict, optional
        Weights of the classes, in sorted order or by class, which need not sum to one; by default their frequencies.
    threshold : float, default=0.001
        What takes the place of a probability or density of exactly zero.
    bw, kernel, n
        As in R's `density`: "nrd0" or a bandwidth; the shape of the bells; the number of points.

    Returns
    -------
    NaiveBayes

    Examples
    --------
    >>> from naively import compat
    >>> model = compat.klar(usekernel=True).fit([[1.0], [2.0], [2.5], [7.0], [8.0]], ["a", "a", "a", "b", "b"])
    >>> model.predict_proba([[3.0]]).round(3)
    array([[0.971, 0.029]])
    """
    require_number("fL", fL, at_least=0)
    density = Kernel(bw, adjust, kernel=kernel, background=False, points=n, nearest=True)
    numbers = Thresholded(density, threshold) if usekernel else _numbers(threshold, 0, 0)
    return _configured(numbers, Thresholded(Categorical("declared"), threshold), fL, prior=prior)


def naivebayes(
    laplace: float = 0,
    usekernel: bool = False,
    usepoisson: bool = False,
    adjust: float = 1,
    prior: Any = None,
    threshold: float = 0.001,
    eps: float = 0,
    bw: Any = "nrd0",
    kernel: str = "gaussian",
    n: int = 512,
) -> NaiveBayes:
    """R's ``naivebayes::naive_bayes(x, y, prior, laplace, usekernel, usepoisson)`` with its `predict`.

    Parameters
    ----------
    laplace : float, default=0
        The pseudo-count of every category, and of the events of a Poisson column: rate ``(sum + laplace) / n``.
    usekernel, adjust, bw, kernel, n
        As in `klar`, but between two points of the grid the density is on the line that joins them.
    usepoisson : bool, default=False
        Columns of whole numbers, none of them negative, are Poisson. R looks at the type: a column of doubles that
        happen to be whole would be Gaussian there.
    prior : array or dict, optional
        As in `klar`.
    threshold : float, default=0.001
        What takes the place of vanishing probabilities, densities and standard deviations.
    eps : float, default=0
        Standard deviations and Poisson probabilities at or below it vanish, those of categories only if `laplace` is 0;
        a Gaussian or kernel density vanishes only at 0.

    Returns
    -------
    NaiveBayes

    Examples
    --------
    >>> from naively import compat
    >>> model = compat.naivebayes(laplace=1, usepoisson=True).fit({"eggs": [0, 1, 0, 4, 6]}, ["a", "a", "a", "b", "b"])
    >>> model.parameters()["eggs"]["rate"].round(3)
    array([0.667, 5.5  ])
    """
    require_number("laplace", laplace, at_least=0)
    density = Kernel(bw, adjust, kernel=kernel, background=False, points=n)
    numbers = Thresholded(density, threshold) if usekernel else _numbers(threshold, eps, 0, "silent")
    labels: Family = Categorical("declared")
    if laplace == 0:
        labels = Thresholded(labels, threshold, eps)
    counts = Thresholded(Poisson(pseudo="events"), threshold, eps) if usepoisson else None
    return _configured(numbers, labels, laplace, counts, prior)


def clop(smoothing: Literal["classes", "features"] = "classes") -> NaiveBayes:
    """CLOP's `naive`: frequencies of binary columns, Gaussians with a variance shared by the classes for the others.

    Each frequency f of a class of n rows becomes ``(n f + mean f) / (n + 1)``, which is ``MEstimate(1, mean f)``. Both
    kinds of column give a linear discriminant.

    Parameters
    ----------
    smoothing : "classes" or "features", default="classes"
        What the mean is over: the classes' frequencies of the same value, or, within the class, all columns' with the
        same values.

    Returns
    -------
    NaiveBayes

    Examples
    --------
    >>> from naively import compat
    >>> model = compat.clop().fit([[0, 1], [1, 1], [1, 0], [0, 0]], ["a", "a", "b", "b"])
    >>> model.parameters()["x1"]["probability"].round(4)
    array([0.8333, 0.1667])
    """
    if smoothing not in ("classes", "features"):
        raise ParameterError(f"clop(smoothing) must be 'classes' or 'features', got {brief(smoothing)}.")
    families = ByKind(Gaussian(ties="feature", ddof=1), Categorical(), binary=Bernoulli())
    return NaiveBayes("textbook", families=families, smoothing=MEstimate(1.0, smoothing))


def _numbers(
    threshold: float, eps: float, density_eps: float, lone: Literal["floor", "silent"] = "floor"
) -> Thresholded:
    """Gaussian densities as in R."""
    gaussian = Gaussian(ddof=1, rule="threshold", floor=threshold, eps=eps, lone=lone)
    return Thresholded(gaussian, threshold, density_eps)


def _configured(
    numbers: Family, labels: Family, laplace: float, counts: Family | None = None, prior: Any = None
) -> NaiveBayes:
    given = "estimated" if prior is None else _normalised(prior)
    return NaiveBayes("textbook", families=ByKind(numbers, labels, counts), smoothing=laplace, prior=given)


def _normalised(prior: Any) -> Any:
    """Weights of the classes as probabilities."""
    try:
        weights = np.array(list(prior.values() if isinstance(prior, Mapping) else prior), dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.empty(0)
    if weights.ndim != 1 or not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise ParameterError(
            f"prior must be numbers of zero or more, not all of them zero, in the sorted order of the classes or by "
            f"class; got {brief(prior)}."
        )
    shares = (weights / weights.sum()).tolist()
    return dict(zip(prior, shares, strict=True)) if isinstance(prior, Mapping) else shares
