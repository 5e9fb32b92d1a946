"""Run the comparison; results are saved after each data set, so a run that was stopped goes on where it was."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from . import adult, report, texts
from .measure import cross_validate
from .models import MODELS
from .sets import names, read

HERE = Path(__file__).parent
PAGE = HERE.parent / "ACCURACY.md"
TEXT_RESULTS = HERE.parent / "accuracy_text.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=HERE.parents[2] / "shared" / "data", help="folder of the sets")
    parser.add_argument("--sets", nargs="*", help="only these")
    parser.add_argument("--models", nargs="*", default=list(MODELS), help="only these")
    parser.add_argument("--output", type=Path, default=HERE.parent / "accuracy.json")
    parser.add_argument("--fresh", action="store_true", help="measure again what the output already holds")
    parser.add_argument("--only", choices=("tables", "text"), help="only the sets of columns, or only those of texts")
    arguments = parser.parse_args()
    if arguments.only != "text":
        run_tables(arguments)
    if arguments.only != "tables" and not arguments.sets:
        run_texts(arguments)


def run_texts(arguments: argparse.Namespace) -> None:
    """The corpora; only their part of the page is made anew."""
    if not (arguments.data / "schema.json").exists():
        print(f"There are no corpora in {arguments.data}: give their folder by --data.")
        return
    models = [model for model in texts.MODELS if arguments.models == list(MODELS) or model in arguments.models]
    results = texts.run(arguments.data, models, TEXT_RESULTS, arguments.fresh)
    PAGE.write_text(texts.with_section(PAGE.read_text() if PAGE.exists() else "", results))


def run_tables(arguments: argparse.Namespace) -> None:
    results = {} if arguments.fresh or not arguments.output.exists() else json.loads(arguments.output.read_text())
    for name in arguments.sets or names(arguments.data):
        data = read(arguments.data, name)
        for model in arguments.models:
            if model in results.get(name, {}):
                continue
            found = cross_validate(MODELS[model], data)
            results.setdefault(name, {})[model] = found
            arguments.output.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
            shown = f"{found['accuracy']:.4f} {found['log_loss']:.4f} {found['fit']:.2f} s"
            print(f"{name:26s} {model:32s} {shown}", flush=True)
    for model in arguments.models:
        mean = {key: np.mean([one[model][key] for one in results.values() if model in one]) for key in report.SCORES}
        print(f"{'MEAN':26s} {model:32s} " + " ".join(f"{mean[key]:.4f}" for key in report.SCORES))
    if not arguments.sets:
        official = adult.official_split(arguments.data)
        known = json.loads(TEXT_RESULTS.read_text()) if TEXT_RESULTS.exists() else {}
        PAGE.write_text(texts.with_section(report.markdown(results, official), known))


if __name__ == "__main__":
    main()
