"""The command line. This file is only its entrance: ``--version`` is answered before anything else is imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Run ``naively`` with the arguments it was called with."""
    if sys.argv[1:] == ["--version"]:
        from naively import __version__

        print(f"naively {__version__}")
        return
    from naively.cli._commands import run

    run()
