"""`MultinomialNB`, `ComplementNB` and `BernoulliNB`: columns of counts, or of yes and no; dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._common.checks import require_number
from naively.families import Bernoulli, Complement, Family, Multinomial
from naively.sklearn._base import CountingDropIn
from naively.smoothing import PerColumn, Smoothing
from naively.typing import FloatArray, TableLike


class MultinomialNB(CountingDropIn):
    """Multinomial naive Bayes, as `sklearn.naive_bayes.MultinomialNB`.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Pseudo-counts; 0 for none.
    force_alpha : bool, default=True
        Whether an `alpha` below 1e-10 stays as it is. If not, it becomes 1e-10, with a warning.
    fit_prior : bool, default=True
        Whether the class prior is estimated; if not, it is uniform.
    class_prior : array-like of shape (n_classes,), optional
        The class prior.

    Attributes
    ----------
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    feature_count_, feature_log_prob_ : ndarray of shape (n_classes, n_features)
    n_features_in_, feature_names_in_
        As in scikit-learn.
    model_ : NaiveBayes
        The model behind, which also explains, forgets and merges.

    Examples
    --------
    >>> from naively.sklearn import MultinomialNB
    >>> words = [[2, 1, 0], [1, 0, 0], [0, 1, 3]]
    >>> MultinomialNB().fit(words, ["a", "a", "b"]).predict([[1, 1, 0]]).tolist()
    ['a']

    Without smoothing, words that a class never had make it impossible, and nothing is NaN:

    >>> MultinomialNB(alpha=0).fit(words, ["a", "a", "b"]).predict_proba([[1, 0, 0], [0, 1, 0]]).round(2).tolist()
    [[1.0, 0.0], [0.67, 0.33]]
    """

    def __init__(self, *, alpha: Any = 1.0, force_alpha: bool = True, fit_prior: bool = True, class_prior: Any = None):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _family(self) -> Family:
        return Multinomial()

    @property
    def feature_log_prob_(self) -> FloatArray:
        """The logarithm of each feature's probability in each class."""
        return logs_of(self._estimate.parameters["probability"])


class ComplementNB(CountingDropIn):
    """Complement naive Bayes, as `sklearn.naive_bayes.ComplementNB`.

    Parameters
    ----------
    alpha, force_alpha
        As in `MultinomialNB`.
    fit_prior, class_prior
        As in `MultinomialNB`; they make no difference to the answers, which leave the class prior out.
    norm : bool, default=False
        Whether the weights of each class are divided by their sum.

    Attributes
    ----------
    feature_all_ : ndarray of shape (n_features,)
        The sum of each feature over all classes.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        The weights: what a count of one adds to the score of each class.
    class_count_, class_log_prior_, classes_, feature_count_, n_features_in_, feature_names_in_, model_
        As in `MultinomialNB`.

    Examples
    --------
    >>> from naively.sklearn import ComplementNB
    >>> words = [[2, 1, 0], [1, 0, 0], [0, 1, 3]]
    >>> ComplementNB(norm=True).fit(words, ["a", "a", "b"]).predict([[1, 1, 0]]).tolist()
    ['a']
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _family(self) -> Family:
        return Complement(norm=self.norm)

    def _prior_of_answers(self) -> Any:
        return "uniform"

    def predict_joint_log_proba(self, X: TableLike) -> FloatArray:
        """The score of each class: the sum of its weights, without the class prior.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        joint = super().predict_joint_log_proba(X)
        joint += np.log(joint.shape[1])  # the uniform prior that the answers have
        return joint

    @property
    def feature_all_(self) -> FloatArray:
        """The sum of each feature over all classes."""
        return np.asarray(self.feature_count_.sum(axis=0))

    @property
    def feature_log_prob_(self) -> FloatArray:
        """The weight of each feature for each class."""
        weight: FloatArray = self._estimate.parameters["weight"]
        return weight.copy()


class BernoulliNB(CountingDropIn):
    """Bernoulli naive Bayes, as `sklearn.naive_bayes.BernoulliNB`.

    Parameters
    ----------
    alpha, force_alpha, fit_prior, class_prior
        As in `MultinomialNB`.
    binarize : float or None, default=0.0
        A cell counts as "yes" above it. With None the cells are 0 or 1 already.

    Attributes
    ----------
    feature_count_, feature_log_prob_ : ndarray of shape (n_classes, n_features)
        How often each feature is "yes", and the logarithm of the probability of it.
    class_count_, class_log_prior_, classes_, n_features_in_, feature_names_in_, model_
        As in `MultinomialNB`.

    Examples
    --------
    >>> from naively.sklearn import BernoulliNB
    >>> model = BernoulliNB(alpha=0).fit([[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
    >>> model.predict_proba([[1, 1], [0, 1]]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _family(self) -> Family:
        if self.binarize is not None:
            require_number("binarize", self.binarize, at_least=0, at_most=np.inf)
        return Bernoulli(self.binarize)

    def _smoothing_by_feature(self, alpha: tuple[float, ...]) -> Smoothing:
        return PerColumn(alpha)

    @property
    def feature_log_prob_(self) -> FloatArray:
        """The logarithm of the probability that a feature is "yes"."""
        return logs_of(self._estimate.parameters["probability"])


def logs_of(probability: FloatArray) -> FloatArray:
    """Logarithms, minus infinity for zero."""
    with np.errstate(divide="ignore"):
        return np.log(probability)
