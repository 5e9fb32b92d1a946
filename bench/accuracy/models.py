"""The models that are compared, each as a function from a data set to something with fit and predict_proba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler

from naively import NaiveBayes

from .sets import DataSet


def ours(recipe: str) -> Callable[[DataSet], Any]:
    return lambda data: NaiveBayes(recipe, n_threads=1)


def gaussian_one_hot(data: DataSet) -> Any:
    encode = make_column_transformer(
        (SimpleImputer(keep_empty_features=True), data.numeric),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), data.categorical),
    )
    return make_pipeline(encode, GaussianNB())


def binned_categorical(data: DataSet) -> Any:
    bins = KBinsDiscretizer(10, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf")
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(keep_empty_features=True), bins), data.numeric),
        (_known_codes(), data.categorical),
    )
    return make_pipeline(encode, _SafeCategoricalNB())


class HandMixed(ClassifierMixin, BaseEstimator):
    """GaussianNB on the numbers and CategoricalNB on the categories, their log-probabilities added by hand."""

    def __init__(self, numeric: list[str], categorical: list[str]):
        self.numeric, self.categorical = numeric, categorical

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> HandMixed:
        self.classes_ = np.unique(y)
        self.parts_ = []
        if self.numeric:
            impute = SimpleImputer(keep_empty_features=True)
            self.parts_.append(make_pipeline(_columns(self.numeric, impute), GaussianNB()))
        if self.categorical:
            self.parts_.append(make_pipeline(_columns(self.categorical, _known_codes()), _SafeCategoricalNB()))
        for part in self.parts_:
            part.fit(X, y)
        self.log_prior_ = np.log(np.bincount(np.searchsorted(self.classes_, y)) / len(y))
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        joint = sum(part.predict_log_proba(X) - self.log_prior_ for part in self.parts_) + self.log_prior_
        joint = joint - joint.max(axis=1, keepdims=True)
        proba = np.exp(joint)
        return proba / proba.sum(axis=1, keepdims=True)


class _SafeCategoricalNB(CategoricalNB):
    """CategoricalNB with one spare category per column: a value that training did not have would be an error."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> _SafeCategoricalNB:
        self.min_categories = np.asarray(X, dtype=int).max(axis=0) + 2
        return super().fit(X, y)

    def _check_X(self, X: np.ndarray) -> np.ndarray:
        return super()._check_X(np.minimum(np.asarray(X, dtype=int), self.n_categories_ - 1))


def _known_codes() -> Any:
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    return make_pipeline(encoder, _Shift())


class _Shift(BaseEstimator):
    """Codes from 0 on, the unknown and missing at 0."""

    def fit(self, X: np.ndarray, y: np.ndarray | None = None) -> _Shift:
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X + 1

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _columns(names: list[str], step: Any) -> Any:
    return make_column_transformer((step, names))


def hand_mixed(data: DataSet) -> Any:
    return HandMixed(data.numeric, data.categorical)


def logistic_regression(data: DataSet) -> Any:
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), data.numeric),
        (OneHotEncoder(handle_unknown="ignore"), data.categorical),
    )
    return make_pipeline(encode, LogisticRegression(max_iter=2000))


class Boosting(ClassifierMixin, BaseEstimator):
    """HistGradientBoosting with its defaults; early stopping only where every class can be split, as it requires."""

    def __init__(self, categorical: list[str]):
        self.categorical = categorical

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Boosting:
        self.empty_ = [name for name in X.columns if X[name].isna().all()]
        stopping = "auto" if np.unique(y, return_counts=True)[1].min() > 1 else False
        native = [n for n in self.categorical if n not in self.empty_ and X[n].nunique() <= 255]
        self.model_ = HistGradientBoostingClassifier(
            categorical_features=native, early_stopping=stopping, random_state=0
        )
        self.model_.fit(self._table(X), y)
        self.classes_ = self.model_.classes_
        return self

    def _table(self, X: pd.DataFrame) -> pd.DataFrame:
        table = X.drop(columns=self.empty_)
        wide = [n for n in self.categorical if n in table and table[n].cat.categories.size > 255]
        return table.assign(**{name: table[name].cat.codes for name in wide})

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return self.model_.predict_proba(self._table(X))


def random_forest(data: DataSet) -> Any:
    encode = make_column_transformer(
        (SimpleImputer(keep_empty_features=True), data.numeric),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), data.categorical),
    )
    return make_pipeline(encode, RandomForestClassifier(random_state=0))


class LightGBM(ClassifierMixin, BaseEstimator):
    """LightGBM with its defaults, on data frames with categories; names that its files cannot hold are numbered."""

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> LightGBM:
        from lightgbm import LGBMClassifier

        self.model_ = LGBMClassifier(random_state=0, n_jobs=1, verbose=-1).fit(self._table(X), y)
        self.classes_ = self.model_.classes_
        return self

    @staticmethod
    def _table(X: pd.DataFrame) -> pd.DataFrame:
        return X.set_axis([f"c{place}" for place in range(X.shape[1])], axis=1)

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return self.model_.predict_proba(self._table(X))


class CatBoost(ClassifierMixin, BaseEstimator):
    """CatBoost with its defaults, its own encoding of categories, a missing one as a category."""

    def __init__(self, categorical: list[str]):
        self.categorical = categorical

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> CatBoost:
        from catboost import CatBoostClassifier

        self.model_ = CatBoostClassifier(
            random_seed=0, thread_count=1, verbose=False, allow_writing_files=False, cat_features=self.categorical
        ).fit(self._table(X), y)
        self.classes_ = self.model_.classes_
        return self

    def _table(self, X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(**{name: X[name].astype(object).fillna("missing") for name in self.categorical})

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return self.model_.predict_proba(self._table(X))


MODELS: dict[str, Callable[[DataSet], Any]] = {
    "naively textbook": ours("textbook"),
    "naively fast": ours("fast"),
    "naively auto": ours("auto"),
    "naively strong": ours("strong"),
    "GaussianNB + one-hot": gaussian_one_hot,
    "KBins + CategoricalNB": binned_categorical,
    "Gaussian + Categorical by hand": hand_mixed,
    "logistic regression": logistic_regression,
    "random forest": random_forest,
    "HistGradientBoosting": lambda data: Boosting(data.categorical),
    "LightGBM": lambda data: LightGBM(),
    "CatBoost": lambda data: CatBoost(data.categorical),
}
