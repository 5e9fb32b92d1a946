"""What is read as prose, from which frames, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from naively import NaiveBayes
from naively._table.read import is_prose
from naively.engines import _tokens as engine
from naively.errors import InputTypeError, ParameterError
from naively.families import Categorical, Text
from tests.models import textbook

TEXTS = [f"please find attached the report that you asked for last {day}" for day in ("week", "May", "night", "time")]
CLASSES = ["a", "b", "a", "b"]


# -- inference --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cells",
    [
        ["Braund, Mr. Owen Harris", "Futrelle, Mrs. Jacques Heath (Lily May Peel)"],
        [
            "Uruchurtu, Don. Manuel E",
            "Penasco y Castellana, Mrs. Victor de Satode (Maria Josefa Perez de Soto y Vallejo)",
        ],
        ["123 Main Street, Apt 4, Springfield, IL 62701, United States of America"],
        ["Flat 3, 12 Long Lane, Little Snoring, Near Fakenham, Norfolk, England, United Kingdom"],
        ["12 rue de la Paix, 75002 Paris, France"],
        ["2001:0db8:85a3:0000:0000:8a2e:0370:7334", "550e8400-e29b-41d4-a716-446655440000"],
        ["2024-01-01T12:00:00.000+00:00", "2024-01-02T12:00:00.000+00:00"],
        ["https://www.example.com/a/b/c/d/e/f/g.html?id=x"],
        ["/usr/local/lib/python/site/packages/some/module/name.py"],
        ["red", "blue", "dark green"],
        ["Strongly agree that the service was as good as I had hoped it would be"] * 10,  # a few long answers
        [""],
        [None, None],
        [],
    ],
)
def test_names_codes_and_addresses_are_no_prose(cells):
    assert not is_prose(cells)


@pytest.mark.parametrize(
    "cells",
    [
        [
            "Free entry in 2 a wkly comp to win FA Cup final tkts 21st May 2005. Text FA to 87121",
            "Ok lar... Joking wif u oni...",
            "Nah I don't think he goes to usf, he lives around here though",
        ],
        ["FREE ENTRY IN A WEEKLY COMPETITION TO WIN CASH NOW", None],
        ["Ich möchte wissen, ob das Paket mit den neuen Schuhen schon angekommen ist"],
        ["这部电影非常好看\uff0c我很喜欢\uff0c推荐给大家"],
        ["วันนี้อากาศดีมาก ไปเที่ยวกันเถอะ"],
    ],
)
def test_messages_are_prose(cells):
    assert is_prose(cells)
    model = textbook().fit({"text": cells}, ["a"] * len(cells))
    assert isinstance(model.parameters()["text"]["family"], Text)


def test_a_huge_cell_is_judged_by_its_beginning():
    assert is_prose(["so we are going to look at all of this " * 200_000])


FRAMES = {
    "objects": lambda texts: pd.DataFrame({"text": np.array(texts, dtype=object)}),
    "strings": lambda texts: pd.DataFrame({"text": pd.array(texts, dtype="string")}),
    "arrow strings": lambda texts: pd.DataFrame({"text": pd.array(texts, dtype="string[pyarrow]")}),
    "polars": lambda texts: pl.DataFrame({"text": texts}),
    "arrow": lambda texts: pa.table({"text": texts}),
    "large arrow": lambda texts: pa.table({"text": pa.array(texts, pa.large_string())}),
    "dicts": lambda texts: [{"text": text} for text in texts],
    "columns": lambda texts: {"text": texts},
}


@pytest.mark.parametrize("frame", FRAMES)
def test_every_frame_gives_the_same_model(frame):
    texts = [*TEXTS, None]
    X, y = FRAMES[frame](texts), [*CLASSES, "b"]
    expected = textbook(families={"text": Text(1, tally="count")}).fit({"text": texts}, y)
    model = textbook().fit(X, y)
    assert model.statistics_ == expected.statistics_
    assert model.predict_proba(X).tolist() == expected.predict_proba({"text": texts}).tolist()


@pytest.mark.parametrize("dtype", [object, str])
def test_arrays_of_texts(dtype):
    X = np.array(TEXTS, dtype=dtype)[:, None]
    model = textbook(families=Text()).fit(X, CLASSES)
    assert model.statistics_.tables.keys() == textbook(families="text").fit(X, CLASSES).statistics_.tables.keys()
    assert isinstance(textbook().fit(X, CLASSES).parameters()["x0"]["family"], Text)


def test_a_categorical_type_is_no_prose_unless_declared():
    X = pd.DataFrame({"text": pd.Categorical(TEXTS)})
    assert isinstance(textbook().fit(X, CLASSES).parameters()["text"]["family"], Categorical)
    declared = textbook(families={"text": Text()}).fit(X, CLASSES)
    assert declared.statistics_ == textbook(families={"text": Text()}).fit({"text": TEXTS}, CLASSES).statistics_


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto", "strong"])
def test_the_first_batch_decides_what_a_column_is(recipe):
    prose = NaiveBayes(recipe).fit({"text": TEXTS}, CLASSES)
    prose.partial_fit({"text": ["red", "blue"]}, ["a", "b"]).partial_fit({"text": [None]}, ["a"])
    assert isinstance(prose.parameters()["text"]["family"], Text)
    assert np.isfinite(prose.predict_proba({"text": ["red", None]})).all()
    labels = NaiveBayes(recipe).fit({"text": ["red", "blue"] * 3}, ["a", "b"] * 3)
    labels.partial_fit({"text": TEXTS}, CLASSES)
    assert not isinstance(labels.parameters()["text"]["family"], Text)
    at_once = NaiveBayes(recipe).fit({"text": ["red", "blue"] * 3 + TEXTS}, ["a", "b"] * 3 + CLASSES)
    assert labels.statistics_ == at_once.statistics_  # long labels count like others


def test_prose_can_be_read_as_labels():
    model = textbook(families={"text": "categorical"}).fit({"text": TEXTS}, CLASSES)
    (counts,) = model.statistics_.tables.values()
    assert sorted(counts.categories[0]) == sorted(TEXTS)
    assert counts.table(0).high.sum() == len(TEXTS)


def test_an_empty_column_can_become_prose():
    model = textbook().fit({"text": [None, None]}, ["a", "b"]).partial_fit({"text": TEXTS}, CLASSES)
    assert isinstance(model.parameters()["text"]["family"], Text)


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["x", b"abc"], "'text', row 1.*bytes.*Decode"),
        (["x", 3], "'text'.*row 1 holds 3 of type int"),
        (["x", True], "'text'.*row 1 holds True of type bool"),
        (["x", ["a", "b"]], "'text', row 1.*list"),
        (["x", {"a": 1}], "'text', row 1.*dict"),
        ([1, 2], "'text' holds numbers.*'text' cannot read"),
        ([True, False], "'text' holds booleans.*'text' cannot read"),
    ],
)
def test_what_is_no_text_is_named(cells, message):
    with pytest.raises(InputTypeError, match=message):
        textbook(families={"text": Text()}).fit({"text": cells}, ["a", "b"])
    model = textbook(families={"text": Text()}).fit({"text": TEXTS}, CLASSES)
    before = model.statistics_
    with pytest.raises(InputTypeError, match="'text'"):
        model.partial_fit({"text": cells}, ["a", "b"])
    with pytest.raises(InputTypeError, match="'text'"):
        model.predict({"text": cells})
    assert model.statistics_ is before


def test_numbers_are_refused():
    with pytest.raises(InputTypeError, match="'x0' holds numbers"):
        textbook(families=Text()).fit(np.ones((2, 1)), ["a", "b"])


def test_nothing_is_learnt_when_a_tokenizer_fails():
    def fails_on_the_last(text):
        if "time" in text:
            raise RuntimeError("no")
        return text.split()

    model = textbook(families={"text": Text(tokenizer=fails_on_the_last)}).fit({"text": TEXTS[:2]}, CLASSES[:2])
    before = model.statistics_
    with pytest.raises(RuntimeError):
        model.partial_fit({"text": TEXTS}, CLASSES)
    assert model.statistics_ is before


@pytest.mark.parametrize("tokenizer", [lambda text: text, lambda text: None, lambda text: [1], lambda text: 3])
def test_a_tokenizer_must_give_words(tokenizer):
    with pytest.raises(InputTypeError, match=r"Text\(tokenizer\) or Text\(analyzer\) must give"):
        textbook(families={"text": Text(tokenizer=tokenizer)}).fit({"text": TEXTS}, CLASSES)


@pytest.mark.parametrize(
    "options",
    [
        *({"words": given} for given in (0, 9, "a", (2, 1), (1, 2, 3), True, 1.0, None)),
        *({"characters": given} for given in (0, 9, "a", (2, 1))),
        *({"stop_words": given} for given in ("german", [1], 3)),
        *({"min_count": given} for given in (-1, "a", float("nan"), float("inf"))),
        *({"buckets": given} for given in (1, 2.5, True, 2**70, "many")),
        *({"most_tokens": given} for given in (0, 1.5, "many")),
        *({name: 1} for name in ("lowercase", "idf", "unit_length", "normalise", "event", "tally", "tokenizer")),
        *({"entities": given} for given in ("links", ["urls", "dates"], 3)),
        *({"analyzer": given} for given in (1, "word", str)),
        {"event": ["multinomial"]},
        {"normalise": True},
    ],
    ids=str,
)
def test_options_are_checked(options):
    (name,) = options
    with pytest.raises(ParameterError, match=rf"Text\({name}"):
        Text(**options)


def test_a_text_prints_what_was_changed():
    assert repr(Text()) == "Text()"
    assert repr(Text(1, idf=True)) == "Text(words=(1, 1), idf=True)"
    assert Text(1, stop_words=["b", "a"]) == eval(repr(Text(1, stop_words=["a", "b"])))


# -- bounded memory ---------------------------------------------------------------------------------------------------


def distinct(start, stop):
    return " ".join(f"w{number}" for number in range(start, stop))


def test_buckets_bound_the_vocabulary():
    texts = [distinct(2_000 * place, 2_000 * (place + 1)) for place in range(10)]
    model = textbook(families={"text": Text(1, buckets=512)}).fit({"text": texts}, ["a", "b"] * 5)
    (tokens,) = model.statistics_.tables.values()
    assert len(tokens.tables[0].vocabulary) == 512
    assert model.predict({"text": texts}).tolist() == ["a", "b"] * 5


def test_pruning_bounds_the_vocabulary_and_reports_the_loss(monkeypatch):
    monkeypatch.setattr(engine, "BLOCK_CHARACTERS", 5_000)
    texts = [f"{label * 20} {distinct(500 * place, 500 * (place + 1))}" for place, label in enumerate(["x ", "y "] * 5)]
    y = ["a", "b"] * 5
    model = textbook(families={"text": Text(1, tally="count", most_tokens=50)}).fit({"text": texts}, y)
    (tokens,) = model.statistics_.tables.values()
    assert len(tokens.tables[0].vocabulary) == 50
    kept, lost = tokens.tables[0].mass.high.sum(), model.parameters()["text"]["dropped"]["words 1"]
    assert kept + lost.sum() == 10 * 520
    assert model.predict({"text": ["x", "y"]}).tolist() == ["a", "b"]
    whole = textbook(families={"text": Text(1)}).fit({"text": texts}, y)
    assert not whole.parameters()["text"]["dropped"]["words 1"].any()
    before = model.statistics_
    for text, label in zip(texts, y, strict=True):
        model.partial_fit({"text": [text]}, [label])
    (tokens,) = model.statistics_.tables.values()
    assert len(tokens.tables[0].vocabulary) == 50  # a stream is bounded, too, and so are merged models
    assert len(next(iter((before + before).tables.values())).tables[0].vocabulary) == 50
    lost = model.parameters()["text"]["dropped"]["words 1"]
    assert tokens.tables[0].mass.high.sum() + lost.sum() == 2 * 10 * 520
