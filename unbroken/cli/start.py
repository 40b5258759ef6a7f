"""The first thing that runs: from here on Ctrl-C ends with a word, not with a traceback."""

from __future__ import annotations

import sys


def run() -> None:
    """The entry point of the `unbroken` command."""
    try:
        from unbroken.cli.main import run as run_verb
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    run_verb()
