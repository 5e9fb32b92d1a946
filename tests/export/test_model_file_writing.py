"""Writing a model file: in one step, with the right mode, and no trace of what went wrong."""

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

from naively import NaiveBayes, load
from naively._export import files
from naively.errors import InputError, ModelFileError
from naively.statistics._sums import Sum
from tests.models import textbook


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.json"


@pytest.fixture
def saved(file):
    """A saved model without rows of the data."""
    textbook().fit({"size": [1.1, 2.2, None, 8.3], "colour": ["red", "blue", "red", None]}, list("abba")).save(file)
    return file


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
from naively._export.files import replace_file
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
    with pytest.raises(InputError, match="must not weigh more than"):
        model.with_statistics(odd).save(saved)
    assert saved.read_bytes() == before


def test_the_file_is_plain_json(saved):
    document = json.loads(saved.read_text(encoding="utf-8"))
    assert document["format"] == "naively model"
    assert document["version"] == 4
    assert [column["name"] for column in document["content"]["columns"]] == ["size", "colour"]
