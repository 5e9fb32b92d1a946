"""Law 4: a weight w equals w repetitions; scaling the statistics is decay."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively.errors import ParameterError
from tests.models import textbook
from tests.strategies import assert_same_answer, cases, learn

pytestmark = [
    pytest.mark.usefixtures("kernels"),
    pytest.mark.filterwarnings("ignore:.*every class had probability zero"),  # without smoothing, that is right
]


@given(cases(weighted=False), st.data())
def test_a_weight_is_so_many_repetitions(case, data):
    times = data.draw(st.lists(st.integers(1, 4), min_size=len(case.rows), max_size=len(case.rows)))
    repeated = case.rows.take([place for place, time in enumerate(times) for _ in range(time)])
    assert case.fitted(case.rows.weighing(times)).statistics_ == case.fitted(repeated).statistics_


@given(cases(weighted=False), st.data())
def test_a_row_of_weight_zero_was_never_there(case, data):
    kept = sorted(data.draw(st.sets(st.integers(0, len(case.rows) - 1), min_size=1)))
    weights = [1.0 if place in kept else 0.0 for place in range(len(case.rows))]
    model, expected = case.fitted(case.rows.weighing(weights)), case.fitted(case.rows.take(kept))
    assert model.statistics_ == expected.statistics_
    assert_same_answer(model, expected, case.query)


@given(cases(weighted=True), st.sampled_from([0.5, 0.25, 2.0]))
def test_decay_scales_every_weight(case, factor):
    model = case.fitted().decay(factor)
    scaled = case.rows.weighing([weight * factor for weight in case.rows.weights])
    assert model.statistics_ == case.fitted(scaled).statistics_
    assert_same_answer(model, case.fitted(scaled), case.query)


@given(cases(weighted=False))
def test_halving_and_doubling_is_the_identity(case):
    assert case.fitted().decay(0.5).decay(2.0).statistics_ == case.fitted().statistics_


@given(cases(min_rows=2, weighted=False), st.integers(0, 99))
def test_what_comes_after_decay_counts_for_more(case, place):
    place = 1 + place % (len(case.rows) - 1)
    early, late = case.rows.take(range(place)), case.rows.take(range(place, len(case.rows)))
    weights = [0.5] * len(early) + [1.0] * len(late)
    model = learn(case.fitted(early).decay(0.5), late)
    assert model.statistics_ == case.fitted(case.rows.weighing(weights)).statistics_


@given(cases(weighted=False))
def test_weights_of_one_are_no_weights(case):
    assert case.fitted(case.rows.weighing([1] * len(case.rows))).statistics_ == case.fitted().statistics_


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 100.0))
def test_any_decay_keeps_means_and_variances(seed, factor):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(20, 2)), random.integers(0, 2, 20)
    model = textbook().fit(X, y)
    decayed = textbook().fit(X, y).decay(factor)
    assert_same_answer(model, decayed, X)


@pytest.mark.parametrize("factor", [0, -1.0, float("nan"), float("inf"), "half", True, None])
def test_a_bad_factor_is_refused(factor):
    model = textbook().fit([[1.0]], ["a"])
    before = model.statistics_
    with pytest.raises(ParameterError, match="above 0"):
        model.decay(factor)
    assert model.statistics_ == before
