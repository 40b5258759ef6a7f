"""The cluster file's ``identity`` section: the nodes' role, and what limits the roles that are created."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from unbroken.config.section import Section, refusal


def _policy_arn(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"arn:aws[a-z-]*:iam::(\d{12}|aws):policy/[\w+=,.@/-]+", value):
        raise refusal("is not the ARN of an IAM policy", "write arn:aws:iam::<account>:policy/<name>")
    return value


def _role_arn(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+", value):
        raise refusal("is not the ARN of an IAM role", "write arn:aws:iam::<account>:role/<name>")
    return value


class IdentityConfig(Section):
    """Roles."""

    permissions_boundary: Annotated[str | None, AfterValidator(_policy_arn)] = None
    """ARN of the policy put on every role as its permissions boundary."""
    execution_role_arn: Annotated[str | None, AfterValidator(_role_arn)] = None
    """Use this role for the nodes instead of making one; `unbroken preflight` looks at what it may do."""
