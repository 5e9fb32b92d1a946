"""The picture of the command line at work: what the commands print, as an SVG that loads nothing."""

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text
from typer.testing import CliRunner

import naively
from naively.cli._commands import app

COMMANDS = (
    "fit penguins.csv --target species",
    "evaluate penguins.model.json --loo",
    "explain penguins.model.json penguins.csv --row 206",
)
WIDTH = 92
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<title>naively on the command line</title>
<style>
.{unique_id}-matrix {{
    font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
    font-size: {char_height}px;
    line-height: {line_height}px;
}}
.{unique_id}-title {{ display: none; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">
{matrix}
</g></g>
</svg>
"""


def printed(folder):
    """What a terminal shows of the commands, run in a folder with the penguins."""
    penguins = (Path(naively.__file__).parent / "data" / "penguins.csv").read_text(encoding="utf-8")
    (Path(folder) / "penguins.csv").write_text(penguins.replace("target", "species", 1), encoding="utf-8")
    lines = []
    for command in COMMANDS:
        done = CliRunner(env={"FORCE_COLOR": "1", "COLUMNS": str(WIDTH)}).invoke(app, command.split())
        assert done.exit_code == 0, done.output
        lines += [f"\x1b[1;32m$\x1b[0m \x1b[1mnaively {command}\x1b[0m", done.output.strip("\n"), ""]
    return "\n".join(re.sub(r"[ \t]+$", "", line) for line in "\n".join(lines).splitlines())


def drawn(text):
    """The text of a terminal as an SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text))
    svg = console.export_svg(title="", theme=MONOKAI, code_format=FRAME, unique_id="naively")
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)


def words(svg):
    """What an SVG says, without numbers and bars, which may differ in their last digit."""
    return re.findall(
        r"[A-Za-z$_-]{2,}", " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg)).replace("&#160;", " ")
    )
