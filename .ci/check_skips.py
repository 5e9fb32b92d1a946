"""Fail if a test was skipped, or failed as expected, and is not listed with its reason.

Usage: check_skips.py RESULTS.xml ALLOWED, the first written by ``pytest --junitxml``.
"""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from pathlib import Path
from xml.etree import ElementTree


def allowed_patterns(path: Path) -> list[str]:
    """The patterns of the list, each of which must have a reason."""
    patterns = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, _, reason = line.partition(" | ")
            if not reason.strip():
                sys.exit(f"{path}: no reason is given for {pattern!r}. Write 'pattern | reason'.")
            patterns.append(pattern.strip().replace("[", "[[]"))
    return patterns


def skipped_tests(results: Path) -> list[tuple[str, str]]:
    """The name and the message of every test that did not run to its end."""
    cases = list(ElementTree.parse(results).iter("testcase"))
    if not cases:
        sys.exit(f"{results}: no test was run.")
    return [
        (f"{case.get('classname')}::{case.get('name')}", skip.get("message") or "")
        for case in cases
        for skip in case.iter("skipped")
    ]


def main() -> None:
    """Compare the two files."""
    patterns = allowed_patterns(Path(sys.argv[2]))
    skipped = skipped_tests(Path(sys.argv[1]))
    unlisted = [
        f"{name}: {message}" for name, message in skipped if not any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
    if unlisted:
        sys.exit("\n".join(["Skipped, and not listed with a reason:", *unlisted]))
    print(f"{len(skipped)} skipped tests, all listed with their reasons.")


if __name__ == "__main__":
    main()
