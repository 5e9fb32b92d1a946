"""Checks for people who write their own parts: run them in your tests.

`check_family` holds a family to all that the package takes for granted of one, `check_statistic` a statistic to the
laws on which learning, forgetting and merging rest, `check_engine` an engine to the numbers of the local one, and
`check_recipe` a recipe to the laws of a model.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np

import naively
from naively._scoring.model import Scorer, make_factors
from naively._table.read import read_table
from naively.classifier import NaiveBayes
from naively.engines.base import Engine, Target
from naively.errors import ForgetError, Gap, GapError, ParameterError, RecipeError
from naively.families import FAMILIES, Estimate, Family
from naively.recipes import Recipe
from naively.smoothing import Lidstone
from naively.statistics._statistics import Statistics, added, same, subtracted
from naively.statistics.base import Statistic, Summary
from naively.typing import AnyArray, FloatArray, IntArray

# -- families ---------------------------------------------------------------------------------------------------------

ROWS_LEFT_OUT = 12
DRAWS = 4000
DEVIATIONS = 6.0
"""How many standard errors the mean of draws may be off."""


def check_family(family: Family, values: Sequence[Any], y: Sequence[Any] | None = None, smoothing: Any = 1.0) -> None:
    """Check that a family does what the package takes for granted of it.

    - Evidence is finite for values that were learnt, 0 for missing cells, and `add_to` adds its sum.
    - The density integrates, or the probabilities sum, to one, if the family says that it is a distribution.
    - `leave_one_out` gives what a model without the row gives.
    - What is drawn from its `distribution` has the mean that it expects.
    - `log_likelihood` is the sum of the evidence of the learnt rows.
    - `describe` gives an array (classes, columns), or a list with an entry for each column, under every name.
    - Two models that learnt half of the rows each are, added, the model of all; a saved model is loaded as it was.

    Questions that the family declares a gap for are left out.

    Parameters
    ----------
    family : Family
    values : sequence
        At least 8 values of a column, not all equal, such as the family reads.
    y : sequence, optional
        Their classes; by default two that alternate.
    smoothing : smoothing, float or str, default=1.0

    Raises
    ------
    AssertionError
        Says what the family does not do.

    Examples
    --------
    >>> from naively.families import Exponential
    >>> from naively.testing import check_family
    >>> check_family(Exponential(), [0.1, 2.5, 0.4, 3.0, 0.2, 1.0, 0.7, 8.0, 0.3, 4.0])
    """
    checked = _Checked(family, values, y, smoothing)
    for check in (
        _check_evidence,
        _check_description,
        _check_smoothing,
        _check_normalised,
        _check_leave_one_out,
        _check_draws,
        _check_log_likelihood,
        _check_addition,
        _check_saving,
    ):
        check(checked)


class _Checked:
    """A family, and a model of two columns that it reads: the values, and the same the other way round."""

    def __init__(self, family: Family, values: Sequence[Any], y: Any, smoothing: Any):
        cells = list(values)
        if len(cells) < 8 or len(set(cells)) < 2:
            raise ValueError(f"check_family needs at least 8 values that are not all equal, got {cells!r:.60}.")
        self.family, self.smoothing = family, smoothing
        self.columns = {"first": cells, "second": cells[::-1]}
        self.y = list(y) if y is not None else [place % 2 for place in range(len(cells))]
        self.model = self.fit(range(len(cells)))
        (self.factor,) = self.model._estimated()[0].factors

    @property
    def estimate(self) -> Estimate:
        return self.factor.estimate

    def rows(self, places: Any) -> dict[str, list[Any]]:
        return {name: [cells[place] for place in places] for name, cells in self.columns.items()}

    def fit(self, places: Any) -> NaiveBayes:
        model = NaiveBayes("textbook", families=self.family, smoothing=self.smoothing)
        return model.fit(self.rows(places), [self.y[place] for place in places])

    @property
    def codes(self) -> AnyArray:
        return np.searchsorted(self.model.classes_, self.y)

    def require(self, holds: Any, what: str) -> None:
        if not np.all(holds):
            raise AssertionError(f"{self.family!r}: {what}")

    def require_close(self, found: Any, expected: Any, what: str, rtol: float = 1e-7) -> None:
        with np.errstate(invalid="ignore"):
            close = np.isclose(found, expected, rtol=rtol, atol=rtol) | (found == expected)
        off = np.flatnonzero(~np.ravel(close))[:1]
        if len(off):
            pair = (float(np.ravel(np.broadcast_arrays(part, found)[0])[off[0]]) for part in (found, expected))
            raise AssertionError(f"{self.family!r}: {what}, but {next(pair)!r} is not {next(pair)!r}.")


def _check_evidence(checked: _Checked) -> None:
    model = checked.model
    evidence = model.evidence(checked.columns)
    checked.require(np.isfinite(evidence), "the evidence of a value that was learnt is not finite.")
    first = {"first": checked.columns["first"], "second": [None] * len(checked.y)}
    checked.require(model.evidence(first)[:, 1] == 0, "the evidence of a missing cell must be 0.")
    summed = model.predict_joint_log_proba(checked.columns) - np.log(model.class_prior_)
    checked.require_close(summed, evidence.sum(axis=1), "add_to must add the evidence, summed over the columns")


def _check_description(checked: _Checked) -> None:
    n_classes = len(checked.model.classes_)
    for name, values in checked.estimate.describe().items():
        fits = len(values) == 2 if isinstance(values, list) else np.shape(values) == (n_classes, 2)
        checked.require(fits, f"describe()[{name!r}] must be an array (classes, columns) or a list, one per column.")


def _check_smoothing(checked: _Checked) -> None:
    if checked.family.takes_smoothing(weighed=False):
        return
    model = checked.model
    factors = make_factors(model.schema_, [checked.family] * 2, [Lidstone(100.0)] * 2, model.statistics_)
    found = Scorer(factors, model.schema_.names, len(model.classes_)).evidence(read_table(checked.columns), None)
    expected = model.evidence(checked.columns)
    checked.require_close(found, expected, "takes_smoothing says no, so a smoothing must change nothing")


def _check_normalised(checked: _Checked) -> None:
    if not checked.family.is_distribution:
        return
    if checked.family.log_base is not None:  # counts that share a total: one event is of one of the columns
        one = checked.estimate.evidence(np.array([[1.0, 0.0], [0.0, 1.0]])).sum(axis=1)
        checked.require_close(np.exp(one).sum(axis=0), 1.0, "the shares of the columns must sum to one")
        return
    for place in range(2):
        masses = _mass(checked, place)
        if masses is not None:
            checked.require_close(masses, checked.estimate.mass, "the density must integrate to one", rtol=1e-3)


def _mass(checked: _Checked, place: int) -> FloatArray | None:
    """What the density or the probabilities of a column sum to in each class; None where that is not known."""
    estimate = checked.estimate
    if estimate.kind in ("label", "truth", "from"):
        points = estimate.points(place, 0)
        return np.asarray(np.exp(estimate.tabulated(place, points, 2)[: len(points)]).sum(axis=0))
    try:
        edges = estimate.edges()[:, place]
    except GapError:
        whole = list(range(int(10 * max(checked.columns["first"]) + 100)))
        counts = all(value == int(value) for value in checked.columns["first"])
        return np.exp(estimate.tabulated(place, whole, 2)[:-2]).sum(axis=0) if counts else None
    nodes, weights = np.polynomial.legendre.leggauss(5)
    half = np.diff(edges) / 2
    x = edges[:-1] + half * (1 + nodes[:, None])
    heights = np.exp(estimate.tabulated(place, x.ravel().tolist(), 2)[:-2]).reshape(*x.shape, -1)
    return np.asarray(np.einsum("n,e,nej->j", weights, half, heights))


def _check_leave_one_out(checked: _Checked) -> None:
    if isinstance(type(checked.family).leave_one_out, Gap):
        return
    left = checked.model.loo(checked.columns, checked.y)
    checked.require(~np.isnan(left), "leave_one_out must give numbers.")
    if not checked.family.leaves_out_exactly:
        return
    for row in range(min(ROWS_LEFT_OUT, len(checked.y))):
        others = [place for place in range(len(checked.y)) if place != row]
        refit = checked.fit(others)
        if len(refit.classes_) == len(checked.model.classes_):
            expected = refit.predict_log_proba(checked.rows([row]))[0]
            checked.require_close(left[row], expected, "leave_one_out must be a model without the row", rtol=1e-6)


def _check_draws(checked: _Checked) -> None:
    tables = [
        checked.model.statistics_.table(summary).for_columns(list(checked.columns))
        for summary in checked.family.summaries
    ]
    try:
        length = None if checked.family.log_base is None else 10  # a whole total, as drawn ones are
        found = checked.family.distribution(checked.estimate, tables, checked.model.class_count_, length)
    except GapError:
        return
    rng = np.random.default_rng(0)
    for code in range(len(checked.model.classes_)):
        drawn = found.draw(np.full(DRAWS, code), rng)
        for place in range(2):
            _check_drawn_column(checked, found, drawn[:, place], code, place)


def _check_drawn_column(checked: _Checked, found: Any, drawn: AnyArray, code: int, place: int) -> None:
    labels = found.labels_of(place)
    if labels is not None:
        expected = labels[1][code]
        checked.require_close(expected.sum(), 1.0, "the probabilities of the values must sum to one")
        mean = np.bincount(drawn, minlength=len(expected)) / DRAWS
        error = np.sqrt(expected * (1 - expected) / DRAWS)
    else:
        expected, mean, error = found.mean[code, place], drawn.mean(), drawn.std() / np.sqrt(DRAWS)
    off = np.abs(mean - expected) > DEVIATIONS * error + 1e-9 * np.abs(expected) + 0.5 / DRAWS
    checked.require(~off, f"what is drawn has the mean {mean!r}, where {expected!r} is expected.")


def _check_log_likelihood(checked: _Checked) -> None:
    try:
        found = checked.model.log_likelihood_
    except RecipeError:
        return
    joint = checked.model.predict_joint_log_proba(checked.columns)
    expected = joint[np.arange(len(checked.y)), checked.codes].sum()
    base = getattr(checked.estimate, "base", None)
    if base is not None:  # what depends on no parameter is left out
        expected -= sum(base(np.asarray(cells, dtype=np.float64)).sum() for cells in checked.columns.values())
    checked.require_close(found, expected, "log_likelihood must be the sum of the evidence of the rows")


def _check_addition(checked: _Checked) -> None:
    half = len(checked.y) // 2
    first, second = checked.fit(range(half)), checked.fit(range(half, len(checked.y)))
    for merged in (first + second, second + first):
        found = merged.predict_log_proba(checked.columns)
        expected = checked.model.predict_log_proba(checked.columns)
        checked.require_close(found, expected, "models of two halves must add up to that of all rows")


def _check_saving(checked: _Checked) -> None:
    if FAMILIES.get(checked.family.name()) is not type(checked.family):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        checked.model.save(path)
        loaded = naively.load(path)
    checked.require(loaded.statistics_ == checked.model.statistics_, "a saved model must be loaded as it was.")
    same = loaded.predict_log_proba(checked.columns) == checked.model.predict_log_proba(checked.columns)
    checked.require(same, "a loaded model must give the same answers.")


# -- statistics -----------------------------------------------------------------------------------------------------


def check_statistic(
    statistic: type[Statistic], summary: Summary, examples: Sequence[tuple[Statistic, FloatArray]]
) -> None:
    """Check that a kind of statistics keeps the laws of `naively.statistics.base.Statistic`.

    `empty` is the identity of ``+``, which is associative and commutative; `less` undoes ``+`` and refuses what was
    never added; scaling distributes over ``+``; classes and columns can be renumbered, taken apart and put together;
    `from_dict` is the inverse of `to_dict`, by way of JSON; `check` accepts what rows have left; and `compare` finds no
    change between equals, and the same change in both directions.

    Parameters
    ----------
    statistic : subclass of Statistic
    summary : Summary
        What the examples were counted for.
    examples : sequence of (Statistic, ndarray of shape (n_classes,))
        At least three statistics, each of some rows, and the weight of the rows of each class. All are of the same
        classes; their columns may differ. Equality is to the last bit, so take values whose sums are exact, such as
        small whole numbers, and few enough of them that nothing is coarsened or pruned.

    Raises
    ------
    AssertionError
        If a law is broken; the message says which.
    ParameterError
        If there are fewer than three examples.

    Examples
    --------
    >>> from naively.statistics._moments import Moments
    >>> from naively.statistics._sums import Sum
    >>> def moments(x_of_a, x_of_b):
    ...     total, weight = [[sum(x_of_a)], [sum(x_of_b)]], [[len(x_of_a)], [len(x_of_b)]]
    ...     return Moments(("x",), Sum.of(total), Sum.of(weight)), np.array(weight, float)[:, 0]
    >>> examples = [moments([1, 2], [3]), moments([5], []), moments([2, 2, 7], [1, 1])]
    >>> check_statistic(Moments, Summary("moments"), examples)

    A statistic that breaks a law is caught:

    >>> class Forgetful(Moments):
    ...     def __add__(self, other):
    ...         return self
    >>> check_statistic(Forgetful, Summary("moments"), [(Forgetful(*vars(one).values()), w) for one, w in examples])
    Traceback (most recent call last):
        ...
    AssertionError: Forgetful: empty + S is not S
    """
    if len(examples) < 3:
        raise ParameterError(f"check_statistic needs at least 3 examples, got {len(examples)}.")
    weighed = [(one, np.asarray(weight, dtype=np.float64)) for one, weight in examples]

    def require(holds: bool, law: str) -> None:
        if not holds:
            raise AssertionError(f"{statistic.__name__}: {law}")

    for one, weight in weighed:
        require(isinstance(one, statistic), f"an example is a {type(one).__name__}")
        _check_identity(one, summary, weight, require)
        _check_classes(one, len(weight), require)
        _check_columns(one, summary, len(weight), require)
        _check_file(one, summary, len(weight), require)
        _check_accepted(one, summary, weight, require)
    for a, b, c in combinations([one for one, _ in weighed], 3):
        require(same(added(added(a, b), c), added(a, added(b, c))), "(S + T) + U is not S + (T + U)")
    for first, second in permutations(weighed, 2):
        _check_merging(first, second, require)
        _check_comparison(first, second, summary, require)


Require = Callable[[bool, str], None]


def _check_identity(one: Statistic, summary: Summary, weight: FloatArray, require: Require) -> None:
    for columns in (one.columns, ()):
        empty = type(one).empty(summary, columns, len(weight))
        require(same(added(empty, one), one), "empty + S is not S")
        require(same(added(one, empty), one), "S + empty is not S")
    empty = type(one).empty(summary, one.columns, len(weight))
    if not same(one, empty):
        require(_refuses(lambda: subtracted(empty, one, weight)), "less forgets what was never added")
    require(same(one.scaled(1.0), one), "S.scaled(1) is not S")
    require(same(one.scaled(2.0), added(one, one)), "S.scaled(2) is not S + S")
    require(same(one.tidy(), one), "S.tidy() is not S, though all of S was counted")


def _refuses(forget: Callable[[], object]) -> bool:
    try:
        forget()
    except ForgetError:
        return True
    return False


def _check_classes(one: Statistic, n_classes: int, require: Require) -> None:
    codes = np.arange(n_classes)
    twice = one.for_classes(codes[::-1], n_classes).for_classes(codes[::-1], n_classes)
    require(same(twice, one), "for_classes: reversing the classes twice changes S")
    wider = one.for_classes(codes + 1, n_classes + 1)
    require(same(wider.for_classes(np.arange(-1, n_classes), n_classes), one), "for_classes: an empty class changes S")
    each = [one.for_classes(np.where(codes == code, code, -1), n_classes) for code in codes.tolist()]
    require(same(reduce(added, each), one), "for_classes: the sum of S for each class alone is not S")


def _check_columns(one: Statistic, summary: Summary, n_classes: int, require: Require) -> None:
    columns, new = one.columns, "".join(one.columns) + "_new"
    turned = one.for_columns(columns[::-1])
    require(same(turned.for_columns(columns), one), "for_columns: reversing the columns twice changes S")
    if summary.members:  # what several columns do together stays whole
        return
    require(turned.columns == columns[::-1], "for_columns: the columns are not in the order asked for")
    each = [one.for_columns([name]) for name in columns]
    require(same(reduce(added, each), one), "for_columns: the sum of S for each column alone is not S")
    absent = one.for_columns([*columns, new]).for_columns([new])
    empty = type(one).empty(summary, (new,), n_classes)
    require(same(absent, empty), "for_columns: a column S does not have is not empty")


def _check_file(one: Statistic, summary: Summary, n_classes: int, require: Require) -> None:
    entry = json.loads(json.dumps(one.to_dict(), allow_nan=False))
    read = type(one).from_dict(entry, summary, one.columns, n_classes)
    require(same(read, one), "from_dict(to_dict()) is not S")


def _check_accepted(one: Statistic, summary: Summary, weight: FloatArray, require: Require) -> None:
    require(not _refuses(lambda: one.check(summary, weight, weight)), "check refuses what rows have left")
    one.refuse_overflow()


def _check_merging(first: tuple[Statistic, FloatArray], second: tuple[Statistic, FloatArray], require: Require) -> None:
    (one, weight), (other, other_weight) = first, second
    both, n_classes = added(one, other), len(weight)
    require(same(both, added(other, one)), "S + T is not T + S")
    left = subtracted(both, other, weight + other_weight)
    require(same(left.for_columns(one.columns), one), "(S + T) less T is not S")
    scaled = added(one.scaled(0.5), other.scaled(0.5))
    require(same(both.scaled(0.5), scaled), "(S + T).scaled(f) is not S.scaled(f) + T.scaled(f)")
    positions = np.arange(n_classes)[::-1]
    renumbered = added(one.for_classes(positions, n_classes), other.for_classes(positions, n_classes))
    require(same(both.for_classes(positions, n_classes), renumbered), "for_classes does not distribute over S + T")


def _check_comparison(
    first: tuple[Statistic, FloatArray], second: tuple[Statistic, FloatArray], summary: Summary, require: Require
) -> None:
    """Compare with itself and with another; a statistic that several columns share by its margins, if it has any."""
    margins = [one.margins() or {summary: one} for one, _ in (first, second)]
    for key in margins[0].keys() & margins[1].keys():
        one, other = margins[0][key].aligned_with(margins[1][key])
        then, now = first[1], second[1]
        pairs = (one, one, (then, then)), (one, other, (then, now)), (other, one, (now, then))
        try:
            own, change, back = (left.compare(right, key, np.stack(rows))[0] for left, right, rows in pairs)
        except GapError:  # which is allowed
            continue
        same = (own.bits < 1e-9).all() and (np.isnan(own.p_value) | (own.p_value > 0.999)).all()  # NaN: not tested
        require(bool(same), "compare finds S different from S")
        alike = np.allclose(change.bits, back.bits) and np.allclose(change.p_value, back.p_value, equal_nan=True)
        require(alike, "compare finds another change from S to T than from T to S")


# -- engines --------------------------------------------------------------------------------------------------------


def check_engine(engine: Engine, as_source: Callable[[Any], Any]) -> None:
    """Check that an engine gives the numbers of the local one.

    Rows with numbers, labels, booleans, counts, missing cells and weights are counted for all families whose statistics
    the engine counts, whole and in pieces, and scored by a model of them.

    Parameters
    ----------
    engine : Engine
    as_source : callable
        From a data frame to what the engine reads.

    Raises
    ------
    AssertionError
        Says what the engine does otherwise.

    Examples
    --------
    >>> from naively.engines._local import LocalEngine
    >>> from naively._table.read import read_table
    >>> from naively.testing import check_engine
    >>> check_engine(LocalEngine(), read_table)
    """
    rng = np.random.default_rng(0)
    n = 60
    columns = {
        "number": np.where(rng.random(n) < 0.1, np.nan, rng.normal(1e3, 1.0, n)),
        "label": rng.choice(np.array(["red", "green", "blue"], dtype=object), n),
        "truth": rng.random(n) < 0.3,
        "events": rng.poisson(3.0, n).astype(np.float64),
    }
    columns["label"][rng.random(n) < 0.1] = None
    y, weights = rng.integers(0, 3, n), rng.integers(1, 4, n).astype(np.float64)
    for families in _families_for(engine):
        model = NaiveBayes("textbook", families=families).fit(columns, y, weights)
        parts = [_counted(engine, as_source, model, columns, y, weights, rows) for rows in _thirds(n)]
        whole = _counted(engine, as_source, model, columns, y, weights, np.arange(n))
        assert _alike(whole, model.statistics_), (
            f"{engine.name!r} counts other numbers than the local engine: {families}"
        )
        merged = parts[0] + parts[1] + parts[2]
        assert _alike(merged, whole), f"{engine.name!r}: the statistics of pieces do not add up to those of all rows"
        _check_scores(engine, as_source, model, columns)
    if engine.keeps_rows:
        model = NaiveBayes("auto").fit(columns, y, weights)
        kept = _counted(engine, as_source, model, columns, y, weights, np.arange(n), kept_rows=4096).kept
        assert kept == model.statistics_.kept, f"{engine.name!r} keeps other rows than the local engine"


def _families_for(engine: Engine) -> list[dict[str, Any]]:
    """Families whose statistics the engine counts."""
    wanted: list[dict[str, Any]] = [
        {"number": "gaussian", "label": "categorical", "truth": "bernoulli", "events": "poisson"},
        {"number": "kernel", "events": "gaussian"},
    ]
    return [
        families
        for families in wanted
        if all(one.kind in engine.kinds for name in families.values() for one in FAMILIES[name]().summaries)
    ]


def _thirds(n: int) -> list[IntArray]:
    return [np.arange(start, n, 3) for start in range(3)]


def _counted(
    engine: Engine,
    as_source: Callable[[Any], Any],
    model: NaiveBayes,
    columns: dict[str, AnyArray],
    y: AnyArray,
    weights: FloatArray,
    rows: IntArray,
    kept_rows: int = 0,
) -> Statistics:
    source = as_source({name: cells[rows] for name, cells in columns.items()})
    target = Target(model.classes_, y[rows], weights[rows])
    return engine.count(source, model.schema_, None, target, 1, kept_rows)


def _alike(one: Statistics, other: Statistics) -> bool:
    """Whether counts agree to the last bit, and sums of other numbers to rounding."""
    if one.classes.tolist() != other.classes.tolist() or one.tables.keys() != other.tables.keys():
        return False
    pairs = [(table, other.tables[summary].for_columns(table.columns)) for summary, table in one.tables.items()]
    return one.class_weight == other.class_weight and all(
        _close(first.to_dict(), second.to_dict()) for first, second in pairs
    )


def _close(first: Any, second: Any) -> bool:
    if isinstance(first, dict) and isinstance(second, dict):
        names = (first.keys() | second.keys()) - {"low"}  # what rounding left out may be cut otherwise
        return first.keys() == second.keys() and all(_close(first[name], second[name]) for name in names)
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(_close, first, second))
    if isinstance(first, float) and isinstance(second, (int, float)):
        return bool(np.isclose(first, second, rtol=1e-12, atol=0.0))
    return bool(first == second)


def _check_scores(
    engine: Engine, as_source: Callable[[Any], Any], model: NaiveBayes, columns: dict[str, AnyArray]
) -> None:
    n_rows = len(columns["number"])
    scores = np.full((n_rows, len(model.classes_)), np.nan)

    def finish(block: FloatArray, rows: slice) -> None:
        scores[rows] = block

    engine.score(as_source(columns), None, model._estimated()[0], finish, 1)
    expected = model.predict_joint_log_proba(columns) - np.log(model.class_prior_)
    assert np.allclose(scores, expected, rtol=1e-12, atol=1e-9), f"{engine.name!r} scores rows otherwise"


# -- recipes --------------------------------------------------------------------------------------------------------


def check_recipe(recipe: Recipe | str) -> None:
    """Check that a recipe keeps the laws of a model on a small table with missing cells.

    Two models of halves add up to the model of all rows; what is learnt and then forgotten leaves no trace; the
    evidence sums to the answer, and another prior replaces the first one; a row without a known cell is answered by
    probabilities that sum to one; and a model that is saved is loaded as it was.

    Parameters
    ----------
    recipe : Recipe or str

    Raises
    ------
    AssertionError
        Says what does not hold.

    Examples
    --------
    >>> from naively import Recipe
    >>> from naively.testing import check_recipe
    >>> check_recipe("auto")
    >>> check_recipe(Recipe(numeric="gaussian"))
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    numbers = np.round(8 * (rng.normal(size=120) + y)) / 8  # their sums are exact
    labels = np.array(["red", "green", "blue", "grey"], dtype=object)[(y + rng.integers(0, 2, 120)) % 4]
    numbers[::11], labels[::13] = np.nan, None
    rows = {"number": numbers, "label": labels}
    model = NaiveBayes(recipe).fit(rows, y)
    proba, prior = model.predict_proba(rows), np.array([0.2, 0.3, 0.5])
    assert np.isfinite(proba).all(), "probabilities are not finite"
    assert np.allclose(proba.sum(axis=1), 1.0, atol=1e-12), "probabilities do not sum to one"
    for given in (model.class_prior_, prior):
        joint = np.log(given) + model.evidence(rows).sum(axis=1)
        shares = np.exp(joint - joint.max(axis=1, keepdims=True))
        expected = shares / shares.sum(axis=1, keepdims=True)
        answer = model.predict_proba(rows, prior=given)
        assert np.allclose(answer, expected, atol=1e-9), "the evidence does not sum to the answer"
    nothing = model.predict_proba([{"number": None, "label": None}])
    assert np.allclose(nothing.sum(), 1.0), "a row without a known cell has no probabilities"
    first, second = ({name: cells[part] for name, cells in rows.items()} for part in (slice(0, 70), slice(70, None)))
    halves = NaiveBayes(recipe).fit(first, y[:70]) + NaiveBayes(recipe).fit(second, y[70:])
    assert halves.statistics_ == model.statistics_, "two halves do not add up to the whole"
    assert np.allclose(halves.predict_proba(rows), proba, atol=1e-9), "the sum of two halves answers otherwise"
    left = NaiveBayes(recipe).fit(rows, y).forget(second, y[70:])
    alone = NaiveBayes(recipe).fit(first, y[:70])
    assert left.statistics_ == alone.statistics_, "forgetting leaves a trace"
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.json")
        loaded = naively.load(Path(folder) / "model.json")
    assert np.array_equal(loaded.predict_proba(rows), proba), "a loaded model answers otherwise"
