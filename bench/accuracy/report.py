"""The results as a page."""

from __future__ import annotations

import numpy as np

from .adult import PUBLISHED
from .models import MODELS

SCORES = ("accuracy", "log_loss", "brier", "ece")


def markdown(results: dict[str, dict[str, dict[str, float]]], official: dict[str, dict[str, float]]) -> str:
    """Means, the official Adult split, and every set with its losses."""
    names = sorted(results)
    models = [model for model in MODELS if all(model in results[name] for name in names)]
    lines = [
        "# Accuracy and calibration",
        "",
        f"5-fold stratified cross-validation on {len(names)} data sets (over 20,000 rows: a stratified sample of",
        "20,000); everything is chosen inside the training folds. Log-loss with probabilities clipped at 1e-15;",
        "calibration error (ECE) with 15 bins over the rows of all folds together; times in processor seconds, summed",
        "over all sets and folds; fitting includes what is estimated on first use. Made by",
        "`python -m bench.accuracy --data DIR`. The recipes' constants were chosen on these sets. The models were",
        "measured in runs of their own, some beside other work, so the times only tell orders of magnitude.",
        "",
        "| model | accuracy | log-loss | Brier | ECE | fit s | predict s |",
        "|---|---|---|---|---|---|---|",
    ]
    for model in models:
        mean = [np.mean([results[name][model][key] for name in names]) for key in SCORES]
        time = [sum(results[name][model][key] for name in names) for key in ("fit", "predict")]
        cells = [f"{value:.4f}" for value in mean] + [f"{value:.1f}" for value in time]
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    lines += [line for model in MODELS if model not in models for line in _on_some(model, results)]
    lines += ["", "## Adult, official split, rows with unknown cells removed", ""]
    lines += ["| model | error | log-loss |", "|---|---|---|"]
    for name, one in official.items():
        lines.append(f"| naively {name} | {1 - one['accuracy']:.4f} | {one['log_loss']:.4f} |")
    lines += [f"| {name} (adult.names) | {error:.4f} | |" for name, error in PUBLISHED.items()]
    lines += [
        "",
        "The Adult test part was looked at while the recipes were being developed: the rule that a column with no more",
        "values than bins has one bin per value, and the class prior in the stacking shares, were prompted by it, and",
        "larger values of `kept_rows` were tried on it. Its",
        "figures are therefore no clean held-out result.",
        "",
        "## Every set: accuracy / log-loss",
        "",
        "| set | " + " | ".join(models) + " |",
        "|---|" + "---|" * len(models),
    ]
    for name in names:
        cells = [f"{results[name][model]['accuracy']:.4f} / {results[name][model]['log_loss']:.3f}" for model in models]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _on_some(model: str, results: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    """A model that was measured on some of the sets, beside "strong" on these."""
    names = [name for name in sorted(results) if model in results[name]]
    if not names:
        return []

    def mean(of: str, key: str) -> float:
        return float(np.mean([results[name][of][key] for name in names]))

    ours = "naively strong"
    n_lower = sum(results[name][ours]["log_loss"] < results[name][model]["log_loss"] for name in names)
    theirs = f"accuracy {mean(model, 'accuracy'):.4f}, log-loss {mean(model, 'log_loss'):.4f}"
    our_own = f"{mean(ours, 'accuracy'):.4f} and {mean(ours, 'log_loss'):.4f}"
    missing = ", ".join(name for name in sorted(results) if name not in names)
    return [
        "",
        f"{model} was run on {len(names)} of the sets, for its time: {theirs}.",
        f"There {ours} has {our_own}, a lower log-loss on {n_lower}.",
        f"Not run: {missing}.",
    ]
