"""naively: a naive Bayes system. A model is a sum of statistics; everything else is a function of that sum.

Importing the package imports nothing else: each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what type checkers and editors see; at run time `__getattr__` does the same, when asked
    from naively import compat as compat
    from naively import errors as errors
    from naively import families as families
    from naively import plots as plots
    from naively import sklearn as sklearn
    from naively import smoothing as smoothing
    from naively._dependent import TAN as TAN
    from naively._dependent import JointBayes as JointBayes
    from naively._export.json import load as load
    from naively._table.read import named as named
    from naively.analysis import diagnostics as diagnostics
    from naively.analysis import drift as drift
    from naively.analysis import selection as selection
    from naively.analysis import shift as shift
    from naively.analysis import thresholds as thresholds
    from naively.analysis._check import check as check
    from naively.analysis._comparison import compare as compare
    from naively.analysis._evaluation import evaluate as evaluate
    from naively.analysis._tuning import tune as tune
    from naively.classifier import NaiveBayes as NaiveBayes
    from naively.engines._files import files as files
    from naively.recipes import Recipe as Recipe

__version__ = "0.1.0"

_HOMES = {
    "JointBayes": "naively._dependent",
    "NaiveBayes": "naively.classifier",
    "Recipe": "naively.recipes",
    "TAN": "naively._dependent",
    "check": "naively.analysis._check",
    "compare": "naively.analysis._comparison",
    "evaluate": "naively.analysis._evaluation",
    "files": "naively.engines._files",
    "load": "naively._export.json",
    "named": "naively._table.read",
    "tune": "naively.analysis._tuning",
}

_MODULES = {
    **{name: f"naively.{name}" for name in ("compat", "errors", "families", "plots", "sklearn", "smoothing")},
    **{name: f"naively.analysis.{name}" for name in ("diagnostics", "drift", "selection", "shift", "thresholds")},
}

__all__ = [
    "TAN",
    "JointBayes",
    "NaiveBayes",
    "Recipe",
    "__version__",
    "check",
    "compare",
    "evaluate",
    "files",
    "load",
    "named",
    "tune",
]

if not TYPE_CHECKING:  # a type checker would take it to mean that every name exists

    def __getattr__(name):
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        if name in _MODULES:
            return import_module(_MODULES[name])
        raise AttributeError(f"module 'naively' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
