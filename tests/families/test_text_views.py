"""Weights of the tokens that are asked for, and of all: the same to the last bit."""

import numpy as np
import pytest

from naively import NaiveBayes
from naively.families import Text
from naively.families._text_views import FEW, DrawnView
from naively.smoothing import Dirichlet

WORDS = [f"word{place}" for place in range(400)]


def texts(n_rows=90, seed=0):
    random = np.random.default_rng(seed)
    labels = np.arange(n_rows) % 9
    return [" ".join(random.choice(WORDS[20 * label :], 12)) for label in labels], labels


def views(model):
    return model._estimated()[0].factors[0].estimate.columns[0]


@pytest.mark.parametrize("event", ["multinomial", "complement"])
@pytest.mark.parametrize("words", [1, (1, 2)])
@pytest.mark.parametrize("kernels", ["compiled", "reference"])
def test_few_texts_are_answered_as_many_are(event, words, kernels, monkeypatch):
    monkeypatch.setenv("NAIVELY_KERNELS", kernels)  # the two add the tokens of a text in different orders
    X, y = texts()
    model = NaiveBayes("textbook", families={"text": Text(words, event=event)}, smoothing=0.3)
    alone = [model.fit({"text": X}, y).predict_joint_log_proba({"text": [text, None]}) for text in X[:20]]
    assert all("_weights" not in view.__dict__ for view in views(model))
    explained = model.explain({"text": X[:2]})["bits"].tolist()
    assert all("_weights" not in view.__dict__ for view in views(model))
    together = model.predict_joint_log_proba({"text": X})
    assert all("_weights" in view.__dict__ for view in views(model))
    np.testing.assert_array_equal([scores[0] for scores in alone], together[:20])
    assert explained == model.explain({"text": X[:2]})["bits"].tolist()
    np.testing.assert_array_equal(model.predict_joint_log_proba({"text": X[:1]}), together[:1])


@pytest.mark.parametrize("event", ["multinomial", "complement"])
def test_one_pseudo_count_for_all_is_what_the_general_rule_gives(event):
    X, y = texts()
    models = [
        NaiveBayes("textbook", families={"text": Text(1, event=event, min_count=2)}, smoothing=rule).fit({"text": X}, y)
        for rule in (0.3, Dirichlet(0.3, "mean"))
    ]
    assert [isinstance(views(model)[0], DrawnView) for model in models] == [True, False]
    for asked in (X[:1], X):
        scores = [model.predict_joint_log_proba({"text": asked}) for model in models]
        np.testing.assert_allclose(*scores, rtol=1e-12)
    described = [model.parameters()["text"]["probability"]["words 1"] for model in models]
    assert list(described[0]) == list(described[1])
    np.testing.assert_allclose(list(described[0].values()), list(described[1].values()), rtol=1e-12)


def test_the_vocabulary_is_large_enough_for_these_tests_to_mean_something():
    X, y = texts()
    view = views(NaiveBayes("textbook", families={"text": Text(1)}).fit({"text": X}, y))[0]
    assert len(view.vocabulary) > 12 * FEW
    assert view.wants_all(len(view.vocabulary))


def test_no_tokens_at_all():
    model = NaiveBayes("textbook", families={"text": Text(1)}).fit({"text": ["", "", None]}, [0, 1, 1])
    np.testing.assert_allclose(model.predict_proba({"text": ["new words", "", None]}), [[1 / 3, 2 / 3]] * 3)
