"""Numbers far from zero: what the sums still tell of their spread counts, and what is constant stays constant."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB as ScikitLearnGaussianNB

from naively.families import Gaussian, Joint, StudentT
from naively.sklearn import GaussianNB
from tests.models import textbook

pytestmark = pytest.mark.usefixtures("kernels")

FAMILIES = [Gaussian(), Gaussian(ties="feature"), Gaussian(ties="all"), StudentT(), StudentT(pooled=True)]
OFFSETS = [1e8, -1e10, 1e12, 1e14, -1e14]
SMALL = np.array([[1.0], [2.0], [5.0], [6.0]])


@pytest.mark.parametrize("offset", [1e14, 1e15, -1e15])
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_a_few_rows_are_those_of_the_shifted_table(family, offset):
    near, far = (textbook(families=family).fit(SMALL + shift, [0, 0, 1, 1]) for shift in (0.0, offset))
    np.testing.assert_allclose(
        far.predict_joint_log_proba(SMALL + offset), near.predict_joint_log_proba(SMALL), rtol=1e-12
    )


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_many_rows_are_those_of_the_shifted_table(family, offset):
    random = np.random.default_rng(0)
    table, y = random.integers(-64, 64, (400, 3)) / 8, random.integers(0, 3, 400)
    near, far = (textbook(families=family).fit(table + shift, y) for shift in (0.0, offset))
    np.testing.assert_allclose(
        far.predict_joint_log_proba(table + offset), near.predict_joint_log_proba(table), rtol=1e-9
    )
    rounding = 1e-4 if abs(offset) > 1e13 else 0.0  # the sums of all classes but one row no longer fit 106 bits
    np.testing.assert_allclose(far.loo(table + offset, y), near.loo(table, y), rtol=1e-9, atol=rounding)


def test_at_the_end_of_what_the_sums_tell_there_is_an_error_but_no_silence():
    random = np.random.default_rng(0)
    table, y = random.integers(-64, 64, (400, 3)) / 8, random.integers(0, 3, 400)
    near, far = textbook().fit(table, y), textbook().fit(table + 1e15, y)
    np.testing.assert_allclose(far.predict_proba(table + 1e15), near.predict_proba(table), atol=0.01)


@pytest.mark.parametrize("offset", [0.0, *OFFSETS, 1e15])
def test_scikit_learn_agrees(offset):
    ours, theirs = (kind().fit(SMALL + offset, [0, 0, 1, 1]) for kind in (GaussianNB, ScikitLearnGaussianNB))
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(SMALL + offset), theirs.predict_proba(SMALL + offset), rtol=1e-9)


def test_time_stamps_in_nanoseconds():
    random = np.random.default_rng(1)
    y = np.arange(2000) % 2
    stamps = 1.7e18 + np.rint(random.normal(0.0, 40.0, 2000) + 200.0 * y)[:, None] * 256.0
    assert textbook().fit(stamps, y).score(stamps, y) > 0.98


def test_joint_columns_far_from_zero():
    random = np.random.default_rng(2)
    table, y = random.integers(-64, 64, (200, 2)) / 8, random.integers(0, 2, 200)
    near, far = (textbook(factors=[Joint(0, 1)]).fit(table + shift, y) for shift in (0.0, 1e14))
    np.testing.assert_allclose(far.predict_proba(table + 1e14), near.predict_proba(table), atol=0.01)


def is_silent(model, value):
    return not model.evidence([[value]]).any()


@given(
    st.floats(0.001, 1e15),
    st.integers(1, 300),
    st.sampled_from([None, "fractions", "complements", "whole"]),
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
)
@example(0.1, 300, None, 1, 0)
@example(0.1, 300, "complements", 5, 0)
@example(1e15 / 3, 300, "fractions", 3, 0)
def test_a_constant_column_is_constant_whatever_the_rows_weigh(value, n, kind, batches, seed):
    random = np.random.default_rng(seed)
    shares = random.uniform(0.0, 1.0, n)
    model, two = textbook(), np.resize([0, 1], 2 * n)
    weights = {
        None: np.ones(2 * n),
        "fractions": random.uniform(1e-3, 3.0, 2 * n),
        "complements": np.concatenate([shares, 1.0 - shares]) + 1e-300,
        "whole": random.integers(1, 9, 2 * n).astype(float),
    }[kind]
    for places in np.array_split(np.arange(2 * n), batches):
        if len(places):
            model.partial_fit(np.full((len(places), 1), value), two[places], sample_weight=weights[places])
    assert is_silent(model, value)
    assert is_silent(model.decay(0.9), value)


@pytest.mark.parametrize("value", [0.1, 1e8 / 3, 123456.789])
def test_a_constant_stream_of_single_rows_stays_constant(value):
    model = textbook()
    for place in range(600):
        model.partial_fit([[value]], [place % 2])
    assert is_silent(model, value)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_sparse_column_of_many_rows_is_constant(weighted):
    from scipy import sparse

    n = 20_000
    weights = np.random.default_rng(0).uniform(0.5, 2.0, n) if weighted else None
    table = sparse.csr_array(np.full((n, 1), 0.1))
    assert is_silent(textbook(families="gaussian").fit(table, np.arange(n) % 2, weights), 0.1)
