"""Commands that answer: predict, explain, evaluate, compare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from naively.cli._app import (
    ANSWER,
    AsJson,
    DataFile,
    Delimiter,
    Encoding,
    Ignore,
    ModelFile,
    Quiet,
    Target,
    Weights,
    app,
    records,
    show_json,
)
from naively.errors import ParameterError

if TYPE_CHECKING:
    from naively import NaiveBayes
    from naively._table.table import Table
    from naively.analysis._evaluation import Evaluation

REASONS = 3
"""So many columns are named as reasons of an answer."""


@app.command(rich_help_panel=ANSWER)
def predict(
    model: ModelFile,
    data: DataFile,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="CSV, JSON lines or Parquet, by its name; - for stdout."),
    ] = "-",
    proba: Annotated[bool, typer.Option("--proba", help="Write the probability of every class as well.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Write what speaks most for each answer as well.")] = False,
    bare: Annotated[bool, typer.Option("--bare", help="Write the answers without the columns of DATA.")] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON lines to standard output.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write the rows of a file with the class of each.

    The file is read a piece at a time, so it may be larger than memory.
    """
    from naively._common.progress import counting
    from naively.cli._models import load_model, source_for
    from naively.cli._writing import rows_of, writer

    learnt = load_model(model)
    source = source_for(learnt, data, delimiter, encoding)
    n_rows = 0
    with writer(output, as_json) as write, counting("answering", "rows", wanted=False if quiet else None) as count:
        for table in source.batches():
            answers = _answers(learnt, table, proba, explain)
            write({**({} if bare else rows_of(table)), **answers})
            n_rows += table.n_rows
            count(n_rows)


def _answers(model: NaiveBayes, table: Table, proba: bool, explain: bool) -> dict[str, list[Any]]:
    """The columns that are written for some rows."""
    probabilities = model.predict_proba(table)
    best = probabilities.argmax(axis=1)
    answers: dict[str, list[Any]] = {"prediction": model.classes_[best].tolist()}
    answers["probability"] = probabilities.max(axis=1).round(6).tolist()
    if proba:
        names = map(str, model.classes_.tolist())
        answers |= {f"P({name})": probabilities[:, place].round(6).tolist() for place, name in enumerate(names)}
    if explain:
        answers["because"] = list(_reasons(model, table))
    return answers


def _reasons(model: NaiveBayes, table: Table) -> Iterator[str]:
    """What speaks most for each answer, in bits."""
    from naively._scoring.model import CLASS_BIAS

    by_row: dict[int, list[dict[str, Any]]] = {row: [] for row in range(table.n_rows)}
    for line in _lines(model.explain(table, tokens=3)):
        if line["column"] not in ("prior", CLASS_BIAS):
            by_row[line["row"]].append(line)
    for lines in by_row.values():
        strongest = sorted(lines, key=lambda line: -abs(line["bits"]))[:REASONS]
        yield "; ".join(" ".join((*_named(line), f"{line['bits']:+.1f}")) for line in strongest)


def _named(line: dict[str, Any]) -> list[str]:
    return [line["column"]] if line["value"] is None else [line["column"], str(line["value"])]


def _lines(frame: Any) -> list[dict[str, Any]]:
    """The lines of an explanation; what has no value has None."""
    from naively._scoring.explanation import columns_of

    columns = columns_of(frame)
    lines = [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]
    return [{**line, "value": line["value"] if isinstance(line["value"], str) else None} for line in lines]


@app.command(rich_help_panel=ANSWER)
def explain(
    model: ModelFile,
    data: DataFile,
    row: Annotated[int | None, typer.Option(help="Which row, from 0; by default the first ones.", min=0)] = None,
    rows: Annotated[int, typer.Option(help="How many rows.", min=1)] = 1,
    target: Annotated[str | None, typer.Option(help="The class to speak for; by default each row's answer.")] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: AsJson = False,
) -> None:
    """Say why rows get their class: the evidence of every column, in bits. A bit doubles the odds."""
    import numpy as np

    from naively._scoring.explanation import as_text
    from naively.cli._models import class_named, load_model, source_for

    learnt = load_model(model)
    table = source_for(learnt, data, delimiter, encoding).table()
    first = row or 0
    if first >= table.n_rows:
        raise ParameterError(f"--row {first}: {data} has {table.n_rows} rows, numbered from 0.")
    chosen = np.arange(first, min(first + rows, table.n_rows))
    frame = learnt.explain(table.only_rows(chosen), target=class_named(learnt, target, "--target"))
    if as_json:
        show_json([{**line, "row": line["row"] + first} for line in _lines(frame)])
        return
    for place, number in enumerate(chosen.tolist()):
        text = as_text(frame, row=place)
        typer.echo(text.replace(f"row {place}:", f"row {number}:", 1) + "\n")


@app.command(rich_help_panel=ANSWER)
def evaluate(
    model: ModelFile,
    data: Annotated[str | None, typer.Argument(metavar="[DATA]", help="Rows that were held out; or --loo.")] = None,
    target: Target = None,
    weights: Weights = None,
    loo: Annotated[
        bool,
        typer.Option(
            "--loo",
            help="Judge rows that were learnt, each by the others: the kept ones; of a textbook model, those of DATA.",
        ),
    ] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: AsJson = False,
) -> None:
    """Say how good the answers are: accuracy, log-loss, Brier score, ECE, AUC, with intervals, and the confusion."""
    from naively import evaluate as measure
    from naively.cli._models import load_model, source_for, target_of
    from naively.cli._reading import require_column

    if data is None and not loo:
        raise ParameterError("evaluate needs DATA, rows that were held out, or --loo.")
    learnt = load_model(model)
    if loo:
        _require_loo(learnt, model, data)
    if data is None:
        evaluation = measure(learnt)
    else:
        source = source_for(learnt, data, delimiter, encoding)
        table, name = source.table(), target or target_of(learnt)
        for column, option in ((name, "--target"), (weights, "--weights")):
            if column is not None:
                require_column(column, list(table.names), source.shown, option)
        evaluation = _left_out(learnt, table, name, weights) if loo else measure(learnt, table, name, weights)
    if as_json:
        measures = {one.pop("measure"): one for one in records(evaluation)}
        confusion = {"classes": evaluation.classes, "confusion": evaluation.confusion}
        show_json({"rows": evaluation.n_rows, "measures": measures, **confusion})
        return
    from naively.cli._pictures import console, evaluation_tables

    for part in evaluation_tables(evaluation):
        console().print(part)


def _require_loo(model: NaiveBayes, path: str, data: str | None) -> None:
    """Refuse --loo of rows that the model does not have, or of others than those that it has."""
    if model.statistics_.kept is None and data is None:
        raise ParameterError(
            f"--loo: a model of the recipe {model.recipe} keeps no rows. Name the file that it has learnt: naively "
            f"evaluate {path} DATA --loo."
        )
    if model.statistics_.kept is not None and data is not None:
        raise ParameterError(
            f"--loo judges the rows that a model of the recipe {model.recipe} has kept. Leave out {data}, or --loo."
        )


def _left_out(model: NaiveBayes, table: Table, target: str, weights: str | None) -> Evaluation:
    """How good the answers for rows that were learnt are, each by the others."""
    import numpy as np

    from naively._table.target import read_rows
    from naively.analysis._evaluation import evaluated

    _, classes, codes, weight = read_rows(table, target, weights)
    log_proba, known = model.loo(table, target, weights), model.classes_.tolist()
    places = np.array([known.index(label) for label in classes.tolist()])
    return evaluated(log_proba, places[codes], weight, model.classes_)


@app.command(rich_help_panel=ANSWER)
def compare(
    data: DataFile,
    target: Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column with the classes.")],
    folds: Annotated[int, typer.Option(help="In how many parts the rows are cut; each is held out once.", min=2)] = 5,
    ignore: Ignore = None,
    weights: Weights = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Try the recipes and a logistic regression side by side, by cross-validation."""
    from naively import compare as side_by_side
    from naively.cli._reading import Source, require_column

    source = Source(data, delimiter, encoding)
    table = source.table()
    for name, option in ((target, "--target"), *((name, "--ignore") for name in ignore or ())):
        require_column(name, list(table.names), source.shown, option)
    for name in ignore or ():
        table = table.without(list(table.names).index(name))
    comparison = side_by_side(table, target, folds=folds, sample_weight=weights, progress=False if quiet else None)
    if as_json:
        show_json({"best": comparison.best, "models": records(comparison)})
        return
    from naively.cli._pictures import comparison_table, console

    console().print(comparison_table(comparison))
