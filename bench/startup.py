"""Rows: what a fresh process costs."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from bench.data import SHARED
from bench.measure import Scale, run_process, run_python, side_by_side
from bench.result import Result, at_most, duration

NAIVELY = str(Path(sys.executable).with_name("naively"))
HEAVY = ("numba", "pandas", "polars")
IRIS = "from sklearn.datasets import load_iris; X, y = load_iris(return_X_y=True); "
OUR_IRIS = IRIS + "from naively import NaiveBayes; NaiveBayes({recipe!r}).fit(X, y).predict(X)"
PEER_IRIS = IRIS + "from sklearn.naive_bayes import GaussianNB; GaussianNB().fit(X, y).predict(X)"


def import_is_light(_: Scale) -> Result:
    found = run_python(f"import sys, naively; print(*[name for name in {HEAVY!r} if name in sys.modules])").split()
    return Result(
        work="import naively: how many of numba, pandas and polars come along",
        ours=len(found),
        unit="modules",
        targets=[at_most(0, "modules", len(found))],
        notes=" ".join(found),
    )


def version_time(scale: Scale) -> Result:
    times = side_by_side(scale, ours=lambda: run_process([NAIVELY, "--version"]))
    return Result(work="naively --version, the whole process", **times, targets=[at_most(0.3, "s", times["ours"])])


def first_demo(scale: Scale) -> Result:
    with tempfile.TemporaryDirectory() as cache:
        model = str(Path(cache) / "model.json")
        nothing_compiled = {"NUMBA_CACHE_DIR": cache}
        times = side_by_side(scale, ours=lambda: run_process([NAIVELY, "demo", "--output", model], nothing_compiled))
    return Result(
        work="naively demo, nothing compiled or cached, the whole process",
        **times,
        targets=[at_most(4, "s", times["ours"])],
    )


def first_iris(scale: Scale) -> Result:
    with tempfile.TemporaryDirectory() as cache:
        nothing_compiled = {"NUMBA_CACHE_DIR": cache}
        times = side_by_side(
            scale,
            ours=lambda: run_python(OUR_IRIS.format(recipe="textbook"), nothing_compiled),
            auto=lambda: run_python(OUR_IRIS.format(recipe="auto"), nothing_compiled),
            peer=lambda: run_python(PEER_IRIS),
        )
    return Result(
        work="fit + predict on iris, nothing compiled or cached, the whole process",
        ours=times["ours"],
        peer=times["peer"],
        peer_name="scikit-learn",
        notes=f"with recipe='auto': {duration(times['auto'])}",
        targets=[at_most(1.5, "x scikit-learn's process", times["ours"] / times["peer"])],
    )


FIRST_STRONG = """
import numpy as np
random = np.random.default_rng(0)
X = random.normal(size=(1000, 10))
y = (X[:, 0] * X[:, 1] + X[:, 2] + random.normal(size=1000) > 0).astype(int)
from {module} import {name}
{name}({options}).fit(X, y).predict_proba(X)
"""


def first_strong(scale: Scale) -> Result:
    ours = FIRST_STRONG.format(module="naively", name="NaiveBayes", options="'strong'")
    peer = FIRST_STRONG.format(module="sklearn.ensemble", name="HistGradientBoostingClassifier", options="")

    def with_nothing_compiled() -> None:
        with tempfile.TemporaryDirectory() as cache:
            run_python(ours, {"NUMBA_CACHE_DIR": cache})

    times = side_by_side(scale, ours=with_nothing_compiled, peer=lambda: run_python(peer))
    return Result(
        work="strong: fit + predict_proba of 1,000 x 10, nothing compiled or cached, the whole process",
        ours=times["ours"],
        peer=times["peer"],
        peer_name="HistGradientBoosting",
        targets=[at_most(2, "s", times["ours"])],
    )


FROZEN = "from naively import load; load({path!r}).predict_proba([{row!r}])"
LOOP = """
import time, pandas
from naively import NaiveBayes
table, seconds, work = pandas.read_csv({path!r})[:1000], [], []
for _ in range(60):
    start, start_of_work = time.perf_counter(), time.process_time()
    NaiveBayes({recipe!r}).fit(table, "target").predict(table)
    seconds.append(time.perf_counter() - start)
    work.append(time.process_time() - start_of_work)
print(max(seconds), max(work), sorted(work)[30])
"""
PROSE = """
import time, numpy as np, pandas
from naively import NaiveBayes
from naively.families import Text
random = np.random.default_rng(0)
words = np.array([f"word{place}" for place in range(3000)])
table = {f"x{place}": random.normal(size=9000) for place in range(9)}
table |= {f"c{place}": random.choice(list("abcdef"), 9000) for place in range(8)}
table["text"] = [" ".join(random.choice(words, 20)) for _ in range(9000)]
y = np.where(table["x0"] + (table["c0"] == "a") > 0, "yes", "no")
table = pandas.DataFrame(table)
start = time.perf_counter()
model = NaiveBayes(families={"text": Text()}).fit(table, y)
fitted, start_of_work = time.perf_counter(), time.process_time()
model.predict(table)
print(fitted - start, time.perf_counter() - fitted, time.process_time() - start_of_work)
"""


def frozen_answer(scale: Scale) -> Result:
    from naively import NaiveBayes

    random = np.random.default_rng(0)
    table = {f"x{place}": random.normal(size=4000) for place in range(10)}
    table |= {f"c{place}": random.choice(list("abcdef"), 4000) for place in range(10)}
    model = NaiveBayes().fit(table, np.where(table["x0"] + (table["c0"] == "a") > 0, "yes", "no"))
    row = {name: cells[0].item() for name, cells in table.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.json")
        model.save(path, rows=False)
        times = side_by_side(
            scale,
            ours=lambda: run_python(FROZEN.format(path=path, row=row)),
            peer=lambda: run_python("import sklearn.naive_bayes"),
        )
    return Result(
        work="load a frozen auto model of 20 columns and answer one row, the whole process",
        ours=times["ours"],
        peer=times["peer"],
        peer_name="importing scikit-learn",
        targets=[at_most(1.3, "x importing scikit-learn", times["ours"] / times["peer"])],
    )


def slowest_round(_: Scale) -> Result:
    path = SHARED / "german-credit.csv"
    if not path.exists():  # a checkout has an excerpt of another table
        path = Path(__file__).parents[1] / "examples" / "data" / "income-2400.csv"
    slowest, work = {}, {}
    for recipe in ("textbook", "auto"):
        with tempfile.TemporaryDirectory() as cache:
            found = run_python(LOOP.format(path=str(path), recipe=recipe), {"NUMBA_CACHE_DIR": cache}).split()
        slowest[recipe], *work[recipe] = map(float, found)
    return Result(
        work=f"the slowest of 60 rounds of fit + predict, 1,000 rows of {path.stem}, auto, nothing compiled or cached",
        ours=slowest["auto"],
        notes=f"processor time of all threads: {duration(work['auto'][0])}, median {duration(work['auto'][1])}; "
        f"with recipe='textbook': {duration(slowest['textbook'])}",
        targets=[at_most(1, "s", max(slowest.values()))],
    )


def first_prose(_: Scale) -> Result:
    with tempfile.TemporaryDirectory() as cache:
        fit, seconds, work = map(float, run_python(PROSE, {"NUMBA_CACHE_DIR": cache}).split())
    return Result(
        work="the first predict after fit, 9,000 x 18 with a column of prose, auto, nothing compiled or cached",
        ours=seconds,
        notes=f"processor time of all threads: {duration(work)}; the fit before it: {duration(fit)}",
        targets=[at_most(2, "s", seconds)],
    )
