"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

Usage: oldest.py [EXTRA ...], the extras whose requirements count too. They are read from pyproject.toml on every run:
what is tested and what is promised cannot drift apart.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
LOWER_BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*>=\s*(?P<version>[0-9][0-9.]*)")


def oldest(requirement: str) -> str:
    """``numpy>=2.0`` becomes ``numpy==2.0``; a requirement without exactly one lower bound is refused."""
    bound = LOWER_BOUND.fullmatch(requirement.strip())
    if bound is None:
        sys.exit(f"pyproject.toml: {requirement!r} must be written as 'name>=version', so that its oldest is known.")
    return f"{bound['name']}=={bound['version']}"


def constraints(project: dict[str, object], extras: list[str]) -> list[str]:
    """The constraints of the dependencies and of these extras, each once."""
    optional = project["optional-dependencies"]
    unknown = sorted(set(extras) - set(optional))
    if unknown:
        sys.exit(f"pyproject.toml has no extra {unknown[0]!r}, only {sorted(optional)}.")
    requirements = [*project["dependencies"], *(line for extra in extras for line in optional[extra])]
    return sorted({oldest(requirement) for requirement in requirements})


def main() -> None:
    """Print one constraint to a line."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    print("\n".join(constraints(project, sys.argv[1:])))


if __name__ == "__main__":
    main()
