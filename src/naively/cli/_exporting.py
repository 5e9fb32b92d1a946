"""Commands that hand a model on: report, scorecard, python, sql, onnx, warm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from naively.cli._app import (
    AsJson,
    Delimiter,
    Encoding,
    ModelFile,
    Quiet,
    Target,
    app,
    records,
    say,
    show_json,
)
from naively.errors import InputError

EXPORT = "Hand on"


@app.command(rich_help_panel=EXPORT)
def report(
    model: ModelFile,
    data: Annotated[str | None, typer.Argument(metavar="[DATA]", help="Rows that were held out, to judge by.")] = None,
    target: Target = None,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The page.")] = "report.html",
    title: Annotated[str | None, typer.Option(help="What stands at the top of the page.")] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Write a page about a model, for a browser: its columns, its quality, and a nomogram to play with."""
    from naively._table.target import read_rows
    from naively.cli._models import load_model, source_for, target_of
    from naively.cli._reading import require_column

    learnt, rows = load_model(model), None
    _require_folder(output)
    if data is not None:
        source, name = source_for(learnt, data, delimiter, encoding), target or target_of(learnt)
        table = source.table()
        require_column(name, list(table.names), source.shown, "--target")
        X, classes, codes, _ = read_rows(table, name, None)
        rows = (X, classes[codes])
    learnt.report(output, rows, title=title)
    say(f"The page is in {output}.", quiet)


@app.command(rich_help_panel=EXPORT)
def scorecard(
    model: ModelFile,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The card, as .csv or .html; - for stdout.")
    ] = "-",
    good: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Whose odds the points count; by default that of more rows.")
    ] = None,
    pdo: Annotated[float, typer.Option(help="So many points double the odds.")] = 20.0,
    base: Annotated[float, typer.Option(help="A row with the odds --odds has so many points.")] = 600.0,
    odds: Annotated[float, typer.Option(help="See --base.")] = 50.0,
    bins: Annotated[int, typer.Option(help="In how many bins a column of numbers is cut.")] = 5,
    exact: Annotated[bool, typer.Option("--exact", help="Do not round the points.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write what each value of each column is worth in points, with weights of evidence; for two classes."""
    from naively.cli._models import class_named, load_model

    learnt = load_model(model)
    label = class_named(learnt, good, "--good")
    card = learnt.scorecard(label, pdo=pdo, base=base, odds=odds, n_bins=bins, rounded=not exact)
    if as_json:
        show_json({"good": card.good, "bad": card.bad, "bins": records(card)})
    elif output == "-":
        typer.echo(str(card))
    else:
        _require_folder(output)
        card.save(output)
        say(f"The card is in {output}.", quiet)


@app.command(name="python", rich_help_panel=EXPORT)
def as_python(
    model: ModelFile,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The module; - for stdout.")] = "-",
) -> None:
    """Write a model as one Python file that needs the standard library alone."""
    from naively.cli._models import load_model

    _write(output, load_model(model).to_python(), "The module")


@app.command(rich_help_panel=EXPORT)
def sql(
    model: ModelFile,
    table: Annotated[str, typer.Option(metavar="TABLE", help="The table with the rows; schema.table if qualified.")],
    dialect: Annotated[str, typer.Option(help="duckdb, postgres, sqlite or spark.")] = "duckdb",
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="COLUMN", help="A column to have beside. Repeatable.")
    ] = None,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The script; - for stdout.")] = "-",
) -> None:
    """Write a model as a SQL script, whose last statement answers for the rows of a table."""
    from naively.cli._models import load_model

    named = tuple(table.split("."))
    made = load_model(model).to_sql(named[0] if len(named) == 1 else named, dialect, keep=keep or ())
    _write(output, made.script(), "The script")


@app.command(rich_help_panel=EXPORT)
def onnx(
    model: ModelFile,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The graph, such as model.onnx.")],
    missing: Annotated[str, typer.Option(help="The text that stands for a missing cell in columns of text.")] = "",
) -> None:
    """Write a model as an ONNX graph, for ONNX Runtime in any language."""
    from naively.cli._models import load_model

    _require_folder(output)
    graph = load_model(model).to_onnx(missing=missing)
    Path(output).write_bytes(graph.SerializeToString())
    say(f"The graph is in {output}.")


def _write(path: str, text: str, what: str) -> None:
    if path == "-":
        typer.echo(text, nl=not text.endswith("\n"))
        return
    _require_folder(path)
    Path(path).write_text(text, encoding="utf-8")
    say(f"{what} is in {path}.")


def _require_folder(path: str) -> None:
    if not Path(path).parent.is_dir():
        raise InputError(f"--output {path}: there is no folder {Path(path).parent}.")


@app.command(rich_help_panel=EXPORT)
def warm() -> None:
    """Compile the hot loops into Numba's cache ahead of time, as a container's build may want to."""
    from rich.console import Console

    from naively.cli._warming import compile_kernels

    console = Console(highlight=False)
    for work, seconds in compile_kernels():
        console.print(f"{seconds:6.1f} s  {work}")
