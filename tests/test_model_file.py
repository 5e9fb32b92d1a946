"""The model file: an exact round trip, an atomic write, and a reader that trusts nothing."""

import contextlib
import dataclasses
import json
import os
import signal
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from naively import TAN, NaiveBayes, load
from naively.errors import InputError, ModelFileError, NaivelyError, ParameterError
from naively.export import files
from naively.export.json import _checksum
from naively.families import Bernoulli, Categorical, Codes, Gaussian, Kernel, Multinomial, Poisson
from naively.smoothing import Dirichlet, Jeffreys, Laplace, Lidstone, MEstimate, NoSmoothing
from naively.sums import Sum
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
        "smoothing": {
            "colour": Dirichlet({"red": 2.0, "blue": 1.5}, "mean"),
            3: Dirichlet(1.5),
            "code": Dirichlet([1, 2, 3]),
        }
    },
    "uniform prior": {"prior": "uniform"},
    "prior by class": {"prior": {"a": 0.25, "b": 0.75}},
    "prior in order": {"prior": [0.1, 0.9]},
    "threads": {"n_threads": 2},
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_every_parameter_comes_back(name, file):
    assert_round_trip(textbook(**ROUND_TRIPS[name]).fit(TABLE, Y, [0.1, 0.2, 0.3, 1 / 3]), file)


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


# -- writing --------------------------------------------------------------------------------------------------------


def test_a_failing_write_leaves_the_old_file_and_nothing_else(saved, monkeypatch):
    before, model = saved.read_bytes(), load(saved)

    def fail(*_):
        raise OSError("the disk is full")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            patch.setattr(type(saved), "replace", fail)
            with pytest.raises(OSError, match="disk is full"):
                model.decay(0.5).save(saved)
        assert saved.read_bytes() == before
        assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_parameter_that_no_file_can_hold_leaves_the_old_file(saved):
    before, model = saved.read_bytes(), load(saved)
    model.set_params(prior=object())
    with pytest.raises(ModelFileError, match=r"'prior'.*object"):
        model.save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_folder_that_is_not_there_is_an_ordinary_error(saved):
    with pytest.raises(FileNotFoundError):
        load(saved).save(saved.parent / "nowhere" / "model.json")
    with pytest.raises(FileNotFoundError):
        load(saved.parent / "nothing.json")


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_as_readable_as_any_other(saved):
    other = saved.parent / "other"
    other.write_text("x")
    assert mode_of(saved) == mode_of(other)


@pytest.mark.parametrize("recipe", ["auto", "fast", "strong"])
def test_a_new_file_with_rows_of_the_data_is_private(recipe, file):
    NaiveBayes(recipe).fit([[1.0], [2.0]], [0, 1]).save(file)
    assert mode_of(file) == 0o600


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666, 0o400])
@pytest.mark.parametrize("recipe", ["textbook", "fast"])
def test_a_file_that_is_replaced_keeps_its_mode(mode, recipe, file):
    model = NaiveBayes(recipe).fit([[1.0], [2.0]], [0, 1])
    model.save(file)
    file.chmod(mode)
    model.decay(0.5).save(file)
    assert mode_of(file) == mode
    assert load(file).statistics_ == model.statistics_


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_file_that_is_replaced_keeps_its_owner(saved):
    os.chown(saved, 12345, 23456)
    saved.chmod(0o640)
    load(saved).save(saved)
    assert (saved.stat().st_uid, saved.stat().st_gid, mode_of(saved)) == (12345, 23456, 0o640)


def test_the_group_loses_its_rights_where_the_file_gets_another_group(saved, monkeypatch):
    saved.chmod(0o664)
    real = os.fstat

    def of_another_group(handle):
        return os.stat_result([*real(handle)[:5], 54321, *real(handle)[6:]])

    def refuse(*_):
        raise PermissionError("not yours")

    monkeypatch.setattr(os, "fstat", of_another_group)
    monkeypatch.setattr(os, "fchown", refuse)
    textbook().fit([[1.0], [2.0]], [0, 1]).save(saved)
    assert mode_of(saved) == 0o604


def test_saving_leaves_the_umask_alone(saved, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("every thread has the same umask"))
    load(saved).save(saved)
    load(saved).save(saved.parent / "new.json")


def test_a_link_is_followed(saved):
    (saved.parent / "folder").mkdir()
    target, link = saved.parent / "folder" / "target.json", saved.parent / "link.json"
    link.symlink_to(target)
    for _ in range(2):  # to a file that is not there yet, and to one that is
        load(saved).save(link)
        assert link.is_symlink()
        assert load(target).statistics_ == load(saved).statistics_


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such files")
def test_what_is_no_regular_file_is_not_replaced(saved):
    model, pipe, folder = load(saved), saved.parent / "pipe", saved.parent / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    for path, kind in ((pipe, "a named pipe"), (folder, "a directory"), ("/dev/null", "a device"), ("", "a directory")):
        with pytest.raises(ModelFileError, match=f"{path} is {kind}"):
            model.save(path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(folder.iterdir()) == []


def test_any_path_will_do(saved, monkeypatch):
    model, folder = load(saved), saved.parent
    monkeypatch.chdir(folder)
    for path in ("relative.json", b"bytes.json", folder / "path.json", "x" * 255, "\udcff.json"):
        model.save(path)
        assert load(path).statistics_ == model.statistics_
    assert all(not path.name.startswith(".") for path in folder.iterdir())


def test_errors_name_the_path_that_was_given(saved):
    absent = str(saved.parent / "nowhere" / "model.json")
    for attempt in (load(saved).save, load):
        with pytest.raises(FileNotFoundError) as caught:
            attempt(absent)
        assert caught.value.filename == absent


KILLED = """
import os, pathlib, signal, sys
from naively.export.files import replace_file
def write(file):
    file.write("half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
replace_file(sys.argv[1], write, private=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing is killed like this")
def test_what_a_killed_process_left_behind_goes_with_the_next_write(saved):
    model, before = load(saved), saved.read_bytes()
    subprocess.run([sys.executable, "-c", KILLED, str(saved)], check=False)
    left = [path.name for path in saved.parent.iterdir() if path != saved]
    assert len(left) == 1
    assert left[0].startswith(".naively-")
    assert saved.read_bytes() == before
    model.save(saved.parent / "other.json")
    assert (saved.parent / left[0]).exists()  # of another file
    model.save(saved)
    assert sorted(path.name for path in saved.parent.iterdir()) == ["model.json", "other.json"]


def test_what_another_is_writing_is_left_alone(saved):
    model = load(saved)

    def write(file):
        file.write("half")
        model.save(saved)
        file.write(" and half")

    files.replace_file(saved, write, private=False)
    assert saved.read_text() == "half and half"
    assert list(saved.parent.iterdir()) == [saved]


@pytest.mark.parametrize("age", [0, 2 * files.STALE_SECONDS])
def test_where_nothing_can_be_locked_only_old_files_are_removed(saved, monkeypatch, age):
    monkeypatch.setattr(files, "fcntl", None)
    temporary = saved.parent / f"{files._prefix(saved)}0123.tmp"
    temporary.write_text("half")
    os.utime(temporary, (time.time() - age,) * 2)
    load(saved).save(saved)
    assert temporary.exists() == (age == 0)


def test_many_threads_may_write_one_file(saved):
    models = [load(saved).decay(factor) for factor in (1.0, 0.5, 0.25, 0.125)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda model: [model.save(saved) for _ in range(10)], models))
    assert any(load(saved).statistics_ == model.statistics_ for model in models)
    assert list(saved.parent.iterdir()) == [saved]


def test_classes_that_no_file_can_hold_leave_the_old_file(saved):
    before, model = saved.read_bytes(), textbook().fit([[1.0], [2.0]], [0, 1])
    odd = dataclasses.replace(model.statistics_, classes=np.array([0, 1], dtype=np.complex128))
    with pytest.raises(ModelFileError, match="complex128"):
        model.with_statistics(odd).save(saved)
    assert saved.read_bytes() == before


def test_sums_that_no_file_can_hold_leave_the_old_file(saved):
    before, model = saved.read_bytes(), load(saved)
    odd = dataclasses.replace(model.statistics_, class_weight=Sum.of([np.inf, 1.0]))
    with pytest.raises(ModelFileError, match="not finite"):
        model.with_statistics(odd).save(saved)
    assert saved.read_bytes() == before


def test_the_file_is_plain_json(saved):
    document = json.loads(saved.read_text(encoding="utf-8"))
    assert document["format"] == "naively model"
    assert document["version"] == 1
    assert [column["name"] for column in document["content"]["columns"]] == list(TABLE)


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


@pytest.mark.parametrize("version", [0, 2, "1", None, 1.5, [1]])
def test_another_version_is_refused(saved, version):
    document = json.loads(saved.read_text(encoding="utf-8"))
    saved.write_text(json.dumps({**document, "version": version}), encoding="utf-8")
    with pytest.raises(ModelFileError, match=f"version.*{version!r}.*reads version 1.*Update".replace("[", r"\[")):
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


def forged(path, change):
    """Change the content of a model file and make its checksum fit again."""
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document["content"])
    document["checksum"] = _checksum(document["content"])
    path.write_text(json.dumps(document), encoding="utf-8")


def put(value, *keys):
    """A change that puts a value at the place that the keys lead to."""

    def change(content):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


def drop(*keys):
    def change(content):
        for key in keys[:-1]:
            content = content[key]
        del content[keys[-1]]

    return change


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


# -- the sample of rows -----------------------------------------------------------------------------------------------


@pytest.fixture
def with_rows(file):
    rows = {"x": [1.5, None, 4.0, 4.0], "c": ["red", "blue", None, "red"], "t": ["free prize", "lunch now", None, ""]}
    NaiveBayes("fast", families={"t": "text"}).fit(rows, Y, [0.5, 1.0, 2.0, 1.0]).save(file)
    return file


def swap(key):
    def change(content):
        values = content["kept"][key]
        values[0], values[1] = values[1], values[0]

    return change


def repeat_a_row(content):
    kept = content["kept"]
    for values in (kept["hashes"], kept["codes"], kept["weights"], *(one["cells"] for one in kept["columns"].values())):
        values.insert(0, values[0])


ROW_LIES = {
    "no class": put(2, "kept", "codes", 0),
    "a negative class": put(-1, "kept", "codes", 0),
    "a class that is no number": put(True, "kept", "codes", 0),
    "too few classes": drop("kept", "codes", 0),
    "a negative weight": put(-1.0, "kept", "weights", 0),
    "more weight than all rows": put(1e6, "kept", "weights", 0),
    "hashes out of order": swap("hashes"),
    "a hash too large": put(2**64, "kept", "hashes", -1),
    "a negative hash": put(-1, "kept", "hashes", 0),
    "a hash that is a fraction": put(0.5, "kept", "hashes", 0),
    "a row twice": repeat_a_row,
    "more rows than places": put(1, "kept", "capacity"),
    "no place at all": put(0, "kept", "capacity"),
    "places without end": put(10**18, "kept", "capacity"),
    "a column that is not there": put({"numeric": True, "cells": [None] * 4}, "kept", "columns", "y"),
    "too few cells": drop("kept", "columns", "x", "cells", 0),
    "numbers as labels": put(False, "kept", "columns", "x", "numeric"),
    "labels as numbers": put({"numeric": True, "cells": [1.0] * 4}, "kept", "columns", "c"),
    "a number among texts": put(1, "kept", "columns", "t", "cells", 0),
    "text among numbers": put("red", "kept", "columns", "x", "cells", 0),
    "a label that was never counted": put("green", "kept", "columns", "c", "cells", 0),
    "a number that was never counted": put(3.75, "kept", "columns", "x", "cells", 0),
    "a list for a label": put(["red"], "kept", "columns", "c", "cells", 0),
    "cells of text": put("four", "kept", "columns", "c", "cells"),
    "a histogram of more rows than there are": put([1e9] * 4, "tables", 1, "histograms", 0, "counts"),
    "a key that stands for no number": put([0, 2**63 - 1], "tables", 1, "histograms", 0, "keys"),
    "a histogram without end": put(10**9, "tables", 1, "histograms", 0, "cap"),
    "a bad prior": put({"type": "Lidstone", "options": {"tau": -1}}, "parameters", "prior_smoothing"),
    "another family": put({"type": "gaussian", "options": {}}, "parameters", "families"),
    "a bad number of kept rows": put(10**18, "parameters", "kept_rows"),
}


@pytest.mark.parametrize("name", ROW_LIES)
def test_rows_that_do_not_fit_the_model_are_refused(with_rows, name):
    forged(with_rows, ROW_LIES[name])
    with pytest.raises(ModelFileError, match=r"model\.json"):
        load(with_rows)


def test_rows_that_fit_are_read(with_rows):
    before = load(with_rows).statistics_
    forged(with_rows, lambda content: None)
    assert load(with_rows).statistics_ == before


# -- sizes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [10**8, 10**9, 10**18])
@pytest.mark.parametrize("family", ["codes", "kernel"])
def test_a_size_without_end_is_refused_before_anything_is_made_of_it(file, family, number):
    textbook(families={"codes": Codes(3), "kernel": Kernel(background=False, points=8)}[family]).fit(
        [[0], [1], [2]], ["a", "b", "a"]
    ).save(file)
    forged(file, put(number, "parameters", "families", "options", {"codes": "at_least", "kernel": "points"}[family]))
    with pytest.raises(ModelFileError, match="ParameterError.*at most"):
        load(file)


def test_many_columns_of_many_codes_are_refused_together():
    model = textbook(families=Codes(1 << 20)).fit(np.zeros((2, 65)), ["a", "b"])
    with pytest.raises(InputError, match="65 columns and 2 classes would have 136,314,880 probabilities"):
        model.predict(np.zeros((1, 65)))


@pytest.mark.parametrize("number", [1025, 10**9, 10**18, float("inf"), 0, -1])
def test_a_number_of_threads_has_limits(number):
    with pytest.raises(ParameterError, match="from 1 to 1024"):
        textbook(n_threads=number).fit([[1.0], [2.0]], [0, 1])


def test_the_number_of_kept_rows_and_of_bins_has_a_limit():
    with pytest.raises(ParameterError, match="kept_rows must be a whole number of at most"):
        NaiveBayes(kept_rows=10**10).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ParameterError, match="bins must be a whole number of at most"):
        TAN(bins=10**9).fit([[1.0], [2.0]], [0, 1])
