"""Commands that learn: fit, update, forget, merge."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from naively.cli._app import (
    LEARN,
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
    say,
    show_json,
)
from naively.errors import InputError, NaivelyError, ParameterError

if TYPE_CHECKING:
    from naively import NaiveBayes
    from naively._table.table import Table
    from naively.cli._reading import Source

Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write the model; by default MODEL itself."),
]


@app.command(rich_help_panel=LEARN)
def fit(
    data: DataFile,
    target: Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column with the classes.")],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write the model; by default beside DATA."),
    ] = None,
    recipe: Annotated[
        str, typer.Option(help="auto, strong, fast or textbook: naively compare tells them apart.")
    ] = "auto",
    families: Annotated[
        list[str] | None,
        typer.Option("--families", metavar="COLUMN=FAMILY", help="How a column is read: age=gaussian. Repeatable."),
    ] = None,
    ignore: Ignore = None,
    monotone: Annotated[
        list[str] | None,
        typer.Option(
            "--monotone",
            metavar="COLUMN=SIGN",
            help="The odds of the second class never fall (+1) or never rise (-1) with a number: age=+1. Repeatable.",
        ),
    ] = None,
    weights: Weights = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn from a file, and write the model.

    The file is read a piece at a time, so it may be larger than memory.
    """
    from naively import NaiveBayes
    from naively.cli._reading import Source

    told = _by_column(families, "--families", "COLUMN=FAMILY, for example age=gaussian")
    signs = _signs(_by_column(monotone, "--monotone", "COLUMN=+1 or COLUMN=-1, for example age=+1"))
    model = NaiveBayes(recipe, families=told or None, ignore=ignore or None, monotone=signs or None)
    source = Source(data, delimiter, encoding)
    named = {"--ignore": ignore or (), "--families": told, "--monotone": signs}
    _read_into(model, "partial_fit", source, target, weights, quiet, named)
    path = output or _default_output(data)
    _save(model, path)
    _report(model, path, as_json, quiet)


def _register(name: str, method: Literal["partial_fit", "forget"], said: str) -> None:
    """Register a command that changes a model by the rows of a file."""

    def change(
        model: ModelFile,
        data: DataFile,
        target: Target = None,
        output: Output = None,
        weights: Weights = None,
        delimiter: Delimiter = None,
        encoding: Encoding = None,
        as_json: AsJson = False,
        quiet: Quiet = False,
    ) -> None:
        from naively.cli._models import load_model, source_for, target_of

        changed = load_model(model)
        source = source_for(changed, data, delimiter, encoding)
        _read_into(changed, method, source, target or target_of(changed), weights, quiet)
        _save(changed, output or model)
        _report(changed, output or model, as_json, quiet)

    app.command(name, help=said, rich_help_panel=LEARN)(change)


_register(
    "update", "partial_fit", "Learn more rows: afterwards the model equals one that was fitted on all rows at once."
)
_register("forget", "forget", "Unlearn rows that were learnt before, exactly.")


@app.command(rich_help_panel=LEARN)
def merge(
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Files of models that were trained apart.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write their sum.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Add models that were trained apart: the same as training one on all rows."""
    from naively.cli._models import load_model

    if len(models) < 2:
        raise ParameterError("merge needs two models or more.")
    parts = [load_model(path) for path in models]
    _require_common_column(parts, models)
    merged = parts[0]
    for part, path in zip(parts[1:], models[1:], strict=True):
        try:
            merged = merged + part
        except NaivelyError as error:
            raise ParameterError(f"{path} cannot be added to what is before it: {error}") from error
    _save(merged, output)
    _report(merged, output, as_json, quiet)


def _require_common_column(parts: Sequence[NaiveBayes], paths: Sequence[str]) -> None:
    """Refuse models of other tables: their sum would be one that never saw the columns of both together."""
    first = set(parts[0].schema_.names)
    for part, path in zip(parts, paths, strict=True):
        if not first & set(part.schema_.names):
            raise ParameterError(
                f"{paths[0]} and {path} have no column in common: they were not trained on parts of one table."
            )


def _read_into(
    model: NaiveBayes,
    method: Literal["partial_fit", "forget"],
    source: Source,
    target: str,
    weights: str | None,
    quiet: bool,
    named: Mapping[str, Collection[str]] | None = None,
) -> None:
    """Learn or forget a file, piece by piece; `named` are the columns that other options name."""
    from naively._common.progress import counting
    from naively.cli._reading import require_column

    options = {"--target": [target], "--weights": [weights] if weights else [], **(named or {})}
    n_rows = 0
    doing = "learning" if method == "partial_fit" else "forgetting"
    with counting(doing, "rows", wanted=False if quiet else None) as count:
        for table in source.batches():
            for option, names in options.items():
                for name in names:
                    require_column(name, list(table.names), source.shown, option)
            getattr(model, method)(table, target, sample_weight=weights)
            if not n_rows and method == "partial_fit":
                _look_at(model, table, target)
            n_rows += table.n_rows
            count(n_rows)
    if not n_rows:
        raise InputError(f"{source.shown} holds no rows.")


def _look_at(model: NaiveBayes, table: Table, target: str) -> None:
    """Say what deserves a look in the first rows, as `NaiveBayes.fit` does."""
    from naively._table.target import read_rows
    from naively.analysis._check import warn_of_learnt

    rows, classes, codes, _ = read_rows(table, target, None)
    if tuple(rows.names) == model.schema_.names:  # no weights among them, and no columns from before
        warn_of_learnt(model.schema_, model.statistics_, rows, classes, codes)


def _counted(weight: float) -> str:
    return f"{weight:,.0f}" if weight.is_integer() else f"{weight:,.6g}"


def _by_column(given: list[str] | None, option: str, form: str) -> dict[str, str]:
    """What an option says of columns, each written as COLUMN=WORD."""
    words = {}
    for one in given or ():
        name, is_given, word = one.rpartition("=")
        if not is_given or not name:
            raise ParameterError(f"{option} {one}: write {form}.")
        words[name] = word
    return words


def _signs(words: Mapping[str, str]) -> dict[str, int]:
    """What --monotone says, as numbers."""
    signs = {"+1": 1, "1": 1, "-1": -1}
    for name, word in words.items():
        if word not in signs:
            raise ParameterError(f"--monotone {name}={word}: write {name}=+1 (rising) or {name}=-1 (falling).")
    return {name: signs[word] for name, word in words.items()}


def _default_output(data: str) -> str:
    name = "model" if data == "-" else Path(data).name.split(".")[0]
    return str(Path(data).parent / f"{name}.model.json") if data != "-" else f"{name}.json"


def _save(model: NaiveBayes, path: str) -> None:
    folder = Path(path).parent
    if not folder.is_dir():
        raise InputError(f"--output {path}: there is no folder {folder}.")
    _ = model.evidence_names_  # what is estimated for it is written as well, so that the file answers at once
    model.save(path)


def _report(model: NaiveBayes, path: str, as_json: bool, quiet: bool) -> None:
    """Say what was learnt, and where it is."""
    counts = dict(zip(map(str, model.classes_.tolist()), model.class_count_.tolist(), strict=True))
    columns = [name for name, kind in zip(model.schema_.names, model.schema_.kinds, strict=True) if kind != "empty"]
    if as_json:
        show_json({"model": path, "rows": sum(counts.values()), "classes": counts, "columns": columns})
        return
    shown = ", ".join(f"{label} {_counted(count)}" for label, count in list(counts.items())[:8])
    more = f" and {len(counts) - 8} more" if len(counts) > 8 else ""
    read = f"{len(columns)} column{'s' * (len(columns) != 1)}"
    say(f"{sum(counts.values()):,.0f} rows, {read}, classes: {shown}{more}", quiet)
    if len(counts) == 1:
        say("There is one class only, so the answer will always be the same.", quiet)
    for name, sign in (model.monotone or {}).items():
        say(f"The odds of {model.classes_[-1]} never {'fall' if sign > 0 else 'rise'} as {name} rises.", quiet)
    say(f"The model is in {path}; naively show {path} tells more.", quiet)
