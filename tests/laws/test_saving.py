"""Law 9: save, load: the same answer to the last bit."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import load
from tests.models import textbook
from tests.strategies import cases, learn

pytestmark = [
    pytest.mark.usefixtures("kernels"),
    pytest.mark.filterwarnings("ignore:.*every class had probability zero"),  # without smoothing, that is right
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("models") / "model.json"


def through_a_file(model, file):
    model.save(file)
    return load(file)


def assert_same_model(copy, model, query):
    assert copy.statistics_ == model.statistics_
    assert copy.schema_ == model.schema_
    assert copy.get_params(deep=False) == model.get_params(deep=False)
    assert copy.classes_.dtype == model.classes_.dtype
    for method in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "evidence"):
        assert np.array_equal(getattr(copy, method)(query), getattr(model, method)(query))


@given(case=cases())
def test_a_model_comes_back_the_same(file, case):
    model = case.fitted()
    assert_same_model(through_a_file(model, file), model, case.query)


@given(case=cases(inferred=True))
def test_a_model_with_inferred_families_comes_back_the_same(file, case):
    model = case.fitted()
    assert_same_model(through_a_file(model, file), model, case.query)


@given(case=cases(min_rows=2))
def test_a_loaded_model_goes_on_learning_and_forgetting(file, case):
    half = len(case.rows) // 2
    model = learn(
        through_a_file(case.fitted(case.rows.take(range(half))), file), case.rows.take(range(half, len(case.rows)))
    )
    assert model.statistics_ == case.fitted().statistics_
    gone = case.rows.take(range(half))
    model.forget(gone.columns, gone.y, gone.weights)
    assert model.statistics_ == case.fitted(case.rows.take(range(half, len(case.rows)))).statistics_


@given(seed=st.integers(0, 2**32 - 1), exponent=st.integers(-100, 100))
def test_sums_that_are_not_exact_come_back_to_the_last_bit(file, seed, exponent):
    random = np.random.default_rng(seed)
    X = random.normal(size=(30, 2)) * 10.0**exponent + random.normal()
    y, weights = random.integers(0, 2, 30), random.uniform(1e-9, 1e9, 30)
    model = textbook().fit(X, y, weights)
    assert_same_model(through_a_file(model, file), model, X)


@given(case=cases())
def test_pickling_and_copying_keep_every_bit(case):
    model = case.fitted()
    model.predict_proba(case.query)
    assert_same_model(pickle.loads(pickle.dumps(model)), model, case.query)
    assert_same_model(deepcopy(model), model, case.query)
