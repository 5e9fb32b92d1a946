"""The whole recipe on a stand-in additive model: mixed columns, missing cells, weights, every candidate."""

import numpy as np
import pytest

from naively._weighing.strong import fit_strong

from .conftest import Table
from .stand_in import StandIn


@pytest.mark.parametrize("best", ["T", "W", "V3", "CV"])
def test_probabilities_are_finite_and_sum_to_one(best: str) -> None:
    table = Table(0, n_rows=300)
    model = fit_strong(table.columns, table.target, 3, StandIn(table.columns, table.target, 3, best))
    assert len(model.experts) == 5
    new = Table(7, n_rows=100).columns
    new[0][1][:4] = [np.nan, 1e308, -1e308, 0.0]
    new[3][1][:2] = [99, -1]
    log_proba = model.log_proba(new)
    assert np.isfinite(log_proba).all()
    np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1.0)
    assert log_proba.shape == (100, 3)


def test_strong_learns_what_an_additive_model_cannot() -> None:
    random = np.random.default_rng(0)
    codes = random.integers(0, 2, (800, 4))
    target = (codes[:, 0] ^ codes[:, 1]).astype(np.int64)
    columns = [("categorical", codes[:, i]) for i in range(4)]
    additive = StandIn(columns, target, 2)
    model = fit_strong(columns, target, 2, additive)
    row = np.arange(800)
    assert -additive.log_proba(columns)[row, target].mean() > 0.6
    assert -model.log_proba(columns)[row, target].mean() < 0.05
    assert (model.pair_terms()[0].first, model.pair_terms()[0].second) == (0, 1)


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_one_column_of_one_kind_is_enough(kind: str) -> None:
    values = np.arange(40) % 5
    column = [(kind, values.astype(float) if kind == "numeric" else values)]
    target = (values > 2).astype(np.int64)
    model = fit_strong(column, target, 2, StandIn(column, target, 2))
    assert (model.log_proba(column).argmax(axis=1) == target).all()


def test_useless_columns_do_no_harm() -> None:
    table = Table(3, n_rows=80)
    empty = [("numeric", np.full(80, np.nan)), ("numeric", np.full(80, 2.0)), ("categorical", np.full(80, -1))]
    columns = [*table.columns, *empty]
    model = fit_strong(columns, table.target, 3, StandIn(columns, table.target, 3))
    assert np.isfinite(model.log_proba(columns)).all()


def test_equal_weights_change_nothing_but_the_scale_of_counts() -> None:
    table = Table(1, n_rows=120)
    additive = StandIn(table.columns, table.target, 3)
    plain = fit_strong(table.columns, table.target, 3, additive)
    weighted = fit_strong(table.columns, table.target, 3, additive, weights=np.ones(120))
    np.testing.assert_array_equal(plain.log_proba(table.columns), weighted.log_proba(table.columns))


def test_no_rows_give_no_rows() -> None:
    table = Table(2, n_rows=80)
    model = fit_strong(table.columns, table.target, 3, StandIn(table.columns, table.target, 3))
    nothing = [(kind, values[:0]) for kind, values in table.columns]
    assert model.log_proba(nothing).shape == (0, 3)
