"""The commands, one function each: options in, a function of the package called, its result shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from naively import __version__
from naively.errors import NaivelyError

app = typer.Typer(
    name="naively",
    help="Naive Bayes for any table: a model is a sum of statistics.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def run() -> None:
    """Run the command line; an error that the package raises on purpose is shown without its traceback."""
    try:
        app()
    except (NaivelyError, OSError) as error:
        sys.exit(f"naively: {error}")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"naively {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options that come before any command."""


def _writable(path: Path | None) -> Path | None:
    if path is not None and not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"The folder {str(path.absolute().parent)!r} does not exist. Make it first.")
    return path


@app.command()
def warm() -> None:
    """Compile the hot loops into Numba's cache ahead of time, as a container's build may want to."""
    from rich.console import Console

    from naively._warming import compile_kernels

    console = Console(highlight=False)
    for work, seconds in compile_kernels():
        console.print(f"{seconds:6.1f} s  {work}")


@app.command()
def demo(
    output: Annotated[
        Path | None,
        typer.Option(
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
