"""`GaussianNB`: normal columns, with scikit-learn's smoothing of the variances."""

from __future__ import annotations

import copy
from typing import Any, cast

import numpy as np

from naively._common.checks import require_number
from naively.classifier import NaiveBayes
from naively.families import Gaussian
from naively.sklearn._base import DropIn, Learnt
from naively.statistics._moments import Moments, pooled
from naively.typing import AnyArray, FloatArray


class GaussianNB(DropIn):
    """Gaussian naive Bayes, as `sklearn.naive_bayes.GaussianNB`.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), optional
        The class prior; by default the class frequencies.
    var_smoothing : float, default=1e-9
        This share of the largest variance of any feature is added to every variance.

    Attributes
    ----------
    class_count_, class_prior_ : ndarray of shape (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    epsilon_ : float
        What is added to the variances: `var_smoothing` times the largest variance of a feature over all rows learnt so
        far, each counted once whatever it weighs.
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Means, and variances with `epsilon_` added.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    model_ : NaiveBayes
        The model behind, which also explains, forgets and merges.

    Examples
    --------
    >>> import numpy as np
    >>> from naively.sklearn import GaussianNB
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [-3.0, -2.0], [1.0, 1.0], [2.0, 1.0], [3.0, 2.0]])
    >>> y = np.array([1, 1, 1, 2, 2, 2])
    >>> whole = GaussianNB().fit(X, y)
    >>> whole.predict([[-0.8, -1]]).tolist()
    [1]
    >>> batches = GaussianNB().partial_fit(X[:2], y[:2], classes=[1, 2]).partial_fit(X[2:], y[2:])
    >>> np.array_equal(batches.var_, whole.var_)
    True
    """

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9):
        self.priors = priors
        self.var_smoothing = var_smoothing

    def _family(self) -> Gaussian:
        require_number("var_smoothing", self.var_smoothing, at_least=0)
        return Gaussian(rule="scikit-learn", floor=float(self.var_smoothing))

    def _smoothing(self, n_features: int) -> None:
        return None

    def _prior(self) -> Any:
        return "estimated" if self.priors is None else copy.deepcopy(self.priors)

    # -- learning: the variance that smooths counts every row once --------------------------------------------------

    def _learnt(self, known: Learnt | None, X: Any, y: Any, classes: AnyArray | None, sample_weight: Any) -> Learnt:
        model = super()._learnt(known, X, y, classes, sample_weight).model
        if sample_weight is None and (known is None or known.unweighted is None):
            return Learnt(model)
        if known is None:
            unweighted = NaiveBayes("textbook", families=self._family())
        else:
            unweighted = copy.copy(known.model if known.unweighted is None else known.unweighted)
        unweighted.partial_fit(X, y, classes=classes)
        epsilon = float(self.var_smoothing) * largest_variance(unweighted)
        model.families = Gaussian(rule="absolute", floor=epsilon)
        return Learnt(model, unweighted)

    # -- what was learnt ------------------------------------------------------------------------------------------

    @property
    def epsilon_(self) -> float:
        """What is added to every variance."""
        model = self._ready()
        family = cast(Gaussian, model.families)
        return family.floor if family.rule == "absolute" else family.floor * largest_variance(model)

    @property
    def class_prior_(self) -> FloatArray:
        """The class prior that is in force."""
        return self._ready().class_prior_

    @property
    def theta_(self) -> FloatArray:
        """The mean of each feature in each class."""
        mean: FloatArray = self._estimate.mean
        return mean.copy()

    @property
    def var_(self) -> FloatArray:
        """The variance of each feature in each class, smoothed."""
        variance: FloatArray = self._estimate.variance
        return variance.copy()


def largest_variance(model: NaiveBayes) -> float:
    """The largest variance of any column over all rows that a Gaussian model has learnt."""
    weight, _, scatter = pooled(model.statistics_.only(Moments))
    return float(np.max(scatter / np.where(weight > 0, weight, 1.0), initial=0.0))
