"""Properties of a template held against the API that they go to, by botocore's own model of it."""

from __future__ import annotations

from typing import Any

from botocore.session import get_session
from botocore.validate import ParamValidator

_FUNCTIONS = ("Ref", "Fn::GetAtt", "Fn::GetStackOutput", "Fn::Join")


def complaints(service: str, operation: str, properties: dict[str, Any]) -> str:
    """What the API would say against these properties; empty where it would say nothing."""
    shape = get_session().get_service_model(service).operation_model(operation).input_shape
    found: str = ParamValidator().validate(filled_in(properties), shape).generate_report()
    return found


def filled_in(value: Any) -> Any:
    """A template's value with something in the place of what CloudFormation fills in."""
    if isinstance(value, dict):
        if any(key in value for key in _FUNCTIONS):
            return "filled-in-by-cloudformation"
        return {key: filled_in(item) for key, item in value.items()}
    return [filled_in(item) for item in value] if isinstance(value, list) else value
