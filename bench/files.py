"""Rows: files that are learnt from and scored where they lie, beside a database and beside pandas with scikit-learn."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.preprocessing import OrdinalEncoder

from bench.measure import Scale, run_python, seconds, side_by_side
from bench.result import Result, at_least, at_most, duration, size
from naively import NaiveBayes

N_NUMBERS, N_LABELS, N_VALUES, N_CLASSES, CHUNK = 20, 10, 50, 3, 1_000_000
PEER_SHARE = 10
NUMBERS = [f"n{place}" for place in range(N_NUMBERS)]
LABELS = [f"c{place}" for place in range(N_LABELS)]


def write_mixed(path: Path, n_rows: int) -> None:
    """A Parquet file of doubles, texts of few values and a class, written in chunks."""
    values = pa.array([f"value {value}" for value in range(N_VALUES)])
    classes = pa.array([f"class {code}" for code in range(N_CLASSES)])
    writer = None
    for start in range(0, n_rows, CHUNK):
        n, rng = min(CHUNK, n_rows - start), np.random.default_rng(start)
        y = rng.integers(0, N_CLASSES, n, dtype=np.int8)
        columns = {name: pa.array(rng.standard_normal(n) + y * 0.1) for name in NUMBERS}
        for name in LABELS:
            drawn = (rng.integers(0, N_VALUES, n, dtype=np.int8) + y) % N_VALUES
            columns[name] = pa.DictionaryArray.from_arrays(drawn, values).cast(pa.string())
        table = pa.table({**columns, "y": pa.DictionaryArray.from_arrays(y, classes).cast(pa.string())})
        writer = writer or parquet.ParquetWriter(path, table.schema, use_dictionary=[*LABELS, "y"])
        writer.write_table(table, row_group_size=1 << 18)
    if writer is not None:
        writer.close()


@contextmanager
def _file(n_rows: int) -> Iterator[Path]:
    """A file of so many rows, kept for the next row of the bench that wants one of this size."""
    folder = Path(tempfile.gettempdir()) / "naively-bench"
    folder.mkdir(exist_ok=True)
    path = folder / f"rows-{n_rows}.parquet"
    if not path.exists():
        writing = path.with_suffix(".part")
        write_mixed(writing, n_rows)
        writing.rename(path)
    yield path


def group_by(path: Path) -> list[Any]:
    """The sums and counts of a textbook model, as a database adds them up."""
    sums = ", ".join(f"count({name}), sum({name}), sum({name} * {name})" for name in NUMBERS)
    sets = ", ".join(f"(y, {name})" for name in LABELS)
    counts = f"select y, {', '.join(LABELS)}, count(*) from '{path}' group by grouping sets ({sets})"
    return [
        duckdb.sql(f"select y, count(*), {sums} from '{path}' group by y").fetchall(),
        duckdb.sql(counts).fetchall(),
    ]


def scikit_learn(path: Path) -> tuple[Any, Any, Any]:
    """Read a file with pandas, and fit what scikit-learn has for numbers and for labels."""
    frame = pd.read_parquet(path)
    encoder = OrdinalEncoder().fit(frame[LABELS])
    labels = CategoricalNB().fit(encoder.transform(frame[LABELS]), frame["y"])
    return GaussianNB().fit(frame[NUMBERS], frame["y"]), encoder, labels


def scikit_learn_annotate(fitted: tuple[Any, Any, Any], path: Path, to: Path) -> None:
    """Read a file with pandas, score it with scikit-learn, and write it with the answers."""
    numbers, encoder, labels = fitted
    frame = pd.read_parquet(path)
    joint = numbers.predict_joint_log_proba(frame[NUMBERS]) - np.log(numbers.class_prior_)
    joint += labels.predict_joint_log_proba(encoder.transform(frame[LABELS]))
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    joint /= joint.sum(axis=1, keepdims=True)
    frame["prediction"] = numbers.classes_[joint.argmax(axis=1)]
    for code, label in enumerate(numbers.classes_):
        frame[f"probability_{label}"] = joint[:, code]
    frame.to_parquet(to)


def files_fit_textbook(scale: Scale) -> Result:
    n_rows = scale.choose(5_000_000, quick=5_000)
    with _file(n_rows) as path:
        times = side_by_side(scale, ours=lambda: NaiveBayes("textbook").fit(path, "y"), peer=lambda: group_by(path))
        other = seconds(lambda: scikit_learn(path))
        n_bytes = path.stat().st_size
    return Result(
        work=f"fit from Parquet, {size(n_rows)} x ({N_NUMBERS} numeric + {N_LABELS} text), textbook",
        **times,
        peer_name="DuckDB GROUP BY",
        must_move=n_bytes,
        targets=[
            at_least(1, "x DuckDB", times["peer"] / times["ours"]),
            at_least(8, "x pandas + scikit-learn", other / times["ours"]),
        ],
        notes=f"pandas.read_parquet + GaussianNB + CategoricalNB: {duration(other)}",
    )


def files_fit_auto(scale: Scale) -> Result:
    n_rows = scale.choose(5_000_000, quick=5_000)
    with _file(n_rows) as path:
        times = side_by_side(
            scale,
            ours=lambda: NaiveBayes().fit(path, "y"),
            counting=lambda: NaiveBayes().partial_fit(path, "y"),
            peer=lambda: group_by(path),
        )
        counting = times.pop("counting")
        n_bytes = path.stat().st_size
    return Result(
        work=f"fit from Parquet, {size(n_rows)} x ({N_NUMBERS} numeric + {N_LABELS} text), auto",
        **times,
        peer_name="DuckDB GROUP BY of textbook's sums",
        must_move=n_bytes,
        targets=[at_most(3, "x DuckDB's time", counting / times["peer"])],
        notes=f"the target is for counting (partial_fit): {duration(counting)}; the rest of fit weighs the evidence of "
        f"the rows that are kept, which takes as long for any number of rows: {duration(times['ours'] - counting)}",
    )


def files_annotate(scale: Scale) -> Result:
    """The peer, which takes minutes for all rows, answers for a part of them, and its time is taken in proportion."""
    n_rows, n_learnt = scale.choose(5_000_000, quick=5_000), scale.choose(200_000, quick=5_000)
    n_peer = n_rows // PEER_SHARE
    with _file(n_rows) as path, _file(n_peer) as part, _file(n_learnt) as learnt:
        to, fitted = path.with_name("answers.parquet"), scikit_learn(learnt)
        model = NaiveBayes("textbook").fit(learnt, "y")
        times = side_by_side(
            scale,
            peer=lambda: scikit_learn_annotate(fitted, part, to),
            ours=lambda: model.annotate(path, to),
        )
        n_bytes = path.stat().st_size + to.stat().st_size
    times["peer"] *= n_rows / n_peer
    return Result(
        work=f"annotate Parquet to Parquet, {size(n_rows)} x {N_NUMBERS + N_LABELS}, textbook",
        **times,
        peer_name="pandas + scikit-learn",
        must_move=n_bytes,
        targets=[at_least(5, "x pandas + scikit-learn", times["peer"] / times["ours"])],
        notes=f"the peer answers for {size(n_peer)} rows, and its time is taken {PEER_SHARE} times",
    )


PROBE = """
import json
from pathlib import Path
from naively import NaiveBayes

def peak():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)

NaiveBayes("{recipe}").fit("{small}", "y")
before = peak()
NaiveBayes("{recipe}").fit("{path}", "y")
print(json.dumps([before * 1024, peak() * 1024]))
"""


def files_memory_textbook(scale: Scale) -> Result:
    return _peak(scale, "textbook")


def files_memory_auto(scale: Scale) -> Result:
    return _peak(scale, "auto")


def _peak(scale: Scale, recipe: str) -> Result:
    n_rows = scale.choose(20_000_000, quick=5_000)
    with _file(n_rows) as path, _file(1000) as small:
        n_bytes = path.stat().st_size
        _, peak = json.loads(run_python(PROBE.format(recipe=recipe, path=path, small=small), {}))
    bare = json.loads(run_python(BARE, {}))
    most = (peak - bare) / 1e6
    return Result(
        work=f"peak memory of fit from Parquet, {size(n_rows)} x {N_NUMBERS + N_LABELS}, {recipe}",
        ours=most,
        unit="MB",
        targets=[at_most(1000, "MB above the interpreter", most)],
        notes=f"file of {n_bytes / 1e6:.0f} MB; interpreter {bare / 1e6:.0f} MB",
    )


BARE = """
from pathlib import Path
lines = Path("/proc/self/status").read_text().splitlines()
print(1024 * next(int(line.split()[1]) for line in lines if "VmHWM" in line))
"""
