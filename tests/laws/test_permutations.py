"""Law 8: permuting rows, columns or class labels permutes the answer and changes nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models import textbook
from tests.strategies import CLASSES, Rows, assert_close, assert_same_answer, cases, permutations_of

pytestmark = [
    pytest.mark.usefixtures("kernels"),
    pytest.mark.filterwarnings("ignore:.*every class had probability zero"),  # without smoothing, that is right
]


@given(cases(), st.data())
def test_the_order_of_the_rows_learnt_does_not_matter(case, data):
    order = data.draw(permutations_of(len(case.rows)))
    assert case.fitted(case.rows.take(order)).statistics_ == case.fitted().statistics_


@given(cases(), st.data())
def test_permuting_the_rows_asked_about_permutes_the_answer(case, data):
    model = case.fitted()
    n_rows = len(next(iter(case.query.values())))
    order = data.draw(permutations_of(n_rows))
    permuted = {name: [cells[place] for place in order] for name, cells in case.query.items()}
    assert_close(model.predict_proba(permuted), model.predict_proba(case.query)[order])


@given(cases(), st.data())
def test_the_order_of_the_columns_does_not_matter(case, data):
    names = data.draw(st.permutations(list(case.rows.columns)))
    permuted = case.fitted(case.rows.only(names))
    model = case.fitted()
    assert permuted.statistics_ == model.statistics_
    query = {name: case.query[name] for name in names}
    assert_same_answer(model, permuted, query, case.query)
    assert_same_answer(model, permuted, query)
    places = [names.index(name) for name in case.rows.columns]
    evidence = model.evidence(case.query)
    assert_close(permuted.evidence(query)[:, places], evidence, 1.0 + np.abs(np.maximum(evidence, -1e99)))


@given(cases(), st.permutations(CLASSES))
def test_renaming_the_classes_renames_the_answer(case, names):
    new_name = dict(zip(CLASSES, names, strict=True))
    renamed = case.fitted(Rows(case.rows.columns, [new_name[label] for label in case.rows.y], case.rows.weights))
    model = case.fitted()
    places = [renamed.classes_.tolist().index(new_name[label]) for label in model.classes_.tolist()]
    joint = model.predict_joint_log_proba(case.query)
    assert_close(renamed.predict_joint_log_proba(case.query)[:, places], joint, 1.0 + np.abs(np.maximum(joint, -1e99)))


@given(st.integers(0, 2**32 - 1))
def test_rows_of_any_numbers_may_come_in_any_order(seed):
    random = np.random.default_rng(seed)
    X, y, weights = random.normal(1e5, 1.0, (50, 2)), random.integers(0, 3, 50), random.uniform(0.1, 9.0, 50)
    order = random.permutation(50)
    model, permuted = textbook().fit(X, y, weights), textbook().fit(X[order], y[order], weights[order])
    for name in ("x0", "x1"):
        assert_close(permuted.parameters()[name]["mean"], model.parameters()[name]["mean"], 1e5)
        assert_close(permuted.parameters()[name]["variance"], model.parameters()[name]["variance"])
