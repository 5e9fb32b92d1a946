"""The columns that tell most, each alone: a scikit-learn selector."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from naively.classifier import NaiveBayes
from naively.errors import InputError, ParameterError
from naively.families import Gaussian
from naively.typing import AnyArray, FamiliesLike, TableLike, TargetLike, WeightsLike


class SelectByEvidence(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the columns that tell most of the class: `NaiveBayes.rank_features` as a step of a pipeline.

    Parameters
    ----------
    k : int or "all", default=10
        How many columns are kept; all, if there are no more. Of columns that tell the same, the first.
    by : "information", "likelihood_ratio", "effect" or "weight", default="information"
        What they are ranked by, as in `NaiveBayes.rank_features`.
    families : family, str or dict, optional
        How columns are read, as in `NaiveBayes`: by default numbers as `Gaussian` (with one variance for all classes if
        by "weight"), all else as `Categorical`.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
    model_ : NaiveBayes
        The model whose columns were ranked.
    n_features_in_ : int
    feature_names_in_ : ndarray
        If X had string names.

    Notes
    -----
    X may hold text, categories and missing cells. What `transform` gives is scikit-learn's affair: an array, or with
    ``set_output(transform="pandas")`` a frame, whose columns keep their types.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> SelectByEvidence(k=2).fit(X, y).get_feature_names_out().tolist()
    ['petal length (cm)', 'petal width (cm)']
    """

    def __init__(self, k: Any = 10, *, by: str = "information", families: FamiliesLike | None = None):
        self.k = k
        self.by = by
        self.families = families

    def fit(self, X: TableLike, y: TargetLike, sample_weight: WeightsLike | None = None) -> Self:
        """Rank the columns.

        Parameters
        ----------
        X : array, data frame or sparse matrix
        y : array-like
            The classes.
        sample_weight : array-like, optional
            A weight w counts as w repetitions of the row.

        Returns
        -------
        self
        """
        whole = isinstance(self.k, (int, np.integer)) and not isinstance(self.k, bool) and self.k >= 1
        if not whole and not (isinstance(self.k, str) and self.k == "all"):
            raise ParameterError(f"SelectByEvidence(k) must be a whole number of at least 1, or 'all', got {self.k!r}.")
        if isinstance(y, str):
            raise InputError(
                f"SelectByEvidence takes the classes as an array, one per row, got y={y!r}: what is transformed has no "
                "column of classes."
            )
        model = NaiveBayes("textbook", families=self.families).fit(X, y, sample_weight)
        validate_data(self, X, skip_check_array=True)  # takes down names and number of the columns
        if self.by == "weight" and self.families is None:
            numeric = [place for place, name in enumerate(model.schema_.names) if model.schema_.is_numeric(place)]
            model.set_params(families={place: Gaussian(ties="feature") for place in numeric})
        frame = model.rank_features(self.by)
        scores = dict(zip(frame["column"], frame["score"], strict=True))
        self.model_ = model
        self.scores_ = np.array([scores[name] for name in model.schema_.names])
        return self

    def _get_support_mask(self) -> AnyArray:
        check_is_fitted(self)
        n_kept = len(self.scores_) if isinstance(self.k, str) else min(int(self.k), len(self.scores_))
        mask = np.zeros(len(self.scores_), dtype=bool)
        mask[np.argsort(-self.scores_, kind="stable")[:n_kept]] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
