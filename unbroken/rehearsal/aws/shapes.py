"""Values of a template as an API takes them: an operation's own members only, numbers as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import botocore.session

from unbroken.rehearsal.hyperpod.schema import violations


@cache
def _model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


def input_shape(service: str, operation: str) -> Any:
    """The shape of an operation's request, as botocore ships it."""
    return _model(service).operation_model(operation).input_shape


def output_shape(service: str, operation: str) -> Any:
    """The shape of an operation's answer."""
    return _model(service).operation_model(operation).output_shape


def as_request(service: str, operation: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The properties that are members of the operation's request, in its types.

    CloudFormation's names are the API's for the types this is used for, but template values may be strings.
    """
    shape = input_shape(service, operation)
    known = {name: value for name, value in properties.items() if name in shape.members}
    request: dict[str, Any] = _typed(shape, known)
    return request


def problems(service: str, operation: str, request: Mapping[str, Any]) -> list[str]:
    """What the operation's model forbids of the request: types, enums, patterns, ranges, required members."""
    return list(violations(input_shape(service, operation), request))


def _typed(shape: Any, value: Any) -> Any:
    if shape.type_name == "structure" and isinstance(value, Mapping):
        members = shape.members
        return {key: _typed(members[key], item) if key in members else item for key, item in value.items()}
    if shape.type_name == "list" and isinstance(value, list):
        return [_typed(shape.member, item) for item in value]
    if shape.type_name in ("integer", "long") and isinstance(value, str):
        return int(value)
    if shape.type_name == "boolean" and isinstance(value, str):
        return value.lower() == "true"
    return value
