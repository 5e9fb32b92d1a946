"""Where naive Bayes is too naive: which columns depend on each other given the class, and what that costs.

For two columns the factor that naive Bayes leaves out is ``r(y) = log P(a, b | y) - log P(a | y) P(b | y)``. Its mean
is the conditional mutual information; what matters for an answer is how it differs between the classes. A copied column
has ``r(y) = -log P(a | y)``: all its evidence is counted twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_softmax

from naively._common.checks import require_whole
from naively._scoring.leave_one_out import codes_among
from naively._table.frames import tidy_frame
from naively._table.read import read_table
from naively._table.table import Table
from naively._table.target import read_rows
from naively._weighing.terms import Column
from naively.analysis._correlation import correlations, in_units_of_spread
from naively.analysis._pairs import (
    BLOCK_NUMBERS,
    BinPlan,
    PairCorrections,
    PairCounts,
    columns_within_budget,
    count_pairs,
    estimate_corrections,
    plan_bins,
)
from naively.errors import InputError, listed, told_once, warn
from naively.recipes import as_recipe
from naively.statistics._independence import Independence, crossed_counts, independence_test
from naively.typing import AnyArray, FloatArray, IntArray, TableLike, TargetLike, WeightsLike

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

LARGEST_TABLE = 5e7
"""Pairs are counted in a table of at most so many cells; columns with very many values are left out of it."""

LEAST_GAIN = 2.0
"""Nats, over all rows, that joining two columns must gain to be worth it."""

ALARM = 0.05
"""The chance, over all pairs together, of naming one although all columns are independent."""


@told_once()
def dependence(
    model: NaiveBayes, X: TableLike, y: TargetLike, sample_weight: WeightsLike | None = None, bins: int = 5
) -> Any:
    """How much every two columns depend on each other given the class, the pairs that hurt most first.

    Parameters
    ----------
    model : NaiveBayes
        Fitted, with the columns of X.
    X, y, sample_weight
        Rows that the model has learnt, as in `NaiveBayes.fit`.
    bins : int, default=5
        Numbers are cut into so many bins of about equal weight.

    Returns
    -------
    data frame
        Of the same library as X, else of pandas; where pandas is not installed, a dict of lists. One row per pair:

        - ``first``, ``second``: the columns;
        - ``information``: the conditional mutual information given the class, in bits, and ``corrected``, less what
          independent columns show on average;
        - ``p_value``: of Pearson's test of conditional independence;
        - ``correlation``: of two columns of numbers, within the classes;
        - ``overcounted``: by how many bits per row the two speak for the row's true class in excess of what they say
          together, as naive Bayes adds them;
        - ``gain``: by how many bits per row the log-loss would fall if the two were joined, by leave-one-out;
        - ``hurts``: whether the gain is more than 2 nats in all and the test rejects independence at 5 %, divided by
          the number of pairs.

    Notes
    -----
    Joining is estimated on the bins, with the joint table drawn to the product of its margins by ten pseudo-rows and
    the row itself left out of it. The model's own answers are left-out ones in the recipe "textbook"; other recipes
    have no closed form for any rows, and there the answers are those of the fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> from naively import NaiveBayes
    >>> random = np.random.default_rng(0)
    >>> y = random.integers(0, 2, 500)
    >>> x, z = random.normal(size=500) + y, random.normal(size=500)
    >>> X = np.column_stack([x, z, x + random.normal(size=500) / 9])
    >>> table = dependence(NaiveBayes("textbook").fit(X, y), X, y)
    >>> table.loc[0, ["first", "second"]].tolist(), table["hurts"].tolist()
    (['x0', 'x2'], [True, False, False])
    """
    model = model._taken()
    model._require_fitted()
    require_whole("bins", bins, at_least=2)
    table, classes, codes, weights = read_rows(X, y, sample_weight)
    codes = codes_among(model.classes_, classes, codes)
    weights = np.ones(len(codes)) if weights is None else weights
    columns, names = _columns_of(model, table)
    plan = plan_bins(columns, bins, weights)
    chosen = _within_budget(plan, names, len(model.classes_))
    columns, names = [columns[place] for place in chosen], [names[place] for place in chosen]
    plan = BinPlan(tuple(plan.cuts[place] for place in chosen), tuple(plan.sizes[place] for place in chosen))
    cells = plan.cells(columns)
    counts = count_pairs(cells, codes, plan.n_cells, len(model.classes_), weights)
    corrections = estimate_corrections(counts, plan)
    answers = _answers(model, X, y, sample_weight)
    first, second = (index.astype(np.int64) for index in np.triu_indices(len(columns), 1))
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    overcounted, gain = _costs(corrections, cells, codes, weights, answers, model.class_count_, first, second)
    tests = [independence_test(_pair_table(counts, plan, i, k)) for i, k in pairs]
    correlation = _correlations(columns, codes, weights)[first, second]
    return _framed(names, first, second, tests, correlation, overcounted, gain, weights.sum(), X)


def independence(
    a: Any, b: Any, given: Any = None, sample_weight: WeightsLike | None = None, bins: int = 5
) -> Independence:
    """Test whether two columns are independent, given a third or at all.

    Parameters
    ----------
    a, b : array-like
        Labels or numbers; numbers with more than `bins` distinct values are cut into bins of about equal weight. Rows
        with a missing cell are left out.
    given : array-like, optional
        The column within whose values a and b are compared; without it the test is of plain independence.
    sample_weight : array-like, optional
        A weight w counts as w repetitions of the row.
    bins : int, default=5

    Returns
    -------
    Independence
        ``information`` (in nats), ``corrected``, ``statistic``, ``freedom`` and ``p_value`` of Pearson's test.

    Examples
    --------
    Thunder and rain go together, but only through lightning:

    >>> flash = [("yes", "yes", 27), ("yes", "no", 9), ("no", "yes", 3), ("no", "no", 1)]
    >>> calm = [("yes", "yes", 1), ("yes", "no", 9), ("no", "yes", 3), ("no", "no", 27)]
    >>> rows = [(t, r, "flash") for t, r, n in flash for _ in range(n)]
    >>> rows += [(t, r, "calm") for t, r, n in calm for _ in range(n)]
    >>> thunder, rain, sky = zip(*rows)
    >>> independence(thunder, rain).p_value < 0.001
    True
    >>> independence(thunder, rain, given=sky).p_value > 0.99
    True
    """
    require_whole("bins", bins, at_least=2)
    data = {"a": list(a), "b": list(b), **({} if given is None else {"given": list(given)})}
    table = read_table(data)
    weights = np.ones(table.n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (table.n_rows,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError(f"sample_weight must hold {table.n_rows} finite numbers of at least 0, one per row.")
    columns = [_column(table, place, table.kind(place) == "number") for place in range(table.n_columns)]
    plan = plan_bins(columns, bins, weights)
    codes = plan.cells(columns) - plan.offsets
    codes = np.where(codes + plan.offsets < 0, -1, codes)
    classes = codes[:, 2] if given is not None else np.zeros(len(codes), dtype=np.int64)
    sizes = (plan.sizes[2] if given is not None else 1, plan.sizes[0], plan.sizes[1])
    return independence_test(crossed_counts(codes[:, 0], codes[:, 1], classes, weights, sizes))


# -- reading ----------------------------------------------------------------------------------------------------------


def _columns_of(model: NaiveBayes, table: Table) -> tuple[list[Column], list[str]]:
    """The model's columns that the table has, as numbers or codes."""
    schema = model.schema_
    table, positions = schema.matched(table)
    columns, names = [], []
    for place, name in enumerate(schema.names):
        position = place if positions is None else int(positions[place])
        if position < 0 or table.kind(position) == "empty":
            continue
        as_labels = any(summary.as_labels(name) for summary in schema.summaries[place])
        columns.append(_column(table, position, table.kind(position) == "number" and not as_labels))
        names.append(name)
    if len(columns) < 2:
        raise InputError(f"Dependence is a matter of two columns, but X has {len(columns)} with known cells.")
    return columns, names


def _column(table: Table, position: int, numeric: bool) -> Column:
    if not numeric:
        return ("categorical", table.labels(position)[0])
    numbers = np.asarray(table.column(position), dtype=np.float64)
    if np.isinf(numbers).any():
        raise InputError(f"Input X contains infinity: column {table.names[position]!r}. Use NaN for what is not known.")
    return ("numeric", numbers)


def _within_budget(plan: BinPlan, names: list[str], n_classes: int) -> IntArray:
    chosen = columns_within_budget(plan.sizes, n_classes, 2, LARGEST_TABLE)
    if len(chosen) < len(names):
        left_out = [name for place, name in enumerate(names) if place not in set(chosen.tolist())]
        warn(f"Columns with very many values are left out, as their pairs hardly repeat: {listed(left_out)}.")
    return chosen


def _answers(model: NaiveBayes, X: Any, y: Any, sample_weight: Any) -> FloatArray:
    """The model's log-probabilities (rows, classes), of the model without the row where there is a closed form."""
    if as_recipe(model.recipe).tempering is None:
        return model.loo(X, y, sample_weight)
    return model.predict_log_proba(_without_classes(X, y) if isinstance(y, str) else X)


def _without_classes(X: Any, y: str) -> Any:
    """X without the column that holds the classes."""
    import narwhals as nw

    if isinstance(X, Mapping):
        return {name: cells for name, cells in X.items() if name != y}
    if isinstance(X, (list, tuple)):
        return [_without_classes(record, y) for record in X]
    return nw.from_native(X, eager_only=True).drop(y).to_native()


# -- measuring --------------------------------------------------------------------------------------------------------


def _costs(
    corrections: PairCorrections,
    cells: IntArray,
    codes: IntArray,
    weights: FloatArray,
    answers: FloatArray,
    class_weights: FloatArray,
    first: IntArray,
    second: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Nats per row that each pair counts too often, and nats per row that joining it gains, (pairs,) each."""
    rows, total = np.arange(len(codes)), weights.sum()
    answers = np.maximum(answers, math.log(np.finfo(float).tiny))  # without smoothing a class may be impossible
    shares = np.repeat(class_weights[None, :], len(codes), axis=0)
    shares[rows, codes] = 0.0
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    alone = log_softmax(answers, axis=1)[rows, codes]
    overcounted, gain = np.empty(len(first)), np.empty(len(first))
    block = max(1, BLOCK_NUMBERS // max(answers.size, 1))
    for start in range(0, len(first), block):
        part = slice(start, start + block)
        ratio = corrections.loo_values(cells, codes, weights, first[part], second[part])
        own = ratio[rows, codes]
        rest = np.einsum("rc,rcp->rp", shares, ratio)
        overcounted[part] = -(weights @ (own - rest)) / total
        joined = log_softmax(answers[:, :, None] + ratio, axis=1)[rows, codes]
        gain[part] = weights @ (joined - alone[:, None]) / total
    return overcounted, gain


def _pair_table(counts: PairCounts, plan: BinPlan, first: int, second: int) -> FloatArray:
    """The counts (classes, values, values) of two columns."""
    i, k = plan.offsets[first], plan.offsets[second]
    return counts.pairs[i : i + plan.sizes[first], k : k + plan.sizes[second]].transpose(2, 0, 1)


def _correlations(columns: list[Column], codes: IntArray, weights: FloatArray) -> FloatArray:
    """The correlations (columns, columns) of numbers around their class means; NaN of labels and constants."""
    numeric = [place for place, (kind, _) in enumerate(columns) if kind == "numeric"]
    result = np.full((len(columns), len(columns)), np.nan)
    if numeric:
        block = np.column_stack([np.asarray(columns[place][1], dtype=np.float64) for place in numeric])
        values = in_units_of_spread(block, codes)
        result[np.ix_(numeric, numeric)] = correlations(values, codes, slice(0, len(numeric)), weights)
    return result


# -- naming -----------------------------------------------------------------------------------------------------------


def _framed(
    names: list[str],
    first: IntArray,
    second: IntArray,
    tests: list[Independence],
    correlation: FloatArray,
    overcounted: FloatArray,
    gain: FloatArray,
    n_rows: float,
    X: Any,
) -> Any:
    """The pairs as a frame, the largest gain first."""
    bit = math.log(2)
    p_values = np.array([test.p_value for test in tests])
    hurts = (gain * n_rows > LEAST_GAIN) & (p_values * len(tests) < ALARM)
    data: dict[str, AnyArray] = {
        "first": np.array([names[place] for place in first], dtype=object),
        "second": np.array([names[place] for place in second], dtype=object),
        "information": np.array([test.information for test in tests]) / bit,
        "corrected": np.array([test.corrected for test in tests]) / bit,
        "p_value": p_values,
        "correlation": np.array([None if np.isnan(one) else one for one in correlation.tolist()], dtype=object),
        "overcounted": overcounted / bit,
        "gain": gain / bit,
        "hurts": hurts,
    }
    order = np.argsort(-gain, kind="stable")
    kinds = {**dict.fromkeys(data, "f"), "first": "U", "second": "U", "hurts": "b"}
    return tidy_frame({name: values[order].tolist() for name, values in data.items()}, kinds, X)
