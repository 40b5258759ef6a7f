"""Programs that stand in for a machine's own."""

from __future__ import annotations

from pathlib import Path


def fake(folder: Path, name: str, body: str) -> None:
    """A shell script of that name."""
    program = folder / name
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
