"""As much of JSON Schema as node.schema.json uses: enough to hold a document to it without a package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
KNOWN = {"$schema", "$id", "title", "description", "type", "properties", "required", "additionalProperties"}
KNOWN |= {"items", "minItems", "const", "enum", "pattern", "minimum"}


def problems(value: Any, schema: dict[str, Any], where: str = "") -> list[str]:
    """Return what is wrong with a document. Raises on a keyword that is not known here."""
    unknown = set(schema) - KNOWN
    assert not unknown, f"schema keywords this test does not know: {unknown}"
    return list(_problems(value, schema, where))


def _problems(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    kinds = schema.get("type", list(TYPES))
    allowed = [kind for name in ([kinds] if isinstance(kinds, str) else kinds) for kind in TYPES[name]]
    if not isinstance(value, tuple(allowed)) or (isinstance(value, bool) and bool not in allowed):
        yield f"{where}: {value!r} is not {kinds}"
    elif isinstance(value, dict):
        yield from _object(value, schema, where)
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{where}: too few"
        for index, item in enumerate(value):
            yield from problems(item, schema["items"], f"{where}[{index}]")
    else:
        yield from _scalar(value, schema, where)


def _object(value: dict[str, Any], schema: dict[str, Any], where: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    yield from (f"{where}.{name}: missing" for name in schema.get("required", []) if name not in value)
    for name, inner in value.items():
        if name in properties:
            yield from problems(inner, properties[name], f"{where}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{where}.{name}: unknown"


def _scalar(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    if "const" in schema and value != schema["const"]:
        yield f"{where}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"{where}: {value!r} does not match {schema['pattern']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{where}: {value!r} is too small"
