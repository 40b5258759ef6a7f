"""What the models found, in the words of the cluster file's user: value, rule and one way out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from unbroken.config.section import Fault, Path
from unbroken.config.suggest import suggestion


@dataclass(frozen=True)
class Finding(Fault):
    """A fault whose path begins at the file's root."""

    at_key: bool = False
    """The key is wrong, not the value."""


_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a set of keys",
    "model_type": "a set of keys",
}
_BOUNDS = {
    "greater_than_equal": "is less than {ge}",
    "greater_than": "is not more than {gt}",
    "less_than_equal": "is more than {le}",
    "less_than": "is not less than {lt}",
}
_PLAIN = {
    "finite_number": ("is not a finite number", "write a number such as 1e-4"),
    "too_short": ("is an empty list", "give it at least one entry"),
    "too_long": ("has {actual_length} entries, {max_length} at most", "remove some"),
    "string_pattern_mismatch": ("does not have the form {pattern}", "write it as AWS shows it"),
    "string_too_short": (
        "is too short: {min_length} characters at least",
        "give a value, or leave the key out",
    ),
    "string_too_long": ("is too long: {max_length} characters at most", "shorten it"),
}


def explain(error: ValidationError, model: type[BaseModel]) -> Iterator[Finding]:
    """Every error pydantic collected, as findings."""
    for details in error.errors(include_url=False):
        yield from _explain_one(details, model)


def _explain_one(details: ErrorDetails, model: type[BaseModel]) -> Iterator[Finding]:
    kind, path, value = details["type"], details["loc"], details["input"]
    context: Mapping[str, Any] = details.get("ctx", {})
    if kind == "faults":
        for fault in context["faults"]:
            yield Finding((*path, *fault.path), fault.value, fault.rule, fault.hint)
    elif kind == "refused":
        yield Finding(path, value, context["rule"], context["hint"])
    elif kind == "extra_forbidden":
        yield _unknown_key(path, fields_at(model, path[:-1]))
    elif kind == "missing":
        field = fields_at(model, path[:-1])[str(path[-1])]
        yield Finding(path, None, "is missing", f"add it ({_first_line(field.description)})", at_key=True)
    elif kind == "literal_error":
        yield _not_offered(path, value, context["expected"])
    elif kind in _PLAIN:
        rule, hint = (text.format(**context) for text in _PLAIN[kind])
        yield Finding(path, None if isinstance(value, list) else value, rule, hint)
    elif kind in _KINDS:
        yield _wrong_kind(path, value, kind)
    elif kind in _BOUNDS:
        bound = next(iter(context.values()))
        yield Finding(path, value, _BOUNDS[kind].format(**context), _bound_hint(kind, bound))
    else:
        yield Finding(path, value, f"is refused: {details['msg']}", "see docs/reference/cluster-file.md")


def _unknown_key(path: Path, known: Mapping[str, Any]) -> Finding:
    near = suggestion(str(path[-1]), known)
    hint = near or f"known here: {', '.join(known)}"
    return Finding(path, None, "is not a key of the cluster file", hint, at_key=True)


def _not_offered(path: Path, value: object, expected: str) -> Finding:
    offered = [text or number for text, number in re.findall(r"'([^']*)'|(\d+)", expected)]
    near = suggestion(value, offered) if isinstance(value, str) else None
    hint = near or (f"use {offered[0]}" if len(offered) == 1 else f"use one of {', '.join(offered)}")
    return Finding(path, value, f"is not {expected}".replace("'", ""), hint)


def _wrong_kind(path: Path, value: object, kind: str) -> Finding:
    wanted = _KINDS[kind]
    if value is None:
        return Finding(path, None, f"is empty; {wanted} belongs here", "give a value, or leave the key out")
    if kind == "string_type" and isinstance(value, (int, float)):
        return Finding(path, value, "is not text", f'write it in quotes: "{_plain(value)}"')
    return Finding(path, value, f"is not {wanted}", f"write {wanted}")


def _bound_hint(kind: str, bound: object) -> str:
    most = kind.startswith("less")
    if kind.endswith("_equal"):
        return f"use {'at most' if most else 'at least'} {bound}"
    return f"use {'less' if most else 'more'} than {bound}"


def _plain(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0].rstrip(".")


def fields_at(model: type[BaseModel], path: Path) -> Mapping[str, Any]:
    """The fields of the section at ``path``; none where there is no section."""
    annotation: Any = model
    for step in path:
        section = _section(annotation)
        if isinstance(step, str) and section is not None and step in section.model_fields:
            annotation = section.model_fields[step].annotation
    found = _section(annotation)
    return found.model_fields if found is not None else {}


def _section(annotation: Any) -> type[BaseModel] | None:
    """The model inside ``X``, ``X | None``, ``list[X]`` or ``Annotated[X, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Annotated, Union, UnionType, list):
        inner = (_section(argument) for argument in get_args(annotation))
        return next((section for section in inner if section is not None), None)
    return None
