"""Texts in the model file: the same to the last bit, and nothing that was edited or cut."""

import hashlib
import json
import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given

from naively import NaiveBayes, load
from naively.errors import ModelFileError
from naively.families import Text
from tests.models import textbook
from tests.text.cases import options, text_cases

pytestmark = pytest.mark.filterwarnings("ignore:.*every class had probability zero")  # right without smoothing

TEXTS = [
    "Free cash 👍 now",
    "don't call me",
    "東京都 for lunch",
    "",
    None,
    "free lunch at home",
    "call now",
    "home",
] * 2
CLASSES = ["spam", "ham"] * 8


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("models") / "model.json"


def assert_equal_models(copy, model, query):
    assert copy.statistics_ == model.statistics_
    assert copy.schema_ == model.schema_
    assert copy.get_params(deep=False) == model.get_params(deep=False)
    assert np.array_equal(copy.predict_proba(query), model.predict_proba(query))


@given(case=text_cases(options(own_tokenizer=False)))
def test_a_saved_model_is_the_same(case, file):
    model = case.fitted()
    model.save(file)
    assert_equal_models(load(file), model, {"text": case.query})
    again = case.learn(load(file), slice(None))
    assert again.statistics_ == case.learn(model, slice(None)).statistics_


@given(text_cases())
def test_a_pickled_model_is_the_same(case):
    model = case.fitted()
    assert_equal_models(pickle.loads(pickle.dumps(model)), model, {"text": case.query})
    assert_equal_models(deepcopy(model), model, {"text": case.query})


@pytest.mark.parametrize("recipe", ["fast", "auto", "strong"])
@pytest.mark.parametrize("family", [Text(), Text(1, characters=(3, 4)), Text(buckets=16), Text(most_tokens=4)])
def test_recipes_that_keep_rows_are_saved(recipe, family, file, monkeypatch):
    monkeypatch.setenv("NAIVELY_KERNELS", "reference")  # the compiled ones add up in another order
    model = NaiveBayes(recipe, families={"text": family}).fit({"text": TEXTS}, CLASSES)
    model.save(file)
    assert_equal_models(load(file), model, {"text": [*TEXTS, "never seen"]})


def test_a_tokenizer_is_refused(file):
    model = textbook(families={"text": Text(tokenizer=str.split)}).fit({"text": TEXTS}, CLASSES)
    with pytest.raises(ModelFileError, match=r"tokenizer.*Pickle"):
        model.save(file)


def edited(file, change):
    """The file after a change of its token table, with a checksum that fits."""
    textbook(families={"text": Text(1)}).fit({"text": TEXTS}, CLASSES).save(file)
    document = json.loads(file.read_text())
    change(document["content"]["tables"][0]["texts"][0])
    compact = json.dumps(document["content"], allow_nan=False, separators=(",", ":"), sort_keys=True)
    document["checksum"] = hashlib.sha256(compact.encode()).hexdigest()
    file.write_text(json.dumps(document))


def swapped(numbers):
    numbers[0], numbers[1] = numbers[1], numbers[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table["hashes"].pop(),
        lambda table: swapped(table["hashes"]),
        lambda table: table["hashes"].__setitem__(0, 2**64),
        lambda table: table["hashes"].__setitem__(0, -1),
        lambda table: table["hashes"].__setitem__(0, "x"),
        lambda table: table["tokens"].pop(),
        lambda table: table["tokens"].__setitem__(0, "other"),
        lambda table: table["tokens"].__setitem__(0, 3),
        lambda table: table["cells"].pop(),
        lambda table: swapped(table["cells"]),
        lambda table: table["cells"].__setitem__(-1, 10**6),
        lambda table: table["cells"].__setitem__(0, -1),
        lambda table: table["mass"]["high"].__setitem__(0, -1.0),
        lambda table: table["mass"]["high"].pop(),
        lambda table: table["documents"].__setitem__("shape", [1]),
        lambda table: table["observed"]["high"].__setitem__(0, "a"),
        lambda table: table.pop("dropped"),
        lambda table: table.__setitem__("hashes", None),
    ],
)
def test_an_edited_token_table_is_refused(change, file):
    edited(file, change)
    with pytest.raises(ModelFileError):
        load(file)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_cut_file_is_refused(share, file):
    textbook(families={"text": Text()}).fit({"text": TEXTS}, CLASSES).save(file)
    content = file.read_text()
    file.write_text(content[: int(share * len(content))])
    with pytest.raises(ModelFileError):
        load(file)
