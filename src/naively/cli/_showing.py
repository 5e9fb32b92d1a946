"""Commands that look: show, check, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from naively.cli._app import (
    LOOK,
    AsJson,
    DataFile,
    Delimiter,
    Encoding,
    ModelFile,
    Target,
    app,
    in_options,
    records,
    show_json,
)

FOUND = 3
"""How `check --strict` ends if it finds something."""


@app.command(rich_help_panel=LOOK)
def check(
    data: DataFile,
    target: Target = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="MODEL", help="Compare with what this model has learnt.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help=f"End with exit code {FOUND} if anything is found.")] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: AsJson = False,
) -> None:
    """Say what deserves a look in a file: identifiers, leaks, constants, copies, dates as text, codes, rare classes.

    With --model, how the rows differ from those that it has learnt: unseen labels, missing cells, other units.
    """
    from naively import check as look
    from naively.cli._models import load_model, source_for
    from naively.cli._reading import Source, require_column

    if model is not None:
        learnt = load_model(model)
        found = learnt.check(source_for(learnt, data, delimiter, encoding).table())
    else:
        source = Source(data, delimiter, encoding)
        table = source.table()
        if target is not None:
            require_column(target, list(table.names), source.shown, "--target")
        found = look(table, target)
    if as_json:
        show_json({"rows": found.n_rows, "looked_at": found.looked_at, "findings": records(found)})
    else:
        typer.echo(str(found))
        for sentence in found.advice():
            typer.echo(f"\n{in_options(sentence)}")
    if strict and len(found):
        raise typer.Exit(FOUND)


@app.command(rich_help_panel=LOOK)
def show(model: ModelFile, as_json: AsJson = False) -> None:
    """Show what a model has learnt: its classes, its columns, and the most telling values of each class."""
    from naively.cli._models import load_model
    from naively.cli._portrait import portrait

    learnt = load_model(model)
    shown = portrait(learnt)
    if as_json:
        show_json(shown)
        return
    from naively.cli._pictures import console, portrait_parts

    for part in portrait_parts(shown):
        console().print(part)


def _writable(path: Path | None) -> Path | None:
    if path is not None and not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"The folder {str(path.absolute().parent)!r} does not exist. Make it first.")
    return path


@app.command(rich_help_panel=LOOK)
def demo(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to save the model; by default in a new temporary folder.",
            dir_okay=False,
            writable=True,
            callback=_writable,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Which rows are held out.", min=0, max=2**32 - 1)] = 0,
    row: Annotated[
        int | None,
        typer.Option(help="The held-out row to explain; by default the one the model is least sure of.", min=0),
    ] = None,
) -> None:
    """Learn the species of 344 penguins: test, explain, forget, merge, save."""
    from rich.console import Console

    from naively.demo import run_demo, show_demo

    show_demo(run_demo(output, seed, row), Console(highlight=False))
