"""The laws of the sum, for texts: chunks, merging, forgetting, weights, decay, order, evidence."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively.engines import _tokens as engine
from naively.errors import ForgetError
from naively.families import Text
from naively.smoothing import Jeffreys, Laplace, Lidstone, NoSmoothing
from tests.models import textbook
from tests.strategies import assert_close
from tests.text.cases import TextCase, options, text_cases

pytestmark = pytest.mark.filterwarnings("ignore:.*every class had probability zero")  # right without smoothing

cuts = st.integers(0, 6)


@given(text_cases(), cuts)
def test_learning_two_parts_is_learning_the_whole(case, cut):
    whole = case.fitted()
    cut = cut % len(case.y)
    if cut:
        first, second = case.fitted(slice(0, cut)), case.fitted(slice(cut, None))
        assert (first + second).statistics_ == whole.statistics_
        assert (second + first).statistics_ == whole.statistics_
        assert case.learn(first, slice(cut, None)).statistics_ == whole.statistics_


@given(text_cases(min_rows=3))
def test_merging_is_associative(case):
    a, b, c = (case.fitted(slice(place, place + 1)) for place in range(3))
    assert ((a + b) + c).statistics_ == (a + (b + c)).statistics_ == reduce(add, [c, b, a]).statistics_


@given(text_cases(), st.integers(1, 30), st.integers(1, 3))
def test_any_cut_into_blocks_and_any_number_of_threads(case, characters, n_threads):
    whole = case.fitted()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "BLOCK_CHARACTERS", characters)
        assert case.fitted(n_threads=n_threads).statistics_ == whole.statistics_


@given(text_cases(), cuts)
def test_forgetting_is_never_having_learnt(case, cut):
    cut = cut % len(case.y)
    model = case.fitted()
    if cut:
        model.forget(case.columns(slice(cut, None)), case.y[cut:])
        expected = case.fitted(slice(0, cut))
        kept = expected.classes_.tolist()
        assert model.statistics_.with_classes(expected.classes_) == expected.statistics_
        others = [place for place, label in enumerate(model.classes_.tolist()) if label not in kept]
        assert not model.class_count_[others].any()
    assert ((case.fitted().statistics_ + model.statistics_) - model.statistics_) == case.fitted().statistics_


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("free lunch", "spam"),  # a token that spam never had
        ("cash", "spam"),  # another class's token
        ("free free", "spam"),  # as often, but in fewer texts
        ("", "ham"),  # more texts than there were
    ],
)
def test_what_was_never_learnt_cannot_be_forgotten(text, label):
    model = textbook(families={"text": Text(1, tally="count")})
    model.fit({"text": ["free", "free", "cash", None]}, ["spam", "spam", "ham", "ham"])
    before = model.statistics_
    with pytest.raises(ForgetError, match=r"(?s)'text'|learnt"):
        model.forget({"text": [text, text]}, [label, label])
    assert model.statistics_ is before
    assert model.predict({"text": ["free"]}).tolist() == ["spam"]


@given(text_cases(), st.lists(st.integers(1, 3), min_size=6, max_size=6))
def test_a_weight_is_so_many_repetitions(case, weights):
    weights = weights[: len(case.y)]
    weighed = case.fitted(weights=weights)
    places = np.repeat(np.arange(len(case.y)), weights)
    repeated = case.model().fit({"text": [case.texts[place] for place in places]}, [case.y[place] for place in places])
    assert weighed.statistics_ == repeated.statistics_


@given(text_cases(), st.sampled_from([0.5, 0.25]))
def test_decay_is_a_smaller_weight(case, factor):
    assert case.fitted().decay(factor).statistics_ == case.fitted(weights=[factor] * len(case.y)).statistics_


@given(text_cases(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_classes_does_not_matter(case, random):
    places = list(range(len(case.y)))
    random.shuffle(places)
    shuffled = TextCase(
        case.family, case.smoothing, [case.texts[place] for place in places], [case.y[place] for place in places], []
    )
    assert shuffled.fitted().statistics_ == case.fitted().statistics_
    renamed = dict(zip("abc", "zyx", strict=True))
    other = TextCase(case.family, case.smoothing, case.texts, [renamed[label] for label in case.y], [])
    left = case.fitted().predict_proba({"text": case.query})
    assert_close(other.fitted().predict_proba({"text": case.query})[:, ::-1], left)


@given(text_cases())
def test_probabilities_are_the_prior_and_the_evidence(case):
    model, query = case.fitted(), {"text": case.query}
    evidence = model.evidence(query)
    assert evidence.shape == (len(case.query), 1, len(model.classes_))
    for text, said in zip(case.query, evidence[:, 0], strict=True):
        if text is None:
            assert not said.any()
        assert not np.isnan(said).any()
        if not isinstance(case.smoothing, NoSmoothing):
            assert np.isfinite(said).all()
    joint = np.log(model.class_prior_) + evidence.sum(axis=1)
    assert_close(model.predict_joint_log_proba(query), joint, 1 + np.abs(np.where(np.isfinite(joint), joint, 0)))
    proba = model.predict_proba(query)
    assert np.isfinite(proba).all()
    possible = np.isfinite(joint).any(axis=1)
    top = joint[possible] - joint[possible].max(axis=1, keepdims=True)
    expected = np.exp(top) / np.exp(top).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(proba[possible], expected, atol=1e-9)


@given(text_cases())
def test_the_bits_of_tokens_add_up_to_the_log_odds(case):
    model, query = case.fitted(), {"text": case.query}
    if len(model.classes_) < 2:
        return
    logs = model.predict_log_proba(query)
    if not np.isfinite(logs).all():
        return
    proba = np.exp(logs)
    for most in (0, 2, 10):
        lines = model.explain(query, tokens=most)
        assert ((lines["column"] == "text") | (lines["column"] == "prior")).all()
        for row, probabilities in enumerate(proba):
            bits = lines["bits"][lines["row"] == row]
            best = probabilities.argmax()
            rest = np.logaddexp.reduce(np.delete(logs[row], best))
            assert bits.sum() == pytest.approx((logs[row, best] - rest) / np.log(2), abs=1e-6)
            assert len(bits) <= 3 + most


closed = st.sampled_from([Laplace(), Lidstone(0.125), Jeffreys()])


@given(text_cases(options(left_out=True), closed, min_rows=3))
def test_leave_one_out_is_forgetting(case):
    model = case.fitted()
    left_out = model.loo(case.columns(), case.y)
    for row, label in enumerate(case.y):
        if case.y.count(label) == 1:
            continue  # the class would be gone
        one = slice(row, row + 1)
        fewer = case.fitted().forget(case.columns(one), case.y[one])
        expected = fewer.predict_log_proba(case.columns(one))[0]
        np.testing.assert_allclose(left_out[row], expected, rtol=1e-9, atol=1e-9)


@given(text_cases(options(left_out=True), closed, min_rows=3), st.sampled_from([0.25, 3.0]))
def test_leave_one_out_of_weighed_rows_is_forgetting(case, weight):
    weights = [weight] * len(case.y)
    model = case.fitted(weights=weights)
    left_out = model.loo(case.columns(), case.y, weights)
    for row, label in enumerate(case.y):
        if case.y.count(label) > 1:
            one = slice(row, row + 1)
            fewer = case.fitted(weights=weights).forget(case.columns(one), case.y[one], sample_weight=[weight])
            expected = fewer.predict_log_proba(case.columns(one))[0]
            np.testing.assert_allclose(left_out[row], expected, rtol=1e-9, atol=1e-9)
