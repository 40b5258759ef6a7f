"""Near-miss names: "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """``did you mean X`` for the nearest known name, or None when none is near."""
    near = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]}" if near else None
