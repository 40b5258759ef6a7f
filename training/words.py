"""Numbers in words for a person."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """So many things: `1 step`, `2,000 steps`."""
    return f"{number:,} {thing}" + ("" if number == 1 else "s")
