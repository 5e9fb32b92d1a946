"""Laws 5 and 6: a probability is the softmax of prior plus evidence; a missing cell gives and counts nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from naively import NaiveBayes
from naively.families import Bernoulli, Categorical, Gaussian, Multinomial, Poisson
from tests.models import textbook
from tests.strategies import COLUMN_KINDS, Rows, assert_close, cases, learn

pytestmark = [
    pytest.mark.usefixtures("kernels"),
    pytest.mark.filterwarnings("ignore:.*every class had probability zero"),  # without smoothing, that is right
]


def log(probabilities):
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


@given(cases())
def test_evidence_and_prior_sum_to_the_joint_log_probability(case):
    model = case.fitted()
    evidence = model.evidence(case.query)
    assert evidence.shape == (len(evidence), len(case.query), len(model.classes_))
    expected = evidence.sum(axis=1) + log(model.class_prior_)
    possible = np.isfinite(expected).any(axis=1)
    scale = 1.0 + np.abs(np.where(np.isfinite(evidence), evidence, 0.0)).sum(axis=1)
    actual = model.predict_joint_log_proba(case.query)
    assert_close(actual[possible], expected[possible], scale[possible])
    assert_close(actual[~possible], np.broadcast_to(log(model.class_prior_), actual.shape)[~possible])


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto", "strong"])
def test_evidence_and_prior_sum_to_the_joint_log_probability_in_every_recipe(recipe, frozen):
    random = np.random.default_rng(0)
    rows = {
        "x": np.where(random.random(80) < 0.1, np.nan, random.normal(size=80)),
        "c": random.choice(["red", "blue"], 80),
        "d": np.datetime64("2024-01-01") + random.integers(0, 400, 80),
    }
    y = np.where(rows["c"] == "red", "a", "b")
    y[::5] = "c"
    model = NaiveBayes(recipe).fit(rows, y)
    model = model.frozen() if frozen else model
    expected = model.evidence(rows).sum(axis=1) + np.log(model.class_prior_)
    np.testing.assert_allclose(model.predict_joint_log_proba(rows), expected, rtol=0, atol=1e-9)


@given(cases())
def test_probabilities_are_the_softmax_of_the_joint_log_probabilities(case):
    model = case.fitted()
    joint = model.predict_joint_log_proba(case.query)
    assert_close(model.predict_proba(case.query), softmax(joint, axis=1))
    assert_close(
        model.predict_log_proba(case.query), log_softmax(joint, axis=1), 1.0 + np.abs(np.maximum(joint, -1e99))
    )
    best = model.predict_proba(case.query).argmax(axis=1)
    assert model.predict(case.query).tolist() == model.classes_[best].tolist()


@given(cases(), st.data())
def test_a_given_prior_takes_the_place_of_the_estimated_one(case, data):
    model = case.fitted()
    n_rows, n_classes = len(next(iter(case.query.values()))), len(model.classes_)
    shares = st.lists(st.integers(1, 9), min_size=n_classes, max_size=n_classes)
    rows = np.array(data.draw(st.lists(shares, min_size=n_rows, max_size=n_rows)), dtype=float)
    rows /= rows.sum(axis=1, keepdims=True)
    likelihood = model.predict_joint_log_proba(case.query, prior="uniform") + np.log(n_classes)
    assert_close(
        model.predict_joint_log_proba(case.query, prior=rows), likelihood + log(rows), 1.0 + np.abs(likelihood)
    )
    for row in range(n_rows):
        by_class = dict(zip(model.classes_.tolist(), rows[row], strict=True))
        single = {name: [cells[row]] for name, cells in case.query.items()}
        together = model.predict_proba(case.query, prior=rows)[row]
        assert_close(model.predict_proba(single, prior=by_class)[0], together)
        assert_close(case.fitted(prior=by_class).predict_proba(single)[0], together)


@given(cases())
def test_a_missing_cell_gives_no_evidence(case):
    model = case.fitted()
    evidence = model.evidence(case.query)
    for place, cells in enumerate(case.query.values()):
        for row, cell in enumerate(cells):
            if cell is None:
                assert (evidence[row, place] == 0).all()


@given(cases(), st.data())
def test_removing_a_cell_removes_its_evidence_and_nothing_else(case, data):
    model = case.fitted()
    place = data.draw(st.integers(0, len(case.query) - 1))
    name = list(case.query)[place]
    without = {**case.query, name: [None] * len(case.query[name])}
    expected = model.evidence(case.query)
    expected[:, place] = 0.0
    assert np.array_equal(model.evidence(without), expected)


@given(cases())
def test_a_row_of_missing_cells_gets_the_prior(case):
    model = case.fitted()
    nothing = {name: [None] for name in case.query}
    assert_close(model.predict_proba(nothing)[0], model.class_prior_)


@given(cases(min_rows=2), st.data())
def test_a_missing_cell_does_not_enter_the_counts_of_its_column(case, data):
    name = data.draw(st.sampled_from(list(case.rows.columns)))
    known = [place for place, cell in enumerate(case.rows.columns[name]) if cell is not None]
    families = {name: case.parameters["families"][name]}
    if known:
        whole = case.fitted(case.rows.only([name]), families=families).statistics_
        part = case.fitted(case.rows.only([name]).take(known), families=families).statistics_
        kept = whole.with_classes(part.classes)
        assert kept.tables == part.tables


@given(cases(kinds=("colour", "code")))
def test_an_unseen_category_gives_no_evidence(case):
    families = dict.fromkeys(case.parameters["families"], Categorical())
    unseen = {name: ["zinc" if name.startswith("colour") else 99] for name in case.query}
    model = case.fitted(families=families)
    assert (model.evidence(unseen) == 0).all()
    assert_close(model.predict_proba(unseen)[0], model.class_prior_)


EXAMPLES = {
    "gaussian": Gaussian(),
    "colour": Categorical(),
    "yes": Bernoulli(),
    "events": Poisson(),
    "words": Multinomial(),
}


@pytest.mark.parametrize("kind", EXAMPLES)
@given(data=st.data())
def test_a_column_that_no_class_knows_gives_no_evidence(kind, data):
    values = st.none() | COLUMN_KINDS[kind][1]
    rows = Rows({"x": [None, None, None], "y": [1.0, 2.0, 5.0]}, ["a", "a", "b"])
    model = learn(textbook(families={"x": EXAMPLES[kind]}), rows)
    cells = data.draw(st.lists(values, min_size=2, max_size=2))
    evidence = model.evidence({"x": cells, "y": [1.0, None]})[:, 0]
    assert (evidence == evidence[:, :1]).all()  # nothing that tells one class from another
