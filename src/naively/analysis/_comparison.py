"""How several models compare: the recipes and a logistic regression, side by side by cross-validation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._common.progress import shown
from naively._table.results import Columns, Result
from naively._table.table import Table
from naively._table.target import read_rows
from naively.analysis._evaluation import MEASURES, Evaluation, evaluated, log_proba_of
from naively.analysis._folds import as_folds
from naively.analysis._measures import LEAST_PROBABILITY
from naively.errors import ParameterError, brief
from naively.typing import AnyArray, FloatArray, IntArray, TableLike, TargetLike, WeightsLike


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """How good several models are, by cross-validation, the one with the least log-loss first.

    Parameters
    ----------
    evaluations : dict
        The `Evaluation` of each model, by its name.
    seconds : dict
        How long each took to learn and answer all folds.
    """

    evaluations: Mapping[str, Evaluation]
    seconds: Mapping[str, float]

    @property
    def best(self) -> str:
        """The name of the model with the least log-loss."""
        return min(self.evaluations, key=lambda name: self.evaluations[name]["log_loss"])

    def _columns(self) -> Columns:
        names = sorted(self.evaluations, key=lambda name: self.evaluations[name]["log_loss"])
        columns: dict[str, tuple[str, list[Any]]] = {"model": ("U", names)}
        for measure in MEASURES:
            columns[measure] = ("f", [self.evaluations[name][measure] for name in names])
        low, high = zip(*(self.evaluations[name].measures["log_loss"][1:] for name in names), strict=True)
        columns |= {"log_loss_low": ("f", list(low)), "log_loss_high": ("f", list(high))}
        return {**columns, "seconds": ("f", [self.seconds[name] for name in names])}


def compare(
    X: TableLike,
    y: TargetLike,
    models: Mapping[str, Any] | None = None,
    *,
    folds: Any = 5,
    sample_weight: WeightsLike | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """The recipes and a logistic regression, side by side by cross-validation.

    Parameters
    ----------
    X, y, sample_weight
        As in `NaiveBayes.fit`.
    models : dict, optional
        What to compare, by name: models of this package, and classifiers of scikit-learn that read X as it is. By
        default every recipe and a logistic regression with the usual preparation of columns.
    folds : int, splitter or pairs of row numbers, default=5
    seed : int, default=0
        Which rows are in which fold.
    progress : bool, optional
        Whether to show a bar; by default on terminals and in notebooks, once it takes more than a second.

    Returns
    -------
    Comparison
        It prints as a table, the model with the least log-loss first.

    Examples
    --------
    >>> from naively import NaiveBayes, compare
    >>> from naively.demo import penguins
    >>> rows, species = penguins()
    >>> two = {"textbook": NaiveBayes("textbook"), "auto": NaiveBayes()}
    >>> compare(rows, species, two).frame()["model"].tolist()
    ['auto', 'textbook']
    """
    table, classes, codes, weights = read_rows(X, y, sample_weight)
    chosen = _default_models(table) if models is None else models
    if not isinstance(chosen, Mapping) or not chosen:
        raise ParameterError(f"models must be a dict of classifiers by name, got {brief(models)}.")
    parts = as_folds(folds, codes, classes[codes], stratify=True, seed=seed)
    rows = np.arange(len(codes))
    answers = {name: np.full((len(codes), len(classes)), np.log(LEAST_PROBABILITY)) for name in chosen}
    seconds = dict.fromkeys(chosen, 0.0)
    work = [(name, place) for place in range(len(parts.tests)) for name in chosen]
    for name, place in shown(work, "comparing", progress):
        test = parts.tests[place]
        train = np.setdiff1d(rows, test) if parts.trains is None else parts.trains[place]
        started = time.perf_counter()
        _answer(chosen[name], table, classes, codes, weights, train, test, answers[name])
        seconds[name] += time.perf_counter() - started
    asked = np.unique(np.concatenate(parts.tests))
    of_asked = None if weights is None else weights[asked]
    evaluations = {name: evaluated(answers[name][asked], codes[asked], of_asked, classes) for name in chosen}
    return Comparison(evaluations, seconds)._of(X)


def _answer(
    model: Any,
    table: Table,
    classes: AnyArray,
    codes: IntArray,
    weights: FloatArray | None,
    train: IntArray,
    test: IntArray,
    answers: FloatArray,
) -> None:
    """Fit a copy of a model on some rows, and write its answers for others."""
    from sklearn.base import clone

    fitted = clone(model)
    own = {} if weights is None else {"sample_weight": weights[train]}
    if weights is not None and hasattr(fitted, "steps"):
        own = {f"{fitted.steps[-1][0]}__sample_weight": weights[train]}
    fitted.fit(table[train], classes[codes[train]], **own)
    place_of = {label: place for place, label in enumerate(classes.tolist())}
    places = np.array([place_of[label] for label in np.asarray(fitted.classes_).tolist()])
    answers[np.ix_(test, places)] = log_proba_of(fitted, table[test])


def _default_models(table: Table) -> dict[str, Any]:
    from naively.classifier import NaiveBayes
    from naively.recipes import RECIPES

    return {**{name: NaiveBayes(name) for name in RECIPES}, "logistic regression": _logistic_regression(table)}


def _logistic_regression(table: Table) -> Any:
    """A logistic regression with the usual preparation: numbers scaled, labels as indicators, texts by TF-IDF."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import FeatureUnion, make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    parts: list[tuple[str, Callable[[Table], Any], Any]] = []
    numbers = [place for place, kind in enumerate(table.kinds) if kind in ("number", "truth")]
    labels = [place for place, kind in enumerate(table.kinds) if kind == "label"]
    if numbers:
        prepared = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        parts.append(("numbers", _Numbers(numbers), prepared))
    if labels:
        parts.append(("labels", _Labels(labels), OneHotEncoder(handle_unknown="ignore", min_frequency=2)))
    prose = [place for place, kind in enumerate(table.kinds) if kind == "text"]
    parts += [(f"text {place}", _Texts(place), TfidfVectorizer()) for place in prose]
    return make_pipeline(
        FeatureUnion([(name, make_pipeline(FunctionTransformer(read), prepare)) for name, read, prepare in parts]),
        LogisticRegression(max_iter=1000),
    )


@dataclass(frozen=True)
class _Numbers:
    """The numbers of some columns of a table."""

    places: list[int]

    def __call__(self, table: Table) -> FloatArray:
        return table.numbers(np.array(self.places), slice(0, table.n_rows))


@dataclass(frozen=True)
class _Labels:
    """The labels of some columns of a table, as text."""

    places: list[int]

    def __call__(self, table: Table) -> AnyArray:
        return np.column_stack(list(self._columns(table)))

    def _columns(self, table: Table) -> Iterator[AnyArray]:
        for place in self.places:
            codes, labels = table.labels(place)
            yield np.array([*map(str, labels), ""], dtype=object)[codes]


@dataclass(frozen=True)
class _Texts:
    """The texts of one column of a table; missing ones are empty."""

    place: int

    def __call__(self, table: Table) -> list[str]:
        return [text or "" for text in table.texts(self.place)]
