"""All commands; importing a module registers its own. The modules are named by what their commands do."""

from __future__ import annotations

from naively.cli import _answers, _exporting, _learning, _showing
from naively.cli._app import app, run

__all__ = ["_answers", "_exporting", "_learning", "_showing", "app", "run"]
