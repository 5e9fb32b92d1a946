"""Fail if the sdist or the wheel in a directory lacks a file that it must have, or has one that it must not.

Usage: check_package.py DIRECTORY, with one sdist and one wheel in it.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
IN_SDIST = [
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "LICENSE", "pyproject.toml"),
    *(".ci/run", ".ci/allowed_skips", "docs/how_it_works.md", "tests/conftest.py", "bench/__main__.py"),
]


def the_only(directory: Path, pattern: str) -> Path:
    """The one file of that pattern."""
    found = sorted(directory.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{directory} must hold one {pattern}, but it holds {len(found)}.")
    return found[0]


def sources() -> set[str]:
    """Every file of the package, by its path below src."""
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT / "src").as_posix() for path in files}


def main() -> None:
    """Compare what is there with what must be."""
    directory = Path(sys.argv[1])
    with zipfile.ZipFile(the_only(directory, "*.whl")) as wheel:
        in_wheel = {name for name in wheel.namelist() if ".dist-info/" not in name}
    with tarfile.open(the_only(directory, "*.tar.gz")) as sdist:
        in_sdist = {member.name.partition("/")[2] for member in sdist.getmembers() if member.isfile()}
    wanted = sources()
    wrong = [
        *(f"the wheel lacks {name}" for name in sorted((wanted | {"naively/py.typed"}) - in_wheel)),
        *(f"the wheel has {name}, which is not in src" for name in sorted(in_wheel - wanted)),
        *(f"the sdist lacks {name}" for name in sorted({*IN_SDIST, *(f"src/{name}" for name in wanted)} - in_sdist)),
    ]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(in_wheel)} files in the wheel, {len(in_sdist)} in the sdist.")


if __name__ == "__main__":
    main()
