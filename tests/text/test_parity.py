"""The same numbers as scikit-learn's classifiers on the same tokens, and as TWCNB worked out in NumPy."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from naively._text.tokenise import words
from naively.families import Text
from tests.models import textbook

VOCABULARY = [
    *("free", "win", "cash", "prize", "now", "call", "me", "home", "lunch", "see", "you", "later"),
    *("don't", "東京都", "👍", "£", "naïve"),
]


@pytest.fixture(scope="module")
def corpus():
    random = np.random.default_rng(5)
    y = random.choice(["eggs", "ham", "spam"], 90)
    shares = {label: random.dirichlet(np.full(len(VOCABULARY), 0.5)) for label in np.unique(y)}
    texts = [" ".join(random.choice(VOCABULARY, random.integers(1, 25), p=shares[label])) for label in y]
    return texts[:70], y[:70], [*texts[70:], "", "never seen", "free free never"]


def vectoriser(**parameters):
    return CountVectorizer(tokenizer=words, token_pattern=None, lowercase=False, **parameters)


def assert_equal_to(classifier, corpus, family, smoothing, **parameters):
    texts, y, query = corpus
    counter = vectoriser(**parameters)
    theirs = classifier.fit(counter.fit_transform(texts), y).predict_joint_log_proba(counter.transform(query))
    model = textbook(families={"text": family}, smoothing=smoothing).fit({"text": texts}, y)
    ours = model.predict_joint_log_proba({"text": query})
    if isinstance(classifier, ComplementNB):  # which leaves the prior out
        ours = ours - np.log(model.class_prior_)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.parametrize("tau", [1.0, 0.1])
@pytest.mark.parametrize("length", [1, 2])
def test_multinomial(corpus, tau, length):
    family = Text(words=length, tally="count")
    assert_equal_to(MultinomialNB(alpha=tau), corpus, family, tau, ngram_range=(length, length))


def test_multinomial_on_presence(corpus):
    assert_equal_to(MultinomialNB(), corpus, Text(words=1, tally="presence"), 1.0, binary=True)


@pytest.mark.parametrize("tau", [1.0, 0.1])
def test_bernoulli(corpus, tau):
    assert_equal_to(BernoulliNB(alpha=tau), corpus, Text(words=1, event="bernoulli"), tau)


@pytest.mark.parametrize("normalise", [False, True])
def test_complement(corpus, normalise):
    family = Text(words=1, event="complement", tally="count", normalise=normalise)
    assert_equal_to(ComplementNB(norm=normalise), corpus, family, 1.0)


def test_stop_words_and_the_least_count(corpus):
    family = Text(words=1, tally="count", stop_words=["free", "win"], min_count=20)
    assert_equal_to(MultinomialNB(), corpus, family, 1.0, stop_words=["free", "win"], min_df=20)


def test_twcnb(corpus):
    """Rennie and others (2003), table 4, with the texts scaled to unit length before idf, as documented."""
    texts, y, query = corpus
    counter = vectoriser()
    learnt, asked = counter.fit_transform(texts).toarray(), counter.transform(query).toarray()
    idf = np.log(len(texts) / (learnt > 0).sum(axis=0))

    def transformed(counts):
        logs = np.log1p(counts)
        return logs / np.maximum(np.sqrt((logs**2).sum(axis=1, keepdims=True)), 1e-300)

    mass = np.stack([transformed(learnt)[y == label].sum(axis=0) for label in np.unique(y)]) * idf
    others = mass.sum(axis=0) - mass + 1.0
    weights = np.log(others / others.sum(axis=1, keepdims=True))
    weights /= np.abs(weights).sum(axis=1, keepdims=True)
    # a token that was never learnt still counts for the length of the text that has it
    tokens = [words(text) for text in query]
    lengths = np.array([np.sqrt(sum(np.log1p(found.count(token)) ** 2 for token in set(found))) for found in tokens])
    expected = -(np.log1p(asked) / np.maximum(lengths, 1e-300)[:, None] * idf) @ weights.T
    family = Text(words=1, event="complement", idf=True, unit_length=True, normalise=True)
    model = textbook(families={"text": family}, smoothing=1.0).fit({"text": texts}, y)
    ours = model.evidence({"text": query})[:, 0]
    np.testing.assert_allclose(ours, expected, rtol=0, atol=4e-10)  # a tally is a multiple of 2**-30
