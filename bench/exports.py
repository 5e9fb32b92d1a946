"""Rows: the model out of Python, against its own answers here, and single records against river."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench import data
from bench.measure import Scale, per_call, side_by_side
from bench.result import Result, at_least, at_most, duration, size
from naively import NaiveBayes

N_ROWS, N_LEARNT, N_CLASSES = 1_000_000, 100_000, 3
N_CALLS = 200
MICROSECONDS = 1e-6
ROWS_AT_ONCE = 10_000
"""What ONNX Runtime is asked at a time: it holds the evidence of all cells at once."""

N_RECORDS, N_FOLLOWED, N_KEYS = 10_000, 2_000, 20


def to_python_row(scale: Scale) -> Result:
    X, y = data.numbers(scale.rows(N_LEARNT), _width(scale), N_CLASSES)
    model = NaiveBayes().fit(data.by_name(X), y)
    program: dict[str, Any] = {}
    exec(model.to_python(), program)
    record = {name: column[0].item() for name, column in data.by_name(X).items()}
    _require_equal(list(program["predict_proba"](record).values()), model.predict_proba([record])[0], 1e-9)
    times = side_by_side(
        scale,
        ours=per_call(lambda: program["predict_proba"](record), N_CALLS),
        peer=per_call(lambda: model.predict_proba_one(record), N_CALLS),
    )
    return _single_row("to_python", X, times)


def onnx_row(scale: Scale) -> Result | None:
    if (found := _onnx(scale, "auto", 1)) is None:
        return None
    model, session, X = found
    times = side_by_side(
        scale,
        ours=per_call(lambda: session.run(None, {"X": X}), N_CALLS),
        peer=per_call(lambda: model.predict_proba(X), N_CALLS),
    )
    return _single_row("ONNX Runtime", X, times)


def onnx_textbook(scale: Scale) -> Result | None:
    return _onnx_rows(scale, "textbook")


def onnx_auto(scale: Scale) -> Result | None:
    return _onnx_rows(scale, "auto")


def sql_duckdb_textbook(scale: Scale) -> Result | None:
    return _duckdb(scale, "textbook", 4)


def sql_duckdb_auto(scale: Scale) -> Result | None:
    return _duckdb(scale, "auto", 8)


def records_learn(scale: Scale) -> Result:
    from river.naive_bayes import GaussianNB

    records, labels = _records()

    def learn(model: Any) -> None:
        for record, label in zip(records, labels, strict=True):
            model.learn_one(record, label)
        model.predict_one(records[0])  # our records wait to be counted until an answer is asked for

    times = side_by_side(scale, ours=lambda: learn(NaiveBayes("textbook")), peer=lambda: learn(GaussianNB()))
    return _record_row("learn_one", times, N_RECORDS, f"{size(N_RECORDS)} records and one answer, divided by them")


def records_predict(scale: Scale) -> Result:
    from river.naive_bayes import GaussianNB

    records, labels = _records()
    models = {"ours": NaiveBayes("textbook"), "peer": GaussianNB()}
    for record, label in zip(records, labels, strict=True):
        for model in models.values():
            model.learn_one(record, label)

    def answer(model: Any) -> None:
        for record in records[:N_CALLS]:
            model.predict_one(record)

    times = side_by_side(scale, ours=lambda: answer(models["ours"]), peer=lambda: answer(models["peer"]))
    return _record_row("predict_one", times, N_CALLS, "the estimates are made at an earlier call")


def records_alternate(scale: Scale) -> Result:
    from river.naive_bayes import GaussianNB

    records, labels = _records()

    def follow(model: Any) -> None:
        for record, label in zip(records[:N_FOLLOWED], labels, strict=False):
            model.predict_one(record)
            model.learn_one(record, label)

    times = side_by_side(scale, ours=lambda: follow(NaiveBayes("textbook")), peer=lambda: follow(GaussianNB()))
    return _record_row("predict_one and learn_one in turns", times, N_FOLLOWED, "from the first record on")


def records_window(scale: Scale) -> Result:
    from river.naive_bayes import GaussianNB

    records, labels = _records()

    def learn(model: Any) -> Any:
        for record, label in zip(records, labels, strict=True):
            model.learn_one(record, label)
        return model

    ours, peer = learn(NaiveBayes("textbook")), learn(GaussianNB())

    def move() -> None:
        for old, label, new in zip(records[:N_CALLS], labels, records[N_CALLS:], strict=False):
            ours.forget_one(old, label)
            ours.learn_one(new, label)
            ours.predict_one(new)
        for old, label, new in zip(records[N_CALLS:], labels, records[:N_CALLS], strict=False):  # and back
            ours.forget_one(old, label)
            ours.learn_one(new, label)
            ours.predict_one(new)

    def learn_and_answer() -> None:
        for record, label in zip(records[: 2 * N_CALLS], labels, strict=False):
            peer.learn_one(record, label)
            peer.predict_one(record)

    times = side_by_side(scale, ours=move, peer=learn_and_answer)
    notes = "river's forgets nothing: it only learns and answers"
    return _record_row("forget_one, learn_one and predict_one in turns", times, 2 * N_CALLS, notes)


# -- what the rows share --------------------------------------------------------------------------------------------


def _width(scale: Scale) -> int:
    """The number of columns."""
    return scale.choose(30, quick=6)


def _records() -> tuple[list[dict[str, float]], list[int]]:
    X, y = data.numbers(N_RECORDS, N_KEYS, N_CLASSES)
    names = list(data.by_name(X))
    return [dict(zip(names, row, strict=True)) for row in X.tolist()], y.tolist()


def _require_equal(found: Any, expected: Any, within: float) -> None:
    """The time of another answer would mean nothing."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=within)


def _single_row(what: str, X: Any, times: dict[str, float]) -> Result:
    each = {name: time / N_CALLS for name, time in times.items()}
    return Result(
        work=f"{what}, a single row x {X.shape[1]} of an auto model, {N_CLASSES} classes",
        **each,
        peer_name="the model itself",
        targets=[at_most(100, "µs", each["ours"] / MICROSECONDS)],
    )


def _record_row(what: str, times: dict[str, float], n_calls: int, notes: str) -> Result:
    each = {name: time / n_calls for name, time in times.items()}
    return Result(
        work=f"{what}, a record of {N_KEYS} numbers, {N_CLASSES} classes",
        **each,
        peer_name="river",
        targets=[at_least(1, "x river", each["peer"] / each["ours"])],
        notes=f"peer: GaussianNB; {notes}",
    )


def _onnx(scale: Scale, recipe: str, n_rows: int) -> tuple[NaiveBayes, Any, Any] | None:
    """A model, ONNX Runtime with its graph, and rows to answer."""
    try:
        import onnx  # noqa: F401  (what to_onnx needs)
        import onnxruntime
    except ImportError:
        return None
    X, y = data.numbers(scale.rows(N_LEARNT), _width(scale), N_CLASSES)
    model = NaiveBayes(recipe).fit(X, y)
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    rows = data.numbers(n_rows, _width(scale), N_CLASSES)[0]
    _require_equal(session.run(None, {"X": rows[:1000]})[1], model.predict_proba(rows[:1000]), 1e-6)
    return model, session, rows


def _onnx_rows(scale: Scale, recipe: str) -> Result | None:
    n_rows = scale.rows(N_ROWS)
    if (found := _onnx(scale, recipe, n_rows)) is None:
        return None
    model, session, X = found

    def answer() -> None:
        for start in range(0, n_rows, ROWS_AT_ONCE):
            session.run(None, {"X": X[start : start + ROWS_AT_ONCE]})

    times = side_by_side(scale, ours=answer, peer=lambda: model.predict_proba(X))
    return Result(
        work=f"ONNX Runtime, {size(n_rows)} x {X.shape[1]}, {recipe}, {N_CLASSES} classes",
        **times,
        peer_name="local predict_proba",
        targets=[at_most(10, "x local predict_proba", times["ours"] / times["peer"])],
        notes=f"{size(ROWS_AT_ONCE)} rows at a time",
    )


def _duckdb(scale: Scale, recipe: str, limit: float) -> Result | None:
    try:
        import duckdb
        import pyarrow as pa
        import sqlglot  # noqa: F401  (what to_sql needs)
    except ImportError:
        return None
    X, y = data.numbers(scale.rows(N_LEARNT), _width(scale), N_CLASSES)
    model = NaiveBayes(recipe).fit(data.by_name(X), y)
    n_rows = scale.rows(N_ROWS)
    rows = data.by_name(data.numbers(n_rows, _width(scale), N_CLASSES, order="F")[0])
    with duckdb.connect() as connection:
        connection.register("given", pa.table(rows))
        connection.execute("CREATE TABLE facts AS SELECT * FROM given")
        sql = model.to_sql("facts", "duckdb")
        for statement in sql.statements:
            connection.execute(statement)
        answer = f"CREATE OR REPLACE TABLE answers AS {sql.query}"
        times = side_by_side(scale, ours=lambda: connection.execute(answer), peer=lambda: model.predict_proba(rows))
        _require_same_answers(connection, model, rows)
    return Result(
        work=f"to_sql in DuckDB, {size(n_rows)} x {len(rows)}, {recipe}, {N_CLASSES} classes",
        **times,
        peer_name="local predict_proba",
        targets=[at_most(limit, "x local predict_proba", times["ours"] / times["peer"])],
        notes=f"from a table to a table of DuckDB; {duration(times['ours'] / n_rows)} a row",
    )


def _require_same_answers(connection: Any, model: NaiveBayes, rows: dict[str, Any]) -> None:
    """The mean answers are the same: a database promises no order of rows."""
    names = [f'avg("probability_{label}")' for label in model.classes_.tolist()]
    means = connection.execute(f"SELECT {', '.join(names)} FROM answers").fetchone()
    _require_equal(means, model.predict_proba(rows).mean(axis=0), 1e-9)
