"""The words that say most for each class are those whose evidence, asked for one by one, is the largest."""

import numpy as np
import pytest

from naively import NaiveBayes
from naively.errors import FrozenError, InputTypeError, ParameterError
from naively.families import Text

TEXTS = [
    "free prize now",
    "free cash now, call",
    "home for lunch",
    "lunch after home",
    "the game of the cup",
    "cup game",
]
CLASSES = ["spam", "spam", "ham", "ham", "sport", "sport"]
X = {"n": list(range(24)), "text": TEXTS * 4}
FAMILIES = [
    Text(1),
    Text(),
    Text(1, event="bernoulli"),
    Text(1, event="complement", idf=True),
    Text(1, unit_length=True),
]


def bits_of(model, words):
    """What each word says for each class against the others, by the evidence of a text of it alone."""
    place = model.schema_.names.index("text")
    asked = [{"n": None, "text": word} for word in [*words, ""]]
    said = model.evidence(asked)[:, place]
    said = said[:-1] - said[-1]
    return (said - (said.sum(axis=1, keepdims=True) - said) / (said.shape[1] - 1)) / np.log(2)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_bits_are_those_of_a_text_of_the_word_alone(family):
    model = NaiveBayes("textbook", families={"text": family}).fit(X, CLASSES * 4)
    found = model.top_words(most=100)
    for code, label in enumerate(model.classes_.tolist()):
        words = found.of(label)
        assert len(words) >= 2
        np.testing.assert_allclose(found.bits_of(label), bits_of(model, words)[:, code], atol=1e-9)
        assert (np.diff(found.bits_of(label)) <= 1e-12).all()


@pytest.mark.parametrize("recipe", ["fast", "auto", "strong"])
def test_recipes_that_weigh_rank_words_as_their_evidence_does(recipe):
    model = NaiveBayes(recipe, families={"text": Text(1)}).fit(X, CLASSES * 4)
    found = model.top_words(most=100)
    stretch = model._estimated()[0].factors[-1].estimate.length_factor("free")
    for code, label in enumerate(model.classes_.tolist()):
        alone = bits_of(model, found.of(label))[:, code] if recipe != "strong" else found.bits_of(label) * stretch
        np.testing.assert_allclose(found.bits_of(label) * stretch, alone, atol=1e-9)
    assert set(found.of("spam")[:2]) <= {"free", "now", "prize", "cash", "call"}


def test_the_frame_and_what_is_left_out():
    model = NaiveBayes("textbook", families={"text": "text"}).fit(X, CLASSES * 4)
    frame = model.top_words("text", most=3).frame()
    assert list(frame.columns) == ["column", "class", "rank", "word", "bits", "texts"]
    assert frame.groupby("class")["rank"].max().tolist() == [3, 3, 3]
    assert set(frame[frame["word"] == "free"]["texts"]) == {8.0}
    assert "free prize" not in model.top_words(most=100).of("spam")
    pairs = NaiveBayes("textbook", families={"text": Text()}).fit(X, CLASSES * 4)
    assert "lunch after" in pairs.top_words(most=100, runs=True).of("ham")
    assert "prize" not in NaiveBayes("textbook", families={"text": "text"}).fit({"text": TEXTS}, CLASSES).top_words(
        most=100
    ).of("spam")
    assert "and 5 more words of each class" in repr(model.top_words(most=25))


def test_what_has_no_words_says_so():
    model = NaiveBayes("textbook", families={"text": "text"}).fit(X, CLASSES * 4)
    with pytest.raises(ParameterError, match=r"'n' holds no prose\. 'text' does"):
        model.top_words("n")
    with pytest.raises(ParameterError, match=r"label must be one of the classes .*got 'eggs'"):
        model.top_words().of("eggs")
    with pytest.raises(ParameterError, match="most must be"):
        model.top_words(most=0)
    with pytest.raises(ParameterError, match="no column of prose"):
        NaiveBayes("textbook").fit({"n": X["n"]}, CLASSES * 4).top_words()
    with pytest.raises(ParameterError, match="have no names"):
        NaiveBayes("textbook", families={"text": Text(buckets=8)}).fit(X, CLASSES * 4).top_words()
    with pytest.raises(FrozenError, match="Ask the model"):
        NaiveBayes(families={"text": "text"}).fit(X, CLASSES * 4).frozen().top_words()


# -- what is prose ----------------------------------------------------------------------------------------------------


def test_short_texts_are_prose_if_the_user_says_so():
    subjects = ["Re: lunch", "Win now", "Lunch today?", "Win cash"]
    model = NaiveBayes("textbook", families={"subject": "text"}).fit({"subject": subjects}, ["ham", "spam"] * 2)
    assert model.predict({"subject": ["lunch", "CASH now"]}).tolist() == ["ham", "spam"]
    guessed = NaiveBayes("textbook").fit({"subject": subjects}, ["ham", "spam"] * 2)
    assert guessed.families_["subject"].name() == "categorical"


def test_a_list_of_strings_is_a_column_of_text():
    import pandas as pd
    import polars as pl

    answers = []
    for kind in (list, tuple, pd.Series, pl.Series, lambda texts: np.array(texts, dtype=object)):
        model = NaiveBayes("textbook", families="text").fit(kind(TEXTS), CLASSES)
        assert len(model.schema_.names) == 1
        answers.append(model.predict(kind(["free cash", "lunch"])).tolist())
        with pytest.raises(InputTypeError, match=r"got str.*\[text\]"):
            model.predict("free cash")
    assert answers == [["spam", "ham"]] * len(answers)
