"""Reading a role's trust policy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def trusted_services(document: Mapping[str, Any] | str) -> Iterable[str]:
    """The service principals a trust policy lets assume the role."""
    parsed = json.loads(document) if isinstance(document, str) else document
    for statement in as_list(parsed.get("Statement")):
        principal = statement.get("Principal", {})
        if statement.get("Effect") == "Allow" and isinstance(principal, Mapping):
            yield from as_list(principal.get("Service"))


def as_list(value: Any) -> list[Any]:
    """A policy's member that may be one value or a list of them."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
