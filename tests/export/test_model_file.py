"""The model file: an exact round trip, an atomic write, and a reader that trusts nothing."""

import contextlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from naively import load
from naively.errors import ModelFileError, NaivelyError
from naively.families import Bernoulli, Categorical, Gaussian, Multinomial, Poisson
from naively.smoothing import Dirichlet, Jeffreys, Laplace, Lidstone, MEstimate, NoSmoothing
from tests.export.model_file_mutants import drop, forged, put
from tests.models import textbook

TABLE = {
    "size": [1.1, 2.2, None, 8.3],
    "n": [3, 1, 4, 0],
    "words": [0, 2, 1, 5],
    "yes": [True, False, None, True],
    "colour": ["red", "blue", "red", None],
    "code": [7, 7, 12, -3],
    "later": [None, None, None, None],
}
Y = ["a", "b", "b", "a"]
FAMILIES = {"n": Poisson(), "words": Multinomial("title"), "yes": Bernoulli(0.5), "code": "categorical"}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.json"


@pytest.fixture
def saved(file):
    """A saved model with every kind of column, and weights whose sums are not exact."""
    textbook(families=FAMILIES).fit(TABLE, Y, [0.1, 0.2, 0.3, 1 / 3]).save(file)
    return file


def assert_round_trip(model, file, query=TABLE):
    model.save(file)
    copy = load(file)
    assert copy.statistics_ == model.statistics_
    assert copy.schema_ == model.schema_
    assert copy.classes_.dtype == model.classes_.dtype
    assert copy.classes_.tolist() == model.classes_.tolist()
    assert repr(copy) == repr(model)
    assert np.array_equal(copy.predict_joint_log_proba(query), model.predict_joint_log_proba(query))
    assert hasattr(copy, "feature_names_in_") == hasattr(model, "feature_names_in_")
    copy.save(file.with_suffix(".again"))
    assert file.with_suffix(".again").read_bytes() == file.read_bytes()


ROUND_TRIPS = {
    "defaults": {},
    "all families": {"families": FAMILIES},
    "families by position": {
        "families": {0: Gaussian(ties="feature", ddof=1, floor=0.125), 4: Categorical(["red", "blue", "green"])}
    },
    "scikit-learn's rule": {"families": {"size": Gaussian(rule="scikit-learn")}},
    "categories of numbers": {"families": {"code": Categorical([12, 7, -3, 0.5, True])}},
    "no smoothing": {"smoothing": NoSmoothing(), "prior_smoothing": Laplace()},
    "a name": {"smoothing": "jeffreys", "prior_smoothing": "laplace"},
    "a number": {"smoothing": 0.1, "prior_smoothing": 2},
    "lidstone": {"smoothing": Lidstone(0.3), "prior_smoothing": Jeffreys()},
    "m-estimate": {"smoothing": MEstimate(3.0, "marginal"), "prior_smoothing": MEstimate(2.0, {"a": 0.25, "b": 0.75})},
    "dirichlet": {
        "families": {"code": "categorical"},
        "smoothing": {
            "colour": Dirichlet({"red": 2.0, "blue": 1.5}, "mean"),
            3: Dirichlet(1.5),
            "code": Dirichlet([1, 2, 3]),
        },
    },
    "uniform prior": {"prior": "uniform"},
    "prior by class": {"prior": {"a": 0.25, "b": 0.75}},
    "prior in order": {"prior": [0.1, 0.9]},
    "threads": {"n_threads": 2},
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_every_parameter_comes_back(name, file):
    assert_round_trip(textbook(**ROUND_TRIPS[name]).fit(TABLE, Y, [1.1, 2.2, 3.3, 7 / 3]), file)


def test_numpy_parameters_come_back_as_plain_ones(file):
    for prior in (np.array([0.25, 0.75]), (0.25, 0.75)):
        textbook(prior=prior, smoothing=np.float64(0.5), n_threads=np.int64(1)).fit(TABLE, Y).save(file)
        copy = load(file)
        assert copy.prior == [0.25, 0.75]
        assert (copy.smoothing, copy.n_threads) == (0.5, 1)


@pytest.mark.parametrize(
    "y",
    [
        ["x", "y", "x", "y"],
        np.array(["x", "yy", "x", "yy"], dtype=object),
        [3, -1, 3, -1],
        [2**40, 1, 1, 1],
        [True, False, False, True],
        np.array([1.0, 2.0, 2.0, 1.0]),
        np.array([1, 2, 2, 1], dtype=np.int8),
        np.array([1, 2, 2, 1], dtype=np.uint64),
        ["", " ", "é", "🐧"],
    ],
    ids=["text", "objects", "integers", "large", "booleans", "floats", "int8", "uint64", "unicode"],
)
def test_every_type_of_class_comes_back(y, file):
    assert_round_trip(textbook(families=FAMILIES).fit(TABLE, y), file)


def test_declared_classes_come_back(file):
    model = textbook().partial_fit([[1.0], [2.0]], ["a", "b"], classes=["a", "b", "z"])
    assert_round_trip(model, file, [[1.0]])
    copy = load(file).forget([[1.0]], ["a"])
    assert copy.classes_.tolist() == ["a", "b", "z"]


def test_a_model_without_names_comes_back(file):
    assert_round_trip(textbook().fit([[1.0, 2.0], [3.0, 5.0]], [0, 1]), file, [[1.0, 2.0]])


def test_a_model_that_forgot_everything_comes_back(file):
    model = textbook().fit([[1.0], [2.0]], ["a", "b"]).forget([[1.0], [2.0]], ["a", "b"])
    model.save(file)
    assert load(file).partial_fit([[1.0]], ["a"]).statistics_ == textbook().fit([[1.0]], ["a"]).statistics_


def test_a_path_may_be_text(saved):
    assert load(str(saved)).statistics_ == load(saved).statistics_


# -- reading --------------------------------------------------------------------------------------------------------


def test_a_file_cut_anywhere_is_refused(saved):
    whole = saved.read_bytes()
    for length in [0, 1, 2, 10, *range(50, len(whole), len(whole) // 60), len(whole) - 2, len(whole) - 1]:
        saved.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"truncated|not a model file"):
            load(saved)


def test_a_file_with_any_digit_changed_is_refused(saved):
    model, whole = load(saved), saved.read_text(encoding="utf-8")
    digits = [place for place, sign in enumerate(whole) if sign.isdigit()]
    for place in digits[:: len(digits) // 60]:
        saved.write_text(whole[:place] + str((int(whole[place]) + 1) % 10) + whole[place + 1 :], encoding="utf-8")
        with contextlib.suppress(ModelFileError):
            assert load(saved).statistics_ == model.statistics_  # the last of 17 digits may stand for the same 64 bits


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "[]",
        "null",
        "3",
        '"naively model"',
        "{}",
        '{"format": "other"}',
        '{"format": "naively model"}',
        "[" * 100_000,
    ],
    ids=["empty", "words", "list", "null", "number", "text", "nothing", "other", "no version", "deep"],
)
def test_what_is_no_model_file_is_refused(text, file):
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"model\.json"):
        load(file)


def test_bytes_that_are_no_text_are_refused(file):
    file.write_bytes(b"\xff\xfe\x00\x80model")
    with pytest.raises(ModelFileError, match="not a complete JSON"):
        load(file)


@pytest.mark.parametrize("version", [0, 1, 3, 5, "4", None, 4.5, [4]])
def test_another_version_is_refused(saved, version):
    document = json.loads(saved.read_text(encoding="utf-8"))
    saved.write_text(json.dumps({**document, "version": version}), encoding="utf-8")
    with pytest.raises(ModelFileError, match=f"version.*{version!r}.*reads version 4.*Update".replace("[", r"\[")):
        load(saved)


def test_a_file_that_is_too_large_is_refused(saved):
    with pytest.raises(ModelFileError, match=r"bytes, more than the allowed 100.*load\(largest="):
        load(saved, largest=100)
    assert load(saved, largest=10**6).classes_.tolist() == ["a", "b"]


def test_a_file_of_something_else_is_not_parsed(file, monkeypatch):
    file.write_text("[" + "[]," * 10_000 + "[]]", encoding="utf-8")
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it was parsed"))
    with pytest.raises(ModelFileError, match=r"model\.json is not a model file"):
        load(file)


@pytest.mark.parametrize("spaces", [None, 2])
def test_the_keys_may_stand_in_any_order(saved, spaces):
    before, document = load(saved).statistics_, json.loads(saved.read_text(encoding="utf-8"))
    saved.write_text(json.dumps(document, sort_keys=True, indent=spaces), encoding="utf-8")
    assert load(saved).statistics_ == before


@pytest.mark.parametrize(
    "value",
    [
        "9" * 5000,
        "-" + "9" * 5000,
        "[" * 900 + "]" * 900,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 900 + "1" + "}" * 900,
    ],
    ids=["digits", "negative digits", "lists", "many lists", "objects"],
)
@pytest.mark.parametrize("place", ['"prior":', '"named":', '"version":', '"checksum":'])
def test_what_no_program_writes_is_refused(saved, value, place):
    text = saved.read_text(encoding="utf-8")
    start = text.index(place) + len(place)
    end = min(found for found in (text.find(",", start), text.find("}", start)) if found > 0)
    saved.write_text(text[:start] + value + text[end:], encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"model\.json"):
        load(saved)


def test_nesting_with_a_checksum_that_fits_is_refused(saved):
    nested = []
    for _ in range(300):
        nested = [nested]
    forged(saved, put(nested, "parameters", "prior"))
    with pytest.raises(ModelFileError, match=r"model\.json"):
        load(saved)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such files")
def test_what_is_no_regular_file_is_refused_at_once(saved):
    pipe, folder = saved.parent / "pipe", saved.parent / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    (saved.parent / "link").symlink_to(pipe)
    for path, kind in ((pipe, "a named pipe"), (folder, "a directory"), ("/dev/zero", "a device")):
        with pytest.raises(ModelFileError, match=f"{path} is {kind}"):
            load(path)
    with pytest.raises(ModelFileError, match="link is a named pipe"):
        load(saved.parent / "link")
    (saved.parent / "model link").symlink_to(saved)
    assert load(saved.parent / "model link").classes_.tolist() == ["a", "b"]


def test_a_file_that_grows_while_it_is_read_is_read_no_further(saved, monkeypatch):
    size = saved.stat().st_size
    real = os.fstat

    def smaller(handle):
        return os.stat_result([*real(handle)[:6], 10, *real(handle)[7:]])

    monkeypatch.setattr(os, "fstat", smaller)
    with pytest.raises(ModelFileError, match="model file"):
        load(saved)
    with pytest.raises(ModelFileError, match="11 bytes, more than the allowed 10"):
        load(saved, largest=10)
    assert size > 11


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_what_is_not_a_finite_number_is_refused(saved, constant):
    text = saved.read_text(encoding="utf-8").replace('"high":[', f'"high":[{constant},', 1)
    saved.write_text(text, encoding="utf-8")
    with pytest.raises(ModelFileError):
        load(saved)


GAUSSIAN_TABLE, COUNTS_TABLE = ("tables", 0), ("tables", -1)
LIES = {
    "a shape": put([1, 2], *GAUSSIAN_TABLE, "total", "shape"),
    "a shape of the right size": put([1, 2], "class_weight", "shape"),
    "a shape of text": put("wide", *GAUSSIAN_TABLE, "total", "shape"),
    "too few numbers": put([1.0], *GAUSSIAN_TABLE, "total", "high"),
    "too many numbers": put([1.0] * 99, *GAUSSIAN_TABLE, "total", "high"),
    "text for numbers": put(["1.0", "2.0"], "class_weight", "high"),
    "truth for numbers": put([True, True], "class_weight", "high"),
    "a list for a number": put([[1.0], [2.0]], "class_weight", "high"),
    "a number too large": put([10**400, 1], "class_weight", "high"),
    "a negative weight": put([-1.0, 1.0], "class_weight", "high"),
    "a negative square": put([-1.0, 1.0], *GAUSSIAN_TABLE, "square", "high"),
    "a low part of another length": put([0.0], "class_weight", "low"),
    "a low part larger than the high one": put([1e9, -1e9], "class_weight", "low"),
    "more known cells than rows": put([1e6, 1e6], *GAUSSIAN_TABLE, "observed", "high"),
    "no square": put(None, *GAUSSIAN_TABLE, "square"),
    "no total": drop(*GAUSSIAN_TABLE, "total"),
    "an unknown summary": put("guess", *GAUSSIAN_TABLE, "summary", "kind"),
    "a summary with another field": put(1, *GAUSSIAN_TABLE, "summary", "code"),
    "a table of other columns": put(["sizes"], *GAUSSIAN_TABLE, "columns"),
    "a table of more columns": put(["size", "size"], *GAUSSIAN_TABLE, "columns"),
    "no table": drop(*GAUSSIAN_TABLE),
    "no tables": put([], "tables"),
    "the same table twice": lambda content: content["tables"].append(content["tables"][0]),
    "categories out of order": lambda content: content["tables"][-1]["categories"][0].reverse(),
    "a category twice": put(["blue", "blue"], *COUNTS_TABLE, "categories", 0),
    "a category of nothing": put([None, "red"], *COUNTS_TABLE, "categories", 0),
    "a category of lists": put([["blue"], "red"], *COUNTS_TABLE, "categories", 0),
    "too few categories": put(["blue"], *COUNTS_TABLE, "categories", 0),
    "no columns": put([], "columns"),
    "a column twice": lambda content: content["columns"].append(content["columns"][0]),
    "a column without a name": put(None, "columns", 0, "name"),
    "a column of an unknown kind": put("secret", "columns", 0, "kind"),
    "classes out of order": put(["b", "a"], "classes", "labels"),
    "a class twice": put(["a", "a"], "classes", "labels"),
    "too many classes": put(["a", "b", "c"], "classes", "labels"),
    "classes of an unknown type": put("bytes", "classes", "type"),
    "classes of another type": put("int", "classes", "type"),
    "classes of lists": put([["a"], ["b"]], "classes", "labels"),
    "a declared class that is none": put(["z"], "classes", "declared"),
    "an unknown parameter": put(1, "parameters", "secret"),
    "an absent parameter": drop("parameters", "smoothing"),
    "a family that is none": put({"type": "os.system", "options": {}}, "parameters", "families"),
    "a family with bad options": put({"type": "gaussian", "options": {"ties": "x"}}, "parameters", "families"),
    "a family with unknown options": put({"type": "gaussian", "options": {"x": 1}}, "parameters", "families"),
    "a family for other statistics": put({"type": "categorical", "options": {}}, "parameters", "families"),
    "a bad smoothing": put({"type": "Lidstone", "options": {"tau": -1}}, "parameters", "smoothing"),
    "a bad prior": put([0.5, 0.6], "parameters", "prior"),
    "a bad number of threads": put(-3, "parameters", "n_threads"),
    "a list for the content": put([], "columns", 0),
}


@pytest.mark.parametrize("name", LIES)
def test_a_file_that_lies_is_refused_though_its_checksum_fits(saved, name):
    forged(saved, LIES[name])
    with pytest.raises(ModelFileError, match=r"model\.json"):
        load(saved)


def test_a_forged_file_without_lies_is_a_model(saved):
    before = load(saved).statistics_
    forged(saved, lambda content: None)
    assert load(saved).statistics_ == before


@pytest.mark.parametrize(
    "name", ["__import__('os').system('echo')", "pickle.loads", "Gaussian", "builtins.eval", "exec"]
)
def test_loading_runs_no_code(saved, name):
    for parameter in ("families", "smoothing", "prior_smoothing"):
        forged(saved, put({"type": name, "options": {"x": "__import__('os').abort()"}}, "parameters", parameter))
        with pytest.raises(NaivelyError):
            load(saved)


def test_loading_imports_neither_pickle_machinery_nor_numba(saved):
    code = f"import sys, naively; naively.load({str(saved)!r}).predict({TABLE!r}); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
