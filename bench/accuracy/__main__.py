"""Run the comparison; results are saved after each data set, so a run that was stopped goes on where it was."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from . import adult, report
from .measure import cross_validate
from .models import MODELS
from .sets import names, read

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=HERE.parents[2] / "shared" / "data", help="folder of the sets")
    parser.add_argument("--sets", nargs="*", help="only these")
    parser.add_argument("--models", nargs="*", default=list(MODELS), help="only these")
    parser.add_argument("--output", type=Path, default=HERE.parent / "accuracy.json")
    parser.add_argument("--fresh", action="store_true", help="measure again what the output already holds")
    arguments = parser.parse_args()
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
        (HERE.parent / "ACCURACY.md").write_text(report.markdown(results, official))


if __name__ == "__main__":
    main()
