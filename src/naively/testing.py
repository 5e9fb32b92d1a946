"""Checks for people who write their own parts: run them in your tests.

`check_family` holds a family to all that the package takes for granted of one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import naively
from naively.classifier import NaiveBayes
from naively.errors import GapError, RecipeError
from naively.families import FAMILIES, Estimate, Family
from naively.families.distributions import Labels, Numbers
from naively.typing import AnyArray, FloatArray

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
    if not hasattr(checked.family, "leave_one_out"):
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


def _check_drawn_column(checked: _Checked, found: Numbers | Labels, drawn: AnyArray, code: int, place: int) -> None:
    if isinstance(found, Labels):
        expected = found.probabilities[place][code]
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
