"""Choosing parameters by cross-validation, without fitting anything twice.

A model is a sum of statistics, so the model without a fold is a subtraction (see the module `_folds`), and a parameter
that asks for no other statistics (smoothing, prior, ties, bandwidth, ...) is tried on the sums that are there. Rows are
counted once for each distinct set of statistics that the points of the grid need, however many points there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from naively._common.progress import shown
from naively._model.schema import Schema
from naively._table.results import Columns, Result, Shown
from naively._table.table import Table
from naively._table.target import read_rows
from naively.analysis._folds import Folds, as_folds
from naively.analysis._measures import MEASURES, Measure, is_scorer, measure_of_scorer
from naively.classifier import NaiveBayes
from naively.engines._registry import engine_of
from naively.engines._threads import thread_count
from naively.engines.base import Target
from naively.errors import InputError, ParameterError, brief
from naively.recipes import as_recipe
from naively.statistics._statistics import Statistics
from naively.typing import AnyArray, FloatArray, IntArray, TableLike, TargetLike, WeightsLike


@dataclass(frozen=True, repr=False)
class Tuning(Result):
    """What came of trying the points of a grid.

    Parameters
    ----------
    points : list of dict
        The parameters that were tried.
    scores : dict from str to ndarray of shape (n_points, n_folds)
        What each measure said; the first measure decides. Leave-one-out has one column, of all rows.
    best_index_ : int
        The point with the best mean over the folds that have a score, the first of equals.
    best_score_ : float
        Its mean.
    best_model_ : NaiveBayes
        The model with these parameters that has learnt all rows.
    table : data frame, or a dict of lists where no data frame library is installed
        One row per point: its parameters and, for each measure, the mean, the standard deviation over the folds and
        the folds' own scores.
    """

    points: list[dict[str, Any]]
    scores: dict[str, FloatArray]
    best_index_: int
    best_score_: float
    best_model_: NaiveBayes

    @property
    def best_params_(self) -> dict[str, Any]:
        """The parameters of the best point."""
        return self.points[self.best_index_]

    @property
    def table(self) -> Any:
        """All that was tried, as `frame` gives it."""
        return self.frame()

    def _columns(self) -> Columns:
        names = dict.fromkeys(name for point in self.points for name in point)
        columns = {name: _alike([point.get(name) for point in self.points]) for name in names}
        for name, by_fold in self.scores.items():
            columns[name] = [_mean(folds) for folds in by_fold]
            if by_fold.shape[1] > 1:
                columns[f"{name}_sd"] = [_spread(folds) for folds in by_fold]
                columns |= {f"{name}_{fold + 1}": by_fold[:, fold].tolist() for fold in range(by_fold.shape[1])}
        return {name: (np.asarray(cells).dtype.kind, cells) for name, cells in columns.items()}

    def _shown(self) -> Shown:
        names = list(dict.fromkeys(name for point in self.points for name in point))
        lines = [["", *names, *self.scores]]
        for number, point in enumerate(self.points):
            means = [_mean_and_spread(scores[number]) for scores in self.scores.values()]
            mark = "*" if number == self.best_index_ else ""
            lines.append([mark, *(str(_plain(point.get(name, ""))) for name in names), *means])
        return Shown(lines)


def tune(
    model: NaiveBayes,
    X: TableLike,
    y: TargetLike,
    grid: Any,
    *,
    folds: Any = 10,
    scoring: Any = "accuracy",
    sample_weight: WeightsLike | None = None,
    stratify: bool = True,
    seed: Any = 0,
    progress: bool | None = None,
) -> Tuning:
    """Try parameters by exact cross-validation and keep the best.

    Parameters
    ----------
    model : NaiveBayes
        Whatever the grid does not say is taken from it; it is not changed.
    X, y, sample_weight
        As in `NaiveBayes.fit`. The weights count in the scores as well.
    grid : dict of sequences, or sequence of dicts
        All combinations of the values, or the points themselves: parameters of the model, and options of those that
        are objects, as in ``{"families__ties": ["none", "feature"]}``.
    folds : int, "loo", splitter, or sequence of pairs, default=10
        How many folds; leave-one-out in closed form, for the recipe "textbook"; a scikit-learn splitter; or pairs of
        row numbers (train, test).
    scoring : str, callable, or sequence of these, default="accuracy"
        "accuracy", "balanced_accuracy", "kappa", "log_loss" or "brier"; a scorer of scikit-learn, by name ("roc_auc",
        "neg_log_loss", "f1_macro", ...) or as `make_scorer` makes it; or a function of the classes, the probabilities
        (in the order of the sorted classes) and the weights, of which more is better. The first one decides.
    stratify : bool, default=True
        Give each fold its share of every class, where `folds` is a number.
    seed : int or Generator, default=0
        For the order in which rows are dealt to folds.
    progress : bool, optional
        Whether to show a progress bar; by default if standard error is a terminal and it takes long.

    Returns
    -------
    Tuning

    Notes
    -----
    A fold's score is that of a model fitted on the rows of the other folds: what `cross_val_score` would find, without
    fitting. What a recipe chooses from its rows (weights, bandwidths, cuts) is chosen anew in every fold. Under
    leave-one-out it is not, see `NaiveBayes.loo`. Deciding between points by the score on which they were found best
    makes that score a little optimistic.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from naively import NaiveBayes, tune
    >>> from naively.families import Gaussian
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = {"families": [Gaussian(), Gaussian(ties="feature")], "prior": ["estimated", "uniform"]}
    >>> result = tune(NaiveBayes("textbook"), X, y, grid, scoring="log_loss")
    >>> result.best_params_["families"].ties, round(result.best_score_, 3)
    ('none', 0.136)
    >>> result.best_model_.predict(X[:1])
    array([0])
    """
    _require_model(model)
    points = as_points(grid)
    candidates = [_candidate(model, point) for point in points]
    rows = _Rows(*read_rows(X, y, sample_weight))
    measures = _measures(scoring, rows.classes)
    if isinstance(folds, str) and folds == "loo":
        _require_no_weighing(candidates)
        chosen = None
    else:
        chosen = as_folds(folds, rows.codes, rows.classes[rows.codes], stratify, seed)
    scores = {name: np.full((len(points), 1 if chosen is None else len(chosen.tests)), np.nan) for name in measures}
    fitted: list[NaiveBayes] = []
    for number, (whole, left_out) in enumerate(_counted(rows, shown(candidates, "tuning", progress), chosen)):
        fitted.append(whole)
        answers = _loo_answers(rows, whole) if chosen is None else _fold_answers(rows, chosen, left_out)
        for place, answer in enumerate(answers):
            for name, measure in measures.items():
                scores[name][number, place] = measure.of(*answer)
    decisive = next(iter(measures))
    means = np.array([_mean(by_fold) for by_fold in scores[decisive]])
    best = _first_best(means, measures[decisive].more_is_better)
    return Tuning(points, scores, best, float(means[best]), fitted[best])._of(X)


# -- The grid -----------------------------------------------------------------------------------------------------


def as_points(grid: Any) -> list[dict[str, Any]]:
    """The points of a grid: all combinations of a dict of sequences, or a sequence of dicts as it is.

    Examples
    --------
    >>> as_points({"smoothing": [0.1, 1], "prior": ["uniform"]})
    [{'smoothing': 0.1, 'prior': 'uniform'}, {'smoothing': 1, 'prior': 'uniform'}]
    >>> as_points([{"smoothing": 0.1}, {"prior": "uniform"}])
    [{'smoothing': 0.1}, {'prior': 'uniform'}]
    """
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if isinstance(values, (str, Mapping)) or not hasattr(values, "__iter__"):
                raise ParameterError(f"grid[{name!r}] must be a list of values to try, got {brief(values)}.")
        points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    elif isinstance(grid, Sequence) and all(isinstance(point, Mapping) for point in grid):
        points = [dict(point) for point in grid]
    else:
        raise ParameterError(f"grid must be a dict of lists, or a list of dicts of parameters; got {brief(grid)}.")
    if not points:
        raise ParameterError("grid has no points: give each parameter at least one value.")
    return points


def _candidate(model: NaiveBayes, point: Mapping[str, Any]) -> NaiveBayes:
    known = model.get_params(deep=False)
    unknown = [name for name in point if name.partition("__")[0] not in known]
    if unknown:
        raise ParameterError(f"grid names {unknown[0]!r}, which is no parameter of the model: {', '.join(known)}.")
    candidate: NaiveBayes = clone(model)
    candidate.set_params(**point)
    return candidate


def _require_model(model: Any) -> None:
    if not isinstance(model, NaiveBayes):
        raise ParameterError(
            f"tune(model) needs a NaiveBayes, whose statistics can be subtracted; got {type(model).__name__}. Use "
            "scikit-learn's GridSearchCV for other estimators."
        )


def _require_no_weighing(candidates: Sequence[NaiveBayes]) -> None:
    for candidate in candidates:
        if as_recipe(candidate.recipe).tempering is not None:
            raise ParameterError(
                f"folds='loo' is in closed form for recipe 'textbook'; {candidate.recipe!r} weighs evidence on the "
                "rows it has kept. Give a number of folds, which is exact for all recipes."
            )


# -- Counting -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rows:
    """All rows, read once."""

    table: Table
    classes: AnyArray
    codes: IntArray
    given_weights: FloatArray | None

    def __post_init__(self) -> None:
        if self.given_weights is not None and not self.given_weights.any():
            raise InputError("sample_weight must not be zero for every row: there would be nothing to learn.")

    @property
    def weights(self) -> FloatArray:
        return np.ones(len(self.codes)) if self.given_weights is None else self.given_weights

    def count(self, schema: Schema, kept_rows: int, n_threads: int) -> Callable[[IntArray], Statistics]:
        """A function from the places of some rows to their statistics."""

        def statistics(places: IntArray) -> Statistics:
            weights = None if self.given_weights is None else self.given_weights[places]
            part = self.table.only_rows(places)
            target = Target(self.classes, self.codes[places], weights)
            return engine_of(part).count(part, schema, None, target, n_threads, kept_rows)

        return statistics


def _counted(
    rows: _Rows, candidates: Iterable[NaiveBayes], folds: Folds | None
) -> Iterator[tuple[NaiveBayes, list[NaiveBayes]]]:
    """Each candidate with all rows, and without each fold; rows are counted once per set of statistics."""
    known: dict[Any, tuple[Statistics, list[Statistics]]] = {}
    for candidate in candidates:
        recipe = as_recipe(candidate.recipe)
        schema = candidate._first_schema(rows.table, recipe, rows.weights)
        kept_rows = recipe.kept_rows if candidate.kept_rows is None else candidate._checked_kept_rows()
        if (schema, kept_rows) not in known:
            count = rows.count(schema, kept_rows, thread_count(candidate.n_threads))
            if folds is None:
                known[schema, kept_rows] = count(np.arange(len(rows.codes))), []
            else:
                known[schema, kept_rows] = folds.statistics(count, _is_subtractable(schema, kept_rows))
        total, left_out = known[schema, kept_rows]
        yield _learnt(candidate, schema, total), [_learnt(clone(candidate), schema, part) for part in left_out]


def _is_subtractable(schema: Schema, kept_rows: int) -> bool:
    """Whether a difference of statistics is what counting would give: see `naively.analysis._folds`."""
    kept = {summary for summaries in schema.summaries for summary in summaries}
    return kept_rows == 0 and all(summary.subtracts_exactly for summary in kept)


def _learnt(candidate: NaiveBayes, schema: Schema, statistics: Statistics) -> NaiveBayes:
    candidate._replace(schema, statistics, np.array([], dtype=object))
    return candidate


# -- Asking -------------------------------------------------------------------------------------------------------

Answer = tuple[FloatArray, IntArray, FloatArray]
"""Log-probabilities (rows, classes), class codes and weights of the rows that were asked about."""


def _fold_answers(rows: _Rows, folds: Folds, models: Sequence[NaiveBayes]) -> Iterator[Answer]:
    for test, model in zip(folds.tests, models, strict=True):
        if not len(model.classes_):
            raise InputError("In one of the folds all rows that are learnt weigh nothing. Use fewer folds.")
        log_proba = np.full((len(test), len(rows.classes)), -np.inf)
        log_proba[:, np.isin(rows.classes, model.classes_)] = model.predict_log_proba(rows.table.only_rows(test))
        yield log_proba, rows.codes[test], rows.weights[test]


def _loo_answers(rows: _Rows, model: NaiveBayes) -> Iterator[Answer]:
    known = rows.weights > 0
    places = np.flatnonzero(known)
    table, labels = rows.table.only_rows(places), rows.classes[rows.codes[places]]
    log_proba = np.full((len(places), len(rows.classes)), -np.inf)
    log_proba[:, np.isin(rows.classes, model.classes_)] = model.loo(table, labels, rows.weights[places])
    yield log_proba, rows.codes[places], rows.weights[places]


# -- The result ---------------------------------------------------------------------------------------------------


def _measures(scoring: Any, classes: AnyArray) -> dict[str, Measure]:
    given = [scoring] if isinstance(scoring, str) or not isinstance(scoring, Iterable) else list(scoring)
    measures: dict[str, Measure] = {}
    for one in given:
        if isinstance(one, str) and one in MEASURES:
            measures[one] = MEASURES[one]
        elif callable(one) and not is_scorer(one):
            measures[getattr(one, "__name__", "score")] = _measure_of(one, classes)
        else:
            measures[one if isinstance(one, str) else "score"] = measure_of_scorer(one, classes)
    if not measures:
        raise ParameterError("scoring must name at least one measure.")
    return measures


def _measure_of(score: Callable[[AnyArray, FloatArray, FloatArray], float], classes: AnyArray) -> Measure:
    """The measure of a user's function of classes, probabilities and weights."""
    return Measure(lambda log_proba, codes, weights: float(score(classes[codes], np.exp(log_proba), weights)))


def _first_best(means: FloatArray, more_is_better: bool) -> int:
    if np.isnan(means).all():
        raise InputError("No point of the grid has a score that is a number: look at the folds and the scoring.")
    return int(np.nanargmax(means) if more_is_better else np.nanargmin(means))


def _alike(values: Sequence[Any]) -> list[Any]:
    """Values that a data frame can hold in one column: themselves, or what they look like."""
    plain = [_plain(value) for value in values]
    return plain if len({type(value) for value in plain}) == 1 else [str(value) for value in plain]


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str)) else repr(value)


def _mean_and_spread(scores: FloatArray) -> str:
    spread = f" +- {_spread(scores):.4f}" if len(scores) > 1 else ""
    return f"{_mean(scores):.4f}{spread}"


def _mean(scores: FloatArray) -> float:
    """The mean over the folds that have a score."""
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if len(known) else math.nan


def _spread(scores: FloatArray) -> float:
    """The standard deviation over the folds that have a score."""
    known = scores[~np.isnan(scores)]
    return float(known.std(ddof=1)) if len(known) > 1 else math.nan
