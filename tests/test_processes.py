"""Several processes: whichever kernels run there, a model answers the same to the last bit."""

import multiprocessing
import os
import subprocess
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed

from naively import TAN, NaiveBayes, load
from naively.families import Joint, Kernel, Text

ROOT = Path(__file__).parents[1]
N = 300


def rows(n=N):
    """Numbers, labels, dates and prose, some of them missing."""
    random = np.random.default_rng(7)
    words = np.array(["free", "prize", "now", "lunch", "at", "home", "see", "you"])
    frame = pd.DataFrame(
        {
            "x": random.normal(size=n),
            "z": random.lognormal(size=n),
            "c": random.choice(["red", "blue", "green"], n),
            "d": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 400, n), "D"),
            "t": [" ".join(random.choice(words, random.integers(6, 15))) for _ in range(n)],
        }
    )
    frame.loc[frame.index % 11 == 0, "x"] = None
    y = np.where(frame["z"] + frame["t"].str.count("free") + random.normal(size=n) > 2.5, "yes", "no")
    return frame, y


PROSE = {"t": Text()}
MODELS = {
    "textbook": lambda: NaiveBayes("textbook", families=PROSE),
    "textbook, kernels and a factor": lambda: NaiveBayes(
        "textbook", families={"z": Kernel(), **PROSE}, factors=[Joint("x", "c")]
    ),
    "fast": lambda: NaiveBayes("fast", families=PROSE),
    "auto": lambda: NaiveBayes(families=PROSE),
    "strong": lambda: NaiveBayes("strong", families=PROSE),
    "tree": lambda: TAN(bins=3),
    "numbers": lambda: NaiveBayes("textbook"),
}
COLUMNS = {"tree": ["x", "z", "c"], "numbers": ["x", "z"]}
"""What a model is to read, where that is not all."""


def asked(name):
    """The table that a model is asked about, and the classes."""
    frame, y = rows()
    return frame[COLUMNS.get(name, list(frame))], y


def fitted(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name]().fit(*asked(name))


def answers(model, table):
    """All digits of the probabilities, and of what each column says."""
    return [float(number).hex() for part in (model.predict_proba, model.evidence) for number in part(table).ravel()]


SAVE = """
import sys, warnings
warnings.simplefilter("ignore")
from tests.test_processes import MODELS, answers, asked, fitted
import json, pathlib
folder = pathlib.Path(sys.argv[1])
for place, name in enumerate(MODELS):
    model = fitted(name)
    (folder / f"{place}.answers").write_text(json.dumps(answers(model, asked(name)[0])))
    model.save(folder / f"{place}.json")
"""

ASK = """
import sys, warnings
warnings.simplefilter("ignore")
from naively import load
from tests.test_processes import MODELS, answers, asked
import json, pathlib
folder = pathlib.Path(sys.argv[1])
for place, name in enumerate(MODELS):
    if name not in (sys.argv[2:] or MODELS):
        continue
    expected = json.loads((folder / f"{place}.answers").read_text())
    if answers(load(folder / f"{place}.json"), asked(name)[0]) != expected:
        print(name)
"""


def started(code, *arguments, **environment):
    """A process that runs the code."""
    own = ("NAIVELY_KERNELS", "NUMBA_DISABLE_JIT")
    known = {name: value for name, value in os.environ.items() if name not in own}
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={**known, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def printed(process):
    """What it printed, once it has ended well."""
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Folders of models, fitted, asked and saved by a process with the one and by one with the other kernels."""
    folders = {kernels: tmp_path_factory.mktemp(kernels) for kernels in ("reference", "compiled")}
    for kernels, folder in folders.items():
        printed(started(SAVE, folder, NAIVELY_KERNELS=kernels))
    return folders


@pytest.mark.parametrize(("here", "there"), [("reference", "compiled"), ("compiled", "reference")])
def test_a_saved_model_answers_the_same_whichever_kernels_run_there(here, there, saved):
    assert printed(started(ASK, saved[here], NAIVELY_KERNELS=there)) == ""


def test_processes_learn_the_same(saved):
    """The last bits of sums, which the kernels may round apart, hardly show: what is fitted to them has converged.

    Where trees answer, in single precision, they show in the seventh digit.
    """
    for place, name in enumerate(MODELS):
        one, other = (load(folder / f"{place}.json") for folder in saved.values())
        assert one.class_count_.tolist() == other.class_count_.tolist()
        np.testing.assert_allclose(*(model.predict_proba(asked(name)[0]) for model in (one, other)), rtol=1e-6)


def test_processes_that_fill_the_same_cache_at_once(saved, tmp_path):
    """Each compiles the kernels, keeps them in the same folder, and answers what a process alone does."""
    compiling = {"NAIVELY_KERNELS": "compiled", "NUMBA_CACHE_DIR": str(tmp_path)}
    together = [started(ASK, saved["reference"], "numbers", **compiling) for _ in range(2)]
    assert [printed(process) for process in together] == ["", ""]
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.nbc")}
    assert before
    assert printed(started(ASK, saved["reference"], "numbers", **compiling)) == ""
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.nbc")} == before  # whole, and used as it is


def ask_learn_and_ask(model, table, y):
    """What a worker makes of a model: its answers, and those after it has learnt more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = answers(model, table)
        return first, model.partial_fit(table[:50], y[:50]).predict_proba(table)


@pytest.mark.parametrize("way", ["fork", "spawn", "loky"])
def test_workers_answer_and_learn_as_their_parent(way):
    """The parent has answered before, as a service has that forks its workers then."""
    if way not in (*multiprocessing.get_all_start_methods(), "loky"):
        pytest.skip("this system starts no processes so")
    model, (table, y) = fitted("auto"), asked("auto")
    expected = answers(model, table)
    if way == "loky":
        found = Parallel(n_jobs=2, backend="loky")(delayed(ask_learn_and_ask)(model, table, y) for _ in range(3))
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads and fork, which is what this is about
            with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(way)) as pool:
                found = list(pool.map(ask_learn_and_ask, [model] * 3, [table] * 3, [y] * 3))
    assert [first for first, _ in found] == [expected] * 3
    learnt = model.partial_fit(table[:50], y[:50]).predict_proba(table)
    for _, then in found:
        np.testing.assert_allclose(then, learnt, rtol=1e-7)  # estimated anew, by the kernels that are ready there
