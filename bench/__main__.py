"""Run the rows, print one table, and save it as JSON and Markdown."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from bench.data import SHARED
from bench.measure import FULL, QUICK, memory_bandwidth, run_process
from bench.report import console_table, save, updated
from bench.result import Result
from bench.rows import ROWS

HERE = Path(__file__).parent
WIDTH_OF_A_LOG = 180


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small tables: does every row run and agree?")
    parser.add_argument("--only", metavar="WORD", default="", help="only the rows whose function's name has this word")
    parser.add_argument("--output", type=Path, help="the folder to save to; by default bench/, for full runs only")
    parser.add_argument("--update", action="store_true", help="replace the rows of --only in the results of bench/")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    rows = [row for row in ROWS if given.only in row.__name__]
    if given.list or not rows:
        print("\n".join(row.__name__ for row in ROWS))
        return
    scale = QUICK if given.quick else FULL
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_OF_A_LOG)
    if scale.judged:
        run_process([sys.executable, "-m", "naively", "warm"], {})  # no row waits for the compiler, or does without it
    bandwidth = memory_bandwidth(scale)
    results: list[Result] = []
    for row in rows:
        console.print(f"[dim]{row.__name__} ...[/]")
        result = row(scale)
        if result is None:
            console.print(
                f"[yellow]{row.__name__} is left out: what it needs is not there (its data in {SHARED}, see "
                "NAIVELY_DATA; for Spark the extra 'spark' and Java; for databases the extra 'sql' and the server).[/]"
            )
        else:
            results.append(result)
    console.print(console_table(results, bandwidth, scale.judged))
    output = given.output or (None if given.quick or (given.only and not given.update) else HERE)
    if given.update:
        results = updated(results, HERE)
    if output is not None:
        save(results, bandwidth, scale.judged, output)
        console.print(f"Saved results.json and RESULTS.md in {output}.")


if __name__ == "__main__":
    main()
