"""Links, addresses, money and numbers as tokens, and analysers of scikit-learn."""

import pickle
import time
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.naive_bayes import MultinomialNB

from naively import NaiveBayes, load
from naively._text.entities import ENTITIES, marked
from naively._text.tokenise import words
from naively.errors import InputTypeError, ModelFileError, ParameterError
from naively.families import Text
from tests.models import textbook
from tests.text.cases import prose

TEXTS = [
    "Win $1,000.00 at http://spam.ru/x",
    "call 0800 12 now, free cash",
    "lunch at 12:30?",
    "mail me@work.org, lunch",
]
CLASSES = ["spam", "spam", "ham", "ham"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see http://spam.ru/x/y?z=1.", ["see", "_url_", "spam_ru"]),
        (
            "HTTPS://user:pw@Host.com:80/x www.a-b.co.uk, bit.ly/abc",
            ["_url_", "host_com", "_url_", "www_a_b_co_uk", "_url_", "bit_ly"],
        ),
        ("user.name+x@mail.example.com!", ["_email_", "mail_example_com"]),
        ("£5 5€ 10 USD, usd 10 $1,000.00 $5k 2 million pounds", ["_money_"] * 7),
        ("12:30, 1.5; call 08002986030", ["_number_", "_number_", "_number_", "call", "_number_"]),
        ("3rd a1 v1.2.3 e.g./i.e. and/or x@y", words("3rd a1 v1.2.3 e.g./i.e. and/or x@y")),
    ],
)
def test_what_is_found(text, expected):
    assert words(marked(text, ENTITIES)) == expected


def test_only_what_was_asked_for_is_found():
    assert words(marked("pay $5 to me@x.org", ("emails",))) == ["pay", "$", "5", "to", "_email_", "x_org"]
    assert Text(entities=("numbers", "urls")) == Text(entities=["urls", "numbers", "urls"])
    assert Text(entities="all").entities == ENTITIES


@given(prose, st.sets(st.sampled_from(ENTITIES)).map(sorted))
def test_what_is_marked_reads_as_itself(text, kinds):
    once = marked(text, kinds) if kinds else text
    assert words(marked(once, kinds) if kinds else once) == words(once)


@pytest.mark.parametrize("piece", ["a", "1", "1,", "a.", "a-", "$", "a@", "http://", "1 ", "www."])
def test_long_texts_take_no_longer_than_they_should(piece):
    began = time.perf_counter()
    marked(piece * 20_000 + "!x", ENTITIES)
    assert time.perf_counter() - began < 2.0


@pytest.mark.parametrize("recipe", ["textbook", "auto", "strong"])
@pytest.mark.parametrize(
    "family",
    [
        Text(entities="all"),
        Text(analyzer=CountVectorizer(ngram_range=(1, 2), stop_words=["the"])),
        Text(buckets=32, entities="urls"),
    ],
    ids=repr,
)
def test_models_are_saved_merged_and_pickled(recipe, family, tmp_path):
    rows, y = {"text": TEXTS * 4}, CLASSES * 4
    model = NaiveBayes(recipe, families={"text": family}).fit(rows, y)
    model.save(tmp_path / "m.json")
    for other in (load(tmp_path / "m.json"), pickle.loads(pickle.dumps(model))):
        assert other.families["text"] == family
        np.testing.assert_array_equal(other.predict_proba(rows), model.predict_proba(rows))
    half = {"text": TEXTS * 2}
    part = clone(model).fit(half, CLASSES * 2)
    assert (part + clone(model).fit(half, CLASSES * 2)).statistics_.tables == model.statistics_.tables


def test_an_estimate_without_entities_is_of_an_earlier_version():
    from naively._export.estimates import scorer_from, scorer_to_dict

    model = NaiveBayes(families={"text": Text()}).fit({"text": TEXTS * 4}, CLASSES * 4)
    written = scorer_to_dict(model._estimated()[0])
    for part in written["parts"]:
        if part["type"] == "View":
            assert part.pop("entities") == []
    scorer_from(written, model.schema_, 2)


# -- analysers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "vectorizer",
    [
        CountVectorizer(),
        CountVectorizer(ngram_range=(1, 3), strip_accents="unicode", stop_words="english"),
        CountVectorizer(analyzer="char_wb", ngram_range=(2, 4)),
        CountVectorizer(token_pattern=r"[a-z]+", lowercase=False),
    ],
    ids=repr,
)
def test_a_vectorizer_says_what_a_token_is(vectorizer):
    ours = textbook(families={"text": Text(analyzer=vectorizer, tally="count")}).fit({"text": TEXTS}, CLASSES)
    theirs = MultinomialNB().fit(vectorizer.fit_transform(TEXTS), CLASSES)
    asked = [*TEXTS, "free lunch, nothing else"]
    expected = theirs.predict_joint_log_proba(vectorizer.transform(asked))
    np.testing.assert_allclose(ours.predict_joint_log_proba({"text": asked}), expected, atol=1e-9)


def test_vectorizers_of_any_kind_and_functions():
    count, tfidf, hashing = (Text(analyzer=kind()) for kind in (CountVectorizer, TfidfVectorizer, HashingVectorizer))
    assert count == tfidf == hashing
    assert (
        repr(Text(analyzer=CountVectorizer(ngram_range=(1, 2)))) == "Text(analyzer=CountVectorizer(ngram_range=(1, 2)))"
    )
    model = textbook(families={"text": Text(analyzer=str.split)}).fit({"text": TEXTS}, CLASSES)
    assert model.predict({"text": ["lunch"]}).tolist() == ["ham"]


def own_tokens(text, least):
    return [word for word in text.split() if len(word) >= least]


@pytest.mark.parametrize(
    "analyzer", [str.split, partial(own_tokens, least=3), CountVectorizer(tokenizer=str.split, token_pattern=None)]
)
def test_a_function_can_be_pickled_and_not_saved(analyzer, tmp_path):
    model = textbook(families={"text": Text(analyzer=analyzer)}).fit({"text": TEXTS}, CLASSES)
    with pytest.raises(ModelFileError, match=r"analyzer.*Pickle.*vectorizer"):
        model.save(tmp_path / "m.json")
    other = pickle.loads(pickle.dumps(model))
    assert other.predict({"text": TEXTS}).tolist() == CLASSES


@pytest.mark.parametrize("options", [{"words": 1}, {"characters": 3}, {"stop_words": ["a"]}, {"entities": "all"}])
def test_an_analyser_leaves_no_other_word_on_what_a_token_is(options):
    with pytest.raises(
        ParameterError, match=rf"Text\(analyzer\) says what a token is, and so does {next(iter(options))}"
    ):
        Text(analyzer=CountVectorizer(), **options)
    with pytest.raises(ParameterError, match=r"Text\(entities\) belongs to the rule"):
        Text(entities="urls", tokenizer=str.split)


@pytest.mark.parametrize(
    ("vectorizer", "instead"),
    [
        (CountVectorizer(min_df=2), "min_count"),
        (CountVectorizer(max_features=10), "most_tokens"),
        (TfidfVectorizer(binary=True), "presence"),
        (CountVectorizer(vocabulary=["a"]), "open"),
        (CountVectorizer(input="filename"), "must read texts"),
    ],
)
def test_how_tokens_are_counted_is_not_for_the_vectorizer(vectorizer, instead):
    with pytest.raises(ParameterError, match=instead):
        Text(analyzer=vectorizer)


def test_an_analyser_must_give_tokens():
    with pytest.raises(InputTypeError, match=r"Text\(analyzer\) must give"):
        textbook(families={"text": Text(analyzer=len)}).fit({"text": TEXTS}, CLASSES)
