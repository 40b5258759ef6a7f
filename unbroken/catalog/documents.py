"""The catalogue's data files, read once."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def document(name: str) -> dict[str, Any]:
    """``data/<name>.json``."""
    text = (Path(__file__).parent / "data" / f"{name}.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content
