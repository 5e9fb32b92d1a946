"""All commands, in the order in which the help shows them: importing a module registers its own."""

from __future__ import annotations

from importlib import import_module

from naively.cli._app import app, run

MODULES = ("_learning", "_answers", "_showing", "_exporting")

for name in MODULES:
    import_module(f"naively.cli.{name}")

__all__ = ["app", "run"]
