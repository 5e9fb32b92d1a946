"""The application that commands register with: how errors are told, and the options that many of them share."""

from __future__ import annotations

import json
import re
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from naively import __version__
from naively.errors import NaivelyError, NaivelyWarning

LEARN, ANSWER, LOOK = "Learn", "Answer", "Look"

EPILOG = """
**A first look**, with a CSV of your own whose column `churned` is to be predicted:

    naively check customers.csv --target churned

    naively fit customers.csv --target churned --ignore client_id -o churn.json

    naively evaluate churn.json --loo

    naively predict churn.json new.csv --proba -o scored.csv

**Files.** CSV (the delimiter and the encoding are found; the first line names the columns), CSV in .gz, JSON lines
(.jsonl, .ndjson) and Parquet (needs `pip install 'naively[files]'`). `-` stands for standard input or output. Empty
cells, `NA` and `NaN` are missing. Digits that begin with a 0, such as postcodes, are text.

**Exit codes.** 0: done. 1: the data or the model file were refused, and standard error says why. 2: wrong usage.
3: `check --strict` found something.

**For machines**, every command that shows something has `--json`. Progress and warnings go to standard error.
"""


class Group(TyperGroup):
    """The commands; an error that the package raises on purpose is told without its traceback."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("default", NaivelyWarning)
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            try:
                return super().invoke(ctx)
            except (NaivelyError, OSError, ImportError) as error:
                lacking = isinstance(error, ImportError) and "pip install 'naively[" not in str(error)
                if lacking or isinstance(error, BrokenPipeError):
                    raise
                typer.echo(f"naively: {in_options(str(error))}", err=True)
                raise typer.Exit(1) from error


def _show_warning(message: Any, category: Any, *_: Any) -> None:
    if issubclass(category, UserWarning):
        typer.echo(f"naively: {in_options(str(message))}", err=True)


def in_options(advice: str) -> str:
    """Advice to people who write Python, for those who write commands.

    Examples
    --------
    >>> in_options("Leave them out: ignore=['client id', 'key']. naively.check(X, y) lists it all.")
    "Leave them out: --ignore 'client id' --ignore 'key'. naively check lists it all."
    >>> in_options("Leave it out (ignore=[...]), use recipe='auto', or say families={'zip': 'categorical'}.")
    "Leave it out (--ignore COLUMN), use --recipe auto, or say --families 'zip=categorical'."
    """
    options = advice.replace("ignore=[...]", "--ignore COLUMN")
    options = re.sub(r"ignore=\[(.*?)\](?=[.\s]|$)", lambda found: _each("--ignore", found[1]), options)
    options = re.sub(r"recipe='(\w+)'", r"--recipe \1", options)
    options = re.sub(r"families=\{[\"'](.+?)[\"']: [\"'](\w+)[\"']\}", r"--families '\1=\2'", options)
    return re.sub(r"(naively|model)\.check\(.*?\)", "naively check", options)


def _each(option: str, names: str) -> str:
    return re.sub(r"(?:, )?('[^']*'|\"[^\"]*\")", rf" {option} \1", names).strip()


app = typer.Typer(
    name="naively",
    cls=Group,
    help="Naive Bayes for any table: numbers, labels, text and missing cells as they are. Learn, update, forget and "
    "merge exactly; answer with calibrated probabilities, and say why.",
    epilog=EPILOG,
    rich_markup_mode="markdown",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


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


DataFile = Annotated[str, typer.Argument(metavar="DATA", help="The rows: CSV, JSON lines or Parquet; - for stdin.")]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="The model's file, as fit wrote it.")]
Target = Annotated[str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The column with the classes.")]
Ignore = Annotated[
    list[str] | None, typer.Option("--ignore", metavar="COLUMN", help="A column to leave out. Repeatable.")
]
Weights = Annotated[str | None, typer.Option("--weights", metavar="COLUMN", help="The column with the rows' weights.")]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", metavar="CHAR", help="What stands between the cells of a CSV file.")
]
Encoding = Annotated[str | None, typer.Option("--encoding", metavar="NAME", help="The encoding of a text file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing unless something is wrong.")]


def say(text: str, quiet: bool = False) -> None:
    """Tell people what is going on, on standard error."""
    if not quiet:
        typer.echo(text, err=True)


def show_json(value: Any) -> None:
    """Write a value as JSON to standard output; what is not a number is null."""
    typer.echo(json.dumps(_plain(value), ensure_ascii=False, indent=2))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return None
    return value


def records(result: Any) -> list[dict[str, Any]]:
    """The rows of a result's frame."""
    columns = result._columns()
    rows = zip(*(cells for _, cells in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def run() -> None:
    """Run the command line."""
    sys.exit(app(prog_name="naively"))  # also of `python -m naively`: completion has its name
