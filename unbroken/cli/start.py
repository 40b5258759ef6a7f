"""The first thing that runs: Ctrl-C and a missing package end with a sentence, however early they come."""

from __future__ import annotations

import sys

OWN = ("unbroken", "stacks", "training")


def run() -> None:
    """The entry point of the `unbroken` command."""
    try:
        from unbroken.cli.main import run as run_verb

        run_verb()
    except KeyboardInterrupt:
        _end("interrupted", 130)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", *OWN):
            raise
        _end(f"error: the Python package '{package}' is not installed\n\nhint: run `make setup`", 2)


def _end(text: str, code: int) -> None:
    print(text, file=sys.stderr)
    sys.exit(code)
