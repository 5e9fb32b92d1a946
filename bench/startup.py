"""Rows: what a fresh process costs."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

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
