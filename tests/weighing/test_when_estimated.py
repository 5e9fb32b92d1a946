"""`fit` does its estimating itself; after an update it waits for the first answer; copies and files need none."""

import copy
import pickle

import numpy as np
import pytest

from naively import NaiveBayes, load

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def estimated(monkeypatch):
    """How often anything was estimated."""
    times, scorer = [], NaiveBayes._scorer

    def counted(self, *args):
        times.append(self)
        return scorer(self, *args)

    monkeypatch.setattr(NaiveBayes, "_scorer", counted)
    return times


@pytest.mark.parametrize("recipe", ["fast", "auto", "strong"])
def test_fit_estimates_and_no_answer_does_again(recipe, estimated, tmp_path):
    model = NaiveBayes(recipe).fit(X, Y)
    assert len(estimated) == 1
    expected = model.predict_proba(X)
    model.save(tmp_path / "model.json")
    others = [pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model), load(tmp_path / "model.json")]
    for other in others:
        np.testing.assert_array_equal(other.predict_proba(X), expected)
    assert len(estimated) == 1


@pytest.mark.parametrize("recipe", ["fast", "auto", "strong"])
def test_an_update_estimates_at_the_first_answer(recipe, estimated):
    model = NaiveBayes(recipe).partial_fit(X, Y)
    model.forget(X[:5], Y[:5])
    both = model + model
    assert not estimated
    both.predict_proba(X)
    both.predict_proba(X)
    assert len(estimated) == 1
