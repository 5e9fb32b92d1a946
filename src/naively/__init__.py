"""naively: a naive Bayes system. A model is a sum of statistics; everything else is a function of that sum.

Importing the package imports nothing else: each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "JointBayes": "naively.joint_bayes",
    "NaiveBayes": "naively.classifier",
    "TAN": "naively.tan",
    "load": "naively.export.json",
    "named": "naively.table.read",
    "tune": "naively.analysis.tuning",
}

__all__ = ["TAN", "JointBayes", "NaiveBayes", "__version__", "load", "named", "tune"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'naively' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
