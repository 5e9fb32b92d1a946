"""A family, an estimate and a statistic answer for themselves: no other room asks which of them it has in hand."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from functools import cache
from pathlib import Path

import pytest

import naively
from naively.families import Estimate, Family, LeftOut
from naively.families._distributions import Labels, Numbers
from naively.families._joined import JoinedColumns
from naively.statistics.base import Statistic

SOURCE = Path(naively.__file__).parent
ROOMS = ("families", "statistics")
BASES = (Family, Estimate, LeftOut, JoinedColumns, Numbers, Labels, Statistic)


@cache
def _defined() -> set[str]:
    """The names of the families, estimates, statistics and distributions that the package defines."""
    modules = [
        importlib.import_module(module.name)
        for room in ROOMS
        for module in pkgutil.walk_packages([str(SOURCE / room)], f"naively.{room}.")
    ]
    return {
        name
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, BASES)
    }


def _asked(tree: ast.AST) -> list[tuple[int, str]]:
    """Lines, and the names of classes, that a value's class is compared with: isinstance, issubclass, match, type()."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
            wanted = [node.args[1]] if node.func.id in ("isinstance", "issubclass") else []
        elif isinstance(node, ast.MatchClass):
            wanted = [node.cls]
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            wanted = [node.left, *node.comparators]
        else:
            wanted = []
        parts = [part for one in wanted for part in ast.walk(one)]
        found += [(node.lineno, part.id) for part in parts if isinstance(part, ast.Name)]
        found += [(node.lineno, part.attr) for part in parts if isinstance(part, ast.Attribute)]
    return found


def _files() -> list[str]:
    files = [path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py"))]
    return [file for file in files if file.split("/")[0] not in ROOMS]


def _asked_in(file: str) -> list[tuple[int, str]]:
    defined = _defined()
    return [(line, name) for line, name in _asked(ast.parse((SOURCE / file).read_text())) if name in defined]


@pytest.mark.parametrize("file", _files())
def test_no_room_asks_which_family_estimate_or_statistic_it_has(file: str) -> None:
    assert not _asked_in(file), "make this a method of the family, the estimate or the statistic"


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(x, Gaussian)",
        "isinstance(x, (str, families.Gaussian))",
        "issubclass(type(x), Family)",
        "type(x) is Moments",
        "match x:\n    case Poisson():\n        pass",
    ],
)
def test_every_way_to_ask_is_seen(line: str) -> None:
    assert any(name in _defined() for _, name in _asked(ast.parse(line)))
