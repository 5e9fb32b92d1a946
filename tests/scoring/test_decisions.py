"""Decisions: the least expected loss, rows left undecided, and how both go together with the prior."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import NaiveBayes
from naively._scoring.decision import expected_loss
from naively.analysis.shift import estimate_prior
from naively.errors import NaivelyWarning, ParameterError
from tests.models import textbook
from tests.strategies import cases

pytestmark = pytest.mark.filterwarnings("ignore:.*every class had probability zero")  # without smoothing, that is right

X = [[0], [0], [1], [1], [1], [2], [2]]
Y = ["ham"] * 4 + ["spam"] * 3
ASKED = [[0], [1], [2]]
costs = st.integers(0, 20).map(lambda number: number / 4)


def spam_filter(**parameters):
    return textbook(families="categorical", **parameters).fit(X, Y)


def a_loss(data, n_classes):
    rows = data.draw(st.lists(st.lists(costs, min_size=n_classes, max_size=n_classes), min_size=n_classes))
    return np.array(rows[:n_classes])


def a_prior(data, n_classes):
    shares = np.array(data.draw(st.lists(st.integers(1, 9), min_size=n_classes, max_size=n_classes)), dtype=float)
    return shares / shares.sum()


@given(cases(), st.data())
def test_the_answer_has_the_least_expected_loss(case, data):
    model = case.fitted()
    n_classes = len(model.classes_)
    loss, prior = a_loss(data, n_classes), data.draw(st.sampled_from([None, "uniform"]))
    risk = expected_loss(model.predict_proba(case.query, prior), loss)
    answer = model.predict(case.query, prior, loss=loss)
    chosen = np.searchsorted(model.classes_, answer)
    np.testing.assert_allclose(risk[np.arange(len(risk)), chosen], risk.min(axis=1), rtol=0, atol=1e-12)


@given(cases(), st.data())
def test_no_other_rule_costs_less_on_average(case, data):
    """The optimality of the Bayes rule, for any loss: no answers to these rows have a lower expected loss."""
    model = case.fitted()
    loss = a_loss(data, len(model.classes_))
    p = model.predict_proba(case.query)
    chosen = np.searchsorted(model.classes_, model.predict(case.query, loss=loss))
    other = np.array(data.draw(st.lists(st.integers(0, len(model.classes_) - 1), min_size=len(p), max_size=len(p))))
    rows = np.arange(len(p))
    assert (p @ loss)[rows, chosen].sum() <= (p @ loss)[rows, other].sum() + 1e-12


@given(cases(), costs.filter(lambda cost: 0 < cost < 1))
def test_chows_rule(case, reject):
    model = case.fitted()
    best = model.predict_proba(case.query).max(axis=1)
    answer, plain = model.predict(case.query, reject=reject), model.predict(case.query)
    for label, unforced, probability in zip(answer, plain, best, strict=True):
        if abs(probability - (1 - reject)) > 1e-12:
            assert (label is None) == (probability < 1 - reject)
        assert label is None or label == unforced


@given(cases(), st.data())
def test_the_zero_one_loss_is_the_default(case, data):
    model = case.fitted()
    zero_one = 1.0 - np.eye(len(model.classes_))
    p = np.sort(model.predict_proba(case.query), axis=1)
    clear = np.full(len(p), True) if p.shape[1] == 1 else p[:, -1] - p[:, -2] > 1e-12
    plain, told = model.predict(case.query), model.predict(case.query, loss=zero_one)
    assert plain[clear].tolist() == told[clear].tolist()
    reject = data.draw(costs)
    assert model.predict(case.query, loss=zero_one, reject=reject)[clear].tolist() == (
        model.predict(case.query, reject=reject)[clear].tolist()
    )


@given(cases(), st.data())
def test_a_loss_that_depends_on_the_true_class_alone_is_a_prior(case, data):
    """``loss[true, any mistake] = c_true`` decides as the 0-1 loss does under the prior times c."""
    model = case.fitted()
    cost = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(model.classes_), max_size=len(model.classes_))))
    prior = model.class_prior_ * cost
    prior /= prior.sum()
    p = np.sort(model.predict_proba(case.query, prior), axis=1)
    clear = np.full(len(p), True) if p.shape[1] == 1 else p[:, -1] - p[:, -2] > 1e-9
    loss = cost[:, None] * (1.0 - np.eye(len(cost)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaivelyWarning)
        told, shifted = model.predict(case.query, loss=loss), model.predict(case.query, prior)
    possible = np.isfinite(model.evidence(case.query).sum(axis=1) + np.log(model.class_prior_)).any(axis=1)
    assert told[clear & possible].tolist() == shifted[clear & possible].tolist()


@given(cases(), st.data())
def test_loss_and_prior_go_together(case, data):
    model = case.fitted()
    prior, loss = a_prior(data, len(model.classes_)), a_loss(data, len(model.classes_))
    reject = data.draw(st.none() | costs)
    given_at_once = model.predict(case.query, prior, loss=loss, reject=reject)
    assert given_at_once.tolist() == case.fitted(prior=prior).predict(case.query, loss=loss, reject=reject).tolist()
    per_row = np.broadcast_to(prior, (len(given_at_once), len(prior)))
    assert given_at_once.tolist() == model.predict(case.query, per_row, loss=loss, reject=reject).tolist()


def test_the_ways_to_write_a_loss():
    model = spam_filter()
    written = [
        [[0, 10], [1, 0]],
        np.array([[0.0, 10.0], [1.0, 0.0]]),
        {"ham": {"spam": 10}, "spam": {"ham": 1}},
        {"ham": {"ham": 0, "spam": 10}, "spam": {"ham": 1, "spam": 0}},
        {("ham", "spam"): 10, ("spam", "ham"): 1},
    ]
    answers = [model.predict(ASKED, prior="uniform", loss=loss).tolist() for loss in written]
    assert answers == [["ham", "ham", "ham"]] * len(written)
    assert model.predict(ASKED, prior="uniform").tolist() == ["ham", "ham", "spam"]
    assert model.predict(ASKED, loss={("ham", "spam"): 1, ("spam", "ham"): 10}).tolist() == ["spam", "spam", "spam"]


def test_what_a_right_answer_costs_can_be_given():
    model = spam_filter()
    loss = {("ham", "spam"): 1, ("spam", "ham"): 1, ("ham", "ham"): 5}  # to let ham through costs more than to stop it
    assert model.predict([[0]], loss=loss).tolist() == ["spam"]


@pytest.mark.parametrize(
    ("classes", "label", "dtype"),
    [
        (["ham", "spam"], "unsure", "U"),
        ([0, 1], -1, "i"),
        ([False, True], -1, "O"),
        (["ham", "spam"], None, "O"),
        ([0, 1], "unsure", "O"),
    ],
)
def test_what_a_rejected_row_gets(classes, label, dtype):
    y = np.array(classes)[[0, 0, 0, 0, 1, 1, 1]]
    model = textbook(families="categorical").fit(X, y)
    answer = model.predict(ASKED, reject=0.3, reject_label=label)
    assert answer.tolist() == [classes[0], label, classes[1]]
    assert answer.dtype.kind == dtype
    assert model.predict(ASKED, reject=1.0, reject_label=label).dtype.kind == dtype  # though nothing is rejected


def test_a_cost_of_nothing_rejects_all_but_certain_rows():
    model = textbook(families="categorical", smoothing="none").fit(X, Y)
    assert model.predict(ASKED, reject=0.0).tolist() == ["ham", None, "spam"]
    assert spam_filter().predict(ASKED, reject=0.0).tolist() == [None, None, None]


def test_small_risks_keep_their_digits():
    model = textbook().fit([[0.0], [2.0], [20.0], [22.0]], [0, 0, 1, 1])
    risk = expected_loss(model.predict_proba([[1.0]]))[0, 0]
    assert 0 < risk < 1e-80
    assert model.predict([[1.0]], reject=2 * risk).tolist() == [0]
    assert model.predict([[1.0]], reject=risk / 2).tolist() == [None]


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto", "strong"])
def test_every_recipe_decides(recipe):
    random = np.random.default_rng(0)
    y = np.arange(120) % 3
    table = random.normal(y[:, None], size=(120, 2))
    model = NaiveBayes(recipe).fit(table, y)
    loss = np.array([[0, 1, 3], [1, 0, 1], [2, 1, 0]])
    prior = estimate_prior(model, table, tolerance=1e-3)
    risk = model.predict_proba(table, prior=prior) @ loss
    answer = model.predict(table, prior=prior, loss=loss, reject=0.3, reject_label=-1)
    expected = np.where(risk.min(axis=1) > 0.3, -1, risk.argmin(axis=1))
    assert answer.tolist() == expected.tolist()
    assert {-1} < set(answer.tolist())


BAD = {
    "a short matrix": ({"loss": [[0, 1]]}, r"\(2, 2\) in the order 'ham', 'spam'; its shape is \(1, 2\)"),
    "a vector": ({"loss": [0, 1]}, r"its shape is \(2,\)"),
    "a ragged matrix": ({"loss": [[0, 1], [1]]}, "square matrix of costs"),
    "text": ({"loss": "zero-one"}, "square matrix of costs, or a mapping"),
    "below zero": ({"loss": [[0, 1], [-1, 0]]}, "finite costs of zero or more"),
    "NaN": ({"loss": [[0, float("nan")], [1, 0]]}, "finite costs of zero or more"),
    "infinity": ({"loss": {("ham", "spam"): float("inf"), ("spam", "ham"): 1}}, r"loss\['ham', 'spam'\] must be"),
    "a cost of text": ({"loss": {("ham", "spam"): "dear", ("spam", "ham"): 1}}, r"loss\['ham', 'spam'\].*'dear'"),
    "a mistake left out": ({"loss": {("ham", "spam"): 5}}, "costs to answer 'ham' where 'spam' is true"),
    "a row left out": ({"loss": {"ham": {"spam": 5}}}, "costs to answer 'ham' where 'spam' is true"),
    "nothing": ({"loss": {}}, "costs to answer 'spam' where 'ham' is true"),
    "another class": ({"loss": {("ham", "eggs"): 5}}, r"entry for \('ham', 'eggs'\).*'ham', 'spam'"),
    "no pair": ({"loss": {"ham": 5}}, "entry for 'ham'; expected"),
    "reject below zero": ({"reject": -0.1}, "reject must be a finite number of at least 0, got -0.1"),
    "reject of text": ({"reject": "often"}, "reject must be a finite number"),
    "reject truth": ({"reject": True}, "reject must be a finite number"),
    "label without cost": ({"reject_label": "unsure"}, "reject, the cost, is not given"),
    "label of a class": ({"reject": 0.1, "reject_label": "ham"}, "'ham' is one of them"),
}


@pytest.mark.parametrize(("arguments", "message"), [pytest.param(*case, id=name) for name, case in BAD.items()])
def test_bad_losses_and_rejections_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        spam_filter().predict(ASKED, **arguments)
