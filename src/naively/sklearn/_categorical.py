"""`CategoricalNB`: columns of category codes 0, 1, 2, ..."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from naively._table.columns import ColumnsTable
from naively._table.read import read_table
from naively._table.table import ArrayTable, SparseTable, Table
from naively.errors import InputError, ParameterError
from naively.families import Codes
from naively.sklearn._base import DiscreteDropIn
from naively.sklearn._counts import logs_of
from naively.smoothing import Smoothing
from naively.statistics._counts import Counts
from naively.typing import AnyArray, FloatArray, IntArray

BLOCK_CELLS = 1 << 16


class CategoricalNB(DiscreteDropIn):
    """Categorical naive Bayes, as `sklearn.naive_bayes.CategoricalNB`.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-counts; 0 for none.
    force_alpha, fit_prior, class_prior
        As in `MultinomialNB`.
    min_categories : int or array-like of shape (n_features,), optional
        There are at least so many categories. They are the numbers from 0 on; fractions are cut off.

    Attributes
    ----------
    category_count_ : list of ndarray of shape (n_classes, n_categories)
        How often each category of each feature occurred.
    feature_log_prob_ : list of ndarray of shape (n_classes, n_categories)
        The logarithm of the probability of each category of each feature.
    n_categories_ : ndarray of shape (n_features,)
    class_count_, class_log_prior_, classes_, n_features_in_, feature_names_in_, model_
        As in `MultinomialNB`.

    Notes
    -----
    A category beyond those gives no evidence: the other features decide.

    Examples
    --------
    >>> from naively.sklearn import CategoricalNB
    >>> model = CategoricalNB().fit([[0, 1], [0, 1], [1, 2]], ["a", "a", "b"])
    >>> model.predict([[0, 7]]).tolist()
    ['a']
    """

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags

    def _family(self) -> Codes:
        if self.min_categories is None:
            return Codes()
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu" or (least < 0).any():
            raise ParameterError(
                f"'min_categories' should have integral type, and be 0 or more. Got {self.min_categories!r} instead."
            )
        if least.ndim > 1:
            raise ParameterError(
                f"'min_categories' should have shape (n_features,) when an array-like is provided. Got {least.shape} "
                "instead."
            )
        return Codes(least)

    def _smoothing(self, n_features: int) -> Smoothing:
        family = self._family()
        if isinstance(family.at_least, tuple) and len(family.at_least) != n_features:
            raise ParameterError(
                f"'min_categories' should have shape ({n_features},) when an array-like is provided. Got "
                f"({len(family.at_least)},) instead."
            )
        return super()._smoothing(n_features)

    def _smoothing_by_feature(self, alpha: tuple[float, ...]) -> Smoothing:
        raise ParameterError(f"CategoricalNB takes one number for alpha, got {len(alpha)}.")

    def _read(self, X: Any) -> Table:
        table = read_table(X)
        return whole_codes(table, type(self).__name__)

    # -- what was learnt ------------------------------------------------------------------------------------------

    @property
    def category_count_(self) -> list[FloatArray]:
        """How often each category of each feature occurred in each class."""
        model = self._ready()
        counts = cast(Codes, model.families).with_known(model.statistics_.only(Counts))
        return [counts.table(place).high.copy() for place in range(len(counts.columns))]

    @property
    def feature_log_prob_(self) -> list[FloatArray]:
        """The logarithm of the probability of each category of each feature in each class."""
        return [logs_of(probability) for probability in self._estimate.probabilities]

    @property
    def n_categories_(self) -> IntArray:
        """The number of categories of each feature."""
        return np.array([len(labels) for labels in self._estimate.categories], dtype=np.int64)


def whole_codes(table: Table, name: str) -> Table:
    """The table, with fractions cut off as scikit-learn does if there are any; negative numbers are refused."""
    whole = True
    for values in _parts(table):
        if values.dtype.kind in "if" and values.size and np.fmin.reduce(values, axis=None) < 0:
            raise InputError(
                f"Negative values in data passed to {name} (input X): it takes the codes 0, 1, 2, ... of categories."
            )
        whole = whole and (values.dtype.kind != "f" or _is_whole(values))
    return table if whole else ArrayTable(np.trunc(table.numbers(None, slice(0, table.n_rows))), _names(table))


def _parts(table: Table) -> list[AnyArray]:
    """The numbers of a table as arrays, none of them copied; text is left for others to refuse."""
    if isinstance(table, ArrayTable):
        return [table.values]
    if isinstance(table, SparseTable):
        return [table.matrix.data]
    assert isinstance(table, ColumnsTable)
    return [column.numbers for column in table.columns if column.kind in ("number", "truth")]


def _is_whole(values: AnyArray) -> bool:
    """Whether no number has a fraction; missing and infinite ones have none."""
    step = max(1, BLOCK_CELLS * len(values) // max(values.size, 1))
    for start in range(0, len(values), step):
        block = values[start : start + step]
        fraction = np.trunc(block) != block
        if fraction.any() and not np.isnan(block[fraction]).all():
            return False
    return True


def _names(table: Table) -> Any:
    return table.names if table.named else None
