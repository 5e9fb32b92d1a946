"""What the drop-ins have in common: scikit-learn's methods and class bookkeeping over a `NaiveBayes`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from naively._common.by_label import by_label
from naively._common.checks import require_number
from naively._common.estimators import BaseEstimator, ClassifierMixin
from naively._model.state import learning_lock
from naively._scoring.decision import accuracy, log_prior
from naively._table.target import read_rows, read_target
from naively.classifier import NaiveBayes
from naively.errors import InputError, ParameterError, brief, listed, warn
from naively.families import Estimate, Family
from naively.smoothing import Dirichlet, Lidstone, Smoothing
from naively.statistics._moments import Moments
from naively.typing import AnyArray, FloatArray, TableLike, TargetLike, WeightsLike


class Learnt(NamedTuple):
    """What a drop-in has learnt.

    Parameters
    ----------
    model : NaiveBayes
    unweighted : NaiveBayes or None
        The same rows, each weighing one, where they are needed; None while that is what the model has.
    """

    model: NaiveBayes
    unweighted: NaiveBayes | None = None


NEGATIVE = "Negative values in data"
"""How an error about negative counts begins, in scikit-learn's words as in ours."""


class DropIn(ClassifierMixin, BaseEstimator):
    """Base of the drop-ins. A subclass says which family, smoothing and prior its parameters stand for.

    What was learnt is replaced as a whole: a batch that is refused changes nothing, answers are those of one state
    whatever other threads learn, and no row is lost when several learn. Parameters take effect when rows are learnt.
    """

    _state: Learnt
    _n_features: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in self.__dict__

    # -- what the parameters stand for ----------------------------------------------------------------------------

    def _family(self) -> Family:
        """The family of all columns."""
        raise NotImplementedError  # pragma: no cover

    def _smoothing(self, n_features: int) -> Smoothing | None:
        """The pseudo-counts; a bad parameter is refused."""
        raise NotImplementedError  # pragma: no cover

    def _prior(self) -> Any:
        """The class prior, as `NaiveBayes` takes it."""
        raise NotImplementedError  # pragma: no cover

    def _prior_of_answers(self) -> Any:
        """Another prior for the answers; None for the model's."""
        return None

    def _read(self, X: Any) -> Any:
        """X, made ready for the model."""
        return X

    # -- learning -------------------------------------------------------------------------------------------------

    def fit(self, X: TableLike, y: TargetLike, sample_weight: WeightsLike | None = None) -> Self:
        """Learn the rows of X, and nothing but them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            NaN stands for a missing cell.
        y : array-like of shape (n_samples,)
            The classes.
        sample_weight : array-like of shape (n_samples,), optional
            A weight w counts as w repetitions of the row.

        Returns
        -------
        self
        """
        X = self._read(X)
        # A class whose rows all weigh nothing is known all the same.
        classes = None if sample_weight is None else read_rows(X, y, sample_weight)[1]
        learnt = self._learnt(None, X, y, classes, sample_weight)
        with learning_lock(self):
            self._state = learnt
        return self

    def partial_fit(
        self, X: TableLike, y: TargetLike, classes: Any = None, sample_weight: WeightsLike | None = None
    ) -> Self:
        """Learn more rows: afterwards the model equals one fitted on all rows at once.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like of shape (n_classes,), optional
            All classes that can ever occur. Needed in the first call; later the same or nothing.

        Returns
        -------
        self
        """
        X = self._read(X)
        with learning_lock(self):
            known: Learnt | None = self.__dict__.get("_state")
            declared = self._checked_classes(classes, y, X)
            self._state = self._learnt(known, X, y, declared, sample_weight)
        return self

    def _checked_classes(self, classes: Any, y: Any, X: Any) -> AnyArray:
        """All classes, from the first call's argument or from what is known, and no others in y."""
        declared = self._declared_classes(classes)
        found = read_target(y, len(y))[0] if not isinstance(y, str) else read_rows(X, y, None)[1]
        unknown = sorted(set(found.tolist()) - set(declared.tolist()))
        if unknown:
            raise InputError(
                f"The target label(s) {listed(unknown)} in y do not exist in the initial classes {declared.tolist()}. "
                "Name all classes in the first call to partial_fit."
            )
        return declared

    def _declared_classes(self, classes: Any) -> AnyArray:
        """All classes, from the first call's argument or from what is known; they cannot change."""
        known: AnyArray | None = getattr(self, "classes_", None)
        if classes is None:
            if known is None:
                raise ParameterError("classes must be passed on the first call to partial_fit.")
            return known
        declared = read_target(classes, len(classes))[0]
        if known is not None and known.tolist() != declared.tolist():
            raise ParameterError(
                f"`classes={brief(classes)}` is not the same as on last call to partial_fit, was: {brief(known)}"
            )
        return declared

    def _learnt(self, known: Learnt | None, X: Any, y: Any, classes: AnyArray | None, sample_weight: Any) -> Learnt:
        """A model that has learnt the rows besides what the given one had; that one is left as it is."""
        model = NaiveBayes("textbook", families=self._family()) if known is None else copy.copy(known.model)
        try:
            model.partial_fit(X, y, classes=classes, sample_weight=sample_weight)
        except InputError as error:
            if not str(error).startswith(NEGATIVE):
                raise
            where = str(error).removeprefix(NEGATIVE)
            raise InputError(f"{NEGATIVE} passed to {type(self).__name__} (input X){where}") from error
        model.families, model.prior = self._family(), self._prior()
        model.smoothing = self._smoothing(model.n_features_in_)
        model._prior(model.prior)  # one that does not fit the classes is refused
        return Learnt(model)

    # -- answers --------------------------------------------------------------------------------------------------

    def predict(self, X: TableLike) -> AnyArray:
        """The most probable class of each row.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._ready().predict(self._read(X), prior=self._prior_of_answers())

    def score(self, X: TableLike, y: TargetLike, sample_weight: WeightsLike | None = None) -> float:
        """The accuracy: the share of the rows whose class is predicted.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
        """
        table, classes, codes, weights = read_rows(X, y, sample_weight)
        return accuracy(classes[codes], self.predict(table), weights)

    def predict_proba(self, X: TableLike) -> FloatArray:
        """The probability of each class.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._ready().predict_proba(self._read(X), prior=self._prior_of_answers())

    def predict_log_proba(self, X: TableLike) -> FloatArray:
        """The logarithm of the probability of each class.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._ready().predict_log_proba(self._read(X), prior=self._prior_of_answers())

    def predict_joint_log_proba(self, X: TableLike) -> FloatArray:
        """The joint log-probability ``log P(class) + log P(row | class)``.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._ready().predict_joint_log_proba(self._read(X), prior=self._prior_of_answers())

    def _ready(self) -> NaiveBayes:
        """The model behind, as it is now."""
        return self.model_._taken()

    # -- what was learnt ------------------------------------------------------------------------------------------

    @property
    def model_(self) -> NaiveBayes:
        """The model behind."""
        if "_state" not in self.__dict__:
            check_is_fitted(self)  # which says what to do
        return self._state.model

    @property
    def classes_(self) -> AnyArray:
        """The class labels, sorted."""
        return self.model_.classes_

    @property
    def n_features_in_(self) -> int:
        """How many columns there are; it can be set before the first fit, as scikit-learn's own tests do."""
        if "_state" not in self.__dict__ and "_n_features" in self.__dict__:
            return self._n_features
        return self.model_.n_features_in_

    @n_features_in_.setter
    def n_features_in_(self, n_features: int) -> None:
        if "_state" in self.__dict__:
            raise AttributeError("n_features_in_ is what was learnt, and cannot be set.")
        self._n_features = n_features

    @property
    def feature_names_in_(self) -> AnyArray:
        """The columns' names, if X had any."""
        return self.model_.feature_names_in_

    @property
    def class_count_(self) -> FloatArray:
        """The weight of the rows of each class."""
        return self._ready().class_count_

    @property
    def _estimate(self) -> Any:
        """The parameters of all columns."""
        estimate: Estimate = self._ready()._estimated()[0].factors[0].estimate
        return estimate


class DiscreteDropIn(DropIn):
    """Base of the drop-ins that count: `alpha`, `force_alpha`, `fit_prior` and `class_prior`."""

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _check_alpha(self, n_features: int | None = None) -> Any:
        """The pseudo-counts, a number or one per feature, lifted to 1e-10 unless `force_alpha`."""
        n_features = getattr(self, "n_features_in_", None) if n_features is None else n_features
        return checked_alpha(self.alpha, self.force_alpha, n_features)

    def _smoothing(self, n_features: int) -> Smoothing:
        alpha = self._check_alpha(n_features)
        return self._smoothing_by_feature(tuple(alpha.tolist())) if np.ndim(alpha) else Lidstone(float(alpha))

    def _smoothing_by_feature(self, alpha: tuple[float, ...]) -> Smoothing:
        """Pseudo-counts that differ between features."""
        return Dirichlet(alpha, "mean")

    def _prior(self) -> Any:
        if self.class_prior is None:
            return "estimated" if self.fit_prior else "uniform"
        given = by_label(self.class_prior, "class_prior")
        if isinstance(given, Mapping):
            total = sum(given.values())
            return {label: weight / total for label, weight in given.items()}
        prior = np.asarray(given, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return prior / prior.sum()

    @property
    def class_log_prior_(self) -> FloatArray:
        """The logarithm of the class prior; minus infinity for a class that has no row yet."""
        return log_prior(self._ready().class_prior_)


class CountingDropIn(DiscreteDropIn):
    """Base of the drop-ins that have a count for each feature."""

    @property
    def feature_count_(self) -> FloatArray:
        """The sum of each feature in each class, (n_classes, n_features), weighted."""
        return self._ready().statistics_.only(Moments).total.high.copy()


LEAST_ALPHA = 1e-10
"""What `alpha` is lifted to if `force_alpha` is false."""


def checked_alpha(alpha: Any, force_alpha: bool, n_features: int | None) -> Any:
    """Pseudo-counts, a number or an array with one per feature; those below 1e-10 are lifted unless forced."""
    if isinstance(alpha, Real):
        require_number("alpha", alpha, at_least=0)
    else:
        alpha = np.asarray(alpha, dtype=np.float64)
        if alpha.shape != (n_features,):
            raise ParameterError(
                "When alpha is an array, it should contains `n_features` numbers, one per column of X. Got an array of "
                f"shape {alpha.shape} for {n_features} features."
            )
        if not np.isfinite(alpha).all() or (alpha < 0).any():
            raise ParameterError(
                f"All values in alpha must be greater than 0. or 0, and finite; got {brief(alpha.tolist())}."
            )
    if force_alpha or np.min(alpha) >= LEAST_ALPHA:
        return alpha
    warn(
        f"alpha too small will result in numeric errors, setting alpha = {LEAST_ALPHA:.1e}. Use `force_alpha=True` to "
        "keep alpha unchanged: a class can then be impossible, and no answer is NaN.",
        UserWarning,
    )
    return np.maximum(alpha, LEAST_ALPHA)
