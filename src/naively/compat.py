"""Other systems' naive Bayes, as settings of `NaiveBayes`.

Each class is a `NaiveBayes` whose parameters are those of another system, and whose posteriors are that system's: R's
e1071, klaR and naivebayes, CLOP and Weka. There is no second implementation, so such a model also learns in batches,
forgets, merges, explains, is tuned over its own parameters and is saved. `docs/compatibility.md` compares the systems.

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
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from naively._common.by_label import by_label
from naively._common.checks import require_bool, require_number
from naively.classifier import NaiveBayes
from naively.errors import ParameterError, brief
from naively.families import Bernoulli, ByKind, Categorical, Family, Gaussian, Kernel, Poisson, Thresholded
from naively.families._weka import Rounded
from naively.recipes import Recipe
from naively.smoothing import NAMES, MEstimate, Smoothing
from naively.typing import PriorLike, SmoothingLike

__all__ = ["clop", "e1071", "klar", "naivebayes", "weka"]


class _OtherSystem(NaiveBayes):  # the classes below have the names of the functions and packages they stand for
    """A model with the parameters of another system. A subclass says which families and prior they stand for."""

    recipe = "textbook"
    factors = None
    prior: Any = None
    prior_smoothing: Any = None
    smoothing: Any = None
    kept_rows = None
    n_threads = None

    @property
    def families(self) -> ByKind:  # type: ignore[override]
        """How columns are distributed, by what they hold."""
        raise NotImplementedError  # pragma: no cover

    def _refuse_unread_smoothing(self, recipe: Recipe) -> None:
        """Nothing is refused: the other systems pass over a pseudo-count that no column reads."""

    def _given_prior(self) -> Any:
        return "estimated" if self.prior is None else _normalised(self.prior)


class e1071(_OtherSystem):  # noqa: N801
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

    Examples
    --------
    >>> from naively import compat
    >>> X = {"weight": [4.2, 5.0, 31.0, 24.0], "coat": ["striped", "plain", "plain", "plain"]}
    >>> model = compat.e1071().fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict_proba({"weight": [14.0], "coat": ["striped"]}).round(4)
    array([[0., 1.]])
    >>> print(str(model).partition("Conditional")[2])
     probabilities:
         weight
    Y     [,1]      [,2]
      cat  4.6 0.5656854
      dog 27.5 4.9497475
    <BLANKLINE>
         coat
    Y     plain striped
      cat   0.5     0.5
      dog   1.0     0.0
    <BLANKLINE>
    """

    def __init__(self, laplace: float = 0, threshold: float = 0.001, eps: float = 0):
        self.laplace = laplace
        self.threshold = threshold
        self.eps = eps
        require_number("laplace", laplace, at_least=0)
        _ = self.families  # a bad parameter is refused at once

    def __str__(self) -> str:
        """What R prints of the fitted model: the class prior, means and standard deviations, probabilities."""
        from naively.analysis._r_tables import as_printed_by_e1071

        return as_printed_by_e1071(self) if self._is_fitted() else repr(self)

    @property
    def families(self) -> ByKind:  # type: ignore[override]
        """How columns are distributed, by what they hold."""
        return _made_once(_families_of_e1071, self.threshold, self.eps)

    @property
    def smoothing(self) -> float:  # type: ignore[override]
        """The pseudo-count of every category."""
        return self.laplace


class klar(_OtherSystem):  # noqa: N801
    """R's ``klaR::NaiveBayes(x, grouping, prior, usekernel, fL, adjust)`` with ``predict(model, x, threshold)``.

    Parameters
    ----------
    fL : float, default=0
        The pseudo-count of every category.
    usekernel : bool, default=False
        Numbers get kernel densities, not Gaussian ones, on R's grid of `n` points, and read at the nearest one.
    adjust : float, default=1
        Multiplies the bandwidth.
    prior : array, dict or Series, optional
        Weights of the classes, in sorted order or by class, which need not sum to one; by default their frequencies.
    threshold : float, default=0.001
        What takes the place of a probability or density of exactly zero.
    bw, kernel, n
        As in R's `density`: "nrd0", "SJ", "ucv" or a bandwidth; the shape of the bells; the number of points.
    interpolate : bool, default=False
        A density is the mean of the two points of the grid beside the value, not that of the nearest: what klaR's
        `predict` takes as ``interpolate = TRUE``.

    Examples
    --------
    >>> from naively import compat
    >>> model = compat.klar(usekernel=True).fit([[1.0], [2.0], [2.5], [7.0], [8.0]], ["a", "a", "a", "b", "b"])
    >>> model.predict_proba([[3.0]]).round(3)
    array([[0.971, 0.029]])
    """

    def __init__(
        self,
        fL: float = 0,
        usekernel: bool = False,
        adjust: float = 1,
        prior: PriorLike | None = None,
        threshold: float = 0.001,
        bw: Any = "nrd0",
        kernel: str = "gaussian",
        n: int = 512,
        interpolate: bool = False,
    ):
        self.fL = fL
        self.usekernel = usekernel
        self.adjust = adjust
        self.prior = prior
        self.threshold = threshold
        self.bw = bw
        self.kernel = kernel
        self.n = n
        self.interpolate = interpolate
        require_number("fL", fL, at_least=0)
        require_bool(interpolate, "interpolate")
        _ = self.families, self._given_prior()  # a bad parameter is refused at once

    @property
    def families(self) -> ByKind:  # type: ignore[override]
        """How columns are distributed, by what they hold."""
        density = (self.bw, self.adjust, self.kernel, self.n, "mean" if self.interpolate else True)
        require_bool(self.usekernel, "usekernel")
        return _made_once(_families_of_klar, density if self.usekernel else None, self.threshold)

    @property
    def smoothing(self) -> float:  # type: ignore[override]
        """The pseudo-count of every category."""
        return self.fL


class naivebayes(_OtherSystem):  # noqa: N801
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

    Examples
    --------
    >>> from naively import compat
    >>> model = compat.naivebayes(laplace=1, usepoisson=True).fit({"eggs": [0, 1, 0, 4, 6]}, ["a", "a", "a", "b", "b"])
    >>> model.parameters()["eggs"]["rate"].round(3)
    array([0.667, 5.5  ])
    """

    def __init__(
        self,
        laplace: float = 0,
        usekernel: bool = False,
        usepoisson: bool = False,
        adjust: float = 1,
        prior: PriorLike | None = None,
        threshold: float = 0.001,
        eps: float = 0,
        bw: Any = "nrd0",
        kernel: str = "gaussian",
        n: int = 512,
    ):
        self.laplace = laplace
        self.usekernel = usekernel
        self.usepoisson = usepoisson
        self.adjust = adjust
        self.prior = prior
        self.threshold = threshold
        self.eps = eps
        self.bw = bw
        self.kernel = kernel
        self.n = n
        require_number("laplace", laplace, at_least=0)
        _ = self.families, self._given_prior()  # a bad parameter is refused at once

    @property
    def families(self) -> ByKind:  # type: ignore[override]
        """How columns are distributed, by what they hold."""
        require_bool(self.usekernel, "usekernel")
        require_bool(self.usepoisson, "usepoisson")
        density = (self.bw, self.adjust, self.kernel, self.n) if self.usekernel else None
        return _made_once(
            _families_of_naivebayes, self.laplace == 0, density, self.usepoisson, self.threshold, self.eps
        )

    @property
    def smoothing(self) -> float:  # type: ignore[override]
        """The pseudo-count of every category."""
        return self.laplace


class weka(_OtherSystem):  # noqa: N801
    """Weka's ``weka.classifiers.bayes.NaiveBayes``, by default or with kernels (-K).

    Numbers are rounded to the mean gap between the distinct values of their column, and a cell has the probability of
    the interval of that width around it. Values of labels have a pseudo-count of one, and so have the classes.

    Parameters
    ----------
    kernel : bool, default=False
        Numbers have kernel densities, not normal ones: Weka's option -K.

    Examples
    --------
    >>> from naively import compat
    >>> X, y = {"weight": [4.2, 5.0, 31.0, 24.0]}, ["cat", "cat", "dog", "dog"]
    >>> model = compat.weka().fit(X, y)
    >>> model.predict_proba({"weight": [14.0]}).round(4)
    array([[0.9439, 0.0561]])
    """

    prior_smoothing = "laplace"
    smoothing = "laplace"

    def __init__(self, kernel: bool = False):
        self.kernel = kernel
        if not isinstance(kernel, (bool, np.bool_)):
            raise ParameterError(f"kernel must be True or False, got {brief(kernel)}.")

    @property
    def families(self) -> ByKind:  # type: ignore[override]
        """How columns are distributed, by what they hold."""
        return _FAMILIES_OF_WEKA[bool(self.kernel)]


class clop(_OtherSystem):  # noqa: N801
    """CLOP's `naive`: frequencies of binary columns, Gaussians with a variance shared by the classes for the others.

    Each frequency f of a class of n rows becomes ``(n f + mean f) / (n + 1)``, which is ``MEstimate(1, mean f)``. Both
    kinds of column give a linear discriminant.

    Parameters
    ----------
    smoothing : "classes", "features" or smoothing, default="classes"
        What the mean is over: the classes' frequencies of the same value, or, within the class, all columns' with the
        same values. Another rule, as `NaiveBayes` takes it, in the place of CLOP's.

    Examples
    --------
    >>> from naively import compat
    >>> model = compat.clop().fit([[0, 1], [1, 1], [1, 0], [0, 0]], ["a", "a", "b", "b"])
    >>> model.parameters()["x1"]["probability"].round(4)
    array([0.8333, 0.1667])
    """

    def __init__(self, smoothing: SmoothingLike = "classes"):
        if isinstance(smoothing, str) and smoothing not in ("classes", "features", *NAMES):
            raise ParameterError(f"clop(smoothing) must be 'classes' or 'features', got {brief(smoothing)}.")
        self.smoothing = smoothing

    @property
    def families(self) -> ByKind:  # type: ignore[override]
        """How columns are distributed, by what they hold."""
        return _FAMILIES_OF_CLOP

    def _given_smoothings(self, names: Any, recipe: Recipe) -> list[Smoothing]:
        if isinstance(self.smoothing, str) and self.smoothing in ("classes", "features"):
            return [MEstimate(1.0, self.smoothing)] * len(names)  # type: ignore[arg-type]
        return super()._given_smoothings(names, recipe)


# -- families, made once for equal parameters, so that a model knows that they did not change -------------------------

_FAMILIES_OF_WEKA = {kernel: ByKind(Rounded(kernel), Categorical("declared")) for kernel in (False, True)}

_FAMILIES_OF_CLOP = ByKind(Gaussian(ties="feature", ddof=1), Categorical(), binary=Bernoulli())


def _made_once(make: Any, *options: Any) -> ByKind:
    """What is made of these options, kept; options that cannot be kept are read, or refused, as they are."""
    try:
        families: ByKind = make(*options)
    except TypeError:  # a list, for example, has no hash
        families = make.__wrapped__(*options)
    return families


@lru_cache
def _families_of_e1071(threshold: float, eps: float) -> ByKind:
    return ByKind(_numbers(threshold, eps, eps), Thresholded(Categorical("declared"), threshold, eps))


@lru_cache
def _families_of_klar(density: tuple[Any, ...] | None, threshold: float) -> ByKind:
    if density is None:
        numbers = _numbers(threshold, 0, 0)
    else:
        bw, adjust, kernel, n, nearest = density
        bells = Kernel(bw, adjust, kernel=kernel, background=False, points=n, nearest=nearest)
        numbers = Thresholded(bells, threshold)
    return ByKind(numbers, Thresholded(Categorical("declared"), threshold))


@lru_cache
def _families_of_naivebayes(
    thresholded: bool, density: tuple[Any, ...] | None, usepoisson: bool, threshold: float, eps: float
) -> ByKind:
    if density is None:
        numbers = _numbers(threshold, eps, 0, "silent")
    else:
        bw, adjust, kernel, n = density
        numbers = Thresholded(Kernel(bw, adjust, kernel=kernel, background=False, points=n), threshold)
    labels: Family = Categorical("declared")
    if thresholded:
        labels = Thresholded(labels, threshold, eps)
    counts = Thresholded(Poisson(pseudo="events"), threshold, eps) if usepoisson else None
    return ByKind(numbers, labels, counts)


def _numbers(
    threshold: float, eps: float, density_eps: float, lone: Literal["floor", "silent"] = "floor"
) -> Thresholded:
    """Gaussian densities as in R."""
    gaussian = Gaussian(ddof=1, rule="threshold", floor=threshold, eps=eps, lone=lone)
    return Thresholded(gaussian, threshold, density_eps)


def _normalised(prior: Any) -> Any:
    """Weights of the classes as probabilities, by class if they have labels."""
    prior = by_label(prior, "prior")
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
