"""Rights of the functions behind CDK's custom resources."""

from __future__ import annotations

from stacks.permissions import Statement, allow


def log_statement(group_arn: str) -> Statement:
    """Write to one log group. Not logs:CreateLogGroup: late lines would bring a deleted group back."""
    return allow(
        "Logs",
        ["logs:CreateLogStream", "logs:PutLogEvents"],
        [group_arn],
        purpose="The function writes its log to the stack's own group. It cannot make a group.",
    )
