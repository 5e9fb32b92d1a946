"""The results as one table: on the screen, as JSON, as Markdown."""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from bench.result import Result, duration, from_dict

HEADINGS = ("work", "ours", "peer", "times faster", "floor", "x floor", "target: reached", "met")
PACKAGES = ("naively", "numpy", "scipy", "numba", "scikit-learn", "river", "pandas", "polars", "narwhals")

TEMPLATE = """# Results

Made by `python -m bench` on {date}: {processor}, {cores} cores, {memory_gib} GiB, {system}, Python {python};
{versions}.

Ours is `NaiveBayes("textbook")`, the same model as the peer's, but where a row says otherwise.
Each time is the best of several, ours and the peer's taken in turns in the same process. The floor is the time in
which the bytes that any program must read (and write) move at {speed:.1f} GB/s, the fastest that NumPy was seen to
read memory here with all cores. Single rows may be of a later run on this machine (`--only WORD --update`).

{table}

## Notes

{notes}
"""


def cells(result: Result, bandwidth: float, judged: bool) -> tuple[str, ...]:
    """The row of the table, as text."""
    ratio, distance = result.ratio, result.distance(bandwidth)
    return (
        result.work,
        duration(result.ours) if result.unit == "s" else f"{result.ours:.3g} {result.unit}",
        f"{duration(result.peer)} {result.peer_name}" if result.peer is not None else "",
        "" if ratio is None else f"{ratio:.3g}",
        duration(result.floor(bandwidth)),
        "" if distance is None else f"{distance:.3g}",
        "; ".join(map(str, result.targets)),
        ("yes" if result.met else "no") if judged else "not judged",
    )


def console_table(results: Sequence[Result], bandwidth: float, judged: bool) -> Table:
    table = Table(title=f"Floor: bytes that must move at {bandwidth / 1e9:.1f} GB/s", box=box.SIMPLE)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("work", "peer", "target: reached") else "right")
    for result in results:
        *shown, met = cells(result, bandwidth, judged)
        table.add_row(*shown, f"[{'dim' if not judged else 'green' if result.met else 'red'}]{met}[/]")
    return table


def updated(results: Sequence[Result], folder: Path) -> list[Result]:
    """The results that a folder holds, those of the same work replaced."""
    document = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    found = {one.work: one for one in map(from_dict, document["results"])}
    return list({**found, **{one.work: one for one in results}}.values())


def save(results: Sequence[Result], bandwidth: float, judged: bool, folder: Path) -> None:
    """Write results.json and RESULTS.md."""
    folder.mkdir(parents=True, exist_ok=True)
    about = machine()
    document = {
        "machine": about,
        "bytes_per_second": bandwidth,
        "judged": judged,
        "results": [result.as_dict(bandwidth) for result in results],
    }
    (folder / "results.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (folder / "RESULTS.md").write_text(markdown(results, bandwidth, judged, about), encoding="utf-8")


def markdown(results: Sequence[Result], bandwidth: float, judged: bool, about: dict[str, Any]) -> str:
    rows = [HEADINGS, ["---"] * len(HEADINGS), *(cells(result, bandwidth, judged) for result in results)]
    return TEMPLATE.format(
        **about,
        versions=", ".join(f"{name} {number}" for name, number in about["packages"].items()),
        speed=bandwidth / 1e9,
        table="\n".join(map(_line, rows)),
        notes="\n".join(f"- {result.work}: {result.notes}." for result in results if result.notes),
    )


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    return {
        "date": datetime.date.today().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"
