"""Questions before something that cannot be undone; nobody is asked where there is no terminal."""

from __future__ import annotations

import sys

import typer

from unbroken.ops.errors import CannotRun


def agreed(question: str) -> None:
    """Ask; CannotRun unless the answer is yes."""
    _need_terminal()
    if not typer.confirm(question, err=True):
        raise CannotRun("not agreed; nothing was done")


def typed(question: str, wanted: str) -> None:
    """Ask for a word to be typed; CannotRun for any other."""
    _need_terminal()
    if typer.prompt(question, err=True, default="", show_default=False) != wanted:
        raise CannotRun(f"that is not '{wanted}'; nothing was done")


def _need_terminal() -> None:
    if not sys.stdin.isatty():
        raise CannotRun("this has to be agreed to, and there is no terminal to ask at", "pass --yes")
