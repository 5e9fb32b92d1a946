"""`naively.river` is a classifier of river."""

import warnings

import pytest
from river import checks

from naively.river import NaiveBayes

CHECKS = list(checks.yield_checks(NaiveBayes()))


@pytest.mark.filterwarnings("ignore")  # what the streams of river hold is its own affair
@pytest.mark.parametrize("check", CHECKS, ids=[getattr(one, "__name__", str(one)) for one in CHECKS])
def test_river_s_own_checks_pass(check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(NaiveBayes())


def test_a_clone_has_learnt_nothing():
    model = NaiveBayes()
    model.learn_one({0: 1.0}, "a")
    assert model.predict_one({0: 1.0}) == "a"
    assert model.clone().predict_one({0: 1.0}) is None
