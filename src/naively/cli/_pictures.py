"""Results as people read them on a terminal: tables and bars."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from naively._table.results import as_cell
from naively.analysis._comparison import Comparison
from naively.analysis._evaluation import Evaluation

WIDTH = 24
NAMES = {"accuracy": "accuracy", "log_loss": "log-loss", "brier": "Brier score", "ece": "ECE", "auc": "AUC"}
SHOWN_CLASSES = 12


def console() -> Console:
    """Standard output; where it is no terminal, lines are not cut."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=200)


def bar(share: float) -> str:
    """A share as a bar.

    Examples
    --------
    >>> bar(0.25)
    '██████'
    """
    eighths = round(8 * WIDTH * max(0.0, min(share, 1.0)))
    return "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]


def evaluation_tables(evaluation: Evaluation) -> Iterator[Any]:
    """The measures, and the confusion."""
    table = Table("measure", box=box.SIMPLE_HEAD, title=evaluation.title, title_justify="left")
    for name in ("value", "95 % interval", "without the columns"):
        table.add_column(name, justify="right")
    for name, (value, low, high) in evaluation.measures.items():
        known = value == value
        interval = f"{low:.4f} to {high:.4f}" if known else ""
        value, base = round(value, 4) + 0.0, evaluation.baseline[name]
        table.add_row(NAMES[name], f"[bold]{value:.4f}[/]" if known else "", interval, as_cell(round(base, 4)))
    yield table
    labels = [escape(str(label)) for label in evaluation.classes.tolist()]
    if len(labels) > SHOWN_CLASSES:
        yield f"The confusion of {len(labels)} classes is in --json."
        return
    confusion = Table("is, and was taken for", box=box.SIMPLE_HEAD)
    for label in labels:
        confusion.add_column(label, justify="right")
    for place, (label, counts) in enumerate(zip(labels, evaluation.confusion.tolist(), strict=True)):
        styles = ["dim" if not count else "green" if other == place else "red" for other, count in enumerate(counts)]
        cells = [f"[{style}]{count:g}[/]" for style, count in zip(styles, counts, strict=True)]
        confusion.add_row(label, *cells)
    yield confusion


def comparison_table(comparison: Comparison) -> Any:
    """The models side by side, the best first."""
    table = Table("model", box=box.SIMPLE_HEAD)
    for name in (*NAMES.values(), "log-loss, 95 % interval", "seconds"):
        table.add_column(name, justify="right")
    ordered = sorted(comparison.evaluations, key=lambda name: comparison.evaluations[name]["log_loss"])
    for name in ordered:
        one = comparison.evaluations[name]
        _, low, high = one.measures["log_loss"]
        values = [f"{one[measure]:.4f}" if one[measure] == one[measure] else "" for measure in NAMES]
        style = "bold" if name == comparison.best else ""
        seconds = f"{comparison.seconds[name]:.1f}"
        table.add_row(escape(name), *values, f"{low:.4f} to {high:.4f}", seconds, style=style)
    return table


def portrait_parts(shown: dict[str, Any]) -> Iterator[Any]:
    """What a model has learnt."""
    rows = "frozen: it only answers" if shown["rows"] is None else f"{shown['rows']:,.0f} rows"
    yield f"[bold]{shown['model']}[/] of the recipe {escape(shown['recipe'])}, {rows}"
    classes = Table("class", box=box.SIMPLE_HEAD)
    classes.add_column("prior", justify="right")
    classes.add_column("")
    for label, share in shown["classes"].items():
        classes.add_row(escape(label), f"{share:.3f}", bar(share))
    yield classes
    columns = Table("column", "read as", box=box.SIMPLE_HEAD)
    columns.add_column("bits about the class", justify="right")
    columns.add_column("")
    most = max((one["information"] or 0.0 for one in shown["columns"]), default=0.0) or 1.0
    for one in shown["columns"]:
        bits = one["information"]
        shown_bits = "" if bits is None else f"{bits:.3f}"
        columns.add_row(
            escape(one["column"]), one["family"] or f"[dim]{one['holds']}[/]", shown_bits, bar((bits or 0) / most)
        )
    yield columns
    for label, lines in shown["telling"].items():
        if lines:
            yield _telling_table(label, lines)


def _telling_table(label: str, lines: list[dict[str, Any]]) -> Any:
    table = Table(f"speaks most for {escape(label)}", "", box=box.SIMPLE_HEAD)
    table.add_column("bits", justify="right")
    table.add_column("")
    strongest = max(line["bits"] for line in lines)
    for line in lines:
        value = line["value"] if isinstance(line["value"], str) else f"{line['value']:.4g}"
        table.add_row(
            escape(line["column"]), escape(str(value)), f"{line['bits']:+.2f}", bar(line["bits"] / strongest / 2)
        )
    return table
