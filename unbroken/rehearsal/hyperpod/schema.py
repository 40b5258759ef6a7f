"""Requests and answers against botocore's SageMaker model: types, required members, patterns, enums, limits.

Rules the model does not hold are in ``rules.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StructureShape
from botocore.validate import ParamValidator

from unbroken.rehearsal.hyperpod.errors import validation


@cache
def model() -> ServiceModel:
    """SageMaker's service model as botocore ships it."""
    return botocore.session.get_session().get_service_model("sagemaker")


def check_request(operation: str, request: Mapping[str, Any]) -> None:
    """Raise ValidationException with every violation of the operation's input shape."""
    problems = list(violations(model().operation_model(operation).input_shape, request))
    if problems:
        noun = "error" if len(problems) == 1 else "errors"
        raise validation(f"{len(problems)} validation {noun} detected: " + "; ".join(problems))


def check_answer(operation: str, answer: Mapping[str, Any]) -> list[str]:
    """Violations of the operation's output shape; an answer of ours should have none."""
    return list(violations(model().operation_model(operation).output_shape, answer))


def violations(shape: Shape, value: Any) -> Iterator[str]:
    """Types and required members first; the finer constraints only where those hold."""
    report = ParamValidator().validate(value, shape)
    if report.has_errors():
        yield from report.generate_report().splitlines()
        return
    yield from _constraints(shape, value, "")


def _constraints(shape: Shape, value: Any, path: str) -> Iterator[str]:
    """Walk a value of the right type and tell what its shape forbids, in the service's usual wording."""
    yield from (f"Value at '{path}' failed to satisfy constraint: {rule}" for rule in _broken(shape, value))
    if isinstance(shape, StructureShape):
        for key, item in value.items():
            yield from _constraints(shape.members[key], item, _join(path, key))
    elif isinstance(shape, ListShape):
        for number, item in enumerate(value, start=1):
            yield from _constraints(shape.member, item, f"{path}.{number}.member")
    elif isinstance(shape, MapShape):
        for key, item in value.items():
            yield from _constraints(shape.value, item, f"{path}.{key}")


def _join(path: str, key: str) -> str:
    name = key[0].lower() + key[1:]
    return f"{path}.{name}" if path else name


def _broken(shape: Shape, value: Any) -> Iterator[str]:
    rules = shape.metadata
    if shape.type_name == "string":
        yield from _broken_text(rules, value)
    size = value if shape.type_name in ("integer", "long") else _length(value)
    what = "have value" if shape.type_name in ("integer", "long") else "have length"
    if size is None:
        return
    if "max" in rules and size > rules["max"]:
        yield f"Member must {what} less than or equal to {rules['max']}"
    if "min" in rules and size < rules["min"]:
        yield f"Member must {what} greater than or equal to {rules['min']}"


def _length(value: Any) -> int | None:
    return len(value) if isinstance(value, str | list | dict) else None


def _broken_text(rules: Mapping[str, Any], value: str) -> Iterator[str]:
    if "enum" in rules and value not in rules["enum"]:
        shown = rules["enum"] if len(rules["enum"]) <= 20 else [*rules["enum"][:20], "..."]
        yield f"Member must satisfy enum value set: [{', '.join(shown)}] (found {value})"
    if "pattern" in rules and not _matches(rules["pattern"], value):
        yield f"Member must satisfy regular expression pattern: {rules['pattern']} (found {value})"


def _matches(pattern: str, value: str) -> bool:
    """Unicode classes such as ``\\p{L}`` (in the tags' patterns) are beyond Python's re and not checked."""
    return "\\p{" in pattern or re.fullmatch(pattern, value) is not None
