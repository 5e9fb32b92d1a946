"""``python -m naively`` is the command ``naively``."""

from naively.cli import main

main()
