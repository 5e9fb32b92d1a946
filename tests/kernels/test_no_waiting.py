"""A small table never waits for the compiler: another process fills the cache, whose code is taken once it is there."""

import importlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from naively import _kernels

ROOT = Path(__file__).parents[2]

WORK = """
import json, os, sys, threading, time, warnings
import numpy as np
import naively._kernels as kernels
from naively import NaiveBayes
kernels.CELLS_THAT_REPAY = 0
{before}
random = np.random.default_rng(0)
rows = {{
    "x": random.normal(size=60),
    "c": random.choice(list("abc"), 60),
    "k": random.integers(0, 9, 60),
    "t": [" ".join(random.choice(["free", "prize", "lunch", "home"], 9)) for _ in range(60)],
}}
y = (rows["x"] > 0).astype(int)
compiled, seconds, answers = [], [], []

def work(recipe):
    start = time.monotonic()
    model = NaiveBayes(recipe).fit(rows, y)
    answers.append(model.predict_proba(rows).tolist())
    seconds.append(time.monotonic() - start)

work("textbook")
while kernels._importing is not None and kernels._importing.is_alive():
    time.sleep(0.01)
if "numba" in sys.modules:
    from numba.core.dispatcher import Dispatcher
    from numba.core.compiler import compile_extra
    import numba.core.compiler as compiler
    plain = compiler.compile_extra
    def counted(*args, **options):
        compiled.append(str(args[2]))
        return plain(*args, **options)
    compiler.compile_extra = counted
{then}
background = sys.modules.get("naively._kernels.background")
process = None if background is None else background._compiler
print(json.dumps({{"compiled": compiled, "answers": answers, "process": None if process is None else process.pid,
                  "asked": 0 if background is None else len(background._asked)}}))
"""


def run(then, before="", **environment):
    """What a process of its own answers, and the compiler's work in it."""
    own = ("NAIVELY_KERNELS", "NUMBA_DISABLE_JIT")
    known = {name: value for name, value in os.environ.items() if name not in own}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WORK.format(before=before, then=then)],
        cwd=ROOT,
        env={**known, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def lives(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


ALL = "for recipe in ('textbook', 'fast', 'auto', 'strong'):\n    work(recipe)"


def test_nothing_is_compiled_in_the_process_that_works(tmp_path):
    found = run(ALL, NUMBA_CACHE_DIR=str(tmp_path))
    assert found["compiled"] == []
    assert found["asked"] > 5
    expected = run(ALL, NUMBA_CACHE_DIR=str(tmp_path), NAIVELY_KERNELS="reference")
    assert found["answers"] == expected["answers"]
    assert (expected["asked"], expected["process"]) == (0, None)
    assert not lives(found["process"])


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="this system cannot fork")
def test_a_process_that_is_killed_leaves_none_behind(tmp_path):
    found = run(ALL, before="import atexit; atexit.register = lambda *_: None", NUMBA_CACHE_DIR=str(tmp_path))
    for _ in range(100):
        if not lives(found["process"]):
            return
        time.sleep(0.1)
    pytest.fail("the compiler outlives the process that it works for")


def test_code_is_taken_once_it_is_there(tmp_path):
    wait = """
from naively._kernels.gaussian_scores import add_gaussian
for _ in range(3000):
    work("textbook")
    if add_gaussian.overloads:
        break
    time.sleep(0.1)
else:
    raise SystemExit("no code came")
"""
    found = run(wait, NUMBA_CACHE_DIR=str(tmp_path))
    assert found["compiled"] == []
    assert all(np.array_equal(answer, found["answers"][0]) for answer in found["answers"])


def test_threads_take_code_one_after_the_other(tmp_path):
    """The compiler's tables are not for two threads at once: damaged, they have every kernel fail from then on."""
    run("", NUMBA_CACHE_DIR=str(tmp_path), NAIVELY_KERNELS="compiled")
    threads = """
from naively._kernels.compiling import ForgivingCache
plain, inside, most = ForgivingCache.load_overload, [], []
def watched(*args):
    inside.append(None)
    most.append(len(inside))
    time.sleep(0.05)
    try:
        return plain(*args)
    finally:
        inside.pop()
ForgivingCache.load_overload = watched
several = [threading.Thread(target=work, args=("textbook",)) for _ in range(8)]
for thread in several:
    thread.start()
for thread in several:
    thread.join()
work("textbook")
if max(most) > 1:
    raise SystemExit(f"{max(most)} threads at once")
"""
    found = run(threads, NUMBA_CACHE_DIR=str(tmp_path))
    assert found["compiled"] == []
    assert all(np.array_equal(answer, found["answers"][0]) for answer in found["answers"])


def test_where_no_process_can_be_started_the_references_work(tmp_path):
    found = run(ALL, before="sys.executable = '/nowhere/python'", NUMBA_CACHE_DIR=str(tmp_path))
    assert (found["compiled"], found["process"]) == ([], None)


def test_where_no_code_can_be_kept_no_process_is_started():
    before = (
        "import numba.core.caching as caching\ncaching.CacheImpl._locator_classes = []\nwarnings.simplefilter('ignore')"
    )
    found = run(ALL, before=before)
    assert (found["compiled"], found["process"]) == ([], None)


def test_large_work_waits_for_the_compiler(tmp_path):
    found = run("kernels.CELLS_THAT_REPAY_COMPILING = 0\nwork('textbook')", NUMBA_CACHE_DIR=str(tmp_path))
    assert found["compiled"] != []


def test_numba_is_not_taken_as_imported_before_its_thread_has_begun(monkeypatch):
    """Another thread asks while this one starts the import."""
    answers, asked, imported, plain = [], [], threading.Event(), threading.Thread

    class SlowToBegin(threading.Thread):
        def start(self):
            other = plain(target=lambda: answers.append(_kernels._is_imported()))
            asked.append(other)
            other.start()
            other.join(timeout=0.2)
            super().start()

    monkeypatch.setattr(_kernels, "_compiler_works", None)
    monkeypatch.setattr(_kernels, "_importing", None)
    monkeypatch.setattr(_kernels, "_import", imported.wait)
    monkeypatch.setattr(threading, "Thread", SlowToBegin)
    answers.append(_kernels._is_imported())
    asked[0].join()
    imported.set()
    assert answers == [False, False]


class Waits:
    """Notes how long somebody would rest, and does not."""

    def __init__(self):
        self.seconds = []

    def wait(self, seconds):
        self.seconds.append(seconds)


def test_the_thread_that_imports_rests_in_proportion_to_its_work_and_no_other_does(monkeypatch, tmp_path):
    for name in ("imported_beside", "imported_elsewhere"):
        (tmp_path / f"naively_test_{name}.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    waits, finders = Waits(), list(sys.meta_path)
    monkeypatch.setattr(_kernels, "_hurry", waits)
    with _kernels._rests_between_modules():
        start = time.thread_time()
        while time.thread_time() < start + 0.02:  # some work
            pass
        importlib.import_module("naively_test_imported_beside")
        other = threading.Thread(target=importlib.import_module, args=("naively_test_imported_elsewhere",))
        other.start()
        other.join()
    assert len(waits.seconds) == 1
    assert waits.seconds[0] >= 0.02 * _kernels.RESTS_PER_WORK
    assert "naively_test_imported_elsewhere" in sys.modules
    assert sys.meta_path == finders


WAITS = """
import os, sys
import naively._kernels as kernels
kernels.RESTS_PER_WORK = 1e6
assert not kernels._is_imported()
{waits}
assert "numba" in sys.modules
"""


@pytest.mark.parametrize("waits", ["kernels._wait_for_import()", "assert kernels._has_compiler()"])
def test_nobody_rests_while_somebody_waits_for_the_import(waits):
    """A fork and large work wait: the thread then goes on without rests, which would take hours here."""
    subprocess.run([sys.executable, "-c", WAITS.format(waits=waits)], cwd=ROOT, check=True, timeout=120)


# -- the way back to the reference --------------------------------------------------------------------------------


def test_work_is_done_once_more_by_references_alone(monkeypatch):
    monkeypatch.setenv("NAIVELY_KERNELS", "auto")
    monkeypatch.setattr(_kernels, "_cells_so_far", 10**9)
    asked = []

    @_kernels.with_reference
    def work(n_cells):
        asked.append(_kernels.repays_compiler(n_cells))
        if asked[-1]:
            raise _kernels.NotCompiledError
        return "done"

    monkeypatch.setattr(_kernels, "_is_imported", lambda: True)
    assert work(100) == "done"
    assert asked == [True, False]
    assert not _kernels._of_thread.references_only


def test_large_work_is_done_once_more_with_the_compiler(monkeypatch):
    monkeypatch.setenv("NAIVELY_KERNELS", "auto")
    monkeypatch.setattr(_kernels, "_n_compiling", 0)
    may = []

    @_kernels.with_reference
    def work(n_cells):
        _kernels.repays_compiler(n_cells)
        may.append(_kernels.may_compile())
        if not may[-1]:
            raise _kernels.NotCompiledError
        return "done"

    assert work(_kernels.CELLS_THAT_REPAY_COMPILING) == "done"
    assert may == [False, True]
    assert not _kernels.may_compile()


def test_warming_compiles_the_histograms_of_long_columns_also_for_those_of_arrow():
    from naively._kernels import histogram
    from naively.cli import _warming

    with _warming._compiled_alone():
        for work in _warming._of_long_columns(np.random.default_rng(0)).values():
            work()
    for kernel in (histogram.cell_bounds, histogram._count_directly, histogram._fill):
        assert {signature[0].mutable for signature in kernel.signatures} == {True, False}, kernel.py_func.__name__
    assert histogram._occupied.signatures
