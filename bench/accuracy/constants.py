"""Constants of "strong" chosen by leave-one-data-set-out: `python -m bench.accuracy.constants`.

Every candidate is measured on the first fold of every set. The one with the lowest mean log-loss is what the package
has; how good it is on sets that did not help to choose it is told by the left-out figure: for each set, the candidate
that is best on all others.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from naively import NaiveBayes
from naively._weighing import boosted, kept, networks, pool, strong

from .measure import scores
from .sets import folds, names, read

CANDIDATES: dict[str, list[tuple[Any, str, Any]]] = {
    "as it is": [],
    "four folds of few rows, too": [(kept, "FOLDS_OF_FEW", 4)],
    "four groups of boosted trees": [(boosted, "GROUPS", ())],
    "eight groups at most": [(boosted, "GROUPS", ((1 << 17, 1 << 15, 8),))],
    "steps do not grow": [(boosted, "ROUNDS_TO_DOUBLE", np.inf)],
    "steps grow twice as fast": [(boosted, "ROUNDS_TO_DOUBLE", 50)],
    "32 cells": [(boosted, "N_NODES", 63)],
    "8 cells": [(boosted, "N_NODES", 15)],
    "boosting waits 25 rounds": [(boosted, "PATIENCE", 25)],
    "no networks": [(strong, "fit_networks", lambda *_: None)],
    "networks of 32 units": [(networks, "N_UNITS", 32)],
    "networks of one layer": [(networks, "N_LAYERS", 1)],
    "networks of three layers": [(networks, "N_LAYERS", 3)],
    "networks that are more patient": [(networks, "PATIENCE", 8)],
    "pool is more drawn to the mean": [(pool, "POOL_PENALTY", 5.0)],
    "pool as if its answers had no noise": [(strong, "without_noise", lambda pool, *_: pool)],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared" / "data")
    parser.add_argument("--sets", nargs="*", help="only these")
    parser.add_argument("--output", type=Path, default=Path("build") / "constants.json")
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    results = json.loads(arguments.output.read_text()) if arguments.output.exists() else {}
    for name in arguments.sets or names(arguments.data):
        for candidate in CANDIDATES:
            if candidate not in results.get(name, {}):
                results.setdefault(name, {})[candidate] = measured(arguments.data, name, candidate)
                arguments.output.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        print(name, {key: round(one["log_loss"], 4) for key, one in results[name].items()}, flush=True)
    tell(results)


def measured(folder: Path, name: str, candidate: str) -> dict[str, float]:
    """Scores and processor time on the first fold of a set."""
    data = read(folder, name)
    train, test = folds(data.codes)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patches = [patch.object(module, constant, value) for module, constant, value in CANDIDATES[candidate]]
        for one in patches:
            one.start()
        start = time.process_time()
        model = NaiveBayes("strong", n_threads=1).fit(data.frame.iloc[train], data.codes[train])
        for one in patches:
            one.stop()
        proba = np.zeros((len(test), int(data.codes.max()) + 1))
        proba[:, model.classes_] = model.predict_proba(data.frame.iloc[test])
    return {**scores(proba, data.codes[test]), "seconds": time.process_time() - start}


def tell(results: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print the mean of each candidate, of the chosen one, and of those that other sets choose."""
    losses = np.array([[one[candidate]["log_loss"] for candidate in CANDIDATES] for one in results.values()])
    seconds = np.array([[one[candidate]["seconds"] for candidate in CANDIDATES] for one in results.values()])
    for candidate, loss, spent in zip(CANDIDATES, losses.mean(axis=0), seconds.sum(axis=0), strict=True):
        print(f"{candidate:34s} log-loss {loss:.4f}, {spent:.0f} s")
    by_others = ((losses.sum(axis=0) - losses) / max(len(losses) - 1, 1)).argmin(axis=1)
    left_out = losses[np.arange(len(losses)), by_others].mean()
    print(f"chosen on all sets: {losses.mean(axis=0).min():.4f}; chosen on the other sets: {left_out:.4f}")


if __name__ == "__main__":
    main()
