"""Thousands of model files with one thing changed and a checksum that fits: refused, or a model that answers."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from naively import load
from naively.errors import InputTypeError, ModelFileError, SchemaError
from tests.export.model_file_mutants import MODELS, TABLE, assert_valid, document_of, forge, mutant, parent_of, places

N_MUTANTS = int(os.environ.get("NAIVELY_MUTANTS", "300"))
"""Of each model; 1000 make more than ten thousand."""

SEED = int(os.environ.get("NAIVELY_MUTANTS_SEED", "0"))
"""Others make other mutants."""

NUMBERS = (10**9, 10**18, -1, 0, 0.5, True, None, "x")

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # of the sizes that a changed number can have
    pytest.mark.filterwarnings("ignore:X has feature names"),
    pytest.mark.filterwarnings("ignore::naively.errors.NaivelyWarning"),  # a renamed column, a class of no weight
]


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    monkeypatch.setenv("NAIVELY_KERNELS", "reference")


def assert_refused_or_valid(file, what):
    """A file is refused by a `ModelFileError`, or it holds a model that answers."""
    try:
        model = load(file)
    except ModelFileError as error:
        if isinstance(error.__cause__, MemoryError):
            raise AssertionError(f"out of memory: {what}") from error
        return
    query = {name: TABLE.get(name, TABLE["z"]) for name in model.schema_.names}  # as learnt, missing cells and all
    try:
        assert_valid(model.predict_proba(query), len(model.classes_))
    except Exception as error:
        can_learn = isinstance(error, SchemaError) and "none was kept" in str(error)  # such a model can go on learning
        if not (can_learn or (isinstance(error, InputTypeError) and what[0][-1] == "name")):  # or reads another column
            raise AssertionError(what) from error


@pytest.mark.parametrize("name", MODELS)
def test_a_changed_file_is_refused_or_answers(name, tmp_path):
    file = tmp_path / "model.json"
    content = document_of(MODELS[name](), file)["content"]
    random = np.random.default_rng([len(name), SEED])
    for _ in range(N_MUTANTS):
        changed, what = mutant(content, random)
        forge(file, changed)
        assert_refused_or_valid(file, what)


@pytest.mark.parametrize("name", MODELS)
def test_any_option_of_a_parameter_may_be_any_number(name, tmp_path):
    file = tmp_path / "model.json"
    document = document_of(MODELS[name](), file)
    for path in [path for path in places(document["content"]) if path[0] == "parameters"]:
        before = parent_of(document["content"], path)[path[-1]]
        for value in NUMBERS:
            parent_of(document["content"], path)[path[-1]] = value
            forge(file, document["content"])
            assert_refused_or_valid(file, (path, value))
        parent_of(document["content"], path)[path[-1]] = before


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are set as Linux does")
def test_a_number_that_becomes_a_size_takes_no_memory(tmp_path):
    """Every number of some files, replaced by one too large, one after the other under a limit of memory."""
    contents = tmp_path / "contents.json"
    contents.write_text(
        json.dumps(
            [document_of(MODELS[name](), tmp_path / "m.json")["content"] for name in ("counts", "numbers", "fast")]
        )
    )
    code = f"""
        import json, pathlib, resource, warnings
        warnings.simplefilter("ignore")
        from tests.export.model_file_mutants import forge, parent_of, places
        from tests.export.test_model_file_mutants import assert_refused_or_valid
        contents = json.loads(pathlib.Path({str(contents)!r}).read_text())
        file = pathlib.Path({str(tmp_path / "m.json")!r})
        used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20),) * 2)
        for content in contents:
            for path in list(places(content)):
                parent, key = parent_of(content, path), path[-1]
                before = parent[key]
                if type(before) is int and path[0] != "kept" or path[-1] in ("at_least", "points", "kept_rows"):
                    for value in (10**9, 10**18):
                        parent[key] = value
                        forge(file, content)
                        assert_refused_or_valid(file, (path, value))
                    parent[key] = before
        print("done")
    """
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == "done", run.stderr[-2000:]
