"""Requests, answers and refusals as ministack's EC2 passes them."""

from __future__ import annotations

from typing import Any

import ministack.services.ec2 as ec2

Params = dict[str, Any]
Response = tuple[int, dict[str, str], bytes]


def error(code: str, message: str) -> Response:
    """A refusal; codes and texts are EC2's, by the API reference's list of error codes."""
    response: Response = ec2._error(code, message, 400)
    return response


def dependency(what: str, identifier: str) -> Response:
    """The refusal to delete what something else needs."""
    return error("DependencyViolation", f"The {what} '{identifier}' has dependencies and cannot be deleted.")
